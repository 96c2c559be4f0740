"""Simulated one-factor answers and the statistic of their residuals."""

import numpy as np
import pytest
from scipy import stats

from psychollm.factor.one_factor.residuals import (
    draw_statistics,
    fitted_residual_eigenvalue,
    start,
)
from psychollm.kernels.one_factor import (
    NEARLY,
    count_answers,
    margin_thresholds,
    nearly_normal_cdf,
    simulate_one_factor,
)
from psychollm.kernels.pair_counts import pack_rows
from psychollm.kernels.random import normal, uniform
from tests.kernels.words import new_stream, unpack_rows

COMPLETE = np.empty((0, 0), dtype=np.uint64)


def simulate(loadings, thresholds, n, seed):
    yes = np.zeros((len(loadings), -(-n // 64)), dtype=np.uint64)
    state = new_stream(np.array([seed, 1], dtype=np.uint64))
    simulate_one_factor(np.asarray(loadings, float), np.asarray(thresholds, float), n, state, yes)
    return unpack_rows(yes, n)


def test_simulated_answers_have_the_rates_and_joint_rates_of_the_model():
    loadings, thresholds, n = [0.9, -0.6, 0.9995, 0.0], [0.0, 1.2, -2.3, 0.3], 400_000
    yes = simulate(loadings, thresholds, n, 5)
    rates = stats.norm.sf(thresholds)
    # Five standard errors: a false alarm in one of two million runs per number.
    assert np.all(np.abs(yes.mean(axis=1) - rates) < 5 * np.sqrt(rates * (1 - rates) / n))
    for i in range(4):
        for j in range(i):
            cov = [[1, loadings[i] * loadings[j]], [loadings[i] * loadings[j], 1]]
            p = stats.multivariate_normal(cov=cov).cdf([-thresholds[i], -thresholds[j]])
            joint = np.mean(yes[i] & yes[j])
            assert abs(joint - p) < 5 * np.sqrt(p * (1 - p) / n) + 1e-5


def test_far_thresholds_give_constant_answers():
    yes = simulate([0.5, 0.5, 0.999], [9.0, -9.0, 40.0], 1000, 2)
    assert yes.mean(axis=1).tolist() == [0, 1, 0]


def test_questions_beyond_the_last_word_stay_empty():
    words = np.zeros((1, 1), dtype=np.uint64)
    state = new_stream(np.array([1, 2], dtype=np.uint64))
    simulate_one_factor(np.array([0.5]), np.array([-9.0]), 10, state, words)
    assert words[0, 0] == 2**10 - 1


def test_the_polynomial_is_as_near_as_promised():
    c = np.concatenate([np.linspace(-3.3, 3.3, 200_001), [-40.0, -4.0, 4.0, 40.0, np.inf]])
    near = np.array([nearly_normal_cdf(one) for one in c])
    assert np.abs(near - stats.norm.cdf(c)).max() < NEARLY


def test_answers_are_those_of_single_draws():
    """The definition, one uniform number at a time, with the exact distribution function."""
    loadings, thresholds, n = np.array([0.9, -0.6, 0.9995]), np.array([0.3, 1.2, -2.3]), 2000
    state = new_stream(np.array([5, 1], dtype=np.uint64))
    expected = np.empty((3, n), dtype=bool)
    for first in range(0, n, 64):
        size = min(64, n - first)
        score = np.array([normal(state) for _ in range(size)])
        for i in range(3):
            u = np.array([uniform(state) for _ in range(size)])
            c = (thresholds[i] - loadings[i] * score) / np.sqrt(1 - loadings[i] ** 2)
            expected[i, first : first + size] = u > stats.norm.cdf(c)
    assert np.array_equal(simulate(loadings, thresholds, n, 5), expected)


def counts_of(yes, answered=None):
    k, n = yes.shape
    counts = (np.empty((k, k)), np.empty((k, k)), np.full((k, k), float(n)))
    mask = COMPLETE if answered is None else pack_rows(answered)
    count_answers(pack_rows(yes), mask, counts)
    return counts, mask


def p_value(yes, draws, seed, answered=None):
    counts, mask = counts_of(yes, answered)
    loadings = start(counts)
    observed = fitted_residual_eigenvalue(counts, loadings)
    seeds = np.random.default_rng(seed).integers(0, 2**63, (draws, 2)).astype(np.uint64)
    null = draw_statistics(
        fitted_residual_eigenvalue,
        loadings,
        margin_thresholds(counts),
        yes.shape[1],
        mask,
        counts[2],
        seeds,
    )
    return (np.sum(null >= observed) + 1) / (draws + 1)


@pytest.mark.parametrize(
    ("loading", "missing"),
    [(0.5, 0.0), (0.95, 0.0), (0.8, 0.3)],
    ids=["weak", "strong", "missing"],
)
def test_one_factor_is_rejected_at_the_nominal_rate(loading, missing):
    """200 tables at 5 %: more than 21 rejections in one of a thousand runs of a true 5 % test."""
    rng = np.random.default_rng(11)
    thresholds = -stats.norm.ppf(np.linspace(0.02, 0.98, 10))
    rejected = 0
    for seed in range(200):
        yes = simulate(np.full(10, loading), thresholds, 200, seed)
        answered = rng.random(yes.shape) >= missing if missing else None
        yes = yes if answered is None else yes & answered
        rejected += p_value(yes, 19, seed, answered) <= 0.05
    assert rejected <= 21


def test_two_factors_correlated_half_are_found():
    rng = np.random.default_rng(4)
    scores = rng.standard_normal((2, 1000))
    scores[1] = 0.5 * scores[0] + np.sqrt(0.75) * scores[1]
    factor = np.arange(12) % 2
    latent = 0.8 * scores[factor] + 0.6 * rng.standard_normal((12, 1000))
    yes = latent > np.linspace(-1.5, 1.5, 12)[:, None]
    assert p_value(yes, 99, 1) == 0.01


def test_constant_and_silent_models_leave_the_statistic_alone():
    yes = simulate([0.8] * 6, [0, 1, -1, 0.5, -0.5, 0], 500, 9)
    answered = np.ones((8, 500), dtype=bool)
    answered[7] = False
    more = np.concatenate([yes, np.ones((1, 500), dtype=bool), np.zeros((1, 500), dtype=bool)])
    without, _ = counts_of(yes)
    with_them, _ = counts_of(more & answered, answered)
    expected = fitted_residual_eigenvalue(without, start(without))
    found = fitted_residual_eigenvalue(with_them, start(with_them))
    assert found == pytest.approx(expected, abs=1e-3)
