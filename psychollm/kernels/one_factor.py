r"""Replicates of the one-factor model: simulate answers, pack them and count pairs.

A model answers yes if :math:`\lambda f + \sqrt{1 - \lambda^2}\,e > \tau`. With u uniform,

.. math:: \text{yes} \Leftrightarrow u > \Phi(c), \qquad
          c = (\tau - \lambda f) / \sqrt{1 - \lambda^2}.                            \quad (1)

Phi is bracketed by a table with 64 entries per unit; the exact function is called only where u
falls into the bracket (at most 0.7 % of draws), so that the draws are exact and almost free of
branches.
"""

import math

import numpy as np

from psychollm.kernels._jit import njit
from psychollm.kernels.normal import normal_cdf
from psychollm.kernels.pair_counts import count_pairs, count_with_missing
from psychollm.kernels.pairwise_likelihood import pair_margins
from psychollm.kernels.random import normal, seed_stream, uniform

PER_UNIT = 64
REACH = 8
TABLE = np.array(
    [0.0]
    + [
        0.5 * math.erfc(-i / PER_UNIT / math.sqrt(2.0))
        for i in range(1 - REACH * PER_UNIT, REACH * PER_UNIT)
    ]
    + [1.0]
)
ONE = np.uint64(1)
NO_THRESHOLD = 9.0


@njit
def _exceeds(u, c):
    """Return 1 if u > Phi(c), else 0, as in (1)."""
    position = (c + REACH) * PER_UNIT
    bracket = int(min(max(position, 0.0), 2.0 * REACH * PER_UNIT - 1.0))
    above = u > TABLE[bracket + 1]
    if (u > TABLE[bracket]) != above:
        above = u > normal_cdf(c)
    return np.uint64(above)


@njit
def simulate_one_factor(loadings, thresholds, n_questions, state, yes):
    """Fill packed rows `yes` (k, words) with answers drawn from the one-factor model (1)."""
    k, words = yes.shape
    slope, cut = np.empty(k), np.empty(k)
    for i in range(k):
        rest = math.sqrt(1.0 - loadings[i] * loadings[i])
        slope[i], cut[i] = loadings[i] / rest, thresholds[i] / rest
    score = np.empty(64)
    for w in range(words):
        size = min(64, n_questions - 64 * w)
        for q in range(size):
            score[q] = normal(state)
        for i in range(k):
            word = np.uint64(0)
            for q in range(size):
                answer = _exceeds(uniform(state), cut[i] - slope[i] * score[q])
                word |= answer << np.uint64(q)
            yes[i, w] = word


@njit
def count_answers(yes, answered, counts):
    """Mask `yes` by `answered` (k, words; (0, 0) if complete) and fill (joint, yes, n) counts."""
    # If nothing is missing, `n` is left unchanged.
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
    """Return thresholds for simulation, finite even for models with constant or no answers."""
    tau, rate = np.empty(counts[1].shape), np.empty(counts[1].shape)
    pair_margins(counts[1], counts[2], tau, rate)
    thresholds = np.empty(tau.shape[0])
    for i in range(thresholds.size):
        value = tau[i, i]
        thresholds[i] = min(NO_THRESHOLD, max(-NO_THRESHOLD, value)) if value == value else 0.0
    return thresholds


@njit
def draw_counts(loadings, thresholds, n_questions, answered, seed, yes, counts):
    """Draw answers of the one-factor model into `yes` (k, words), and fill their pair counts."""
    simulate_one_factor(loadings, thresholds, n_questions, seed_stream(seed), yes)
    count_answers(yes, answered, counts)
