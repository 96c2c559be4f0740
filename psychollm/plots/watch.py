"""Plot of the evidence that a monitored model has changed, at each interim analysis."""

from typing import TYPE_CHECKING

import numpy as np

from psychollm._base.numbers import number, percent
from psychollm.plots.canvas import (
    BLUE,
    DASHED,
    INK,
    RED,
    name_axes,
    note,
    open_axes,
    plain_text,
    points,
    write,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from psychollm.bank.watch import Watch

_LEAST, _MOST = 1e-2, 1e6  # limits of the evidence axis


@plain_text()
def plot_watch(watch: "Watch", *, ax: "Axes | None" = None) -> "Axes":
    """Plot the evidence that a model's answers have changed, at each interim analysis.

    Parameters
    ----------
    watch : Watch
        Result of `ItemBank.watch`.
    ax : Axes, optional
        Axes to draw on; by default, a new figure is created.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from psychollm.bank import item_bank
    >>> right = np.random.default_rng(1).integers(0, 2, (10, 50))
    >>> watch = item_bank(right, rng=1).watch(0)
    >>> for _ in range(3):
    ...     _ = watch.update(dict(enumerate(right[0])))
    >>> plot_watch(watch, ax=Figure().subplots()).get_yscale()
    'log'
    """
    ax = open_axes(ax, size=(7.2, 3.6))
    looks = watch.to_frame()
    bound = 1.0 / watch.alpha
    if looks.empty:
        note(ax, "no looks")
        return ax
    x = np.arange(1, len(looks) + 1)
    y = np.clip(looks["evidence"].to_numpy(dtype=np.float64), _LEAST, _MOST)
    alarm = looks["alarm"].to_numpy(dtype=bool)
    told = [
        f"{look}: evidence {number(evidence, 2)}; {percent(score, 1)} of {n} correct"
        for look, evidence, score, n in zip(
            looks["look"], looks["evidence"], looks["score"], looks["n"], strict=True
        )
    ]
    ax.plot(x, y, color=BLUE, lw=1.2, zorder=2)
    for colour, which in ((BLUE, ~alarm), (RED, alarm)):
        texts = [text for text, shown in zip(told, which, strict=True) if shown]
        points(ax, x[which], y[which], colour, size=4.0, texts=texts)
    ax.axhline(bound, color=INK, lw=1.0, ls=DASHED, zorder=1)
    ax.set_yscale("log")
    ax.yaxis.set_major_formatter(lambda value, place: f"{value:g}")
    ax.set_ylim(min(0.5 * y.min(), 0.3), max(3.0 * bound, 2.0 * y.max()))
    write(
        ax, x[0], 1.15 * bound, f"alarm: {number(bound, 0)}", "left bottom", transform=ax.transData
    )
    name_axes(ax, x="look", y="evidence of a change")
    return ax
