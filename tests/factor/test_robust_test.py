"""Robust tests of fit: their traces."""

import numpy as np
import pytest

from psychollm.factor.robust_test import quadratic_test
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
