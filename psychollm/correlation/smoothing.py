r"""`smooth`: five methods that make a correlation matrix positive semidefinite.

Shrinkage of a matrix G towards a correlation matrix T is :math:`S(\alpha) = \alpha T + (1 -
\alpha) G` (Higham, Strabić & Šego, 2016). With a positive definite target :math:`T = L L'`, the
smallest :math:`\alpha` without a negative eigenvalue is :math:`\alpha = -\mu / (1 - \mu)`. Here
:math:`\mu < 0` is the smallest eigenvalue of :math:`L^{-1} G L^{-\prime}`. With a singular target,
:math:`\alpha` is found by bisection.

References
----------
Higham, N. J., Strabić, N., & Šego, V. (2016). Restoring definiteness via shrinking, with an
application to correlation matrices with a fixed block. SIAM Review, 58(2), 245-263.
https://doi.org/10.1137/140996112
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from scipy import linalg

from psychollm._base.axes import Axes
from psychollm._base.checks import check_choice
from psychollm._base.convergence import Convergence
from psychollm._base.errors import InputError, OptionError
from psychollm._base.numbers import signed
from psychollm._base.result import Result
from psychollm._base.types import FloatArray
from psychollm.correlation.smoothers.cone import (
    ROUNDING,
    TOO_SMALL,
    Repair,
    as_correlation,
    clip,
    sum_of_squares,
)
from psychollm.correlation.smoothers.minimum_trace import minimum_trace
from psychollm.correlation.smoothers.nearest import nearest
from psychollm.correlation.smoothers.weighted import weighted_nearest
from psychollm.data.labels import Labels
from psychollm.data.matrix_input import (
    MatrixLike,
    adjusted_pairs,
    correlation_matrix,
    name_pairs,
    square_of,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


DEFINITE = 1e-8  # a target with a smaller eigenvalue counts as singular
BISECTIONS = 60


def equal_correlations(matrix: FloatArray) -> FloatArray:
    """Return a positive semidefinite matrix whose correlations all equal the mean, if possible."""
    k = len(matrix)
    mean = (float(matrix.sum()) - k) / (k * (k - 1))
    target = np.full_like(matrix, max(mean, -1.0 / (k - 1)))
    np.fill_diagonal(target, 1.0)
    return target


def shrink(matrix: FloatArray, target: FloatArray, shrinkage: float | None) -> Repair:
    """Mix a matrix with a target by the given weight, or by the smallest sufficient weight."""
    least, steps = least_shrinkage(matrix, target)
    weight = least if shrinkage is None else shrinkage
    if weight < least - ROUNDING:
        msg = (
            f"shrinkage={weight:g} leaves a negative eigenvalue: this target needs at "
            f"least {least:.6g}, the default"
        )
        raise OptionError(msg)
    smooth = as_correlation(weight * target + (1.0 - weight) * matrix)
    ending = Convergence(
        converged=True,
        iterations=steps,
        reason="closed form" if steps == 1 else "bisection",
        objective=sum_of_squares(smooth - matrix),
    )
    return Repair(smooth, ending, f"weight of the target {weight:.6g}", shrinkage=weight)


def least_shrinkage(matrix: FloatArray, target: FloatArray) -> tuple[float, int]:
    """Return the smallest weight that removes negative eigenvalues, and the number of steps."""
    if np.linalg.eigvalsh(target)[0] < DEFINITE:
        return _bisect(matrix, target)
    root = np.linalg.cholesky(target)
    half = linalg.solve_triangular(root, matrix, lower=True)
    relative = linalg.solve_triangular(root, half.T, lower=True)
    smallest = float(np.linalg.eigvalsh((relative + relative.T) / 2.0)[0])
    return -smallest / (1.0 - smallest), 1


def _bisect(matrix: FloatArray, target: FloatArray) -> tuple[float, int]:
    """Find by bisection the smallest weight of the target that removes negative eigenvalues.

    A weight of one suffices, up to rounding error.
    """
    low, high = 0.0, 1.0
    for _ in range(BISECTIONS):
        middle = (low + high) / 2.0
        mixed = middle * target + (1.0 - middle) * matrix
        if np.linalg.eigvalsh(mixed)[0] < -ROUNDING / 10:
            low = middle
        else:
            high = middle
    return high, BISECTIONS


Method: TypeAlias = Literal["nearest", "weighted", "clip", "shrink", "minimum_trace"]
Target: TypeAlias = Literal["identity", "equal"]

SCALING = 0.98
_UNTOUCHED = "already positive semidefinite, unchanged"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Smoothing(Result):
    """Correlation matrix without negative eigenvalues, and its changes from the original.

    Attributes
    ----------
    matrix : ndarray of shape (k, k)
        Smoothed matrix, which is exactly symmetric and has an exact unit diagonal. No eigenvalue
        is below -1e-12.
    moved : ndarray of shape (k, k)
        `matrix` minus the original matrix.
    rms_moved : float
        Root mean square of `moved` over pairs.
    largest_move : float
        Entry of `moved` with the largest absolute value.
    largest_pair : tuple
        Labels of the pair with the largest change; empty if the matrix is unchanged.
    eigenvalues_before, eigenvalues_after : ndarray of shape (k,)
        Eigenvalues before and after smoothing, in descending order.
    deficit : float
        Sum of absolute values of the negative eigenvalues before smoothing.
    method : str
        Smoothing method.
    note : str
        Description of the changes.
    shrinkage : float
        Weight of the target with ``method="shrink"``; NaN for other methods, or if the matrix is
        unchanged.
    scale : ndarray of shape (k,)
        Factor by which ``method="minimum_trace"`` multiplies each row and column of correlations;
        1 for other methods.
    adjusted_pairs : int
        Number of pairs whose table had a continuity correction.
    labels : tuple
        Names of the k rows.
    convergence : Convergence
        Convergence status. The objective is the (weighted) sum of squared changes over pairs or,
        with ``"minimum_trace"``, the minimal trace.
    """

    matrix: FloatArray  # (k, k)
    moved: FloatArray  # (k, k)
    rms_moved: float
    largest_move: float
    largest_pair: Labels  # 2, or none
    eigenvalues_before: FloatArray  # (k,)
    eigenvalues_after: FloatArray  # (k,)
    deficit: float
    method: Method
    note: str
    shrinkage: float
    scale: FloatArray  # (k,)
    adjusted_pairs: int = 0
    labels: Labels  # k
    convergence: Convergence

    _AXES = Axes(
        {"first": "labels", "second": "labels"},
        ("before", lambda smoothing: smoothing.matrix - smoothing.moved),
        "after=matrix",
        "moved",
        pairs="lower",
    )

    def summary(self) -> str:
        """Describe the changes of the matrix."""
        smallest = self.eigenvalues_before[-1]
        k = len(self.labels)
        first = f"{k} x {k} matrix, smallest eigenvalue {smallest:.3g}, deficit {self.deficit:.3g}"
        if not self.largest_pair:
            return f"{first}: {_UNTOUCHED}."
        a, b = self.largest_pair
        return (
            f"{first}.\nSmoothing by {self.method!r} ({self.note}) changed correlations by "
            f"{self.rms_moved:.3g} (root mean square). The largest change is "
            f"{signed(self.largest_move, 3)}, of {a!r} and {b!r}."
        )


def smooth(
    matrix: MatrixLike,
    *,
    method: Method = "nearest",
    weights: ArrayLike | None = None,
    target: Target | ArrayLike | None = None,
    shrinkage: float | None = None,
    scaling: float | None = None,
) -> Smoothing:
    """Make a correlation matrix positive semidefinite, and report the changes.

    If correlations are estimated pair by pair, their matrix may have negative eigenvalues.
    Smoothing removes negative eigenvalues. The result reports the size of the negative eigenvalues
    and the change of each correlation.

    Parameters
    ----------
    matrix : Correlation, DataFrame or array of shape (k, k)
        Symmetric matrix with unit diagonal and entries in [-1, 1]. A matrix that is already
        positive semidefinite (for ``"clip"``: definite) is returned unchanged.
    method : {"nearest", "weighted", "clip", "shrink", "minimum_trace"}
        * ``"nearest"``: least sum of squared changes (Higham, 2002; Qi & Sun, 2006).
        * ``"weighted"``: least weighted sum of squared changes (Qi & Sun, 2011).
        * ``"clip"``: eigenvalues that are not positive are raised to 1e-10, and the matrix is
          rescaled to unit diagonal, as in R's ``psych::cor.smooth`` (Knol & Berger, 1991).
        * ``"shrink"``: mixture with a target matrix (Higham, Strabić & Šego, 2016).
        * ``"minimum_trace"``: the correlations of Heywood cases of minimum-trace factor analysis
          are scaled down (Bentler & Yuan, 2011). Debelak and Tran (2016) recommend minimum-trace
          smoothing before parallel analysis.
    weights : array of shape (k, k), optional
        Positive weights of the pairs, for ``"weighted"``. The default is 1 / se^2, computed from
        the standard errors of a `Correlation`.
    target : {"identity", "equal"} or array of shape (k, k), optional
        Target for ``"shrink"``: the identity matrix (default), a matrix in which all correlations
        equal the mean correlation, or a given correlation matrix.
    shrinkage : float, optional
        Weight of the target for ``"shrink"``, in [0, 1]. The default is the smallest weight that
        removes all negative eigenvalues.
    scaling : float, optional
        Scaling constant of Bentler and Yuan for ``"minimum_trace"``, in (0, 1]; the default is
        0.98. With a constant below one, the smoothed matrix is positive definite.

    Returns
    -------
    Smoothing
        Smoothed matrix, its changes, and the eigenvalues before and after smoothing.

    Raises
    ------
    InputError
        If a correlation is undefined or outside [-1, 1], or if the matrix is not symmetric with
        unit diagonal.
    OptionError
        If an option does not exist or does not apply to the method, or if `shrinkage` is too
        small.

    Warns
    -----
    ConvergenceWarning
        If the iteration stops before convergence. The result is still positive semidefinite.

    See Also
    --------
    spectrum : eigenvalues, loadings and negative mass, without smoothing.

    References
    ----------
    Higham, N. J. (2002). Computing the nearest correlation matrix: a problem from finance. IMA
    Journal of Numerical Analysis, 22(3), 329-343. https://doi.org/10.1093/imanum/22.3.329

    Qi, H., & Sun, D. (2006). A quadratically convergent Newton method for computing the nearest
    correlation matrix. SIAM Journal on Matrix Analysis and Applications, 28(2), 360-385.
    https://doi.org/10.1137/050624509

    Qi, H., & Sun, D. (2011). An augmented Lagrangian dual approach for the H-weighted nearest
    correlation matrix problem. IMA Journal of Numerical Analysis, 31(2), 491-511.
    https://doi.org/10.1093/imanum/drp031

    Knol, D. L., & Berger, M. P. F. (1991). Empirical comparison between factor analysis and
    multidimensional item response models. Multivariate Behavioral Research, 26(3), 457-477.
    https://doi.org/10.1207/s15327906mbr2603_5

    Higham, N. J., Strabić, N., & Šego, V. (2016). Restoring definiteness via shrinking, with an
    application to correlation matrices with a fixed block. SIAM Review, 58(2), 245-263.
    https://doi.org/10.1137/140996112

    Bentler, P. M., & Yuan, K.-H. (2011). Positive definiteness via off-diagonal scaling of a
    symmetric indefinite matrix. Psychometrika, 76(1), 119-123.
    https://doi.org/10.1007/s11336-010-9191-3

    Debelak, R., & Tran, U. S. (2016). Comparing the effects of different smoothing algorithms on
    the assessment of dimensionality of ordered categorical items with parallel analysis. PLOS ONE,
    11(2), e0148143. https://doi.org/10.1371/journal.pone.0148143

    Examples
    --------
    >>> import psychollm as psy
    >>> result = psy.smooth([[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]])
    >>> result.matrix[0].round(3), round(result.deficit, 3)
    (array([ 1. ,  0.5, -0.5]), 0.8)
    """
    _check_options(method, weights, target, shrinkage, scaling)
    values, labels = correlation_matrix(matrix)
    pairs = _weights(matrix, weights, labels) if method == "weighted" else None
    goal = _target(target, values) if method == "shrink" else None
    before = _eigenvalues(values)
    if before[-1] >= (TOO_SMALL if method == "clip" else -ROUNDING):
        repair = _untouched(values)
    elif pairs is not None:
        repair = weighted_nearest(values, pairs)
    elif goal is not None:
        repair = shrink(values, goal, shrinkage)
    elif method == "minimum_trace":
        repair = minimum_trace(values, SCALING if scaling is None else scaling)
    else:
        repair = clip(values) if method == "clip" else nearest(values)
    repair.convergence.warn(f"smooth(method={method!r})")
    return _report(values, labels, before, method, repair, adjusted_pairs(matrix))


def _eigenvalues(matrix: FloatArray) -> FloatArray:
    """Return eigenvalues in descending order."""
    return np.asarray(np.linalg.eigvalsh(matrix)[::-1], dtype=np.float64).copy()


def _report(
    values: FloatArray,
    labels: Labels,
    before: FloatArray,
    method: Method,
    repair: Repair,
    adjusted: int,
) -> Smoothing:
    """Return the smoothed matrix with a report of its changes."""
    k = len(values)
    moved = repair.matrix - values
    i, j = np.tril_indices(k, -1)
    pairs = moved[i, j]
    most = int(np.argmax(np.abs(pairs)))
    return Smoothing(
        matrix=repair.matrix,
        moved=moved,
        rms_moved=float(np.sqrt(np.mean(pairs**2))),
        largest_move=float(pairs[most]),
        largest_pair=(labels[j[most]], labels[i[most]]) if pairs[most] != 0 else (),
        eigenvalues_before=before,
        eigenvalues_after=_eigenvalues(repair.matrix),
        deficit=float(np.maximum(-before, 0.0).sum()),
        method=method,
        note=repair.note,
        shrinkage=repair.shrinkage,
        scale=np.ones(k) if repair.scale is None else repair.scale,
        adjusted_pairs=adjusted,
        labels=labels,
        convergence=repair.convergence,
    )


def _untouched(values: FloatArray) -> Repair:
    """Return the unchanged matrix, with a report that nothing was changed."""
    ending = Convergence(converged=True, iterations=0, reason=_UNTOUCHED, objective=0.0)
    return Repair(values, ending, _UNTOUCHED)


def _check_options(
    method: Method, weights: object, target: object, shrinkage: float | None, scaling: float | None
) -> None:
    """Raise an error for options that the method does not use, and for numbers out of range."""
    check_choice("method", method, Method)
    owners = {"weights": "weighted", "target": "shrink", "shrinkage": "shrink"}
    owners["scaling"] = "minimum_trace"
    given = {"weights": weights, "target": target, "shrinkage": shrinkage, "scaling": scaling}
    for name, owner in owners.items():
        if given[name] is not None and method != owner:
            msg = f"{name}= is for method={owner!r}, not {method!r}: omit it"
            raise OptionError(msg)
    if isinstance(target, str):
        check_choice("target", target, Target)
    if shrinkage is not None and not 0.0 <= shrinkage <= 1.0:
        msg = f"shrinkage={shrinkage!r} must lie in [0, 1]"
        raise OptionError(msg)
    if scaling is not None and not 0.0 < scaling <= 1.0:
        msg = f"scaling={scaling!r} must be above 0 and at most 1"
        raise OptionError(msg)


def _weights(matrix: object, weights: ArrayLike | None, labels: Labels) -> FloatArray:
    """Return the given weights, or 1 / se^2 of each pair."""
    k = len(labels)
    if weights is not None:
        return _positive(square_of(weights, "weights", k), "weights", labels)
    if not hasattr(matrix, "se"):
        msg = (
            "method='weighted' needs standard errors: pass a Correlation instead of a plain "
            "matrix, or weights= of shape (k, k)"
        )
        raise OptionError(msg)
    errors = _positive(square_of(matrix.se, "standard errors", k), "standard errors", labels)
    return np.asarray(1.0 / errors**2)


def _positive(array: FloatArray, name: str, labels: Labels) -> FloatArray:
    """Check that pairs have positive finite values, and set the diagonal to one."""
    np.fill_diagonal(array, 1.0)
    bad = ~(np.isfinite(array) & (array > 0))
    if bad.any():
        msg = (
            f"{name} of pairs must be positive and finite, but are not for "
            f"{name_pairs(bad, labels)}. Estimates at -1 or 1 have no standard error: use "
            "a "
            "continuity correction other than 'none', or pass weights="
        )
        raise InputError(msg)
    return array


def _target(target: Target | ArrayLike | None, values: FloatArray) -> FloatArray:
    """Return the target matrix of the shrinkage."""
    if target is None or (isinstance(target, str) and target == "identity"):
        return np.eye(len(values))
    if isinstance(target, str):
        return equal_correlations(values)
    given, _ = correlation_matrix(square_of(target, "target", len(values)))
    smallest = float(np.linalg.eigvalsh(given)[0])
    if smallest < -ROUNDING:
        msg = (
            f"target has a negative eigenvalue ({smallest:.3g}): pass a correlation matrix, such "
            "as smooth(target).matrix"
        )
        raise InputError(msg)
    return given
