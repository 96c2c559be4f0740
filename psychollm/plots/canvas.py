"""Axes in the library's style, created without changing global settings.

The colours are Petroff's sequence of ten colours, which colour-blind readers can distinguish.

References
----------
Petroff, M. A. (2021). Accessible color sequences for data visualization.
https://doi.org/10.48550/arXiv.2107.02270
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.errors import OptionError
from psychollm._base.names import short_names
from psychollm._base.optional import require
from psychollm._base.types import FloatArray, IntArray
from psychollm.plots.marks import keep_points

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure
    from matplotlib.text import Text


BLUE = "#3f90da"
ORANGE = "#ffa90e"
RED = "#bd1f01"
GREY = "#94a4a2"
PURPLE = "#832db6"
BROWN = "#a96b59"
DEEP_ORANGE = "#e76300"
KHAKI = "#b9ac70"
SLATE = "#717581"
CYAN = "#92dadd"

# Text in these colours on white has a contrast ratio of at least 4.5.
INK = "#22262e"
MUTED = "#5b6270"
QUIET = "#6f7784"

RULE = "#c9ced6"
GRID = "#e9ebef"
STRIPE = "#f6f7f9"
PAPER = "#ffffff"

# Adjacent colours differ in lightness and hue.
SEQUENCE = (BLUE, DEEP_ORANGE, PURPLE, ORANGE, RED, CYAN, BROWN, KHAKI, SLATE, GREY)
DIVERGING = ("#1f5fa8", "#8db7e2", "#f6f6f4", "#f2b27a", "#b34700")
SEQUENTIAL = ("#fdf3e3", "#fbc878", "#e8862e", "#b34a12", "#6b1f07")


def colour_of(rank: int) -> str:
    """Return the colour of a series by its number from 0; colours repeat after ten."""
    return SEQUENCE[rank % len(SEQUENCE)]


def ink_on(colour: str) -> str:
    """Return the text colour for a background: dark on pale backgrounds, otherwise light."""
    red, green, blue = (int(colour[at : at + 2], 16) / 255.0 for at in (1, 3, 5))
    # The sum is the relative luminance; squaring approximates the transfer function of sRGB.
    return INK if 0.21 * red**2 + 0.72 * green**2 + 0.07 * blue**2 > 0.36 else PAPER


TICK_SIZE = 8.5
TEXT_SIZE = 8.5
LABEL_SIZE = 9.5
TITLE_SIZE = 10.5
_SHORT = 12  # number of characters of a name that fit into every figure
DASHED = (0, (4, 2))
MARKS = ("o", "D", "s", "^", "v", "P", "X", "h")


@contextmanager
def plain_text() -> Iterator[None]:
    """Within the context, draw dollar signs literally, not as delimiters of formulas."""
    matplotlib = require("matplotlib", extra="plot", purpose="a plot")
    with matplotlib.rc_context({"text.parse_math": False}):
        yield


_PLAIN: ContextVar[bool] = ContextVar("plain", default=False)


@contextmanager
def on_paper() -> Iterator[None]:
    """Within the context, create figures without pyplot, so that they are not shown on screen."""
    before = _PLAIN.set(True)
    try:
        yield
    finally:
        _PLAIN.reset(before)


def open_axes(ax: "Axes | None", *, size: tuple[float, float] = (7.2, 4.6)) -> "Axes":
    """Return the given axes, or new axes, in the library's style."""
    if ax is None:
        ax = open_figure(None, size=size).subplots()
    elif not hasattr(ax, "transAxes"):
        msg = f"ax={ax!r:.60} is not a matplotlib Axes: pass one of figure.subplots(), or None"
        raise OptionError(msg)
    dress(ax)
    return ax


def open_figure(figure: "Figure | None", *, size: tuple[float, float]) -> "Figure":
    """Return the given figure, or a new pyplot figure that a notebook shows only once."""
    if figure is not None:
        return figure
    if _PLAIN.get():
        figures: Any = require("matplotlib.figure", extra="plot", purpose="a plot")
        plain: Figure = figures.Figure(figsize=size, layout="constrained")
        return plain
    pyplot = require("matplotlib.pyplot", extra="plot", purpose="a plot")
    made: Figure = pyplot.figure(figsize=size, layout="constrained")
    made._ipython_display_ = partial(_show_once, made)  # type: ignore[attr-defined]
    return made


def _show_once(figure: Any) -> None:
    """Show a figure in a notebook, and prevent pyplot from showing it a second time."""
    del figure._ipython_display_
    pyplot = require("matplotlib.pyplot", extra="plot", purpose="a plot")
    if "inline" in pyplot.get_backend():
        pyplot.close(figure)
    import_module("IPython.display").display(figure)


def dress(ax: "Axes") -> None:
    """Style the spines, ticks and grid of axes."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(RULE)
    ax.tick_params(axis="both", which="major", labelsize=TICK_SIZE, labelcolor=MUTED, color=RULE)
    ax.tick_params(axis="both", which="minor", length=0)
    ax.grid(visible=True, which="major", color=GRID, linewidth=0.8)
    ax.set_axisbelow(True)
    if ax.xaxis.label.get_parse_math():  # these axes existed before `plain_text`
        for axis in (ax.xaxis, ax.yaxis):
            for text in (axis.label, *axis.get_ticklabels()):
                text.set_parse_math(False)


def name_axes(ax: "Axes", *, x: str = "", y: str = "", title: str = "") -> None:
    """Write the axis labels, and the title at the upper left."""
    if x:
        ax.set_xlabel(x, fontsize=LABEL_SIZE, color=INK)
    if y:
        ax.set_ylabel(y, fontsize=LABEL_SIZE, color=INK)
    if title:
        ax.set_title(
            title, fontsize=TITLE_SIZE, color=INK, loc="left", fontweight="bold"
        ).set_parse_math(False)


def name_rows(
    ax: "Axes", names: Sequence[Any], *, size: float = TICK_SIZE, striped: bool = False
) -> None:
    """Replace the vertical axis with row labels, from top to bottom, and shade every other row."""
    for band in range(0, len(names) if striped else 0, 2):
        ax.axhspan(band - 0.5, band + 0.5, color=STRIPE, lw=0, zorder=0)
    ax.set_yticks(range(len(names)), short_names(names), fontsize=size, color=INK)
    read_rows(ax, names)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.grid(visible=False, axis="y")
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)


def names_width(names: Sequence[Any]) -> float:
    """Return the additional width in inches that long names need."""
    return 0.07 * max(0, max(map(len, short_names(names)), default=0) - _SHORT)


def ranked_size(labels: Sequence[Any]) -> tuple[float, float]:
    """Return width and height in inches of a plot with ranks and one row per model."""
    return (6.4 + names_width(labels), 1.2 + 0.24 * len(labels))


def read_rows(ax: "Axes", names: Sequence[Any]) -> None:
    """Show the full name of a row under the pointer, because the label may be shortened."""
    whole = [str(name) for name in names]
    ax.fmt_ydata = lambda y: whole[int(np.clip(np.rint(y), 0, len(whole) - 1))]


def points(
    ax: "Axes",
    x: Any,
    y: Any,
    colour: str,
    *,
    marker: str = "o",
    size: float = 5.0,
    hollow: bool = False,
    label: str | None = None,
    gid: str | None = None,
    zorder: float = 3.0,
    texts: Iterable[str] | None = None,
    models: Iterable[Any] = (),
) -> None:
    """Draw filled or hollow markers without a line; `texts` are their tooltips."""
    if texts is not None:
        keep_points(ax, x, y, texts, models)
    look: dict[str, Any] = {"mec": colour, "mfc": "white"} if hollow else {"mec": "white"}
    look |= {"mew": 1.0 if hollow else 0.5, "label": label, "gid": gid, "zorder": zorder}
    ax.plot(x, y, ls="", marker=marker, ms=size, color=colour, **look)


def write(
    ax: "Axes",
    x: float,
    y: float,
    text: str,
    at: str = "left center",
    *,
    size: float = TEXT_SIZE,
    colour: str = INK,
    bold: bool = False,
    transform: Any = None,
) -> "Text":
    """Write text at a position, given in fractions of the axes unless `transform` is given."""
    horizontal, vertical = at.split()
    return ax.text(
        x,
        y,
        text,
        ha=horizontal,
        va=vertical,
        fontsize=size,
        color=colour,
        fontweight="bold" if bold else "normal",
        transform=ax.transAxes if transform is None else transform,
        zorder=3.5,
    )


def by_value(value: FloatArray) -> IntArray:
    """Return indices in ascending order of values, with undefined values last."""
    return np.argsort(np.where(np.isfinite(value), value, np.inf), kind="stable")


def legend(ax: "Axes", *, columns: int = 1, inside: str = "", size: float = TEXT_SIZE) -> None:
    """Draw a legend of all labelled artists below the axes, or at a location inside the axes."""
    handles, names = ax.get_legend_handles_labels()
    if not handles:
        return
    where: dict[str, Any] = {"loc": inside}
    if not inside:
        # Tick labels and the axis label require 0.52 inches below the axes.
        figure: Any = ax.figure
        drop = 0.52 / (figure.get_figheight() * ax.get_position().height)
        where = {"loc": "upper left", "bbox_to_anchor": (-0.01, -drop), "borderaxespad": 0.0}
    ax.legend(
        handles,
        names,
        ncols=columns,
        frameon=False,
        fontsize=size,
        labelcolor=INK,
        handlelength=1.8,
        **where,
    )


def note(ax: "Axes", text: str) -> None:
    """Write text into empty axes, usually the reason why nothing is drawn."""
    write(ax, 0.5, 0.5, text, "center center", size=LABEL_SIZE, colour=MUTED).set_wrap(True)


def colour_map(colours: Sequence[str], name: str) -> "Colormap":
    """Return a continuous colour map through given colours; undefined values are light grey."""
    module: Any = require("matplotlib.colors", extra="plot", purpose="a plot")
    made: Colormap = module.LinearSegmentedColormap.from_list(name, list(colours))
    return made.with_extremes(bad=GRID)
