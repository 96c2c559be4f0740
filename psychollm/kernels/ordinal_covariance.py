r"""Covariances of ordinal scores that are obtained by thresholding normal variables.

A score counts the thresholds :math:`\tau_1 < \tau_2 < \ldots` that a standard normal variable
exceeds. The score is 0 or 1 with one threshold, and 0 to C with C thresholds. The covariance of
two scores whose normal variables have correlation r is the sum over pairs of thresholds

.. math:: \operatorname{cov}(x_i, x_j; r) = \sum_{c, d} \big(P(y_i > \tau_{ic}, y_j > \tau_{jd}; r)
          - P(y_i > \tau_{ic})\, P(y_j > \tau_{jd})\big),                                 \quad (1)

and the variance of a score is its covariance with itself at r = 1.

References
----------
Green, S. B., & Yang, Y. (2009). Reliability of summed item scores using structural equation
modeling: An alternative to coefficient alpha. Psychometrika, 74(1), 155-167.
https://doi.org/10.1007/s11336-008-9099-3
"""

import math

import numpy as np

from psychollm.kernels._jit import njit
from psychollm.kernels.bivariate import bvn_upper
from psychollm.kernels.normal import normal_upper


@njit
def _exceedances(thresholds, upper):
    """Fill the probabilities of exceeding each threshold; zero where a threshold is missing."""
    for i in range(thresholds.shape[0]):
        for c in range(thresholds.shape[1]):
            tau = thresholds[i, c]
            upper[i, c] = normal_upper(tau) if tau == tau else 0.0


@njit
def score_covariances(thresholds, correlation, out):
    """Fill `out` (k, k) with the covariances of equation (1); NaN marks missing thresholds."""
    # The diagonal uses the diagonal of `correlation`: 1 gives variances, and a communality gives
    # the covariance with a parallel item. The result is NaN where a correlation is NaN.
    k, n_cuts = thresholds.shape
    upper = np.empty((k, n_cuts))
    _exceedances(thresholds, upper)
    for i in range(k):
        for j in range(i + 1):
            r = min(1.0, max(-1.0, correlation[i, j]))
            total = 0.0
            for c in range(n_cuts):
                a = thresholds[i, c]
                if a != a or math.isinf(a):
                    continue
                for d in range(n_cuts):
                    b = thresholds[j, d]
                    if b != b or math.isinf(b):
                        continue
                    total += bvn_upper(a, b, r) - upper[i, c] * upper[j, d]
            out[i, j] = out[j, i] = total if correlation[i, j] == correlation[i, j] else math.nan
