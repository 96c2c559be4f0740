"""Derivatives of the pairwise likelihoods, and fits that must not depend on their start."""

import numpy as np
import pytest

from psychollm.factor.one_factor.residuals import second_share, start
from psychollm.kernels.one_factor import count_answers, simulate_one_factor
from psychollm.kernels.pairwise_factors import add_factor, fit_pairwise_factors
from psychollm.kernels.pairwise_likelihood import (
    BOUND,
    CONVERGED,
    evaluate,
    fit_pairwise,
    pair_margins,
    residuals,
    start_loadings,
)
from tests.kernels.words import new_stream

K, N = 7, 900
LOADINGS = np.array([0.9, -0.5, 0.7, 0.8, -0.6, 0.75, 0.4])


@pytest.fixture(scope="module")
def problem():
    """Counts, thresholds and yes rates of one simulated table."""
    yes = np.zeros((K, -(-N // 64)), dtype=np.uint64)
    state = new_stream(np.array([3, 4], dtype=np.uint64))
    simulate_one_factor(LOADINGS, np.linspace(-1.5, 1.5, K), N, state, yes)
    counts = (np.empty((K, K)), np.empty((K, K)), np.full((K, K), float(N)))
    count_answers(yes, np.empty((0, 0), dtype=np.uint64), counts)
    tau, rate = np.empty((K, K)), np.empty((K, K))
    pair_margins(counts[1], counts[2], tau, rate)
    return counts, tau, rate


def value_and_gradient(problem, z):
    gradient, information = np.empty(K), np.empty((K, K))
    value = evaluate(*problem, z, np.empty(K), gradient, information)
    return value, gradient, information


def test_gradient_is_the_slope_of_the_value(problem):
    z = np.arctanh(np.array([0.5, -0.3, 0.6, 0.9, -0.1, 0.2, 0.8]))
    _, gradient, information = value_and_gradient(problem, z)
    for i in range(K):
        step = np.zeros(K)
        step[i] = 1e-4
        slope = value_and_gradient(problem, z + step)[0] - value_and_gradient(problem, z - step)[0]
        assert slope / 2e-4 == pytest.approx(gradient[i], rel=1e-5, abs=1e-3)
    assert np.array_equal(information, information.T)
    assert np.linalg.eigvalsh(information)[0] > 0


def test_the_fit_does_not_depend_on_its_start(problem):
    counts, tau, rate = problem
    best = np.empty(K)
    start_loadings(counts, tau, best)
    assert np.all(np.sign(best) == np.sign(best[0]) * np.sign(LOADINGS))
    value, _, status = fit_pairwise(counts, tau, rate, best, 1e-8, 200)
    assert status == CONVERGED
    for seed in range(5):
        rng = np.random.default_rng(seed)
        other = np.sign(best) * rng.uniform(0.1, 0.9, K)
        again, _, _ = fit_pairwise(counts, tau, rate, other, 1e-8, 200)
        assert again == pytest.approx(value, rel=1e-10)
        assert other == pytest.approx(best, abs=1e-4)


def test_loadings_never_leave_the_bound(problem):
    counts, tau, rate = problem
    same = (counts[0].copy(), counts[1], counts[2])
    same[0][0, 3] = same[0][3, 0] = min(counts[1][0, 0], counts[1][3, 3])
    loadings = np.empty(K)
    start_loadings(same, tau, loadings)
    fit_pairwise(same, tau, rate, loadings, 1e-6, 200)
    assert np.abs(loadings).max() <= BOUND + 1e-12


def test_more_factors_fit_no_worse_and_leave_no_direction(problem):
    counts, tau, rate = problem
    one = np.empty(K)
    start_loadings(counts, tau, one)
    value, _, _ = fit_pairwise(counts, tau, rate, one, 1e-8, 200)
    z = np.empty((K, K))
    residuals(counts, tau, rate, one[:, None], z)
    wide = np.empty((K, 2))
    add_factor(z, one[:, None], wide)
    assert np.all(np.sum(wide**2, axis=1) < 1)
    better, _, status = fit_pairwise_factors(counts, tau, rate, wide, 1e-6, 500)
    assert status == CONVERGED
    assert better >= value
    assert np.all(np.sum(wide**2, axis=1) < 1)
    left = np.empty((K, K))
    residuals(counts, tau, rate, wide, left)
    assert np.linalg.eigvalsh(left)[-1] < np.linalg.eigvalsh(z)[-1]


def test_second_share_of_one_factor_is_small(problem):
    counts, _, _ = problem
    assert 0 < second_share(counts, start(counts)) < 0.15


def test_pairs_that_say_nothing_are_marked():
    yes = np.array([[5.0, 2.0, 0.0], [3.0, 6.0, 0.0], [0.0, 0.0, 0.0]])
    n = np.array([[10.0, 4.0, 0.0], [4.0, 10.0, 0.0], [0.0, 0.0, 0.0]])
    tau, rate = np.empty((3, 3)), np.empty((3, 3))
    pair_margins(yes, n, tau, rate)
    assert tau[0, 1] == pytest.approx(0)
    assert rate[1, 0] == 0.75
    assert np.isnan(tau[2]).all()
    assert np.isnan(tau[:2, 2]).all()
