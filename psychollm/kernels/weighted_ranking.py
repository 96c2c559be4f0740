r"""Areas under the ROC curve of one score in many resamples.

The questions are sorted by score once, and a resample is a vector of counts w. The tied groups g
are in increasing order of the score, and :math:`P_g` and :math:`N_g` are the sums of the counts of
correct and of wrong questions in a group. The area is

.. math:: A = \frac{\sum_g P_g \big(\sum_{h < g} N_h + \tfrac12 N_g\big)}
                   {\sum_g P_g \sum_g N_g}.                                               \quad (1)

Computing all areas takes one pass over the questions. Each question is added to all resamples
together; the counts of the resamples are adjacent in memory. Counts are integers, so that the sums
are exact.

For a thresholded signal, only the sums of counts over a few classes of questions are needed.

References
----------
Bamber, D. (1975). The area above the ordinal dominance graph and the area below the receiver
operating characteristic graph. Journal of Mathematical Psychology, 12(4), 387-415.
https://doi.org/10.1016/0022-2496(75)90001-2
"""

import numpy as np
from numpy.typing import NDArray

from psychollm._base.types import AnyArray, BoolArray, FloatArray, IntArray
from psychollm.kernels._jit import njit


@njit
def weighted_areas(
    counts: AnyArray, order: IntArray, opens: BoolArray, correct: BoolArray
) -> FloatArray:
    """Return the area in each resample by equation (1); NaN if it contains only one class."""
    # `counts` has the shape (questions, resamples). `order` lists the questions by increasing
    # score, `opens` marks where a new group of ties begins, and `correct` is in the same order.
    n = counts.shape[1]
    area, below, total = np.zeros(n), np.zeros(n), np.zeros(n)
    hits, misses = np.zeros(n), np.zeros(n)
    start = 0
    while start < order.size:
        end = start + 1
        while end < order.size and not opens[end]:
            end += 1
        if end == start + 1:  # a question without ties needs no sums of its group
            drawn = counts[order[start]]
            if correct[start]:
                for r in range(n):
                    area[r] += drawn[r] * below[r]
                    total[r] += drawn[r]
            else:
                for r in range(n):
                    below[r] += drawn[r]
        else:
            hits[:], misses[:] = 0.0, 0.0
            for rank in range(start, end):
                drawn = counts[order[rank]]
                if correct[rank]:
                    for r in range(n):
                        hits[r] += drawn[r]
                else:
                    for r in range(n):
                        misses[r] += drawn[r]
            for r in range(n):
                area[r] += hits[r] * (below[r] + 0.5 * misses[r])
                below[r] += misses[r]
                total[r] += hits[r]
        start = end
    return area / (total * below)


@njit
def coded_sums(counts: AnyArray, codes: NDArray[np.uint8], n_codes: int) -> FloatArray:
    """Sum `counts` (questions, resamples) of each code's questions into (n_codes, resamples)."""
    n = counts.shape[1]
    out = np.zeros((n_codes, n))
    for question in range(codes.size):
        drawn, sums = counts[question], out[codes[question]]
        for r in range(n):
            sums[r] += drawn[r]
    return out
