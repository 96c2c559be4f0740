"""Splits of items into halves: the highest, the lowest and the mean coefficient.

Guttman's coefficient of a split is 1 - s'Cs / 1'C1, with signs s for the halves. Up to a stated
number all splits are tried; above it, random ones, and the extremes are searched from the best of
them by exchanging items between the halves until no exchange helps.
"""

from dataclasses import dataclass
from math import comb

import numpy as np

from psychollm._base.types import FloatArray
from psychollm.kernels.splits import enumerate_splits, exchange
from psychollm.reliability.scales.moments import ROUNDING

# So many of the random splits start a search.
_STARTS = 20


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Splits:
    """The splits that were tried, and the two extremes."""

    coefficients: FloatArray  # (splits,)
    highest: FloatArray  # (items,) signs
    lowest: FloatArray  # (items,) signs
    exhaustive: bool  # whether all splits were tried


def n_splits_of(k: int) -> int:
    """Return how many splits of k items into halves there are (sizes differ by one for odd k)."""
    return comb(k, k // 2) // (1 if k % 2 else 2)


def tried_splits(
    matrix: FloatArray, *, max_splits: int, n_splits: int, rng: np.random.Generator
) -> Splits:
    """Try all splits if there are at most `max_splits`, or else `n_splits` random ones."""
    if n_splits_of(len(matrix)) <= max_splits:
        return _all_splits(matrix)
    return _random_splits(matrix, n_splits, rng)


def coefficient(matrix: FloatArray, signs: FloatArray) -> float:
    """Return the coefficient of one split; NaN where the total does not vary."""
    total = float(matrix.sum())
    return 1.0 - float(signs @ matrix @ signs) / total if total > 0.0 else float("nan")


def best_coefficient(matrix: FloatArray, splits: Splits | None) -> float:
    """Return the highest coefficient of a split, lambda 4; NaN where none is defined."""
    return float("nan") if splits is None else coefficient(matrix, splits.highest)


def mean_coefficient(matrix: FloatArray) -> float:
    """Return the mean over all splits, in closed form."""
    # Alpha (lambda 3) for an even number of items; for odd k alpha times 1 - 1 / k^2, because
    # halves of unequal length share less.
    k, total, trace = len(matrix), float(matrix.sum()), float(np.trace(matrix))
    if not total > 0.0 or k < 2:
        return float("nan")
    together = ((k % 2) - k) / (k * (k - 1.0))  # mean product of two signs
    return 1.0 - (trace + together * (total - trace)) / total


def improved(matrix: FloatArray, signs: FloatArray, *, highest: bool) -> FloatArray:
    """Return a split that no exchange of two items makes higher (or lower)."""
    found = signs.copy()
    exchange(matrix, found, 1.0 if highest else -1.0)
    return found


def splits_of(
    matrix: FloatArray, max_splits: int, n_splits: int, rng: np.random.Generator
) -> Splits | None:
    """Return the splits of a matrix; None where no coefficient of a split is defined."""
    total = float(matrix.sum())
    if len(matrix) < 2 or not total > ROUNDING * len(matrix) * float(np.trace(matrix)):
        return None
    return tried_splits(matrix, max_splits=max_splits, n_splits=n_splits, rng=rng)


def _all_splits(matrix: FloatArray) -> Splits:
    k = len(matrix)
    forms = np.empty(n_splits_of(k))
    lowest, highest = np.empty(k), np.empty(k)
    # Of two mirror images one is enough: with equal halves, the first item stays in the first.
    enumerate_splits(matrix, np.arange(k // 2), 1 - k % 2, forms, lowest, highest)
    return Splits(
        coefficients=1.0 - forms / matrix.sum(),
        highest=lowest,
        lowest=highest,
        exhaustive=True,
    )


def _random_splits(matrix: FloatArray, n: int, rng: np.random.Generator) -> Splits:
    k = len(matrix)
    signs = np.where(np.arange(k) < k // 2, 1.0, -1.0)
    drawn = rng.permuted(np.broadcast_to(signs, (n, k)), axis=1)
    found = 1.0 - ((drawn @ matrix) * drawn).sum(axis=1) / matrix.sum()
    order = np.argsort(found, kind="stable")
    return Splits(
        coefficients=found,
        highest=_searched(matrix, drawn[order[::-1][:_STARTS]], highest=True),
        lowest=_searched(matrix, drawn[order[:_STARTS]], highest=False),
        exhaustive=False,
    )


def _searched(matrix: FloatArray, starts: FloatArray, *, highest: bool) -> FloatArray:
    """Return the most extreme split that exchanges reach from several starts."""
    reached = [improved(matrix, start, highest=highest) for start in starts]
    values = [coefficient(matrix, signs) for signs in reached]
    return reached[int(np.argmax(values) if highest else np.argmin(values))]
