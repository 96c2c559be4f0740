"""`pair_residuals`: by hand, and under given loadings."""

import numpy as np
import pytest
from scipy import stats

import psychollm as psy
from psychollm._base.errors import ShapeError
from psychollm.factor.one_factor.pairwise_likelihood import pairwise_likelihood
from psychollm.factor.one_factor.residuals import pair_residuals
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
