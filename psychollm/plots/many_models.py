"""Names at the right ends of curves, moved apart and joined to them."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.types import FloatArray
from psychollm.data.labels import positions
from psychollm.plots.canvas import TEXT_SIZE, by_value, write
from psychollm.plots.labels import shortened, spread
from psychollm.plots.palette import INK, MUTED, QUIET, SEQUENCE, colour_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_NAMES = 26  # more do not fit beside the axes; then only coloured curves are named
_LONGEST = 30  # letters


def name_ends(
    ax: "Axes",
    ends: FloatArray,
    names: Sequence[Any],
    colours: Mapping[int, str],
    *,
    gap: float = 0.04,
) -> None:
    """Name curves on the right of the axes, whose limits must be settled."""
    known = np.flatnonzero(np.isfinite(ends))
    shown = known if known.size <= MOST_NAMES else np.array(sorted(colours), dtype=np.intp)
    low, high = ax.get_ylim()
    at = spread(ends[shown], gap * (high - low), low=low, high=high)
    where = ax.get_yaxis_transform()
    for place, y in zip(shown.tolist(), at, strict=True):
        colour = colours.get(place, QUIET)
        path = ([1.0, 1.012, 1.035], [ends[place], ends[place], y])
        ax.plot(*path, transform=where, clip_on=False, color=colour, lw=0.7)
        write(
            ax,
            1.04,
            y,
            shortened(names[place], _LONGEST),
            transform=where,
            size=TEXT_SIZE - 1.0,
            colour=INK if place in colours else MUTED,
            fontweight="bold" if place in colours else "normal",
        )


def draw_curve(
    ax: "Axes",
    x: FloatArray,
    y: FloatArray,
    colour: str | None,
    *,
    width: float = 1.7,
    **look: Any,
) -> None:
    """Draw a curve that stands out in its colour, or one of many in the background."""
    shade: dict[str, Any] = {"color": colour or QUIET, "alpha": 1.0 if colour else 0.55}
    ax.plot(x, y, lw=width if colour else 0.7, zorder=4 if colour else 2, **shade, **look)


MOST_COLOURS = len(SEQUENCE)
_BEST = 5


def emphasised(
    labels: Sequence[Any], value: FloatArray, highlight: Sequence[Any] | None = None
) -> dict[int, str]:
    """Return the colour of each model that stands out, by row."""
    if highlight is not None:
        chosen = positions("model", tuple(labels), list(highlight)).tolist()
    else:
        known = [int(place) for place in by_value(value) if np.isfinite(value[place])]
        chosen = known if len(known) <= MOST_COLOURS else known[:_BEST]
    return {place: colour_of(rank) for rank, place in enumerate(chosen)}
