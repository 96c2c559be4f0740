"""Shuffled tables keep their margins and are uniform among those that do."""

import json
from collections import Counter
from functools import partial

import numpy as np
import pandas as pd
import pytest

from psychollm.kernels.null_matrices import shuffle_columns, shuffle_rows, trade_rows
from psychollm.kernels.pair_counts import pack_rows
from tests.kernels.words import new_stream, unpack_rows


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


def respondents(folder, case):
    """Return the table of a golden case, respondents by questions."""
    if case.startswith("lsat7"):
        patterns = pd.read_csv(folder / "lsat7_patterns.csv").to_numpy()
        return np.repeat(patterns[:, :-1], patterns[:, -1], axis=0)[::5] == 1
    name, most = {"bin12s": ("synth_bin12", 150), "llm200": ("synth_llm200x10", None)}[
        case.partition("_")[0]
    ]
    return pd.read_csv(folder / f"{name}.csv").to_numpy()[:most] == 1


def statistics(yes):
    """Return what the golden cases record: of phi coefficients, and of respondents' totals."""
    phi = np.corrcoef(yes.T.astype(float))
    pairs = phi[np.tril_indices(len(phi), -1)]
    values = np.linalg.eigvalsh(phi)[::-1][:3]
    return np.array([*values, yes.sum(axis=1).var(ddof=1), np.abs(pairs).mean()])


@pytest.mark.parametrize("case", ["lsat7_curveball", "bin12s_r0", "llm200_r0", "llm200_curveball"])
def test_null_distributions_are_those_of_vegan(golden, case):
    """Means of 500 draws each; at four errors, a right program fails one seed in a thousand."""
    folder = golden / "psychometrics"
    held = json.loads((folder / "permutation_nulls.json").read_text())["rows"]
    row = next(one for one in held if one["id"] == case)
    yes = respondents(folder, case)
    answered = np.ones_like(yes)
    np.testing.assert_allclose(statistics(yes), row["observed"], rtol=1e-12)
    draw = rows if case.endswith("r0") else partial(traded, trades=40 * len(yes))
    found = np.array([statistics(draw(yes, answered, seed)) for seed in range(row["nsim"])])
    sd = np.array(row["null_sd"])
    error = np.sqrt((sd**2 + found.var(axis=0, ddof=1)) / row["nsim"])
    gap = np.abs(found.mean(axis=0) - row["null_mean"])
    assert (gap <= 4 * error + 1e-12).all(), gap / error
    vary = sd > 0
    np.testing.assert_allclose(found.std(axis=0, ddof=1)[vary], sd[vary], rtol=0.15)
