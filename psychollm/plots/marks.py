"""Marks of a figure that show a tooltip and are linked to models.

A plot stores the marks with its axes; a report overlays them on the figure, each with a
``<title>``.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal
from weakref import WeakKeyDictionary

import numpy as np

from psychollm._base.numbers import number, with_interval
from psychollm._base.types import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from psychollm.estimates.estimate import Estimate

MOST_CELLS = 1_600  # cells of larger matrices are smaller than a mouse pointer
_CORNERS = 60  # largest number of points of a curve


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """Mark of a plot: a point, a box given by two corners, a row of the axes, or a line."""

    shape: Literal["point", "box", "row", "line"]
    at: FloatArray  # (points, 2) positions in units of the axes
    text: str
    models: tuple[str, ...] = ()


_KEPT: "WeakKeyDictionary[Axes, list[Mark]]" = WeakKeyDictionary()


def marks_of(ax: "Axes") -> list[Mark]:
    """Return the stored marks of axes."""
    return _KEPT.get(ax, [])


def _keep(ax: "Axes", shape: Any, at: Any, text: str, models: Iterable[Any]) -> None:
    at = np.array(at, dtype=np.float64)
    mark = Mark(shape=shape, at=at, text=text, models=tuple(map(str, models)))
    _KEPT.setdefault(ax, []).append(mark)


def keep_points(
    ax: "Axes", x: Any, y: Any, texts: Iterable[str], models: Iterable[Any] = ()
) -> None:
    """Store a mark per point; `models` gives each point's model, or its tuple of models."""
    whose = [one if isinstance(one, tuple) else (one,) for one in models]
    for row, (across, up, text) in enumerate(zip(x, y, texts, strict=True)):
        if np.isfinite(across) and np.isfinite(up):
            _keep(ax, "point", [[across, up]], text, whose[row] if whose else ())


def keep_line(ax: "Axes", x: Any, y: Any, text: str, *models: Any) -> None:
    """Store the mark of a curve, omitting points that are not finite."""
    at = np.column_stack([x, y]).astype(np.float64)
    at = at[np.isfinite(at).all(axis=1)]
    _keep(ax, "line", at[:: max(1, len(at) // _CORNERS)], text, models)


def keep_box(
    ax: "Axes", x: tuple[float, float], y: tuple[float, float], text: str, *models: Any
) -> None:
    """Store the mark of a box between two x values and two y values."""
    _keep(ax, "box", np.column_stack([x, y]), text, models)


def keep_row(ax: "Axes", y: float, text: str, *models: Any) -> None:
    """Store a mark that covers a row over the whole width of the axes."""
    _keep(ax, "row", [[0.0, y - 0.5], [0.0, y + 0.5]], text, models)


def keep_cells(
    ax: "Axes", values: FloatArray, labels: Sequence[Any], what: str, *, digits: int = 2
) -> None:
    """Store a mark for every cell of a matrix with models as rows and columns.

    Cells without a value have no mark. Matrices with more than `MOST_CELLS` cells have no marks.
    """
    if values.size > MOST_CELLS:
        return
    for row, column in zip(*np.nonzero(np.isfinite(values)), strict=True):
        who = labels[row], labels[column]
        text = f"{who[0]} and {who[1]}: {what} {number(float(values[row, column]), digits)}"
        keep_box(ax, (column - 0.5, column + 0.5), (row - 0.5, row + 0.5), text, *who)


def keep_rows(
    ax: "Axes",
    estimates: "Sequence[Estimate]",
    names: Sequence[str],
    rows: Iterable[int],
    *,
    digits: int = 2,
) -> None:
    """Store a mark for each row of a forest plot, with all estimates of the row."""
    for y, i in enumerate(rows):
        label = estimates[0].labels[i]
        both = zip(names, estimates, strict=True)
        told = [f"{name} {_told(one, i, digits)}" for name, one in both]
        keep_row(ax, y, f"{label}: {'; '.join(told)}", label)


def _told(estimate: "Estimate", row: int, digits: int) -> str:
    """Return the value of one model with its interval, or the reason why it is missing."""
    value = float(estimate.value[row])
    if np.isfinite(value):
        return with_interval(value, estimate.interval[row], digits)
    return str(estimate.flags[row])
