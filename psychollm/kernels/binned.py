r"""Sums within bins of confidence, norms of calibration gaps, and the sweep over numbers of bins.

With C correct and W wrong answers at confidence u, a bin b of confidences has

.. math:: n_b = \sum_{g \in b} C_g + W_g, \qquad h_b = \sum_{g \in b} C_g, \qquad
          G_b = h_b - \sum_{g \in b} u_g (C_g + W_g).                                     \quad (1)

:math:`G_b / n_b` is the gap between accuracy and mean confidence; :math:`s_b = n_b / n` is the
proportion of answers in the bin. The norms of gaps :math:`d_b` are

.. math:: \sum_b s_b |d_b|, \quad \Big(\sum_b s_b d_b^2\Big)^{1/2}, \quad
          \max_b |d_b|, \quad \frac1B \sum_b |d_b|.                                       \quad (2)

For a family of gaps :math:`\theta c_b` with norm :math:`\theta`, the norm of a resample with gap
sums :math:`G^*_b` on :math:`n^*` answers is the norm of

.. math:: \theta c_b + \frac{G^*_b / n^* - G_b / n}{s_b}                                  \quad (3)

computed with the sample's proportions :math:`s_b`. The deviation of the resample from the
sample is thus added to the gaps that the family assumes.

The sweep chooses the largest number of equal-mass bins such that accuracy increases from bin to
bin for the chosen and every smaller number of bins (Roelofs et al., 2022). All answers with the
same confidence form a level. The whole level is assigned to the bin of its first answer or, with
`left`, to the bin of its last answer.

References
----------
Roelofs, R., Cain, N., Shlens, J., & Mozer, M. C. (2022). Mitigating bias in calibration error
estimation. Proceedings of the 25th International Conference on Artificial Intelligence and
Statistics, PMLR 151, 4036-4054.
"""

import math

import numpy as np

from psychollm._base.types import FloatArray, IntArray
from psychollm.kernels._jit import njit

MEAN, ROOT, WORST, LEVEL = 0, 1, 2, 3  # the norms of (2), in order
_ROUNDING = 1e-9  # weights that differ only by rounding must not move a bin edge


@njit
def bin_gaps(
    values: FloatArray,
    stop: IntArray,
    correct: FloatArray,
    wrong: FloatArray,
    gap: FloatArray,
    size: FloatArray,
    hits: FloatArray,
) -> None:
    """Fill `gap`, `size`, `hits` (resamples, bins) with equation (1), from tallies."""
    # `stop` (bins,) holds the index of the first group after each bin.
    for row in range(correct.shape[0]):
        g = 0
        for b in range(stop.size):
            n, right, stated = 0.0, 0.0, 0.0
            while g < stop[b]:
                here = correct[row, g] + wrong[row, g]
                n += here
                right += correct[row, g]
                stated += values[g] * here
                g += 1
            gap[row, b], size[row, b], hits[row, b] = right - stated, n, right


@njit
def norms(gap: FloatArray, size: FloatArray, kind: int, out: FloatArray) -> None:
    """Fill `out` (resamples,) with a norm, by equation (2), of gap sums (resamples, bins)."""
    # Empty bins are left out. The norm is NaN where a resample has no answers.
    for row in range(gap.shape[0]):
        total, n, used = 0.0, 0.0, 0
        for b in range(gap.shape[1]):
            if size[row, b] <= 0.0:
                continue
            used += 1
            n += size[row, b]
            off = abs(gap[row, b])
            if kind == MEAN:
                total += off
            elif kind == ROOT:
                total += off * off / size[row, b]
            elif kind == WORST:
                total = max(total, off / size[row, b])
            else:
                total += off / size[row, b]
        if used == 0:
            out[row] = np.nan
        elif kind == MEAN:
            out[row] = total / n
        elif kind == ROOT:
            out[row] = math.sqrt(total / n)
        else:
            out[row] = total if kind == WORST else total / used


@njit
def debiased_squares(gap: FloatArray, size: FloatArray, hits: FloatArray, out: FloatArray) -> None:
    """Fill `out` (resamples,) with the mean squared gap minus its bias."""
    # The inputs are (resamples, bins). The result is the sum over b of n_b / n (d_b^2 - a_b (1 -
    # a_b) / (n_b - 1)), with accuracies a_b = h_b / n_b; bins with fewer than two answers are left
    # out.
    for row in range(gap.shape[0]):
        total, n = 0.0, 0.0
        for b in range(gap.shape[1]):
            m = size[row, b]
            n += m
            if m >= 2.0:
                accuracy = hits[row, b] / m
                variance = accuracy * (1.0 - accuracy) / (m - 1.0)
                total += m * ((gap[row, b] / m) ** 2 - variance)
        out[row] = total / n if n > 0.0 else np.nan


@njit
def norms_along(
    shape: FloatArray,
    share: FloatArray,
    noise: FloatArray,
    scale: FloatArray,
    kind: int,
    out: FloatArray,
) -> None:
    """Fill `out` (resamples, scales) with norms, by equation (2), of the gaps in equation (3)."""
    # `shape` and `share` (bins,) are c_b and s_b of the sample. `noise` (resamples, bins) is the
    # second term of (3), which is NaN in a resample without answers.
    for row in range(noise.shape[0]):
        for k in range(scale.size):
            total = 0.0
            for b in range(shape.size):
                off = abs(scale[k] * shape[b] + noise[row, b])
                if kind == MEAN:
                    total += share[b] * off
                elif kind == ROOT:
                    total += share[b] * off * off
                elif kind == WORST:
                    total = max(total, off) if off == off else off
                else:
                    total += off / shape.size
            out[row, k] = math.sqrt(total) if kind == ROOT else total


@njit
def calibrated_tallies(
    uniforms: FloatArray,
    question: IntArray,
    group: IntArray,
    values: FloatArray,
    weight: FloatArray,
    correct: FloatArray,
    wrong: FloatArray,
) -> None:
    """Fill `correct` and `wrong` (replicates, groups) with draws from calibrated confidences."""
    # An answer is correct if the random number of its question, in `uniforms` (replicates,
    # questions), is below its confidence. `question`, `group` and `weight` have one entry per
    # answer.
    for row in range(uniforms.shape[0]):
        correct[row, :], wrong[row, :] = 0.0, 0.0
        for answer in range(question.size):
            g = group[answer]
            if uniforms[row, question[answer]] < values[g]:
                correct[row, g] += weight[answer]
            else:
                wrong[row, g] += weight[answer]


@njit
def _first_level(passed, bins, k, left):
    """Return the first level of equal-mass bin k, given the number of answers below each level."""
    low, high = 0, passed.size - 1
    total = passed[high]
    while low < high:
        middle = (low + high) // 2
        if left:
            here = math.ceil(bins * passed[middle + 1] / total - _ROUNDING) - 1
        else:
            here = math.floor(bins * passed[middle] / total + _ROUNDING)
        if here >= k:
            high = middle
        else:
            low = middle + 1
    return low


@njit
def _fill_swept(running, bins, left, gap, size, hits):
    """Fill sums within equal-mass bins; return whether accuracy never falls between bins."""
    # `running` (3, levels + 1) holds the numbers of answers and of correct answers and the sum of
    # confidence before each level.
    passed, won, stated = running[0], running[1], running[2]
    increasing, filled = True, 0
    start = 0
    for k in range(1, bins + 1):
        end = passed.size - 1 if k == bins else _first_level(passed, bins, k, left)
        n = passed[end] - passed[start]
        if n > 0.0:
            size[filled] = n
            hits[filled] = won[end] - won[start]
            gap[filled] = hits[filled] - (stated[end] - stated[start])
            # Accuracies are compared by cross-multiplication, and rounding errors do not count as
            # decreases.
            if filled > 0:
                before = hits[filled - 1] * n
                if hits[filled] * size[filled - 1] < before - 1e-12 * (before + 1.0):
                    increasing = False
            filled += 1
        start = end
    for k in range(filled, gap.size):
        gap[k], size[k], hits[k] = 0.0, 0.0, 0.0
    return increasing


@njit
def swept_gaps(
    values: FloatArray,
    level: IntArray,
    correct: FloatArray,
    wrong: FloatArray,
    left: bool,
    sums: FloatArray,
    bins: IntArray,
) -> None:
    """Fill `sums`, equation (1), for the bins of the sweep, and `bins` with the number of bins."""
    # `level` numbers the distinct confidences consecutively; groups with equal confidence have the
    # same level. `sums` (3, resamples, most bins) receives gap sums, sizes and hits; `bins` is
    # (resamples,).
    n_levels = level[-1] + 1 if level.size else 0
    running = np.zeros((3, n_levels + 1))
    for row in range(correct.shape[0]):
        running[:] = 0.0
        for g in range(values.size):
            n = correct[row, g] + wrong[row, g]
            running[0, level[g] + 1] += n
            running[1, level[g] + 1] += correct[row, g]
            running[2, level[g] + 1] += values[g] * n
        for k in range(n_levels):
            for i in range(3):
                running[i, k + 1] += running[i, k]
        gap, size, hits = sums[0, row], sums[1, row], sums[2, row]
        answers = running[0, n_levels]
        most = min(gap.size, n_levels, int(answers))
        count = 1
        while count < most and _fill_swept(running, count + 1, left, gap, size, hits):
            count += 1
        _fill_swept(running, count, left, gap, size, hits)
        bins[row] = count if answers > 0.0 else 0
