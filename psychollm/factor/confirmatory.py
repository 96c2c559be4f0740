r"""`confirmatory_factors`: fit of a confirmatory factor model to correlations.

The model specifies the free loadings; all other loadings are zero. Factors have variance one.
Thresholds of ordered answers are taken from the data. The model implies the correlations
:math:`\rho_{ij} = \lambda_i^\top \Phi \lambda_j`, plus a residual covariance for pairs in
`residual_pairs`. With e the residuals of the correlations below the diagonal, the estimates
minimise

.. math:: F = \tfrac12\, e^\top W e .                                                    \quad (1)

The weight matrix W is the inverse of the diagonal of :math:`\Gamma` (DWLS), the identity (ULS) or
:math:`\Gamma^{-1}` (WLS), where :math:`\Gamma / n` is the covariance matrix of the correlations.
Let :math:`\Delta` be the derivatives of the implied correlations and :math:`B = (\Delta^\top W
\Delta)^{-1}`. The covariance matrix of the estimates is

.. math:: \tfrac1n\, B \Delta^\top W \Gamma W \Delta B .                                  \quad (2)

Freeing a parameter that is fixed at zero and has derivatives d would lower 2 n F by about

.. math:: \frac{n\,(d^\top W e)^2}{d^\top W d - d^\top W \Delta B \Delta^\top W d} .      \quad (3)

SciPy's trust-region method compares function values, and therefore locates the minimum with only
about half of the digits correct. Gauss-Newton steps follow as long as they reduce the gradient,
which is computed more precisely than the function.

References
----------
Muthen, B., du Toit, S. H. C., & Spisic, D. (1997). Robust inference using weighted least squares
and quadratic estimating equations in latent variable modeling with categorical and continuous
outcomes. Unpublished technical report.

Sorbom, D. (1989). Model modification. Psychometrika, 54(3), 371-384.
https://doi.org/10.1007/BF02294623
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from psychollm._base.checks import check_choice
from psychollm._base.convergence import Convergence
from psychollm._base.errors import LabelError, OptionError, ShapeError
from psychollm._base.types import BoolArray, FloatArray, IntArray
from psychollm.data.labels import Labels, listed
from psychollm.data.matrix_input import correlation_matrix
from psychollm.factor.confirmatory_result import ConfirmatoryFactors
from psychollm.factor.exploratory.factor_analysis import observations
from psychollm.factor.fit import fit_indices
from psychollm.factor.robust_test import (
    RobustTest,
    full_weights,
    gamma_of,
    inverse_of,
    quadratic_test,
    sandwich,
    weighted_by,
)

ConfirmatoryEstimator: TypeAlias = Literal["dwls", "uls", "wls"]
ErrorKind: TypeAlias = Literal["robust", "standard"]
LoadingPattern: TypeAlias = Mapping[str, Sequence[Hashable]]
Moments: TypeAlias = Callable[[FloatArray], FloatArray]
SETTLED = 1e-9
MAX_STEPS = 500
POLISH = 50
WORDS = {
    "scaled_shifted": "scaled and shifted",
    "satorra_bentler": "Satorra-Bentler",
    "mean_variance": "mean and variance adjusted",
    "standard": "uncorrected",
}


class Least(NamedTuple):
    """Minimum of a sum of squares, with convergence status."""

    x: FloatArray  # (q,)
    value: float
    gradient: float  # largest component of the gradient
    steps: int

    def ending(self, model: str) -> Convergence:
        """Return the convergence status; warn if the iteration did not converge."""
        ending = Convergence.of_gradient(
            converged=self.gradient <= SETTLED,
            steps=self.steps,
            gradient=self.gradient,
            objective=self.value,
        )
        ending.warn(model)
        return ending


def least_squares(
    observed: FloatArray, weights: FloatArray, implied: Moments, slopes: Moments, x: FloatArray
) -> Least:
    """Minimise equation (1), starting from x, for weights W (p, p) or diagonal (p,)."""
    from scipy import optimize

    root = np.asarray(np.sqrt(weights) if weights.ndim == 1 else np.linalg.cholesky(weights).T)

    def rest(at: FloatArray) -> FloatArray:
        return weighted_by(root, (implied(at) - observed)[:, None])[:, 0]

    def jacobian(at: FloatArray) -> FloatArray:
        return weighted_by(root, slopes(at))

    solution: Any = optimize.least_squares(rest, x, jacobian, x_scale="jac", max_nfev=MAX_STEPS)
    x, left, J = solution.x, solution.fun, solution.jac
    gradient, steps = float(np.abs(solution.grad).max()), int(solution.nfev)
    for _ in range(POLISH):
        trial = x - np.linalg.lstsq(J, left, rcond=1e-13)[0]
        after, slope = rest(trial), jacobian(trial)
        size = float(np.abs(slope.T @ after).max())
        if not size < gradient:
            break
        x, left, J, gradient, steps = trial, after, slope, size, steps + 1
    return Least(x, 0.5 * float(left @ left), gradient, steps)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Model:
    """Pattern of free loadings of k variables on m factors, and whether factors correlate."""

    # Parameters are ordered as loadings, factor correlations below the diagonal (both row by row),
    # and residual covariances.
    free: BoolArray  # (k, m)
    rows: IntArray  # (k,) rows of the variables in the correlation matrix
    size: int  # number of rows of the correlation matrix
    correlated: bool
    labels: tuple[Hashable, ...]  # k
    factors: tuple[str, ...]  # m
    joined: IntArray  # (r,) pairs with residual covariances, as positions below the diagonal

    def used(self) -> IntArray:
        """Return the positions of the model's pairs below the diagonal of the whole matrix."""
        where = np.zeros((self.size, self.size), dtype=np.int64)
        lower = np.tril_indices(self.size, -1)
        where[lower] = np.arange(lower[0].size)
        inner = np.tril_indices(len(self.rows), -1)
        return where[self.rows[inner[0]], self.rows[inner[1]]]

    def unpack(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return loadings (k, m) and factor correlations (m, m)."""
        k, m = self.free.shape
        loadings, phi = np.zeros((k, m)), np.eye(m)
        count = int(self.free.sum())
        loadings[self.free] = x[:count]
        if self.correlated:
            i, j = np.tril_indices(m, -1)
            phi[i, j] = phi[j, i] = x[count : count + i.size]
        return loadings, phi

    def apart(self, x: FloatArray) -> FloatArray:
        """Return the residual covariances of the pairs (r,)."""
        return np.asarray(x[x.size - self.joined.size :])

    def implied(self, x: FloatArray) -> FloatArray:
        """Return the correlations below the diagonal (p,)."""
        loadings, phi = self.unpack(x)
        implied = (loadings @ phi @ loadings.T)[np.tril_indices(len(loadings), -1)]
        implied[self.joined] += self.apart(x)
        return np.asarray(implied)

    def derivatives(self, x: FloatArray) -> FloatArray:
        """Return derivatives of the implied correlations (p, q)."""
        loadings, phi = self.unpack(x)
        first, second = np.tril_indices(len(loadings), -1)
        structure = loadings @ phi
        columns = []
        for i, f in zip(*np.nonzero(self.free), strict=True):
            columns.append(
                (first == i) * structure[second, f] + (second == i) * structure[first, f]
            )
        if self.correlated:
            for f, g in zip(*np.tril_indices(len(phi), -1), strict=True):
                both = loadings[first, f] * loadings[second, g]
                columns.append(both + loadings[first, g] * loadings[second, f])
        columns += [(np.arange(first.size) == pair).astype(float) for pair in self.joined]
        return np.stack(columns, axis=1)

    def with_positive_sums(self, x: FloatArray) -> FloatArray:
        """Reverse factors so that their loadings have positive sums."""
        loadings, phi = self.unpack(x)
        signs = np.where(loadings.sum(axis=0) < 0.0, -1.0, 1.0)
        parts = [(loadings * signs)[self.free]]
        if self.correlated:
            parts.append((phi * np.outer(signs, signs))[np.tril_indices(len(phi), -1)])
        parts.append(self.apart(x))
        return np.concatenate(parts)

    def names_of_joined(self) -> tuple[tuple[Hashable, Hashable], ...]:
        """Return the variables of the pairs with residual covariances."""
        i, j = np.tril_indices(len(self.labels), -1)
        return tuple((self.labels[j[pair]], self.labels[i[pair]]) for pair in self.joined)


def starting_loadings(R: FloatArray, free: BoolArray) -> FloatArray:
    """Return starting loadings (k, m) of each factor from the correlations of its variables."""
    loadings = np.zeros(free.shape)
    for f in range(free.shape[1]):
        own = np.flatnonzero(free[:, f])
        values, vectors = np.linalg.eigh(R[np.ix_(own, own)])
        sign = np.sign(vectors[:, -1].sum()) or 1.0
        loadings[own, f] = sign * vectors[:, -1] * np.sqrt(max(float(values[-1]) - 0.6, 0.1))
    shared = np.maximum(np.sqrt(free.sum(axis=1, keepdims=True)), 1.0)
    return np.asarray(np.clip(loadings / shared, -0.9, 0.9))


def confirmatory_factors(
    correlation: Any,
    model: LoadingPattern,
    *,
    estimator: ConfirmatoryEstimator = "dwls",
    test: RobustTest = "scaled_shifted",
    errors: ErrorKind = "robust",
    correlated: bool = True,
    residual_pairs: Sequence[tuple[Hashable, Hashable]] = (),
    n: float | None = None,
    covariance: Any = None,
) -> ConfirmatoryFactors:
    """Fit a confirmatory factor model, in which some loadings are fixed at zero.

    Parameters
    ----------
    correlation : PolychoricCorrelation, DataFrame or array_like (k, k)
        Correlations; the result of `polychoric` includes their covariance matrix.
    model : mapping
        Mapping from the name of each factor to the labels of its variables. A variable may load on
        several factors.
    estimator : {"dwls", "uls", "wls"}
        Estimator: diagonally weighted, unweighted or weighted least squares. With
        ``test="scaled_shifted"``, ``"dwls"`` is known as WLSMV and ``"uls"`` as ULSMV; with
        ``test="satorra_bentler"``, as WLSM and ULSM.
    test : {"scaled_shifted", "satorra_bentler", "mean_variance", "standard"}
        Correction of the test statistic. ``"standard"`` is valid for ``estimator="wls"`` only.
    errors : {"robust", "standard"}
        Kind of standard errors: the sandwich form of equation (2), or ``"standard"`` errors, which
        are valid only for a correct weight matrix.
    correlated : bool
        Whether the factors may correlate.
    residual_pairs : sequence of pairs of labels
        Pairs of variables whose residuals may covary.
    n : float, optional
        Number of observations; by default the number in `correlation`.
    covariance : array_like (p, p), optional
        Covariance matrix of the correlations below the diagonal, row by row; by default
        ``correlation.covariance()``.

    Returns
    -------
    ConfirmatoryFactors
        Standardised loadings, factor correlations, standard errors and fit. `modification_indices`
        lists possible additional parameters.

    Raises
    ------
    LabelError
        If a label of the model is not a row of the matrix.
    ShapeError
        If the model has more parameters than correlations, or is not identified.
    OptionError, InputError
        If `covariance` or `n` is missing, or if an option does not exist.

    Warns
    -----
    ConvergenceWarning
        If the iteration stopped before convergence.

    Examples
    --------
    >>> from psychollm.correlation.polychoric import polychoric
    >>> rng = np.random.default_rng(1)
    >>> latent = 0.8 * rng.normal(size=3000) + 0.6 * rng.normal(size=(5, 3000))
    >>> found = confirmatory_factors(
    ...     polychoric(np.digitize(latent, [-0.5, 0.5])), {"ability": range(5)}
    ... )
    >>> found.loadings[:, 0].round(1), found.fit.df
    (array([0.8, 0.8, 0.8, 0.8, 0.8]), 5.0)
    """
    check_choice("estimator", estimator, ConfirmatoryEstimator)
    check_choice("test", test, RobustTest)
    check_choice("errors", errors, ErrorKind)
    R, labels = correlation_matrix(correlation, "correlation")
    size = observations(correlation, n)
    rows, free = loading_pattern(model, labels)
    plan = _Model(
        free=free,
        rows=rows,
        size=len(labels),
        correlated=correlated,
        labels=tuple(labels[i] for i in rows),
        factors=tuple(model),
        joined=np.empty(0, dtype=np.int64),
    )
    plan = _joined(plan, residual_pairs)
    used = plan.used()
    gamma = _gamma(correlation, covariance, size, len(R))[np.ix_(used, used)]
    r = R[np.tril_indices(len(R), -1)][used]
    W = _weights(gamma, estimator)
    m = len(plan.factors)
    start = [
        starting_loadings(R[np.ix_(rows, rows)], free)[free],
        np.full(m * (m - 1) // 2 if correlated else 0, 0.3),
        np.zeros(plan.joined.size),
    ]
    least = least_squares(r, W, plan.implied, plan.derivatives, np.concatenate(start))
    ending = least.ending("the confirmatory factor model")
    x = plan.with_positive_sums(least.x)
    jacobian = plan.derivatives(x)
    _check_identified(jacobian, W, plan)
    loadings, phi = plan.unpack(x)
    # Statistics and errors use n - 1 instead of n, as in lavaan and Mplus.
    bread, robust = sandwich(jacobian, W, gamma)
    covariances = (bread if errors == "standard" else robust) / (size - 1.0)
    spread = np.sqrt(np.maximum(np.diagonal(covariances), 0.0))
    loading_errors, phi_errors = plan.unpack(spread)
    np.fill_diagonal(phi_errors, 0.0)
    residuals = r - plan.implied(x)
    statistic = quadratic_test(residuals, jacobian, W, gamma, size - 1.0)
    baseline = quadratic_test(r, np.empty((r.size, 0)), W, gamma, size - 1.0)
    fits = [
        fit_indices(
            statistic.corrected(kind),
            baseline.corrected(kind),
            residuals=residuals,
            n=size,
            test=WORDS[kind],
            multiplier=size - 1.0,
        )
        for kind in (test, "standard")
    ]
    return ConfirmatoryFactors(
        loadings=loadings,
        loading_errors=loading_errors,
        factor_correlation=phi,
        factor_correlation_errors=phi_errors,
        residual_pairs=plan.names_of_joined(),
        residual_covariances=plan.apart(x),
        residual_covariance_errors=plan.apart(spread),
        communalities=np.sum((loadings @ phi) * loadings, axis=1),
        covariance=covariances,
        fit=fits[0],
        standard_fit=fits[1],
        scaling=statistic.scaling(test),
        objective=least.value,
        gradient=least.gradient,
        estimator=estimator,
        errors=errors,
        n=size,
        labels=plan.labels,
        factors=plan.factors,
        convergence=ending,
        _residuals=residuals,
        _derivatives=jacobian,
        _weights=W,
        _gamma=gamma,
    )


def loading_pattern(model: LoadingPattern, labels: Labels) -> tuple[IntArray, BoolArray]:
    """Return the rows of a model's variables, and their pattern of free loadings (rows, m)."""
    if not isinstance(model, Mapping) or not model:
        msg = "model must map names of factors to labels of variables: {'F': ['a', 'b', 'c']}"
        raise OptionError(msg)
    wanted = [label for group in model.values() for label in group]
    unknown = [label for label in wanted if label not in set(labels)]
    if unknown:
        msg = f"model names {listed(unknown)}, which the matrix lacks: it has {listed(labels)}"
        raise LabelError(msg)
    empty = [name for name, group in model.items() if not len(group)]
    if empty:
        msg = f"factors {listed(empty)} of the model have no variables"
        raise OptionError(msg)
    free = np.array([[label in set(group) for group in model.values()] for label in labels])
    rows = np.flatnonzero(free.any(axis=1))
    return rows, free[rows]


def _joined(plan: _Model, pairs: Sequence[tuple[Hashable, Hashable]]) -> _Model:
    """Return the model with residual covariances for the given pairs."""
    row = {label: i for i, label in enumerate(plan.labels)}
    chosen = []
    for pair in pairs:
        if len(pair) != 2 or pair[0] == pair[1] or any(label not in row for label in pair):
            msg = f"residual_pairs: {pair!r} must be two different variables of the model"
            raise LabelError(msg)
        low, high = sorted(row[label] for label in pair)
        chosen.append(high * (high - 1) // 2 + low)
    if len(set(chosen)) < len(chosen):
        msg = "residual_pairs contains a pair twice: name each pair once"
        raise LabelError(msg)
    return replace(plan, joined=np.array(chosen, dtype=np.int64))


def _gamma(correlation: Any, covariance: Any, n: float, k: int) -> FloatArray:
    if covariance is None:
        compute = getattr(correlation, "covariance", None)
        if not callable(compute):
            msg = (
                "a confirmatory model needs the covariance of the correlations: pass the result "
                "of polychoric, or covariance and n"
            )
            raise OptionError(msg)
        covariance = compute()
    return gamma_of(covariance, k, n)


def _weights(gamma: FloatArray, estimator: str) -> FloatArray:
    """Return the weight matrix W, or its diagonal if W is diagonal."""
    if estimator == "dwls":
        return np.asarray(1.0 / np.diagonal(gamma), dtype=np.float64)
    return np.ones(len(gamma)) if estimator == "uls" else full_weights(gamma)


def _check_identified(jacobian: FloatArray, W: FloatArray, plan: _Model) -> None:
    """Raise an error if the correlations do not determine all parameters."""
    p, q = jacobian.shape
    rank = inverse_of(jacobian.T @ weighted_by(W, jacobian))[1] if q <= p else p
    if rank < q:
        few = [name for f, name in enumerate(plan.factors) if plan.free[:, f].sum() < 3]
        hint = f"factors {listed(few)} have fewer than three variables" if few else "free fewer"
        msg = f"the {p} correlations do not determine the {q} parameters of the model: {hint}"
        raise ShapeError(msg)
