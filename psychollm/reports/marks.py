"""Interactive marks, drawn over a figure.

Marks are invisible circles, boxes and lines in the SVG of the figure, each with a ``<title>``.
Browsers show the title as a tooltip without a script. The page's script highlights all marks of a
model together.
"""

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.numbers import typeset
from psychollm._base.types import FloatArray
from psychollm.plots.marks import Mark, marks_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

_POINTS = 72.0  # points per inch, as in SVG
_RADIUS = 6.0
MOST_MARKS = 2_000


def overlay(figure: "Canvas", models: Sequence[Any]) -> str:
    """Return the marks of a drawn figure as an SVG group, in points from the upper left corner."""
    # Marks refer to models by their index in `models`, which lists all models of the page.
    height = figure.get_figheight() * _POINTS
    scale = _POINTS / figure.dpi
    places = {str(label): place for place, label in enumerate(models)}
    elements = []
    for ax in figure.axes:
        for mark in marks_of(ax):
            at = _corners(mark, ax) * scale
            at[:, 1] = height - at[:, 1]
            if np.isfinite(at).all() and len(at):
                elements.append(_element(mark, at, places))
    if not elements or len(elements) > MOST_MARKS:
        return ""
    return "\n".join(['<g class="marks">', *elements, "</g>"])


def _corners(mark: Mark, ax: "Axes") -> FloatArray:
    at = np.array(mark.at)
    if mark.shape == "row":
        at[:, 0] = sorted(ax.get_xlim())
    return np.asarray(ax.transData.transform(at), dtype=np.float64)


def _element(mark: Mark, at: FloatArray, places: Mapping[str, int]) -> str:
    rows = [str(places[name]) for name in mark.models if name in places]
    whose = f' data-m="{" ".join(rows)}"' if rows else ""
    title = f"<title>{escape(typeset(mark.text))}</title>"
    if mark.shape == "point":
        (x, y), *_ = at
        return f'<circle{whose} cx="{x:.4g}" cy="{y:.4g}" r="{_RADIUS:g}">{title}</circle>'
    if mark.shape in {"box", "row"}:
        (left, top), (right, bottom) = at.min(axis=0), at.max(axis=0)
        size = f'width="{right - left:.4g}" height="{bottom - top:.4g}"'
        return f'<rect{whose} x="{left:.4g}" y="{top:.4g}" {size}>{title}</rect>'
    path = "M" + " ".join(f"{x:.4g} {y:.4g}" for x, y in at)
    return f'<path{whose} d="{path}">{title}</path>'
