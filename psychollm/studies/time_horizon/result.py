"""Result for time horizons of models, over all tasks and for a typical task."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.convergence import Convergence
from psychollm._base.numbers import count, number, percent, significant
from psychollm._base.result import Result, view
from psychollm._base.types import FloatArray
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
from psychollm.estimates.verdict import SMALLEST, SmallestEffects
from psychollm.studies.time_horizon.trend import HorizonTrend, horizon_trend

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes as Drawn

ALL_TASKS, TYPICAL_TASK = "all tasks", "typical task"
_SHOWN = 10  # number of models in the summary


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TimeHorizon(Study, Result):
    """Length of the tasks that each model solves with given probabilities, in minutes.

    Examples
    --------
    >>> from psychollm.studies.time_horizon.study import time_horizon
    >>> solved = [[1, 1, 1, 1, 0, 1, 0, 0], [1, 1, 0, 1, 0, 0, 0, 0]]
    >>> found = time_horizon(solved, [1, 2, 4, 8, 15, 30, 60, 120], share=0.5)
    >>> found.all_tasks[0].value.round(1).tolist()
    [21.7, 5.5]
    """

    all_tasks: tuple[Estimate, ...]  # minutes by probability (models,)
    typical_task: tuple[Estimate, ...]  # minutes by probability (models,)
    shares: tuple[float, ...]
    scatter: float  # SD of difficulty at equal length, in logits
    slope: float  # increase in difficulty per doubling of length, in logits
    solved: FloatArray  # (models, tasks) NaN if not attempted
    task_minutes: FloatArray  # (tasks,)
    labels: Labels  # (models,)
    tasks: Labels
    left_out: Labels  # tasks without minutes
    n_families: int | None  # number of families; None if every task is a unit
    task_errors: FloatArray  # (definitions, shares, models, models) covariance of log2 minutes
    convergence: Convergence | None  # convergence of the item response model; None with one model
    level: float
    trends: HorizonTrend | None

    _AXES = Axes(
        {"model": "labels", "task": "tasks"},
        arrays={"model task": "solved", "task": "task_minutes"},
    )

    @property
    def definitions(self) -> tuple[str, str]:
        """Names of the definitions of a horizon, over all tasks and for a typical task."""
        return ALL_TASKS, TYPICAL_TASK

    @property
    def estimates(self) -> tuple[tuple[Estimate, ...], tuple[Estimate, ...]]:
        """Horizons by definition, then by probability."""
        return self.all_tasks, self.typical_task

    @property
    def n_units(self) -> int:
        """Number of tasks, or of families of tasks."""
        return len(self.tasks) if self.n_families is None else self.n_families

    @property
    def doublings(self) -> float:
        """SD of difficulty at equal length, in doublings of length."""
        return self.scatter / self.slope if self.slope > 0.0 else np.nan

    def to_frame(self) -> "pd.DataFrame":
        """Return one row per model, probability and definition, with minutes, bounds and flag."""
        import pandas as pd

        rows = [
            (label, share, name, found.value[row], *found.interval[row], str(found.flags[row]))
            for row, label in enumerate(self.labels)
            for place, share in enumerate(self.shares)
            for name, by_share in zip(self.definitions, self.estimates, strict=True)
            for found in (by_share[place],)
        ]
        names = ["model", "share", "definition", "minutes", "lower", "upper", "flag"]
        return pd.DataFrame(rows, columns=names)

    def tables(self) -> "dict[str, pd.DataFrame]":
        """Return the tables of the study by name."""
        held = {"horizons": self.to_frame()}
        return held if self.trends is None else held | {"trend": self.trends.to_frame()}

    def trend(self, dates: Any) -> HorizonTrend:
        """Estimate the growth of horizons over the release dates of models.

        A line is fitted to log2 horizons. The error of the line has two sources: deviations of
        models from the line, and the sampling of tasks, which affects all models. For the trend of
        the frontier, pass only the dates of models at the frontier.

        Parameters
        ----------
        dates : Series, mapping or array_like (models,)
            Release dates of the models, such as "2024-05-13". Models without a date are omitted.

        Returns
        -------
        HorizonTrend

        Raises
        ------
        LabelError, ShapeError
            If dates do not match the models or are invalid, or fewer than three are given.

        Examples
        --------
        >>> from psychollm.studies.time_horizon.study import time_horizon
        >>> rng = np.random.default_rng(1)
        >>> minutes = 2.0 ** rng.uniform(-2, 8, 60)
        >>> odds = np.arange(5)[:, None] - np.log2(minutes)
        >>> h = time_horizon(rng.random((5, 60)) < 1 / (1 + np.exp(-odds)), minutes)
        >>> h.trend({0: "2021-01-01", 1: "2022-01-01", 3: "2024-01-01"}).n_models
        array([3., 3., 3., 3.])
        """
        return horizon_trend(self, dates)

    def with_trend(self, trend: HorizonTrend) -> "TimeHorizon":
        """Return the result with a trend among its findings.

        Parameters
        ----------
        trend : HorizonTrend
            Result of `trend`.
        """
        return replace(self, trends=trend)

    @property
    def order(self) -> list[int]:
        """Models in order of decreasing horizon over all tasks."""
        first = self.all_tasks[0]
        value = np.where(
            np.isnan(first.value), np.nan_to_num(first.interval[:, 1], nan=-1.0), first.value
        )
        value = np.where(np.isinf(value) & np.isnan(first.value), first.interval[:, 0], value)
        return [int(row) for row in np.argsort(-value, kind="stable")]

    def findings(self, *, smallest: SmallestEffects = SMALLEST) -> Findings:
        """Return the verdict, the horizons, and the trend.

        Parameters
        ----------
        smallest : SmallestEffects
            This argument is not used, because horizons are not compared with a smallest effect.
        """
        items = [
            Finding(
                statement=self._verdict(),
                numbers={one.name: one for by_share in self.estimates for one in by_share},
            ),
            Finding(
                key="horizons",
                question="How long are the tasks that each model solves?",
                rows=first_rows(self.order, self._model, most=_SHOWN, table="models"),
                explanation=(
                    "The horizon over all tasks is the task length at which the model solves the "
                    "stated proportion of tasks. The horizon for a typical task is the task "
                    "length at which the model has the stated probability of solving a task whose "
                    "difficulty is the median of tasks of that length. Task lengths are the times "
                    "that people need, in minutes. Intervals generalise to the task population."
                ),
            ),
            Finding(
                key="scatter",
                question="How much does difficulty differ between tasks of equal length?",
                statement=self._scatter(),
                numbers={"scatter": self.scatter, "slope": self.slope},
            ),
        ]
        if self.trends is not None:
            items.append(self._growth(self.trends))
        n = len(self.tasks)
        head = (
            f"{len(self.labels)} model{'s' * (len(self.labels) > 1)}, {count(n)} tasks of "
            f"{minutes(self.task_minutes.min())} to {minutes(self.task_minutes.max())} minutes"
        )
        if self.n_families is not None:
            head += f" in {self.n_families} famil{'y' if self.n_families == 1 else 'ies'}"
        if self.left_out:
            head += f"; {count(len(self.left_out))} without minutes were omitted"
        return exhibit(Findings(items=tuple(items), head=f"{head}."), self, smallest)

    def plot(self, *, ax: "Drawn | None" = None) -> "Drawn":
        """Plot the horizons of each model over all tasks and for a typical task."""
        draw = view("studies.time_horizon.figures", "plot_time_horizon")
        axes: Drawn = draw(self, ax=ax)
        return axes

    def text(self, row: int, place: int, kind: int) -> str:
        """Return one horizon with its interval, or the reason why it is undefined.

        Parameters
        ----------
        row, place, kind : int
            Indices of the model, the probability and the definition.
        """
        found = self.estimates[kind][place]
        low, high = (minutes(float(bound)) for bound in found.interval[row])
        bounds = f"[{low}, {high}]"
        if np.isnan(found.interval[row]).any():
            bounds = ""
        if np.isnan(found.value[row]):
            return f"undefined {bounds} ({found.flags[row]})".replace("  ", " ")
        return f"{minutes(float(found.value[row]))} {bounds}".rstrip()

    def _verdict(self) -> str:
        # An undefined horizon has at most a bound, so it cannot be called the longest.
        known, share = np.isfinite(self.all_tasks[0].value), percent(self.shares[0])
        if not known.any():
            return f"No {share} horizon over all tasks can be estimated."
        best = next(row for row in self.order if known[row])
        text = (
            f"{self.labels[best]} has the longest {share} horizon: {self.text(best, 0, 0)} "
            f"minutes over all tasks, {self.text(best, 0, 1)} for a typical task."
        )
        if known.all():
            return text
        names = [self.labels[row] for row in self.order if not known[row]]
        return f"{text} The horizon of {sentence_list(names, most=4)} is undefined."

    def _model(self, row: int) -> str:
        parts = [
            f"{percent(share)} horizon in minutes: {self.text(row, place, 0)} over all tasks, "
            f"{self.text(row, place, 1)} for a typical task"
            for place, share in enumerate(self.shares)
        ]
        return f"{self.labels[row]}: {'; '.join(parts)}"

    def _scatter(self) -> str:
        if np.isnan(self.scatter):
            return "Not estimated: several models must attempt the same tasks."
        if np.isnan(self.doublings):
            return "Not estimated: longer tasks are not harder for these models."
        return (
            f"The SD of difficulty among tasks of equal length is {number(self.scatter, 1)} "
            f"logits, equivalent to {number(self.doublings, 1)} doublings of length. Because "
            "tasks of equal length vary in difficulty, the horizon over all tasks differs from "
            "the horizon for a typical task."
        )

    def _growth(self, trend: HorizonTrend) -> Finding:
        rows = []
        for row, (share, name) in enumerate(zip(trend.share, trend.definition, strict=True)):
            low, high = trend.interval[row]
            value = trend.doubling_days[row]
            said = (
                f"{count(value)} days [{count(low)}, {_days(high)}]"
                if np.isfinite(value)
                else f"undefined ({trend.flags[row]})"
            )
            rows.append(
                f"{percent(share)} horizon, {name}: doubling time {said}, "
                f"{count(trend.n_models[row])} models"
            )
        return Finding(
            key="trend",
            question="How many days do horizons take to double?",
            rows=tuple(rows),
            explanation=(
                "Log horizons are regressed on release dates. Intervals account for the "
                "deviations of models from the regression line and for the sampling of tasks, "
                "which affects all models."
            ),
            numbers={"trend": trend},
        )


def minutes(value: float) -> str:
    """Return minutes with three significant digits."""
    if np.isinf(value):
        return "∞"
    return "0" if value == 0.0 else significant(value, 3)


def _days(value: float) -> str:
    return "∞" if np.isinf(value) else count(value)
