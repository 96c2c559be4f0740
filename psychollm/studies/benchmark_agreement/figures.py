"""Plot of the scores of models in two benchmarks."""

from typing import TYPE_CHECKING

import numpy as np

from psychollm._base.numbers import percent
from psychollm._base.types import FloatArray
from psychollm.plots.canvas import BLUE, RED, name_axes, open_axes, plain_text, points
from psychollm.plots.labels import label_points

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from psychollm.studies.benchmark_agreement.study import BenchmarkAgreement

_NAMED = 20  # with more models, points are not labelled


@plain_text()
def plot_benchmark_agreement(result: "BenchmarkAgreement", *, ax: "Axes | None" = None) -> "Axes":
    """Draw the scores of each model in both benchmarks; red lines join reversed pairs.

    Parameters
    ----------
    result : BenchmarkAgreement
        Result of `psychollm.benchmark_agreement`.
    ax : Axes, optional
        Axes to draw on; a new figure by default.
    """
    ax = open_axes(ax, size=(6.4, 5.2))
    x, y = result.first.value, result.second.value
    row = {label: place for place, label in enumerate(result.labels)}
    pairs = result.first_differences
    for pair in np.flatnonzero(result.reversed).tolist():
        ends = [row[pairs.first[pair]], row[pairs.second[pair]]]
        ax.plot(x[ends], y[ends], color=RED, lw=0.8, alpha=0.6, zorder=1.5)
    ax.hlines(y, *result.first.interval.T, color=BLUE, lw=1.0, alpha=0.45, zorder=2)
    ax.vlines(x, *result.second.interval.T, color=BLUE, lw=1.0, alpha=0.45, zorder=2)
    one, other = result.names
    told = [
        f"{label}: {one} {result.first.text(place, 3)}, {other} {result.second.text(place, 3)}"
        for place, label in enumerate(result.labels)
    ]
    points(ax, x, y, BLUE, texts=told, models=result.labels)
    level = f"{percent(result.level)} intervals"
    name_axes(ax, x=f"score in {one}, {level}", y=f"score in {other}, {level}")
    if len(result.labels) <= _NAMED:
        label_points(ax, x, y, result.labels, obstacles=_along(result))
    return ax


def _along(result: "BenchmarkAgreement") -> FloatArray:
    """Return points along the intervals, so that labels can avoid them (points, 2)."""
    share = np.linspace(0.0, 1.0, 9)[:, None]
    lines = []
    for one, other, order in (
        (result.first, result.second, 1),
        (result.second, result.first, -1),
    ):
        low, high = one.interval.T
        line = [low + share * (high - low), np.tile(other.value, (9, 1))]
        lines.append(np.stack(line[::order], axis=2).reshape(-1, 2))
    places = np.vstack(lines)
    return np.asarray(places[np.isfinite(places).all(axis=1)], dtype=np.float64)
