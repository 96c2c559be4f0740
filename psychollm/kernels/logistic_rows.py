r"""Newton steps of many small penalised logistic regressions.

Row r has coefficients :math:`\beta` with prior mean :math:`m_r` and precision :math:`\lambda`, and
its scores :math:`y_u \in [0, 1]` have chances :math:`p_u = 1 / (1 + \exp(-o_u - x_u^T \beta))`.
The regressors are known with covariance :math:`S_u` only, so that

.. math:: g = \sum_u (y_u - p_u) x_u - \sum_u w_u S_u \beta - \lambda (\beta - m_r), \qquad
          H = \sum_u w_u (x_u x_u^T + S_u) + \operatorname{diag} \lambda, \qquad
          w_u = p_u (1 - p_u).                                                            \quad (1)

Items given abilities and abilities given items are both of this form.
"""

import math

import numpy as np

from psychollm.kernels._jit import njit
from psychollm.kernels.symmetric import cholesky_solve

PROBIT = math.pi / 8.0  # of the normal in units of the logistic
LONGEST = 1.5  # step of a coefficient: further away the parabola tells nothing


@njit
def newton_rows(scores, units, prior, steps, beta, covariance):
    """Take `steps` steps of (1) for every row of scores; fill beta and the inverse of the last H.

    Parameters
    ----------
    scores : ndarray (rows, units)
        In [0, 1], NaN where missing.
    units : tuple of ndarray (units,), (units, p), (units, p, p)
        Offsets o, regressors x and their covariances S.
    prior : tuple of ndarray (rows, p), (p,)
        Means and precisions.
    steps : int
    beta : ndarray (rows, p)
        Start, overwritten.
    covariance : ndarray (rows, p, p)
        Overwritten.
    """
    p = prior[1].size
    gradient, step, unit = np.empty(p), np.empty(p), np.empty(p)
    hessian, work = np.empty((p, p)), np.empty((p, p))
    for r in range(scores.shape[0]):
        for _ in range(steps):
            _derivatives(scores[r], units, prior[0][r], prior[1], beta[r], gradient, hessian)
            work[:] = hessian
            cholesky_solve(work, gradient, step)
            for a in range(p):
                beta[r, a] += min(max(step[a], -LONGEST), LONGEST)
        for a in range(p):
            unit[:] = 0.0
            unit[a] = 1.0
            work[:] = hessian
            cholesky_solve(work, unit, step)
            covariance[r, a] = step


@njit
def _derivatives(scores, units, mean, precision, beta, gradient, hessian):
    """Fill g and H of (1) for one row."""
    offset, x, spread = units
    p = mean.size
    for a in range(p):
        gradient[a] = -precision[a] * (beta[a] - mean[a])
        hessian[a] = 0.0
        hessian[a, a] = precision[a]
    for u in range(scores.size):
        if math.isnan(scores[u]):
            continue
        eta = offset[u]
        for a in range(p):
            eta += x[u, a] * beta[a]
        chance = 1.0 / (1.0 + math.exp(-eta))
        weight, residual = chance * (1.0 - chance), scores[u] - chance
        for a in range(p):
            gradient[a] += residual * x[u, a]
            for b in range(p):
                held = weight * spread[u, a, b]
                gradient[a] -= held * beta[b]
                hessian[a, b] += weight * x[u, a] * x[u, b] + held


@njit
def mean_chances(items, covariance, theta, spread, out):
    r"""Fill the chances (J,) of items, their uncertainty and that of the abilities integrated out.

    Parameters
    ----------
    items : ndarray (J, 1 + K)
        Intercepts and slopes.
    covariance : ndarray (J, 1 + K, 1 + K)
    theta : ndarray (J, K) or (1, K)
        Abilities, item by item or the same for all.
    spread : ndarray (K, K)
        Covariance of the abilities.
    out : ndarray (J,)
    """
    k = spread.shape[0]
    for j in range(items.shape[0]):
        at = theta[j if theta.shape[0] > 1 else 0]
        eta, variance = items[j, 0], covariance[j, 0, 0]
        for a in range(k):
            eta += items[j, 1 + a] * at[a]
            variance += 2.0 * covariance[j, 0, 1 + a] * at[a]
            for b in range(k):
                variance += at[a] * covariance[j, 1 + a, 1 + b] * at[b]
                variance += items[j, 1 + a] * spread[a, b] * items[j, 1 + b]
        out[j] = 1.0 / (1.0 + math.exp(-eta / math.sqrt(1.0 + PROBIT * variance)))
