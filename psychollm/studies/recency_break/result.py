"""Result of the recency test: each lineage's and model's change at a date, beyond difficulty."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.numbers import count, number, p_equals
from psychollm._base.result import Result, view
from psychollm._base.types import BoolArray, FloatArray, IntArray
from psychollm.data.dates import dates_of
from psychollm.data.labels import Labels
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.findings import (
    Finding,
    Findings,
    Study,
    exhibit,
    first_rows,
    sentence_list,
)
from psychollm.estimates.verdict import SMALLEST, SmallestEffects, Verdicts, outcome

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes as Drawn

_SHOWN = 10


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DateChange(Result):
    """Change in scores at a date, beyond question difficulty.

    Examples
    --------
    >>> from psychollm.studies.recency_break.study import recency_break
    >>> rng = np.random.default_rng(1)
    >>> days = [f"2024-01-{day:02}" for day in range(1, 31)]
    >>> found = recency_break(rng.normal(size=(3, 30)), published=days, cutoff="2024-01-15", rng=1)
    >>> found.by_model.before, found.by_model.change.labels
    (array([15., 15., 15.]), (0, 1, 2))
    """

    change: Estimate  # (rows,) score after the date minus score before it, adjusted for difficulty
    raw: FloatArray  # (rows,) after minus before
    z: FloatArray  # (rows,) test statistic; the smallest over all dates if the date was searched
    p_value: FloatArray  # (rows,) unadjusted one-sided p-value for the null hypothesis of no drop
    cutoff: FloatArray  # (rows,) date in days since 1970-01-01; later questions count as new
    before: FloatArray  # (rows,) number of questions
    after: FloatArray  # (rows,) number of questions

    _AXES = Axes(
        {"label": "change.labels"},
        ("cutoff", lambda found: dates_of(found.cutoff).to_numpy()),
        "change=change.value",
        "{bound}=change.interval",
        "raw",
        ("expected", lambda found: found.raw - found.change.value),
        "before",
        "after",
        "z",
        "p_value",
        "flag=change.flags",
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RecencyBreak(Study, Result):
    """Test of whether models score lower on recent questions than difficulty explains.

    Examples
    --------
    >>> from psychollm.studies.recency_break.study import recency_break
    >>> rng = np.random.default_rng(1)
    >>> days = [f"2024-01-{day:02}" for day in range(1, 31)]
    >>> found = recency_break(rng.normal(size=(3, 30)), published=days, cutoff="2024-01-15", rng=1)
    >>> found.alarms, found.adjusted.round(2)
    ((), array([0.45, 0.33, 0.34]))
    """

    by_lineage: DateChange
    by_model: DateChange
    adjusted: FloatArray  # (lineages,) p-values adjusted for the number of lineages
    lineage: IntArray  # (models,) index of the lineage
    lineages: Labels
    labels: Labels  # (models,)
    searched: bool  # whether the date was searched
    draws: FloatArray  # (n_null,) smallest statistic over lineages under permuted dates
    reliability: float  # reliability of the difficulty estimated from other lineages
    n_questions: int
    first_day: float  # date of the first publication, in days since 1970-01-01
    last_day: float
    span: float  # range of scores
    level: float

    _AXES = Axes({"lineage": "lineages"}, "adjusted")

    @property
    def alarm(self) -> BoolArray:
        """Whether each lineage has a significant drop that difficulty does not explain."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.adjusted <= 1.0 - self.level)

    @property
    def alarms(self) -> Labels:
        """Lineages with a significant drop that difficulty does not explain."""
        return tuple(self.lineages[one] for one in np.flatnonzero(self.alarm))

    def to_frame(self) -> "pd.DataFrame":
        """Return one row per model, with `adjusted` and `alarm` of its lineage."""
        frame = self.by_model.to_frame().rename(columns={"label": "model"})
        held = [self.lineages[one] for one in self.lineage]
        frame.insert(1, "lineage", held)
        frame.insert(len(frame.columns) - 1, "adjusted", self.adjusted[self.lineage])
        frame.insert(len(frame.columns) - 1, "alarm", self.alarm[self.lineage])
        return frame

    def lineages_frame(self) -> "pd.DataFrame":
        """Return one row per lineage."""
        frame = self.by_lineage.to_frame().rename(columns={"label": "lineage"})
        frame.insert(len(frame.columns) - 1, "adjusted", self.adjusted)
        frame.insert(len(frame.columns) - 1, "alarm", self.alarm)
        return frame

    def tables(self) -> "dict[str, pd.DataFrame]":
        """Return the tables of the study by name."""
        return {"lineages": self.lineages_frame(), "models": self.to_frame()}

    def plot(self, *, ax: "Drawn | None" = None) -> "Drawn":
        """Plot the score change of each model at its date, beyond question difficulty."""
        draw = view("studies.recency_break.figures", "plot_recency_break")
        axes: Drawn = draw(self, ax=ax)
        return axes

    @property
    def order(self) -> list[int]:
        """Models in order of decreasing drop, with untested models last."""
        value = np.nan_to_num(self.by_model.change.value, nan=np.inf)
        return [int(row) for row in np.argsort(value, kind="stable")]

    def outcomes(self, *, smallest: SmallestEffects = SMALLEST) -> Verdicts:
        """Return the conclusion from each lineage's change.

        Parameters
        ----------
        smallest : SmallestEffects
            `share` is the smallest change of interest, as a proportion of the range of scores.
        """
        return Verdicts(
            self.lineages,
            tuple(
                outcome(
                    self.by_lineage.change.interval[row],
                    smallest=smallest.share * self.span,
                    rejected=bool(self.alarm[row]),
                )
                for row in range(len(self.lineages))
            ),
        )

    def findings(self, *, smallest: SmallestEffects = SMALLEST) -> Findings:
        """Return lineages with a significant drop, and the change of each model.

        Parameters
        ----------
        smallest : SmallestEffects
            `share` is the smallest change of interest, as a proportion of the range of scores.
        """
        items = (
            Finding(
                statement=self._verdict(),
                numbers={
                    "change": self.by_lineage.change,
                    "adjusted": self.adjusted,
                    "z": self.by_lineage.z,
                },
                outcome=self.outcomes(smallest=smallest),
            ),
            Finding(
                key="models",
                question=(
                    "How much does each model's score change, adjusted for question difficulty?"
                ),
                rows=first_rows(self.order, self.model_text, most=_SHOWN, table="models"),
                explanation=(
                    "The change is the score on questions published after the date minus the "
                    "score on earlier questions, adjusted for question difficulty, which is "
                    "estimated from other lineages. The raw change includes differences in "
                    "difficulty."
                ),
                numbers={"change": self.by_model.change, "raw": self.by_model.raw},
            ),
        )
        several = len(self.lineages) < len(self.labels)
        head = (
            f"{len(self.labels)} models"
            + (f" of {len(self.lineages)} lineages" if several else "")
            + f", {count(self.n_questions)} questions published from {_date(self.first_day)} to "
            f"{_date(self.last_day)}."
        )
        return exhibit(Findings(items=items, head=head), self, smallest)

    def _verdict(self) -> str:
        tested = int(np.isfinite(self.adjusted).sum())
        if not tested:
            return "No lineage was tested: too few questions before or after each date."
        kind = "lineage" if len(self.lineages) < len(self.labels) else "model"
        kind += "s" * (tested > 1)
        found = np.flatnonzero(self.alarm)
        if not found.size:
            least = float(np.nanmin(self.adjusted))
            return (
                "Scores on recent questions are not significantly lower than expected from "
                f"question difficulty in any of {tested} tested {kind} (smallest adjusted "
                f"{p_equals(least)})."
            )
        told = [self._lineage(row) for row in found[np.argsort(self.by_lineage.z[found])].tolist()]
        return (
            "Scores on recent questions are significantly lower than expected from question "
            f"difficulty in {found.size} of {tested} tested {kind}: {sentence_list(told)}."
        )

    def _lineage(self, row: int) -> str:
        found = self.by_lineage
        return (
            f"{self.lineages[row]} (change {found.change.text(row, self._digits, signed=True)} "
            f"after {_date(found.cutoff[row])}, adjusted {p_equals(float(self.adjusted[row]))})"
        )

    def model_text(self, row: int) -> str:
        """Return the change of a model, or the reason why it was not tested.

        Parameters
        ----------
        row : int
            Index of the model.
        """
        found = self.by_model
        if not np.isfinite(found.change.value[row]):
            return f"{self.labels[row]}: not tested ({found.change.flags[row]})"
        return (
            f"{self.labels[row]}: change {found.change.text(row, self._digits, signed=True)} "
            f"after {_date(found.cutoff[row])}, raw change "
            f"{number(found.raw[row], self._digits, signed=True)}, z = {number(found.z[row], 1)}"
        )

    @property
    def _digits(self) -> int:
        return 3 if self.span <= 1.0 else 1


def _date(day: float) -> str:
    return str(dates_of(np.array([day])).dt.date[0])
