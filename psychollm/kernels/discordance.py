r"""Fast computation of a pair's cell probabilities, for fits with thousands of pairs per step.

For :math:`r \ge 0` and :math:`a \ge b`, let :math:`t^2 = (1 - r)/(1 + r)`, where t is the
half-angle variable of `kernels.bivariate`, :math:`c = (a - b)^2/8` and :math:`p = ab/2`. The
smaller discordant cell is

.. math:: P(X > a, Y \le b) = \frac1\pi \int_0^t e^{-c/s^2} h(s)\,ds, \qquad
          h(s) = \frac{1}{1 + s^2} \exp\big(-c(2 + s^2) - p(1 + s^2)\big).            \quad (1)

No cancellation occurs in equation (1), and the other cells follow from the margins. The kink at
the origin, which occurs if the thresholds nearly agree (small c), is integrated exactly for the
first two terms of :math:`h(s) \approx h_0 + h_2 s^2`:

.. math:: I_0 = \int_0^t e^{-c/s^2} ds
              = t e^{-c/t^2} - \sqrt{\pi c}\,\mathrm{erfc}(\sqrt{c}/t), \qquad
          I_2 = \int_0^t s^2 e^{-c/s^2} ds = \tfrac13 (t^3 e^{-c/t^2} - 2 c I_0),    \quad (2)

and the remainder is integrated with twelve Gauss-Legendre nodes. The absolute error is below 1e-8,
and the relative error of cells above 1e-9 is below 4e-5 (below 1e-6 for 99 % of these cells).
Computing all four cells takes a third of the time of one call of `bvn_upper`. Negative
correlations are computed from the mirrored table.

References
----------
Drezner, Z., & Wesolowsky, G. O. (1990). On the computation of the bivariate normal integral.
Journal of Statistical Computation and Simulation, 35(1-2), 101-107.
https://doi.org/10.1080/00949659008811236
"""

import math

import numpy as np

from psychollm.kernels._jit import njit

PI = 3.141592653589793
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)
NODES, WEIGHTS = 0.5 * (_NODES + 1.0), 0.5 * _WEIGHTS
SMOOTH = 3.0  # c / t^2 above which the kink is negligible and the plain rule is accurate
FLOOR = 1e-14


@njit
def discordant_cell(a: float, b: float, r: float) -> float:
    """Return P(X > a, Y <= b) for r >= 0 and a >= b, by equation (1)."""
    t2 = (1.0 - r) / (1.0 + r)
    t = math.sqrt(t2)
    c, p = 0.125 * (a - b) * (a - b), 0.5 * a * b
    total = 0.0
    if c > SMOOTH * t2:
        for q in range(NODES.size):
            s = t2 * NODES[q] * NODES[q]
            one = 1.0 + s
            total += WEIGHTS[q] / one * math.exp(-c * one * one / s - p * one)
        return total * t / PI
    h0 = math.exp(-2.0 * c - p)
    h2 = -h0 * (1.0 + c + p)
    for q in range(NODES.size):
        s = t2 * NODES[q] * NODES[q]
        smooth = math.exp(-c * (2.0 + s) - p * (1.0 + s)) / (1.0 + s) - h0 - h2 * s
        total += WEIGHTS[q] * math.exp(-c / s) * smooth
    edge = t * math.exp(-c / t2)
    i0 = edge - math.sqrt(PI * c) * math.erfc(math.sqrt(c) / t)
    i2 = (t2 * edge - 2.0 * c * i0) / 3.0
    return (total * t + h0 * i0 + h2 * i2) / PI


@njit
def pair_cells(a, b, qa, qb, r):
    """Return P11, P10, P01, P00 given thresholds a, b, upper tails qa, qb and |r| < 1."""
    if r < 0.0:
        p10, p11, p00, p01 = _concordant_cells(a, -b, qa, 1.0 - qb, -r)
    else:
        p11, p10, p01, p00 = _concordant_cells(a, b, qa, qb, r)
    return max(p11, FLOOR), max(p10, FLOOR), max(p01, FLOOR), max(p00, FLOOR)


@njit
def _concordant_cells(a, b, qa, qb, r):
    """Return the four cell probabilities for r >= 0."""
    if a >= b:
        p10 = discordant_cell(a, b, r)
        p11 = qa - p10
        return p11, p10, qb - p11, 1.0 - qb - p10
    p01 = discordant_cell(b, a, r)
    p11 = qb - p01
    return p11, qa - p11, p01, 1.0 - qa - p01
