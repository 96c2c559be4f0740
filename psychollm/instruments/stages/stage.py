"""Definition of a stage, and registry of stages."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from psychollm.instruments.prompt import Prompt
from psychollm.instruments.stages.continued import (
    KINDS,
    feedback,
    feedback_after,
    revision,
    scaffold,
)
from psychollm.instruments.stages.judged import coding, grading
from psychollm.instruments.stages.replied import Replied


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Function that creates the prompts of a stage, and the type of recipient: judge or model.

    Examples
    --------
    >>> STAGES["grading"].judged, STAGES["revision"].judged
    (True, False)
    """

    make: Callable[..., tuple[Prompt, ...]]
    judged: bool  # True: a judge answers; False: each model continues its conversation

    def most(
        self, prompts: Sequence[Prompt], options: Mapping[str, Any] | None = None
    ) -> tuple[Prompt, ...]:
        """Return the largest possible set of prompts to one model, or to judges of its replies.

        Parameters
        ----------
        prompts : sequence of Prompt
            Prompts of the first stage.
        options : mapping, optional
            Keyword options of the stage.

        Examples
        --------
        >>> from psychollm.instruments import Abstention
        >>> len(STAGES["grading"].most(Abstention(n_pairs=1, scenarios=("subjective",)).prompts()))
        10
        """
        given = options or {}
        longest = [_longest(prompt, place) for place, prompt in enumerate(prompts)]
        # The number of prompts is largest if some tasks pass and some fail.
        if self.make is feedback:
            kinds = given.get("kinds", KINDS)
            return tuple(feedback_after(longest, kinds, lambda tasks: min(1, len(tasks) - 1)))
        return self.make(longest, **given)


def _longest(prompt: Prompt, place: int) -> Replied:
    """Return a reply of maximum length that differs from all other replies."""
    text = ("abc " * (prompt.max_tokens or 256)).strip()
    said = f"Answer: {place} {text}"
    return Replied(model="model", prompt=prompt, text=said, reasoning=text)


STAGES: Mapping[str, Stage] = {
    "feedback": Stage(make=feedback, judged=False),
    "revision": Stage(make=revision, judged=False),
    "scaffold": Stage(make=scaffold, judged=False),
    "grading": Stage(make=grading, judged=True),
    "coding": Stage(make=coding, judged=True),
}
