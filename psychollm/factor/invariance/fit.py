r"""`confirmatory_groups`: one factor model in several groups, some of it the same in all.

Thresholds and correlations :math:`m_g` of independent groups, below each other, with n times their
covariance matrix :math:`\Gamma_g`, are fitted by diagonally weighted least squares,

.. math:: F = \tfrac12 \sum_g \frac{n_g}{n}\, e_g^\top W_g e_g, \qquad
          W_g = (\operatorname{diag} \Gamma_g)^{-1},                                      \quad (1)

with the model and the equalities of `psychollm.factor.invariance.model`. Statistic, scaling and
standard errors are those of `robust_test`, with :math:`n_g - 1` for each group, as in lavaan and
Mplus.

SciPy's trust region finds the minimum to what the value of the function tells, half the digits.
The gradient tells more: plain Gauss-Newton steps follow as long as they make it smaller.

References
----------
Muthen, B., du Toit, S. H. C., & Spisic, D. (1997). Robust inference using weighted least squares
and quadratic estimating equations in latent variable modeling with categorical and continuous
outcomes. Unpublished technical report.

Millsap, R. E., & Yun-Tein, J. (2004). Assessing factorial invariance in ordered-categorical
measures. Multivariate Behavioral Research, 39(3), 479-515.
https://doi.org/10.1207/S15327906MBR3903_4
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy.linalg import block_diag

from psychollm._base.checks import check_choice
from psychollm._base.convergence import Convergence
from psychollm._base.errors import LabelError, ShapeError
from psychollm._base.types import BoolArray, FloatArray
from psychollm.data.labels import listed
from psychollm.factor.confirmatory import WORDS, LoadingPattern
from psychollm.factor.fit import FactorFit, fit_indices
from psychollm.factor.invariance.model import (
    HELD,
    Invariance,
    Layout,
    Shape,
    layout_of,
    stacked_derivatives,
    stacked_moments,
    unpack,
    with_scales,
)
from psychollm.factor.invariance.result import GroupFactors
from psychollm.factor.invariance.sample import GroupCorrelations, Sample, sample_of
from psychollm.factor.robust_test import (
    Quadratic,
    RobustTest,
    inverse_of,
    quadratic_test,
    weighted_by,
)

Moments: TypeAlias = Callable[[FloatArray], FloatArray]
SETTLED = 1e-9
MAX_STEPS = 500
POLISH = 50


class Least(NamedTuple):
    """Where a sum of squares is least, as far as steps could tell."""

    x: FloatArray  # (q,)
    value: float
    gradient: float  # its largest component
    steps: int

    @property
    def converged(self) -> bool:
        """Whether nothing is left to gain."""
        return self.gradient <= SETTLED


def least_squares(
    observed: FloatArray, weights: FloatArray, implied: Moments, slopes: Moments, x: FloatArray
) -> Least:
    """Minimise half the weighted sum of squared residuals (p,) from parameters x (q,)."""
    from scipy import optimize

    roots = np.sqrt(weights)

    def rest(at: FloatArray) -> FloatArray:
        return np.asarray(roots * (implied(at) - observed))

    def jacobian(at: FloatArray) -> FloatArray:
        return np.asarray(roots[:, None] * slopes(at))

    found: Any = optimize.least_squares(rest, x, jacobian, x_scale="jac", max_nfev=MAX_STEPS)
    x, left, J = found.x, found.fun, found.jac
    gradient, steps = float(np.abs(found.grad).max()), int(found.nfev)
    for _ in range(POLISH):
        trial = x - np.linalg.lstsq(J, left, rcond=1e-13)[0]
        after, slope = rest(trial), jacobian(trial)
        size = float(np.abs(slope.T @ after).max())
        if not size < gradient:
            break
        x, left, J, gradient, steps = trial, after, slope, size, steps + 1
    return Least(x, 0.5 * float(left @ left), gradient, steps)


def confirmatory_groups(
    correlations: GroupCorrelations,
    model: LoadingPattern,
    *,
    invariance: Invariance = "configural",
    free: Sequence[Hashable] = (),
    test: RobustTest = "scaled_shifted",
) -> GroupFactors:
    """Fit a confirmatory factor model to several groups of units.

    Parameters
    ----------
    correlations : mapping
        Names of independent groups of units to results of `polychoric`, as `polychoric_by_group`
        returns them: groups of questions where models are the items, groups of models where
        questions are. The first is the reference; every item must show the same answers in all.
    model : mapping
        Names of factors to the labels of the items that load on them.
    invariance : {"configural", "thresholds", "metric", "scalar", "strict"}
        What is the same in all groups, as tabled in `psychollm.factor.invariance.model`.
    free : sequence of labels
        Items whose thresholds and loadings are their own in every group (partial invariance).
    test : {"scaled_shifted", "satorra_bentler", "mean_variance", "standard"}
        How the statistic is corrected.

    Returns
    -------
    GroupFactors
        Parameters per group on the scale of the reference group, errors, fit;
        `score_tests` says which item breaks the equalities.

    Raises
    ------
    OptionError, LabelError, ShapeError, CodeError, InputError
        If the model does not fit the groups, an item has other answers in one of them, or the
        parameters are not determined.

    Warns
    -----
    ConvergenceWarning
        If the iteration stopped early.

    Examples
    --------
    >>> from psychollm.correlation.by_group import polychoric_by_group
    >>> rng = np.random.default_rng(1)
    >>> group = np.repeat(["a", "b"], 1000)
    >>> f = rng.normal(size=2000) * np.where(group == "a", 1, 0.8) + (group == "b")
    >>> codes = np.digitize(0.8 * f + 0.6 * rng.normal(size=(5, 2000)), [-0.5, 0.5])
    >>> found = confirmatory_groups(
    ...     polychoric_by_group(codes, group), {"ability": range(5)}, invariance="scalar"
    ... )
    >>> found.factor_means.round(1).tolist(), found.fit.df
    ([[0.0], [1.1]], 18.0)
    """
    check_choice("invariance", invariance, Invariance)
    check_choice("test", test, RobustTest)
    sample, pattern = sample_of(correlations, model)
    return fit_sample(sample, pattern, tuple(model), invariance, free, test)


def fit_sample(
    sample: Sample,
    pattern: BoolArray,
    factors: tuple[str, ...],
    invariance: Invariance,
    free: Sequence[Hashable],
    test: RobustTest,
) -> GroupFactors:
    """Fit moments of several groups: `confirmatory_groups` without the reading."""
    strange = [item for item in free if item not in set(sample.labels)]
    if strange:
        msg = f"free names {listed(strange)}, which the model has not: {listed(sample.labels)}"
        raise LabelError(msg)
    apart = np.array([label in set(free) for label in sample.labels])
    layout = layout_of(Shape.of(pattern, sample.cuts), len(sample.groups), invariance, apart)
    observed = sample.observed.ravel()
    diagonals = np.diagonal(sample.gamma, axis1=1, axis2=2)
    share = (sample.n / sample.n.sum())[:, None]
    found = least_squares(
        observed,
        (share / diagonals).ravel(),
        lambda x: stacked_moments(layout, x),
        lambda x: stacked_derivatives(layout, x),
        layout.start(_start(layout, sample)),
    )
    ending = Convergence.of_gradient(
        converged=found.converged,
        steps=found.steps,
        gradient=found.gradient,
        objective=found.value,
    )
    ending.warn(f"the {invariance} factor model of {len(sample.groups)} groups")
    # Statistics and errors count n - 1 observations of each group, as lavaan and Mplus do.
    counted = sample.n - 1.0
    weights = (counted[:, None] / diagonals).ravel()
    gamma = block_diag(*(sample.gamma / counted[:, None, None]))
    fitted = _Fitted(layout, sample, found.x, weights, gamma)
    statistic, baseline = fitted.statistic(), _baseline(sample, weights, gamma)
    fits = [
        _fit(statistic, baseline, fitted.residuals, sample, kind) for kind in (test, "standard")
    ]
    full = with_scales(layout, layout.full(found.x))
    errors = fitted.errors()
    return GroupFactors(
        **_fields(layout, sample, full, errors),
        invariance=invariance,
        test=test,
        free=tuple(label for label in sample.labels if label in set(free)),
        factors=factors,
        fit=fits[0],
        standard_fit=fits[1],
        scaling=statistic.scaling(test),
        objective=found.value,
        gradient=found.gradient,
        groups=sample.groups,
        n=sample.n,
        labels=sample.labels,
        convergence=ending,
        _layout=layout,
        _full=full,
        _errors=errors,
        _residuals=fitted.residuals,
        _derivatives=fitted.jacobian,
        _weights=weights,
        _gamma=gamma,
    )


def _start(layout: Layout, sample: Sample) -> FloatArray:
    """Return first parameters (G, size): thresholds as observed, loadings from correlations."""
    shape = layout.shape
    k, m = shape.free.shape
    values = layout.value.copy()
    t = sample.n_thresholds
    values[:, shape.thresholds] = sample.observed[:, :t]
    for group, row in enumerate(sample.observed):
        R = np.eye(k)
        R[np.tril_indices(k, -1)] = row[t:]
        R = R + np.tril(R, -1).T
        loadings = np.zeros((k, m))
        for f in range(m):
            own = np.flatnonzero(shape.free[:, f])
            sizes, vectors = np.linalg.eigh(R[np.ix_(own, own)])
            sign = np.sign(vectors[:, -1].sum()) or 1.0
            loadings[own, f] = sign * vectors[:, -1] * np.sqrt(max(float(sizes[-1]) - 0.6, 0.1))
        loadings /= np.maximum(np.sqrt(shape.free.sum(axis=1, keepdims=True)), 1.0)
        values[group, shape.loadings] = np.clip(loadings, -0.9, 0.9)[shape.free]
    apart = np.setdiff1d(shape.covariances, shape.variances)
    values[:, apart] = 0.3
    return values


def _check_identified(jacobian: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the inverse information; refuse parameters that the moments do not determine."""
    p, q = jacobian.shape
    bread, rank = inverse_of(jacobian.T @ weighted_by(weights, jacobian))
    if rank < q:
        msg = (
            f"the {p} thresholds and correlations do not determine the {q} parameters of the "
            f"model (rank {rank}): factors need three items, and two that are not free"
        )
        raise ShapeError(msg)
    return bread


class _Fitted:
    """What tests and standard errors of a fitted model are made of."""

    def __init__(
        self,
        layout: Layout,
        sample: Sample,
        x: FloatArray,
        weights: FloatArray,
        gamma: FloatArray,
    ) -> None:
        self.place, self.weights, self.gamma = layout.place, weights, gamma
        self.jacobian = stacked_derivatives(layout, x)  # (G p, q)
        self.residuals = sample.observed.ravel() - stacked_moments(layout, x)
        self.bread = _check_identified(self.jacobian, weights)

    def statistic(self) -> Quadratic:
        return quadratic_test(self.residuals, self.jacobian, self.weights, self.gamma, 1.0)

    def errors(self) -> FloatArray:
        """Return standard errors (G, size); zero for what is held fixed."""
        side = weighted_by(self.weights, self.jacobian)
        covariance = self.bread @ (side.T @ self.gamma @ side) @ self.bread
        spread = np.sqrt(np.maximum(np.diagonal(covariance), 0.0))
        return np.where(self.place == HELD, 0.0, spread[np.maximum(self.place, 0)])


def _baseline(sample: Sample, weights: FloatArray, gamma: FloatArray) -> Quadratic:
    """Return the test of no correlations at all, thresholds free in every group."""
    t, (groups, p) = sample.n_thresholds, sample.observed.shape
    pairs = np.tile(np.arange(p) >= t, groups)
    nothing = np.empty((int(pairs.sum()), 0))
    observed = sample.observed.ravel()[pairs]
    return quadratic_test(observed, nothing, weights[pairs], gamma[np.ix_(pairs, pairs)], 1.0)


def _fit(
    statistic: Quadratic, baseline: Quadratic, rest: FloatArray, sample: Sample, kind: RobustTest
) -> FactorFit:
    """Return fit indices: RMSEA of several groups, SRMR over correlations, mean of the groups."""
    groups, n = len(sample.n), float(sample.n.sum())
    apart = rest.reshape(groups, -1)[:, sample.n_thresholds :]
    srmr = sample.n / n @ np.sqrt(np.mean(apart**2, axis=1))
    return fit_indices(
        statistic.corrected(kind),
        baseline.corrected(kind),
        residuals=np.array([srmr]),
        n=n,
        test=WORDS[kind],
        multiplier=(n - groups) / groups,
    )


def _fields(
    layout: Layout, sample: Sample, full: FloatArray, errors: FloatArray
) -> dict[str, Any]:
    """Return parameters and errors as arrays over groups."""
    shape = layout.shape
    widest = int(sample.cuts.max())
    step = np.concatenate([np.arange(c) for c in sample.cuts])
    parts, spreads = ([unpack(shape, row) for row in rows] for rows in (full, errors))
    thresholds = np.full((2, len(full), len(sample.labels), widest), np.nan)
    for where, rows in zip(thresholds, (full, errors), strict=True):
        where[:, shape.item_of_threshold, step] = rows[:, shape.thresholds]
    return {
        "thresholds": thresholds[0],
        "threshold_errors": thresholds[1],
        "loadings": np.stack([part.loadings for part in parts]),
        "loading_errors": np.stack([part.loadings for part in spreads]),
        "intercepts": np.stack([part.intercepts for part in parts]),
        "scales": np.stack([part.scales for part in parts]),
        "factor_means": np.stack([part.means for part in parts]),
        "factor_mean_errors": np.stack([part.means for part in spreads]),
        "factor_covariance": np.stack([part.covariance for part in parts]),
        "factor_covariance_errors": np.stack([part.covariance for part in spreads]),
    }
