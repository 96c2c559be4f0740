"""Plots of time horizons of models, and of their growth."""

from typing import TYPE_CHECKING

import numpy as np

from psychollm._base.numbers import percent
from psychollm.plots.canvas import (
    STRIPE,
    TICK_SIZE,
    colour_of,
    name_axes,
    name_rows,
    open_axes,
    plain_text,
    points,
    ranked_size,
)
from psychollm.plots.labels import label_points
from psychollm.plots.marks import keep_row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from psychollm.studies.time_horizon.result import TimeHorizon
    from psychollm.studies.time_horizon.trend import HorizonTrend

_TICKS = {
    1 / 60: "1 s",
    1 / 6: "10 s",
    1: "1 min",
    4: "4 min",
    15: "15 min",
    60: "1 h",
    240: "4 h",
    960: "16 h",
    5760: "4 days",
}
# unbounded intervals are cut where they exceed the range of task lengths by this factor
_FURTHER = 16.0
_NAMED = 15


@plain_text()
def plot_time_horizon(
    result: "TimeHorizon", *, share: float | None = None, ax: "Axes | None" = None
) -> "Axes":
    """Plot each model's horizons over all tasks and for a typical task, with intervals.

    Parameters
    ----------
    result : TimeHorizon
        Result of `psychollm.time_horizon`.
    share : float, optional
        One of the probabilities in the result; the first probability by default.
    ax : Axes, optional
        Axes to draw on; a new figure by default.
    """
    place = 0 if share is None else result.shares.index(share)
    order = result.order
    labels = [result.labels[row] for row in order]
    ax = open_axes(ax, size=ranked_size(labels))
    name_rows(ax, labels, size=TICK_SIZE - 0.5)
    low = result.task_minutes.min() / _FURTHER
    high = result.task_minutes.max() * _FURTHER
    for kind, (name, offset) in enumerate(zip(result.definitions, (-0.16, 0.16), strict=True)):
        found = result.estimates[kind][place]
        bounds = np.clip(found.interval, low, high)
        for row, model in enumerate(order):
            if row % 2 and not kind:
                ax.axhspan(row - 0.5, row + 0.5, color=STRIPE, lw=0, zorder=0)
            if np.isfinite(bounds[model]).all():
                ax.hlines(
                    row + offset, *bounds[model], color=colour_of(kind), lw=1.6, alpha=0.6,
                    zorder=2,
                )  # fmt: skip
        shown = [row for row, model in enumerate(order) if low < found.value[model] < high]
        points(
            ax,
            [found.value[order[row]] for row in shown],
            [row + offset for row in shown],
            colour_of(kind),
            label=name,
        )
    for row, model in enumerate(order):
        told = "; ".join(
            f"{name} {result.text(model, place, kind)}"
            for kind, name in enumerate(result.definitions)
        )
        keep_row(ax, row, f"{result.labels[model]}: {told} minutes", result.labels[model])
    _in_minutes(ax, low, high)
    name_axes(
        ax,
        x=f"{percent(result.shares[place])} time horizon, {percent(result.level)} intervals; "
        "length of the task for people",
    )
    if any(ax.get_legend_handles_labels()):
        ax.legend(loc="lower right", fontsize=TICK_SIZE - 1, frameon=False)
    return ax


@plain_text()
def plot_horizon_trend(
    result: "TimeHorizon", *, trend: "HorizonTrend | None" = None, ax: "Axes | None" = None
) -> "Axes":
    """Plot horizons over all tasks by release date, with the regression line.

    Parameters
    ----------
    result : TimeHorizon
        Result of `psychollm.time_horizon`.
    trend : HorizonTrend, optional
        Result of `TimeHorizon.trend`; by default the trend in the result.
    ax : Axes, optional
        Axes to draw on; a new figure by default.
    """
    held = result.trends if trend is None else trend
    assert held is not None  # noqa: S101 -- for the type checker
    found = result.all_tasks[0]
    there = np.flatnonzero(np.isfinite(found.value) & np.isfinite(held.days))
    ax = open_axes(ax, size=(6.4, 4.6))
    days = held.days[there]
    years = 1970.0 + days / 365.25
    tasks = result.task_minutes.min() / _FURTHER, result.task_minutes.max() * _FURTHER
    reach = found.interval[there][np.isfinite(found.interval[there]).all(axis=1)]
    ends = np.concatenate([reach.ravel(), found.value[there]]) if there.size else np.array(tasks)
    low, high = max(tasks[0], ends.min() / 4.0), min(tasks[1], ends.max() * 4.0)
    ax.vlines(
        years, *np.clip(found.interval[there], low, high).T, color=colour_of(0), lw=1.2, alpha=0.5
    )
    row = held.row(result.shares[0], result.definitions[0])
    if np.isfinite(held.per_year[row]) and days.size:
        ends = np.array([days.min(), days.max()])
        ax.plot(
            1970.0 + ends / 365.25,
            np.exp2(held.intercept[row] + held.per_year[row] * ends / 365.25),
            color=colour_of(1),
        )
    labels = [result.labels[place] for place in there]
    points(
        ax, years, found.value[there], colour_of(0),
        texts=[f"{result.labels[one]}: {result.text(int(one), 0, 0)} minutes" for one in there],
        models=labels,
    )  # fmt: skip
    _in_minutes(ax, low, high, vertical=True)
    name_axes(ax, x="release date", y=f"{percent(result.shares[0])} time horizon over all tasks")
    if len(labels) <= _NAMED:
        label_points(ax, years, found.value[there], labels)
    return ax


def _in_minutes(ax: "Axes", low: float, high: float, *, vertical: bool = False) -> None:
    """Label a logarithmic axis in seconds, minutes and hours."""
    from matplotlib.ticker import NullLocator

    axis = ax.yaxis if vertical else ax.xaxis
    (ax.set_yscale if vertical else ax.set_xscale)("log")
    kept = {minutes: text for minutes, text in _TICKS.items() if low <= minutes <= high}
    axis.set_ticks(list(kept), labels=list(kept.values()))
    axis.set_minor_locator(NullLocator())
