"""Estimates of several abilities, and their information."""

import numpy as np
import pytest
from scipy.special import expit

from psychollm.irt.multidimensional import (
    fit_multidimensional,
    multidimensional_ability,
    multidimensional_information,
)
from psychollm.irt.multidimensional.abilities import rule_for
from tests.irt.test_multidimensional import SIX, simulate
from tests.oracles import irt_multidimensional_slow as slow


def test_abilities():
    loads = np.arange(10)[:, None] % 2 == np.arange(2)
    answers, *_ = simulate(500, loads, gaps=0.1)
    answers[0], answers[1], answers[2] = np.nan, 1.0, 0.0
    fit = fit_multidimensional(answers, loads)
    found = multidimensional_ability(fit, answers)
    assert np.isnan(found.ability[0]).all()
    assert found.reasons[0]
    assert (found.ability[1] > 0.5).all()
    assert (found.ability[2] < -0.5).all()
    mean, covariance = slow.posterior_moments(
        answers[7], fit.slopes, fit.intercepts, fit.factor_correlation, slow.nodes_of(2, 61)
    )
    np.testing.assert_allclose(found.ability[7], mean, atol=1e-6)
    np.testing.assert_allclose(found.covariance[7], covariance, atol=1e-6)
    assert ((found.reliability > 0.3) & (found.reliability < 0.9)).all()
    assert list(found.to_frame().columns)[1:3] == ["ability_1", "se_ability_1"]


def test_information_of_items():
    answers, *_ = simulate(400, SIX)
    fit = fit_multidimensional(answers, SIX)
    found = multidimensional_information(fit, np.zeros((1, 2)))
    p = expit(fit.intercepts)
    weight = p * (1 - p)
    np.testing.assert_allclose(found.items[0], weight * fit.slopes.sum(axis=1) ** 2)
    np.testing.assert_allclose(
        found.matrix[0], (fit.slopes * weight[:, None]).T @ fit.slopes, atol=1e-12
    )
    np.testing.assert_allclose(found.se[0], 1 / np.sqrt(np.diagonal(found.matrix[0])))


@pytest.mark.parametrize(("dimensions", "patterns", "size"), [(2, 100, 393), (5, 1000, 512)])
def test_size_of_the_rule(dimensions, patterns, size):
    assert rule_for(dimensions, patterns)[2] == size
