"""Residuals of pair tables by hand, and their test."""

import numpy as np
import pytest
from scipy import stats

import psychollm as psy
from psychollm._base.errors import OptionError, ShapeError
from psychollm.factor.one_factor.pairwise_likelihood import pairwise_likelihood
from psychollm.factor.one_factor.residuals import pair_residuals, residual_test, second_share_test
from tests.oracles import pairwise_likelihood_slow as slow


def one_factor(n=500, seed=1, k=6, missing=0.0):
    return psy.simulate_factor(
        loadings=np.linspace(0.5, 0.9, k),
        thresholds=np.linspace(-1.5, 1.5, k),
        n_questions=n,
        missing=missing,
        rng=seed,
    ).responses


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_expected_counts_and_residuals_by_hand(missing):
    answers = one_factor(missing=missing)
    result = pair_residuals(answers)
    loadings = pairwise_likelihood(answers).loadings
    values = answers.values
    both = np.isfinite(values[4]) & np.isfinite(values[1])
    x, y = values[4, both], values[1, both]
    taus = stats.norm.isf([x.mean(), y.mean()])
    p = slow.cell_probabilities(*taus, loadings[4] * loadings[1])
    assert result.n[4, 1] == both.sum()
    assert result.observed[4, 1] == np.sum(x * y)
    assert result.expected[4, 1] == pytest.approx(both.sum() * p[0], rel=1e-6)
    sd = np.sqrt(both.sum() / np.sum(1 / p) + 0.5)
    expected = (result.observed[4, 1] - result.expected[4, 1]) / sd
    assert result.standardised[4, 1] == pytest.approx(expected, abs=1e-5)
    table = result.to_frame()
    assert len(table) == 15
    assert table["standardised"].abs().is_monotonic_decreasing


def test_residuals_under_given_loadings_and_models_without():
    answers = one_factor()
    result = pair_residuals(answers, loadings=[0.5, 0.6, np.nan, 0.7, 0.8, 0.9])
    assert np.all(result.standardised[2] == 0)
    assert np.isnan(result.expected[2]).all()
    with pytest.raises(ShapeError, match="each of the 6 models"):
        pair_residuals(answers, loadings=[0.5])


def test_p_value_is_repeatable_whatever_the_number_of_jobs():
    answers = one_factor(missing=0.1)
    first = residual_test(answers, n_null=60, rng=5)
    second = residual_test(answers, n_null=60, rng=5, n_jobs=2)
    assert np.array_equal(first.draws, second.draws)
    assert first.p_value == (1 + np.sum(first.draws >= first.observed)) / 61


def test_independence_is_kept_for_independent_models_and_rejected_for_related_ones():
    rng = np.random.default_rng(1)
    apart = (rng.random((8, 400)) < np.linspace(0.05, 0.9, 8)[:, None]).astype(int)
    assert residual_test(apart, factors=0, n_null=99, rng=1).p_value > 0.05
    assert residual_test(one_factor(), factors=0, n_null=99, rng=1).p_value == 0.01


def test_share_of_a_second_factor_beside_its_null():
    one = second_share_test(one_factor(n=2000, k=12), n_null=49, rng=1)
    assert one.p_value > 0.05
    two = psy.simulate_factor(
        loadings=np.kron(np.eye(2), np.full((6, 1), 0.8)),
        thresholds=np.tile(np.linspace(-1, 1, 6), 2),
        n_questions=2000,
        factor_correlation=[[1, 0.3], [0.3, 1]],
        rng=2,
    )
    found = second_share_test(two.responses, n_null=49, rng=1)
    assert found.p_value == 0.02
    assert found.observed == pytest.approx(0.224, abs=0.03)
    assert found.to_frame().shape == (1, 9)


def test_three_models_cannot_be_tested():
    with pytest.raises(ShapeError, match="with three, one factor always fits"):
        residual_test(one_factor().select(models=[0, 1, 2]))
    with pytest.raises(OptionError, match="factors=2"):
        residual_test(one_factor(), factors=2)
