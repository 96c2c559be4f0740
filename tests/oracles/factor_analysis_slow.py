"""Slow twins of criteria, weighted factors, minimum rank and fit: loops and general search."""

import itertools

import numpy as np
from scipy.optimize import minimize


def crawford_ferguson(L, kappa):
    k, m = L.shape
    rows = sum(
        L[i, j] ** 2 * L[i, q] ** 2 for i in range(k) for j in range(m) for q in range(m) if j != q
    )
    columns = sum(
        L[i, j] ** 2 * L[p, j] ** 2 for j in range(m) for i in range(k) for p in range(k) if i != p
    )
    return 0.25 * (1 - kappa) * rows + 0.25 * kappa * columns


def geomin(L, epsilon):
    k, m = L.shape
    total = 0.0
    for i in range(k):
        product = 1.0
        for j in range(m):
            product *= L[i, j] ** 2 + epsilon
        total += product ** (1 / m)
    return total


def target(L, H):
    k, m = L.shape
    return 0.5 * sum(
        (L[i, j] - H[i, j]) ** 2 for i in range(k) for j in range(m) if not np.isnan(H[i, j])
    )


def weighted(R, W, L):
    k = len(R)
    return 0.5 * sum(
        W[i, j] * (R[i, j] - float(L[i] @ L[j])) ** 2 for i in range(k) for j in range(i)
    )


def jointly_weighted(R, W, L):
    k = len(R)
    rest = np.array([R[i, j] - float(L[i] @ L[j]) for i in range(k) for j in range(i)])
    return 0.5 * float(rest @ W @ rest)


def search(objective, start):
    """Return the smallest value found by general search from loadings `start`."""
    shape = start.shape
    found = minimize(lambda x: objective(x.reshape(shape)), np.ravel(start), tol=1e-12)
    return found.fun


def last_eigenvalues(R, psi, m):
    """Sum of all but the m largest eigenvalues of R minus uniquenesses, and the smallest."""
    values = sorted(np.linalg.eigvalsh(R - np.diag(psi)), reverse=True)
    return sum(values[m:]), values[-1]


def best_orthogonal(A, H, steps=7200):
    """Least sum of squared differences over turns, and mirrored turns, in the plane."""
    best = np.inf
    for angle, mirror in itertools.product(np.linspace(0, 2 * np.pi, steps), (1, -1)):
        c, s = np.cos(angle), np.sin(angle)
        T = np.array([[c, -s], [s, c]]) @ np.diag([1, mirror])
        best = min(best, 0.5 * np.sum((A @ T - H) ** 2))
    return best


def robust_traces(derivatives, weights, gamma):
    """Traces of U Gamma and of its square, from eigenvalues of the residual-maker."""
    inner = np.linalg.pinv(derivatives.T @ weights @ derivatives)
    U = weights - weights @ derivatives @ inner @ derivatives.T @ weights
    values = np.linalg.eigvals(U @ gamma)
    return float(np.sum(values).real), float(np.sum(values**2).real)
