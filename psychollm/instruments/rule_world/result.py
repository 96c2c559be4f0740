"""Scores of one model on a rule world: all answers, and rates by type."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import check_choice
from psychollm._base.types import BoolArray, FloatArray
from psychollm.instruments.reading import Outcome, Scores, mean_known

Scoring: TypeAlias = Literal["strict", "keyword"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RuleWorldScores(Scores):
    """Strict and keyword scores of one model's answers.

    A refusal is a separate response. If the question has an answer, a refusal does not pass.
    `refusal_rate` counts refusals separately from wrong answers, and `rate_answered` excludes
    refusals. Unreadable and missing replies are missing data.

    Examples
    --------
    >>> from psychollm.instruments.rule_world import RuleWorld
    >>> world = RuleWorld(n=4, seed=1)
    >>> scores = world.score([world.read(prompt, "Answer: 33") for prompt in world.prompts()])
    >>> scores.responses
    ('correct', 'invented', None, 'wrong')
    """

    _AXES = Axes(
        None,
        "type=types",
        "item=items",
        "run=runs",
        "response=responses",
        "score=strict",
        "keyword",
        "outcome=outcomes",
        "family=families",
        "structure=structures",
        "skin=skins",
    )

    items: tuple[str, ...]
    structures: tuple[str, ...]  # item labels, shared by all surface forms of an item
    skins: tuple[str, ...]
    types: tuple[str, ...]
    families: tuple[str, ...]
    runs: tuple[int, ...]  # number of the administration, from 1
    outcomes: tuple[Outcome, ...]
    responses: tuple[str | None, ...]
    strict: FloatArray  # (answers,) whether the answer passes, scored strictly; NaN if missing
    keyword: FloatArray  # (answers,) whether the answer passes by keyword; NaN if missing

    def rate(self, kind: str, *, scoring: Scoring = "strict") -> float:
        """Return the proportion of answers of a type that pass; NaN if there are no answers.

        Parameters
        ----------
        kind : {"A", "B", "C", "M"}
            Type of the items.
        scoring : {"strict", "keyword"}
            "strict" requires that the reply names an undefined word; with "keyword" any word of
            doubt is sufficient.

        Raises
        ------
        OptionError
            If the scoring is invalid.

        Examples
        --------
        >>> from psychollm.instruments.rule_world import RuleWorld
        >>> world = RuleWorld(n=4, seed=1)
        >>> world.score([None] * 4).rate("A")
        nan
        """
        check_choice("scoring", scoring, Scoring)
        scores = self.keyword if scoring == "keyword" else self.strict
        return mean_known(scores[self._of(kind)])

    def rate_answered(self, kind: str) -> float:
        """Return the proportion that passes strictly among answers that are not refusals."""
        return mean_known(self.strict[self._of(kind) & ~self._refused])

    def refusal_rate(self, kind: str) -> float:
        """Return the proportion of refusals among readable answers."""
        return mean_known(self._refused[self._of(kind) & np.isfinite(self.strict)])

    def summary(self) -> str:
        """Return a summary with one sentence per item type."""
        return "\n".join(self._sentence(kind) for kind in dict.fromkeys(self.types))

    def _sentence(self, kind: str) -> str:
        n = int(np.isfinite(self.strict[self._of(kind)]).sum())
        missing = int(self._of(kind).sum()) - n
        if not n:
            return f"type {kind}: none of {missing} answers is readable"
        text = (
            f"type {kind}: {100 * self.rate(kind):.1f} % of {n} answers pass, "
            f"{100 * self.refusal_rate(kind):.1f} % are refusals"
        )
        loose = self.rate(kind, scoring="keyword")
        text += f"; {100 * loose:.1f} % pass by keyword" if loose != self.rate(kind) else ""
        return text + (
            f"; {missing} {'answer is' if missing == 1 else 'answers are'} missing"
            if missing
            else ""
        )

    @property
    def _refused(self) -> BoolArray:
        return np.array([one is Outcome.REFUSED for one in self.outcomes], dtype=np.bool_)

    def _of(self, kind: str) -> BoolArray:
        return np.array([one == kind for one in self.types], dtype=np.bool_)
