r"""Newton steps of many small penalised logistic regressions.

Row r has coefficients :math:`\beta` with prior mean :math:`m_r` and precision :math:`\lambda`, and
its scores :math:`y_u \in [0, 1]` have expectations :math:`p_u = 1 / (1 + \exp(-o_u - x_u^T
\beta))`. The regressors are estimates with covariance :math:`S_u`, so that

.. math:: g = \sum_u (y_u - p_u) x_u - \sum_u w_u S_u \beta - \lambda (\beta - m_r), \qquad
          H = \sum_u w_u (x_u x_u^T + S_u) + \operatorname{diag} \lambda, \qquad
          w_u = p_u (1 - p_u).                                                            \quad (1)

The regressions that estimate items from abilities, and abilities from items, have the form of
equation (1).
"""

import math

import numpy as np

from psychollm.kernels._jit import njit
from psychollm.kernels.loops import copy_values
from psychollm.kernels.symmetric import cholesky, solve_factored

PROBIT = math.pi / 8.0  # factor of the variance in the approximation of a mean logistic function
LONGEST = 1.5  # longest step of a coefficient; the quadratic approximation fails beyond it
LARGEST_LEVERAGE = 0.9  # largest leverage of an item's own score on its probability


@njit
def newton_rows(scores, units, prior, steps, beta, covariance):
    """Take `steps` Newton steps for every row of scores; fill beta and the inverse of the last H.

    Parameters
    ----------
    scores : ndarray (rows, units)
        Scores in [0, 1]; NaN where missing.
    units : tuple of ndarray (units,), (units, p), (units, p, p)
        For each unit: offset o, regressors x, and covariance S of the regressors.
    prior : tuple of ndarray (rows, p), (p,)
        Means and precisions.
    steps : int
    beta : ndarray (rows, p)
        Starting values, overwritten.
    covariance : ndarray (rows, p, p)
        Overwritten.
    """
    offset, x, spread = units
    p = prior[1].size
    moments = _second_moments(x, spread)
    gradient, step, packed = np.empty(p), np.empty(p), np.empty(p * (p + 1) // 2)
    factor = np.empty((p, p))
    for r in range(scores.shape[0]):
        for _ in range(steps):
            _derivatives(scores[r], (offset, x, moments), beta[r], gradient, packed)
            at = 0
            for a in range(p):
                for b in range(a + 1):
                    # The part w x x' beta cancels the term that `_derivatives` adds; the part w S
                    # beta of (1) remains.
                    gradient[a] -= packed[at] * beta[r, b]
                    if b < a:
                        gradient[b] -= packed[at] * beta[r, a]
                    factor[a, b] = packed[at]
                    at += 1
            for a in range(p):
                gradient[a] -= prior[1][a] * (beta[r, a] - prior[0][r, a])
                factor[a, a] += prior[1][a]
            cholesky(factor)
            solve_factored(factor, gradient, step)
            for a in range(p):
                beta[r, a] += min(max(step[a], -LONGEST), LONGEST)
        for a in range(p):
            gradient[:] = 0.0
            gradient[a] = 1.0
            solve_factored(factor, gradient, step)
            copy_values(step, covariance[r, a])


@njit
def _second_moments(x, spread):
    """Return the lower triangle of x x' + S of every unit, row by row."""
    n, p = x.shape
    moments = np.empty((n, p * (p + 1) // 2))
    for u in range(n):
        at = 0
        for a in range(p):
            for b in range(a + 1):
                moments[u, at] = x[u, a] * x[u, b] + spread[u, a, b]
                at += 1
    return moments


@njit
def _derivatives(scores, units, beta, gradient, packed):
    """Fill sum (y - p + w x' beta) x and sum w (x x' + S) of one row, without the prior."""
    offset, x, moments = units
    gradient[:] = 0.0
    packed[:] = 0.0
    for u in range(scores.size):
        if math.isnan(scores[u]):
            continue
        inner = 0.0
        for a in range(beta.size):
            inner += x[u, a] * beta[a]
        chance = 1.0 / (1.0 + math.exp(-offset[u] - inner))
        weight = chance * (1.0 - chance)
        pull = scores[u] - chance + weight * inner
        for a in range(beta.size):
            gradient[a] += pull * x[u, a]
        for at in range(packed.size):
            packed[at] += weight * moments[u, at]


@njit
def mean_chances(items, covariance, place, scores, out):
    r"""Fill probabilities (J,), with the uncertainty of items and abilities integrated out.

    One Newton step removes an item's own score from the abilities.

    Parameters
    ----------
    items : ndarray (J, 1 + K)
        Intercepts and slopes.
    covariance : ndarray (J, 1 + K, 1 + K)
    place : tuple of ndarray (K,), (K, K)
        Abilities and their covariance, given all scores.
    scores : ndarray (J,)
        NaN where the abilities do not depend on the item's score.
    out : ndarray (J,)
    """
    theta, spread = place
    k = theta.size
    pulled, at = np.empty(k), np.empty(k)
    for j in range(items.shape[0]):
        eta, through = items[j, 0], 0.0
        for a in range(k):
            at[a] = theta[a]
            eta += items[j, 1 + a] * theta[a]
            pulled[a] = 0.0
            for b in range(k):
                pulled[a] += spread[a, b] * items[j, 1 + b]
            through += items[j, 1 + a] * pulled[a]
        if not math.isnan(scores[j]):
            chance = 1.0 / (1.0 + math.exp(-eta))
            leverage = min(through * chance * (1.0 - chance), LARGEST_LEVERAGE)
            residual = (scores[j] - chance) / (1.0 - leverage)
            eta -= through * residual
            for a in range(k):
                at[a] -= pulled[a] * residual
        variance = covariance[j, 0, 0] + through
        for a in range(k):
            variance += 2.0 * covariance[j, 0, 1 + a] * at[a]
            for b in range(k):
                variance += at[a] * covariance[j, 1 + a, 1 + b] * at[b]
        out[j] = 1.0 / (1.0 + math.exp(-eta / math.sqrt(1.0 + PROBIT * variance)))
