"""Posterior distributions of many parameters, row by row."""

from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.errors import ShapeError
from psychollm._base.types import FloatArray, IntArray
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.posterior import shortest_interval
from psychollm.plots.canvas import (
    BLUE,
    DASHED,
    INK,
    MUTED,
    TEXT_SIZE,
    name_axes,
    name_rows,
    open_axes,
    plain_text,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HALF = 0.5
MOST_ROWS = 60


@plain_text()
def plot_posterior_forest(
    estimate: Estimate,
    *,
    reference: float | None = None,
    order: IntArray | None = None,
    x: str = "",
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw posteriors row by row: value, the shortest interval of one half, and that of the level.

    Above the bars stands the outline of the draws. The numbers are those of ``to_frame()`` and
    ``draws``; of more than sixty rows the highest and lowest thirty are drawn.

    Parameters
    ----------
    estimate : Estimate
        With draws, such as `slope` or `family` of `bayesian_2pl`.
    reference : float, optional
        A value to compare with, drawn as a line.
    order : int array, optional
        Rows from top to bottom; high values on top by default.
    x : str
        Name of the horizontal axis; that of the estimate by default.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Raises
    ------
    OptionError
        If the estimate holds no draws.
    ShapeError
        If it has no value at all.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from psychollm.irt.bayes.bayesian import bayesian_2pl
    >>> answers = np.random.default_rng(1).random((200, 4)) < [0.2, 0.4, 0.6, 0.7]
    >>> found = bayesian_2pl(answers, n_draws=200, rng=0)
    >>> plot_posterior_forest(found.intercept, ax=Figure().subplots()).get_xlabel()
    'intercept'
    """
    draws = estimate.draws
    rows = _rows(estimate.value) if order is None else np.asarray(order)
    if not rows.size:
        msg = f"estimate: {estimate.name} has no value to draw: look at its flags"
        raise ShapeError(msg)
    ax = open_axes(ax, size=(6.4, 1.2 + 0.3 * rows.size))
    if reference is not None:
        ax.axvline(reference, color=INK, lw=0.9, ls=DASHED, zorder=1)
    y = np.arange(rows.size) + 0.18
    lower, upper = estimate.interval[rows].T
    ax.hlines(y, lower, upper, color=BLUE, lw=1.4, alpha=0.75, zorder=3)
    half = shortest_interval(draws[:, rows], HALF)
    ax.hlines(y, half[:, 0], half[:, 1], color=BLUE, lw=4.0, zorder=3)
    ax.plot(estimate.value[rows], y, "o", ms=4.6, color="white", mec=INK, mew=1.0, zorder=4)
    for position, row in enumerate(rows):
        _outline(ax, draws[:, row], estimate.interval[row], position + 0.1)
    name_rows(ax, [estimate.labels[row] for row in rows], striped=True)
    ax.set_ylim(rows.size - 0.5, -0.6)
    name_axes(ax, x=x or estimate.name)
    _left_out(ax, estimate, rows)
    return ax


def _rows(value: FloatArray) -> IntArray:
    """Return defined rows from high to low, of many the ends only."""
    known = np.flatnonzero(np.isfinite(value))
    order = known[np.argsort(-value[known], kind="stable")]
    if order.size <= MOST_ROWS:
        return order
    return np.concatenate([order[: MOST_ROWS // 2], order[-MOST_ROWS // 2 :]])


def _outline(ax: "Axes", draws: FloatArray, interval: FloatArray, base: float) -> None:
    """Draw a smoothed outline of the draws, upwards from `base`, within twice the interval."""
    width = float(interval[1] - interval[0])
    spread = float(draws.std())
    if not spread > 0.0 or not width > 0.0:
        return
    at = np.linspace(interval[0] - 0.3 * width, interval[1] + 0.3 * width, 120)
    # Silverman's rule, with the interval's width so that a long tail does not blur the middle.
    bandwidth = 0.9 * min(spread, width / 3.92) * draws.size**-0.2
    some = draws[:: max(1, draws.size // 1000)]
    height: Any = np.exp(-0.5 * ((at[:, None] - some) / bandwidth) ** 2).sum(axis=1)
    height *= 0.5 / height.max()
    ax.fill_between(at, base, base - height, color=BLUE, alpha=0.22, lw=0, zorder=2)


def _left_out(ax: "Axes", estimate: Estimate, rows: IntArray) -> None:
    """Say how many rows are not drawn, and why."""
    undefined = int((~estimate.defined).sum())
    hidden = len(estimate.labels) - rows.size - undefined
    parts = [f"{hidden} in between not drawn"] if hidden else []
    parts += [f"{undefined} without a value"] if undefined else []
    if parts:
        ax.set_title(", ".join(parts), fontsize=TEXT_SIZE, color=MUTED, loc="right")
