"""Scores of one model's answers with and without directions, and changes of answers."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.types import FloatArray
from psychollm.instruments.answers import read_answer, with_first
from psychollm.instruments.prompt import Prompt, told
from psychollm.instruments.reading import Outcome, Reading, ReadingsLike, Scores, aligned

SPONTANEOUS, DIRECTED = "spontaneous", "directed"
_CORRECT = {"correct": 1.0, "wrong": 0.0, "abstained": 0.0}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScaffoldScores(Scores):
    """Scores of one model's answers to the same questions without and with directions.

    Examples
    --------
    >>> from psychollm.instruments.scaffold import Scaffold
    >>> asked = Scaffold(questions=[{"question": "2 + 2?", "answer": "4"}])
    >>> asked.score([asked.read(one, "Answer: 4") for one in asked.prompts()]).correct
    array([1., 1.])
    """

    _AXES = Axes(
        None,
        "item=items",
        "domain=domains",
        "arm=arms",
        "run=runs",
        "outcome=outcomes",
        "response=responses",
        "correct",
    )

    items: tuple[str, ...]
    domains: tuple[str, ...]
    arms: tuple[str, ...]
    runs: tuple[int, ...]  # number of the administration, from 1
    outcomes: tuple[Outcome, ...]
    responses: tuple[str | None, ...]  # correct, wrong or abstained (not right)
    correct: FloatArray  # (replies,) NaN if missing

    def summary(self) -> str:
        """Return the numbers of right answers in each arm, and of changed answers, as text."""
        arms = np.array(self.arms, dtype=object)
        parts = [
            f"{arm}: {np.nansum(known):.0f} of {np.isfinite(known).sum()} answers right"
            for arm in (SPONTANEOUS, DIRECTED)
            for known in [self.correct[arms == arm]]
        ]
        pairs = self.pairs()
        wrong, right = (pairs[pairs[:, 0] == was, 1] for was in (0.0, 1.0))
        return (
            f"{'; '.join(parts)}\nthe directing prompt corrects {wrong.sum():.0f} of "
            f"{wrong.size} wrong answers and makes {(1.0 - right).sum():.0f} of {right.size} "
            "right answers wrong"
        )

    def pairs(self) -> FloatArray:
        """Return whether paired answers, without and with directions, are right.

        Returns
        -------
        ndarray, shape (n_pairs, 2)
            Correctness of each pair (1 = right, 0 = wrong): first without directions, then with
            directions.

        Examples
        --------
        >>> from psychollm.instruments.scaffold import Scaffold
        >>> asked = Scaffold(questions=[{"question": "2 + 2?", "answer": "4"}])
        >>> asked.score([asked.read(one, "Answer: 4") for one in asked.prompts()]).pairs()
        array([[1., 1.]])
        """
        both: dict[tuple[str, int], dict[str, float]] = {}
        rows = zip(self.items, self.runs, self.arms, self.correct.tolist(), strict=True)
        for item, run, arm, right in rows:
            both.setdefault((item, run), {})[arm] = right
        table = [[one.get(SPONTANEOUS), one.get(DIRECTED)] for one in both.values()]
        found = np.array(table, dtype=np.float64).reshape(-1, 2)
        known: FloatArray = found[np.isfinite(found).all(axis=1)]
        return known


def read_reply(prompt: Prompt, reply: str, *, finish_reason: str | None = None) -> Reading:
    """Parse an answer to a prompt of the instrument: correct, wrong or abstained."""
    return read_answer(prompt, reply, finish_reason=finish_reason)


def score_readings(prompts: Sequence[Prompt], readings: ReadingsLike) -> ScaffoldScores:
    """Score a model's parsed replies; stored first replies form the arm without directions."""
    rows, each = with_first(prompts, aligned(prompts, readings), {"arm": SPONTANEOUS})
    return ScaffoldScores(
        items=tuple(one.item for one in rows),
        domains=told([one.about for one in rows], "domain"),
        arms=told([one.about for one in rows], "arm"),
        runs=tuple(one.repeat + 1 for one in rows),
        outcomes=tuple(one.outcome for one in each),
        responses=tuple(str(one.value) if one.answered else None for one in each),
        correct=np.array([_CORRECT.get(str(one.value), np.nan) for one in each], dtype=np.float64),
    )
