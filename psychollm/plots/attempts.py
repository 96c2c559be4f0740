"""Plot of each model's probability of success in one, at least one, and all attempts."""

from typing import TYPE_CHECKING

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
)
from psychollm.plots.marks import keep_row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from psychollm.studies.attempts.result import Attempts


@plain_text()
def plot_attempts(result: "Attempts", *, ax: "Axes | None" = None) -> "Axes":
    """Plot the probabilities of success in one attempt, all attempts, and at least one attempt.

    The mark is the probability of success in one attempt. The bar extends from the probability of
    success in all attempts to the probability of success in at least one attempt. The best model
    is on top. ``result.to_frame()`` returns the plotted numbers.

    Parameters
    ----------
    result : Attempts
        Result of `psychollm.attempts`.
    ax : Axes, optional
        Axes to draw on; by default, a new figure is created.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from psychollm.studies.attempts.study import attempts
    >>> tries = np.random.default_rng(1).random((2, 40, 3)) < [[[0.8]], [[0.4]]]
    >>> ax = plot_attempts(attempts(tries.astype(int), k=(1, 3), rng=1), ax=Figure().subplots())
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['0', '1']
    """
    low, top = min(result.k), max(result.k)
    order = result.order
    labels = [result.labels[row] for row in order]
    ax = open_axes(ax, size=ranked_size(labels))
    name_rows(ax, labels, size=TICK_SIZE - 0.5)
    once, some, every = result.pass_at_k[low], result.pass_at_k[top], result.pass_hat_k[top]
    for row, model in enumerate(order):
        if row % 2:
            ax.axhspan(row - 0.5, row + 0.5, color=STRIPE, lw=0, zorder=0)
        ax.hlines(
            row, every.value[model], some.value[model], color=MUTED, lw=7, alpha=0.3, zorder=1
        )
        lower, upper = once.interval[model]
        ax.hlines(row, lower, upper, color=colour_of(0), lw=1.6, alpha=0.75, zorder=2)
        points(ax, [once.value[model]], [row], colour_of(0))
        told = (
            f"{result.labels[model]}: pass@{low} {once.text(model, 3)}, "
            f"pass@{top} {some.text(model, 3)}, pass^{top} {every.text(model, 3)}"
        )
        keep_row(ax, row, told, result.labels[model])
    name_axes(
        ax,
        x=f"pass@{low} with {percent(result.level)} intervals; bar from pass^{top} to pass@{top}",
    )
    ax.set_xlim(-0.02, 1.02)
    return ax
