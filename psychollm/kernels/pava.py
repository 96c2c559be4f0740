r"""Isotonic regression of correctness on confidence: pool adjacent violators, on tallies.

With C_g correct among n_g answers at the g-th distinct confidence, the least-squares fit that does
not fall as confidence rises is

.. math:: \hat\pi_g = \max_{j \le g} \, \min_{k \ge g} \,
                      \frac{C_j + \ldots + C_k}{n_j + \ldots + n_k},                      \quad (1)

a step function; it is also the fit of largest likelihood, and the best one under every proper
score (Dimitriadis, Gneiting & Jordan 2021). It is found in one pass that keeps a stack of blocks
of increasing share of correct answers. The open block takes in every group whose share does not
exceed its own, and looks back only when it is closed: most of the mispredicted branches of the
textbook version go, and two thirds of its time. Shares are compared by cross-multiplication, so
that whole counts are compared exactly. Confidences without an answer in a resample change nothing.

References
----------
Ayer, M., Brunk, H. D., Ewing, G. M., Reid, W. T., & Silverman, E. (1955). An empirical
distribution function for sampling with incomplete information. Annals of Mathematical Statistics,
26, 641-647.
"""

import numpy as np
from numpy.typing import NDArray

from psychollm.kernels._jit import njit


@njit
def pool(correct, wrong, hits, size, last):
    """Fill the blocks of (1) for one resample and return how many there are; for kernels."""
    # `hits`, `size` and `last` (groups,) receive correct answers, answers and last group per
    # block.
    top, open_hits, open_size = -1, 0.0, 0.0
    for g in range(correct.size):
        n = correct[g] + wrong[g]
        if correct[g] * open_size <= open_hits * n:
            open_hits += correct[g]
            open_size += n
            continue
        top = _close(hits, size, top, open_hits, open_size)
        last[top] = g - 1
        open_hits, open_size = correct[g], n
    if open_size > 0.0:
        top = _close(hits, size, top, open_hits, open_size)
        last[top] = correct.size - 1
    return top + 1


@njit
def _close(hits, size, top, open_hits, open_size):
    """Put a block on the stack, merged with those below whose share is not smaller."""
    while top >= 0 and hits[top] * open_size >= open_hits * size[top]:
        open_hits += hits[top]
        open_size += size[top]
        top -= 1
    top += 1
    hits[top] = open_hits
    size[top] = open_size
    return top


@njit
def isotonic_shares(
    correct: NDArray[np.float64], wrong: NDArray[np.float64], out: NDArray[np.float64]
) -> None:
    """Fill `out` (resamples, groups) with the fit (1) of tallies (resamples, groups)."""
    # NaN at confidences without an answer.
    groups = correct.shape[1]
    hits, size = np.empty(groups), np.empty(groups)
    last = np.empty(groups, dtype=np.int64)
    for row in range(correct.shape[0]):
        blocks = pool(correct[row], wrong[row], hits, size, last)
        first = 0
        for block in range(blocks):
            share = hits[block] / size[block]
            for g in range(first, last[block] + 1):
                answered = correct[row, g] + wrong[row, g] > 0.0
                out[row, g] = share if answered else np.nan
            first = last[block] + 1
        for g in range(first, groups):
            out[row, g] = np.nan
