r"""Scores of recalibrated confidence in resamples, and simulation of answers from a curve.

If the recalibrated proportion of correct answers is C/n in a block of C correct and W wrong
answers, the Brier and the logarithmic score are sums of

.. math:: \frac{C\,W}{n} \qquad\text{and}\qquad -C \ln\frac{C}{n} - W \ln\frac{W}{n},     \quad (1)

over the blocks of the isotonic fit, equation (2), for the recalibrated score, and over all answers
as one block for the uncertainty. Where recalibration assigns probability 0 or 1, all answers of
the block are wrong or all are correct; the loss is then 0, so that no clipping is needed here.

With C_g correct among n_g answers at the g-th distinct confidence, the least-squares fit that does
not decrease with confidence is

.. math:: \hat\pi_g = \max_{j \le g} \, \min_{k \ge g} \,
                      \frac{C_j + \ldots + C_k}{n_j + \ldots + n_k},                      \quad (2)

a step function; it is also the maximum likelihood fit, and optimal under every proper score
(Dimitriadis, Gneiting & Jordan 2021). The fit is computed in one pass that keeps a stack of blocks
with increasing proportions of correct answers. The open block absorbs every group whose proportion
does not exceed its own, and is compared with earlier blocks only when it is closed. Delaying the
comparison avoids most of the mispredicted branches of the textbook version and saves two thirds of
the time. Proportions are compared by cross-multiplication, which is exact for integer counts.
Confidence levels without an answer in a resample have no effect.

References
----------
Ayer, M., Brunk, H. D., Ewing, G. M., Reid, W. T., & Silverman, E. (1955). An empirical
distribution function for sampling with incomplete information. Annals of Mathematical Statistics,
26, 641-647.

Dimitriadis, T., Gneiting, T., & Jordan, A. I. (2021). Stable reliability diagrams for
probabilistic classifiers. Proceedings of the National Academy of Sciences, 118(8), e2016191118.
https://doi.org/10.1073/pnas.2016191118
"""

import math

import numpy as np

from psychollm._base.types import FloatArray, IntArray, WordArray
from psychollm.kernels._jit import njit
from psychollm.kernels.random import seed_stream, uniform


@njit
def pool(correct, wrong, hits, size, last):
    """Fill the blocks of equation (2) for one resample, and return the number of blocks."""
    # `hits`, `size` and `last` (groups,) receive the number of correct answers, the number of
    # answers and the last group of each block.
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
    """Put a block on the stack, merged with lower blocks whose proportion is not smaller."""
    while top >= 0 and hits[top] * open_size >= open_hits * size[top]:
        open_hits += hits[top]
        open_size += size[top]
        top -= 1
    top += 1
    hits[top] = open_hits
    size[top] = open_size
    return top


@njit
def isotonic_shares(correct: FloatArray, wrong: FloatArray, out: FloatArray) -> None:
    """Fill `out` with isotonic fits, equation (2), of tallies (resamples, groups)."""
    # The fit is NaN at confidences without an answer.
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


@njit
def _log_loss(hits, size):
    """Return one block's term of the second sum in equation (1)."""
    misses = size - hits
    loss = 0.0
    if hits > 0.0:
        loss -= hits * math.log(hits / size)
    if misses > 0.0:
        loss -= misses * math.log(misses / size)
    return loss


@njit
def recalibrated_scores(correct: FloatArray, wrong: FloatArray, out: FloatArray) -> None:
    """Fill `out` (resamples, 4): Brier and log scores of the isotonic fit and of the mean."""
    # Scores are NaN where a resample has no answers.
    groups = correct.shape[1]
    hits, size = np.empty(groups), np.empty(groups)
    last = np.empty(groups, dtype=np.int64)
    for row in range(correct.shape[0]):
        blocks = pool(correct[row], wrong[row], hits, size, last)
        brier, log, all_hits, n = 0.0, 0.0, 0.0, 0.0
        for block in range(blocks):
            brier += hits[block] * (size[block] - hits[block]) / size[block]
            log += _log_loss(hits[block], size[block])
            all_hits += hits[block]
            n += size[block]
        if n > 0.0:
            out[row, 0] = brier / n
            out[row, 1] = log / n
            out[row, 2] = all_hits * (n - all_hits) / n / n
            out[row, 3] = _log_loss(all_hits, n) / n
        else:
            out[row, :] = np.nan


@njit
def draw_answers(
    seeds: WordArray,
    chance: FloatArray,
    group: IntArray,
    weight: FloatArray,
    correct: FloatArray,
    wrong: FloatArray,
) -> None:
    """Fill tallies (replicates, groups) of answers that are correct with probability `chance`."""
    # `group` and `weight` hold the index of each answer's confidence and the answer's weight.
    for row in range(seeds.shape[0]):
        state = seed_stream(seeds[row])
        for g in range(chance.size):
            correct[row, g] = 0.0
            wrong[row, g] = 0.0
        for answer in range(group.size):
            g = group[answer]
            if uniform(state) < chance[g]:
                correct[row, g] += weight[answer]
            else:
                wrong[row, g] += weight[answer]
