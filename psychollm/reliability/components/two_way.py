r"""Mean squares of a targets-by-raters table, from sums of squares or variance components.

With n targets (rows), k raters (columns) and one score per cell, the mean squares between targets
(B), between raters (J), of the residual (E) and within targets (W) are

.. math:: B = \tfrac{k}{n-1} \textstyle\sum_i (\bar x_{i\cdot} - \bar x)^2, \quad
          J = \tfrac{n}{k-1} \sum_j (\bar x_{\cdot j} - \bar x)^2, \quad
          E = \tfrac{1}{(n-1)(k-1)} \sum_{ij} (x_{ij} - \bar x_{i\cdot} - \bar x_{\cdot j}
              + \bar x)^2.                                                               \quad (1)

The mean square within targets is :math:`W = ((n - 1) E + J) / n`. If scores are missing,
restricted maximum likelihood (`reml`) estimates the variances of targets :math:`\sigma_t^2`,
raters :math:`\sigma_r^2` and residual :math:`\sigma^2`. The mean squares are then replaced by
their expectations in a complete table: :math:`B = k \sigma_t^2 + \sigma^2`, :math:`J = n
\sigma_r^2 + \sigma^2`, :math:`E = \sigma^2`, :math:`W = \sigma_r^2 + \sigma^2`.

**Generalised interval of the absolute intraclass correlation.** The mean squares B, J, E have
:math:`\nu_B, \nu_J, \nu_E` degrees of freedom. The ratio :math:`\nu_B B / E[B]` and the analogous
ratios for J and E have chi-square distributions. If the expectation of B is replaced by
:math:`R_B = \nu_B B / \chi^2_{\nu_B}`, and the expectations of J and E analogously, the
correlation becomes

.. math:: \rho = \frac{R_B - R_E}{R_B + (k - 1) R_E + k (R_J - R_E) / n} .               \quad (2)

The distribution of the correlation in equation (2) has no unknown parameters, and its quantiles
are the bounds. Since :math:`\rho \le x` is a linear condition on the three variables,

.. math:: P(\rho \le x) = E\, P\Big(R_B \le \frac{x \frac{k}{n} R_J
          + (1 + x (k - 1 - \frac{k}{n})) R_E}{1 - x} \,\Big|\, R_J, R_E\Big).           \quad (3)

The double integral, equation (3), is computed by Gauss-Legendre quadrature over the probabilities
of J and E, with an error of about 1e-4 and without random numbers.

References
----------
Tian, L., & Cappelleri, J. C. (2004). A new approach for interval estimation and hypothesis testing
of a certain intraclass correlation coefficient: The generalized variable method. Statistics in
Medicine, 23, 2125-2135.

Weerahandi, S. (1993). Generalized confidence intervals. Journal of the American Statistical
Association, 88, 899-905.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import gammaincc, gammaincinv

from psychollm._base.types import FloatArray
from psychollm.reliability.components.crossed_design import CrossedDesign
from psychollm.reliability.components.reml import restricted_maximum

# Scores whose difference is below this proportion of the largest score count as equal.
_ROUNDING = 16.0 * float(np.finfo(float).eps)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanSquares:
    """Mean squares of a targets-by-raters table."""

    targets: float  # B
    raters: float  # J
    residual: float  # E
    within: float  # W
    n_targets: int
    n_raters: int


def mean_squares(scores: FloatArray) -> MeanSquares:
    """Return the mean squares, equation (1), of a complete table; rounding errors become zero."""
    n, k = scores.shape
    centred = scores - scores[0, 0]
    nil = (_ROUNDING * float(np.nanmax(np.abs(scores)))) ** 2
    rows, columns = centred.mean(axis=1), centred.mean(axis=0)
    mean = centred.mean()
    residual = centred - rows[:, None] - columns + mean
    between = k * float(((rows - mean) ** 2).sum()) / (n - 1.0)
    raters = n * float(((columns - mean) ** 2).sum()) / (k - 1.0)
    error = float((residual**2).sum()) / ((n - 1.0) * (k - 1.0))
    between, raters, error = (0.0 if part <= nil else part for part in (between, raters, error))
    return MeanSquares(
        targets=between,
        raters=raters,
        residual=error,
        within=((n - 1.0) * error + raters) / n,
        n_targets=n,
        n_raters=k,
    )


def expected_mean_squares(scores: FloatArray) -> tuple[MeanSquares, bool]:
    """Return expected mean squares from the REML components of a table with missing scores."""
    n, k = scores.shape
    parts, converged = _without_residual(scores), True
    if parts is None:
        observed = np.full(3, np.nan)
        if np.isfinite(scores).all():
            squares = mean_squares(scores)
            observed = np.array([squares.targets, squares.raters, squares.residual])
        fit = restricted_maximum(scores, CrossedDesign(scores.shape), observed)
        parts, converged = fit.components.tolist(), fit.convergence.converged
    targets, raters, residual = parts
    squares = MeanSquares(
        targets=k * targets + residual,
        raters=n * raters + residual,
        residual=residual,
        within=raters + residual,
        n_targets=n,
        n_raters=k,
    )
    return squares, converged


def residual_freedom(scores: FloatArray) -> int:
    """Return residuals of an additive fit of targets and raters, and their degrees of freedom."""
    present = np.isfinite(scores)
    used = present.any(axis=1).sum() + present.any(axis=0).sum() - 1
    return int(present.sum() - used)


def _without_residual(scores: FloatArray) -> list[float] | None:
    """Return the components if targets and raters explain all scores exactly, else None."""
    present = np.isfinite(scores)
    values = scores[present]
    nil = (_ROUNDING * float(np.abs(values).max())) ** 2
    known = present.astype(np.float64)
    centred = np.where(present, scores - values.mean(), 0.0)
    weight = 1.0 / known.sum(axis=1)
    coupled = np.diag(known.sum(axis=0)) - (known.T * weight) @ known
    wanted = centred.sum(axis=0) - known.T @ (weight * centred.sum(axis=1))
    raters = np.linalg.pinv(coupled, hermitian=True) @ wanted
    targets = weight * (centred.sum(axis=1) - known @ raters)
    left = known * (centred - targets[:, None] - raters)
    if float((left**2).max()) > nil:
        return None
    variances = [float(effect.var(ddof=1)) for effect in (targets, raters)]
    return [0.0 if variance <= nil else variance for variance in variances] + [0.0]


_NODES = 64


def generalised_interval(squares: MeanSquares, *, level: float = 0.95) -> FloatArray:
    """Return the generalised interval of ICC(A,1)."""
    if squares.raters == 0.0 and squares.residual == 0.0:
        return np.ones(2)
    share = _Share(squares)
    tail = 0.5 * (1.0 - level)
    return np.array([share.quantile(tail), share.quantile(1.0 - tail)])


class _Share:
    """Distribution of the intraclass correlation, equation (3)."""

    def __init__(self, squares: MeanSquares) -> None:
        n, k = float(squares.n_targets), float(squares.n_raters)
        self.n, self.k, self.freedom = n, k, n - 1.0
        self.between = squares.targets
        nodes, weights = np.polynomial.legendre.leggauss(_NODES)
        probability, self.weights = 0.5 * (nodes + 1.0), 0.5 * weights
        self.raters = _pivot(squares.raters, k - 1.0, probability)[:, None]
        self.residual = _pivot(squares.residual, (n - 1.0) * (k - 1.0), probability)

    def below(self, x: float) -> float:
        """Return the probability that rho is at most x."""
        n, k = self.n, self.k
        edge = x * k / n * self.raters + (1.0 + x * (k - 1.0 - k / n)) * self.residual
        edge = edge / (1.0 - x)
        half = 0.5 * self.freedom
        scaled = half * self.between / np.where(edge > 0.0, edge, np.inf)
        chance = np.where(edge > 0.0, gammaincc(half, scaled), 0.0)
        return float(self.weights @ chance @ self.weights)

    def quantile(self, probability: float) -> float:
        lowest, highest = -1.0 / (self.k - 1.0), 1.0 - 1e-12
        if self.below(lowest) >= probability:
            return lowest
        return float(brentq(lambda x: self.below(x) - probability, lowest, highest, xtol=1e-10))


def _pivot(square: float, freedom: float, probability: FloatArray) -> FloatArray:
    """Return the sum of squares (mean square times df) divided by chi-square quantiles."""
    return np.asarray(0.5 * freedom * square / gammaincinv(0.5 * freedom, probability))
