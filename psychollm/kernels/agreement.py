r"""Sums of ratings over resampled units.

A unit (a question) occurs w times in a resample. All agreement coefficients for nominal ratings
are functions of sums over units. Each unit contributes fixed numbers to the sums: how often each
category was given, and how often two raters agree. Ordinal disagreement is not a function of such
sums. The distance between two ordered categories depends on the number of ratings between these
categories in the resample. With N_g ratings of category g in the resample, and with the midranks

.. math:: R_c = \sum_{g < c} N_g + \tfrac12 N_c,                                          \quad (1)

the squared distance of categories c and k is :math:`(R_c - R_k)^2` (Krippendorff, 2019, chapter
12). Ordinal disagreement is therefore the interval disagreement of midranks. A unit with m
ratings and :math:`n_c` ratings in category c contributes

.. math:: \frac{1}{m - 1} \sum_{c, k} n_c n_k (R_c - R_k)^2
          = \frac{2}{m - 1} \Big[ m \sum_c n_c R_c^2 - \big(\sum_c n_c R_c\big)^2 \Big].  \quad (2)

References
----------
Krippendorff, K. (2019). Content analysis: An introduction to its methodology (4th ed.). SAGE.
https://doi.org/10.4135/9781071878781
"""

from psychollm._base.types import FloatArray, IntArray
from psychollm.kernels._jit import njit


@njit
def sum_over_units(
    counts: FloatArray, start: IntArray, column: IntArray, value: FloatArray, out: FloatArray
) -> None:
    """Fill `out` (resamples, columns) with sums of `value` weighted by `counts`."""
    # `counts` (resamples, units) holds how often each unit was drawn; entries `start[u]` to
    # `start[u + 1]` of `column` and `value` belong to unit u.
    for row in range(counts.shape[0]):
        for target in range(out.shape[1]):
            out[row, target] = 0.0
        for unit in range(start.size - 1):
            weight = counts[row, unit]
            if weight == 0.0:
                continue
            for entry in range(start[unit], start[unit + 1]):
                out[row, column[entry]] += weight * value[entry]


@njit
def rank_disagreement(
    counts: FloatArray,
    start: IntArray,
    category: IntArray,
    number: FloatArray,
    ranks: FloatArray,
    out: FloatArray,
) -> None:
    """Fill `out` (resamples,) with weighted sums of ordinal disagreement, equation (2)."""
    # `ranks` (resamples, categories) holds the midranks (1); entries `start[u]` to `start[u + 1]`
    # hold the categories of unit u and how often each was given.
    for row in range(counts.shape[0]):
        total = 0.0
        for unit in range(start.size - 1):
            weight = counts[row, unit]
            first = start[unit]
            if weight == 0.0 or start[unit + 1] - first < 2:
                continue
            # Ranks are taken relative to the rank of the unit's first category, because
            # differences of large ranks would lose precision.
            origin = ranks[row, category[first]]
            size, linear, square = 0.0, 0.0, 0.0
            for entry in range(first, start[unit + 1]):
                distance = ranks[row, category[entry]] - origin
                size += number[entry]
                linear += number[entry] * distance
                square += number[entry] * distance * distance
            total += weight * 2.0 * (size * square - linear * linear) / (size - 1.0)
        out[row] = total
