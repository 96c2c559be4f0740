"""Plot of yes rates and validity flags."""

from typing import TYPE_CHECKING

import numpy as np

from psychollm._base.numbers import number, percent
from psychollm.plots.canvas import (
    BLUE,
    DASHED,
    INK,
    ORANGE,
    RED,
    legend,
    name_axes,
    open_axes,
    plain_text,
    points,
)
from psychollm.plots.labels import label_points

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from psychollm.data.screen import Screen


@plain_text()
def plot_screen(result: "Screen", *, ax: "Axes | None" = None) -> "Axes":
    """Draw the AUROC of yes-no answers against yes rates; flagged models are labelled.

    If correctness is unknown, the models are drawn in a single row. ``result.to_frame()`` returns
    the plotted numbers and the reasons.

    Parameters
    ----------
    result : Screen
        Result of `validity_screen`.
    ax : Axes, optional
        Axes to draw on; by default, a new figure is created.

    Examples
    --------
    >>> import psychollm as psy
    >>> from matplotlib.figure import Figure
    >>> screen = psy.validity_screen([[1, 0] * 20, [1] * 40])
    >>> plot_screen(screen, ax=Figure().subplots()).get_xlabel()
    'yes rate'
    """
    ax = open_axes(ax, size=(6.4, 4.2))
    y = np.where(np.isfinite(result.auroc), result.auroc, 0.5)
    known = bool(np.isfinite(result.auroc).any())
    groups = (
        (~result.flagged, BLUE, "o", "no flag"),
        (result.flagged & result.usable, ORANGE, "D", "flagged, usable"),
        (~result.usable, RED, "X", "unusable"),
    )
    for which, colour, mark, name in groups:
        if which.any():
            rows = np.flatnonzero(which).tolist()
            points(
                ax,
                result.yes_rates[which],
                y[which],
                colour,
                marker=mark,
                size=6.5,
                label=name,
                texts=[_told(result, row) for row in rows],
                models=[result.models[row] for row in rows],
            )
    ax.set_xlim(-0.03, 1.03)
    low, high = min(0.45, float(y.min()) - 0.05), max(0.75, float(y.max()) + 0.05)
    ax.set_ylim(low, high)
    ax.axhline(0.5, color=INK, lw=0.9, ls=DASHED, zorder=1)
    name_axes(ax, x="yes rate", y="AUROC of yes for being correct" if known else "")
    if not known:
        ax.set_yticks([])
    legend(ax, columns=3)
    named = result.flagged & np.isfinite(result.yes_rates)
    x = np.where(named, result.yes_rates, np.nan)
    label_points(ax, x, y, result.models, obstacles=np.column_stack([result.yes_rates, y]))
    return ax


def _told(result: "Screen", row: int) -> str:
    rate, area = float(result.yes_rates[row]), float(result.auroc[row])
    text = f"{result.models[row]}: yes {percent(rate, 1)}, AUROC {number(area)}"
    return "; ".join([text, *map(str, result.reasons[row])])
