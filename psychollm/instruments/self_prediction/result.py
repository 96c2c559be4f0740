"""The predictions and grades of one model."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.result import Result
from psychollm._base.types import BoolArray, FloatArray
from psychollm.instruments.reading import Outcome

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SelfPredictionScores(Result):
    """What one model said of itself, and whether it was right; a row per question and repeat.

    Examples
    --------
    >>> from psychollm.instruments.self_prediction import SelfPrediction
    >>> asked = SelfPrediction(questions=[{"question": "What is 2 + 2?", "answer": "4"}])
    >>> predict, answer = asked.prompts()
    >>> print(asked.score([asked.read(predict, "No"), asked.read(answer, "4")]).summary())
    says yes to 0.0 % of 1 question; 100.0 % of 1 answer right, 0 abstained
    """

    items: tuple[str, ...]  # (rows,)
    repeats: tuple[int, ...]  # (rows,)
    domains: tuple[str, ...]  # (rows,)
    said: FloatArray  # (rows,) 1 yes, 0 no, NaN missing
    percent: FloatArray  # (rows,) probability, NaN missing
    verbal: FloatArray  # (rows,) probability, NaN missing
    correct: FloatArray  # (rows,) 1 right, 0 wrong or abstained, NaN missing
    abstained: BoolArray  # (rows,)
    outcomes: Mapping[str, tuple[Outcome, ...]]  # per scale that was asked, and "answer"

    @property
    def yes_rate(self) -> float:
        """Share of yes among the predictions that could be read."""
        return _mean(self.said)

    @property
    def accuracy(self) -> float:
        """Share of right answers among those that could be read."""
        return _mean(self.correct)

    def failures(self) -> dict[str, dict[str, int]]:
        """Return how many replies of each kind could not be used, by kind of failure.

        Examples
        --------
        >>> from psychollm.instruments.self_prediction import score_readings
        >>> score_readings([], []).failures()
        {'answer': {}}
        """
        fine = {Outcome.ANSWERED}
        return {
            name: dict(Counter(str(one) for one in each if one not in fine))
            for name, each in self.outcomes.items()
        }

    def to_frame(self, model: Any = "model") -> "pd.DataFrame":
        """Return one row per question and repeat.

        Parameters
        ----------
        model : hashable
            Label of the model.
        """
        import pandas as pd

        return pd.DataFrame(
            {
                "model": [model] * len(self.items),
                "question": list(self.items),
                "repeat": list(self.repeats),
                "domain": list(self.domains),
                "said": self.said,
                "percent": self.percent,
                "verbal": self.verbal,
                "correct": self.correct,
                "abstained": self.abstained,
                **{
                    f"{name} outcome": [str(one) for one in each]
                    for name, each in self.outcomes.items()
                },
            }
        )

    def summary(self) -> str:
        """Return one line: what was said, what was right, what is missing."""
        parts = []
        for name, values in (
            ("yes_no", self.said),
            ("percent", self.percent),
            ("verbal", self.verbal),
        ):
            if name in self.outcomes:
                verb = "says yes to" if name == "yes_no" else f"states, as {name}, a mean of"
                parts.append(f"{verb} {_share(values)} of {_count(values, 'question')}")
        graded = f"{_share(self.correct)} of {_count(self.correct, 'answer')} right"
        parts.append(f"{graded}, {int(self.abstained.sum())} abstained")
        missing = {
            name: sum(counts.values()) - (int(self.abstained.sum()) if name == "answer" else 0)
            for name, counts in self.failures().items()
        }
        lost = [f"{n} of {name}" for name, n in missing.items() if n]
        return "; ".join(parts) + (f"; missing: {', '.join(lost)}" if lost else "")


def _mean(values: FloatArray) -> float:
    return float(np.nanmean(values)) if np.isfinite(values).any() else float("nan")


def _share(values: FloatArray) -> str:
    return f"{100 * _mean(values):.1f} %" if np.isfinite(values).any() else "none"


def _count(values: FloatArray, noun: str) -> str:
    n = int(np.isfinite(values).sum())
    return f"{n:,} {noun}" + ("" if n == 1 else "s")
