"""Orthant probabilities of the bivariate normal distribution for arrays of limits."""

import numpy as np
from numpy.typing import NDArray

from psychollm.kernels._jit import njit
from psychollm.kernels.bivariate import bvn_cdf, bvn_pdf


@njit
def orthants(h: NDArray[np.float64], k: NDArray[np.float64], r: float) -> NDArray[np.float64]:
    """P(X <= h, Y <= k) for each pair of limits, at one correlation."""
    out = np.empty(h.size)
    for i in range(h.size):
        out[i] = bvn_cdf(h[i], k[i], r)
    return out


@njit
def densities(h: NDArray[np.float64], k: NDArray[np.float64], r: float) -> NDArray[np.float64]:
    """Density at each pair of limits, at one correlation of absolute size below 1."""
    out = np.empty(h.size)
    for i in range(h.size):
        out[i] = bvn_pdf(h[i], k[i], r)
    return out
