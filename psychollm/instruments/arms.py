"""Arms: one instrument administered in several ways, in one plan and one store.

The `about` and the key of each prompt contain the name of its arm. If an arm is restricted to some
models, each of these models has its own prompts. Models can be renamed for the study, so that a
base model and its fine-tuned version count as the same model in two arms.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from psychollm.instruments.prompt import Prompt

ARM, LABEL = "study_arm", "study_model"


def in_arm(
    prompts: Iterable[Prompt], arm: str, models: Mapping[str, str] | None = None
) -> Iterator[Prompt]:
    """Yield copies of prompts that belong to an arm.

    Parameters
    ----------
    prompts : iterable of Prompt
        Prompts of one instrument.
    arm : str
        Name of the arm.
    models : mapping of str to str, optional
        Models of the arm, as a mapping from the name in the study to the name in the plan. By
        default, all models receive the prompts of the arm.

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
    """Yield the prompts of a later stage, whose keys already name the arm."""
    for prompt in prompts:
        yield prompt if not arm else replace(prompt, about={**prompt.about, ARM: arm})


def arm_of(prompt: Prompt) -> str:
    """Return the arm of a prompt, or "" if it does not belong to an arm."""
    return str(prompt.about.get(ARM, ""))


def label_of(prompt: Prompt, model: str) -> str:
    """Return the name of a model in the study."""
    return str(prompt.about.get(LABEL, model))
