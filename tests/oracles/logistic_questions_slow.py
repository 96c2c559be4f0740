"""Crossed logistic likelihoods by sums over fine grids and by dense matrices."""

import numpy as np
from scipy.optimize import minimize

U = np.linspace(-9.0, 9.0, 1201)
PHI = np.exp(-0.5 * U**2) / np.sqrt(2.0 * np.pi) * (U[1] - U[0])


def log_binomial(eta, hits, n):
    """Return the logarithm of a binomial probability but for its coefficient."""
    return hits * eta - n * np.logaddexp(0.0, eta)


def cells(level, hits, n, sd, interaction=0.0):
    """Return the log likelihood of each model's answers to a question at each ease of the grid."""
    eta = level[:, None] + sd * U
    if interaction == 0.0:
        return log_binomial(eta, hits[:, None], n[:, None])
    w = U[:: 20 if interaction < 2.0 else 6]
    weight = np.exp(-0.5 * w**2) / np.exp(-0.5 * w**2).sum()
    inner = log_binomial(eta[..., None] + interaction * w, hits[:, None, None], n[:, None, None])
    return np.log(np.exp(inner) @ weight)


def over_ease(cells):
    """Return the log likelihood of a question from those of its cells at each ease."""
    return float(np.log(np.exp(cells.sum(axis=0)) @ PHI))


def question(level, hits, n, sd, interaction=0.0):
    """Return the log likelihood of one question, ease and interactions integrated out."""
    return over_ease(cells(level, hits, n, sd, interaction))


def laplace(hits, n, effects, sd):
    """Return Laplace's approximation with a flat mean: one dense mode, one dense determinant.

    `effects` are indicator matrices (cells, levels) of the cells in the order of `hits.ravel()`.
    """
    design = np.concatenate(
        [np.ones((hits.size, 1)), *(s * z for s, z in zip(sd, effects, strict=True))], axis=1
    )
    prior = np.ones(design.shape[1])
    prior[0] = 0.0
    k, m = hits.ravel(), n.ravel()

    def parts(x):
        eta = design @ x
        p = 1.0 / (1.0 + np.exp(-eta))
        value = log_binomial(eta, k, m).sum() - 0.5 * prior @ x**2
        hessian = design.T @ ((m * p * (1.0 - p))[:, None] * design) + np.diag(prior)
        return value, design.T @ (k - m * p) - prior * x, hessian

    x = minimize(
        lambda x: -parts(x)[0],
        np.zeros(design.shape[1]),
        jac=lambda x: -parts(x)[1],
        method="BFGS",
    ).x
    for _ in range(20):
        _, slope, hessian = parts(x)
        x = x + np.linalg.solve(hessian, slope)
    value, _, hessian = parts(x)
    return value - 0.5 * np.linalg.slogdet(hessian)[1], x
