"""Logistic regression against a general optimiser; separation."""

import numpy as np
import pytest

from psychollm.calibration.consensus.logistic import logistic
from tests.oracles import calibration_slow as slow


def data(seed, n=80, separated=False):
    rng = np.random.default_rng(seed)
    score, yes = rng.normal(size=n), (rng.random(n) < 0.4).astype(float)
    correct = (rng.random(n) < 1 / (1 + np.exp(-0.3 - score - 0.5 * yes))).astype(float)
    if separated:
        correct[yes == 1] = 1.0
    return np.column_stack([np.ones(n), score, yes]), correct


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("penalised", [False, True])
def test_against_a_general_optimiser(seed, penalised):
    design, correct = data(seed)
    fit = logistic(design, correct, penalised=penalised)
    beta, value = slow.logistic(design, correct, penalty=0.5 * penalised)
    # Nelder and Mead's own accuracy.
    np.testing.assert_allclose(fit.coefficients, beta, atol=1e-5)
    assert fit.objective == pytest.approx(value, abs=1e-9)
    assert fit.convergence.converged


def test_standard_errors_are_those_of_the_information():
    design, correct = data(5)
    fit = logistic(design, correct)
    p = 1 / (1 + np.exp(-design @ fit.coefficients))
    covariance = np.linalg.inv(design.T @ np.diag(p * (1 - p)) @ design)
    np.testing.assert_allclose(fit.se, np.sqrt(np.diag(covariance)), rtol=1e-8)


def test_one_empty_cell_is_recognised_and_its_likelihood_is_the_supremum():
    design, correct = data(6, separated=True)
    fit = logistic(design, correct)
    assert fit.separated
    # Where yes is always correct, the supremum is the fit to the other questions alone.
    rest = design[:, 2] == 0
    alone = logistic(design[rest][:, :2], correct[rest])
    assert fit.log_likelihood == pytest.approx(alone.log_likelihood, abs=1e-8)


def test_complete_separation():
    x = np.array([-2.0, -1.0, 1.0, 2.0])
    fit = logistic(np.column_stack([np.ones(4), x]), np.array([0.0, 0, 1, 1]))
    assert fit.separated
    assert fit.log_likelihood == pytest.approx(0.0, abs=1e-8)


def test_penalised_estimates_stay_finite():
    design, correct = data(6, separated=True)
    fit = logistic(design, correct, penalised=True)
    beta, _ = slow.logistic(design, correct, penalty=0.5)
    np.testing.assert_allclose(fit.coefficients, beta, atol=1e-4)
    assert not fit.separated


def test_steep_but_overlapping_data_are_not_separated():
    x = np.linspace(-50, 50, 200)
    y = (x > 0).astype(float)
    y[[99, 100]] = 1.0, 0.0
    assert not logistic(np.column_stack([np.ones(200), x]), y).separated
