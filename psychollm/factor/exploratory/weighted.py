r"""Factors by weighted least squares: correlations count by their precision.

The loadings minimise, over the correlations below the diagonal,

.. math:: F = \tfrac12\, e^\top W e, \qquad e = r - \operatorname{vech}(\Lambda\Lambda^\top),\;(1)

with W the inverse of the covariance matrix of r (WLS) or of its diagonal (DWLS). Rows are written

.. math:: \lambda_i = \sqrt{1 - u}\; \frac{\sin |x_i|}{|x_i|}\, x_i ,                     \quad (2)

so that no communality exceeds 1 - u, u being the smallest uniqueness allowed; where it is reached
the derivative vanishes like everywhere else, and Newton's method needs no bounds.

One factor, as the bootstrap of omega fits it thousands of times, has exact second derivatives and
a bound :math:`|\lambda| = 1 - 5 \cdot 10^{-4}` instead: `weighted_factor`.

References
----------
Browne, M. W. (1984). Asymptotically distribution-free methods for the analysis of covariance
structures. British Journal of Mathematical and Statistical Psychology, 37(1), 62-83.
https://doi.org/10.1111/j.2044-8317.1984.tb00789.x

Barendse, M. T., Oort, F. J., & Timmerman, M. E. (2015). Using exploratory factor analysis to
determine the dimensionality of discrete responses. Structural Equation Modeling, 22(1), 87-101.
https://doi.org/10.1080/10705511.2014.934850

Muthen, B., du Toit, S. H. C., & Spisic, D. (1997). Robust inference using weighted least squares
and quadratic estimating equations in latent variable modeling with categorical and continuous
outcomes. Unpublished technical report.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from psychollm._base.types import FloatArray
from psychollm.factor.exploratory.minimise import multistart
from psychollm.factor.newton import descend

Weigh = Callable[[FloatArray], FloatArray]  # residuals (k, k), hollow, to weighted ones
FIRST_STEPS = 2000
SAME_MINIMUM = 1e-6
BOUND = 0.9995
TOLERANCE = 1e-12
MOST_STEPS = 200


class WeightedFactors(NamedTuple):
    """Where the iteration ended."""

    loadings: FloatArray  # (k, m) in their principal axes
    objective: float
    gradient: float
    converged: bool
    steps: int
    minima: int  # distinct values at which the starts ended


def weigh_each(weights: FloatArray) -> Weigh:
    """Return the weighting of DWLS, from weights (k, k) with a zero diagonal."""
    return lambda rest: np.asarray(weights * rest, dtype=np.float64)


def weigh_jointly(weights: FloatArray, k: int) -> Weigh:
    """Return the weighting of WLS, from a matrix over the k (k - 1) / 2 pairs, row by row."""
    pairs = np.tril_indices(k, -1)

    def weigh(rest: FloatArray) -> FloatArray:
        found = np.zeros((k, k))
        found[pairs] = weights @ rest[pairs]
        return found + found.T

    return weigh


def weighted_factors(
    correlation: FloatArray, weigh: Weigh, starts: FloatArray, low: float
) -> WeightedFactors:
    """Minimise (1) from loadings `starts` (n, k, m), as far as more than eight are needed."""
    from scipy.optimize import minimize

    shape, reach = starts.shape[1:], np.sqrt(1.0 - low)

    def evaluate(x: FloatArray) -> tuple[float, FloatArray]:
        rows = x.reshape(shape)
        loadings = reach * _bent(rows)
        rest = correlation - loadings @ loadings.T
        np.fill_diagonal(rest, 0.0)
        weighted = weigh(rest)
        slope = -weighted @ loadings
        return 0.25 * float(np.sum(rest * weighted)), reach * _pulled_back(rows, slope).ravel()

    nothing = evaluate(np.zeros(starts[0].size))[0] or 1.0

    def approach(block: FloatArray) -> list[tuple[float, tuple[FloatArray, int]]]:
        ends = [
            minimize(
                evaluate,
                _unbent(start / reach).ravel(),
                jac=True,
                method="L-BFGS-B",
                options={"maxiter": FIRST_STEPS, "gtol": 1e-7, "ftol": 1e-14},
            )
            for start in block
        ]
        # Relative to no factors at all: weights come on any scale.
        return [(end.fun / nothing, (np.asarray(end.x, np.float64), end.nit)) for end in ends]

    (x, first_steps), minima, _ = multistart(approach, starts, SAME_MINIMUM)
    found = descend(evaluate, x)
    loadings = reach * _bent(found.x.reshape(shape))
    return WeightedFactors(
        loadings=_principal_axes(loadings),
        objective=found.value,
        gradient=found.gradient,
        converged=found.converged,
        steps=first_steps + found.steps,
        minima=minima,
    )


def _sizes(rows: FloatArray) -> FloatArray:
    return np.asarray(np.sqrt(np.sum(rows**2, axis=1, keepdims=True)), dtype=np.float64)


def _bent(rows: FloatArray) -> FloatArray:
    """Return sin |x| / |x| times x for each row."""
    return np.asarray(np.sinc(_sizes(rows) / np.pi) * rows, dtype=np.float64)


def _unbent(loadings: FloatArray) -> FloatArray:
    size = np.minimum(_sizes(loadings), 0.98)
    return np.asarray(loadings * np.arcsin(size) / np.maximum(_sizes(loadings), 1e-12))


def _pulled_back(rows: FloatArray, slope: FloatArray) -> FloatArray:
    """Return the gradient with respect to x from that with respect to the bent rows."""
    size = _sizes(rows)
    ratio = np.sinc(size / np.pi)
    along = np.sum(rows * slope, axis=1, keepdims=True)
    # (cos s - sin s / s) / s^2, by its series where it would cancel
    small = size < 1e-3
    safe = np.where(small, 1.0, size)
    bend = np.where(small, -1.0 / 3.0 + size**2 / 30.0, (np.cos(safe) - ratio) / safe**2)
    return np.asarray(ratio * slope + bend * along * rows, dtype=np.float64)


def _principal_axes(loadings: FloatArray) -> FloatArray:
    left, values, _ = np.linalg.svd(loadings, full_matrices=False)
    return np.asarray(left * values, dtype=np.float64)


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
    """Fit one factor to correlations (k, k) by weighted least squares (1)."""
    # Weights are symmetric, finite and not negative; diagonals are not used.
    k = len(start)
    apart = ~np.eye(k, dtype=np.bool_)
    W, R = np.where(apart, weights, 0.0), np.where(apart, correlation, 0.0)
    W = W / W.max() if W.any() else W
    x = np.clip(start, -0.95, 0.95)
    value, damping, converged, steps = _misfit(R, W, x), 0.0, False, 0
    while steps < MOST_STEPS and not converged:
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
