r"""Smooth calibration error, which uses residuals smoothed by a reflected Gaussian.

With residuals :math:`r_i = y_i - f_i` of n answers and the Gaussian of standard deviation sigma
reflected at 0 and 1, the smoothed residual and its size are

.. math:: r_\sigma(t) = \frac1n \sum_i r_i K_\sigma(t, f_i), \qquad
          s(\sigma) = \int_0^1 |r_\sigma(t)|\, dt.                                        \quad (1)

Reflection makes cosines the eigenfunctions of the kernel, each damped by its own factor:

.. math:: r_\sigma(t) = a_0 + 2 \sum_{k \ge 1} a_k e^{-(\pi k \sigma)^2 / 2} \cos \pi k t,
          \qquad a_k = \frac1n \sum_i r_i \cos \pi k f_i.                                 \quad (2)

Residuals are first distributed over the four nearest of M + 1 equidistant nodes, with the weights
of cubic interpolation. Each cosine at :math:`f_i` is thereby interpolated from the nodes, with an
error below :math:`0.024\, (\pi k / M)^4` if :math:`f_i` is not a node. Nodes are folded at one
half, where cosines are even or odd, and the series ends where its factors are negligible.

The integral of :math:`|r|` is taken along the piecewise linear curve through the nodes. Where the
curve crosses zero, the slope of :math:`|r|` jumps from -d to d, and the trapezoidal rule misses
:math:`d / 6 M^2`, which is added. The slope is zero at 0 and 1, so that the ends need no
correction.

The smooth calibration error is the fixed point :math:`s(\sigma) = \sigma`, which is unique because
s does not increase. The fixed point is found by the secant method in logarithms, where the slope
of s - sigma is between -1 and about -1.5.

References
----------
Blasiok, J., & Nakkiran, P. (2024). Smooth ECE: Principled reliability diagrams via kernel
smoothing. International Conference on Learning Representations.
"""

import math

import numpy as np

from psychollm._base.types import FloatArray, IntArray
from psychollm.kernels._jit import njit

_STEPS = 60
_NEGLIGIBLE = 36.0  # exponent beyond which a factor of (2) is left out


@njit
def node_sums(
    values: FloatArray,
    beyond: FloatArray,
    node: IntArray,
    stop: IntArray,
    correct: FloatArray,
    wrong: FloatArray,
    nodes: FloatArray,
) -> None:
    """Fill `nodes` (resamples, M + 1) with sums of residuals at the nodes, divided by n."""
    # Groups in one cell between two nodes are adjacent. `node` and `stop` (cells,) are the node
    # before a cell and the first group after it; `beyond` (groups,) is the position of a group
    # within its cell. Sums are NaN where a resample has no answers.
    last = nodes.shape[1] - 1
    padded = np.empty(last + 3)
    for row in range(correct.shape[0]):
        padded[:] = 0.0
        n, g = 0.0, 0
        for cell in range(node.size):
            m0, m1, m2, m3 = 0.0, 0.0, 0.0, 0.0  # moments of the residuals in the cell
            while g < stop[cell]:
                here = correct[row, g] + wrong[row, g]
                n += here
                r0 = correct[row, g] - values[g] * here
                r1 = r0 * beyond[g]
                r2 = r1 * beyond[g]
                m0 += r0
                m1 += r1
                m2 += r2
                m3 += r2 * beyond[g]
                g += 1
            # The four polynomials of cubic interpolation are applied to the moments.
            j = node[cell]
            padded[j] += (3.0 * m2 - 2.0 * m1 - m3) / 6.0
            padded[j + 1] += 0.5 * (m3 - 2.0 * m2 - m1) + m0
            padded[j + 2] += 0.5 * (m2 - m3) + m1
            padded[j + 3] += (m3 - m1) / 6.0
        # Cosines are even at both ends, so nodes beyond the ends are folded back.
        padded[2] += padded[0]
        padded[last] += padded[last + 2]
        for j in range(last + 1):
            nodes[row, j] = padded[j + 1] / n if n > 0.0 else np.nan


@njit
def _fill_series(nodes, even, odd, a):
    """Fill the coefficients a_k of equation (2) from sums at the nodes."""
    # `even` and `odd` (M / 2 + 1, K / 2) hold cosines of even and odd k at the first half of
    # nodes.
    last = nodes.size - 1
    half = last // 2
    a[:] = 0.0
    for j in range(half + 1):
        mirrored = nodes[last - j] if j < half else 0.0
        together, apart = nodes[j] + mirrored, nodes[j] - mirrored
        for k in range(even.shape[1]):
            a[2 * k] += together * even[j, k]
            a[2 * k + 1] += apart * odd[j, k]


@njit
def _fill_curve(a, sigma, even, odd, curve):
    """Fill `curve` (M + 1,) with r_sigma of equation (2) at the nodes."""
    # `even` and `odd` (K / 2, M / 2 + 1) hold the cosines with k as the first axis.
    last = curve.size - 1
    half = last // 2
    curve[:] = 0.0
    for k in range(a.size):
        exponent = 0.5 * (math.pi * k * sigma) ** 2
        if exponent > _NEGLIGIBLE:
            break
        weight = a[k] * math.exp(-exponent) * (1.0 if k == 0 else 2.0)
        # Sums of even terms are stored in the first half, those of odd terms in the second,
        # reversed.
        if k % 2 == 0:
            for j in range(half + 1):
                curve[j] += weight * even[k // 2, j]
        else:
            for j in range(half):
                curve[last - j] += weight * odd[k // 2, j]
    for j in range(half):
        together, apart = curve[j], curve[last - j]
        curve[j], curve[last - j] = together + apart, together - apart


@njit
def _size(curve):
    """Return the integral of |curve| over [0, 1]."""
    total, crossings = 0.0, 0.0
    for j in range(curve.size - 1):
        x, y = curve[j], curve[j + 1]
        if x * y < 0.0:
            span = abs(x) + abs(y)
            total += 0.5 * (x * x + y * y) / span
            crossings += span
        else:
            total += 0.5 * (abs(x) + abs(y))
    return (total + crossings / 6.0) / (curve.size - 1)


@njit
def _fixed_point(a, start, finest, even, odd, curve):
    """Return sigma with s(sigma) = sigma; zero if all coefficients vanish."""
    # Below the `finest` bandwidth that the series resolves, s is taken as constant.
    largest = 0.0
    for k in range(a.size):
        largest = max(largest, abs(a[k]))
    if not largest > 1e-15:
        return 0.0 * a[0]  # NaN if there is no answer
    low, high = -40.0, 0.0
    x, slope = math.log(start), -1.25
    x_before, f_before = math.nan, math.nan
    for _ in range(_STEPS):
        _fill_curve(a, max(math.exp(x), finest), even, odd, curve)
        f = math.log(max(_size(curve), 1e-18)) - x
        if f > 0.0:
            low = x
        else:
            high = x
        if x_before == x_before and x != x_before:
            slope = min(-0.5, (f - f_before) / (x - x_before))
        x_before, f_before = x, f
        step = -f / slope
        x = x + step
        if not low <= x <= high:
            x = 0.5 * (low + high)
        if abs(x - x_before) < 1e-6:
            break
    return math.exp(x)


@njit
def smooth_errors(
    nodes: FloatArray,
    sigma: float,
    start: float,
    finest: float,
    by_node: tuple[FloatArray, FloatArray],
    by_term: tuple[FloatArray, FloatArray],
    out: FloatArray,
) -> None:
    """Fill `out` (resamples,) with s(sigma), or with the fixed point of s where sigma is zero."""
    # `nodes` (resamples, M + 1) are sums at the nodes. The search for the fixed point begins at
    # `start`; `finest` is the smallest bandwidth that the series resolves. `by_node` and `by_term`
    # hold the even and odd cosines with nodes, or terms, as the first axis.
    a = np.empty(2 * by_node[0].shape[1])
    curve = np.empty(nodes.shape[1])
    for row in range(nodes.shape[0]):
        _fill_series(nodes[row], by_node[0], by_node[1], a)
        if sigma > 0.0:
            _fill_curve(a, sigma, by_term[0], by_term[1], curve)
            out[row] = _size(curve)
        else:
            out[row] = _fixed_point(a, start, finest, by_term[0], by_term[1], curve)


@njit
def smooth_curves(
    nodes: FloatArray,
    sigma: float,
    by_node: tuple[FloatArray, FloatArray],
    by_term: tuple[FloatArray, FloatArray],
    curves: FloatArray,
) -> None:
    """Fill `curves` (resamples, M + 1) with r_sigma of equation (2) at the nodes."""
    a = np.empty(2 * by_node[0].shape[1])
    for row in range(nodes.shape[0]):
        _fill_series(nodes[row], by_node[0], by_node[1], a)
        _fill_curve(a, sigma, by_term[0], by_term[1], curves[row])


@njit
def sizes_along(shape: FloatArray, noise: FloatArray, scale: FloatArray, out: FloatArray) -> None:
    """Fill `out` (resamples, scales) with the integrals of |scale x shape + noise|."""
    # `shape` (M + 1,) is a curve of the sample, `noise` (resamples, M + 1) holds the differences
    # of resampled curves from it.
    curve = np.empty(shape.size)
    for row in range(noise.shape[0]):
        for k in range(scale.size):
            for j in range(shape.size):
                curve[j] = scale[k] * shape[j] + noise[row, j]
            out[row, k] = _size(curve)
