"""Where a curve over strengths is highest: as a rule on a plateau, not at a point.

Answers change one question at a time, so that many neighbouring strengths agree equally well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from psychollm._base.types import BoolArray, FloatArray, IntArray

Ties: TypeAlias = Literal["middle", "nearest_zero"]

_EQUAL = 1e-9  # relative to the height: sums of the same answers in another order


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Peak:
    """The best strength of every target."""

    strength: FloatArray  # (targets,) NaN where nothing is defined
    place: IntArray  # (targets,) of the grid, nearest to the strength; 0 where undefined
    plateau: FloatArray  # (targets, 2) strengths that are equally good
    at_edge: BoolArray  # (targets,) the plateau reaches the first or the last usable strength


def peak(curves: FloatArray, strengths: FloatArray, *, ties: Ties = "middle") -> Peak:
    """Find the best strength of each curve (targets, points), which is NaN where undefined."""
    # Of equally good strengths take the middle of the widest plateau (of the one nearest
    # zero where several are as wide), or the one nearest zero (the lower where two are as
    # near).
    filled = np.where(np.isnan(curves), -np.inf, curves)
    top = filled.max(axis=1, keepdims=True)
    defined = np.isfinite(top)
    best = defined & (
        filled >= top - _EQUAL * np.maximum(np.abs(np.where(defined, top, 0.0)), 1.0)
    )
    start, end = _runs(best, strengths, ties)
    low, high = strengths[start], strengths[end]
    middle = 0.5 * (low + high)
    if ties == "nearest_zero":
        middle = strengths[_nearest_zero(best, strengths)]
    row = np.abs(strengths[None, :] - middle[:, None]).argmin(axis=1)
    undefined = ~defined[:, 0]
    return Peak(
        strength=np.where(undefined, np.nan, middle),
        place=np.where(undefined, 0, row).astype(np.int64),
        plateau=np.where(undefined[:, None], np.nan, np.stack([low, high], axis=1)),
        at_edge=~undefined & ((start == 0) | (end == strengths.size - 1)),
    )


def _nearest_zero(best: BoolArray, strengths: FloatArray) -> IntArray:
    """Return the best strength nearest zero; `argmin` takes the first of equals."""
    distance = np.where(best, np.abs(strengths).round(12), np.inf)
    return np.asarray(distance.argmin(axis=1), dtype=np.int64)


def _runs(best: BoolArray, strengths: FloatArray, ties: Ties) -> tuple[IntArray, IntArray]:
    """Return first and last place of the run that is chosen."""
    rows, n = best.shape
    places = np.arange(n)
    before = np.concatenate([np.zeros((rows, 1), dtype=np.bool_), best[:, :-1]], axis=1)
    after = np.concatenate([best[:, 1:], np.zeros((rows, 1), dtype=np.bool_)], axis=1)
    first = np.maximum.accumulate(np.where(best & ~before, places, 0), axis=1)
    ends = best & ~after
    width = np.where(ends, strengths[places] - strengths[first], -1.0)
    if ties == "nearest_zero":
        chosen = _nearest_zero(best, strengths)
        holds = ends & (first <= chosen[:, None]) & (places >= chosen[:, None])
    else:
        holds = ends & (width >= width.max(axis=1, keepdims=True) - 1e-12)
    middle = np.where(holds, np.abs(strengths[places] + strengths[first]), np.inf)
    end = middle.argmin(axis=1)
    return first[np.arange(rows), end], end
