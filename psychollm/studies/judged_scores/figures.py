"""Plot of the judge's scores and the estimated human scores."""

from typing import TYPE_CHECKING

import numpy as np

from psychollm._base.numbers import number, percent
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

    from psychollm.studies.judged_scores.result import JudgedScores


@plain_text()
def plot_judged_scores(result: "JudgedScores", *, ax: "Axes | None" = None) -> "Axes":
    """Plot each model's estimated human score with its interval, and the judge's score.

    The best model is on top; a line connects both scores of a model.

    Parameters
    ----------
    result : JudgedScores
        Result of `psychollm.judged_scores`.
    ax : Axes, optional
        Axes to draw on; a new figure by default.
    """
    order = result.order
    labels = [result.labels[row] for row in order]
    ax = open_axes(ax, size=ranked_size(labels))
    name_rows(ax, labels, size=TICK_SIZE - 0.5)
    for place, row in enumerate(order):
        if place % 2:
            ax.axhspan(place - 0.5, place + 0.5, color=STRIPE, lw=0, zorder=0)
        score, raw = result.score.value[row], result.raw.value[row]
        if np.isfinite(score):
            lower, upper = result.score.interval[row]
            ax.hlines(place, lower, upper, color=colour_of(0), lw=1.8, alpha=0.8, zorder=2)
            points(ax, [score], [place], colour_of(0))
        if np.isfinite(raw):
            ax.plot(
                [raw], [place], marker="D", ms=5.5, mfc="white", mec=MUTED, mew=1.4, ls="none",
                zorder=3,
            )  # fmt: skip
        told = f"judged {number(raw, 3)}, human {result.score.text(row, 3)}"
        if result.bias.defined[row]:
            told += f", bias {result.bias.text(row, 3, signed=True)}"
        keep_row(ax, place, f"{result.labels[row]}: {told}", result.labels[row])
    name_axes(
        ax,
        x=f"score: dots human ({percent(result.level)} intervals), diamonds judge",
    )
    return ax
