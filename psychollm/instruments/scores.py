"""What the scores of instruments share: tables with a row per reply, and what went wrong."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.result import Result
from psychollm.instruments.reading import Outcome

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scores(Result):
    """Scores of one model, in a table with a row per reply."""

    def to_frame(self, model: Any = "model") -> "pd.DataFrame":
        """Return the long table, a row per reply, that studies take.

        Parameters
        ----------
        model : hashable
            Label of the model.
        """
        frame = Result.to_frame(self)
        frame.insert(0, "model", [model] * len(frame))
        return frame


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PartScores(Scores):
    """Scores of questions that are put in several parts, each with an outcome of its own."""

    outcomes: Mapping[str, tuple[Outcome, ...]]  # by part

    def _axes(self) -> Axes:
        parts = [f"{name} outcome=outcomes.{name}" for name in self.outcomes]
        columns = self._AXES.columns if self._AXES else ()
        return Axes(None, *columns, *parts)

    def failures(self) -> dict[str, dict[str, int]]:
        """Return how many replies of each part could not be used, by kind of failure.

        Examples
        --------
        >>> from psychollm.instruments.self_prediction import score_readings
        >>> score_readings([], []).failures()
        {'answer': {}}
        """
        return {
            name: dict(Counter(str(one) for one in each if one is not Outcome.ANSWERED))
            for name, each in self.outcomes.items()
        }


def mean_known(values: Any) -> float:
    """Return the mean of what is not missing, NaN if all is."""
    return float(np.nanmean(values)) if np.isfinite(values).any() else float("nan")
