"""Plot of the posterior distributions of many parameters, with one row per parameter."""

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
    """Draw posterior estimates with 50 % intervals and with intervals at the level of the result.

    The density of the posterior draws is above each interval. With more than sixty rows, only the
    thirty highest and the thirty lowest rows are drawn. ``to_frame()`` and ``draws`` contain the
    plotted numbers.

    Parameters
    ----------
    estimate : Estimate
        Estimate with draws, for example `slope` or `family` of a Bayesian fit.
    reference : float, optional
        Reference value, drawn as a line.
    order : int array, optional
        Indices of the rows from top to bottom, by default in descending order of the estimates.
    x : str
        Label of the horizontal axis, by default the name of the estimate.
    ax : Axes, optional
        Axes to draw on; by default, a new figure is created.

    Raises
    ------
    OptionError
        If the estimate has no draws.
    ShapeError
        If the estimate has no defined value.

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
        msg = f"estimate: {estimate.name} has no defined value: see its flags"
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
    """Return defined rows in descending order; of many rows, only the highest and lowest."""
    known = np.flatnonzero(np.isfinite(value))
    order = known[np.argsort(-value[known], kind="stable")]
    if order.size <= MOST_ROWS:
        return order
    return np.concatenate([order[: MOST_ROWS // 2], order[-MOST_ROWS // 2 :]])


def _outline(ax: "Axes", draws: FloatArray, interval: FloatArray, base: float) -> None:
    """Draw the smoothed density of the draws above `base`, truncated near the interval."""
    width = float(interval[1] - interval[0])
    spread = float(draws.std())
    if not spread > 0.0 or not width > 0.0:
        return
    at = np.linspace(interval[0] - 0.3 * width, interval[1] + 0.3 * width, 120)
    # Use the interval's width in Silverman's rule, so that long tails do not oversmooth the
    # middle.
    bandwidth = 0.9 * min(spread, width / 3.92) * draws.size**-0.2
    some = draws[:: max(1, draws.size // 1000)]
    height: Any = np.exp(-0.5 * ((at[:, None] - some) / bandwidth) ** 2).sum(axis=1)
    height *= 0.5 / height.max()
    ax.fill_between(at, base, base - height, color=BLUE, alpha=0.22, lw=0, zorder=2)


def _left_out(ax: "Axes", estimate: Estimate, rows: IntArray) -> None:
    """Write the number of rows that are not drawn, with the reason."""
    undefined = int((~estimate.defined).sum())
    hidden = len(estimate.labels) - rows.size - undefined
    parts = [f"{hidden} in between not drawn"] if hidden else []
    parts += [f"{undefined} without a value"] if undefined else []
    if parts:
        ax.set_title(", ".join(parts), fontsize=TEXT_SIZE, color=MUTED, loc="right")
