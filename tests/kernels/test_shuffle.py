"""Shuffled tables keep their margins and are uniform among those that do."""

from collections import Counter

import numpy as np
import pytest

from psychollm.kernels.pair_counts import pack_rows, unpack_rows
from psychollm.kernels.random import new_stream
from psychollm.kernels.shuffle import shuffle_columns, shuffle_rows, trade_rows


def stream(seed):
    return new_stream(np.array([seed, 9], dtype=np.uint64))


def table(k=6, n=150, missing=0.0, seed=0):
    rng = np.random.default_rng(seed)
    answered = rng.random((k, n)) >= missing
    yes = (rng.random((k, n)) < rng.uniform(0.02, 0.98, (k, 1))) & answered
    return yes, answered


def rows(yes, answered, seed):
    out = np.empty_like(pack_rows(yes))
    shuffle_rows(
        stream(seed),
        pack_rows(answered),
        yes.shape[1],
        answered.sum(axis=1),
        yes.sum(axis=1),
        out,
    )
    return unpack_rows(out, yes.shape[1])


def columns(yes, answered, seed):
    out = np.empty_like(pack_rows(yes))
    shuffle_columns(stream(seed), pack_rows(yes), pack_rows(answered), yes.shape[1], out)
    return unpack_rows(out, yes.shape[1])


def traded(yes, answered, seed, trades=50):
    out = pack_rows(yes).copy()
    trade_rows(stream(seed), pack_rows(answered), yes.shape[1], trades, out)
    return unpack_rows(out, yes.shape[1])


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_margins(missing):
    yes, answered = table(missing=missing)
    by_row, by_column, both = (f(yes, answered, 4) for f in (rows, columns, traded))
    for drawn in (by_row, by_column, both):
        assert not (drawn & ~answered).any()
        assert not np.array_equal(drawn, yes)
    assert np.array_equal(by_row.sum(axis=1), yes.sum(axis=1))
    assert np.array_equal(by_column.sum(axis=0), yes.sum(axis=0))
    assert np.array_equal(both.sum(axis=1), yes.sum(axis=1))
    assert np.array_equal(both.sum(axis=0), yes.sum(axis=0))


def chi_square(counts, cells, draws):
    expected = draws / cells
    seen = np.array(list(counts.values()) + [0] * (cells - len(counts)))
    return ((seen - expected) ** 2 / expected).sum()


@pytest.mark.parametrize(("size", "subsets"), [(1, 6), (2, 15), (3, 20), (5, 6)])
def test_subsets_are_uniform(size, subsets):
    yes = np.zeros((2, 6), dtype=bool)
    yes[:, :size] = True
    answered = np.ones_like(yes)
    draws = 3000
    counts = Counter(tuple(rows(yes, answered, seed)[0]) for seed in range(draws))
    # The chi-square statistic has mean df and variance 2 df: six standard deviations.
    df = subsets - 1
    assert chi_square(counts, subsets, draws) < df + 6 * np.sqrt(2 * df)


def test_trades_reach_all_tables_with_given_margins_equally_often():
    """3 x 3 tables with all margins one are the six permutation matrices."""
    yes = np.eye(3, dtype=bool)
    answered = np.ones_like(yes)
    draws = 3000
    counts = Counter(tuple(traded(yes, answered, seed, 30).ravel()) for seed in range(draws))
    assert len(counts) == 6
    assert chi_square(counts, 6, draws) < 5 + 6 * np.sqrt(10)


def test_packing_round_trip():
    yes, _ = table(3, 130)
    assert np.array_equal(unpack_rows(pack_rows(yes), 130), yes)
