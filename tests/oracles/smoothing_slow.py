"""Slow twins of the smoothers: projections in turn, and optimisation over factors of the matrix.

They share no code with the library. A correlation matrix is V V' with rows of V of length one;
minimising over V with V square has no local minima but the global one, where V has lost rank.
"""

import numpy as np
from scipy import optimize


def nearest(matrix, rounds=20_000, tolerance=1e-13):
    """Higham (2002, algorithm 3.3): projections in turn, with Dykstra's correction."""
    y = matrix.copy()
    correction = np.zeros_like(matrix)
    for _ in range(rounds):
        r = y - correction
        values, vectors = np.linalg.eigh(r)
        x = vectors @ np.diag(np.maximum(values, 0)) @ vectors.T
        correction = x - r
        before, y = y, x.copy()
        np.fill_diagonal(y, 1.0)
        if np.abs(y - before).max() < tolerance:
            break
    return y


def _rows(flat, k):
    v = flat.reshape(k, k)
    lengths = np.sqrt((v**2).sum(axis=1, keepdims=True))
    return v / lengths, lengths


def _over_correlations(objective, gradient, k, starts, seed):
    """Minimise a function of the correlation matrix from several starts."""

    def both(flat):
        unit, lengths = _rows(flat, k)
        x = unit @ unit.T
        slope = 2 * gradient(x) @ unit
        slope = (slope - (slope * unit).sum(axis=1, keepdims=True) * unit) / lengths
        return objective(x), slope.ravel()

    rng = np.random.default_rng(seed)
    found = [
        optimize.minimize(
            both,
            rng.normal(size=k * k),
            jac=True,
            method="BFGS",
            options={"gtol": 1e-12, "maxiter": 5000},
        )
        for _ in range(starts)
    ]
    best = min(found, key=lambda result: result.fun)
    unit, _ = _rows(best.x, k)
    return unit, best.fun


def weighted_nearest(matrix, weights, starts=2, seed=0):
    """Return the matrix and the weighted sum of squares over pairs."""
    weights = weights - np.diag(np.diag(weights))
    unit, value = _over_correlations(
        lambda x: float(np.sum(weights * (x - matrix) ** 2)) / 2,
        lambda x: weights * (x - matrix),
        len(matrix),
        starts,
        seed,
    )
    return unit @ unit.T, value


def minimum_trace_communalities(matrix, starts=2, seed=0):
    """Minimise <R0, Y> over correlation matrices Y = V V', the dual; there R0 V = -diag(h) V."""
    hollow = matrix - np.diag(np.diag(matrix))
    unit, _ = _over_correlations(
        lambda y: float(np.sum(hollow * y)), lambda y: hollow, len(matrix), starts, seed
    )
    return -np.sum((hollow @ unit) * unit, axis=1)


def least_shrinkage(matrix, target):
    """Find by bracketing where the smallest eigenvalue crosses zero."""

    def smallest(weight):
        return np.linalg.eigvalsh(weight * target + (1 - weight) * matrix)[0]

    return optimize.brentq(smallest, 0.0, 1.0, xtol=1e-14)
