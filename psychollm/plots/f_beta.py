"""Plot of each model's F-beta score as a function of beta."""

from typing import TYPE_CHECKING

import numpy as np

from psychollm._base.names import short_names
from psychollm._base.numbers import number
from psychollm.plots.canvas import (
    INK,
    MUTED,
    QUIET,
    RULE,
    TEXT_SIZE,
    colour_of,
    legend,
    name_axes,
    open_axes,
    plain_text,
    write,
)
from psychollm.plots.labels import draw_curve, name_ends, spread
from psychollm.plots.marks import keep_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from psychollm.calibration.decisions.f_beta import FBeta

_TICKS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
_TOLD = (0.1, 1.0, 10.0)
_LETTER = 0.013  # width of a character, as a proportion of the axes
_STRIP = (1.015, 1.05)  # bottom and top of the strip of best models, in heights of the axes


@plain_text()
def plot_f_beta(result: "FBeta", *, ax: "Axes | None" = None) -> "Axes":
    """Draw F-beta curves of the models, with the best model for each beta and two baselines.

    A curve is solid where the model's F-beta exceeds the F-beta of always answering yes, and
    dotted elsewhere. Models that are best for some value of beta are coloured, and have bootstrap
    bands for these values of beta; the strip on top names them. The dashed and the dash-dotted
    lines are the two baselines, each of which is the maximum over models. ``result.to_frame()``
    returns the plotted numbers.

    Parameters
    ----------
    result : FBeta
        Result of `psychollm.calibration.f_beta`.
    ax : Axes, optional
        Axes to draw on; by default, a new figure is created.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from psychollm.calibration.decisions.f_beta import f_beta
    >>> sweep = f_beta([[1, 1, 1, 1], [1, 0, 0, 0]], [[1, 1, 0, 0]] * 2, rng=0, bootstrap=20)
    >>> plot_f_beta(sweep, ax=Figure().subplots()).get_xscale()
    'log'
    """
    ax = open_axes(ax, size=(7.2, 4.8))
    ax.set_xscale("log")
    won = [int(model) for model in result.leaders if (result.winner == model).any()]
    colours = {model: colour_of(k) for k, model in enumerate(won)}
    at = [int(np.abs(np.log(result.betas / beta)).argmin()) for beta in _TOLD]
    for model in range(len(result.labels)):
        _curve(ax, result, model, colours.get(model))
        value = result.value[model]
        told = ", ".join(f"{number(value[i])} at β = {result.betas[i]:.3g}" for i in at)
        label = result.labels[model]
        keep_line(ax, result.betas, value, f"{label}: F-beta {told}", label)
    for model, colour in colours.items():
        _band(ax, result, model, colour)
    _baselines(ax, result)
    ax.set_xlim(float(result.betas.min()), float(result.betas.max()))
    ax.set_ylim(0.0, 1.0)
    ticks = [tick for tick in _TICKS if result.betas.min() <= tick <= result.betas.max()]
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    name_axes(ax, x="β   (low: a wrong yes is costly;  high: a missed yes is costly)", y="F-beta")
    legend(ax, columns=2)
    name_ends(ax, result.value[:, -1], result.labels, colours)
    _winners_strip(ax, result, colours)
    return ax


def _curve(ax: "Axes", result: "FBeta", model: int, colour: str | None) -> None:
    """Draw a model's curve: solid above the curve of always answering yes, otherwise dotted."""
    value = result.value[model]
    above = value > result.all_yes[model]
    name = f"curve {result.labels[model]}"
    draw_curve(ax, result.betas, np.where(above, value, np.nan), colour, width=1.3, gid=name)
    below = np.where(above, np.nan, value)
    draw_curve(ax, result.betas, below, colour, width=1.3, style=(0, (1, 1.6)))


def _band(ax: "Axes", result: "FBeta", model: int, colour: str) -> None:
    """Draw a model's bootstrap band over the range of beta where the model is best."""
    wins = result.winner == model
    low, high = result.interval[model].T
    ax.fill_between(result.betas, low, high, where=wins, color=colour, alpha=0.22, lw=0, zorder=1)
    best = np.where(wins, result.value[model], np.nan)
    ax.plot(result.betas, best, color=colour, lw=2.6, zorder=4, solid_capstyle="round")


def _baselines(ax: "Axes", result: "FBeta") -> None:
    for values, style, name in (
        (result.all_yes, (0, (5, 2)), "always yes, most accurate model"),
        (result.rate_matched, (0, (5, 1.5, 1, 1.5)), "yes at random at a model's own rate, best"),
    ):
        best = np.max(np.where(np.isfinite(values), values, -np.inf), axis=0)
        shown = np.where(np.isfinite(best), best, np.nan)
        ax.plot(result.betas, shown, color=INK, lw=1.1, ls=style, label=name, zorder=5)
    ax.plot([], [], color=QUIET, lw=0.9, label="better than always yes")
    ax.plot([], [], color=QUIET, lw=0.9, ls=(0, (1, 1.6)), label="not better")


def _winners_strip(ax: "Axes", result: "FBeta", colours: dict[int, str]) -> None:
    """Write the name of the best model for each range of beta above the axes, without overlaps."""
    from matplotlib.patches import Rectangle

    low, high = np.log(result.betas.min()), np.log(result.betas.max())
    if not result.leaders.size or high <= low:
        return
    with np.errstate(divide="ignore"):
        edges = np.concatenate([[-np.inf], np.log(result.crossings), [np.inf]])
    edges = (np.clip(edges, low, high) - low) / (high - low)
    won = np.array([int(model) in colours for model in result.leaders])
    shown = np.flatnonzero((np.diff(edges) > 0) & won)
    if not shown.size:
        return
    middle = 0.5 * (edges[shown] + edges[shown + 1])
    room = int((0.92 / shown.size - 0.015) / _LETTER)
    names = short_names((result.labels[result.leaders[k]] for k in shown), max(room, 8))
    at = spread(middle, _LETTER * max(map(len, names)) + 0.015, low=0.04, high=0.96)
    for k, x, name, label_x in zip(shown, middle, names, at, strict=True):
        colour = colours[int(result.leaders[k])]
        width = edges[k + 1] - edges[k]
        box = Rectangle(
            (edges[k], _STRIP[0]), width, _STRIP[1] - _STRIP[0], facecolor=colour, lw=0
        )
        box.set(transform=ax.transAxes, clip_on=False)
        ax.add_patch(box)
        ends = ([x, label_x], [_STRIP[1], _STRIP[1] + 0.025])
        ax.plot(*ends, transform=ax.transAxes, clip_on=False, color=RULE, lw=0.7)
        write(ax, label_x, _STRIP[1] + 0.03, name, "center bottom", size=TEXT_SIZE - 0.5)
    title = "best model at each β"
    write(ax, 0.0, _STRIP[1] + 0.085, title, "left bottom", size=TEXT_SIZE - 0.5, colour=MUTED)
