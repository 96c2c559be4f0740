"""Posteriors on uniform nodes, and moments by orthonormal polynomials."""

import math

import numpy as np
import pytest

from psychollm.kernels.quadrature import normal_grid, normalise_rows, weighted_polynomials


def test_grid_integrates_the_normal():
    nodes, log_weights = normal_grid(61)
    weights = np.exp(log_weights)
    moments = [float(weights @ nodes**k) for k in range(7)]
    # outside lies 8e-11 of the mass, times 6.5^6
    np.testing.assert_allclose(moments, [1, 0, 1, 0, 3, 0, 15], atol=1e-5)


@pytest.mark.parametrize("place", [-6.5, -0.31, 0.0, 2.77, 6.5])
@pytest.mark.parametrize("sd", [0.15, 0.5, 2.0])
@pytest.mark.parametrize("height", [-5000.0, 0.0])
def test_posteriors_are_those_of_a_loop(place, sd, height):
    nodes, log_weights = normal_grid(181)
    joint = height - 0.5 * ((nodes - place) / sd) ** 2 + log_weights
    top = max(joint)
    values = [math.exp(x - top) for x in joint]
    posterior = joint[None].copy()
    marginal = normalise_rows(posterior)
    np.testing.assert_allclose(posterior[0], np.array(values) / sum(values), rtol=1e-10)
    np.testing.assert_allclose(marginal[0], top + math.log(sum(values)), rtol=1e-13)


def test_polynomials_give_covariances():
    nodes, log_weights = normal_grid(121)
    rng = np.random.default_rng(1)
    joint = log_weights - 0.5 * ((nodes - rng.normal(size=(5, 1))) / 0.4) ** 2
    normalise_rows(joint)
    one, two = 1 / (1 + np.exp(-1.5 * nodes)), np.tanh(nodes)
    total = np.zeros(5)
    for weighted in weighted_polynomials(joint, nodes, 24):
        total += (weighted @ one) * (weighted @ two)
    expected = joint @ (one * two) - (joint @ one) * (joint @ two)
    np.testing.assert_allclose(total, expected, atol=1e-12)


def test_posterior_on_one_node_has_no_spread():
    nodes, _ = normal_grid(61)
    point = np.zeros((1, 61))
    point[0, 30] = 1.0
    assert not any(weighted.any() for weighted in weighted_polynomials(point, nodes, 3))
