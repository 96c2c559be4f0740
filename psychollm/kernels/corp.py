r"""Scores of recalibrated confidence in resampled tallies, and answers drawn from a curve.

Where the recalibrated share of correct answers is C/n in a block of C correct and W wrong answers,
the Brier and the logarithmic score of the block are sums of

.. math:: \frac{C\,W}{n} \qquad\text{and}\qquad -C \ln\frac{C}{n} - W \ln\frac{W}{n},     \quad (1)

over the blocks of the isotonic fit for the recalibrated score, and over all answers as one block
for the uncertainty. An answer that recalibration calls certain costs nothing, so that no clipping
is needed here.

The fit also follows noise. How far shows in answers with the noise of a resample around confidence
itself: with :math:`\hat\pi` the fit of the sample, C, n its tally and C*, n* those of a resample,

.. math:: \tilde C_g = n_g f_g + (C^*_g - n^*_g \hat\pi_g) - (C_g - n_g \hat\pi_g)        \quad (2)

are the answers of a calibrated model, real numbers; what their Brier score falls by when the fit
to them takes the place of f is noise. In the logarithmic score a departure e costs
:math:`e^2 / 2 \pi (1 - \pi)` where it costs :math:`e^2` in Brier's, so that the fall in each block
is divided by twice its mean :math:`\hat\pi (1 - \hat\pi)`. Neighbouring confidences may be put
into cells for this.

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
def calibrated_noise(
    correct: NDArray[np.float64],
    wrong: NDArray[np.float64],
    starts: NDArray[np.int64],
    groups: NDArray[np.float64],
    cells: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Fill `out` (resamples, 2): what Brier and log score fall by in fitting the answers (2)."""
    # Cell k holds the groups from `starts[k]` to `starts[k + 1] - 1`. `groups` (2, groups) holds
    # the sample's fit and f; `cells` (4, cells) sums of the sample over each cell: of n, of what
    # (2) keeps of the sample, call it b, of f (n f - 2 b), and of n fit (1 - fit). NaN where a
    # resample holds no answer.
    fit, values = groups[0], groups[1]
    total = cells[0].sum()
    hits, stated = np.empty(starts.size - 1), np.empty(starts.size - 1)
    for row in range(correct.shape[0]):
        n = 0.0
        for k in range(starts.size - 1):
            noise, lever = 0.0, 0.0
            for g in range(starts[k], starts[k + 1]):
                here = correct[row, g] + wrong[row, g]
                residual = correct[row, g] - here * fit[g]
                noise += residual
                lever += values[g] * residual
                n += here
            hits[k], stated[k] = noise, lever
        if n <= 0.0:
            out[row, :] = np.nan
            continue
        for k in range(starts.size - 1):
            hits[k] = cells[1, k] + hits[k] * total / n
            stated[k] = cells[2, k] - 2.0 * stated[k] * total / n
        _block_falls(cells[0], hits, stated, cells[3], out[row])
        out[row] /= total


@njit
def _block_falls(size, hits, stated, spread, out):
    """Sum over the blocks of the fit what the two scores fall by; arrays are (cells,)."""
    cells = size.size
    block_hits, block_size = np.empty(cells), np.empty(cells)
    last = np.empty(cells, dtype=np.int64)
    # Pooling compares shares only: a negative number of wrong answers is none to it.
    blocks = pool(hits, size - hits, block_hits, block_size, last)
    out[:] = 0.0
    first = 0
    for block in range(blocks):
        fall, variance = block_hits[block] * block_hits[block] / block_size[block], 0.0
        for k in range(first, last[block] + 1):
            fall += stated[k]
            variance += spread[k]
        out[0] += fall
        if variance > 0.0:
            out[1] += 0.5 * fall * block_size[block] / variance
        first = last[block] + 1


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
