"""Plot of success against cost, with the frontier."""

from typing import TYPE_CHECKING

import numpy as np

from psychollm._base.names import short_names
from psychollm._base.numbers import percent
from psychollm.plots.canvas import (
    BLUE,
    MUTED,
    TEXT_SIZE,
    name_axes,
    open_axes,
    plain_text,
    points,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from psychollm.studies.attempts.frontier import Frontier

_NAMED, _LONGEST = 12, 26  # maximum number and maximum length of the labels


@plain_text()
def plot_frontier(result: "Frontier", *, ax: "Axes | None" = None) -> "Axes":
    """Plot success against the mean cost of one attempt, with the frontier.

    Parameters
    ----------
    result : Frontier
        Result of `Attempts.frontier`.
    ax : Axes, optional
        Axes to draw on; a new figure by default.
    """
    ax = open_axes(ax)
    cost, score = result.spent, result.score
    known = [row for row in result.order if np.isfinite(cost.value[row] * score.value[row])]
    front = [row for row in known if result.on_frontier[row]]
    if front:
        ax.step(
            cost.value[front],
            score.value[front],
            where="post",
            color=MUTED,
            lw=1.0,
            alpha=0.5,
            zorder=1,
        )
    for row in known:
        x, y = cost.value[row], score.value[row]
        colour = BLUE if result.on_frontier[row] else MUTED
        ax.hlines(y, *cost.interval[row], color=colour, lw=1.0, alpha=0.4, zorder=2)
        ax.vlines(x, *score.interval[row], color=colour, lw=1.0, alpha=0.4, zorder=2)
        name = result.labels[row]
        points(
            ax, [x], [y], colour, hollow=result.beaten_by[row] != "–",
            texts=[f"{name}: {result.text(row)}"], models=[name],
        )  # fmt: skip
    names = short_names(result.labels, _LONGEST)
    for row in front[:_NAMED]:
        # Put labels to the left of the points, because no model has the same success at a lower
        # cost.
        ax.annotate(
            names[row], (cost.value[row], score.value[row]), xytext=(-4, 4), ha="right",
            textcoords="offset points", fontsize=TEXT_SIZE - 1, zorder=4,
        )  # fmt: skip
    if known and min(cost.value[known]) > 0.0:
        _logarithmic(ax)
    unit = "seconds" if result.of == "seconds" else "cost"
    name_axes(
        ax,
        x=f"{unit} of one attempt, {percent(result.level)} intervals",
        y=score.name,
    )
    return ax


def _logarithmic(ax: "Axes") -> None:
    """Use a logarithmic scale with plain numbers for costs."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
