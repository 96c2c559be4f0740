r"""Standard errors of the pairwise factor solution, from the variation of scores over questions.

To first order the residual joint count of a pair is a sum over questions of

.. math:: e_{ij,q} = y_{iq} y_{jq} - P_{ij} - a_{ij} (y_{iq} - p_i) - a_{ji} (y_{jq} - p_j),
          \qquad a_{ij} = \partial P_{ij} / \partial p_i = P(x_j > \tau_j \mid x_i = \tau_i),
                                                                                     \quad (1)

the last two terms because the thresholds were estimated. With weights
:math:`W_{ij} = \phi_2 H_{ij} \lambda_j` the score of a question is
:math:`u_{iq} = \sum_j W_{ij} e_{ij,q}`, and the covariance of the loadings is the sandwich
:math:`A^{-1} (\sum_q u_q u_q^\top) A^{-1}`, A the expected information of all pairs.

Reference: Katsikatsou et al. (2012), as in `psychollm.kernels.pairwise_likelihood`.
"""

import numpy as np
from scipy.special import ndtr

from psychollm._base.types import BoolArray, FloatArray
from psychollm.data.responses import Responses
from psychollm.kernels.pairwise_likelihood import pair_weights

BLOCK = 65_536


def pairwise_errors(
    table: Responses,
    tau: FloatArray,
    rate: FloatArray,
    n: FloatArray,
    loadings: FloatArray,
    *,
    free: BoolArray,
) -> FloatArray:
    """Return the standard errors of the loadings, shape (k,); NaN where not `free`."""
    weight, density, joint = np.empty_like(tau), np.empty_like(tau), np.empty_like(tau)
    pair_weights(tau, rate, loadings, weight, density, joint)
    information = n * weight * density
    outer = information * np.outer(loadings, loadings)
    A = outer + np.diag(information @ loadings**2)
    scores = _score_products(table, tau, rate, loadings, weight, joint)
    inverse = np.linalg.pinv(A[np.ix_(free, free)], hermitian=True)
    covariance = inverse @ scores[np.ix_(free, free)] @ inverse
    se = np.full(loadings.size, np.nan)
    se[free] = np.sqrt(np.diagonal(covariance))
    return se


def _score_products(
    table: Responses,
    tau: FloatArray,
    rate: FloatArray,
    loadings: FloatArray,
    weight: FloatArray,
    joint: FloatArray,
) -> FloatArray:
    """Return the sum over questions of u u', shape (k, k), by (1)."""
    informative = weight > 0.0
    r = np.outer(loadings, loadings)
    with np.errstate(invalid="ignore"):
        given = ndtr((r * tau - tau.T) / np.sqrt(1.0 - r**2))  # a[i, j] of (1)
    given = np.where(informative, given, 0.0)
    W = weight * loadings
    margin = np.where(informative, rate, 0.0)
    constant = W * (joint - given * margin - given.T * margin.T)
    total = np.zeros_like(tau)
    for lo in range(0, table.n_questions, BLOCK):
        y = (table.codes[:, lo : lo + BLOCK] == 1).astype(np.float64)
        m = (~table.missing[:, lo : lo + BLOCK]).astype(np.float64)
        y *= m
        u = y * (W @ y - (W * given) @ m) - m * (constant @ m + (W * given.T) @ y)
        total += u @ u.T
    return total
