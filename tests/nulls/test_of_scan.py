"""Nulls of answers that are read once: the bits of the same table in memory."""

import numpy as np
import pandas as pd
import pytest

import psychollm as psy
from psychollm._base.errors import CodeError, ShapeError
from psychollm.data import pair_counts
from psychollm.data.pair_counts import CountedAnswers

pytest.importorskip("pyarrow")


def both(missing: float) -> tuple[psy.Responses, psy.data.Scan]:
    """A table, and its answers in rows; the first model answers all, so that order stays."""
    rng = np.random.default_rng(0)
    signal = 0.8 * rng.normal(size=200) + 0.6 * rng.normal(size=(6, 200))
    values = (signal > np.linspace(-0.9, 0.9, 6)[:, None]).astype(float)
    values[1:][rng.random((5, 200)) < missing] = np.nan
    rows = {"model": np.repeat(np.arange(6), 200), "question": np.tile(np.arange(200), 6)}
    long = pd.DataFrame({**rows, "value": values.ravel()})
    return psy.Responses(values), psy.data.scan(long.dropna())


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_counts_and_planes_are_those_of_the_table(missing):
    table, scan = both(missing)
    one, other = CountedAnswers.of(table), CountedAnswers.of(scan)
    for name in ("joint", "yes", "n", "squares"):
        assert np.array_equal(getattr(one.counts, name), getattr(other.counts, name))
    assert np.array_equal(one.mask, other.mask)
    assert all(map(np.array_equal, one.planes, other.planes))


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("scheme", ["within_model", "within_question", "both_margins"])
def test_permutations_have_the_same_bits(missing, scheme):
    table, scan = both(missing)
    how = {"scheme": scheme, "n_null": 20, "rng": 3}
    one, other = psy.permutation_null(table, **how), psy.permutation_null(scan, **how, n_jobs=2)
    assert np.array_equal(one.draws, other.draws)
    assert np.array_equal(one.observed, other.observed)


def test_one_factor_replicates_have_the_same_bits():
    table, scan = both(0.2)
    one, other = (psy.one_factor_null(each, n_null=20, rng=3) for each in (table, scan))
    assert np.array_equal(one.draws, other.draws)


def test_what_does_not_fit_is_refused(monkeypatch):
    _, scan = both(0.2)
    monkeypatch.setattr(pair_counts, "MAX_BITS", 100)
    with pytest.raises(ShapeError, match="6 models x 200 questions take .* GB as bits"):
        psy.permutation_null(scan, n_null=5)


def test_graded_answers_are_refused():
    long = pd.DataFrame({"model": list("aabb"), "question": [1, 2, 1, 2], "value": [0, 3, 1, 2]})
    with pytest.raises(CodeError, match="has code 3, but yes/no answers"):
        psy.permutation_null(psy.data.scan(long), n_null=5)
