"""Confidence intervals of tetrachoric correlations."""

from __future__ import annotations

import numpy as np
from scipy.special import chdtri, ndtri

from psychollm._base.types import FloatArray
from psychollm.data.pair_counts import PairCounts
from psychollm.kernels.table_inference import profile_pairs


def delta_interval(matrix: FloatArray, se: FloatArray, level: float) -> FloatArray:
    """Fisher-z interval, shape (..., 2): z has standard error se / (1 - rho^2).

    NaN where the standard error is; the interval never leaves (-1, 1).
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.arctanh(matrix)
        reach = ndtri(0.5 + 0.5 * level) * se / ((1.0 - matrix) * (1.0 + matrix))
        ends = np.stack([np.tanh(z - reach), np.tanh(z + reach)], axis=-1)
    diagonal = se == 0
    ends[diagonal] = matrix[diagonal, None]
    return np.asarray(ends, dtype=np.float64)


def profile_interval(matrix: FloatArray, counts: PairCounts, level: float) -> FloatArray:
    """Likelihood-ratio interval of every pair, shape (k, k, 2), from the unadjusted counts.

    All values of rho are inside whose profile log-likelihood lies within half a chi-square
    quantile (one degree of freedom) of the maximum. With an empty cell the maximum is at the
    bound and the interval has one free end. Unequal weights stretch it by their design effect.
    """
    out = np.empty((*matrix.shape, 2))
    with np.errstate(invalid="ignore", divide="ignore"):
        scale = np.where(counts.squares > 0, counts.n / counts.squares, 1.0)
    drop = 0.5 * float(chdtri(1, 1.0 - level))
    profile_pairs(matrix, counts.joint * scale, counts.yes * scale, counts.n * scale, drop, out)
    return out
