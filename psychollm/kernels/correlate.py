"""Tetrachoric correlations of all pairs, estimated from joint counts."""

import math

import numpy as np

from psychollm.kernels._jit import njit
from psychollm.kernels.tetrachoric import UNDEFINED, correlate_table, pair_thresholds

RULES = {"none": 0, "keep_margins": 1, "add_half": 2, "add_half_all": 3}


@njit
def _pair(counts, tau, i, j, rule, fixed):
    """Estimate one pair from its counts."""
    joint, yes, n = counts
    n11 = joint[i, j]
    n10, n01 = yes[i, j] - n11, yes[j, i] - n11
    n00 = n[i, j] - yes[i, j] - n01
    own = (tau[i], tau[j]) if fixed else pair_thresholds(yes, n, tau, i, j)
    return correlate_table(n11, n10, n01, n00, own, rule, fixed)


@njit
def correlate_pairs(counts, tau, rule, fixed, out):
    """Estimate all pairs from counts (joint, yes, n) into a bundle of (k, k) arrays."""
    # `out` is (matrix, complement, residual, iterations, status); complement is 1 - |rho|. Pairs
    # below the diagonal that are not NaN have already been estimated and are kept.
    matrix, complement, residual, iterations, status = out
    for i in range(tau.size):
        constant = not math.isfinite(tau[i])
        matrix[i, i] = math.nan if constant else 1.0
        complement[i, i], residual[i, i], iterations[i, i] = 0.0, 0.0, 0
        status[i, i] = UNDEFINED if constant else 0
        for j in range(i):
            if math.isnan(matrix[i, j]):
                rho, rest, steps, left, how = _pair(counts, tau, i, j, rule, fixed)
                matrix[i, j], complement[i, j], residual[i, j] = rho, rest, left
                iterations[i, j], status[i, j] = steps, how
            matrix[j, i], complement[j, i] = matrix[i, j], complement[i, j]
            residual[j, i], iterations[j, i] = residual[i, j], iterations[i, j]
            status[j, i] = status[i, j]


@njit
def correlate_into(counts, tau, rule, fixed, matrix):
    """Fill only `matrix`, for replicates; undefined pairs become zero."""
    for i in range(tau.size):
        matrix[i, i] = 1.0
        for j in range(i):
            rho, _, _, _, _ = _pair(counts, tau, i, j, rule, fixed)
            matrix[i, j] = matrix[j, i] = rho if rho == rho else 0.0


def empty_outputs(k: int) -> tuple[np.ndarray, ...]:
    """Allocate the bundle that `correlate_pairs` fills; NaN marks pairs not yet estimated."""
    return (
        np.full((k, k), np.nan),
        np.empty((k, k)),
        np.empty((k, k)),
        np.empty((k, k), dtype=np.int8),
        np.empty((k, k), dtype=np.int8),
    )
