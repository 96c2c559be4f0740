"""Arms: the same instrument put in several ways, side by side in one plan and one store.

An arm is a name in `about` of each of its prompts, and in front of their keys. Nothing else tells
arms apart. Where an arm is put to some models only, each has prompts of its own. A model may go by
another name in the study, so that a base model and the one that was tuned from it are one model in
two arms.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from psychollm.instruments.prompt import Prompt

ARM, LABEL = "study_arm", "study_model"


def in_arm(
    prompts: Iterable[Prompt], arm: str, models: Mapping[str, str] | None = None
) -> Iterator[Prompt]:
    """Yield prompts as those of an arm.

    Parameters
    ----------
    prompts : iterable of Prompt
        Of one instrument.
    arm : str
        Its name.
    models : mapping of str to str, optional
        Whom it is put to: the name in the study, and that in the plan; all by default.

    Examples
    --------
    >>> from psychollm.instruments import RuleWorld
    >>> one, = in_arm(RuleWorld(n=1, seed=1).prompts(), "plain", {"qwen": "qwen base"})
    >>> one.key, one.to, label_of(one, "qwen base")
    ('plain: synthetic-1-A0001/open/0', 'qwen base', 'qwen')
    """
    for prompt in prompts:
        about = {**prompt.about, ARM: arm}
        key = f"{arm}: {prompt.key}"
        follows = None if prompt.follows is None else f"{arm}: {prompt.follows}"
        one = replace(prompt, key=key, follows=follows, about=about)
        if models is None:
            yield one
            continue
        for label, name in models.items():
            named = about if label == name else {**about, LABEL: label}
            yield replace(one, to=name, about=named)


def later_in_arm(prompts: Iterable[Prompt], arm: str) -> Iterator[Prompt]:
    """Yield the prompts of a later stage, which follow on keys that name the arm already."""
    for prompt in prompts:
        yield prompt if not arm else replace(prompt, about={**prompt.about, ARM: arm})


def arm_of(prompt: Prompt) -> str:
    """Return the arm of a prompt; blank where there are none."""
    return str(prompt.about.get(ARM, ""))


def label_of(prompt: Prompt, model: str) -> str:
    """Return the name in the study of the model that a prompt is put to."""
    return str(prompt.about.get(LABEL, model))
