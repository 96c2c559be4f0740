"""Small symmetric matrices, against LAPACK."""

import numpy as np
import pytest

from psychollm.kernels.symmetric import cholesky_solve, largest_eigenvalue, positive_part


@pytest.mark.parametrize("k", [1, 2, 3, 10, 60])
def test_largest_eigenvalue_is_lapacks(k):
    rng = np.random.default_rng(k)
    for _ in range(10):
        A = rng.standard_normal((k, k))
        A = A + A.T
        np.fill_diagonal(A, 0)
        assert largest_eigenvalue(A.copy()) == pytest.approx(np.linalg.eigvalsh(A)[-1], abs=1e-7)


@pytest.mark.parametrize("A", [np.zeros((4, 4)), np.eye(5), np.ones((3, 3)), -np.eye(3)])
def test_largest_eigenvalue_of_degenerate_matrices(A):
    assert largest_eigenvalue(A.copy()) == pytest.approx(np.linalg.eigvalsh(A)[-1], abs=1e-7)


def test_cholesky_solves_and_refuses_indefinite_matrices():
    rng = np.random.default_rng(3)
    A = rng.standard_normal((8, 8))
    A = A @ A.T + np.eye(8)
    b, x = rng.standard_normal(8), np.empty(8)
    assert cholesky_solve(A.copy(), b, x)
    assert np.allclose(A @ x, b, atol=1e-9)
    assert not cholesky_solve(np.diag([1.0, -1.0]), np.ones(2), np.empty(2))


@pytest.mark.parametrize("k", [1, 2, 3, 9])
def test_positive_part_keeps_positive_eigenvalues(k):
    rng = np.random.default_rng(k)
    for _ in range(20):
        A = rng.standard_normal((k, k))
        A = A + A.T
        values, axes = np.linalg.eigh(A)
        expected = (axes * np.maximum(values, 0.0)) @ axes.T
        positive_part(A, np.empty((k, k)))
        np.testing.assert_allclose(A, expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("A", [np.zeros((3, 3)), np.eye(4), -np.eye(2), np.ones((3, 3))])
def test_positive_part_of_degenerate_matrices(A):
    found = A.copy()
    positive_part(found, np.empty_like(found))
    np.testing.assert_allclose(found, A if A.sum() > 0.0 else 0.0, atol=1e-15)
