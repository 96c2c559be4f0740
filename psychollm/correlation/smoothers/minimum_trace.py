r"""Minimum-trace factor analysis, and the scaling of Bentler and Yuan (2011) based on it.

Let :math:`R_0` be R with zero diagonal. Minimum-trace factor analysis (Bentler, 1972) finds the
communalities

.. math:: \min_h \sum_i h_i \quad \text{subject to} \quad R_0 + \operatorname{diag} h \succeq 0.

This semidefinite program has a unique solution (Della Riccia & Shapiro, 1982). If R has a negative
eigenvalue, some communality exceeds one (a Heywood case). Bentler and Yuan shrink only the
correlations of variables that are Heywood cases. For a constant :math:`c \le 1`, let
:math:`\delta_i = \sqrt{c / h_i}` if :math:`h_i \ge 1`, and :math:`\delta_i = 1` elsewhere. Then

.. math:: R^* = \Delta R_0 \Delta + I
              = \Delta (R_0 + \operatorname{diag} h) \Delta
              + (I - \Delta \operatorname{diag}(h) \, \Delta).

The scaled matrix :math:`R^*` is a sum of two positive semidefinite matrices, and is positive
definite if c < 1. Debelak and Tran (2016) recommend minimum-trace smoothing before parallel
analysis.

The semidefinite program is solved by a primal-dual interior-point method (Helmberg, Rendl,
Vanderbei & Wolkowicz, 1996). The dual program minimises :math:`\langle R_0, Y \rangle` over
correlation matrices Y, and the iteration stops when the gap between the primal and the dual value
is small.

References
----------
Bentler, P. M. (1972). A lower-bound method for the dimension-free measurement of internal
consistency. Social Science Research, 1(4), 343-357.
https://doi.org/10.1016/0049-089X(72)90082-8

Bentler, P. M., & Yuan, K.-H. (2011). Positive definiteness via off-diagonal scaling of a symmetric
indefinite matrix. Psychometrika, 76(1), 119-123. https://doi.org/10.1007/s11336-010-9191-3

Debelak, R., & Tran, U. S. (2016). Comparing the effects of different smoothing algorithms on the
assessment of dimensionality of ordered categorical items with parallel analysis. PLOS ONE, 11(2),
e0148143. https://doi.org/10.1371/journal.pone.0148143

Della Riccia, G., & Shapiro, A. (1982). Minimum rank and minimum trace of covariance matrices.
Psychometrika, 47(4), 443-448. https://doi.org/10.1007/BF02293708

Helmberg, C., Rendl, F., Vanderbei, R. J., & Wolkowicz, H. (1996). An interior-point method for
semidefinite programming. SIAM Journal on Optimization, 6(2), 342-361.
https://doi.org/10.1137/0806020
"""

from typing import NamedTuple

import numpy as np

from psychollm._base.convergence import Convergence
from psychollm._base.types import FloatArray
from psychollm.correlation.smoothers.cone import Repair, as_correlation, hollow

TOLERANCE = 1e-12  # duality gap per unit of trace
GOOD_ENOUGH = 1e-8  # largest gap due to rounding errors
MAX_STEPS = 100
HEYWOOD = 1.0 - 1e-8  # below one, so that rounding errors do not affect duplicates


class _Iterate(NamedTuple):
    """Strictly feasible points of the semidefinite program and of its dual."""

    communalities: FloatArray  # (k,)
    slack: FloatArray  # (k, k) R0 + diag h, positive definite
    dual: FloatArray  # (k, k) Y, a positive definite correlation matrix

    @property
    def gap(self) -> float:
        """Sum of the communalities minus its lower bound -<R0, Y>."""
        return float(np.sum(self.slack * self.dual))

    @property
    def trace(self) -> float:
        return float(self.communalities.sum())


def minimum_trace(matrix: FloatArray, scaling: float) -> Repair:
    """Shrink only the correlations of variables that are Heywood cases."""
    communalities, ending = minimum_trace_communalities(matrix)
    heywood = communalities >= HEYWOOD
    scale = np.where(heywood, np.sqrt(scaling / np.maximum(communalities, 1.0)), 1.0)
    smooth = as_correlation(hollow(matrix * np.outer(scale, scale)) + np.eye(len(matrix)))
    count = int(np.count_nonzero(heywood))
    note = f"correlations of {count} of {len(matrix)} rows scaled down (communality above one)"
    return Repair(smooth, ending, note, scale=scale)


def minimum_trace_communalities(matrix: FloatArray) -> tuple[FloatArray, Convergence]:
    """Return the communalities of minimum-trace factor analysis, shape (k,)."""
    # The reduced matrix of every iterate, including the last, is positive semidefinite.
    point = _start(matrix)
    target = point.gap / (4 * len(matrix))
    steps, stalled = 0, False
    while point.gap > TOLERANCE * point.trace and steps < MAX_STEPS and not stalled:
        point, length = _step(point, target)
        stalled = length < 1e-6
        # If steps are long, the iterates are close to the central path, so the next target is
        # further along this path.
        target = point.gap / ((4 if length > 1.8 else 2) * len(matrix))
        steps += 1
    relative = point.gap / point.trace
    ending = Convergence(
        converged=relative <= GOOD_ENOUGH,
        iterations=steps,
        reason=f"trace at most {relative:.1e} above the minimum (duality gap)",
        objective=point.trace,
    )
    return point.communalities, ending


def _start(matrix: FloatArray) -> _Iterate:
    """Return starting points: a diagonally dominant slack matrix and the identity matrix."""
    off = hollow(matrix)
    communalities = 1.1 * np.abs(off).sum(axis=1) + 0.1
    return _Iterate(communalities, off + np.diag(communalities), np.eye(len(matrix)))


def _step(point: _Iterate, target: float) -> tuple[_Iterate, float]:
    """Take a Newton step towards matrices whose product (slack times dual) is `target` I."""
    inverse = np.linalg.inv(point.slack)
    inverse = (inverse + inverse.T) / 2.0
    change = np.linalg.solve(inverse * point.dual, target * np.diagonal(inverse) - 1.0)
    dual_change = target * inverse - point.dual - (inverse * change) @ point.dual
    dual_change = (dual_change + dual_change.T) / 2.0
    np.fill_diagonal(dual_change, 0.0)
    first = _longest(point.slack, np.diag(change))
    second = _longest(point.dual, dual_change)
    communalities = point.communalities + first * change
    slack = hollow(point.slack) + np.diag(communalities)
    return _Iterate(communalities, slack, point.dual + second * dual_change), first + second


def _longest(matrix: FloatArray, change: FloatArray) -> float:
    """Return the longest step, at most one, that keeps the matrix positive definite."""
    length = 1.0
    while not _is_definite(matrix + length * change):
        length *= 0.8
        if length < 1e-9:
            return 0.0
    return length if length == 1.0 else 0.95 * length


def _is_definite(matrix: FloatArray) -> bool:
    """Return whether the matrix has a Cholesky factor."""
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return False
    return True
