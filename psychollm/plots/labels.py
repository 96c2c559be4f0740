"""Labels of points and curves, placed so that they do not overlap.

Labels are placed last, because their sizes in pixels are known only after the layout of the
figure.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.names import short_names
from psychollm._base.types import FloatArray
from psychollm.data.labels import positions
from psychollm.plots.canvas import (
    INK,
    MUTED,
    QUIET,
    SEQUENCE,
    TEXT_SIZE,
    by_value,
    colour_of,
    write,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Annotation

_ANGLES = np.linspace(0.0, 2.0 * np.pi, 16, endpoint=False)
_DISTANCES = (9.0, 14.0, 22.0, 32.0, 46.0, 64.0)  # distances of labels to try, in points
_POINT = 3.5  # half the width of a marker in points
MAX_NAMES = 45
_LONGEST_BESIDE = 26  # largest number of characters of a point's label
_COVERS_A_NAME = 20.0  # cost of covering another label
_FARTHER = 0.8  # cost of the next larger distance


def label_points(
    ax: "Axes",
    x: FloatArray,
    y: FloatArray,
    names: Sequence[Any],
    *,
    obstacles: FloatArray | None = None,
    size: float = TEXT_SIZE - 1.0,
) -> list["Annotation"]:
    """Label points, with short leader lines, so that labels avoid points and `obstacles`."""
    # Labels that would cover another label are omitted. If there are many points, only those
    # farthest from the median are labelled.
    figure: Any = ax.figure
    if figure.get_constrained_layout():  # it measures all texts, so nothing needs to be drawn
        figure.get_layout_engine().execute(figure)
        ax.apply_aspect()
    else:
        figure.draw_without_rendering()
    points = ax.transData.transform(np.column_stack([x, y]).astype(np.float64))
    shown = np.flatnonzero(np.isfinite(points).all(axis=1))
    if not shown.size:
        return []
    scale = figure.dpi / 72.0
    blocked = points[shown]
    if obstacles is not None and len(obstacles):
        blocked = np.vstack([blocked, ax.transData.transform(obstacles)])
    frame = np.array(ax.get_window_extent().extents)
    placed = np.empty((0, 4))
    short = short_names(names, _LONGEST_BESIDE)
    made = []
    for i in _inside_out(points, shown)[:MAX_NAMES]:
        text = _annotation(ax, (float(x[i]), float(y[i])), short[i], size)
        width, height = _extent(text)
        at, box, cost = _best(points[i], (width, height), placed, blocked, frame, scale)
        if cost >= _COVERS_A_NAME:
            text.remove()
            continue
        placed = np.vstack([placed, box])
        _move(text, (at - points[i]) / scale)
        made.append(text)
    return made


def _inside_out(points: FloatArray, shown: Any) -> list[int]:
    """Return points from outermost to innermost, because outer labels have fewer positions."""
    centre = np.median(points[shown], axis=0)
    spread = np.maximum(points[shown].std(axis=0), 1e-9)
    far = np.hypot(*((points[shown] - centre) / spread).T)
    return [int(i) for i in shown[np.argsort(-far, kind="stable")]]


def _annotation(ax: "Axes", at: tuple[float, float], name: str, size: float) -> "Annotation":
    text = ax.annotate(
        name,
        at,
        xytext=(0.0, 0.0),
        textcoords="offset points",
        fontsize=size,
        color=INK,
        ha="center",
        va="center",
        annotation_clip=False,
        arrowprops={"arrowstyle": "-", "color": QUIET, "lw": 0.5, "shrinkA": 0, "shrinkB": 2.5},
    )
    text.set_in_layout(False)
    return text


def _extent(text: "Annotation") -> tuple[float, float]:
    """Return width and height of the text without the leader line."""
    from matplotlib.text import Text

    box = Text.get_window_extent(text)
    return float(box.width), float(box.height)


def _move(text: "Annotation", offset: FloatArray) -> None:
    """Move a label to an offset in points, without a leader line if it is close."""
    text.set_position((float(offset[0]), float(offset[1])))
    if text.arrow_patch is not None:
        text.arrow_patch.set_visible(bool(np.hypot(*offset) > 1.6 * _DISTANCES[1]))


def _best(
    point: FloatArray,
    extent: tuple[float, float],
    placed: FloatArray,
    blocked: FloatArray,
    frame: FloatArray,
    scale: float,
) -> tuple[FloatArray, FloatArray, float]:
    """Return the centre of a label with the lowest cost, its box, and the cost."""
    half = np.array(extent) / 2.0
    best, cheapest = (point, np.zeros(4)), float("inf")
    for rank, distance in enumerate(_DISTANCES):
        if cheapest <= _FARTHER * rank:  # no farther position can cost less
            break
        for angle in _ANGLES:
            way = np.array([np.cos(angle), np.sin(angle)])
            # Measure the distance from the edge of the label's box, so that long labels are not
            # penalised.
            centre = point + way * (distance * scale - 4.0 * scale) + way * half
            box = np.concatenate([centre - half, centre + half])
            cost = (
                _COVERS_A_NAME * _overlap(box, placed)
                + 3.0 * _covered(box, blocked, _POINT * scale)
                + 50.0 * _outside(box, frame)
                + 6.0 * _crossed(point, centre, placed)
                + _FARTHER * rank
                + 0.15 * (1.0 - way[0])
            )
            if cost < cheapest:
                best, cheapest = (centre, box), cost
    return *best, cheapest


def _overlap(box: FloatArray, others: FloatArray) -> float:
    """Return the number of boxes that overlap a box, plus the covered proportion of its area."""
    low = np.maximum(box[:2], others[:, :2])
    high = np.minimum(box[2:], others[:, 2:])
    area = np.prod(np.maximum(high - low, 0.0), axis=1)
    return float(np.count_nonzero(area) + area.sum() / np.prod(box[2:] - box[:2]))


def _covered(box: FloatArray, points: FloatArray, margin: float) -> float:
    inside = (points > box[:2] - margin) & (points < box[2:] + margin)
    return float(np.count_nonzero(inside.all(axis=1)))


def _crossed(point: FloatArray, centre: FloatArray, placed: FloatArray) -> float:
    """Return 1 if the leader line would cross an existing label, otherwise 0."""
    path = point + np.linspace(0.1, 0.9, 9)[:, None, None] * (centre - point)
    inside = (path > placed[:, :2]) & (path < placed[:, 2:])
    return float(inside.all(axis=2).any())


def _outside(box: FloatArray, frame: FloatArray) -> float:
    return float((box[:2] < frame[:2]).any() or (box[2:] > frame[2:]).any())


def spread(wanted: FloatArray, gap: float, *, low: float, high: float) -> FloatArray:
    """Move values as little as possible so that they differ by `gap` or more in [low, high]."""
    from scipy.optimize import isotonic_regression

    # If the range is too small for these gaps, space the values evenly.
    n = wanted.size
    if n == 0:
        return wanted
    if gap * (n - 1) >= high - low:
        even = np.linspace(low, high, n) if n > 1 else np.array([0.5 * (low + high)])
        return np.asarray(even[np.argsort(np.argsort(wanted, kind="stable"))])
    order = np.argsort(wanted, kind="stable")
    steps = gap * np.arange(n)
    level = isotonic_regression(wanted[order] - steps).x
    result = np.empty(n)
    result[order] = np.clip(level, low, high - steps[-1]) + steps
    return result


MOST_NAMES = 26  # number of curves above which only coloured curves are labelled
_LONGEST_END = 30  # largest number of characters of a curve's label


def name_ends(
    ax: "Axes",
    ends: FloatArray,
    names: Sequence[Any],
    colours: Mapping[int, str],
    *,
    gap: float = 0.04,
) -> None:
    """Label curves on the right of the axes, whose limits must be final."""
    known = np.flatnonzero(np.isfinite(ends))
    shown = known if known.size <= MOST_NAMES else np.array(sorted(colours), dtype=np.intp)
    low, high = ax.get_ylim()
    at = spread(ends[shown], gap * (high - low), low=low, high=high)
    where = ax.get_yaxis_transform()
    short = short_names(names, _LONGEST_END)
    for row, y in zip(shown.tolist(), at, strict=True):
        colour = colours.get(row, QUIET)
        path = ([1.0, 1.012, 1.035], [ends[row], ends[row], y])
        ax.plot(*path, transform=where, clip_on=False, color=colour, lw=0.7)
        write(
            ax,
            1.04,
            y,
            short[row],
            transform=where,
            size=TEXT_SIZE - 1.0,
            colour=INK if row in colours else MUTED,
            bold=row in colours,
        )


def draw_curve(
    ax: "Axes",
    x: FloatArray,
    y: FloatArray,
    colour: str | None,
    *,
    width: float = 1.7,
    style: Any = "-",
    gid: str | None = None,
) -> None:
    """Draw a highlighted curve in its colour, or a background curve."""
    look: dict[str, Any] = {"lw": width, "zorder": 4} if colour else {"lw": 0.7, "zorder": 2}
    ax.plot(x, y, color=colour or QUIET, alpha=1.0 if colour else 0.55, ls=style, gid=gid, **look)


MOST_COLOURS = len(SEQUENCE)
_BEST = 5


def emphasised(
    labels: Sequence[Any], value: FloatArray, highlight: Sequence[Any] | None = None
) -> dict[int, str]:
    """Map the row of each highlighted model to its colour."""
    if highlight is not None:
        chosen = positions("model", tuple(labels), list(highlight)).tolist()
    else:
        known = [int(row) for row in by_value(value) if np.isfinite(value[row])]
        chosen = known if len(known) <= MOST_COLOURS else known[:_BEST]
    return {row: colour_of(rank) for rank, row in enumerate(chosen)}
