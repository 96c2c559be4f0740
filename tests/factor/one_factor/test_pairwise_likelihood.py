"""The precision-weighted factor solution, against its slow twin and under symmetries."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import psychollm as psy
from psychollm._base.errors import ShapeError
from psychollm.factor.one_factor.pairwise_likelihood import (
    exploratory_pairwise_likelihood,
    pairwise_likelihood,
    principal_axes,
)
from tests.effort import examples
from tests.oracles import pairwise_likelihood_slow as slow

LOADINGS = np.array([0.9, 0.5, 0.7, 0.8, 0.6, 0.75])
THRESHOLDS = np.array([0.0, 1.5, -1.0, 0.5, -0.3, -1.8])


def table(n, seed, missing=0.0):
    made = psy.simulate_factor(
        loadings=LOADINGS, thresholds=THRESHOLDS, n_questions=n, missing=missing, rng=seed
    )
    return made.responses


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_solution_is_the_top_of_the_slow_likelihood(missing):
    answers = table(300, 2, missing)
    fit = pairwise_likelihood(answers)

    def value(loadings):
        return slow.log_likelihood(answers.values, loadings[:, None])

    assert fit.log_likelihood == pytest.approx(value(fit.loadings), rel=1e-7)
    for i in range(6):
        step = np.zeros(6)
        step[i] = 1e-3
        sides = value(fit.loadings + step), value(fit.loadings - step)
        assert max(sides) < fit.log_likelihood
        slope = (sides[0] - sides[1]) / 2e-3
        bend = (sides[0] + sides[1] - 2 * fit.log_likelihood) / 1e-6
        assert abs(slope / bend) < 2e-4  # distance to the top in loadings


def test_two_factor_solution_has_the_slow_likelihood():
    answers = table(300, 2)
    fit = exploratory_pairwise_likelihood(answers)
    expected = slow.log_likelihood(answers.values, fit.loadings)
    assert fit.log_likelihood == pytest.approx(expected, rel=1e-7)
    assert fit.log_likelihood >= pairwise_likelihood(answers).log_likelihood
    assert fit.loadings[:, 0] @ fit.loadings[:, 1] == pytest.approx(0, abs=1e-10)


def test_loadings_thresholds_and_standard_errors_are_right_over_replications():
    fits = [pairwise_likelihood(table(1000, seed)) for seed in range(200)]
    loadings = np.array([fit.loadings for fit in fits])
    spread = loadings.std(axis=0)
    assert np.allclose(loadings.mean(axis=0), LOADINGS, atol=0.025)
    assert np.allclose(np.mean([fit.thresholds for fit in fits], axis=0), THRESHOLDS, atol=0.02)
    # The standard deviation of 200 replications is known to 5 %; three of these.
    assert np.allclose(np.nanmean([fit.se for fit in fits], axis=0), spread, rtol=0.17)


def test_counts_give_the_same_solution_without_standard_errors():
    answers = table(500, 1)
    fit, from_counts = (
        pairwise_likelihood(answers),
        pairwise_likelihood(psy.PairCounts.count(answers)),
    )
    assert np.array_equal(fit.loadings, from_counts.loadings)
    assert np.isnan(from_counts.se).all()


def test_two_correlated_factors_are_measured():
    made = psy.simulate_factor(
        loadings=np.kron(np.eye(2), np.full((10, 1), 0.8)),
        thresholds=np.tile(np.linspace(-1, 1, 10), 2),
        n_questions=20_000,
        factor_correlation=[[1, 0.5], [0.5, 1]],
        rng=3,
    )
    fit = exploratory_pairwise_likelihood(made.responses)
    assert fit.shares == pytest.approx([0.48, 0.16], abs=0.01)
    assert exploratory_pairwise_likelihood(made.responses, n_factors=3).shares[2] < 0.02


def test_a_heywood_case_is_flagged_and_has_no_standard_error():
    rng = np.random.default_rng(0)
    f = rng.standard_normal(400)
    rows = [f > cut for cut in (-1, 0, 1)] + [f + rng.standard_normal(400) > 0 for _ in range(2)]
    fit = pairwise_likelihood(np.array(rows, dtype=int))
    assert fit.at_bound[:3].any()
    assert np.array_equal(np.isnan(fit.se), fit.at_bound)
    assert not fit.at_bound[3:].any()


def test_models_that_say_nothing_have_a_reason_and_no_loading():
    codes = table(200, 1).values.copy()
    codes = np.vstack([codes, np.ones(200), np.full(200, np.nan)])
    fit = pairwise_likelihood(codes)
    assert fit.reasons[6:] == ("always gave the same answer", "answered nothing")
    assert np.isnan(fit.loadings[6:]).all()
    assert np.isfinite(fit.loadings[:6]).all()
    assert fit.to_frame()["reason"].tolist() == list(fit.reasons)


def test_too_few_models():
    with pytest.raises(ShapeError, match="at least three"):
        pairwise_likelihood([[1, 0, 1], [0, 1, 1]])
    with pytest.raises(ShapeError, match="at least 5"):
        exploratory_pairwise_likelihood(table(50, 1).select(models=[0, 1, 2, 3]))


@examples(20)
@given(st.integers(0, 10_000), st.permutations(range(6)))
def test_order_and_coding_do_not_matter(seed, order):
    answers = table(400, seed)
    fit = pairwise_likelihood(answers)
    shuffled = np.random.default_rng(seed).permutation(400)
    moved = pairwise_likelihood(answers.values[np.ix_(order, shuffled)])
    assert moved.log_likelihood == pytest.approx(fit.log_likelihood, rel=1e-9)
    assert moved.loadings == pytest.approx(fit.loadings[list(order)], abs=2e-3)
    flipped = pairwise_likelihood(answers.flip([2]))
    assert flipped.log_likelihood == pytest.approx(fit.log_likelihood, rel=1e-9)
    signs = np.array([1, 1, -1, 1, 1, 1])
    assert flipped.loadings == pytest.approx(signs * fit.loadings, abs=2e-3)


def test_principal_axes_keep_what_the_loadings_reproduce():
    loadings = np.random.default_rng(1).standard_normal((7, 3))
    rotated = principal_axes(loadings)
    assert np.allclose(rotated @ rotated.T, loadings @ loadings.T)
    assert np.all(rotated.sum(axis=0) >= 0)
    assert np.all(np.diff(np.sum(rotated**2, axis=0)) <= 0)
