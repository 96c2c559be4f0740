"""Robust tests of fit: their traces."""

import numpy as np
import pytest

from psychollm.factor.robust_test import inverse_of, quadratic_test, weighted_by
from tests.oracles import factor_analysis_slow as slow


def test_robust_traces():
    rng = np.random.default_rng(5)
    D, A = rng.normal(size=(8, 3)), rng.normal(size=(8, 20))
    W, G = np.diag(rng.uniform(0.5, 2, 8)), A @ A.T / 20
    found = quadratic_test(rng.normal(size=8), D, np.diagonal(W).copy(), G, 100)
    first, second = slow.robust_traces(D, W, G)
    assert found.trace == pytest.approx(first)
    assert found.trace_squared == pytest.approx(second)
    assert found.df == 5
    full = quadratic_test(rng.normal(size=8), D, np.linalg.inv(G), G, 100)
    assert full.trace == pytest.approx(5)
    assert full.trace_squared == pytest.approx(5)


def test_weights_and_pseudo_inverse():
    assert weighted_by(np.array([2.0]), np.ones((1, 1))).tolist() == [[2.0]]
    inverse, rank = inverse_of(np.diag([2.0, 0.0]))
    np.testing.assert_allclose(inverse, [[0.5, 0.0], [0.0, 0.0]])
    assert rank == 1
