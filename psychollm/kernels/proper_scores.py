r"""Brier and logarithmic score of resampled tallies.

With C correct and W wrong answers at confidence u, and n answers in total,

.. math:: \text{BS} = \frac1n \sum_g C_g (1 - u_g)^2 + W_g u_g^2, \qquad
          \text{LS} = -\frac1n \sum_g C_g \ln u_g + W_g \ln(1 - u_g).                     \quad (1)

Both scores are means of losses: each confidence has one loss for a correct and one for a wrong
answer.

References
----------
Gneiting, T., & Raftery, A. E. (2007). Strictly proper scoring rules, prediction, and estimation.
Journal of the American Statistical Association, 102(477), 359-378.
https://doi.org/10.1198/016214506000001437
"""

import numpy as np

from psychollm._base.types import FloatArray
from psychollm.kernels._jit import njit


@njit
def mean_losses(
    if_correct: FloatArray,
    if_wrong: FloatArray,
    correct: FloatArray,
    wrong: FloatArray,
    out: FloatArray,
) -> None:
    """Fill `out` (resamples,) with mean losses, by equation (1), over tallies of resamples."""
    # Means are NaN where a resample has no answers.
    for row in range(correct.shape[0]):
        total, n = 0.0, 0.0
        for g in range(if_correct.size):
            total += correct[row, g] * if_correct[g] + wrong[row, g] * if_wrong[g]
            n += correct[row, g] + wrong[row, g]
        out[row] = total / n if n > 0.0 else np.nan


@njit
def shares_correct(correct: FloatArray, wrong: FloatArray, out: FloatArray) -> None:
    """Fill `out` (resamples,) with the proportion of correct answers; NaN without answers."""
    for row in range(correct.shape[0]):
        hits, n = 0.0, 0.0
        for g in range(correct.shape[1]):
            hits += correct[row, g]
            n += correct[row, g] + wrong[row, g]
        out[row] = hits / n if n > 0.0 else np.nan
