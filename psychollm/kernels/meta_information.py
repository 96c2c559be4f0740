r"""Mutual information of two classes and several groups, and its mean over permutations.

Of n answers, C are in the first class and :math:`n_g` are in group g. Group g contains :math:`x_g`
answers of the first class. The mutual information is

.. math:: I = h(C, n) - \sum_g h(x_g, n_g), \qquad
          h(x, n_g) = \frac{L(n_g) - L(x) - L(n_g - x)}{n \ln 2}, \quad L(x) = x \ln x, \quad (1)

in bits. If the classes are permuted among all answers, x is hypergeometric. The mean of equation
(1) over permutations is therefore a sum of at most n_g + 1 terms per group, with probabilities in
the ratio

.. math:: \frac{P(x + 1)}{P(x)} = \frac{(n_g - x)(C - x)}{(x + 1)(n - C - n_g + x + 1)}.  \quad (2)

References
----------
Vinh, N. X., Epps, J., & Bailey, J. (2010). Information theoretic measures for clusterings
comparison: variants, properties, normalization and correction for chance. Journal of Machine
Learning Research, 11, 2837-2854.
"""

import math

import numpy as np

from psychollm._base.types import FloatArray, IntArray
from psychollm.kernels._jit import njit

_NEGLIGIBLE = 1e-13
_LN_2 = math.log(2.0)


@njit
def _x_log_x(x: float) -> float:
    return x * math.log(x) if x > 0.0 else 0.0


@njit
def _mean_spread(n: int, first: int, size: int, logs: FloatArray) -> float:
    """Return L(n_g) - E[L(x) + L(n_g - x)] for hypergeometric x, summed by equation (2)."""
    low, high = max(0, size - (n - first)), min(size, first)
    mode = min(max((size + 1) * (first + 1) // (n + 2), low), high)
    total, mean = 1.0, logs[mode] + logs[size - mode]
    weight = 1.0
    for x in range(mode, high):
        weight *= (size - x) * (first - x) / ((x + 1.0) * (n - first - size + x + 1.0))
        if weight < _NEGLIGIBLE:
            break
        total += weight
        mean += weight * (logs[x + 1] + logs[size - x - 1])
    weight = 1.0
    for x in range(mode, low, -1):
        weight *= x * (n - first - size + x) / ((size - x + 1.0) * (first - x + 1.0))
        if weight < _NEGLIGIBLE:
            break
        total += weight
        mean += weight * (logs[x - 1] + logs[size - x + 1])
    return logs[size] - mean / total


@njit
def _information(first: FloatArray, second: FloatArray) -> tuple[float, float]:
    """Return mutual information and the entropy of the classes, in bits; NaN without answers."""
    n_first, n_second, inside = 0.0, 0.0, 0.0
    for g in range(first.size):
        n_first += first[g]
        n_second += second[g]
        inside += _x_log_x(first[g] + second[g]) - _x_log_x(first[g]) - _x_log_x(second[g])
    n = n_first + n_second
    if not n > 0.0:
        return math.nan, math.nan
    spread = _x_log_x(n) - _x_log_x(n_first) - _x_log_x(n_second)
    return max(0.0, spread - inside) / (n * _LN_2), spread / (n * _LN_2)


@njit
def _chance(first: FloatArray, second: FloatArray, logs: FloatArray) -> float:
    """Return the mean mutual information over permutations, in bits, from rounded counts."""
    n, n_first = 0, round(first.sum())
    for g in range(first.size):
        n += round(first[g] + second[g])
    if n < 2 or n_first < 1 or n_first > n - 1:
        return 0.0
    spread = logs[n] - logs[n_first] - logs[n - n_first]
    known, last = -1.0, -1
    for g in range(first.size):
        size = round(first[g] + second[g])
        if size > 1:
            if size != last:  # groups of equal size, such as equal-mass bins, have the same mean
                known, last = _mean_spread(n, n_first, size, logs), size
            spread -= known
    return max(0.0, spread) / (n * _LN_2)


@njit
def _slice_sum(values: FloatArray, low: int, high: int) -> float:
    """Return the sum of values[low:high], in two chains that the processor runs in parallel."""
    even, odd = 0.0, 0.0
    middle = low + (high - low) // 2 * 2
    for i in range(low, middle, 2):
        even += values[i]
        odd += values[i + 1]
    if middle < high:
        even += values[middle]
    return even + odd


@njit
def table_information(
    first: FloatArray, second: FloatArray, edges: IntArray, out: FloatArray
) -> None:
    """Fill `out` (rows, 3): mutual information, its mean over permutations, entropy of classes."""
    # `first` and `second` (rows, groups) count answers of the two classes; groups from one of the
    # `edges` (bins + 1,) up to the next are pooled. Rows without answers are NaN.
    rows, size = first.shape[0], edges.size - 1
    one, two = np.empty((rows, size)), np.empty((rows, size))
    most = 0.0
    for row in range(rows):
        for b in range(size):
            one[row, b] = _slice_sum(first[row], edges[b], edges[b + 1])
            two[row, b] = _slice_sum(second[row], edges[b], edges[b + 1])
        most = max(most, one[row].sum() + two[row].sum())
    logs = np.empty(int(most) + size + 2)
    for x in range(logs.size):
        logs[x] = _x_log_x(float(x))
    for row in range(rows):
        out[row, 0], out[row, 2] = _information(one[row], two[row])
        out[row, 1] = _chance(one[row], two[row], logs) if out[row, 2] >= 0.0 else math.nan
