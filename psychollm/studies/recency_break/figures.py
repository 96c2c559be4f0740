"""Plot of each model's change in scores at a date, beyond question difficulty."""

from typing import TYPE_CHECKING

import numpy as np

from psychollm._base.numbers import percent
from psychollm.plots.canvas import (
    BLUE,
    MUTED,
    RED,
    STRIPE,
    TICK_SIZE,
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

    from psychollm.studies.recency_break.result import RecencyBreak


@plain_text()
def plot_recency_break(result: "RecencyBreak", *, ax: "Axes | None" = None) -> "Axes":
    """Plot each tested model's score change at its date, unadjusted and adjusted for difficulty.

    Parameters
    ----------
    result : RecencyBreak
        Result of `psychollm.recency_break`.
    ax : Axes, optional
        Axes to draw on; a new figure by default.
    """
    found = result.by_model
    order = [row for row in result.order if np.isfinite(found.change.value[row])]
    labels = [result.labels[row] for row in order]
    ax = open_axes(ax, size=ranked_size(labels or ["none"]))
    name_rows(ax, labels, size=TICK_SIZE - 0.5)
    ax.axvline(0.0, color=MUTED, lw=0.8, zorder=1)
    for row, model in enumerate(order):
        if row % 2:
            ax.axhspan(row - 0.5, row + 0.5, color=STRIPE, lw=0, zorder=0)
        colour = RED if result.alarm[result.lineage[model]] else BLUE
        ax.hlines(row, *found.change.interval[model], color=colour, lw=1.6, alpha=0.6, zorder=2)
        points(ax, [found.change.value[model]], [row], colour)
        ax.plot([found.raw[model]], [row], "x", color=MUTED, ms=4.5, zorder=3)
        told = f"{result.model_text(model)}; lineage {result.lineages[result.lineage[model]]}"
        keep_row(ax, row, told, result.labels[model])
    name_axes(
        ax,
        x=f"change after the date, adjusted for difficulty ({percent(result.level)} intervals); "
        "crosses: raw change",
    )
    return ax
