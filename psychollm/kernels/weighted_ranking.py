r"""Areas under the ROC curve of one score in many resamples.

The questions are sorted by score once, and a resample is a vector of counts w. The tied groups g
are in increasing order of the score, and :math:`P_g` and :math:`N_g` are the sums of the counts of
correct and of wrong questions in a group. The area is

.. math:: A = \frac{\sum_g P_g \big(\sum_{h < g} N_h + \tfrac12 N_g\big)}
                   {\sum_g P_g \sum_g N_g},                                               \quad (1)

which takes one pass per resample. Counts are integers, so that the sums are exact.

For a thresholded signal, only the sums of counts over a few classes of questions are needed.

References
----------
Bamber, D. (1975). The area above the ordinal dominance graph and the area below the receiver
operating characteristic graph. Journal of Mathematical Psychology, 12(4), 387-415.
https://doi.org/10.1016/0022-2496(75)90001-2
"""

import numpy as np
from numpy.typing import NDArray

from psychollm._base.types import BoolArray, FloatArray, IntArray
from psychollm.kernels._jit import njit


@njit
def weighted_area(
    counts: FloatArray, order: IntArray, opens: BoolArray, correct: BoolArray
) -> float:
    """Return the area of one resample by equation (1); NaN if it contains only one class."""
    # `order` lists the questions by increasing score, `opens` marks where a new group of ties
    # begins, and `correct` is in the same order.
    area, below = 0.0, 0.0
    hits, misses, total = 0.0, 0.0, 0.0
    for rank in range(order.size):
        if opens[rank]:
            area += hits * (below + 0.5 * misses)
            below += misses
            total += hits
            hits, misses = 0.0, 0.0
        weight = counts[order[rank]]
        if correct[rank]:
            hits += weight
        else:
            misses += weight
    area += hits * (below + 0.5 * misses)
    return area / ((total + hits) * (below + misses))


@njit
def weighted_areas(
    counts: FloatArray, order: IntArray, opens: BoolArray, correct: BoolArray
) -> FloatArray:
    """Return the areas of all resamples by equation (1), with counts (resamples, questions)."""
    out = np.empty(counts.shape[0])
    for row in range(counts.shape[0]):
        out[row] = weighted_area(counts[row], order, opens, correct)
    return out


@njit
def coded_sums(counts: FloatArray, codes: NDArray[np.uint8], n_codes: int) -> FloatArray:
    """Sum the counts (resamples, questions) of each code's questions into (resamples, n_codes)."""
    out = np.zeros((counts.shape[0], n_codes))
    for row in range(counts.shape[0]):
        for question in range(codes.size):
            out[row, codes[question]] += counts[row, question]
    return out
