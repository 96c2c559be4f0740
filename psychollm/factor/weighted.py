r"""One factor by diagonally weighted least squares: each correlation by its precision.

The loadings minimise

.. math:: F = \tfrac12 \sum_{i<j} w_{ij} (r_{ij} - \lambda_i \lambda_j)^2,               \quad (1)

with :math:`w_{ij}` the inverse squared standard error of :math:`r_{ij}`: with tetrachoric or
polychoric correlations the estimator known as DWLS, or WLSMV. A pair without a standard error has
no weight. Newton's method, damped where a step would climb; loadings stop at
:math:`|\lambda| = 1 - 5 \cdot 10^{-4}`.

References
----------
Muthen, B., du Toit, S. H. C., & Spisic, D. (1997). Robust inference using weighted least squares
and quadratic estimating equations in latent variable modeling with categorical and continuous
outcomes. Unpublished technical report.
"""

from dataclasses import dataclass

import numpy as np

from psychollm._base.types import FloatArray

BOUND = 0.9995
TOLERANCE = 1e-12
MAX_STEPS = 200


@dataclass(frozen=True, slots=True, eq=False)
class WeightedFactor:
    """Where the iteration ended."""

    loadings: FloatArray  # (k,) the sum positive
    objective: float
    converged: bool
    steps: int


def weighted_factor(
    correlation: FloatArray, weights: FloatArray, start: FloatArray
) -> WeightedFactor:
    """Fit one factor to correlations (k, k) by weighted least squares (1).

    Parameters
    ----------
    correlation : ndarray (k, k)
        Symmetric; the diagonal is not used.
    weights : ndarray (k, k)
        Symmetric, not negative, finite.
    start : ndarray (k,)
        First loadings.

    Examples
    --------
    >>> R = np.array([[1, 0.56, 0.48], [0.56, 1, 0.42], [0.48, 0.42, 1]])
    >>> weighted_factor(R, np.ones((3, 3)), np.full(3, 0.5)).loadings.round(6)
    array([0.8, 0.7, 0.6])
    """
    k = len(start)
    apart = ~np.eye(k, dtype=np.bool_)
    W, R = np.where(apart, weights, 0.0), np.where(apart, correlation, 0.0)
    W = W / W.max() if W.any() else W
    x = np.clip(start, -0.95, 0.95)
    value, damping, converged, steps = _misfit(R, W, x), 0.0, False, 0
    while steps < MAX_STEPS and not converged:
        steps += 1
        step = _step(R, W, x, damping)
        proposed = np.clip(x + step, -BOUND, BOUND)
        trial = _misfit(R, W, proposed)
        change = float(np.abs(proposed - x).max())
        if trial > value * (1.0 + 1e-14) + 1e-30:
            damping = max(10.0 * damping, 1e-4)
            converged = change < TOLERANCE
            continue
        x, value, damping = proposed, trial, 0.1 * damping if damping > 1e-8 else 0.0
        converged = change < TOLERANCE
    x = x * (-1.0 if x.sum() < 0.0 else 1.0)
    return WeightedFactor(x, value, converged, steps)


def _misfit(R: FloatArray, W: FloatArray, x: FloatArray) -> float:
    return 0.25 * float(np.sum(W * (R - np.outer(x, x)) ** 2))


def _step(R: FloatArray, W: FloatArray, x: FloatArray, damping: float) -> FloatArray:
    """Return a damped Newton step, zero where a loading presses against its bound."""
    rest = W * (R - np.outer(x, x) * (W > 0.0))
    gradient = -rest @ x
    free = ~((np.abs(x) >= BOUND) & (gradient * x < 0.0))
    spread = W @ x**2
    hessian = W * np.outer(x, x) - rest
    np.fill_diagonal(hessian, spread * (1.0 + damping) + 1e-12)
    both = np.ix_(free, free)
    values, vectors = np.linalg.eigh(hessian[both])
    sizes = np.maximum(np.abs(values), 1e-10 * max(float(np.abs(values).max()), 1e-300))
    step = np.zeros(x.size)
    step[free] = -vectors @ ((vectors.T @ gradient[free]) / sizes)
    return np.clip(step, -0.5, 0.5)
