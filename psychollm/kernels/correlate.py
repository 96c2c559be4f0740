"""Tetrachoric correlations of all pairs, estimated from joint counts."""

import math

import numpy as np

from psychollm.kernels._jit import njit
from psychollm.kernels.tetrachoric import UNDEFINED, pair_thresholds
from psychollm.kernels.tetrachoric_lanes import LANES, correlate_lanes, work_space

RULES = {"none": 0, "keep_margins": 1, "add_half": 2, "add_half_all": 3}


@njit
def _correlate_some(pairs, m, counts, tau, rule, fixed, work):
    """Fill the second array of `work` with the estimates of the first m rows of `pairs`."""
    joint, yes, n = counts
    tables, found, rooms = work
    for p in range(m):
        i, j = pairs[p, 0], pairs[p, 1]
        n11 = joint[i, j]
        tables[p, 0], tables[p, 1], tables[p, 2] = n11, yes[i, j] - n11, yes[j, i] - n11
        tables[p, 3] = n[i, j] - yes[i, j] - tables[p, 2]
        own = (tau[i], tau[j]) if fixed else pair_thresholds(yes, n, tau, i, j)
        tables[p, 4], tables[p, 5] = own
    correlate_lanes(m, tables, rule, fixed, found, rooms)


@njit
def correlate_pairs(counts, tau, rule, fixed, out):
    """Fill (k, k) arrays with the estimates of all pairs, from counts (joint, yes, n)."""
    # `out` is (matrix, complement, residual, iterations, status); complement is 1 - |rho|. Pairs
    # below the diagonal that are not NaN have already been estimated and are kept.
    matrix, complement, residual, iterations, status = out
    pairs = np.empty((LANES, 2), dtype=np.int64)
    work = work_space()
    found = work[1]
    k, m = tau.size, 0
    for i in range(k):
        constant = not math.isfinite(tau[i])
        matrix[i, i] = math.nan if constant else 1.0
        complement[i, i], residual[i, i], iterations[i, i] = 0.0, 0.0, 0
        status[i, i] = UNDEFINED if constant else 0
        for j in range(i):
            if math.isnan(matrix[i, j]):
                pairs[m, 0], pairs[m, 1] = i, j
                m += 1
            if m == LANES or (m > 0 and i == k - 1 and j == i - 1):
                _correlate_some(pairs, m, counts, tau, rule, fixed, work)
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


@njit
def correlate_into(counts, tau, rule, fixed, matrix):
    """Fill `matrix` with the correlations of a replicate; undefined correlations become zero."""
    pairs = np.empty((LANES, 2), dtype=np.int64)
    work = work_space()
    found = work[1]
    k, m = tau.size, 0
    for i in range(k):
        matrix[i, i] = 1.0
        for j in range(i):
            pairs[m, 0], pairs[m, 1] = i, j
            m += 1
            if m == LANES or (i == k - 1 and j == i - 1):
                _correlate_some(pairs, m, counts, tau, rule, fixed, work)
                for p in range(m):
                    rho = found[p, 0] if found[p, 0] == found[p, 0] else 0.0
                    matrix[pairs[p, 0], pairs[p, 1]] = matrix[pairs[p, 1], pairs[p, 0]] = rho
                m = 0


def empty_outputs(k: int) -> tuple[np.ndarray, ...]:
    """Allocate the arrays that `correlate_pairs` fills; NaN marks pairs not yet estimated."""
    return (
        np.full((k, k), np.nan),
        np.empty((k, k)),
        np.empty((k, k)),
        np.empty((k, k), dtype=np.int8),
        np.empty((k, k), dtype=np.int8),
    )
