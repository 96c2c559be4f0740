"""Predictions and grades of one model."""

from dataclasses import dataclass

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.types import BoolArray, FloatArray
from psychollm.instruments.reading import PartScores, mean_known


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SelfPredictionScores(PartScores):
    """Predictions of one model and correctness of its answers, one row per question and repeat.

    Examples
    --------
    >>> from psychollm.instruments.self_prediction import SelfPrediction
    >>> asked = SelfPrediction(questions=[{"question": "What is 2 + 2?", "answer": "4"}])
    >>> predict, answer = asked.prompts()
    >>> print(asked.score([asked.read(predict, "No"), asked.read(answer, "4")]).summary())
    says yes to 0.0 % of 1 question; 100.0 % of 1 answer are correct; number of abstentions: 0
    """

    _AXES = Axes(
        None,
        "question=items",
        "repeat=repeats",
        "domain=domains",
        "said",
        "percent",
        "verbal",
        "correct",
        "abstained",
    )

    items: tuple[str, ...]  # (rows,)
    repeats: tuple[int, ...]  # (rows,)
    domains: tuple[str, ...]  # (rows,)
    said: FloatArray  # (rows,) 1 yes, 0 no, NaN if missing
    percent: FloatArray  # (rows,) probability, NaN if missing
    verbal: FloatArray  # (rows,) probability, NaN if missing
    correct: FloatArray  # (rows,) 1 right, 0 wrong or abstained, NaN if missing
    abstained: BoolArray  # (rows,)

    @property
    def yes_rate(self) -> float:
        """Proportion of yes predictions among the readable predictions."""
        return mean_known(self.said)

    @property
    def accuracy(self) -> float:
        """Proportion of right answers among the readable answers."""
        return mean_known(self.correct)

    def summary(self) -> str:
        """Return one line with predictions, right answers and missing replies."""
        parts = []
        for name, values in (
            ("yes_no", self.said),
            ("percent", self.percent),
            ("verbal", self.verbal),
        ):
            if name in self.outcomes:
                verb = "says yes to" if name == "yes_no" else f"states, as {name}, a mean of"
                parts.append(f"{verb} {_share(values)} of {_count(values, 'question')}")
        graded = f"{_share(self.correct)} of {_count(self.correct, 'answer')} are correct"
        parts.append(f"{graded}; number of abstentions: {int(self.abstained.sum())}")
        missing = {
            name: sum(counts.values()) - (int(self.abstained.sum()) if name == "answer" else 0)
            for name, counts in self.failures().items()
        }
        lost = [
            f"{n} {'reply' if n == 1 else 'replies'} to {name}" for name, n in missing.items() if n
        ]
        return "; ".join(parts) + (f"; missing: {', '.join(lost)}" if lost else "")


def _share(values: FloatArray) -> str:
    return f"{100 * mean_known(values):.1f} %" if np.isfinite(values).any() else "none"


def _count(values: FloatArray, noun: str) -> str:
    n = int(np.isfinite(values).sum())
    return f"{n:,} {noun}" + ("" if n == 1 else "s")
