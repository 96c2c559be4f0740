"""Plot of mean confidence against accuracy with one point per model."""

from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.numbers import percent, typeset, with_interval
from psychollm._base.types import FloatArray
from psychollm.plots.canvas import (
    BLUE,
    INK,
    PURPLE,
    RED,
    legend,
    name_axes,
    note,
    open_axes,
    plain_text,
    points,
)
from psychollm.plots.labels import label_points

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from psychollm.calibration.consensus.between_models import BetweenModels
    from psychollm.calibration.decisions.confusion import Confusion


@plain_text()
def plot_between_models(
    result: "BetweenModels", *, rates: "Confusion | None" = None, ax: "Axes | None" = None
) -> "Axes":
    """Plot each model's yes rate against its accuracy, with the fitted line and the line y = x.

    Parameters
    ----------
    result : BetweenModels
        Result of `psychollm.calibration.between_models`.
    rates : Confusion, optional
        Result of `psychollm.calibration.confusion`; its intervals are drawn as horizontal and
        vertical bars.
    ax : Axes, optional
        Axes to draw on; by default, a new figure is created.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from psychollm.calibration.consensus.between_models import between_models
    >>> answers = [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]]
    >>> ax = plot_between_models(between_models(answers, answers), ax=Figure().subplots())
    >>> ax.get_xlabel()
    'accuracy'
    """
    ax = open_axes(ax, size=(6.4, 5.2))
    low, high = _limits(result)
    ax.set_xlim(*low)
    ax.set_ylim(*high)
    ax.plot([0, 1], [0, 1], color=PURPLE, lw=1.3, ls=(0, (5, 2)), label="calibrated, y = x")
    _line(ax, result)
    x, y = result.accuracy, result.confidence
    if rates is not None:
        bars: dict[str, Any] = {"color": INK, "lw": 0.6, "alpha": 0.6, "zorder": 3}
        ax.hlines(rates.yes_rate.value, *rates.accuracy.interval.T, **bars)
        ax.vlines(rates.accuracy.value, *rates.yes_rate.interval.T, **bars)
    told = [
        f"{label}: accuracy {percent(across, 1)}, yes {percent(up, 1)}"
        for label, across, up in zip(result.labels, x, y, strict=True)
    ]
    look: dict[str, Any] = {"size": 5.5, "zorder": 4, "gid": "models"}
    points(ax, x, y, BLUE, texts=told, models=result.labels, **look)
    name_axes(ax, x="accuracy", y="proportion of questions answered “yes, I can”")
    legend(ax, columns=2)
    if result.n:
        label_points(ax, x, y, result.labels, obstacles=_obstacles(ax, result, rates))
    else:
        note(ax, "no model has both a confidence and an accuracy")
    return ax


def _limits(result: "BetweenModels") -> tuple[tuple[float, float], tuple[float, float]]:
    """Return axis limits within [0, 1] that contain all points and a margin."""

    def around(values: FloatArray) -> tuple[float, float]:
        known = values[np.isfinite(values)]
        if not known.size:
            return (0.0, 1.0)
        margin = 0.12 * max(float(np.ptp(known)), 0.1) + 0.02
        return (max(-0.02, float(known.min()) - margin), min(1.02, float(known.max()) + margin))

    return around(result.accuracy), around(result.confidence)


def _line(ax: "Axes", result: "BetweenModels") -> None:
    """Draw the fitted line with its confidence band over the range of the accuracies."""
    line = result.confidence_on_accuracy
    if not np.isfinite(line.slope):
        return
    known = result.accuracy[np.isfinite(result.accuracy)]
    band = line.band(np.linspace(known.min(), known.max(), 60))
    name = typeset(f"slope {with_interval(line.slope, line.slope_interval)}")
    ax.plot(band["at"], band["fit"], color=RED, lw=1.6, label=name, gid="fit")
    ax.fill_between(band["at"], band["lower"], band["upper"], color=RED, alpha=0.12, lw=0)


def _obstacles(ax: "Axes", result: "BetweenModels", rates: "Confusion | None") -> FloatArray:
    """Return points along both lines and all bars, which labels must avoid."""
    at = np.linspace(*ax.get_xlim(), 80)
    line = result.confidence_on_accuracy
    paths = [np.column_stack([at, at]), np.column_stack([at, line.intercept + line.slope * at])]
    if rates is not None:
        x, y = rates.accuracy, rates.yes_rate
        for share in np.linspace(0.0, 1.0, 7):
            across = x.interval @ [1.0 - share, share]
            along = y.interval @ [1.0 - share, share]
            paths += [np.column_stack([across, y.value]), np.column_stack([x.value, along])]
    points = np.vstack(paths)
    return points[np.isfinite(points).all(axis=1)]
