r"""Scores of recalibrated confidence in resampled tallies, and answers drawn from a curve.

Where the recalibrated share of correct answers is C/n in a block of C correct and W wrong answers,
the Brier and the logarithmic score of the block are sums of

.. math:: \frac{C\,W}{n} \qquad\text{and}\qquad -C \ln\frac{C}{n} - W \ln\frac{W}{n},     \quad (1)

over the blocks of the isotonic fit for the recalibrated score, and over all answers as one block
for the uncertainty. An answer that recalibration calls certain costs nothing, so that no clipping
is needed here.

References
----------
Dimitriadis, T., Gneiting, T., & Jordan, A. I. (2021). Stable reliability diagrams for
probabilistic classifiers. Proceedings of the National Academy of Sciences, 118(8), e2016191118.
https://doi.org/10.1073/pnas.2016191118
"""

import math

import numpy as np
from numpy.typing import NDArray

from psychollm._base.types import WordArray
from psychollm.kernels._jit import njit
from psychollm.kernels.pava import pool
from psychollm.kernels.random import seed_stream, uniform


@njit
def _log_loss(hits, size):
    """Second sum (1) of one block."""
    misses = size - hits
    loss = 0.0
    if hits > 0.0:
        loss -= hits * math.log(hits / size)
    if misses > 0.0:
        loss -= misses * math.log(misses / size)
    return loss


@njit
def recalibrated_scores(
    correct: NDArray[np.float64], wrong: NDArray[np.float64], out: NDArray[np.float64]
) -> None:
    """Fill `out` (resamples, 4): Brier and log score of the isotonic fit, and of the mean."""
    # NaN where a resample holds no answer.
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
    chance: NDArray[np.float64],
    group: NDArray[np.int64],
    weight: NDArray[np.float64],
    correct: NDArray[np.float64],
    wrong: NDArray[np.float64],
) -> None:
    """Fill tallies (replicates, groups) of answers that are correct with `chance` (groups,)."""
    # `group` and `weight` hold the place of each answer's confidence and what it counts.
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
