r"""Projection onto the cone of positive semidefinite matrices, and its derivative.

With the spectral decomposition :math:`A = P \Lambda P'`, the nearest positive semidefinite matrix
is :math:`\Pi(A) = P \max(\Lambda, 0) P'`. The directional derivative of this projection (Sun &
Sun, 2002) is

.. math:: \Pi'(A)[H] = P \, (\Omega \circ P' H P) \, P', \qquad
          \Omega_{ab} = \frac{\max(\lambda_a, 0) + \max(\lambda_b, 0)}{|\lambda_a| + |\lambda_b|}

The simplest method clips non-positive eigenvalues and rescales the diagonal to one (Knol & Berger,
1991, equation 27), with the constants of R's ``psych::cor.smooth``. Clipping is not optimal, but
needs only one spectral decomposition.

References
----------
Knol, D. L., & Berger, M. P. F. (1991). Empirical comparison between factor analysis and
multidimensional item response models. Multivariate Behavioral Research, 26(3), 457-477.
https://doi.org/10.1207/s15327906mbr2603_5

Sun, D., & Sun, J. (2002). Semismooth matrix-valued functions. Mathematics of Operations Research,
27(1), 150-169. https://doi.org/10.1287/moor.27.1.150.342
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from psychollm._base.convergence import Convergence
from psychollm._base.types import FloatArray

# Largest rounding error of zero eigenvalues for k up to 1,000.
ROUNDING = 1e-12
# The R package psych first tests for an eigenvalue below 2.2e-16. For a singular matrix, this
# threshold is below rounding error, and the outcome of the test is arbitrary; therefore, only the
# package's second threshold is used here.
TOO_SMALL = 1e-12
RAISED_TO = 100 * TOO_SMALL


class Repair(NamedTuple):
    """Smoothed matrix, with the convergence status and a description of the changes."""

    matrix: FloatArray  # (k, k)
    convergence: Convergence
    note: str
    shrinkage: float = float("nan")
    scale: FloatArray | None = None  # (k,)


class Projection(NamedTuple):
    """Projection of a symmetric matrix onto the cone, with the terms of its derivative."""

    values: FloatArray  # (k,) ascending
    vectors: FloatArray  # (k, k)
    positive: FloatArray  # (k, k) the projection
    squared: float  # squared Frobenius norm of `positive`


def project(matrix: FloatArray) -> Projection:
    """Return the nearest positive semidefinite matrix in the Frobenius norm."""
    values, vectors = np.linalg.eigh(matrix)
    raised = np.maximum(values, 0.0)
    root = vectors * np.sqrt(raised)
    return Projection(values, vectors, root @ root.T, float(raised @ raised))


def divided_differences(values: FloatArray) -> FloatArray:
    """Return Omega, the divided differences, which are zero if both eigenvalues are zero."""
    raised = np.maximum(values, 0.0)
    sizes = np.abs(values)
    below = sizes[:, None] + sizes
    above = raised[:, None] + raised
    result: FloatArray = np.divide(above, below, out=np.zeros_like(below), where=below > 0)
    return result


def as_correlation(matrix: FloatArray) -> FloatArray:
    """Rescale a positive semidefinite matrix to exact symmetry and an exact unit diagonal."""
    inverse = 1.0 / np.sqrt(np.diagonal(matrix))
    scaled = (matrix + matrix.T) / 2.0 * np.outer(inverse, inverse)
    result: FloatArray = np.clip(scaled, -1.0, 1.0)
    np.fill_diagonal(result, 1.0)
    return result


def hollow(matrix: FloatArray) -> FloatArray:
    """Return a copy of the matrix with a zero diagonal."""
    result = matrix.copy()
    np.fill_diagonal(result, 0.0)
    return result


def sum_of_squares(change: FloatArray) -> float:
    """Return the sum of squared changes over pairs."""
    return float(np.sum(hollow(change) ** 2)) / 2.0


def conjugate_gradient(
    apply: Callable[[FloatArray], FloatArray],
    target: FloatArray,
    scaling: FloatArray,
    *,
    tolerance: float,
    limit: int,
) -> FloatArray:
    """Solve ``apply(x) = target`` for a positive definite map by conjugate gradients."""
    # `scaling` is a diagonal preconditioner, an estimate of the diagonal of the map.
    x = np.zeros_like(target)
    residual = target.copy()
    enough = tolerance * np.linalg.norm(target)
    direction = residual / scaling
    product = float(np.sum(residual * direction))
    for _ in range(limit):
        if np.linalg.norm(residual) <= enough:
            break
        image = apply(direction)
        step = product / float(np.sum(direction * image))
        x += step * direction
        residual -= step * image
        scaled = residual / scaling
        product, before = float(np.sum(residual * scaled)), product
        direction = scaled + (product / before) * direction
    return x


def clip(matrix: FloatArray) -> Repair:
    """Raise eigenvalues below `TOO_SMALL` to `RAISED_TO`, and rescale to unit diagonal."""
    values, vectors = np.linalg.eigh(matrix)
    small = values < TOO_SMALL
    raised = np.where(small, RAISED_TO, values)
    smooth = as_correlation((vectors * raised) @ vectors.T)
    ending = Convergence(
        converged=True,
        iterations=1,
        reason="closed form",
        objective=sum_of_squares(smooth - matrix),
    )
    count = int(np.count_nonzero(small))
    return Repair(smooth, ending, f"{count} of {values.size} eigenvalues raised to {RAISED_TO:g}")
