r"""Correlation of two true scores across models, from means with known sampling errors.

Model m has two true scores :math:`\theta_m`, one in each benchmark. True scores are bivariate
normal across models with standard deviations :math:`\tau_1, \tau_2` and correlation :math:`\rho`.
The observed means :math:`x_m` over questions add sampling errors of known covariance :math:`V_m`:

.. math:: x_m \sim N\Big(\mu, \; V_m + \begin{pmatrix} \tau_1^2 & \rho \tau_1 \tau_2 \\
          \rho \tau_1 \tau_2 & \tau_2^2 \end{pmatrix}\Big) = N(\mu, B_m).                 \quad (1)

With :math:`r_m = x_m - \hat\mu`, the deviance is twice the negative restricted log-likelihood:

.. math:: D = \sum_m \big(\log |B_m| + r_m' B_m^{-1} r_m\big)
          + \log \Big|\sum_m B_m^{-1}\Big|.                                               \quad (2)

Without sampling errors, the profile of D exceeds its minimum by :math:`-(K - 1) \log (1 - \tilde
r^2)`, where K is the number of models, r the correlation of the means and :math:`\tilde r = (r -
\rho) / (1 - r \rho)`. If :math:`\rho = 0`, :math:`\tilde r \sqrt{(K - 2) / (1 - \tilde r^2)}` has
Student's t distribution with K - 2 degrees of freedom. The interval therefore contains each
:math:`\rho` whose profile exceeds the minimum by at most the limit

.. math:: (K - 1) \log\big(1 + t_{K - 2}^2 / (K - 2)\big).                                \quad (3)

The usual quantile of chi-squared, 3.8, is too small for few models: with five models, the limit in
equation (3) is 5.9.

All models answer the same questions. The difficulty of the questions shifts the means of all
models equally. The common shift of the means is part of :math:`\hat\mu`, so :math:`V_m` excludes
it (`own_covariance`).
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq, minimize
from scipy.special import stdtr, stdtrit

from psychollm._base.types import FloatArray

_STARTS = (-0.9, 0.0, 0.9)
# Bounds of the log ratio of the standard deviations of true scores and of observed means.
_LEAST = np.log(1e-4)
_MOST = 3.0
# Variance added to the errors, relative to the variance of the means. It keeps the density finite
# at a correlation of one.
_LEAST_NOISE = 1e-8
_NEAR = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class TrueCorrelation:
    """Correlation of true scores with its interval."""

    value: float
    interval: FloatArray  # (2,)
    p_one: float  # one-sided p-value for a correlation of one


def own_covariance(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return each model's covariance of two errors, without the common part (models,)."""
    # Rows are models; columns are the contributions of questions or clusters to their errors. The
    # covariance is c + v_m within model m and c between models. Deviations from the mean of all K
    # models then have the covariance d_m = (1 - 2 / K) v_m + mean(v) / K; this is solved for v_m.
    k = len(first)
    d = ((first - first.mean(axis=0)) * (second - second.mean(axis=0))).sum(axis=1)
    return np.asarray((d - d.sum() / (k - 1) / k) / (1.0 - 2.0 / k), dtype=np.float64)


def true_correlation(
    means: FloatArray, errors: FloatArray, *, level: float = 0.95
) -> TrueCorrelation:
    """Estimate the correlation of true scores by restricted maximum likelihood.

    Parameters
    ----------
    means : ndarray (models, 2)
        Mean scores of the models in two benchmarks.
    errors : ndarray (models, 2, 2)
        Covariance matrix of each model's sampling errors.
    level : float
        Coverage of the interval of the correlation.

    Examples
    --------
    >>> means = np.array([[0.1, 0.0], [0.5, 0.2], [0.9, 1.0], [1.4, 1.1], [2.0, 1.8]])
    >>> found = true_correlation(means, np.tile(0.01 * np.eye(2), (5, 1, 1)))
    >>> round(found.value, 3), found.interval.round(2)
    (0.993, array([0.69, 1.  ]))
    """
    scale, k = means.std(axis=0, ddof=1), len(means)
    x, v = means / scale, errors / np.outer(scale, scale) + _LEAST_NOISE * np.eye(2)
    best, point = min((_lowest(x, v, start) for start in _STARTS), key=lambda fit: fit[0])
    bar = (k - 1) * np.log1p(stdtrit(k - 2, 0.5 + 0.5 * level) ** 2 / (k - 2))
    rho = float(point[2])

    def excess(other: float) -> float:
        start = np.append(point[:2], other)
        return max(_lowest(x, v, start[2], start[:2], fixed=True)[0] - best, 0.0)

    ends = [
        end
        if abs(rho - end) < _NEAR or excess(end) <= bar
        else float(brentq(lambda other: excess(other) - bar, rho, end, xtol=1e-6))
        for end in (-1.0, 1.0)
    ]
    t = np.sqrt((k - 2) * np.expm1(min(excess(1.0) / (k - 1), 500.0)))
    return TrueCorrelation(value=rho, interval=np.array(ends), p_one=float(stdtr(k - 2, -t)))


def _lowest(
    x: FloatArray,
    v: FloatArray,
    rho: float,
    spreads: FloatArray | None = None,
    *,
    fixed: bool = False,
) -> tuple[float, FloatArray]:
    """Return the minimum of the deviance and its location; `rho` is fixed or a starting value."""
    start = np.append(np.zeros(2) if spreads is None else spreads, rho)
    limits = [(_LEAST, _MOST), (_LEAST, _MOST), (rho, rho) if fixed else (-1.0, 1.0)]
    found = minimize(deviance, start, (x, v), jac=True, bounds=limits, method="L-BFGS-B")
    return float(found.fun), found.x


def deviance(point: FloatArray, x: FloatArray, v: FloatArray) -> tuple[float, FloatArray]:
    """Return the deviance, equation (2), and its gradient in the log SDs and the correlation."""
    first, second = np.exp(point[:2])
    shared = point[2] * first * second
    covariance = v + np.array([[first**2, shared], [shared, second**2]])
    a, b, c = covariance[:, 0, 0], covariance[:, 1, 1], covariance[:, 0, 1]
    determinant = a * b - c * c
    inverse = np.empty_like(covariance)
    inverse[:, 0, 0], inverse[:, 1, 1] = b / determinant, a / determinant
    inverse[:, 0, 1] = inverse[:, 1, 0] = -c / determinant
    total = inverse.sum(axis=0)
    within = np.linalg.inv(total)
    residual = x - within @ np.einsum("mij,mj->i", inverse, x)
    pulled = np.einsum("mij,mj->mi", inverse, residual)
    value = np.log(determinant).sum() + (residual * pulled).sum() - np.log(np.linalg.det(within))
    # Derivative with respect to the covariance matrix of true scores, which all models share.
    slope = total - pulled.T @ pulled - np.einsum("mij,jk,mkl->il", inverse, within, inverse)
    crossed = 2.0 * shared * slope[0, 1]
    gradient = [
        2.0 * first**2 * slope[0, 0] + crossed,
        2.0 * second**2 * slope[1, 1] + crossed,
        2.0 * first * second * slope[0, 1],
    ]
    return float(value), np.array(gradient)
