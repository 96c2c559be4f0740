"""Null replicates that never leave the kernels: draw bits, count pairs, correlate."""

import numpy as np

from psychollm.kernels._jit import njit
from psychollm.kernels.correlate import correlate_into
from psychollm.kernels.one_factor import count_answers, simulate_one_factor
from psychollm.kernels.random import seed_stream
from psychollm.kernels.shuffle import shuffle_columns, shuffle_rows, trade_rows
from psychollm.kernels.tetrachoric import fill_thresholds

WITHIN_MODEL, WITHIN_QUESTION, BOTH_MARGINS = 0, 1, 2


@njit
def _correlate_bits(table, mask, counts, rule, fixed, tau, matrix):
    """Correlate packed rows; `mask` (k, words) is empty where nothing is missing."""
    count_answers(table, mask, counts)
    _, own, both = counts
    k = tau.size
    yes, n = np.empty(k), np.empty(k)
    for i in range(k):
        yes[i], n[i] = own[i, i], both[i, i]
    fill_thresholds(yes, n, tau)
    correlate_into(counts, tau, rule, fixed, matrix)


@njit
def draw_permuted(seeds, scheme, design, counts, rule, fixed, trades):
    """Draw correlations (m, k, k) and thresholds (m, k) of tables shuffled by seeds (m, 2)."""
    # `design` is (yes, answered, mask, n_questions, totals, sizes): packed answers, packed flags
    # of what was answered, the mask for counting (empty if complete), and per row the number of
    # answers and of yes answers.
    yes, answered, mask, n_questions, totals, sizes = design
    k = yes.shape[0]
    matrices, thresholds = np.empty((seeds.shape[0], k, k)), np.empty((seeds.shape[0], k))
    table = np.empty_like(yes)
    for r in range(seeds.shape[0]):
        state = seed_stream(seeds[r])
        if scheme == WITHIN_MODEL:
            shuffle_rows(state, answered, n_questions, totals, sizes, table)
        elif scheme == WITHIN_QUESTION:
            shuffle_columns(state, yes, answered, n_questions, table)
        else:
            for i in range(k):
                for w in range(yes.shape[1]):
                    table[i, w] = yes[i, w]
            trade_rows(state, answered, n_questions, trades, table)
        _correlate_bits(table, mask, counts, rule, fixed, thresholds[r], matrices[r])
    return matrices, thresholds


@njit
def draw_one_factor(seeds, loadings, cuts, design, counts, rule, fixed):
    """Correlation matrices and thresholds of tables simulated from the one-factor model."""
    yes, _, mask, n_questions, _, _ = design
    k = yes.shape[0]
    matrices, thresholds = np.empty((seeds.shape[0], k, k)), np.empty((seeds.shape[0], k))
    table = np.empty_like(yes)
    for r in range(seeds.shape[0]):
        simulate_one_factor(loadings, cuts, n_questions, seed_stream(seeds[r]), table)
        _correlate_bits(table, mask, counts, rule, fixed, thresholds[r], matrices[r])
    return matrices, thresholds


@njit
def trade_path(seed, design, stops):
    """Follow the share of answered cells changed after each number of trades in `stops`."""
    yes, answered, _, n_questions, totals, _ = design
    state = seed_stream(seed)
    table = yes.copy()
    shares = np.empty(stops.size)
    made = 0
    for s in range(stops.size):
        trade_rows(state, answered, n_questions, stops[s] - made, table)
        made = stops[s]
        changed = 0
        for i in range(table.shape[0]):
            for w in range(table.shape[1]):
                word = table[i, w] ^ yes[i, w]
                while word:
                    word &= word - np.uint64(1)
                    changed += 1
        shares[s] = changed / totals.sum()
    return shares
