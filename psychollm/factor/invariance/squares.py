r"""Weighted least squares of moments that are smooth functions of the parameters.

Steps solve :math:`(J^\top W J + \mu D)\,\delta = J^\top W e` with D the diagonal of the first
term (Marquardt); the damping falls while steps succeed, and near the minimum, where residuals are
small, each step gains digits at a fixed rate.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from psychollm._base.types import FloatArray

Moments = Callable[[FloatArray], FloatArray]

GRADIENT = 1e-12
SETTLED = 1e-9
MAX_STEPS = 500
MOST_DAMPING = 1e12


class Least(NamedTuple):
    """Where the iteration ended."""

    x: FloatArray  # (q,)
    value: float
    gradient: float  # largest component
    steps: int

    @property
    def converged(self) -> bool:
        """Whether the gradient vanishes."""
        return self.gradient <= SETTLED


def least_squares(
    observed: FloatArray, weights: FloatArray, implied: Moments, slopes: Moments, x: FloatArray
) -> Least:
    """Minimise half the weighted sum of squared residuals from x (q,).

    Parameters
    ----------
    observed, weights : ndarray (p,)
        What is fitted, and the weight of each.
    implied, slopes : callable
        Parameters to moments (p,), and to their derivatives (p, q).
    x : ndarray (q,)
        Start.

    Examples
    --------
    >>> square = lambda x: np.concatenate([x, x**2 + 2.0])
    >>> slope = lambda x: np.array([[1.0], 2.0 * x])
    >>> found = least_squares(np.array([1.0, 4.0]), np.ones(2), square, slope, np.ones(1))
    >>> found.x.round(6), found.converged
    (array([1.366025]), True)
    """
    rest = observed - implied(x)
    value, damping, steps = _half(rest, weights), 1e-3, 0
    jacobian = slopes(x)
    gradient = jacobian.T @ (weights * rest)
    while steps < MAX_STEPS and np.abs(gradient).max() > GRADIENT and damping < MOST_DAMPING:
        steps += 1
        information = jacobian.T @ (weights[:, None] * jacobian)
        ridge = damping * np.maximum(np.diagonal(information), 1e-10)
        step = np.linalg.lstsq(information + np.diag(ridge), gradient, rcond=1e-13)[0]
        trial = x + step
        left = observed - implied(trial)
        reached = _half(left, weights)
        if not reached <= value * (1.0 + 1e-14):
            damping *= 10.0
            continue
        slope = slopes(trial)
        after = slope.T @ (weights * left)
        if reached >= value * (1.0 - 1e-14) and np.abs(after).max() >= np.abs(gradient).max():
            break
        x, rest, value, jacobian, gradient = trial, left, reached, slope, after
        damping *= 0.1 if damping > 1e-12 else 0.0
    return Least(x, value, float(np.abs(gradient).max()), steps)


def _half(rest: FloatArray, weights: FloatArray) -> float:
    return 0.5 * float(rest @ (weights * rest))
