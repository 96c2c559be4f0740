r"""The bivariate normal distribution, with high relative accuracy down to 1e-300.

Sheppard's formula writes the orthant probability as an integral over the correlation,

.. math:: P(X > a, Y > b; r) = P(X > a, Y > b; r_0)
          + \frac{1}{2\pi} \int_{\arcsin r_0}^{\arcsin r}
            \exp\Big(-\frac{a^2 + b^2 - 2ab\sin\theta}{2\cos^2\theta}\Big)\,d\theta .   \quad (1)

The half-angle substitution :math:`|r| = (1 - t^2)/(1 + t^2)`, :math:`0 < t \le 1`, removes the
trigonometric functions, and the integrand becomes

.. math:: g(t; a, b) = \frac{2}{1 + t^2}
          \exp\Big(-\frac{(a - b)^2 (1 + t^2)^2}{8 t^2} - \frac{ab (1 + t^2)}{2}\Big),   \quad (2)

for positive r, and :math:`g(t; a, -b)` for negative r. Integration starts from independence
(:math:`r_0 = 0, t = 1`) for positive r and from :math:`r_0 = -1` (t = 0) for negative r. Every
term is then positive, so no cancellation occurs, and :math:`1 - |r| = 2t^2/(1 + t^2)` remains
accurate near the bounds. Integrals are computed by Gauss-Legendre rules with 20 nodes, and panels
are halved until the results of two successive levels agree.

References
----------
Sheppard, W. F. (1900). On the calculation of the double integral expressing normal correlation.
Transactions of the Cambridge Philosophical Society, 19, 23-66.
"""

import math

import numpy as np

from psychollm._base.types import FloatArray
from psychollm.kernels._jit import njit
from psychollm.kernels.normal import normal_pdf, normal_upper

TWO_PI = 6.283185307179586
NODES_20, WEIGHTS_20 = np.polynomial.legendre.leggauss(20)
MAX_PANELS = 64
AGREEMENT = 2e-14
FARTHEST = 40.0  # beyond this limit, tail and density underflow


@njit
def half_angle(r: float) -> float:
    """Return the half-angle variable t of equation (2) for a correlation."""
    size = abs(r)
    return math.sqrt((1.0 - size) / (1.0 + size))


@njit
def sheppard_integrand(t: float, gap: float, product: float) -> float:
    """Return the integrand g of equation (2), with gap = (a - b)^2 / 8 and product = a b / 2."""
    s = t * t
    one = 1.0 + s
    return 2.0 / one * math.exp(-gap * one * one / s - product * one)


@njit
def _panel(lo: float, hi: float, gap: float, product: float) -> float:
    """Integrate g of equation (2) over one panel with 20 Gauss-Legendre nodes."""
    half = 0.5 * (hi - lo)
    middle = 0.5 * (hi + lo)
    total = 0.0
    for i in range(20):
        total += WEIGHTS_20[i] * sheppard_integrand(middle + half * NODES_20[i], gap, product)
    return half * total


@njit
def sheppard_integral(lo: float, hi: float, gap: float, product: float) -> float:
    """Integrate g of equation (2) over [lo, hi] with a relative error of about 1e-14."""
    # If the thresholds are nearly equal, g has a dip at the lower end of the interval that is so
    # narrow that all nodes would miss it. The integral is then split into panels that grow from
    # that end, each ending at 16 times the end of the previous panel.
    width = max(lo, math.sqrt(gap))
    if gap == 0.0 or width >= 0.02 * hi:
        return _halved(lo, hi, gap, product)
    left, right, total = lo, 4.0 * width, 0.0
    while left < hi:
        total += _halved(left, min(right, hi), gap, product)
        left, right = right, 16.0 * right
    return total


@njit
def _halved(lo: float, hi: float, gap: float, product: float) -> float:
    """Integrate g of equation (2) over [lo, hi] by halving panels."""
    left = np.empty(MAX_PANELS)
    right = np.empty(MAX_PANELS)
    value = np.empty(MAX_PANELS)
    left[0], right[0], value[0] = lo, hi, _panel(lo, hi, gap, product)
    depth, total = 1, 0.0
    while depth > 0:
        depth -= 1
        a, b, whole = left[depth], right[depth], value[depth]
        middle = 0.5 * (a + b)
        low = _panel(a, middle, gap, product)
        high = _panel(middle, b, gap, product)
        both = low + high
        # NaN counts as convergence; otherwise, panels with NaN would be halved indefinitely.
        differ = abs(both - whole) > AGREEMENT * (total + both)
        if not differ or depth + 2 > MAX_PANELS or middle <= a or middle >= b:
            total += both
            continue
        left[depth], right[depth], value[depth] = a, middle, low
        left[depth + 1], right[depth + 1], value[depth + 1] = middle, b, high
        depth += 2
    return total


@njit
def normal_interval(lo: float, hi: float) -> float:
    """Return P(lo < X < hi) without cancellation; zero where lo >= hi."""
    if lo >= hi:
        return 0.0
    if hi - lo < 0.5:
        half = 0.5 * (hi - lo)
        middle = 0.5 * (hi + lo)
        total = 0.0
        for i in range(20):
            total += WEIGHTS_20[i] * normal_pdf(middle + half * NODES_20[i])
        return half * total
    if lo > 0.0:
        return normal_upper(lo) - normal_upper(hi)
    if hi < 0.0:
        return normal_upper(-hi) - normal_upper(-lo)
    return 1.0 - normal_upper(hi) - normal_upper(-lo)


@njit
def orthant(a: float, b: float, sign: float, t: float) -> float:
    """Return P(X > a, Y > b) for finite a, b and the correlation sign * (1 - t^2) / (1 + t^2)."""
    if sign > 0.0:
        if t == 0.0:
            return normal_upper(max(a, b))
        start = normal_upper(a) * normal_upper(b)
        gap, product = 0.125 * (a - b) * (a - b), 0.5 * a * b
        return start + sheppard_integral(t, 1.0, gap, product) / TWO_PI
    start = normal_interval(a, -b)
    if t == 0.0:
        return start
    gap, product = 0.125 * (a + b) * (a + b), -0.5 * a * b
    return start + sheppard_integral(0.0, t, gap, product) / TWO_PI


@njit
def bvn_upper(a: float, b: float, r: float) -> float:
    """Return P(X > a, Y > b) of a standard bivariate normal with correlation r."""
    if math.isnan(a) or math.isnan(b) or not abs(r) <= 1.0:
        return math.nan
    # The squares of very large limits would overflow.
    if a < -FARTHEST:
        return normal_upper(b)
    if b < -FARTHEST:
        return normal_upper(a)
    if a > FARTHEST or b > FARTHEST:
        return 0.0
    return orthant(a, b, 1.0 if r >= 0.0 else -1.0, half_angle(r))


@njit
def bvn_cdf(h: float, k: float, r: float) -> float:
    """Return P(X <= h, Y <= k) of a standard bivariate normal with correlation r."""
    return bvn_upper(-h, -k, r)


@njit
def bvn_pdf_near_bound(h: float, k: float, sign: float, rest: float) -> float:
    """Return the density for the correlation sign * (1 - rest), where rest > 0 may be tiny."""
    square = (h - sign * k) * (h - sign * k) + 2.0 * sign * h * k * rest
    room = rest * (2.0 - rest)
    return math.exp(-0.5 * square / room) / (TWO_PI * math.sqrt(room))


@njit
def bvn_pdf(h: float, k: float, r: float) -> float:
    """Return the density of a standard bivariate normal with correlation r, |r| < 1."""
    if not abs(r) < 1.0:
        return math.nan
    if max(abs(h), abs(k)) > FARTHEST:
        return 0.0
    return bvn_pdf_near_bound(h, k, 1.0 if r >= 0.0 else -1.0, 1.0 - abs(r))


@njit
def orthants(h: FloatArray, k: FloatArray, r: float) -> FloatArray:
    """Return P(X <= h, Y <= k) for each pair of limits, at one correlation."""
    out = np.empty(h.size)
    for i in range(h.size):
        out[i] = bvn_cdf(h[i], k[i], r)
    return out


@njit
def densities(h: FloatArray, k: FloatArray, r: float) -> FloatArray:
    """Return the bivariate normal density at points (h, k), for one correlation abs(r) < 1."""
    out = np.empty(h.size)
    for i in range(h.size):
        out[i] = bvn_pdf(h[i], k[i], r)
    return out
