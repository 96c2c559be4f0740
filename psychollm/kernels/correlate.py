"""Tetrachoric correlations of all pairs, estimated from joint counts."""

import math

import numpy as np

from psychollm._base.types import AnyArray, FloatArray
from psychollm.kernels._jit import njit
from psychollm.kernels.tetrachoric import UNDEFINED, pair_thresholds
from psychollm.kernels.tetrachoric_lanes import LANES, correlate_lanes, work_space

RULES = {"none": 0, "keep_margins": 1, "add_half": 2, "add_half_all": 3}


@njit
def _correlate_tables(counts, tau, rule, fixed, out):
    """Fill (tables, k, k) arrays with the estimates of all pairs, as in `correlate_pairs`."""
    pairs = np.empty((LANES, 2), dtype=np.int64)
    tables, found, rooms = work_space()
    k = tau.shape[1]
    for r in range(tau.shape[0]):
        joint, yes, n, own = counts[0][r], counts[1][r], counts[2][r], tau[r]
        matrix, complement, residual = out[0][r], out[1][r], out[2][r]
        iterations, status = out[3][r], out[4][r]
        m = 0
        for i in range(k):
            constant = not math.isfinite(own[i])
            matrix[i, i] = math.nan if constant else 1.0
            complement[i, i], residual[i, i], iterations[i, i] = 0.0, 0.0, 0
            status[i, i] = UNDEFINED if constant else 0
            for j in range(i):
                if math.isnan(matrix[i, j]):
                    n11 = joint[i, j]
                    n10, n01 = yes[i, j] - n11, yes[j, i] - n11
                    tables[m, 0], tables[m, 1], tables[m, 2] = n11, n10, n01
                    tables[m, 3] = n[i, j] - yes[i, j] - n01
                    both = (own[i], own[j]) if fixed else pair_thresholds(yes, n, own, i, j)
                    tables[m, 4], tables[m, 5] = both
                    pairs[m, 0], pairs[m, 1] = i, j
                    m += 1
                if m == LANES or (m > 0 and i == k - 1 and j == i - 1):
                    correlate_lanes(m, tables, rule, fixed, found, rooms)
                    for p in range(m):
                        row, column = pairs[p, 0], pairs[p, 1]
                        matrix[row, column], complement[row, column] = found[p, 0], found[p, 1]
                        iterations[row, column] = found[p, 2]
                        residual[row, column], status[row, column] = found[p, 3], found[p, 4]
                    m = 0
        for i in range(k):
            for j in range(i):
                matrix[j, i], complement[j, i] = matrix[i, j], complement[i, j]
                residual[j, i], iterations[j, i] = residual[i, j], iterations[i, j]
                status[j, i] = status[i, j]


def correlate_pairs(
    counts: tuple[FloatArray, ...],
    tau: FloatArray,
    rule: int,
    fixed: bool,
    out: tuple[AnyArray, ...],
) -> None:
    """Fill arrays with the estimates of all pairs of one table (k, k) or several (tables, k, k).

    The arguments are counts (joint, yes, n) and thresholds of shape (k,) or (tables, k). `out` is
    (matrix, complement, residual, iterations, status); complement is 1 - abs(rho). Pairs below the
    diagonal that are not NaN have already been estimated and are kept.
    """
    k = tau.shape[-1]
    stacked = [one.reshape(-1, k, k).view() for one in counts]
    for one in stacked:
        one.flags.writeable = False  # so that the kernel is compiled once for all callers
    filled = tuple(one.reshape(-1, k, k) for one in out)
    _correlate_tables(tuple(stacked), tau.reshape(-1, k), rule, fixed, filled)


def empty_outputs(*shape: int) -> tuple[AnyArray, ...]:
    """Allocate the arrays that `correlate_pairs` fills; NaN marks pairs not yet estimated."""
    return (
        np.full(shape, np.nan),
        np.empty(shape),
        np.empty(shape),
        np.empty(shape, dtype=np.int8),
        np.empty(shape, dtype=np.int8),
    )


def correlations(
    counts: tuple[FloatArray, ...], tau: FloatArray, rule: int, fixed: bool
) -> FloatArray:
    """Return the correlations of one table or of several; undefined correlations are zero."""
    out = empty_outputs(*counts[0].shape)
    correlate_pairs(counts, tau, rule, fixed, out)
    matrix: FloatArray = out[0]
    matrix[np.isnan(matrix)] = 0.0
    every = np.arange(tau.shape[-1])
    matrix[..., every, every] = 1.0
    return matrix
