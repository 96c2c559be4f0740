"""All pairs at once: from joint counts to a matrix of tetrachoric correlations."""

import math

import numpy as np

from psychollm.kernels._jit import njit
from psychollm.kernels.tetrachoric import UNDEFINED, correlate_table, pair_thresholds

RULES = {"none": 0, "keep_margins": 1, "add_half": 2, "add_half_all": 3}


@njit
def correlate_pairs(joint, yes, n, tau, rule, fixed, lo, hi, out):
    """Estimate the pairs (i, j < i) with lo <= i < hi into a bundle of (k, k) arrays.

    ``out`` is (matrix, complement, residual, iterations, status); complement is 1 - |rho|.
    """
    matrix, complement, residual, iterations, status = out
    for i in range(lo, hi):
        constant = not math.isfinite(tau[i])
        matrix[i, i] = math.nan if constant else 1.0
        complement[i, i], residual[i, i], iterations[i, i] = 0.0, 0.0, 0
        status[i, i] = UNDEFINED if constant else 0
        for j in range(i):
            n11 = joint[i, j]
            n10, n01 = yes[i, j] - n11, yes[j, i] - n11
            n00 = n[i, j] - yes[i, j] - n01
            tau1, tau2 = tau[i], tau[j]
            if not fixed:
                tau1, tau2 = pair_thresholds(yes, n, tau, i, j)
            rho, rest, steps, left, how = correlate_table(
                n11, n10, n01, n00, tau1, tau2, rule, fixed
            )
            matrix[i, j] = matrix[j, i] = rho
            complement[i, j] = complement[j, i] = rest
            residual[i, j] = residual[j, i] = left
            iterations[i, j] = iterations[j, i] = steps
            status[i, j] = status[j, i] = how


@njit
def correlate_into(joint, yes, n, tau, rule, fixed, matrix):
    """Estimate all pairs into `matrix` alone (for replicates): undefined pairs become zero."""
    k = tau.size
    for i in range(k):
        matrix[i, i] = 1.0
        for j in range(i):
            n11 = joint[i, j]
            n10, n01 = yes[i, j] - n11, yes[j, i] - n11
            tau1, tau2 = tau[i], tau[j]
            if not fixed:
                tau1, tau2 = pair_thresholds(yes, n, tau, i, j)
            rho, _, _, _, _ = correlate_table(
                n11, n10, n01, n[i, j] - yes[i, j] - n01, tau1, tau2, rule, fixed
            )
            matrix[i, j] = matrix[j, i] = rho if rho == rho else 0.0


def empty_outputs(k: int) -> tuple[np.ndarray, ...]:
    """Allocate the bundle that `correlate_pairs` fills."""
    return (
        np.empty((k, k)),
        np.empty((k, k)),
        np.empty((k, k)),
        np.empty((k, k), dtype=np.int8),
        np.empty((k, k), dtype=np.int8),
    )
