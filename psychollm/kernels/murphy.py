r"""Parts of the Brier score, and gaps between confidence and correctness, over bins of confidence.

A bin k is a run of neighbouring confidences with n_k answers, of which the share o_k was correct
and whose mean confidence is f_k; o is the share correct of all n answers. Then

.. math::
   \text{REL} = \sum_k \frac{n_k}{n} (f_k - o_k)^2, \quad
   \text{RES} = \sum_k \frac{n_k}{n} (o_k - o)^2, \quad
   \text{UNC} = o (1 - o),                                                                \quad (1)

.. math::
   \text{REL}' = \text{REL} - c, \quad \text{RES}' = \text{RES} - c + d, \quad
   \text{UNC}' = \text{UNC} + d, \quad
   c = \sum_{n_k > 1} \frac{n_k}{n} \frac{o_k (1 - o_k)}{n_k - 1}, \quad
   d = \frac{o (1 - o)}{n - 1},                                                           \quad (2)

the second line being without bias where every bin holds two answers (Ferro & Fricker 2012), and

.. math:: \text{over} = \sum_k \frac{n_k}{n} \max(f_k - o_k, 0), \qquad
          \text{under} = \sum_k \frac{n_k}{n} \max(o_k - f_k, 0).                         \quad (3)
"""

import numpy as np
from numpy.typing import NDArray

from psychollm.kernels._jit import njit


@njit
def murphy_terms(
    values: NDArray[np.float64],
    starts: NDArray[np.int64],
    correct: NDArray[np.float64],
    wrong: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Fill `out` (resamples, 6) with REL, RES, UNC of (1) and REL', RES', UNC' of (2).

    Bin k holds the groups from ``starts[k]`` to ``starts[k + 1] - 1``. All are NaN where a
    resample holds no answer, and (2) where no bin holds more than one.
    """
    for row in range(correct.shape[0]):
        rel, squares, correction, hits, n = 0.0, 0.0, 0.0, 0.0, 0.0
        several = False
        for k in range(starts.size - 1):
            stated, c, size = 0.0, 0.0, 0.0
            for g in range(starts[k], starts[k + 1]):
                here = correct[row, g] + wrong[row, g]
                stated += values[g] * here
                c += correct[row, g]
                size += here
            if size <= 0.0:
                continue
            rel += (stated - c) * (stated - c) / size
            squares += c * c / size
            if size > 1.0:
                correction += c * (size - c) / size / (size - 1.0)
                several = True
            hits += c
            n += size
        _compose(rel, squares, correction, hits, n, several, out[row])


@njit
def _compose(rel, squares, correction, hits, n, several, out):
    """Put the sums over bins together as (1) and (2)."""
    out[:] = np.nan
    if n <= 0.0:
        return
    rate = hits / n
    out[0] = rel / n
    # Sum of n_k (o_k - o)^2; a rounding error below zero is none.
    out[1] = max(squares / n - rate * rate, 0.0)
    out[2] = rate * (1.0 - rate)
    if several and n > 1.0:
        c, d = correction / n, out[2] / (n - 1.0)
        out[3] = out[0] - c
        out[4] = out[1] - c + d
        out[5] = out[2] + d


@njit
def signed_gaps(
    values: NDArray[np.float64],
    starts: NDArray[np.int64],
    correct: NDArray[np.float64],
    wrong: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Fill `out` (resamples, 3): mean confidence - share correct, and the two parts (3) of it."""
    for row in range(correct.shape[0]):
        over, under, n = 0.0, 0.0, 0.0
        for k in range(starts.size - 1):
            gap = 0.0
            for g in range(starts[k], starts[k + 1]):
                here = correct[row, g] + wrong[row, g]
                gap += values[g] * here - correct[row, g]
                n += here
            over += max(gap, 0.0)
            under += max(-gap, 0.0)
        if n > 0.0:
            out[row, 0] = (over - under) / n
            out[row, 1] = over / n
            out[row, 2] = under / n
        else:
            out[row, :] = np.nan
