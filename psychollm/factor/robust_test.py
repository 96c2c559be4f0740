r"""Tests of fit for models of correlations, with arbitrary weights.

Let :math:`e = r - \rho(\hat\theta)` be the residuals of the correlations r, :math:`\Delta` the
derivatives of :math:`\rho`, W the weights, and :math:`\Gamma` n times the covariance matrix of r.
Define

.. math:: T = n\, e^\top W e, \qquad
          U = W - W\Delta (\Delta^\top W \Delta)^{-} \Delta^\top W .                      \quad (1)

T has the distribution of a sum of chi-square variables that are weighted by the non-zero
eigenvalues of :math:`U\Gamma`. The eigenvalues of :math:`U\Gamma` are one only if :math:`W =
\Gamma^{-1}`. With d degrees of freedom, :math:`t_1 = \operatorname{tr} U\Gamma` and :math:`t_2 =
\operatorname{tr} (U\Gamma)^2`, the corrected statistics are

.. math:: \text{Satorra-Bentler: } \frac{d}{t_1} T, \qquad
          \text{scaled and shifted: } a T + d - a t_1,\; a = \sqrt{d / t_2}, \qquad
          \text{mean and variance adjusted: } \frac{t_1}{t_2} T,\; d' = \frac{t_1^2}{t_2}.
                                                                                       \quad (2)

References
----------
Satorra, A., & Bentler, P. M. (1994). Corrections to test statistics and standard errors in
covariance structure analysis. In A. von Eye & C. C. Clogg (Eds.), Latent variables analysis (pp.
399-419). Sage.

Asparouhov, T., & Muthen, B. (2010). Simple second order chi-square correction. Mplus technical
appendix.
"""

from typing import Any, Literal, NamedTuple

import numpy as np

from psychollm._base.checks import LARGEST
from psychollm._base.errors import InputError, OptionError
from psychollm._base.types import FloatArray
from psychollm.data.matrix_input import square_of

RobustTest = Literal["scaled_shifted", "satorra_bentler", "mean_variance", "standard"]

FLAT = 1e-9


class Quadratic(NamedTuple):
    """Statistic T of equation (1), with the quantities for its corrections."""

    statistic: float
    df: int
    trace: float  # t1
    trace_squared: float  # t2

    def corrected(self, test: RobustTest) -> tuple[float, float]:
        """Return the test statistic corrected by equation (2), and its degrees of freedom."""
        T, d, first, second = self
        if test == "standard" or d == 0:
            return T, float(d)
        if test == "satorra_bentler":
            return T * d / first, float(d)
        if test == "mean_variance":
            return T * first / second, first**2 / second
        a = float(np.sqrt(d / second))
        return a * T + d - a * first, float(d)

    def scaling(self, test: RobustTest) -> float:
        """Return the divisor of T in the corrected statistic, before any shift."""
        _, d, first, second = self
        if test == "standard" or d == 0:
            return 1.0
        if test == "satorra_bentler":
            return first / d
        return second / first if test == "mean_variance" else float(np.sqrt(second / d))


def quadratic_test(
    residuals: FloatArray,
    derivatives: FloatArray,
    weights: FloatArray,
    gamma: FloatArray,
    n: float,
) -> Quadratic:
    """Return the statistic of equation (1) and its traces, for weights W or the diagonal of W."""
    weighted = weighted_by(weights, residuals[:, None])[:, 0]
    U = np.diag(weights) if weights.ndim == 1 else weights
    rank = 0
    if derivatives.shape[1]:
        bread, rank = inverse_of(derivatives.T @ weighted_by(weights, derivatives))
        side = weighted_by(weights, derivatives)
        U = U - side @ bread @ side.T
    product = U @ gamma
    return Quadratic(
        statistic=float(n * residuals @ weighted),
        df=residuals.size - rank,
        trace=float(np.trace(product)),
        trace_squared=float(np.sum(product * product.T)),
    )


def gamma_of(covariance: Any, k: int, n: float) -> FloatArray:
    """Check the covariance matrix of k (k - 1) / 2 correlations, and return n times the matrix."""
    values = covariance_of(covariance, k)
    if not np.isfinite(n):
        msg = "the number of observations is unknown: pass n with covariance"
        raise OptionError(msg)
    return n * values


def covariance_of(covariance: Any, k: int) -> FloatArray:
    """Check and return the covariance matrix of k (k - 1) / 2 correlations."""
    values = square_of(covariance, "covariance", k * (k - 1) // 2)
    if not np.isfinite(values).all() or not (np.diagonal(values) > 1.0 / LARGEST).all():
        msg = "covariance must be finite with a positive diagonal: drop pairs without an estimate"
        raise InputError(msg)
    return values


def full_weights(gamma: FloatArray) -> FloatArray:
    """Return the weights of WLS, the inverse of gamma (p, p)."""
    if np.linalg.eigvalsh(gamma)[0] <= 1e-10 * float(np.diagonal(gamma).max()):
        msg = "covariance is singular, because there are fewer observations than pairs: use 'dwls'"
        raise InputError(msg)
    return np.asarray(np.linalg.inv(gamma), dtype=np.float64)


def weighted_by(weights: FloatArray, columns: FloatArray) -> FloatArray:
    """Return W times `columns` (p, q); W is a matrix (p, p) or its diagonal (p,)."""
    return np.asarray(
        weights[:, None] * columns if weights.ndim == 1 else weights @ columns, dtype=np.float64
    )


def inverse_of(information: FloatArray) -> tuple[FloatArray, int]:
    """Return the pseudo-inverse of a positive semidefinite matrix, and its rank."""
    values, vectors = np.linalg.eigh(information)
    kept = values > FLAT * max(float(values[-1]), 1e-300)
    inverse = (vectors[:, kept] / values[kept]) @ vectors[:, kept].T
    return np.asarray(inverse, dtype=np.float64), int(kept.sum())


def sandwich(
    derivatives: FloatArray, weights: FloatArray, gamma: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the inverse information B of parameters, and their sandwich covariance matrix."""
    side = weighted_by(weights, derivatives)
    bread = inverse_of(derivatives.T @ side)[0]
    return bread, np.asarray(bread @ (side.T @ gamma @ side) @ bread)
