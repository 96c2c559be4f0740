"""Plot of models' scores on the same questions, with ranks and tiers."""

from typing import TYPE_CHECKING

import numpy as np

from psychollm._base.numbers import percent
from psychollm.plots.canvas import (
    MUTED,
    STRIPE,
    TICK_SIZE,
    colour_of,
    name_axes,
    name_rows,
    open_axes,
    plain_text,
    points,
    ranked_size,
    write,
)
from psychollm.plots.marks import keep_row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from psychollm.studies.comparison.study import Comparison


@plain_text()
def plot_comparison(result: "Comparison", *, ax: "Axes | None" = None) -> "Axes":
    """Draw each model's score and rank with intervals, with the best model on top.

    Each tier of models has one colour and background. A tier ends before the first model that is
    significantly worse than the tier's best model. The rank intervals on the right are
    simultaneous. ``result.to_frame()`` returns the plotted numbers.

    Parameters
    ----------
    result : Comparison
        Result of `psychollm.compare`.
    ax : Axes, optional
        Axes to draw on; by default, a new figure is created.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from psychollm.studies.comparison.study import compare
    >>> right = np.random.default_rng(1).random((3, 400)) < [[0.8], [0.6], [0.58]]
    >>> ax = plot_comparison(compare(right.astype(int), rng=1), ax=Figure().subplots())
    >>> [text.get_text() for text in ax.texts]
    ['rank', '1', '2–3', '2–3']
    """
    ax = open_axes(ax, size=ranked_size(result.labels))
    name_rows(ax, result.labels, size=TICK_SIZE - 0.5)
    for row, tier in enumerate(result.tier.tolist()):
        if tier % 2:
            ax.axhspan(row - 0.5, row + 0.5, color=STRIPE, lw=0, zorder=0)
    lower, upper = result.score.interval.T
    for row, tier in enumerate(result.tier.tolist()):
        colour = colour_of((tier - 1) % 8) if tier else MUTED
        ax.hlines(row, lower[row], upper[row], color=colour, lw=1.6, alpha=0.75, zorder=2)
        points(ax, [result.score.value[row]], [row], colour)
        told = f"{result.labels[row]}: {result.score.text(row, 3)}, rank {_rank(result, row)}"
        keep_row(ax, row, told, result.labels[row])
    _ranks(ax, result)
    name_axes(ax, x=f"{result.score.name}, {percent(result.level)} intervals")
    return ax


def _ranks(ax: "Axes", result: "Comparison") -> None:
    """Write the interval of each model's rank on the right of the plot."""
    at = ax.get_yaxis_transform()
    write(ax, 1.02, -0.85, "rank", transform=at, colour=MUTED)
    for row in range(len(result.labels)):
        write(ax, 1.02, row, _rank(result, row), transform=at)


def _rank(result: "Comparison", row: int) -> str:
    low, high = result.rank_interval[row].tolist()
    return "–" if np.isnan(result.rank[row]) else str(low) if low == high else f"{low}–{high}"
