r"""Nearest correlation matrix, with a weight for each pair.

The method minimises :math:`f(X) = \sum_{i<j} w_{ij} (x_{ij} - g_{ij})^2` over positive
semidefinite X with unit diagonal (the H-weighted problem of Higham, 2002). With weights
:math:`1/\mathrm{se}^2`, imprecise correlations change more than precise correlations.

The method uses the augmented Lagrangian of Qi and Sun (2011). For a multiplier :math:`Z \succeq 0`
and a penalty :math:`\sigma`, the off-diagonal entries of X minimise the strongly convex function

.. math:: \tfrac12 \sum_{i \ne j} w_{ij} (x_{ij} - g_{ij})^2
          + \tfrac\sigma2 \lVert \Pi(Z / \sigma - X) \rVert_F^2 .

X is found by Newton's method with conjugate gradients. The new multiplier is then :math:`\sigma
\Pi(Z/\sigma - X)`. Every multiplier Z gives a lower bound of the minimum,

.. math:: d(Z) = -\tfrac12 \sum_{i \ne j} z_{ij}^2 / w_{ij} - \sum_{i \ne j} z_{ij} g_{ij}
          - \sum_i z_{ii}.

The final difference f - d is therefore an upper bound of the distance from the minimum.

References
----------
Qi, H., & Sun, D. (2011). An augmented Lagrangian dual approach for the H-weighted nearest
correlation matrix problem. IMA Journal of Numerical Analysis, 31(2), 491-511.
https://doi.org/10.1093/imanum/drp031
"""

from typing import NamedTuple

import numpy as np

from psychollm._base.convergence import Convergence
from psychollm._base.types import FloatArray
from psychollm.correlation.smoothers.cone import (
    Projection,
    Repair,
    as_correlation,
    conjugate_gradient,
    divided_differences,
    hollow,
    project,
)
from psychollm.correlation.smoothers.nearest import nearest

TOLERANCE = 1e-10
GOOD_ENOUGH = 1e-9  # largest relative gap due to rounding errors
MAX_ROUNDS = 60
MAX_STEPS = 50  # Newton steps per outer iteration
CG_STEPS = 200
FIRST_PENALTY = 10.0  # first penalty, in units of the geometric mean of the weights
HARDER = 4.0


class _Problem(NamedTuple):
    """Matrix to approximate, weights with a maximum of one, and the scale of gradients."""

    matrix: FloatArray  # (k, k)
    weights: FloatArray  # (k, k)
    scale: float


class _Point(NamedTuple):
    """Value and gradient of the augmented Lagrangian at a matrix X."""

    x: FloatArray  # (k, k)
    projection: Projection  # projection of Z / sigma - X
    value: float
    gradient: FloatArray  # (k, k), zero diagonal

    @property
    def error(self) -> float:
        return float(np.linalg.norm(self.gradient))


def weighted_nearest(matrix: FloatArray, weights: FloatArray) -> Repair:
    """Return the correlation matrix with the least weighted sum of squared changes."""
    problem, unit = _normalise(matrix, weights)
    point, multiplier, rounds, done = _solve(problem)
    smooth = as_correlation(project(point.x).positive)
    objective = _distance(problem, smooth)
    gap = objective - _lower_bound(problem, multiplier)
    relative = max(gap, 0.0) / max(objective, TOLERANCE)
    reason = f"at most {relative:.1e} above the minimum (duality gap)"
    ending = Convergence(
        converged=done or relative <= GOOD_ENOUGH,
        iterations=rounds,
        reason=reason,
        objective=objective * unit,
    )
    return Repair(smooth, ending, "nearest, with weights of pairs")


def _normalise(matrix: FloatArray, weights: FloatArray) -> tuple[_Problem, float]:
    """Scale the weights to a maximum of one."""
    unit = float(hollow(weights).max())
    scaled = weights / unit
    np.fill_diagonal(scaled, 1.0)
    return _Problem(matrix, scaled, 1.0 + float(np.linalg.norm(hollow(scaled * matrix)))), unit


def _solve(problem: _Problem) -> tuple[_Point, FloatArray, int, bool]:
    """Update X and Z in turn; return the last point, Z, iterations and convergence status."""
    k = len(problem.matrix)
    pairs = problem.weights[np.tril_indices(k, -1)]
    penalty = FIRST_PENALTY * float(np.exp(np.log(pairs).mean()))
    multiplier = np.zeros_like(problem.matrix)
    x = nearest(problem.matrix).matrix
    wanted, before = 1e-2 * problem.scale, np.inf
    rounds, done = 0, False
    while not done and rounds < MAX_ROUNDS:
        rounds += 1
        point = _minimise(problem, x, multiplier, penalty, wanted)
        raised = penalty * point.projection.positive
        change = float(np.linalg.norm(raised - multiplier)) / penalty
        x, multiplier = point.x, raised
        done = change <= TOLERANCE * np.sqrt(k) and point.error <= TOLERANCE * problem.scale
        penalty *= HARDER if change > 0.2 * before else 1.0
        before = change
        wanted = max(TOLERANCE * problem.scale / 2, min(wanted / 10, change * penalty / 10))
    return point, multiplier, rounds, done


def _minimise(
    problem: _Problem, x: FloatArray, multiplier: FloatArray, penalty: float, wanted: float
) -> _Point:
    """Minimise the augmented Lagrangian over X until its gradient is small enough."""
    point = _at(problem, x, multiplier, penalty)
    for _ in range(MAX_STEPS):
        if point.error <= wanted:
            break
        direction = _newton_direction(problem, point, penalty)
        better = _search(problem, point, direction, multiplier, penalty)
        if better is None:  # no improvement beyond rounding error
            break
        point = better
    return point


def _at(problem: _Problem, x: FloatArray, multiplier: FloatArray, penalty: float) -> _Point:
    """Evaluate the augmented Lagrangian and its gradient."""
    projection = project(multiplier / penalty - x)
    off = hollow(x - problem.matrix)
    value = float(np.sum(problem.weights * off**2)) / 2 + penalty * projection.squared / 2
    gradient = problem.weights * off - penalty * hollow(projection.positive)
    return _Point(x, projection, value, gradient)


def _newton_direction(problem: _Problem, point: _Point, penalty: float) -> FloatArray:
    """Solve the Newton equation for the off-diagonal entries."""
    vectors = point.projection.vectors
    omega = divided_differences(point.projection.values)
    squares = vectors**2
    diagonal = problem.weights + penalty * (squares @ omega @ squares.T)

    def hessian(h: FloatArray) -> FloatArray:
        inner = omega * (vectors.T @ h @ vectors)
        return np.asarray(problem.weights * h + penalty * hollow(vectors @ inner @ vectors.T))

    tolerance = max(1e-3, min(0.1, point.error / problem.scale))
    direction = conjugate_gradient(
        hessian, -point.gradient, diagonal, tolerance=tolerance, limit=CG_STEPS
    )
    # Rounding makes the direction asymmetric, which the decomposition would ignore.
    return np.asarray((direction + direction.T) / 2.0)


def _search(
    problem: _Problem,
    point: _Point,
    direction: FloatArray,
    multiplier: FloatArray,
    penalty: float,
) -> _Point | None:
    """Halve the step until the value or the gradient decreases enough."""
    slope = float(np.sum(direction * point.gradient))
    slack = 1e-14 * abs(point.value)
    for halvings in range(20):
        step = 0.5**halvings
        trial = _at(problem, point.x + step * direction, multiplier, penalty)
        if trial.value <= point.value + 1e-4 * step * slope + slack:
            return trial
        if trial.error <= point.error / 2.0:
            return trial
    return None


def _distance(problem: _Problem, x: FloatArray) -> float:
    """Return the weighted sum of squared changes over pairs."""
    return float(np.sum(problem.weights * hollow(x - problem.matrix) ** 2)) / 2.0


def _lower_bound(problem: _Problem, multiplier: FloatArray) -> float:
    """Return the dual function, a lower bound of the distance to any correlation matrix."""
    off = hollow(multiplier)
    spent = np.sum(off**2 / problem.weights) / 2.0 + np.sum(off * problem.matrix)
    return -float(spent + np.trace(multiplier))
