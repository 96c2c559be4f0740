r"""Nearest correlation matrix, with equal weights for all pairs.

The method minimises :math:`\tfrac12 \lVert X - G \rVert_F^2` over positive semidefinite X with
unit diagonal. The minimum is the least squares approximation of Knol and ten Berge (1989) and the
nearest correlation matrix of Higham (2002). By duality (Qi & Sun, 2006) :math:`X = \Pi(G +
\operatorname{diag} y)`, where y minimises the convex function

.. math:: \theta(y) = \tfrac12 \lVert \Pi(G + \operatorname{diag} y) \rVert_F^2 - \sum_i y_i,
          \qquad \nabla\theta = \operatorname{diag} \Pi(G + \operatorname{diag} y) - 1.

Newton's method converges quadratically, in about five steps. Each step solves the Newton equation
by conjugate gradients, preconditioned by the diagonal (Borsdorf & Higham, 2010).

References
----------
Borsdorf, R., & Higham, N. J. (2010). A preconditioned Newton algorithm for the nearest correlation
matrix. IMA Journal of Numerical Analysis, 30(1), 94-107. https://doi.org/10.1093/imanum/drn085

Higham, N. J. (2002). Computing the nearest correlation matrix: a problem from finance. IMA Journal
of Numerical Analysis, 22(3), 329-343. https://doi.org/10.1093/imanum/22.3.329

Knol, D. L., & ten Berge, J. M. F. (1989). Least-squares approximation of an improper correlation
matrix by a proper one. Psychometrika, 54(1), 53-61. https://doi.org/10.1007/BF02294448

Qi, H., & Sun, D. (2006). A quadratically convergent Newton method for computing the nearest
correlation matrix. SIAM Journal on Matrix Analysis and Applications, 28(2), 360-385.
https://doi.org/10.1137/050624509
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
    project,
    sum_of_squares,
)

TOLERANCE = 1e-12  # root mean square error of the diagonal
MAX_STEPS = 100
CG_STEPS = 200
RIDGE = 1e-12  # keeps the Newton equation definite if a row of the projection is zero


class _Dual(NamedTuple):
    """Value and gradient of the dual function at a point y."""

    y: FloatArray  # (k,)
    projection: Projection
    value: float
    gradient: FloatArray  # (k,)

    @property
    def error(self) -> float:
        return float(np.sqrt(np.mean(self.gradient**2)))


def nearest(matrix: FloatArray) -> Repair:
    """Return the nearest correlation matrix in the Frobenius norm."""
    dual = _at(matrix, np.zeros(len(matrix)))
    steps, stalled = 0, False
    while dual.error > TOLERANCE and steps < MAX_STEPS and not stalled:
        better = _search(matrix, dual, _newton_direction(dual))
        stalled = better is None
        dual = dual if better is None else better
        steps += 1
    smooth = as_correlation(dual.projection.positive)
    ending = Convergence(
        converged=dual.error <= TOLERANCE,
        iterations=steps,
        reason=f"diagonal met to {dual.error:.1e}",
        objective=sum_of_squares(smooth - matrix),
    )
    return Repair(smooth, ending, "nearest in the Frobenius norm, equal weights")


def _at(matrix: FloatArray, y: FloatArray) -> _Dual:
    """Evaluate the dual function."""
    projection = project(matrix + np.diag(y))
    gradient = np.diagonal(projection.positive) - 1.0
    return _Dual(y, projection, projection.squared / 2.0 - float(y.sum()), gradient)


def _newton_direction(dual: _Dual) -> FloatArray:
    """Solve the Newton equation, with more precision near the solution."""
    vectors = dual.projection.vectors
    omega = divided_differences(dual.projection.values)
    squares = vectors**2

    def hessian(h: FloatArray) -> FloatArray:
        inner = omega * ((vectors.T * h) @ vectors)
        return np.asarray(((vectors @ inner) * vectors).sum(axis=1) + RIDGE * h)

    diagonal = ((squares @ omega) * squares).sum(axis=1) + RIDGE
    tolerance = min(0.1, dual.error)
    return conjugate_gradient(
        hessian, -dual.gradient, diagonal, tolerance=tolerance, limit=CG_STEPS
    )


def _search(matrix: FloatArray, dual: _Dual, direction: FloatArray) -> _Dual | None:
    """Halve the step until the dual function or its gradient decreases enough."""
    slope = float(direction @ dual.gradient)
    for halvings in range(30):
        step = 0.5**halvings
        trial = _at(matrix, dual.y + step * direction)
        # Near the solution the value is constant up to rounding error, so the gradient is used
        # instead.
        if trial.value <= dual.value + 1e-4 * step * slope or trial.error <= dual.error / 2.0:
            return trial
    return None
