r"""Shrinkage towards a target: the least weight that leaves no negative eigenvalue.

:math:`S(\alpha) = \alpha T + (1 - \alpha) G` for a correlation matrix T (Higham, Strabić & Šego,
2016). With a positive definite target the least :math:`\alpha` has a closed form: if
:math:`\mu < 0` is the smallest eigenvalue of :math:`L^{-1} G L^{-\prime}`, where
:math:`T = L L'`, then :math:`\alpha = -\mu / (1 - \mu)`. With a singular target it is bisected.

References
----------
Higham, N. J., Strabić, N., & Šego, V. (2016). Restoring definiteness via shrinking, with an
application to correlation matrices with a fixed block. SIAM Review, 58(2), 245-263.
https://doi.org/10.1137/140996112
"""

import numpy as np
from scipy import linalg

from psychollm._base.convergence import Convergence
from psychollm._base.errors import OptionError
from psychollm._base.types import FloatArray
from psychollm.correlation.smoothers.cone import (
    ROUNDING,
    Repair,
    as_correlation,
    sum_of_squares,
)

DEFINITE = 1e-8  # smallest eigenvalue of a target that is inverted
BISECTIONS = 60


def equal_correlations(matrix: FloatArray) -> FloatArray:
    """Return the matrix whose correlations all equal the mean one, held where that is PSD."""
    k = len(matrix)
    mean = (float(matrix.sum()) - k) / (k * (k - 1))
    target = np.full_like(matrix, max(mean, -1.0 / (k - 1)))
    np.fill_diagonal(target, 1.0)
    return target


def shrink(matrix: FloatArray, target: FloatArray, shrinkage: float | None) -> Repair:
    """Mix a matrix with a target: by the weight given, or the least that suffices."""
    least, steps = least_shrinkage(matrix, target)
    weight = least if shrinkage is None else shrinkage
    if weight < least - ROUNDING:
        msg = (
            f"shrinkage={weight:g} leaves a negative eigenvalue: with this target it must be at "
            f"least {least:.6g}; shrinkage=None takes that"
        )
        raise OptionError(msg)
    smooth = as_correlation(weight * target + (1.0 - weight) * matrix)
    ending = Convergence(
        converged=True,
        iterations=steps,
        reason="closed form" if steps == 1 else "bisection",
        objective=sum_of_squares(smooth - matrix),
    )
    return Repair(smooth, ending, f"target mixed in with weight {weight:.6g}", shrinkage=weight)


def least_shrinkage(matrix: FloatArray, target: FloatArray) -> tuple[float, int]:
    """Return the least weight of the target without negative eigenvalues, and the steps taken."""
    if np.linalg.eigvalsh(target)[0] < DEFINITE:
        return _bisect(matrix, target)
    root = np.linalg.cholesky(target)
    half = linalg.solve_triangular(root, matrix, lower=True)
    relative = linalg.solve_triangular(root, half.T, lower=True)
    smallest = float(np.linalg.eigvalsh((relative + relative.T) / 2.0)[0])
    return -smallest / (1.0 - smallest), 1


def _bisect(matrix: FloatArray, target: FloatArray) -> tuple[float, int]:
    """Halve the interval of weights; its upper end always suffices, to rounding error."""
    low, high = 0.0, 1.0
    for _ in range(BISECTIONS):
        middle = (low + high) / 2.0
        mixed = middle * target + (1.0 - middle) * matrix
        if np.linalg.eigvalsh(mixed)[0] < -ROUNDING / 10:
            low = middle
        else:
            high = middle
    return high, BISECTIONS
