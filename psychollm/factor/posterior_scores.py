r"""Posterior means of several factors given yes-or-no answers.

A variable with loadings :math:`\lambda` and threshold :math:`\tau` is answered yes where its
latent response exceeds the threshold: given the factors f, with probability

.. math:: \Phi\Big(\frac{\lambda^\top f - \tau}{\sqrt{1 - \lambda^\top \Phi \lambda}}\Big),
          \qquad f \sim N(0, \Phi) .                                                     \quad (1)

Posterior means and covariances are integrals around each pattern's own posterior
(`kernels.irt_multidimensional`): Gauss-Hermite products up to three factors, quasi-random points
beyond.
"""

import numpy as np
from scipy.special import ndtri

from psychollm._base.types import FloatArray
from psychollm.kernels.adaptive_rules import product_rule, quasi_random_rule
from psychollm.kernels.irt_multidimensional import PROBIT, integrate

NODES = {1: 61, 2: 21, 3: 15}
POINTS, LEAST_NODES = 512, 262_144  # quasi-random points of a pattern, and of all patterns
LEAST_UNIQUENESS = 1e-3
WIDTH = 8


def posterior_scores(
    loadings: FloatArray, correlation: FloatArray, thresholds: FloatArray, answers: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return posterior means (units, m) and covariances (units, m, m).

    Parameters
    ----------
    loadings : ndarray of shape (k, m)
    correlation : ndarray of shape (m, m)
        Of the factors.
    thresholds : ndarray of shape (k,)
    answers : ndarray of shape (k, units)
        1 for yes, 0 for no, NaN for none. A unit without answers gets NaN.

    Examples
    --------
    >>> L = np.array([[0.8], [0.6]])
    >>> mean, _ = posterior_scores(L, np.eye(1), np.zeros(2), np.array([[1.0, 0.0], [1.0, 0.0]]))
    >>> mean.round(3).ravel()
    array([ 0.847, -0.847])
    """
    k, m = loadings.shape
    rows, where = np.unique(np.nan_to_num(answers.T, nan=-1.0), axis=0, return_inverse=True)
    width = -(-k // WIDTH) * WIDTH
    yes, asked = np.zeros((len(rows), width)), np.zeros((len(rows), width))
    yes[:, :k], asked[:, :k] = rows == 1.0, rows >= 0.0
    rest = 1.0 - np.einsum("km,mn,kn->k", loadings, correlation, loadings)
    scale = 1.0 / np.sqrt(np.maximum(rest, LEAST_UNIQUENESS))
    slopes, intercepts = np.zeros((m, width)), np.zeros(width)
    slopes[:, :k], intercepts[:k] = (loadings * scale[:, None]).T, -thresholds * scale
    prior = (np.linalg.inv(correlation), float(np.linalg.slogdet(correlation)[1]), False)
    if m in NODES:
        rule = product_rule(NODES[m], m)
    else:
        rule = quasi_random_rule(max(POINTS, 2 * (LEAST_NODES // (2 * len(rows)))), m, len(rows))
    moments = (np.empty(len(rows)), np.empty((len(rows), m)), np.empty((len(rows), m, m)))
    sums = (np.empty((m + 1, width)), np.empty(((m + 1) * (m + 2) // 2, width)))
    data = (yes, asked, np.ones(len(rows)))
    modes = np.zeros((len(rows), m))
    integrate((slopes, intercepts, PROBIT), data, prior, rule, modes, moments, sums)
    silent = ~asked.any(axis=1)
    moments[1][silent], moments[2][silent] = np.nan, np.nan
    place = where.ravel()
    return moments[1][place], moments[2][place]


def thresholds_of(answers: FloatArray) -> FloatArray:
    """Return the thresholds (k,) that shares of yes imply.

    Examples
    --------
    >>> thresholds_of(np.array([[1.0, 0.0, 1.0, 0.0]]))
    array([0.])
    """
    return np.asarray(-ndtri(np.nanmean(answers, axis=1)) + 0.0, dtype=np.float64)
