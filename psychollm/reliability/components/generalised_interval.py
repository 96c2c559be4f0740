r"""Generalised interval of the absolute intraclass correlation.

With mean squares B, J, E of targets, raters and residual on :math:`\nu_B, \nu_J, \nu_E` degrees of
freedom, each divided by its expectation and times its freedom is chi-squared. Put in place of the
expectations :math:`R_B = \nu_B B / \chi^2_{\nu_B}` and so on, the share

.. math:: \rho = \frac{R_B - R_E}{R_B + (k - 1) R_E + k (R_J - R_E) / n}                 \quad (1)

has a distribution that depends on nothing unknown; its quantiles are the bounds. Since
:math:`\rho \le x` is linear in the three,

.. math:: P(\rho \le x) = E\, P\Big(R_B \le \frac{x \frac{k}{n} R_J
          + (1 + x (k - 1 - \frac{k}{n})) R_E}{1 - x} \,\Big|\, R_J, R_E\Big),           \quad (2)

a double integral that Gauss-Legendre nodes on the probabilities of J and E give without random
numbers, to about 1e-4.

References
----------
Weerahandi, S. (1993). Generalized confidence intervals. Journal of the American Statistical
Association, 88, 899-905.

Tian, L., & Cappelleri, J. C. (2004). A new approach for interval estimation and hypothesis testing
of a certain intraclass correlation coefficient: The generalized variable method. Statistics in
Medicine, 23, 2125-2135.
"""

import numpy as np
from scipy.optimize import brentq
from scipy.special import gammaincc, gammaincinv

from psychollm._base.types import FloatArray
from psychollm.reliability.components.two_way import MeanSquares

_NODES = 64


def generalised_interval(squares: MeanSquares, *, level: float = 0.95) -> FloatArray:
    """Return the generalised interval of ICC(A,1)."""
    if squares.raters == 0.0 and squares.residual == 0.0:
        return np.ones(2)
    share = _Share(squares)
    tail = 0.5 * (1.0 - level)
    return np.array([share.quantile(tail), share.quantile(1.0 - tail)])


class _Share:
    """The distribution (2)."""

    def __init__(self, squares: MeanSquares) -> None:
        n, k = float(squares.n_targets), float(squares.n_raters)
        self.n, self.k, self.freedom = n, k, n - 1.0
        self.between = squares.targets
        nodes, weights = np.polynomial.legendre.leggauss(_NODES)
        probability, self.weights = 0.5 * (nodes + 1.0), 0.5 * weights
        self.raters = _pivot(squares.raters, k - 1.0, probability)[:, None]
        self.residual = _pivot(squares.residual, (n - 1.0) * (k - 1.0), probability)

    def below(self, x: float) -> float:
        """Return P(rho <= x)."""
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
    """Return quantiles of freedom * MS / chi-squared."""
    return np.asarray(0.5 * freedom * square / gammaincinv(0.5 * freedom, probability))
