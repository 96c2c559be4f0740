"""`extract`: the common factors of a correlation matrix, before any rotation."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import DRAWS, check_choice, check_count, check_fraction
from psychollm._base.convergence import Convergence
from psychollm._base.entry import warn
from psychollm._base.errors import InputError, ShapeError
from psychollm._base.numbers import percent
from psychollm._base.result import Result
from psychollm._base.types import BoolArray, FloatArray, IntArray
from psychollm.data.matrix_input import ROUNDING, correlation_matrix
from psychollm.factor.exploratory.discrepancy import ML, ULS
from psychollm.factor.exploratory.minimise import (
    MOST_STARTS,
    lowest_minimum,
    squared_multiple,
)

Method = Literal["minres", "ml", "principal_axis"]
DISCREPANCIES = {"minres": ULS, "ml": ML}
MAX_ITERATIONS = 20_000
NEAR_BOUND = 1e-8
SMALLEST_EIGENVALUE = 0.01
"""Smallest eigenvalue after shrinkage: a smaller one would dominate the likelihood."""
DEFINITE = 1e-10


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Extraction(Result):
    """Loadings on orthogonal factors, in descending order of variance, with positive column sums.

    Examples
    --------
    >>> found = extract([[1, 0.56, 0.48], [0.56, 1, 0.42], [0.48, 0.42, 1]])
    >>> found.loadings.round(6).ravel(), found.heywood.any()
    (array([0.8, 0.7, 0.6]), np.False_)
    """

    loadings: FloatArray  # (k, m)
    uniquenesses: FloatArray  # (k,) unique variance
    communalities: FloatArray  # (k,) common variance
    shares: FloatArray  # (m,) proportions of total variance
    objective: float  # discrepancy at the solution
    heywood: BoolArray  # (k,) whether the uniqueness is at its bound
    degrees_of_freedom: int
    minima: int  # number of distinct local minima found
    method: str
    labels: tuple[Hashable, ...]  # (k,)
    convergence: Convergence
    _matrix: FloatArray  # (k, k) analysed matrix

    _AXES = Axes(
        {"model": "labels"},
        "factor_{}=loadings",
        "communality=communalities",
        "uniqueness=uniquenesses",
        "heywood",
    )

    @property
    def residuals(self) -> FloatArray:
        """Residual correlations (k, k); zero on the diagonal."""
        rest = self._matrix - self.loadings @ self.loadings.T
        np.fill_diagonal(rest, 0.0)
        return rest


def extract(
    matrix: Any,
    *,
    n_factors: int = 1,
    method: Method = "minres",
    min_uniqueness: float = 0.005,
    tolerance: float = 1e-12,
    n_starts: int = MOST_STARTS,
) -> Extraction:
    """Extract common factors from a correlation matrix.

    Parameters
    ----------
    matrix : Correlation, Smoothing, DataFrame or array_like (k, k)
        Correlations of models or other variables.
    n_factors : int
        Number of factors m.
    method : {"minres", "ml", "principal_axis"}
        ``"minres"`` (unweighted least squares) accepts any matrix. ``"ml"`` maximises the
        likelihood of normal variables. ``"principal_axis"`` iterates communalities without a
        bound; without a Heywood case, its loadings equal the minres loadings.
    min_uniqueness : float
        Smallest uniqueness allowed. `Extraction.heywood` marks variables that reach this value.
    tolerance : float
        Tolerance for principal axes: the iteration stops if the sum of communalities changes by
        less than this value. Programs that stop at .001 have errors of up to .05 in a loading;
        pass .001 to reproduce their results.
    n_starts : int
        Maximum number of starts, for minres and maximum likelihood. If the first eight starts
        reach the same minimum, no more starts are used. Otherwise starts are added until a further
        minimum is improbable. Principal axes have a single start, at squared multiple
        correlations.

    Returns
    -------
    Extraction
        Unrotated loadings. The gradient at the optimum is below 1e-8, usually below 1e-13.

    Raises
    ------
    ShapeError
        If the factors are not identified; m factors need ``(k - m)**2 >= k + m``.
    InputError
        If `matrix` is not a correlation matrix, or is not positive definite with ``method="ml"``.

    Warns
    -----
    ConvergenceWarning
        If the iteration stopped before convergence.

    References
    ----------
    Harman, H. H., & Jones, W. H. (1966). Factor analysis by minimizing residuals (minres).
    Psychometrika, 31(3), 351-368. https://doi.org/10.1007/BF02289468

    Joreskog, K. G. (1967). Some contributions to maximum likelihood factor analysis.
    Psychometrika, 32(4), 443-482. https://doi.org/10.1007/BF02289658

    Examples
    --------
    >>> import psychollm as psy
    >>> answers = psy.load_example("shared_confidence").confidence
    >>> found = extract(psy.tetrachoric(answers), n_factors=2)
    >>> found.loadings.shape, bool(found.shares[0] > 0.5)
    ((19, 2), True)
    """
    check_choice("method", method, Method)
    low = check_fraction("min_uniqueness", min_uniqueness)
    R, labels = correlation_matrix(matrix)
    n_factors = check_count("n_factors", n_factors)
    check_identified(len(R), n_factors)
    if method == "principal_axis":
        axes = principal_axes(R[None], n_factors, check_fraction("tolerance", tolerance))
        loadings, minima = axes.loadings[0], 1
        ending = Convergence.of_steps(
            converged=bool(axes.converged[0]),
            steps=int(axes.steps[0]),
            objective=float(np.sum(np.tril(R - loadings @ loadings.T, -1) ** 2)),
        )
    else:
        loadings, ending, minima = _minimised(
            R, n_factors, method, low, check_count("n_starts", n_starts, high=DRAWS)
        )
    ending.warn(f"the extraction of {n_factors} factors")
    loadings = with_positive_sums(loadings)
    communalities = np.sum(loadings**2, axis=1)
    return Extraction(
        loadings=loadings,
        uniquenesses=1.0 - communalities,
        communalities=communalities,
        shares=np.sum(loadings**2, axis=0) / len(R),
        objective=ending.objective,
        heywood=1.0 - communalities <= low + NEAR_BOUND,
        degrees_of_freedom=degrees_of_freedom(len(R), n_factors),
        minima=minima,
        method=method,
        labels=labels,
        convergence=ending,
        _matrix=R,
    )


def degrees_of_freedom(k: int, m: int) -> int:
    """Return the number of correlations minus the number of free parameters."""
    return ((k - m) ** 2 - (k + m)) // 2


def check_identified(k: int, m: int, *, of: str = "rows") -> None:
    """Raise `ShapeError` if m factors of k variables have more parameters than correlations."""
    if m < k and degrees_of_freedom(k, m) >= 0:
        return
    most = max((j for j in range(1, k) if degrees_of_freedom(k, j) >= 0), default=0)
    advice = f"use at most {most}" if most else "one factor needs at least three"
    msg = f"n_factors={m} is more than {k} {of} can identify: {advice}"
    raise ShapeError(msg)


def with_positive_sums(loadings: FloatArray) -> FloatArray:
    """Return loadings (..., k, m), with columns reversed if their sums are negative."""
    signs = np.where(loadings.sum(axis=-2, keepdims=True) < 0.0, -1.0, 1.0)
    return np.asarray(loadings * signs, dtype=np.float64)


def _minimised(
    R: FloatArray, n_factors: int, method: str, low: float, n_starts: int
) -> tuple[FloatArray, Convergence, int]:
    if method == "ml" and np.linalg.eigvalsh(R)[0] <= 0.0:
        msg = (
            "matrix is not positive definite, so it has no likelihood: pass smooth(matrix, "
            "method='minimum_trace') of the correlations, or use method='minres'"
        )
        raise InputError(msg)
    best, minima, _ = lowest_minimum(DISCREPANCIES[method], R, n_factors, low, n_starts)
    ending = Convergence.of_gradient(
        converged=bool(best.converged[0]),
        steps=int(best.steps[0]),
        gradient=float(best.gradient[0]),
        objective=float(best.objective[0]),
    )
    return best.loadings[0], ending, minima


@dataclass(frozen=True, slots=True)
class PrincipalAxes:
    """Final communalities of each matrix of a stack."""

    loadings: FloatArray  # (b, k, m)
    converged: BoolArray  # (b,)
    steps: IntArray  # (b,)


def principal_axes(matrices: FloatArray, n_factors: int, tolerance: float) -> PrincipalAxes:
    """Iterate communalities (b, k) from squared multiple correlations to convergence."""
    b, k = matrices.shape[:2]
    communalities = np.clip(squared_multiple(matrices), 0.0, 1.0)
    loadings, steps = np.zeros((b, k, n_factors)), np.zeros(b, dtype=np.int64)
    going, identity = np.arange(b), np.eye(k)
    for _ in range(MAX_ITERATIONS):
        reduced = matrices[going] + (communalities[going] - 1.0)[:, :, None] * identity
        values, vectors = np.linalg.eigh(reduced)
        values, vectors = values[:, ::-1][:, :n_factors], vectors[:, :, ::-1][:, :, :n_factors]
        loadings[going] = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
        before = communalities[going].sum(axis=1)
        communalities[going] = np.sum(loadings[going] ** 2, axis=2)
        steps[going] += 1
        going = going[np.abs(communalities[going].sum(axis=1) - before) >= tolerance]
        if not going.size:
            break
    return PrincipalAxes(loadings, ~np.isin(np.arange(b), going), steps)


def positive_definite(matrix: FloatArray, method: str) -> tuple[FloatArray, float]:
    """Return the matrix and 0, or the result of `shrunk` with a warning if shrinkage is needed."""
    mended, weight = shrunk(matrix)
    if not weight:
        return matrix, 0.0
    smallest = float(np.linalg.eigvalsh(matrix)[0])
    # A smoothed matrix is singular, and smoothing it again would not change it.
    smoothed = smallest > -ROUNDING
    state = "singular after smoothing" if smoothed else "not positive definite"
    unsmoothed = "the matrix before it was smoothed" if smoothed else "matrix"
    msg = (
        f"the matrix is {state} (smallest eigenvalue {smallest:.3g}), and method={method!r} needs "
        f"a positive definite one: correlations were shrunk by {percent(weight, 1)}. "
        f"Alternatives are "
        f"smooth({unsmoothed}, method='minimum_trace') and "
        "method='minres', which "
        "accepts any matrix"
    )
    warn(msg)
    return mended, weight


def shrunk(matrix: FloatArray) -> tuple[FloatArray, float]:
    """Mix a matrix with the identity until it is positive definite; return result and weight."""
    smallest = float(np.linalg.eigvalsh(matrix)[0])
    if smallest > DEFINITE:
        return matrix, 0.0
    weight = (SMALLEST_EIGENVALUE - smallest) / (1.0 - smallest)
    return (1.0 - weight) * matrix + weight * np.eye(len(matrix)), weight
