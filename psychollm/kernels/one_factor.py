r"""Replicates of the one-factor model: simulate answers, pack them and count pairs.

A model answers yes if :math:`\lambda f + \sqrt{1 - \lambda^2}\,e > \tau`. With u uniform,

.. math:: \text{yes} \Leftrightarrow u > \Phi(c), \qquad
          c = (\tau - \lambda f) / \sqrt{1 - \lambda^2}.                            \quad (1)

A polynomial approximates Phi with an error below 0.0005. If u differs from the polynomial by less
than the maximum error (about one draw in a thousand), the exact function is called. The draws are
therefore exact. The compiler can vectorise comparisons with the polynomial, because they need
neither a branch nor a table.
"""

import math

import numpy as np

from psychollm.kernels._jit import njit
from psychollm.kernels.normal import normal_cdf
from psychollm.kernels.pair_counts import count_pairs, count_with_missing, popcount
from psychollm.kernels.pairwise_likelihood import pair_margins
from psychollm.kernels.random import as_uniform, fill_normals, fill_words, seed_stream

REACH = 3.2
# Coefficients of the minimax odd polynomial of degree 9 on [-REACH, REACH]. NEARLY bounds the
# error of the polynomial for all c, because c is clipped to this interval.
C1, C3, C5, C7, C9 = (
    0.3974084545444216,
    -0.06304313064367971,
    0.0077316226928132205,
    -0.000540058359754629,
    1.577814658746592e-05,
)
NEARLY = 4.2e-4
ONE = np.uint64(1)
NO_THRESHOLD = 9.0


@njit
def nearly_normal_cdf(c):
    """Approximate Phi(c) by a polynomial, with an error below `NEARLY`."""
    x = min(max(c, -REACH), REACH)
    square = x * x
    return 0.5 + x * (C1 + square * (C3 + square * (C5 + square * (C7 + square * C9))))


@njit
def _answers(words, cut, slope, score):
    """Return one bit per random word: 1 if its uniform number u exceeds Phi(c) of equation (1)."""
    yes, unsure = np.uint64(0), np.uint64(0)
    for q in range(words.size):
        over = as_uniform(words[q]) - nearly_normal_cdf(cut - slope * score[q])
        yes |= np.uint64(over > 0.0) << np.uint64(q)
        unsure |= np.uint64(abs(over) <= NEARLY) << np.uint64(q)
    while unsure:
        bit = unsure & (~unsure + ONE)
        q = popcount(bit - ONE)
        if as_uniform(words[q]) > normal_cdf(cut - slope * score[q]):
            yes |= bit
        else:
            yes &= ~bit
        unsure ^= bit
    return yes


@njit
def simulate_one_factor(loadings, thresholds, n_questions, state, yes):
    """Fill packed rows `yes` (k, words) with answers drawn from the one-factor model."""
    k, words = yes.shape
    slope, cut = np.empty(k), np.empty(k)
    for i in range(k):
        rest = math.sqrt(1.0 - loadings[i] * loadings[i])
        slope[i], cut[i] = loadings[i] / rest, thresholds[i] / rest
    scores, squares, drawn = np.empty(64), np.empty(64), np.empty(64, dtype=np.uint64)
    for w in range(words):
        size = min(64, n_questions - 64 * w)
        score, random = scores[:size], drawn[:size]
        fill_normals(state, score, squares)
        for i in range(k):
            fill_words(state, random)
            yes[i, w] = _answers(random, cut[i], slope[i], score)


@njit
def count_answers(yes, answered, counts):
    """Mask `yes` by `answered` (shape (0, 0) if complete), and fill the counts (joint, yes, n)."""
    # If no answer is missing, `n` is left unchanged.
    joint, own, both = counts
    if answered.shape[0] == 0:
        count_pairs(yes, joint)
        for i in range(joint.shape[0]):
            own[i, :] = joint[i, i]
        return
    for i in range(yes.shape[0]):
        for w in range(yes.shape[1]):
            yes[i, w] &= answered[i, w]
    count_with_missing(yes, answered, joint, own, both)


@njit
def margin_thresholds(counts):
    """Return thresholds for simulation, which are finite even without answers or variance."""
    tau, rate = np.empty(counts[1].shape), np.empty(counts[1].shape)
    pair_margins(counts[1], counts[2], tau, rate)
    thresholds = np.empty(tau.shape[0])
    for i in range(thresholds.size):
        value = tau[i, i]
        thresholds[i] = min(NO_THRESHOLD, max(-NO_THRESHOLD, value)) if value == value else 0.0
    return thresholds


@njit
def draw_counts(loadings, thresholds, n_questions, answered, seeds, yes, counts):
    """Draw a table of the one-factor model for each of m seeds, and fill counts (m, k, k)."""
    # `yes` (k, words) is overwritten by each table.
    joint, own, both = counts
    for r in range(seeds.shape[0]):
        simulate_one_factor(loadings, thresholds, n_questions, seed_stream(seeds[r]), yes)
        count_answers(yes, answered, (joint[r], own[r], both[r]))
