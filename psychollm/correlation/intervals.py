"""Confidence intervals of tetrachoric correlations."""

from __future__ import annotations

import numpy as np
from scipy.special import chdtri, ndtri

from psychollm._base.types import FloatArray
from psychollm.data.pair_counts import PairCounts
from psychollm.kernels.table_inference import profile_pairs


def delta_interval(matrix: FloatArray, se: FloatArray, level: float) -> FloatArray:
    """Return Fisher-z intervals (..., 2) within (-1, 1); NaN where the standard error is."""
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.arctanh(matrix)
        reach = ndtri(0.5 + 0.5 * level) * se / ((1.0 - matrix) * (1.0 + matrix))
        ends = np.stack([np.tanh(z - reach), np.tanh(z + reach)], axis=-1)
    diagonal = se == 0
    ends[diagonal] = matrix[diagonal, None]
    return np.asarray(ends, dtype=np.float64)


def profile_interval(matrix: FloatArray, counts: PairCounts, level: float) -> FloatArray:
    """Return likelihood-ratio intervals of every pair (k, k, 2), from the unadjusted counts."""
    # All rho whose profile log-likelihood lies within half a chi-square quantile (1 df) of the
    # maximum. With an empty cell that is at the bound and one end is free. Unequal weights stretch
    # the interval by their design effect.
    out = np.empty((*matrix.shape, 2))
    with np.errstate(invalid="ignore", divide="ignore"):
        scale = np.where(counts.squares > 0, counts.n / counts.squares, 1.0)
    drop = 0.5 * float(chdtri(1, 1.0 - level))
    profile_pairs(matrix, counts.joint * scale, counts.yes * scale, counts.n * scale, drop, out)
    return out
