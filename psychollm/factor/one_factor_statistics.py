"""What one factor leaves over in pair counts: the two statistics of the tests of one factor.

A second factor pushes the standardised residuals of the counts, equation (3) of
`kernels.pairwise_likelihood`, up within and down between the groups of models it separates: one
large eigenvalue. The share of a second factor is fitted by pairwise likelihood; fits that only
feed a null distribution stop early, since three digits of it are settled long before the optimum.
"""

from collections.abc import Callable

import numpy as np

from psychollm._base.types import AnyArray, FloatArray, WordArray
from psychollm.kernels.one_factor import draw_counts
from psychollm.kernels.pairwise_factors import add_factor, fit_pairwise_factors
from psychollm.kernels.pairwise_likelihood import (
    fit_pairwise,
    pair_margins,
    residuals,
    start_loadings,
)
from psychollm.kernels.symmetric import largest_eigenvalue

TOLERANCE, MAX_STEPS = 1e-3, 100  # of one factor
GAIN, MAX_STEPS_TWO = 0.01, 60  # of two
Counts = tuple[FloatArray, FloatArray, FloatArray]  # joint, yes, n: each (k, k)
Statistic = Callable[[Counts, FloatArray], float]  # loadings to start from are fitted in place


def start(counts: Counts) -> FloatArray:
    """Return loadings (k,) to start a fit from."""
    loadings = np.empty(len(counts[0]))
    start_loadings(counts, _margins(counts)[0], loadings)
    return loadings


def residual_eigenvalue(counts: Counts, loadings: FloatArray) -> float:
    """Return the largest eigenvalue of the residuals of loadings (k,) as they stand."""
    tau, rate = _margins(counts)
    z = np.empty_like(tau)
    residuals(counts, tau, rate, loadings[:, None], z)
    return float(largest_eigenvalue(z))


def fitted_residual_eigenvalue(counts: Counts, loadings: FloatArray) -> float:
    """Return the largest eigenvalue of the residuals of one factor."""
    tau, rate = _margins(counts)
    fit_pairwise(counts, tau, rate, loadings, TOLERANCE, MAX_STEPS)
    z = np.empty_like(tau)
    residuals(counts, tau, rate, loadings[:, None], z)
    return float(largest_eigenvalue(z))


def second_share(counts: Counts, loadings: FloatArray) -> float:
    """Return the share of variance of the second of two factors."""
    tau, rate = _margins(counts)
    fit_pairwise(counts, tau, rate, loadings, TOLERANCE, MAX_STEPS)
    narrow, z, wide = loadings[:, None], np.empty_like(tau), np.empty((len(tau), 2))
    residuals(counts, tau, rate, narrow, z)
    add_factor(z, narrow, wide)
    fit_pairwise_factors(counts, tau, rate, wide, GAIN, MAX_STEPS_TWO)
    varying = np.isfinite(np.diagonal(tau))
    smaller = np.linalg.eigvalsh(wide[varying].T @ wide[varying])[0]
    return float(smaller / varying.sum())


def draw_statistics(
    statistic: Statistic,
    loadings: FloatArray,
    thresholds: FloatArray,
    n_questions: int,
    answered: AnyArray,
    n: FloatArray,
    seeds: WordArray,
) -> FloatArray:
    """Draw a statistic for each seed (m, 2) under the one-factor model given.

    ``n`` (k, k) holds the questions that both answered, ``answered`` (k, words) the packed mask of
    answers, (0, 0) where all were given. Fits start from the loadings given.
    """
    k = loadings.size
    yes = np.empty((k, (n_questions + 63) // 64), dtype=np.uint64)
    counts = (np.empty((k, k)), np.empty((k, k)), n.copy())
    draws = np.empty(len(seeds))
    for m, seed in enumerate(seeds):
        draw_counts(loadings, thresholds, n_questions, answered, seed, yes, counts)
        draws[m] = statistic(counts, loadings.copy())
    return draws


def _margins(counts: Counts) -> tuple[FloatArray, FloatArray]:
    """Return thresholds and rates (k, k) of each model among the questions of each pair."""
    tau, rate = np.empty_like(counts[1]), np.empty_like(counts[1])
    pair_margins(counts[1], counts[2], tau, rate)
    return tau, rate
