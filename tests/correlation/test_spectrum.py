"""`spectrum`: values, the rule of signs, invariances."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import psychollm as psy
from psychollm._base.errors import InputError
from psychollm.correlation.spectrum import signed, spectrum
from tests.effort import examples


def random_matrix(k, seed):
    rng = np.random.default_rng(seed)
    lower = np.tril(rng.uniform(-1, 1, (k, k)), -1)
    return lower + lower.T + np.eye(k)


def test_values_by_hand():
    found = spectrum([[1, 0.5], [0.5, 1]])
    np.testing.assert_allclose(found.eigenvalues, [1.5, 0.5])
    np.testing.assert_allclose(found.shares, [0.75, 0.25])
    np.testing.assert_allclose(
        found.loadings, np.sqrt([[0.75, 0.25], [0.75, -0.25 * -1]]) * [[1, 1], [1, -1]]
    )
    assert found.negative_mass == 0


def test_negative_mass():
    found = spectrum([[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]])
    assert found.negative_mass == pytest.approx(0.8 / 3)
    assert not found.loadings[:, 2].any()
    assert "1 below zero" in repr(found)


@given(k=st.integers(2, 10), seed=st.integers(0, 10_000))
def test_properties(k, seed):
    matrix = random_matrix(k, seed)
    found = spectrum(matrix)
    assert (np.diff(found.eigenvalues) <= 0).all()
    assert found.shares.sum() == pytest.approx(1)
    assert (found.loadings.sum(axis=0) >= -1e-9).all()
    positive = found.eigenvalues > 0
    rest = matrix - found.loadings @ found.loadings.T
    # What the loadings leave out are the negative eigenvalues.
    assert np.trace(rest) == pytest.approx(found.eigenvalues[~positive].sum(), abs=1e-10)
    assert found.negative_mass == pytest.approx(-found.eigenvalues[~positive].sum() / k, abs=1e-12)


@given(k=st.integers(2, 8), seed=st.integers(0, 10_000))
@examples(40)
def test_order_of_models_does_not_matter(k, seed):
    matrix = random_matrix(k, seed)
    order = np.random.default_rng(seed).permutation(k)
    plain, other = spectrum(matrix), spectrum(matrix[np.ix_(order, order)])
    np.testing.assert_allclose(other.eigenvalues, plain.eigenvalues, atol=1e-12)
    # Eigenvectors are determined as well as their eigenvalues are apart, signs as sums from zero.
    gaps = np.abs(np.subtract.outer(plain.eigenvalues, plain.eigenvalues)) + 9 * np.eye(k)
    clear = (gaps.min(axis=1) > 1e-3) & (plain.loadings.sum(axis=0) > 1e-6)
    np.testing.assert_allclose(
        other.loadings[:, clear], plain.loadings[order][:, clear], atol=1e-8
    )


def test_ties_of_signs():
    columns = np.array([[-0.5, 0.0, 0.0], [0.5, -0.3, 0.0], [0.0, 0.3, 0.0]])
    np.testing.assert_array_equal(
        signed(columns), [[0.5, 0.0, 0.0], [-0.5, 0.3, 0.0], [0.0, -0.3, 0.0]]
    )


def test_equal_eigenvalues_keep_an_order():
    np.testing.assert_array_equal(spectrum(np.eye(4)).loadings, np.eye(4))


def test_labels_and_frames():
    frame = pd.DataFrame(np.eye(2), index=["a", "b"], columns=["a", "b"])
    found = spectrum(frame)
    assert found.labels == ("a", "b")
    table = found.to_frame()
    assert table["cumulative"].iloc[-1] == pytest.approx(1)
    assert list(table["component"]) == [1, 2]


def test_takes_correlations_and_smoothings():
    answers = psy.load_example("shared_confidence").confidence
    correlation = psy.tetrachoric(answers)
    found = spectrum(correlation)
    assert found.labels == correlation.labels
    np.testing.assert_array_equal(found.loadings, spectrum(correlation.matrix).loadings)
    assert spectrum(psy.smooth(correlation)).negative_mass < 1e-12


def test_bad_input():
    with pytest.raises(InputError, match="undefined"):
        spectrum([[1, np.nan], [np.nan, 1]])
    with pytest.raises(InputError, match="on the diagonal"):
        spectrum([[4, 1], [1, 4]])


def test_large():
    loadings = np.random.default_rng(0).uniform(0.3, 0.9, 1000)
    matrix = np.outer(loadings, loadings)
    np.fill_diagonal(matrix, 1.0)
    found = spectrum(matrix)
    assert found.loadings.shape == (1000, 1000)
    assert found.eigenvalues[0] == pytest.approx((loadings**2).sum(), rel=0.01)


def test_what_is_printed():
    # Equal correlations r of k variables: 1 + (k - 1) r once, 1 - r otherwise.
    matrix = np.full((3, 3), -0.8) + 1.8 * np.eye(3)
    assert repr(spectrum(matrix)) == (
        "Spectrum of 3 x 3 correlations: 60.0 %, 60.0 %, -20.0 %\n"
        "  smallest eigenvalue -0.6, 1 below zero, negative mass 20 %"
    )
    assert repr(spectrum(np.eye(5))) == (
        "Spectrum of 5 x 5 correlations: 20.0 %, 20.0 %, 20.0 %, 20.0 %, ...\n"
        "  smallest eigenvalue 1, 0 below zero, negative mass 0 %"
    )
