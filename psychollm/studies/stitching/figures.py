"""Plots of the benchmark scale, and of held-out scores against their predictions."""

from typing import TYPE_CHECKING

import numpy as np

from psychollm._base.numbers import number, percent
from psychollm.plots.canvas import (
    BLUE,
    MUTED,
    ORANGE,
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

    from psychollm.studies.stitching.result import StitchedBenchmarks

_MODELS = 30  # number of models in the plot, which shows the most able ones


@plain_text()
def plot_scale(result: "StitchedBenchmarks", *, ax: "Axes | None" = None) -> "Axes":
    """Draw benchmarks and the most able models along the scale, with the highest on top.

    Parameters
    ----------
    result : StitchedBenchmarks
        Result of `psychollm.stitch_benchmarks`.
    ax : Axes, optional
        Axes to draw on; a new figure by default.
    """
    order = result.order[:_MODELS]
    low = min(float(result.ability.value.min()), -1.0)
    entries = [(result.ability, row, BLUE, "o") for row in order]
    hard = result.difficulty
    entries += [
        (hard, row, ORANGE, "s")
        for row in np.flatnonzero(hard.value > low - 1.0).tolist()
        if not hard.flags[row]
    ]
    entries.sort(key=lambda entry: -entry[0].value[entry[1]])
    names = [estimate.labels[row] for estimate, row, _, _ in entries]
    ax = open_axes(ax, size=ranked_size(names))
    name_rows(ax, names, size=TICK_SIZE - 0.5)
    right = max(float(np.max(estimate.value[row])) for estimate, row, _, _ in entries) + 1.0
    for place, (estimate, row, colour, shape) in enumerate(entries):
        if shape == "s":
            ax.axhspan(place - 0.5, place + 0.5, color=STRIPE, lw=0, zorder=0)
        lower, upper = np.clip(estimate.interval[row], low - 1.5, right)
        ax.hlines(place, lower, upper, color=colour, lw=1.4, alpha=0.7, zorder=2)
        points(ax, [estimate.value[row]], [place], colour, marker=shape)
        what = "ability" if shape == "o" else "difficulty"
        keep_row(ax, place, f"{names[place]}: {what} {estimate.text(row)}", names[place])
    ax.axvline(0.0, color=MUTED, lw=0.7, ls=":", zorder=1)
    ax.set_xlim(low - 1.5, right)
    name_axes(
        ax,
        x=f"ability of models (blue), difficulty of benchmarks (orange), "
        f"{percent(result.level)} intervals",
    )
    return ax


@plain_text()
def plot_left_out(result: "StitchedBenchmarks", *, ax: "Axes | None" = None) -> "Axes":
    """Plot held-out scores against their predictions.

    Parameters
    ----------
    result : StitchedBenchmarks
        Result of `psychollm.stitch_benchmarks`.
    ax : Axes, optional
        Axes to draw on; a new figure by default.
    """
    ax = open_axes(ax, size=(5.4, 4.8))
    held = result.held_cells[result.n_abilities - 1]
    bounds = held.value[:, None] + held.widen * (held.interval - held.value[:, None])
    bounds = np.clip(bounds, 0.0, 1.0)
    ax.plot([0.0, 1.0], [0.0, 1.0], color=MUTED, lw=0.8, zorder=1)
    ax.hlines(held.score, *bounds.T, color=BLUE, lw=0.7, alpha=0.2, zorder=1.5)
    told = [
        f"score {number(score, 3)}, predicted {number(value, 3)}"
        for score, value in zip(held.score, held.value, strict=True)
    ]
    points(ax, held.value, held.score, BLUE, texts=told)
    name_axes(ax, x="prediction without this score, 90 % interval", y="score")
    return ax
