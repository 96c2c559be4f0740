"""Labelled heat maps: correlations, residuals, anything pairwise."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.types import BoolArray, FloatArray
from psychollm.plots.canvas import TEXT_SIZE, TICK_SIZE, colour_map, open_axes, plain_text
from psychollm.plots.palette import DIVERGING, INK, MUTED, SEQUENTIAL

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_NAMES = 60
_RASTER_FROM = 1_000


@plain_text()
def plot_matrix(
    matrix: FloatArray,
    labels: Sequence[Any],
    *,
    name: str,
    limits: tuple[float, float],
    diverging: bool = True,
    marked: BoolArray | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw a square matrix as a heat map with a colour bar.

    Parameters
    ----------
    matrix : ndarray (k, k)
        Values; NaN are left empty.
    labels : sequence (k,)
        Names of rows and columns; of more than 60 rows every few are named.
    name : str
        What the colours mean.
    limits : tuple of float
        Values at the ends of the colour bar.
    diverging : bool
        Whether the middle of the limits is neutral; one-sided colours otherwise.
    marked : bool array (k, k), optional
        Cells with a dot.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = plot_matrix(np.eye(2), "ab", name="r", limits=(-1, 1), ax=Figure().subplots())
    >>> [text.get_text() for text in ax.get_xticklabels()]
    ['a', 'b']
    """
    k = len(labels)
    ax = open_axes(ax, size=(1.9 + 0.24 * min(k, 24), 1.5 + 0.22 * min(k, 24)))
    colours = colour_map(DIVERGING if diverging else SEQUENTIAL, name)
    edges = np.arange(k + 1) - 0.5
    mesh = ax.pcolormesh(
        edges,
        edges,
        np.ma.masked_invalid(matrix),
        cmap=colours,
        vmin=limits[0],
        vmax=limits[1],
        rasterized=k * k > _RASTER_FROM,
        linewidth=0,
    )
    if marked is not None:
        row, column = np.nonzero(marked)
        size = max(0.6, 30.0 / max(k, 1))
        ax.plot(column, row, ls="", marker=".", ms=size, color=INK, alpha=0.75)
    _name_cells(ax, labels)
    _colour_bar(ax, mesh, name)
    return ax


def _name_cells(ax: "Axes", labels: Sequence[Any]) -> None:
    k = len(labels)
    step = -(-k // _MOST_NAMES)
    at, names = np.arange(0, k, step), [str(label) for label in labels[::step]]
    size = TICK_SIZE - 1.0 if k <= 24 else max(4.0, TICK_SIZE - 1.0 - 0.08 * (k - 24))
    ax.set_xticks(at, names, rotation=90, fontsize=size)
    ax.set_yticks(at, names, fontsize=size)
    ax.set_aspect("equal")
    ax.set_xlim(-0.5, k - 0.5)
    ax.set_ylim(k - 0.5, -0.5)
    ax.grid(visible=False)
    ax.tick_params(length=0)
    for spine in ax.spines.values():
        spine.set_visible(False)


def _colour_bar(ax: "Axes", mesh: Any, name: str) -> None:
    figure: Any = ax.figure
    bar = figure.colorbar(mesh, ax=ax, shrink=0.72, aspect=26, pad=0.02, extend="neither")
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=TICK_SIZE - 0.5, labelcolor=MUTED, length=0)
    bar.set_label(name, fontsize=TEXT_SIZE, color=INK)
