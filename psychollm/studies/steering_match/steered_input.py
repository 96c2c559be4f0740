"""Checks of tables of steered answers, and what follows from them before anything is matched."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np

from psychollm._base.checks import check_unique, float_array
from psychollm._base.errors import CodeError, InputError, OptionError, ShapeError
from psychollm._base.types import BoolArray, FloatArray, IntArray
from psychollm.data.labels import Labels

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Scale: TypeAlias = Literal["answers", "probability", "log_odds"]

_TINY = 1e-12  # probabilities of 0 and 1 have no finite log odds
MIN_MASS = 0.5


def as_matrix(name: str, values: ArrayLike) -> FloatArray:
    """Return a table of numbers with two rows and columns at least."""
    table = float_array(values, name)
    if table.ndim != 2 or table.shape[0] < 2 or table.shape[1] < 2:
        msg = (
            f"{name} must be a table (strengths, questions) with at least two of each, got shape "
            f"{table.shape}"
        )
        raise ShapeError(msg)
    return table


def as_strengths(strengths: ArrayLike, n: int) -> tuple[FloatArray, IntArray]:
    """Return strengths in ascending order, and the order."""
    doses = float_array(strengths, "strengths")
    if doses.shape != (n,):
        msg = f"strengths must hold one number per row of values ({n}), got shape {doses.shape}"
        raise ShapeError(msg)
    if not np.isfinite(doses).all():
        msg = f"strengths must be finite numbers, got {doses[~np.isfinite(doses)][0]}"
        raise OptionError(msg)
    check_unique("strength", doses.tolist())
    order = np.argsort(doses).astype(np.int64)
    return doses[order], order


def as_log_odds(
    table: FloatArray, scale: Scale, doses: FloatArray, labels: Labels
) -> FloatArray | None:
    """Return log odds (strengths, questions), None for answers; check the scale."""
    known = np.isfinite(table)
    good = {
        "answers": (table == 0) | (table == 1),
        "probability": (table >= 0) & (table <= 1),
        "log_odds": ~np.isinf(table),
    }
    bad = np.argwhere(~good[scale] & ~np.isnan(table))
    if bad.size:
        row, column = bad[0]
        others = ", ".join(one for one in get_args(Scale) if one != scale)
        msg = (
            f"strength {doses[row]:g}, question {labels[column]!r}: {table[row, column]} is not "
            f"on the scale {scale!r} (the others are {others})"
        )
        raise CodeError(msg)
    if scale == "answers":
        return None
    if scale == "log_odds":
        return table
    inside = np.clip(np.where(known, table, 0.5), _TINY, 1.0 - _TINY)
    return np.where(known, np.log(inside) - np.log1p(-inside), np.nan)


def answers_of(odds: FloatArray | None, table: FloatArray) -> FloatArray:
    """Return 1 where yes is likelier than no, 0 where it is not, NaN where nothing is known."""
    values = table if odds is None else odds
    yes = values > (0.5 if odds is None else 0.0)
    return np.where(np.isfinite(values), yes, np.nan)


def mean_mass(mass: ArrayLike, shape: tuple[int, ...]) -> FloatArray:
    """Return the mean over questions of the mass on yes and no (strengths,)."""
    array = float_array(mass, "mass")
    if array.shape not in (shape, shape[:1]):
        msg = f"mass must be (strengths,) or (strengths, questions), {shape}, got {array.shape}"
        raise ShapeError(msg)
    return array if array.ndim == 1 else np.asarray(array.mean(axis=1))


def collapsed_strengths(
    doses: FloatArray, yes: FloatArray, mass: FloatArray | None, min_mass: float
) -> BoolArray:
    """Return where too little is said; NaN counts as too little."""
    silent = ~np.isfinite(yes).any(axis=1)
    if mass is not None:
        silent |= ~(mass >= min_mass * mass[np.argmin(np.abs(doses))])
    if (~silent).sum() < 2:
        msg = (
            f"{int(silent.sum())} of {doses.size} strengths have collapsed (the model says "
            "neither yes nor no there) and fewer than two are left: use smaller strengths, or a "
            "form of question that the model answers with yes or no"
        )
        raise InputError(msg)
    return np.asarray(silent, dtype=np.bool_)


def as_unsteered(values: ArrayLike, scale: Scale, labels: Labels) -> FloatArray:
    """Return log odds without steering (questions,)."""
    array = np.array(values, dtype=np.float64)
    if array.shape != (len(labels),):
        msg = f"unsteered must hold one value per question ({len(labels)}), got {array.shape}"
        raise ShapeError(msg)
    odds = as_log_odds(array[None], scale, np.zeros(1), labels)
    return array if odds is None else odds[0]


def at_zero(doses: FloatArray, odds: FloatArray) -> FloatArray | None:
    """Return the log odds at strength 0, on a line between its neighbours; None outside."""
    if not doses[0] <= 0.0 <= doses[-1]:
        return None
    right = int(np.searchsorted(doses, 0.0))
    if doses[right] == 0.0:
        return np.array(odds[right])
    low, high = doses[right - 1], doses[right]
    share = -low / (high - low)
    return np.asarray((1.0 - share) * odds[right - 1] + share * odds[right])
