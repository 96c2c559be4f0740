"""Pair counts against loops, and as sufficient statistics that add up."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psychollm._base.errors import CodeError, LabelError, OptionError
from psychollm.data.pair_counts import PairCounts
from psychollm.data.responses import Responses
from tests.oracles import pair_counts_slow as slow


def table(k=5, n=130, missing=0.0, seed=0):
    rng = np.random.default_rng(seed)
    values = (rng.random((k, n)) < 0.4).astype(float)
    values[rng.random((k, n)) < missing] = np.nan
    return Responses(values)


@pytest.mark.parametrize("missing", [0.0, 0.25])
@pytest.mark.parametrize("weighted", [False, True])
def test_slow_twin(missing, weighted):
    responses = table(missing=missing)
    weights = np.linspace(0, 3, 130) if weighted else None
    counts = PairCounts.count(responses, weights=weights)
    joint, yes, n = slow.count(responses.codes, responses.missing, weights)
    np.testing.assert_allclose(counts.joint, joint, atol=1e-10)
    np.testing.assert_allclose(counts.yes, yes, atol=1e-10)
    np.testing.assert_allclose(counts.n, n, atol=1e-10)


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_cells_are_empty_with_weights_where_they_are_without(missing):
    """Sums of weights that rounded would leave 1e-15 where nobody is."""
    rng = np.random.default_rng(3)
    values = (rng.normal(size=(60, 1000)) > rng.normal(size=(60, 1)) * 2.0).astype(float)
    values[::3] = 1.0 - values[1::3]
    values[rng.random(values.shape) < missing] = np.nan
    counts = PairCounts.count(Responses(values))
    weighted = PairCounts.count(Responses(values), weights=rng.exponential(size=1000))
    assert np.array_equal(weighted.empty_cells(), counts.empty_cells())
    assert counts.empty_cells().max() >= 2


@given(st.integers(1, 129), st.sampled_from([0.0, 0.3]))
def test_blocks_add_up_to_the_whole(cut, missing):
    whole = table(missing=missing)
    first = whole.select(questions=whole.questions[:cut])
    second = whole.select(questions=whole.questions[cut:])
    total = PairCounts.count(first) + PairCounts.count(second)
    direct = PairCounts.count(whole)
    for name in ("joint", "yes", "n", "squares"):
        assert np.array_equal(getattr(total, name), getattr(direct, name))


def test_counting_questions_is_counting_the_transposed_table():
    responses = table(6, 9, 0.2)
    assert np.array_equal(
        PairCounts.count(responses, of="questions").joint,
        PairCounts.count(responses.transpose()).joint,
    )


def test_counts_of_other_models_do_not_add():
    with pytest.raises(LabelError, match="cannot be added"):
        PairCounts.count(table(3)) + PairCounts.count(table(4))


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.full(130, -1.0), r"weights\[0\] = -1"),
        (np.zeros(130), "sum to zero"),
        (np.ones(3), "one number per question"),
        (np.full(130, np.nan), "finite"),
    ],
)
def test_bad_weights(weights, message):
    with pytest.raises(OptionError, match=message):
        PairCounts.count(table(), weights=weights)


def test_graded_answers_are_refused():
    with pytest.raises(CodeError, match="split"):
        PairCounts.count(Responses([[0, 1, 2], [1, 0, 2]]))


def test_empty_cells_and_frame():
    counts = PairCounts.count([[1, 1, 0, 0], [1, 0, 0, 0], [1, 0, 1, 0]])
    assert counts.empty_cells()[0, 1] == 1
    assert counts.empty_cells()[0, 2] == 0
    frame = counts.to_frame()
    assert frame[["n11", "n10", "n01", "n00"]].sum(axis=1).eq(4).all()
    assert "2 pairs with an empty cell" in repr(counts)
