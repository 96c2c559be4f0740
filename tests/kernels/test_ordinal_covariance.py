"""Covariances of scores cut from normal variables: slow twin, edges."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psychollm.kernels.ordinal_covariance import score_covariances
from tests.oracles import omega_slow as slow


def covariances(cuts, R):
    out = np.empty(R.shape)
    score_covariances(cuts, R, out)
    return out


@given(seed=st.integers(0, 10_000))
def test_twin(seed):
    rng = np.random.default_rng(seed)
    cuts = np.sort(rng.normal(size=(3, 2)), axis=1)
    L = rng.uniform(-0.9, 0.9, 3)
    R = np.outer(L, L)
    found = covariances(cuts, R)
    for i in range(3):
        for j in range(3):
            expected = slow.score_covariance(cuts[i], cuts[j], R[i, j])
            assert found[i, j] == pytest.approx(expected, abs=1e-7)


def test_variance_of_a_binary_score():
    p = 0.5
    assert covariances(np.zeros((1, 1)), np.ones((1, 1)))[0, 0] == pytest.approx(p * (1 - p))


def test_missing_and_infinite_thresholds_add_nothing():
    R = np.array([[1.0, 0.5], [0.5, 1.0]])
    plain = covariances(np.array([[0.2], [-0.4]]), R)
    padded = covariances(np.array([[0.2, np.nan], [-0.4, np.inf]]), R)
    np.testing.assert_array_equal(padded, plain)
    assert covariances(np.array([[np.inf], [0.0]]), R)[0].tolist() == [0.0, 0.0]


def test_undefined_correlation_is_undefined():
    R = np.array([[1.0, np.nan], [np.nan, 1.0]])
    found = covariances(np.zeros((2, 1)), R)
    assert np.isnan(found[0, 1])
    assert found[0, 0] == pytest.approx(0.25)


def test_correlations_beyond_rounding_are_bounds():
    R = np.array([[1.0, 1.0 + 1e-15], [1.0 + 1e-15, 1.0]])
    found = covariances(np.zeros((2, 1)), R)
    np.testing.assert_allclose(found, 0.25)
