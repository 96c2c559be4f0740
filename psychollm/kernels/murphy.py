r"""Components of the Brier score, and gaps between confidence and accuracy, over confidence bins.

A bin k contains n_k answers with neighbouring confidences. In bin k, o_k is the proportion of
correct answers and f_k the mean confidence. The proportion of correct answers among all n answers
is o. Then

.. math::
   \text{REL} = \sum_k \frac{n_k}{n} (f_k - o_k)^2, \quad
   \text{RES} = \sum_k \frac{n_k}{n} (o_k - o)^2, \quad
   \text{UNC} = o (1 - o),                                                                \quad (1)

.. math::
   \text{REL}' = \text{REL} - c, \quad \text{RES}' = \text{RES} - c + d, \quad
   \text{UNC}' = \text{UNC} + d, \quad
   c = \sum_{n_k > 1} \frac{n_k}{n} \frac{o_k (1 - o_k)}{n_k - 1}, \quad
   d = \frac{o (1 - o)}{n - 1},                                                           \quad (2)

where equation (2) is unbiased if every bin contains at least two answers (Ferro & Fricker 2012),
and

.. math:: \text{over} = \sum_k \frac{n_k}{n} \max(f_k - o_k, 0), \qquad
          \text{under} = \sum_k \frac{n_k}{n} \max(o_k - f_k, 0).                         \quad (3)

References
----------
Ferro, C. A. T., & Fricker, T. E. (2012). A bias-corrected decomposition of the Brier score.
Quarterly Journal of the Royal Meteorological Society, 138(668), 1954-1960.
https://doi.org/10.1002/qj.1924

Murphy, A. H. (1973). A new vector partition of the probability score. Journal of Applied
Meteorology, 12(4), 595-600.
"""

import numpy as np

from psychollm._base.types import FloatArray, IntArray
from psychollm.kernels._jit import njit


@njit
def bin_sums(values, starts, correct, wrong, stated, hits, size):
    """Fill each bin's sum of confidence, number of correct answers and number of answers."""
    # Bin k holds the groups from `starts[k]` to `starts[k + 1] - 1`.
    for k in range(starts.size - 1):
        of_values, of_correct, of_all = 0.0, 0.0, 0.0
        for g in range(starts[k], starts[k + 1]):
            n = correct[g] + wrong[g]
            of_values += values[g] * n
            of_correct += correct[g]
            of_all += n
        stated[k], hits[k], size[k] = of_values, of_correct, of_all


@njit
def murphy_terms(
    values: FloatArray, starts: IntArray, correct: FloatArray, wrong: FloatArray, out: FloatArray
) -> None:
    """Fill `out` (resamples, 6) with the three terms of equation (1), and unbiased estimates."""
    # All terms are NaN where a resample has no answers; (2) is NaN where no bin has more than one
    # answer.
    bins = starts.size - 1
    stated, hits, size = np.empty(bins), np.empty(bins), np.empty(bins)
    for row in range(correct.shape[0]):
        bin_sums(values, starts, correct[row], wrong[row], stated, hits, size)
        n, rate = size.sum(), hits.sum() / size.sum()
        out[row, :] = np.nan
        if n <= 0.0:
            continue
        reliability, resolution, noise, largest = 0.0, 0.0, 0.0, 0.0
        for k in range(bins):
            largest = max(largest, size[k])
            if size[k] > 0.0:
                share = hits[k] / size[k]
                reliability += size[k] * (stated[k] / size[k] - share) ** 2
                resolution += size[k] * (share - rate) ** 2
            if size[k] > 1.0:
                noise += size[k] * share * (1.0 - share) / (size[k] - 1.0)
        out[row, 0], out[row, 1], out[row, 2] = (
            reliability / n,
            resolution / n,
            rate * (1.0 - rate),
        )
        if n > 1.0 and largest > 1.0:
            bias = rate * (1.0 - rate) / (n - 1.0)
            out[row, 3] = out[row, 0] - noise / n
            out[row, 4] = out[row, 1] - noise / n + bias
            out[row, 5] = out[row, 2] + bias


@njit
def signed_gaps(
    values: FloatArray, starts: IntArray, correct: FloatArray, wrong: FloatArray, out: FloatArray
) -> None:
    """Fill `out` (resamples, 2) with overconfidence and underconfidence by equation (3)."""
    bins = starts.size - 1
    stated, hits, size = np.empty(bins), np.empty(bins), np.empty(bins)
    for row in range(correct.shape[0]):
        bin_sums(values, starts, correct[row], wrong[row], stated, hits, size)
        n = size.sum()
        out[row, :] = np.nan if n <= 0.0 else 0.0
        if n <= 0.0:
            continue
        for k in range(bins):
            gap = stated[k] - hits[k]
            out[row, 0] += max(gap, 0.0) / n
            out[row, 1] += max(-gap, 0.0) / n


@njit
def mean_gaps(values: FloatArray, correct: FloatArray, wrong: FloatArray, out: FloatArray) -> None:
    """Fill `out` (resamples,) with mean confidence minus the proportion correct."""
    for row in range(correct.shape[0]):
        gap, n = 0.0, 0.0
        for g in range(values.size):
            here = correct[row, g] + wrong[row, g]
            gap += values[g] * here - correct[row, g]
            n += here
        out[row] = gap / n if n > 0.0 else np.nan
