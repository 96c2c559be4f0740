"""The share of a second factor by pairwise likelihood, in data and in one-factor replicates.

Fits that only feed a null distribution stop early: the share is settled to three digits long
before a rotation-free optimum is reached to the last one.
"""

import math

import numpy as np

from psychollm.kernels._jit import njit
from psychollm.kernels.one_factor import (
    MAX_STEPS,
    TOLERANCE,
    WARM,
    count_answers,
    simulate_one_factor,
)
from psychollm.kernels.pairwise_factors import add_factor, fit_pairwise_factors
from psychollm.kernels.pairwise_likelihood import (
    fit_pairwise,
    pair_margins,
    residuals,
    start_loadings,
)
from psychollm.kernels.random import seed_stream

GAIN = 0.01
MAX_STEPS_TWO = 60


@njit
def second_share(counts, loading, warm):
    """Return (share of the second of two factors, twice the gain in log-likelihood over one)."""
    k = loading.size
    tau, rate, z = np.empty((k, k)), np.empty((k, k)), np.empty((k, k))
    pair_margins(counts[1], counts[2], tau, rate)
    if not warm:
        start_loadings(counts, tau, loading)
    one, _, _ = fit_pairwise(counts, tau, rate, loading, TOLERANCE, MAX_STEPS)
    narrow = loading.reshape((k, 1))
    residuals(counts, tau, rate, narrow, z)
    wide = np.empty((k, 2))
    add_factor(z, narrow, wide)
    two, _, _ = fit_pairwise_factors(counts, tau, rate, wide, GAIN, MAX_STEPS_TWO)
    a, b, c, varying = 0.0, 0.0, 0.0, 0
    for i in range(k):
        if math.isfinite(tau[i, i]):
            varying += 1
            a += wide[i, 0] * wide[i, 0]
            b += wide[i, 0] * wide[i, 1]
            c += wide[i, 1] * wide[i, 1]
    smaller = 0.5 * (a + c) - math.sqrt(0.25 * (a - c) * (a - c) + b * b)
    return smaller / varying, 2.0 * (two - one)


@njit
def draw_second_shares(loadings, thresholds, n_questions, answered, n, seeds):
    """Draw the share of a second factor under the one-factor model, shape (m, 1)."""
    k = loadings.size
    yes = np.empty((k, (n_questions + 63) // 64), dtype=np.uint64)
    counts = (np.empty((k, k)), np.empty((k, k)), n.copy())
    draws = np.empty((seeds.shape[0], 1))
    fitted = np.empty(k)
    for m in range(seeds.shape[0]):
        simulate_one_factor(loadings, thresholds, n_questions, seed_stream(seeds[m]), yes)
        count_answers(yes, answered, counts)
        fitted[:] = loadings
        draws[m, 0], _ = second_share(counts, fitted, WARM)
    return draws
