"""Places in a figure that answer: what stands there, in words and numbers, and whose it is.

A figure is drawn by matplotlib and knows nothing of a page. Marks are laid over it afterwards, as
invisible circles, boxes and lines of the same SVG, each with a ``<title>``: a browser shows it
without any script, and the script of the page lights all marks of one model together.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from psychollm._base.numbers import number, typeset
from psychollm._base.types import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

_POINTS = 72.0  # to the inch, as SVG has it
_RADIUS = 6.0
MOST_CELLS = 1_600  # a matrix with more has none: each would be smaller than a pointer
MOST_MARKS = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """One place: a point, a box given by two corners, or a line."""

    ax: "Axes"
    shape: Literal["point", "box", "line"]
    at: FloatArray  # (points, 2) in the units of the axes
    text: str
    models: tuple[int, ...] = ()  # rows of the models in the list of the page


Marks = Callable[["Canvas"], Iterable[Mark]]


def overlay(figure: "Canvas", marks: Iterable[Mark]) -> str:
    """Return the marks of a drawn figure as an SVG group, in points from the upper left."""
    height = figure.get_figheight() * _POINTS
    scale = _POINTS / figure.dpi
    elements = []
    for mark in marks:
        at = mark.ax.transData.transform(np.asarray(mark.at, dtype=np.float64)) * scale
        at[:, 1] = height - at[:, 1]
        if np.isfinite(at).all() and len(at):
            elements.append(_element(mark, at))
    if not elements or len(elements) > MOST_MARKS:
        return ""
    return "\n".join(['<g class="marks">', *elements, "</g>"])


def _element(mark: Mark, at: FloatArray) -> str:
    whose = f' data-m="{" ".join(map(str, mark.models))}"' if mark.models else ""
    title = f"<title>{escape(typeset(mark.text))}</title>"
    if mark.shape == "point":
        (x, y), *_ = at
        return f'<circle{whose} cx="{x:.4g}" cy="{y:.4g}" r="{_RADIUS:g}">{title}</circle>'
    if mark.shape == "box":
        (left, top), (right, bottom) = at.min(axis=0), at.max(axis=0)
        size = f'width="{right - left:.4g}" height="{bottom - top:.4g}"'
        return f'<rect{whose} x="{left:.4g}" y="{top:.4g}" {size}>{title}</rect>'
    path = "M" + " ".join(f"{x:.4g} {y:.4g}" for x, y in at)
    return f'<path{whose} d="{path}">{title}</path>'


def row_of(labels: Sequence[Any]) -> dict[str, int]:
    """Return where each model stands in the list of the page."""
    return {str(label): row for row, label in enumerate(labels)}


def point(ax: "Axes", x: float, y: float, text: str, *models: int) -> Mark:
    """Return the mark of a point."""
    return Mark(ax=ax, shape="point", at=np.array([[x, y]], float), text=text, models=models)


def line(ax: "Axes", x: FloatArray, y: FloatArray, text: str, *models: int) -> Mark:
    """Return the mark of a curve; points that are not finite are left out."""
    at = np.column_stack([x, y]).astype(np.float64)
    at = at[np.isfinite(at).all(axis=1)]
    step = max(1, len(at) // 60)
    return Mark(ax=ax, shape="line", at=at[::step], text=text, models=models)


def cells(ax: "Axes", what: str, where: dict[str, int], *, digits: int = 2) -> list[Mark]:
    """Return a mark for every cell of a drawn matrix whose rows and columns are models."""
    # Values are those that were drawn; cells without one have no mark, nor has a matrix of
    # more than `MOST_CELLS` cells.
    drawn: Any = ax.collections[0].get_array()
    values: FloatArray = np.ma.filled(drawn.astype(float), np.nan)
    if values.size > MOST_CELLS:
        return []
    names = [ax.format_ydata(row) for row in range(len(values))]
    marks = []
    for row, column in zip(*np.nonzero(np.isfinite(values)), strict=True):
        who = names[row], names[column]
        text = f"{who[0]} and {who[1]}: {what} {number(float(values[row, column]), digits)}"
        at = np.array([[column - 0.5, row - 0.5], [column + 0.5, row + 0.5]])
        models = tuple(where[name] for name in who if name in where)
        marks.append(Mark(ax=ax, shape="box", at=at, text=text, models=models))
    return marks


def rows(
    ax: "Axes", names: Sequence[str], texts: Sequence[str], where: dict[str, int]
) -> list[Mark]:
    """Return a mark for every row of a drawn forest, over the whole width of the axes."""
    left, right = sorted(ax.get_xlim())
    return [
        Mark(
            ax=ax,
            shape="box",
            at=np.array([[left, row - 0.5], [right, row + 0.5]]),
            text=text,
            models=(where[name],) if name in where else (),
        )
        for row, (name, text) in enumerate(zip(names, texts, strict=True))
    ]


def row_names(ax: "Axes") -> list[str]:
    """Return the whole names of the rows of a drawn forest, from the top."""
    return [ax.format_ydata(row) for row in ax.get_yticks()]
