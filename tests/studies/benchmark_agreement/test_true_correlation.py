"""Correlations of true scores: against the dense likelihood, Fisher's interval and the truth."""

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import approx_fprime, minimize

from psychollm.studies.benchmark_agreement.true_correlation import (
    deviance,
    own_covariance,
    true_correlation,
)


@pytest.fixture
def noisy() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    k = 9
    means = rng.multivariate_normal([1.0, -2.0], [[1.0, 0.6], [0.6, 1.0]], k)
    roots = rng.normal(0.0, 0.3, (k, 2, 3))
    return means, roots @ roots.transpose(0, 2, 1)


def dense(point: np.ndarray, means: np.ndarray, errors: np.ndarray) -> float:
    """Return the restricted deviance from the density of contrasts"""
    k = len(means)
    first, second, rho = np.exp(point[0]), np.exp(point[1]), point[2]
    own = [[first**2, rho * first * second], [rho * first * second, second**2]]
    whole = np.zeros((2 * k, 2 * k))
    for m in range(k):
        whole[2 * m : 2 * m + 2, 2 * m : 2 * m + 2] = errors[m] + own
    design = np.tile(np.eye(2), (k, 1))
    contrasts = np.linalg.svd(design.T)[2][2:]  # orthonormal, without the means
    left = contrasts @ means.ravel()
    density = stats.multivariate_normal(np.zeros(2 * k - 2), contrasts @ whole @ contrasts.T)
    return float(-2.0 * density.logpdf(left) - (2 * k - 2) * np.log(2.0 * np.pi))


def test_the_deviance_is_that_of_contrasts(noisy) -> None:
    means, errors = noisy
    points = np.array([[0.0, 0.1, 0.3], [-1.0, 0.4, -0.8], [0.5, -0.5, 0.95]])
    ours = np.array([deviance(point, means, errors)[0] for point in points])
    theirs = np.array([dense(point, means, errors) for point in points])
    assert np.diff(ours) == pytest.approx(np.diff(theirs), abs=1e-8)


def test_the_gradient_is_that_of_the_deviance(noisy) -> None:
    point = np.array([-0.2, 0.1, 0.4])
    slope = approx_fprime(point, lambda one: deviance(one, *noisy)[0], 1e-6)
    assert deviance(point, *noisy)[1] == pytest.approx(slope, abs=1e-4)


def test_the_estimate_has_the_least_deviance(noisy) -> None:
    found = true_correlation(*noisy)
    bounds = [(-8.0, 3.0), (-8.0, 3.0), (-1.0, 1.0)]
    best = minimize(dense, [0.0, 0.0, 0.5], noisy, bounds=bounds, tol=1e-12)
    assert found.value == pytest.approx(best.x[2], abs=1e-3)


@pytest.mark.parametrize("k", [5, 30])
def test_without_noise_the_interval_is_that_of_t(k: int) -> None:
    means = np.random.default_rng(k).multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], k)
    found = true_correlation(means, np.zeros((k, 2, 2)))
    r = np.corrcoef(means.T)[0, 1]
    t = stats.t.isf(0.025, k - 2)
    half = np.arctanh(t / np.sqrt(k - 2 + t**2))
    assert found.value == pytest.approx(r, abs=1e-5)
    assert found.interval == pytest.approx(
        np.tanh(np.arctanh(r) + half * np.array([-1.0, 1.0])), abs=1e-4
    )


def test_scales_and_the_order_of_models_do_not_matter(noisy) -> None:
    means, errors = noisy
    found = true_correlation(means, errors)
    scale = np.array([100.0, -0.01])
    again = true_correlation(
        (means * scale)[::-1], (errors * np.outer(scale, scale))[::-1], level=0.95
    )
    assert again.value == pytest.approx(-found.value, abs=1e-4)
    assert again.interval == pytest.approx(-found.interval[::-1], abs=1e-3)


def test_noise_makes_the_interval_wider_and_the_correlation_larger() -> None:
    means = np.random.default_rng(2).multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]], 20)
    none, some = (true_correlation(means, np.tile(v * np.eye(2), (20, 1, 1))) for v in (0.0, 0.3))
    assert some.value > none.value
    assert np.ptp(some.interval) > np.ptp(none.interval)


def test_errors_that_correlate_explain_a_correlation_away() -> None:
    means = np.random.default_rng(2).multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]], 20)
    shared = np.array([[0.4, 0.3], [0.3, 0.4]])
    found = [
        true_correlation(means, np.tile(one, (20, 1, 1))).value
        for one in (shared, np.diag(np.diag(shared)))
    ]
    assert found[0] < found[1]


def test_the_difficulty_of_questions_is_no_error_of_a_model() -> None:
    rng = np.random.default_rng(1)
    own = rng.normal(0.0, [[0.1], [0.2], [0.3], [0.4]], (4, 200_000)) / np.sqrt(200_000)
    common = rng.normal(0.0, 5.0, 200_000) / np.sqrt(200_000)
    found = own_covariance(own + common, own + common)
    assert found == pytest.approx([0.01, 0.04, 0.09, 0.16], rel=0.03)
