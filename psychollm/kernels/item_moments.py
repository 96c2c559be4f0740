r"""Variances of items and their covariances with the total score, per resample of rows.

With scores :math:`x_{ij}` minus their item's mean, totals :math:`T_i = \sum_j x_{ij}`, counts
:math:`w_i` and :math:`n = \sum_i w_i`,

.. math:: s_j^2 = \frac{\sum_i w_i x_{ij}^2 - n \bar x_j^2}{n - 1}, \qquad
          c_j = \frac{\sum_i w_i x_{ij} T_i - n \bar x_j \bar T}{n - 1},                 \quad (1)

and the sum of all correlations between items that vary is the variance of the total
:math:`Z_i = \sum_j x_{ij} / s_j` of standardised scores. Sums run over rows in order, so that a
resample's results are bitwise identical regardless of what else is computed.

References
----------
Cronbach, L. J. (1951). Coefficient alpha and the internal structure of tests. Psychometrika,
16(3), 297-334. https://doi.org/10.1007/BF02310555
"""

import numpy as np

from psychollm._base.types import FloatArray
from psychollm.kernels._jit import njit


@njit
def resampled_moments(
    centred: FloatArray,
    nil: FloatArray,
    counts: FloatArray,
    variance: FloatArray,
    with_total: FloatArray,
    correlation_sum: FloatArray,
    varying: FloatArray,
) -> None:
    """Fill variances, covariances with totals and correlation sums by equation (1)."""
    # `centred` (rows, items) holds complete scores, `nil` (items,) the largest variance that
    # counts as zero, and `counts` (resamples, rows) the number of draws of each row. Moments are
    # NaN where fewer than two rows are drawn.
    rows, items = centred.shape
    total = np.zeros(rows)
    for i in range(rows):
        for j in range(items):
            total[i] += centred[i, j]
    mean, inverse = np.empty(items), np.empty(items)
    for b in range(counts.shape[0]):
        square, joint = variance[b], with_total[b]
        n, total_mean = 0.0, 0.0
        for j in range(items):
            mean[j] = square[j] = joint[j] = 0.0
        for i in range(rows):
            w = counts[b, i]
            if w == 0.0:
                continue
            n += w
            total_mean += w * total[i]
            for j in range(items):
                x = w * centred[i, j]
                mean[j] += x
                square[j] += x * centred[i, j]
                joint[j] += x * total[i]
        scale = 1.0 / (n - 1.0) if n > 1.0 else np.nan
        total_mean /= n
        varying[b] = 0.0
        standard_mean = 0.0
        for j in range(items):
            mean[j] /= n
            square[j] = scale * (square[j] - n * mean[j] * mean[j])
            joint[j] = scale * (joint[j] - n * mean[j] * total_mean)
            inverse[j] = 0.0
            if square[j] <= nil[j]:
                square[j] = joint[j] = 0.0
            else:
                varying[b] += 1.0
                inverse[j] = 1.0 / np.sqrt(square[j])
                standard_mean += mean[j] * inverse[j]
        spread = 0.0
        for i in range(rows):
            w = counts[b, i]
            if w == 0.0:
                continue
            z = -standard_mean
            for j in range(items):
                z += centred[i, j] * inverse[j]
            spread += w * z * z
        correlation_sum[b] = scale * spread
