"""Slow twins of extraction, rotation and Schmid-Leiman: definitions, loops, general search.

`svd_varimax` is the classical iteration with the stopping rule of R's `stats::varimax`: with
``eps=1e-5`` it reproduces what programs print, with ``eps=0`` the optimum.
"""

import itertools

import numpy as np
from scipy.optimize import minimize


def least_squares(R, loadings):
    """Sum of squared residual correlations below the diagonal."""
    k = len(R)
    return sum(
        (R[i, j] - sum(a * b for a, b in zip(loadings[i], loadings[j], strict=True))) ** 2
        for i in range(k)
        for j in range(i)
    )


def likelihood(R, loadings, psi):
    """Maximum-likelihood discrepancy of the model's matrix."""
    model = loadings @ loadings.T + np.diag(psi)
    return (
        np.linalg.slogdet(model)[1]
        - np.linalg.slogdet(R)[1]
        + np.trace(np.linalg.inv(model) @ R)
        - len(R)
    )


def search_minres(R, m, start):
    """Smallest sum of squared residuals over all loadings, by general search from `start`."""
    shape = (len(R), m)
    found = minimize(lambda x: least_squares(R, x.reshape(shape)), np.ravel(start), tol=1e-12)
    return found.fun


def search_ml(R, m, start, psi):
    k = len(R)

    def objective(x):
        return likelihood(R, x[: k * m].reshape(k, m), np.exp(x[k * m :]))

    found = minimize(objective, np.concatenate([np.ravel(start), np.log(psi)]), tol=1e-12)
    return found.fun


def quartimin(L):
    k, m = L.shape
    return 0.25 * sum(
        L[i, j] ** 2 * L[i, q] ** 2 for i in range(k) for j in range(m) for q in range(m) if j != q
    )


def oblimin(L, gamma):
    k, m = L.shape
    total = 0.0
    for j in range(m):
        for q in range(m):
            if j != q:
                a, b = L[:, j] ** 2, L[:, q] ** 2
                total += 0.25 * (a @ b - gamma / k * a.sum() * b.sum())
    return total


def quartimax(L):
    return -0.25 * sum(x**4 for x in np.ravel(L))


def varimax(L):
    k, m = L.shape
    total = 0.0
    for j in range(m):
        squares = [x * x for x in L[:, j]]
        total -= 0.25 * (sum(s * s for s in squares) - sum(squares) ** 2 / k)
    return total


def svd_varimax(A, eps=0.0, normalize=True):
    A = np.asarray(A, float)
    scale = np.sqrt((A**2).sum(1, keepdims=True)) if normalize else 1.0
    x, T, d = A / scale, np.eye(A.shape[1]), 0.0
    for _ in range(1000):
        z = x @ T
        u, s, v = np.linalg.svd(x.T @ (z**3 - z * (z**2).mean(0)))
        T, past, d = u @ v, d, s.sum()
        if d < past * (1 + eps):
            break
    return x @ T * scale


def promax(A, eps=0.0, power=4):
    """Kaiser normalisation, varimax, least-squares fit to powers; loadings and correlations."""
    A = np.asarray(A, float)
    scale = np.sqrt((A**2).sum(1, keepdims=True))
    x = A / scale
    simple = svd_varimax(x, eps)
    T = np.linalg.lstsq(x, simple, rcond=None)[0]
    U = np.linalg.lstsq(simple, simple * np.abs(simple) ** (power - 1), rcond=None)[0]
    U = U @ np.diag(np.sqrt(np.diag(np.linalg.inv(U.T @ U))))
    inverse = np.linalg.inv(T @ U)
    return simple @ U * scale, inverse @ inverse.T


def two_oblique_factors(A, steps=361):
    """Smallest quartimin over a grid of two axes in the plane."""
    angles = np.linspace(0.0, np.pi, steps)
    best = np.inf
    for i, a in enumerate(angles):
        for b in angles[i + 1 :]:
            T = np.array([[np.cos(a), np.cos(b)], [np.sin(a), np.sin(b)]])
            if abs(np.linalg.det(T)) > 1e-6:
                best = min(best, quartimin(A @ np.linalg.inv(T).T))
    return best


def aligned(found, expected):
    """Columns of `found` in the order and with the signs that come closest to `expected`."""
    found, expected = np.asarray(found, float), np.asarray(expected, float)

    def turned(order):
        columns = found[:, order]
        return columns * np.where((columns * expected).sum(0) < 0, -1.0, 1.0)

    orders = [list(p) for p in itertools.permutations(range(found.shape[1]))]
    best = min(orders, key=lambda p: np.abs(turned(p) - expected).max())
    return turned(best), best, np.where((found[:, best] * expected).sum(0) < 0, -1.0, 1.0)


def three_factor_triad(phi):
    """Loadings of three factors on a general one: each is a root of products of correlations."""
    a = np.sqrt(phi[0, 1] * phi[0, 2] / phi[1, 2])
    b = np.sqrt(phi[0, 1] * phi[1, 2] / phi[0, 2])
    c = np.sqrt(phi[0, 2] * phi[1, 2] / phi[0, 1])
    return np.array([a, b, c])
