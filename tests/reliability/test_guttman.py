"""Guttman's lambdas: slow twin, golden cases, order of the bounds."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psychollm.estimates.reasons import Reason
from psychollm.reliability.scales.consistency import consistency
from psychollm.reliability.scales.guttman import guttman, guttman_of_matrix
from psychollm.reliability.scales.item_statistics import multiple_correlations
from psychollm.reliability.scales.split_half import split_half
from tests.oracles import consistency_slow as slow

MATRICES = st.tuples(st.integers(2, 8), st.integers(0, 10**6)).map(
    lambda size: np.cov(
        np.random.default_rng(size[1]).normal(size=(size[0] + 10, size[0]))
        + np.random.default_rng(size[1]).normal(size=(size[0] + 10, 1)),
        rowvar=False,
    )
)


def one_factor(n, k=10, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 1)) + 1.2 * rng.normal(size=(n, k))


def test_singular_matrix_of_a_golden_case(golden):
    """Ten models hardly vary over repetitions: one item is a sum of others."""
    frame = pd.read_csv(golden / "metacognition" / "gses_b.csv")
    scores = frame[frame["condition"] == "none"].filter(regex="^i")
    assert guttman(scores, bootstrap=0).flags[5] is Reason.SINGULAR


@given(MATRICES)
def test_lambdas_are_those_of_the_slow_twin(matrix):
    for known in (matrix, slow.correlation(matrix)):
        expected = slow.lambdas(known)
        np.testing.assert_allclose(guttman_of_matrix(known).value, expected, rtol=0, atol=1e-9)


@given(MATRICES)
def test_order_of_the_bounds(matrix):
    """Lambda 1 <= 3 <= 2 and 1 <= 5, and 3 <= 4 for an even number of items."""
    one, two, three, four, five, _ = guttman_of_matrix(matrix).value
    assert one <= three + 1e-9 or three < 0
    assert three <= two + 1e-9
    assert one <= five + 1e-9
    if len(matrix) % 2 == 0:
        assert three <= four + 1e-9


def test_third_lambda_is_alpha():
    scores = one_factor(60) * np.arange(1, 11)
    alphas = consistency(scores, bootstrap=0)
    of_correlations = guttman(scores, bootstrap=0)
    of_covariances = guttman(scores, of="covariances", bootstrap=0)
    assert of_correlations.value[2] == pytest.approx(alphas.standardised.value[0], abs=1e-12)
    assert of_covariances.value[2] == pytest.approx(alphas.alpha.value[0], abs=1e-12)
    assert of_covariances.value[5] == pytest.approx(
        guttman_of_matrix(np.cov(scores.T)).value[5], abs=1e-12
    )
    halves = split_half(scores, of="covariances", bootstrap=0).split_half
    assert halves.value[1] == pytest.approx(alphas.alpha.value[0], abs=1e-12)
    # The mean over splits is alpha: so are its draws' intervals.
    np.testing.assert_allclose(
        split_half(scores, bootstrap=0).split_half.interval[1],
        of_correlations.interval[2],
        atol=1e-12,
    )


def test_multiple_correlations():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(30, 4)) + rng.normal(size=(30, 1))
    centred = scores - scores.mean(axis=0)
    for item in range(4):
        others = np.delete(centred, item, axis=1)
        fitted = others @ np.linalg.lstsq(others, centred[:, item])[0]
        expected = (fitted**2).sum() / (centred[:, item] ** 2).sum()
        found = multiple_correlations(np.corrcoef(scores.T))[item]
        assert found == pytest.approx(expected, abs=1e-12)
    assert np.isnan(multiple_correlations(np.full((2, 2), np.nan))).all()
