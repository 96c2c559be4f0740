"""2 x 2 tables of yes/no confidence against correctness, and what a statistic of them is.

Everything is computed for any number of tables at once: one per model, or one per resample.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from psychollm._base.types import BoolArray, FloatArray
from psychollm.calibration.influence import Gradient, Scale, interval_on, sandwich
from psychollm.calibration.metric import Metric
from psychollm.calibration.tally import Tally
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.reasons import Reason, first_reason

Cases: TypeAlias = tuple[tuple[BoolArray, Reason], ...]
Bounds: TypeAlias = tuple[FloatArray, FloatArray]  # standard errors (...), intervals (..., 2)


@dataclass(frozen=True, slots=True)
class Cells:
    """The four cells of any number of 2 x 2 tables, all of one shape; counts may be fractions."""

    tp: FloatArray  # yes and correct
    fp: FloatArray  # yes and wrong
    fn: FloatArray  # no and correct
    tn: FloatArray  # no and wrong

    @property
    def yes(self) -> FloatArray:
        """Answers with a yes."""
        return self.tp + self.fp

    @property
    def no(self) -> FloatArray:
        """Answers with a no."""
        return self.fn + self.tn

    @property
    def correct(self) -> FloatArray:
        """Correct answers."""
        return self.tp + self.fn

    @property
    def wrong(self) -> FloatArray:
        """Wrong answers."""
        return self.fp + self.tn

    @property
    def n(self) -> FloatArray:
        """All answers."""
        return self.tp + self.fp + self.fn + self.tn

    @property
    def array(self) -> FloatArray:
        """The cells as one array (4, ...)."""
        return np.stack([self.tp, self.fp, self.fn, self.tn])

    def smoothed(self) -> "Cells":
        """Return the tables with half an answer added to each cell."""
        return Cells(self.tp + 0.5, self.fp + 0.5, self.fn + 0.5, self.tn + 0.5)


@dataclass(frozen=True, slots=True, kw_only=True)
class CellStatistic:
    """One statistic of a 2 x 2 table."""

    name: str
    value: Callable[[Cells], FloatArray]  # (...), NaN where undefined
    gradient: Callable[[Cells], FloatArray]  # (4, ...) derivatives by the cells
    closed_form: Callable[[Cells, float], Bounds]  # of independent answers, at a level
    method: str  # of the closed form
    scale: Scale  # on which it varies symmetrically
    size: Callable[[Cells], FloatArray]  # answers that the value is a share of
    cases: Callable[[Cells], Cases]  # why it is undefined, or what qualifies it

    def flags(self, cells: Cells) -> tuple[Reason, ...]:
        """Return the first reason that applies to each table (tables,)."""
        return first_reason((cells.n == 0, Reason.NO_ANSWERS), *self.cases(cells))

    def estimate(self, cells: Cells, *, level: float, labels: tuple[Any, ...]) -> Estimate:
        """Return the estimate of each table (tables,), with its interval in closed form."""
        value = self.value(cells)
        se, interval = self.closed_form(cells, level)
        return Estimate(
            name=self.name,
            value=value,
            se=np.where(np.isfinite(value), se, np.nan),
            interval=np.where(np.isfinite(value)[..., None], interval, np.nan),
            n=self.size(cells),
            flags=self.flags(cells),
            method=self.method,
            level=level,
            labels=labels,
        )


def cells_of(
    values: FloatArray, correct: FloatArray, wrong: FloatArray, *, yes_above: float
) -> Cells:
    """Return the tables of tallies (resamples, groups): a yes is a confidence above a cut."""
    cut = int(np.searchsorted(values, yes_above, side="right"))
    return Cells(
        correct[:, cut:].sum(axis=1),
        wrong[:, cut:].sum(axis=1),
        correct[:, :cut].sum(axis=1),
        wrong[:, :cut].sum(axis=1),
    )


def cell_metric(statistics: Sequence[CellStatistic], *, yes_above: float) -> Metric:
    """Return statistics of the 2 x 2 table as one metric of graded confidence."""

    def compute(values: FloatArray, correct: FloatArray, wrong: FloatArray) -> FloatArray:
        cells = cells_of(values, correct, wrong, yes_above=yes_above)
        return np.stack([statistic.value(cells) for statistic in statistics], axis=1)

    def table(tally: Tally) -> Cells:
        return cells_of(tally.values, tally.correct[None], tally.wrong[None], yes_above=yes_above)

    def analytic(tally: Tally, values: FloatArray, level: float) -> Bounds:
        cells = table(tally)
        se, bounds = zip(*(each.closed_form(cells, level) for each in statistics), strict=True)
        return np.concatenate(se), np.concatenate(bounds)

    def robust(tally: Tally, values: FloatArray, level: float) -> Bounds:
        cells, yes = table(tally), tally.values > yes_above
        gradients = [_by_group(each.gradient(cells)[:, 0], yes) for each in statistics]
        errors = sandwich(tally, gradients)
        bounds = [
            interval_on(each.scale, value, variance, trials=errors.clusters, df=df, level=level)
            for each, value, variance, df in zip(
                statistics, values, errors.larger, errors.df, strict=True
            )
        ]
        return errors.se, np.array(bounds)

    def flags(tally: Tally) -> tuple[Reason, ...]:
        cells = table(tally)
        return tuple(statistic.flags(cells)[0] for statistic in statistics)

    return Metric(
        names=tuple(statistic.name for statistic in statistics),
        compute=compute,
        flags=flags,
        analytic=analytic,
        method=tuple(statistic.method for statistic in statistics),
        robust=robust,
        robust_method=tuple(f"sandwich, {statistic.scale}" for statistic in statistics),
    )


def _by_group(gradient: FloatArray, yes: BoolArray) -> Gradient:
    """Spread derivatives by the cells (4,) over the groups of a tally."""
    tp, fp, fn, tn = gradient
    return np.where(yes, tp, fn), np.where(yes, fp, tn)
