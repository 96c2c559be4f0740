r"""Correlation matrices of random binary tables, for null distributions.

Three functions draw random tables with given margins:

* `shuffle_rows` keeps the number of yes answers and the missing cells of every row.
* `shuffle_columns` keeps the number of yes answers and the missing cells of every column.
* `trade_rows` keeps the margins of both rows and columns, by curveball trades [1]_.

For a row with m yes answers among n answers, the yes answers are a uniform random m-subset. The
subset is drawn 64 questions at a time: bits of words are set with probability near m / n, by a few
ANDs and ORs of random words, and then single bits are set or cleared at random until m are set.
Before single bits are set or cleared, all sets of the same size are equally probable, and each
such step preserves this property.

References
----------
.. [1] Strona, G., Nappo, D., Boccacci, F., Fattorini, S., & San-Miguel-Ayanz, J. (2014). A fast
   and unbiased procedure to randomize ecological binary matrices with fixed row and column
   totals. Nature Communications, 5, 4114. https://doi.org/10.1038/ncomms5114
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from psychollm._base.types import FloatArray, WordArray
from psychollm.kernels._jit import njit
from psychollm.kernels.correlate import correlations
from psychollm.kernels.loops import copy_rows
from psychollm.kernels.one_factor import count_answers, draw_counts
from psychollm.kernels.pair_counts import popcount
from psychollm.kernels.random import advance, advance_below, below, seed_stream
from psychollm.kernels.tetrachoric import thresholds_of

Counts = tuple[FloatArray, FloatArray, FloatArray]  # joint, yes, n: each (m, k, k)
ONE, ZERO = np.uint64(1), np.uint64(0)
SIX, LOW_6 = np.uint64(6), np.uint64(63)
ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
PROBABILITY_BITS = 6


@njit
def _fill_near(state, level, within, out):
    """Fill `out` with words whose bits are set with probability level / 2^PROBABILITY_BITS."""
    # Bits outside `within` are cleared, and the number of set bits is returned. The state is kept
    # in registers, as in `random.fill_words`.
    s0, s1, s2, s3 = state[0], state[1], state[2], state[3]
    everything, levels, count = ZERO, PROBABILITY_BITS, ZERO
    if level >= 1 << PROBABILITY_BITS:
        everything, levels = ALL, 0
    for w in range(out.size):
        word = everything
        for b in range(levels):
            if (level >> b) & 1:
                random, s0, s1, s2, s3 = advance(s0, s1, s2, s3)
                word |= random
            elif word != ZERO:
                random, s0, s1, s2, s3 = advance(s0, s1, s2, s3)
                word &= random
        out[w] = word & within[w]
        count += popcount(out[w])
    state[0], state[1], state[2], state[3] = s0, s1, s2, s3
    return np.int64(count)


@njit
def _random_subset(state, answered, n, total, size, out):
    """Fill `out` with a uniform random subset of `size` of the `total` answered bits."""
    level = int((size << PROBABILITY_BITS) / total + 0.5) if total > 0 else 0
    count = _fill_near(state, level, answered, out)
    s0, s1, s2, s3 = state[0], state[1], state[2], state[3]
    while count != size:
        drawn, s0, s1, s2, s3 = advance_below(s0, s1, s2, s3, n)
        position = np.uint64(drawn)
        word, bit = position >> SIX, ONE << (position & LOW_6)
        if count < size and answered[word] & bit and not out[word] & bit:
            out[word] |= bit
            count += 1
        elif count > size and out[word] & bit:
            out[word] ^= bit
            count -= 1
    state[0], state[1], state[2], state[3] = s0, s1, s2, s3


@njit
def shuffle_rows(state, answered, n, totals, sizes, out):
    """Fill `out` (k, words) with random rows that keep each row's number of yes answers."""
    for i in range(out.shape[0]):
        _random_subset(state, answered[i], n, totals[i], sizes[i], out[i])


@njit
def shuffle_columns(state, yes, answered, n, out):
    """Permute each column's answers among the rows that answered it."""
    k = yes.shape[0]
    rows = np.empty(k, dtype=np.int64)
    out[:] = ZERO
    for q in range(n):
        w, bit = q >> 6, ONE << np.uint64(q & 63)
        count, size = 0, 0
        for i in range(k):
            if answered[i, w] & bit:
                rows[count] = i
                count += 1
                if yes[i, w] & bit:
                    size += 1
        for s in range(size):
            pick = s + below(state, count - s)
            rows[s], rows[pick] = rows[pick], rows[s]
            out[rows[s], w] |= bit


@njit
def _trade(state, n, rows, answered, work):
    """Randomly redistribute, between two rows, the yes answers that only one row has."""
    # `rows` and `answered` hold the two rows; `work` holds two work arrays of one row each.
    first, second = rows
    free, drawn = work
    pool, wanted = 0, 0
    for w in range(first.size):
        free[w] = (first[w] ^ second[w]) & answered[0][w] & answered[1][w]
        pool += popcount(free[w])
        wanted += popcount(free[w] & first[w])
    _random_subset(state, free, n, np.int64(pool), np.int64(wanted), drawn)
    for w in range(first.size):
        first[w] = (first[w] & ~free[w]) | drawn[w]
        second[w] = (second[w] & ~free[w]) | (free[w] & ~drawn[w])


@njit
def trade_rows(state, answered, n, trades, table):
    """Make curveball trades between random pairs of rows of `table`, in place."""
    k = table.shape[0]
    work = (np.empty_like(table[0]), np.empty_like(table[0]))
    for _ in range(trades):
        i = below(state, k)
        j = below(state, k - 1)
        if j >= i:
            j += 1
        _trade(state, n, (table[i], table[j]), (answered[i], answered[j]), work)


WITHIN_MODEL, WITHIN_QUESTION, BOTH_MARGINS = 0, 1, 2
CELLS = 1 << 16  # cells of the count matrices that are drawn before they are correlated


# `design` is (yes, answered, mask, n_questions, totals, sizes): packed answers, packed flags of
# answered cells, the mask for counting (empty if complete), and per row the number of answers and
# of yes answers. Each scheme is a function of its own, because a study compiles only one of them.
@njit
def _count_shuffled_rows(seeds, design, _, table, counts):
    _, answered, mask, n_questions, totals, sizes = design
    joint, own, both = counts
    for r in range(seeds.shape[0]):
        shuffle_rows(seed_stream(seeds[r]), answered, n_questions, totals, sizes, table)
        count_answers(table, mask, (joint[r], own[r], both[r]))


@njit
def _count_shuffled_columns(seeds, design, _, table, counts):
    yes, answered, mask, n_questions, _, _ = design
    joint, own, both = counts
    for r in range(seeds.shape[0]):
        shuffle_columns(seed_stream(seeds[r]), yes, answered, n_questions, table)
        count_answers(table, mask, (joint[r], own[r], both[r]))


@njit
def _count_traded_rows(seeds, design, trades, table, counts):
    yes, answered, mask, n_questions, _, _ = design
    joint, own, both = counts
    for r in range(seeds.shape[0]):
        copy_rows(yes, table)
        trade_rows(seed_stream(seeds[r]), answered, n_questions, trades, table)
        count_answers(table, mask, (joint[r], own[r], both[r]))


_SHUFFLED = (_count_shuffled_rows, _count_shuffled_columns, _count_traded_rows)


def draw_permuted(
    seeds: WordArray, scheme: int, design: Any, n: FloatArray, trades: int, *rules: Any
) -> tuple[FloatArray, FloatArray]:
    """Draw correlations (m, k, k) and thresholds (m, k) of tables shuffled by seeds (m, 2)."""
    table = np.empty_like(design[0])

    def count(some: WordArray, counts: Counts) -> None:
        _SHUFFLED[scheme](some, design, trades, table, counts)

    return _drawn(count, seeds, n, *rules)


def draw_one_factor(
    seeds: WordArray,
    loadings: FloatArray,
    cuts: FloatArray,
    design: Any,
    n: FloatArray,
    *rules: Any,
) -> tuple[FloatArray, FloatArray]:
    """Draw correlations and thresholds of tables simulated from the one-factor model."""
    table, mask, n_questions = np.empty_like(design[0]), design[2], design[3]

    def count(some: WordArray, counts: Counts) -> None:
        draw_counts(loadings, cuts, n_questions, mask, some, table, counts)

    return _drawn(count, seeds, n, *rules)


def _drawn(
    count: Callable[[WordArray, Counts], None],
    seeds: WordArray,
    n: FloatArray,
    rule: int,
    fixed: bool,
) -> tuple[FloatArray, FloatArray]:
    """Correlate the tables whose counts `count` fills; `n` (k, k) are their common answers."""
    (m, k), step = (len(seeds), len(n)), max(1, CELLS // n.size)
    matrices, thresholds = np.empty((m, k, k)), np.empty((m, k))
    shape = (min(m, step), k, k)
    counts = np.empty(shape), np.empty(shape), np.repeat(n[None], shape[0], axis=0)
    for low in range(0, m, step):
        high = min(low + step, m)
        joint, yes, both = (one[: high - low] for one in counts)
        count(seeds[low:high], (joint, yes, both))
        own = (np.ascontiguousarray(np.diagonal(of, axis1=1, axis2=2)) for of in (yes, both))
        thresholds[low:high] = thresholds_of(*own)
        matrices[low:high] = correlations((joint, yes, both), thresholds[low:high], rule, fixed)
    return matrices, thresholds


@njit
def trade_path(seed, design, stops):
    """Return the proportion of answered cells changed after each number of trades in `stops`."""
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
