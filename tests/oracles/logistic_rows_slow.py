"""Newton steps of a penalised logistic regression, one row at a time, with matrices."""

import numpy as np


def newton_row(y, offset, x, spread, mean, precision, steps, beta):
    """Return the coefficients and the inverse of the last Hessian."""
    known = np.isfinite(y)
    y, offset, x, spread = y[known], offset[known], x[known], spread[known]
    for _ in range(steps):
        p = 1.0 / (1.0 + np.exp(-offset - x @ beta))
        w = p * (1.0 - p)
        held = np.tensordot(w, spread, axes=1)
        gradient = x.T @ (y - p) - held @ beta - precision * (beta - mean)
        hessian = (x * w[:, None]).T @ x + held + np.diag(precision)
        beta = beta + np.clip(np.linalg.solve(hessian, gradient), -1.5, 1.5)
    return beta, np.linalg.inv(hessian)


def mean_chance(item, covariance, theta, spread):
    """Return the chance of one item, with its uncertainty and that of the abilities."""
    x = np.concatenate([[1.0], theta])
    variance = x @ covariance @ x + item[1:] @ spread @ item[1:]
    return 1.0 / (1.0 + np.exp(-(x @ item) / np.sqrt(1.0 + np.pi * variance / 8.0)))


def without(y, item, theta, spread):
    """Return the abilities without one score: one Newton step."""
    p = 1.0 / (1.0 + np.exp(-item[0] - item[1:] @ theta))
    leverage = min(item[1:] @ spread @ item[1:] * p * (1.0 - p), 0.9)
    return theta - spread @ item[1:] * (y - p) / (1.0 - leverage)
