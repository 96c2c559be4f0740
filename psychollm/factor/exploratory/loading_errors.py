r"""`loading_errors`: standard errors of rotated loadings.

Rotated loadings and factor correlations are a function h of the p correlations. With the
covariance matrix C of the correlations, the delta method gives :math:`J C J^\top`. The derivatives
J of h are central differences of the whole analysis (extraction and rotation), restarted at the
solution. The bootstrap repeats the analysis on resampled units. Factors of each replicate are
matched with the solution, and reversed if needed, to maximise congruence; otherwise, averages
would mix different factors.

For normal variables the covariance of two correlations is

.. math:: n\,c_{ij,kl} = \tfrac12 r_{ij} r_{kl} (r_{ik}^2 + r_{il}^2 + r_{jk}^2 + r_{jl}^2)
          + r_{ik} r_{jl} + r_{il} r_{jk}
          - r_{ij}(r_{ik} r_{il} + r_{jk} r_{jl})
          - r_{kl}(r_{ik} r_{jk} + r_{il} r_{jl}) .                                       \quad (1)

References
----------
Jennrich, R. I. (1973). Standard errors for obliquely rotated factor loadings. Psychometrika,
38(4), 593-604. https://doi.org/10.1007/BF02291497

Olkin, I., & Siotani, M. (1976). Asymptotic distribution of functions of a correlation matrix. In
S. Ikeda (Ed.), Essays in probability and statistics (pp. 235-251). Shinko Tsusho.

Zhang, G. (2014). Estimating standard errors in exploratory factor analysis. Multivariate
Behavioral Research, 49(4), 339-353. https://doi.org/10.1080/00273171.2014.908271
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import check_fraction, check_number, float_array
from psychollm._base.errors import OptionError
from psychollm._base.result import Result
from psychollm._base.types import FloatArray
from psychollm.data.matrix_input import correlation_matrix
from psychollm.factor.congruence import tucker
from psychollm.factor.exploratory.criteria import CRITERIA, Criterion
from psychollm.factor.exploratory.discrepancy import ML, ULS
from psychollm.factor.exploratory.gradient_projection import turn
from psychollm.factor.exploratory.minimise import minimise
from psychollm.factor.exploratory.solution import FactorSolution
from psychollm.factor.robust_test import covariance_of

SPACING = 1e-4
STACKED = {"minres": ULS, "ml": ML, "principal_axis": ULS}
AT_ONCE = 400


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class LoadingErrors(Result):
    """Standard errors and intervals of a rotated solution.

    Attributes
    ----------
    se : ndarray of shape (k, m)
        Standard errors of the loadings.
    interval : ndarray of shape (k, m, 2)
        Intervals of the loadings: normal intervals for the delta method, and percentile intervals
        for the bootstrap.
    factor_correlation_se : ndarray of shape (m, m)
        Standard errors of the factor correlations; zero on the diagonal.
    factor_correlation_interval : ndarray of shape (m, m, 2)
        Intervals of the factor correlations, of the same kind as `interval`.
    method : str
        "delta" or "bootstrap".
    level : float
        Nominal coverage of the intervals.
    reason : str
        Limitation of the standard errors, or "" if there is none. A continuity correction of empty
        cells biases loadings. The bias is larger than the standard errors if thresholds are
        extreme and of opposite sign. `pairwise_likelihood` and `full_information` need no
        correction.
    congruence : ndarray of shape (n, m)
        Congruence of each replicate's aligned factors with the solution; (0, m) for the delta
        method. A low congruence means that a factor is not replicated.
    labels, factors : tuple
        Names of the k variables and the m factors.
    """

    se: FloatArray  # (k, m)
    interval: FloatArray  # (k, m, 2)
    factor_correlation_se: FloatArray  # (m, m)
    factor_correlation_interval: FloatArray  # (m, m, 2)
    method: str
    level: float
    reason: str = ""
    congruence: FloatArray  # (n, m)
    labels: tuple[Hashable, ...]  # k
    factors: tuple[str, ...]  # m

    _AXES = Axes(
        {"model": "labels", "factor": "factors"},
        "se",
        "{bound}=interval",
        labels={"variable": "labels", "other": "factors"},
        arrays={
            "variable factor": "se",
            "variable factor bound": "interval",
            "factor other": "factor_correlation_se",
            "factor other bound": "factor_correlation_interval",
        },
    )

    def __repr__(self) -> str:
        text = (
            f"LoadingErrors ({self.method}) of {self.se.shape[0]} x {self.se.shape[1]} loadings: "
            f"median {np.nanmedian(self.se):.3f}, largest {np.nanmax(self.se):.3f}"
        )
        return f"{text}\n  {self.reason}" if self.reason else text


def loading_errors(
    solution: FactorSolution,
    *,
    covariance: Any = None,
    replicates: Any = None,
    level: float = 0.95,
    criterion: Criterion | None = None,
) -> LoadingErrors:
    """Estimate standard errors of rotated loadings and factor correlations.

    Parameters
    ----------
    solution : FactorSolution
        Solution of ``"minres"``, ``"ml"`` or ``"principal_axis"`` without a Heywood case.
    covariance : array_like (p, p), optional
        Covariance matrix of the p correlations below the diagonal, row by row, such as
        ``polychoric(...).covariance()``. By default, the covariance matrix, equation (1), of
        normal variables is used. For tetrachoric and polychoric correlations, `covariance` must be
        given, because their errors are larger.
    replicates : array_like (n, k, k), optional
        Correlation matrices of resampled units, from `resampled_correlations`. If `replicates` is
        given, the bootstrap replaces the delta method.
    level : float
        Coverage of the intervals, between 0 and 1.
    criterion : Criterion, optional
        Rotation criterion, if the rotation has no name in `rotate`.

    Returns
    -------
    LoadingErrors
        Standard errors and intervals of loadings and factor correlations.

    Raises
    ------
    OptionError
        If the method or the rotation cannot be repeated, or if the number of observations is
        unknown. An error is also raised if normal theory is not valid, and both `covariance` and
        `replicates` are missing.

    Examples
    --------
    >>> from psychollm.factor.exploratory.factor_analysis import factor_analysis
    >>> R = np.kron(np.array([[0.64, 0.2], [0.2, 0.49]]), np.ones((4, 4)))
    >>> np.fill_diagonal(R, 1.0)
    >>> found = loading_errors(factor_analysis(R, 2, n=400))
    >>> found.se[0].round(3)
    array([0.027, 0.032])
    """
    from scipy.special import ndtri

    check_fraction("level", level)
    again = _Repeat.of(solution, criterion)
    m = solution.loadings.shape[1]
    flat = np.concatenate([solution.loadings.ravel(), solution.factor_correlation.ravel()])
    if replicates is not None:
        return _bootstrap(solution, again, float_array(replicates, "replicates"), level)
    C = _covariance(solution, covariance)
    J = _derivatives(again, np.array(solution._matrix))
    se = np.sqrt(np.maximum(np.einsum("qp,pr,qr->q", J, C, J), 0.0))
    reach = float(ndtri(0.5 + 0.5 * level)) * se
    both = np.stack([flat - reach, flat + reach], axis=-1)
    return _result(solution, se, both, "delta", level, np.empty((0, m)))


def normal_covariance(matrix: FloatArray, n: float) -> FloatArray:
    """Return the covariance matrix (p, p), equation (1), of correlations of n normal observations.

    Parameters
    ----------
    matrix : array_like (k, k)
        Correlation matrix.
    n : float
        Number of observations.

    Returns
    -------
    ndarray of shape (p, p)
        Covariance matrix of the p correlations below the diagonal, row by row.

    Raises
    ------
    InputError
        If the matrix does not contain correlations.
    OptionError
        If `n` is below 1.

    Examples
    --------
    >>> normal_covariance(np.eye(3), 100.0).diagonal()
    array([0.01, 0.01, 0.01])
    """
    check_number("n", n, low=1)
    R, _ = correlation_matrix(matrix)
    i, j = np.tril_indices(len(R), -1)
    ij, kl = R[i, j][:, None], R[i, j][None]
    ik, il = R[np.ix_(i, i)], R[np.ix_(i, j)]
    jk, jl = R[np.ix_(j, i)], R[np.ix_(j, j)]
    total = 0.5 * ij * kl * (ik**2 + il**2 + jk**2 + jl**2) + ik * jl + il * jk
    total -= ij * (ik * il + jk * jl) + kl * (ik * jk + il * jl)
    return np.asarray(total / n, dtype=np.float64)


@dataclass(frozen=True, slots=True)
class _Repeat:
    """Analysis that is repeated for stacks of matrices, starting at the solution."""

    solution: FactorSolution
    criterion: Criterion | None  # None without rotation

    @classmethod
    def of(cls, solution: FactorSolution, criterion: Criterion | None) -> _Repeat:
        if solution.method not in STACKED or solution.heywood.any():
            case = "a Heywood case" if solution.heywood.any() else f"method={solution.method!r}"
            msg = f"loading errors of {case} are not available: bootstrap factor_analysis itself"
            raise OptionError(msg)
        name = solution.rotation
        if criterion is None and name not in ("none", *CRITERIA):
            msg = f"rotation={name!r} cannot be repeated by name: pass its criterion"
            raise OptionError(msg)
        return cls(solution, criterion or CRITERIA.get(name))

    def loadings(self, matrices: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return loadings (b, k, m) and factor correlations (b, m, m)."""
        solution = self.solution
        start = np.repeat(solution.uniquenesses[None], len(matrices), axis=0)
        m = solution.loadings.shape[1]
        again = minimise(STACKED[solution.method], matrices, start, m, 1e-4)
        T = np.array(solution.transformation)
        plain = solution.loadings @ T.T
        # Unrotated loadings of a replicate are determined only up to rotation, so they are
        # aligned.
        left, _, right = np.linalg.svd(np.swapaxes(again.loadings, 1, 2) @ plain)
        A = again.loadings @ (left @ right)
        if self.criterion is None:
            kept = self._principal_signs(again.loadings)
            return kept, np.repeat(np.eye(m)[None], len(A), axis=0)
        if m == 1:
            return A @ np.repeat(T[None], len(A), axis=0), np.ones((len(A), 1, 1))
        scale = np.ones((*A.shape[:2], 1))
        if self.criterion.normalise:
            scale = np.sqrt(np.sum(A**2, axis=2, keepdims=True))
        starts = np.repeat(T[None], len(A), axis=0)
        turned = turn(self.criterion, A / scale, starts, tolerance=1e-11, max_steps=5000)
        T = turned.transformations
        return scale * turned.loadings, np.swapaxes(T, 1, 2) @ T

    def _principal_signs(self, loadings: FloatArray) -> FloatArray:
        signs = np.sign(np.sum(loadings * self.solution.loadings[None], axis=1, keepdims=True))
        return np.asarray(loadings * np.where(signs == 0.0, 1.0, signs), dtype=np.float64)


def _covariance(solution: FactorSolution, given: Any) -> FloatArray:
    if given is not None:
        return covariance_of(given, len(solution.labels))
    if not solution._normal:
        msg = (
            "normal theory underestimates the errors of correlations of ordered answers: pass "
            "covariance, such as polychoric(...).covariance(), or replicates"
        )
        raise OptionError(msg)
    if not np.isfinite(solution.n):
        msg = "the number of observations is not known: pass n to factor_analysis"
        raise OptionError(msg)
    return normal_covariance(np.array(solution._matrix), solution.n)


def _derivatives(again: _Repeat, R: FloatArray) -> FloatArray:
    """Return derivatives (q, p) of the solution with respect to the correlations."""
    pairs = np.stack(np.tril_indices(len(R), -1), axis=1)
    columns = []
    for start in range(0, len(pairs), AT_ONCE):
        block = pairs[start : start + AT_ONCE]
        moves = np.zeros((len(block), *R.shape))
        at = np.arange(len(block))
        moves[at, block[:, 0], block[:, 1]] = moves[at, block[:, 1], block[:, 0]] = SPACING
        up, down = (_flat(*again.loadings(R + sign * moves)) for sign in (1.0, -1.0))
        columns.append((up - down) / (2.0 * SPACING))
    return np.concatenate(columns).T


def _flat(loadings: FloatArray, phi: FloatArray) -> FloatArray:
    b = len(loadings)
    return np.concatenate([loadings.reshape(b, -1), phi.reshape(b, -1)], axis=1)


def _bootstrap(
    solution: FactorSolution, again: _Repeat, matrices: FloatArray, level: float
) -> LoadingErrors:
    loadings, phi = again.loadings(matrices)
    aligned, agreement = [], []
    for L, P in zip(loadings, phi, strict=True):
        turned, crossed, size = align(L, P, np.array(solution.loadings))
        aligned.append(np.concatenate([turned.ravel(), crossed.ravel()]))
        agreement.append(size)
    draws = np.array(aligned)
    ends = np.quantile(draws, [0.5 - 0.5 * level, 0.5 + 0.5 * level], axis=0).T
    se = draws.std(axis=0, ddof=1)
    return _result(solution, se, ends, "bootstrap", level, np.array(agreement))


def align(
    loadings: FloatArray, phi: FloatArray, reference: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return loadings, factor correlations and congruences, aligned with a reference."""
    from scipy.optimize import linear_sum_assignment

    matrix = np.nan_to_num(tucker(reference, loadings))
    order = linear_sum_assignment(np.abs(matrix), maximize=True)[1]
    size = matrix[np.arange(len(order)), order]
    signs = np.where(size < 0.0, -1.0, 1.0)
    both = phi[np.ix_(order, order)] * np.outer(signs, signs)
    return loadings[:, order] * signs + 0.0, both, np.abs(size)


def _bias(solution: FactorSolution) -> str:
    if not solution.adjusted_pairs:
        return ""
    pairs = len(solution.labels) * (len(solution.labels) - 1) // 2
    return (
        f"biased: {solution.adjusted_pairs} of {pairs} correlations have a table with an "
        "empty "
        "cell; pairwise_likelihood and full_information need no correction"
    )


def _result(
    solution: FactorSolution,
    se: FloatArray,
    ends: FloatArray,
    method: str,
    level: float,
    congruence: FloatArray,
) -> LoadingErrors:
    k, m = solution.loadings.shape
    count = k * m
    return LoadingErrors(
        se=se[:count].reshape(k, m),
        interval=ends[:count].reshape(k, m, 2),
        factor_correlation_se=se[count:].reshape(m, m),
        factor_correlation_interval=ends[count:].reshape(m, m, 2),
        method=method,
        level=level,
        reason=_bias(solution),
        congruence=congruence,
        labels=solution.labels,
        factors=solution.factors,
    )
