"""Pairwise calibration: the slow twin, clustered errors, controls."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from psychollm._base.errors import ShapeError
from psychollm.calibration.consensus.pairwise import pairwise_calibration
from tests.oracles import calibration_slow as slow

TABLES = st.integers(2, 4).flatmap(
    lambda k: st.integers(1, 8).flatmap(
        lambda n: st.tuples(
            *[arrays(float, (k, n), elements=st.sampled_from([0.0, 1.0, np.nan]))] * 2
        )
    )
)


def answers(seed=0, k=6, n=300, own=0.0):
    rng = np.random.default_rng(seed)
    score = rng.normal(size=n)
    shift = np.linspace(-1, 1, k)[:, None]
    said = (rng.random((k, n)) < 1 / (1 + np.exp(-score - shift))).astype(float)
    ability = rng.permutation(shift)
    right = rng.random((k, n)) < 1 / (1 + np.exp(-score - ability - own * (said - 0.5)))
    return said, right.astype(float), score


@given(TABLES)
def test_differences_are_those_of_the_slow_twin(tables):
    said, right = tables
    known = ~(np.isnan(said) | np.isnan(right))
    yes, no = (said == 1) & known, (said == 0) & known
    assume((yes.any(axis=0) & no.any(axis=0)).any())
    found = pairwise_calibration(said, right)
    difference, n, pooled, _ = slow.disagreements(said, right)
    np.testing.assert_allclose(found.difference, difference, atol=1e-12)
    np.testing.assert_array_equal(found.n, n)
    assert found.pooled_difference == pytest.approx(pooled, abs=1e-12)
    assert found.n_disagreements == n.sum()
    assert found.n_questions_split + found.n_questions_unanimous == said.shape[1]


def test_base_rates_and_excess():
    said, right, _ = answers(1)
    said[0, :40] = np.nan
    found = pairwise_calibration(said, right)
    present = ~np.isnan(said)
    for i, j in ((0, 1), (3, 2)):
        assert found.base_rate[i, j] == pytest.approx(slow.base_rate(right, present, i, j))
    np.testing.assert_allclose(found.excess, found.difference - found.base_rate)
    np.testing.assert_allclose(found.base_rate, -found.base_rate.T)


def test_expected_part_by_the_shared_score():
    said, right, score = answers(2)
    found = pairwise_calibration(said, right, score)
    assert found.control == "shared score"
    from psychollm.calibration.consensus.signals import shared_expectation

    chance = shared_expectation(score, right, np.ones(right.shape, dtype=bool)).chance
    _, _, pooled, foreseen = slow.disagreements(said, right, chance)
    assert found.pooled_expected == pytest.approx(foreseen, abs=1e-12)
    assert found.pooled_excess == pytest.approx(pooled - foreseen, abs=1e-12)


@pytest.mark.parametrize("shared", [False, True])
def test_clustered_errors_are_those_of_the_jackknife(shared):
    said, right, score = answers(3, n=90)

    def excess(keep):
        scores = score[keep] if shared else None
        found = pairwise_calibration(said[:, keep], right[:, keep], scores)
        return found.pooled_excess, found.pooled_difference

    n = said.shape[1]
    without = np.array([excess(np.arange(n) != q) for q in range(n)])
    wanted = np.sqrt((n - 1) / n * ((without - without.mean(axis=0)) ** 2).sum(axis=0))
    found = pairwise_calibration(said, right, score if shared else None)
    # Influence functions and the jackknife differ by terms of order 1/n.
    assert found.pooled_excess_se == pytest.approx(wanted[0], rel=0.05)
    half = np.ptp(found.pooled_difference_interval) / 2 / 1.959964
    assert half == pytest.approx(wanted[1], rel=0.05)


def test_false_alarms_and_power():
    # Correctness depends on the score and an ability only. 150 tables, nominal 5 %: +-1.8 %.
    # Power from 40 tables of six models.
    alarms, hits = [], []
    for seed in range(150):
        low, high = pairwise_calibration(*answers(seed, k=4)).pooled_excess_interval
        alarms.append(low > 0 or high < 0)
    for seed in range(40):
        low, _ = pairwise_calibration(*answers(seed, own=0.6)).pooled_excess_interval
        hits.append(low > 0)
    assert 0.005 < np.mean(alarms) < 0.10
    assert np.mean(hits) > 0.9


def test_unanimous_questions_are_counted_and_left_out():
    said = np.array([[1, 1, 0], [1, 0, 0]])
    found = pairwise_calibration(said, [[1, 1, 0], [0, 0, 0]])
    assert (found.n_questions_unanimous, found.n_questions_split) == (2, 1)
    assert found.pooled_difference == 1.0
    nothing = pairwise_calibration([[1, 0], [1, 0]], [[1, 0], [0, 1]])
    assert nothing.n_disagreements == 0
    assert np.isnan(
        [nothing.pooled_difference, nothing.pooled_excess, nothing.pooled_excess_se]
    ).all()


def test_questions_without_a_score_are_left_out():
    said, right, score = answers(4)
    score[:100] = np.nan
    found = pairwise_calibration(said, right, score)
    rest = pairwise_calibration(said[:, 100:], right[:, 100:], score[100:])
    assert found.pooled_excess == pytest.approx(rest.pooled_excess, abs=1e-12)
    assert found.n_disagreements == rest.n_disagreements


def test_bad_input_and_table():
    said, right, score = answers(k=3, n=20)
    with pytest.raises(ShapeError, match="one number for each of the 20 questions"):
        pairwise_calibration(said, right, score[:5])
    assert len(pairwise_calibration(said, right).to_frame()) == 6
