"""Own answer against shared signal: likelihood ratios, areas, fair cuts, degenerate models."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from psychollm._base.errors import OptionError, ShapeError
from psychollm.calibration.consensus.individuation import individuation
from psychollm.calibration.consensus.signals import (
    consensus_scores,
    cut_at_rate,
    cut_signal,
    ranked_signal,
    shared_expectation,
)
from psychollm.calibration.discrimination.ranking import auroc
from psychollm.estimates.reasons import Reason
from psychollm.estimates.resampling import Bootstrap
from tests.oracles import calibration_slow as slow


def exact_scores(seed=0, k=6, n=400, own=0.0):
    """Answers whose shared score is known without error; `own` is what a yes adds in log odds."""
    rng = np.random.default_rng(seed)
    score = rng.normal(size=n)
    said = (rng.random((k, n)) < 1 / (1 + np.exp(-score))).astype(float)
    right = (rng.random((k, n)) < 1 / (1 + np.exp(-0.5 - score - own * said))).astype(float)
    return said, right, np.tile(score, (k, 1))


def test_likelihood_ratio_and_odds_ratio_by_a_general_optimiser():
    said, right, scores = exact_scores(own=0.7, k=2)
    found = individuation(said, right, scores, bootstrap=2, rng=0)
    for m in range(2):
        plain = np.column_stack([np.ones(400), scores[m]])
        full = np.column_stack([plain, said[m]])
        beta, value = slow.logistic(full, right[m])
        statistic = 2 * (value - slow.logistic(plain, right[m])[1])
        assert found.statistic[m] == pytest.approx(statistic, abs=1e-7)
        assert found.p_value[m] == pytest.approx(stats.chi2.sf(statistic, 1), rel=1e-6)
        assert found.odds_ratio.value[m] == pytest.approx(np.exp(beta[2]), rel=1e-5)


def test_false_alarms_and_power_where_the_score_is_exact():
    # 30 x 6 tests at nominal 5 %: Monte Carlo error 1.6 %. With log odds of .9, of 60: power
    # above .8.
    alarms, hits = (
        [
            individuation(*exact_scores(seed, own=own), bootstrap=2, rng=0).p_value < 0.05
            for seed in range(seeds)
        ]
        for own, seeds in ((0.0, 30), (0.9, 10))
    )
    assert 0.01 < np.mean(alarms) < 0.10
    assert np.mean(hits) > 0.8


def test_areas_are_those_of_the_ranking():
    said, right, scores = exact_scores(1)
    found = individuation(said, right, scores, bootstrap=2, rng=0)
    votes = consensus_scores(said, np.ones(said.shape, dtype=bool))
    for estimate, signal in ((found.shared, scores), (found.own, said), (found.consensus, votes)):
        np.testing.assert_allclose(estimate.value, auroc(signal, right).value, rtol=1e-12)
    np.testing.assert_allclose(
        found.own_minus_shared.value, found.own.value - found.shared.value, rtol=1e-12
    )
    assert found.average.labels[0] == "shared"
    assert found.average.value[0] == pytest.approx(found.shared.value.mean())


def test_areas_of_resamples_are_those_of_repeated_questions():
    rng = np.random.default_rng(2)
    signal, correct = rng.integers(0, 5, 30).astype(float), rng.integers(0, 2, 30).astype(float)
    counts = rng.multinomial(30, np.full(30, 1 / 30), size=5).astype(float)
    used = np.ones(30, dtype=bool)
    used[:3] = False
    ranked = ranked_signal(signal, correct, used).areas(counts)
    yes = (signal > 2).astype(float)
    cut = cut_signal(yes, correct, used).areas(counts)
    for row, count in enumerate(counts.astype(int)):
        repeated = np.repeat(np.arange(3, 30), count[3:])
        assert ranked[row] == pytest.approx(slow.area(signal[repeated], correct[repeated]))
        assert cut[row] == pytest.approx(slow.area(yes[repeated], correct[repeated]))


def test_one_class_in_a_resample_is_undefined():
    ranked = ranked_signal(np.arange(3.0), np.array([1.0, 0.0, 1.0]), np.ones(3, dtype=bool))
    assert np.isnan(ranked.areas(np.array([[3.0, 0.0, 0.0]]))).all()


@given(
    st.lists(st.integers(0, 3), min_size=2, max_size=12),
    st.floats(0.0, 1.0),
)
def test_a_cut_says_yes_at_the_wanted_rate(signal, rate):
    values = np.array(signal, dtype=float)
    cut = cut_at_rate(values, np.ones(values.size, dtype=bool), rate)
    assert cut.mean() == pytest.approx(rate, abs=1e-12)
    assert ((cut >= 0) & (cut <= 1)).all()
    assert (np.diff(cut[np.argsort(values)]) >= 0).all()


def test_ties_at_the_cut_are_broken_by_chance():
    signal = np.array([3.0, 2, 2, 2, 1, 1])
    found = cut_at_rate(signal, np.ones(6, dtype=bool), 0.4)
    # 4,000 random orders: standard error .008.
    np.testing.assert_allclose(found, slow.cut_by_chance(signal, 0.4), atol=0.03)


def test_consensus_is_the_vote_of_the_others():
    said = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 0.0]])
    present = np.array([[True, True], [True, False], [True, False]])
    votes = consensus_scores(said, present)
    np.testing.assert_array_equal(votes, [[0.5, np.nan], [0.5, 0.0], [1.0, 0.0]])


def test_models_that_cannot_be_tested_have_a_reason():
    said, right, scores = exact_scores(3, k=6, n=60)
    said[0], said[1] = 1.0, 0.0
    right[2], right[3] = 1.0, 0.0
    said[4] = np.nan
    scores[5] = np.nan
    found = individuation(said, right, scores, bootstrap=5, rng=0)
    assert found.reason == (
        Reason.NO_NO,
        Reason.NO_YES,
        Reason.NO_WRONG,
        Reason.NO_CORRECT,
        Reason.NO_ANSWERS,
        Reason.NO_SHARED_SCORE,
    )
    assert np.isnan(found.p_adjusted).all()
    assert np.isnan(found.average.value).all()
    assert np.isnan(found.own_minus_cut.interval).all()


def test_separation_is_flagged_and_finite():
    said, right, scores = exact_scores(4, k=3)
    right[0, said[0] == 1] = 1.0
    found = individuation(said, right, scores, bootstrap=5, rng=0)
    assert found.odds_ratio.flags == (Reason.SEPARATED, Reason.NONE, Reason.NONE)
    assert np.isfinite(found.odds_ratio.interval).all()
    assert found.p_value[0] < 1e-6


def test_the_mean_vote_is_the_default_score():
    said, right, _ = exact_scores(5)
    votes = consensus_scores(said, np.ones(said.shape, dtype=bool))
    first, second = (
        individuation(said, right, scores, bootstrap=2, rng=0) for scores in (None, votes)
    )
    np.testing.assert_array_equal(first.p_value, second.p_value)
    np.testing.assert_array_equal(first.p_value, first.consensus_p_value)


def test_the_same_bits_for_any_number_of_jobs():
    one, two = (
        individuation(*exact_scores(k=3, n=80), bootstrap=Bootstrap(21, n_jobs=jobs), rng=7)
        for jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.own_minus_cut.interval, two.own_minus_cut.interval)


def test_expected_correctness_follows_the_score():
    rng = np.random.default_rng(6)
    score = rng.normal(size=5000)
    truth = 1 / (1 + np.exp(-score))
    right = (rng.random((2, 5000)) < truth).astype(float)
    graded = np.ones(right.shape, dtype=bool)
    graded[1] = False
    found = shared_expectation(score, right, graded)
    # 5,000 questions, four coefficients: standard error about .015 in the middle.
    assert np.abs(found.chance[0] - truth).mean() < 0.02
    assert np.isnan(found.chance[1]).all()
    assert (found.residual[1] == 0).all()


def test_bad_input():
    said, right, scores = exact_scores(k=2, n=20)
    with pytest.raises(ShapeError, match="scores has 1 dimension"):
        individuation(said, right, scores[0])
    with pytest.raises(OptionError, match="folds"):
        individuation(said, right, n_folds=1)
    with pytest.raises(OptionError, match="bootstrap"):
        individuation(said, right, bootstrap=0)
    with pytest.raises(OptionError, match="'holm'"):
        individuation(said, right, adjustment="none", bootstrap=2)
