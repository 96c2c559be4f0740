r"""Minimum rank factor analysis, which minimises the unexplained common variance.

Uniquenesses are chosen such that :math:`R - \Psi` has no negative eigenvalue and that the
eigenvalues after the first m have the smallest sum,

.. math:: \min_{\Psi \ge 0} \; \sum_{j > m} \gamma_j(R - \Psi)
          \quad\text{with}\quad R - \Psi \succeq 0 .                                      \quad (1)

The sum of the last eigenvalues is concave in the uniquenesses. The tangent of the sum, with slopes
:math:`-w_i = -\sum_{j > m} v_{ij}^2`, is above the sum, so that minimising the tangent never
increases the sum. A barrier of decreasing weight :math:`\mu` enforces the constraints in the
function

.. math:: -\sum_i w_i \psi_i - \mu \log\det(R - \Psi) - \mu \sum_i \log \psi_i .          \quad (2)

The function of equation (2) is minimised by Newton's method for each :math:`\mu`. The final value
is within :math:`2 k \mu` of the optimum of equation (1).

References
----------
ten Berge, J. M. F., & Kiers, H. A. L. (1991). A numerical approach to the approximate and the
exact minimum rank of a covariance matrix. Psychometrika, 56(2), 309-315.
https://doi.org/10.1007/BF02294464
"""

from typing import NamedTuple

import numpy as np

from psychollm._base.types import FloatArray
from psychollm.factor.exploratory.minimise import Lowest, multistart, uniqueness_starts

FIRST_BARRIER, LAST_BARRIER = 0.01, 1e-11
LOWERED = 0.2
MAX_TANGENTS = 60
MAX_STEPS = 30
MOST_STARTS = 16
STILL = 1e-11
SAME_MINIMUM = 1e-7


class MinimumRank(NamedTuple):
    """Final state of the iteration."""

    uniquenesses: FloatArray  # (k,)
    loadings: FloatArray  # (k, m)
    objective: float  # common variance unexplained by m factors
    gradient: float
    converged: bool
    steps: int


def minimum_rank(matrix: FloatArray, n_factors: int) -> Lowest[MinimumRank]:
    """Minimise equation (1) for positive definite correlations (k, k), from several starts."""
    shapes = uniqueness_starts(matrix, 0.005, MOST_STARTS)
    scaled = matrix / np.sqrt(shapes[:, :, None] * shapes[:, None, :])
    # Start at half of the largest distance at which the reduced matrix is positive definite.
    starts = 0.5 * np.linalg.eigvalsh(scaled)[:, :1] * shapes

    def descend(block: FloatArray) -> list[tuple[float, MinimumRank]]:
        ends = [follow_barrier(matrix, psi, n_factors) for psi in block]
        return [(end.objective if end.converged else np.inf, end) for end in ends]

    return multistart(descend, starts, SAME_MINIMUM)


def follow_barrier(matrix: FloatArray, psi: FloatArray, n_factors: int) -> MinimumRank:
    """Minimise equation (1) from one start with a positive definite reduced matrix."""
    k = len(matrix)
    barrier, steps, change = FIRST_BARRIER, 0, np.inf
    while barrier > LAST_BARRIER:
        barrier = max(LOWERED * barrier, LAST_BARRIER)
        last = barrier <= LAST_BARRIER
        for _ in range(MAX_TANGENTS if last else 8):
            before = psi
            psi, taken = _on_tangent(
                matrix, psi, _weights(matrix - np.diag(psi), n_factors), barrier
            )
            steps += taken
            change = float(np.abs(psi - before).max())
            if change < (STILL if last else 0.1 * barrier):
                break
    values, vectors = np.linalg.eigh(matrix - np.diag(psi))
    top = np.maximum(values[::-1][:n_factors], 0.0)
    return MinimumRank(
        uniquenesses=psi,
        loadings=vectors[:, ::-1][:, :n_factors] * np.sqrt(top),
        objective=float(values[: k - n_factors].sum()),
        gradient=change,
        converged=change < 1e-8,
        steps=steps,
    )


def _weights(reduced: FloatArray, n_factors: int) -> FloatArray:
    vectors = np.linalg.eigh(reduced)[1][:, : len(reduced) - n_factors]
    return np.asarray(np.sum(vectors**2, axis=1), dtype=np.float64)


def _on_tangent(
    matrix: FloatArray, psi: FloatArray, weights: FloatArray, barrier: float
) -> tuple[FloatArray, int]:
    """Minimise equation (2) by Newton's method; return uniquenesses and number of steps."""
    for step in range(MAX_STEPS):
        try:
            inverse = np.linalg.inv(matrix - np.diag(psi))
            slope = -weights + barrier * (np.diagonal(inverse) - 1.0 / psi)
            bend = barrier * (inverse**2 + np.diag(1.0 / psi**2))
            move = np.linalg.solve(bend, -slope)
        except np.linalg.LinAlgError:  # rounding errors near the bounds
            return psi, step
        decrement = float(-slope @ move)
        if decrement < 1e-12 * barrier:
            return psi, step
        # The barrier is self-concordant, so a step with this damping stays inside the feasible
        # region, up to rounding.
        move /= 1.0 + np.sqrt(max(decrement, 0.0) / barrier)
        while not _inside(matrix, psi + move):
            move *= 0.5
        psi = psi + move
    return psi, MAX_STEPS


def _inside(matrix: FloatArray, psi: FloatArray) -> bool:
    """Return whether uniquenesses are positive and leave the matrix positive definite."""
    return bool(psi.min() > 0.0 and np.linalg.eigvalsh(matrix - np.diag(psi))[0] > 0.0)
