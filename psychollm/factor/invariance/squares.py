"""Weighted least squares of moments that are smooth functions of the parameters.

SciPy's trust region finds the minimum to what the value of the function tells, half the digits.
The gradient tells more: plain Gauss-Newton steps follow as long as they make it smaller.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from psychollm._base.types import FloatArray

Moments: TypeAlias = Callable[[FloatArray], FloatArray]

SETTLED = 1e-9
MAX_STEPS = 500
POLISH = 50


class Least(NamedTuple):
    """Where a sum of squares is least, as far as steps could tell."""

    x: FloatArray  # (q,)
    value: float
    gradient: float  # its largest component
    steps: int

    @property
    def converged(self) -> bool:
        """Whether nothing is left to gain."""
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
        Where to start.

    Examples
    --------
    >>> square = lambda x: np.concatenate([x, x**2 + 2.0])
    >>> slope = lambda x: np.array([[1.0], 2.0 * x])
    >>> found = least_squares(np.array([1.0, 4.0]), np.ones(2), square, slope, np.ones(1))
    >>> found.x.round(6), found.converged
    (array([1.366025]), True)
    """
    from scipy import optimize

    roots = np.sqrt(weights)

    def rest(at: FloatArray) -> FloatArray:
        return np.asarray(roots * (implied(at) - observed))

    def jacobian(at: FloatArray) -> FloatArray:
        return np.asarray(roots[:, None] * slopes(at))

    found: Any = optimize.least_squares(rest, x, jacobian, x_scale="jac", max_nfev=MAX_STEPS)
    x, left, J = found.x, found.fun, found.jac
    gradient, steps = float(np.abs(found.grad).max()), int(found.nfev)
    for _ in range(POLISH):
        trial = x - np.linalg.lstsq(J, left, rcond=1e-13)[0]
        after, slope = rest(trial), jacobian(trial)
        size = float(np.abs(slope.T @ after).max())
        if not size < gradient:
            break
        x, left, J, gradient, steps = trial, after, slope, size, steps + 1
    return Least(x, 0.5 * float(left @ left), gradient, steps)
