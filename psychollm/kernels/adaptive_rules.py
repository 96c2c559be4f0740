r"""Integration rules for several abilities, with nodes scaled to the width of each posterior.

A rule consists of points :math:`t_q` and logarithms of weights :math:`w_q` such that

.. math:: \int g(t)\,dt \approx (2\pi)^{m/2} \sum_q w_q\,g(t_q)                        \quad (1)

where g is close to a standard normal density.

The product rule uses the Gauss-Hermite points in each of m dimensions, and leaves out points with
negligible weight. With n points per dimension, the product rule is exact for a normal density
times a polynomial of degree 2 n - 1.

The quasi-random rule transforms the points of an additive recurrence, each with its mirror image,
to a t distribution. The integrand g is divided by the density of the t distribution (importance
sampling from a distribution with heavier tails than any posterior). The recurrence uses the powers
of the root of :math:`x^{s+2} = x + 1`. Each answer pattern takes the next points of one long
sequence, so that the errors of patterns average out. A different shift gives another rule of the
same kind, and the variation over shifts measures the integration error.

References
----------
Niederreiter, H. (1992). Random number generation and quasi-Monte Carlo methods. SIAM.
https://doi.org/10.1137/1.9781611970081
"""

import math

import numpy as np

from psychollm._base.types import FloatArray
from psychollm.kernels._jit import njit
from psychollm.kernels.normal import normal_quantile

Rule = tuple[FloatArray, FloatArray, int, int]

NEGLIGIBLE = 1e-18  # weight below which the product rule leaves out a point
FREEDOM = 10  # degrees of freedom of the t distribution; if even, chi-square has a closed form
LONGEST = 262_144  # largest number of points of a sequence


def product_rule(nodes: int, dimensions: int) -> Rule:
    """Return the product of `dimensions` Gauss-Hermite rules of `nodes` points."""
    # A rule holds points (P, m), log weights (P,), the number of points that a pattern uses, and
    # the offset from one pattern's first point to the next pattern's.
    one, weights = np.polynomial.hermite_e.hermegauss(nodes)
    with np.errstate(divide="ignore"):
        logs = np.log(weights / weights.sum())
    places = np.indices((nodes,) * dimensions).reshape(dimensions, -1)
    points, total = one[places].T, logs[places].sum(axis=0)
    kept = total > math.log(NEGLIGIBLE)
    points = np.ascontiguousarray(points[kept])
    return points, total[kept] + 0.5 * (points**2).sum(axis=1), len(points), 0


def quasi_random_rule(points: int, dimensions: int, patterns: int, shift: int = 0) -> Rule:
    """Return a quasi-random rule of `points` points (an even number) for each pattern."""
    half = min(points * patterns, max(LONGEST, points)) // 2
    size = dimensions + 1
    root = 2.0
    for _ in range(60):
        root = (1.0 + root) ** (1.0 / (size + 1))
    steps = root ** -np.arange(1.0, size + 1.0)
    start = np.random.default_rng(shift).random(size)
    uniform = (start + np.outer(np.arange(1.0, half + 1.0), steps)) % 1.0
    normal = np.empty_like(uniform)
    _quantiles(np.clip(uniform, 1e-12, 1.0 - 1e-12), normal)
    scale = np.sqrt(FREEDOM / _chi_square(uniform[:, -1], normal[:, -1]))
    one = normal[:, :-1] * scale[:, None]
    both = np.stack([one, -one], axis=1).reshape(-1, dimensions)
    return np.ascontiguousarray(both), -_log_density(both) - math.log(points), points, points


@njit
def _quantiles(uniform, normal):
    """Fill `normal` with the standard normal quantiles of `uniform`."""
    for i in range(uniform.shape[0]):
        for k in range(uniform.shape[1]):
            normal[i, k] = normal_quantile(uniform[i, k])


def _chi_square(uniform: FloatArray, normal: FloatArray) -> FloatArray:
    """Return chi-square quantiles, by Newton steps from the Wilson-Hilferty approximation."""
    terms = FREEDOM // 2
    share = 2.0 / (9.0 * FREEDOM)
    x = 0.5 * FREEDOM * np.maximum(1.0 - share + normal * math.sqrt(share), 0.1) ** 3
    for _ in range(20):
        powers = [x**i / math.factorial(i) for i in range(terms)]
        above = np.exp(-x) * np.sum(powers, axis=0)
        density = np.exp(-x) * powers[-1]
        step = (1.0 - uniform - above) / density
        x = np.maximum(x - np.clip(step, -0.5 * x, x), 1e-8)
    return 2.0 * x


def _log_density(t: FloatArray) -> FloatArray:
    """Return the log density of the t distribution times (2 pi)^(m/2)."""
    m = t.shape[1]
    constant = math.lgamma(0.5 * (FREEDOM + m)) - math.lgamma(0.5 * FREEDOM)
    constant -= 0.5 * m * math.log(0.5 * FREEDOM)
    square = (t**2).sum(axis=1)
    return np.asarray(constant - 0.5 * (FREEDOM + m) * np.log1p(square / FREEDOM))
