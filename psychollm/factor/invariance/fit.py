r"""`confirmatory_groups`: fit of a multi-group factor model with equality constraints.

The stacked thresholds and correlations :math:`m_g` of independent groups, with n times their
covariance matrix :math:`\Gamma_g`, are fitted by diagonally weighted least squares,

.. math:: F = \tfrac12 \sum_g \frac{n_g}{n}\, e_g^\top W_g e_g, \qquad
          W_g = (\operatorname{diag} \Gamma_g)^{-1}.                                      \quad (1)

The model and its equalities are defined in `psychollm.factor.invariance.model`. Statistic, scaling
and standard errors are computed as in `robust_test`, with :math:`n_g - 1` for each group, as in
lavaan and Mplus.

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

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy.linalg import block_diag

from psychollm._base.checks import check_choice
from psychollm._base.errors import CodeError, InputError, LabelError, OptionError, ShapeError
from psychollm._base.types import BoolArray, FloatArray, IntArray
from psychollm.data.labels import Labels, listed
from psychollm.factor.confirmatory import (
    WORDS,
    LoadingPattern,
    least_squares,
    loading_pattern,
    starting_loadings,
)
from psychollm.factor.exploratory.factor_analysis import observations
from psychollm.factor.fit import fit_indices
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
from psychollm.factor.robust_test import (
    RobustTest,
    inverse_of,
    quadratic_test,
    sandwich,
    weighted_by,
)

GroupCorrelations: TypeAlias = Mapping[Hashable, Any]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sample:
    """Moments that the model reproduces: standardised thresholds, then correlations."""

    observed: FloatArray  # (G, p)
    gamma: FloatArray  # (G, p, p) n times the covariance matrix of each group
    n: FloatArray  # (G,)
    cuts: IntArray  # (k,) number of thresholds of each item
    labels: Labels  # k
    groups: tuple[Hashable, ...]  # G

    @property
    def n_thresholds(self) -> int:
        """Number of thresholds among the moments."""
        return int(self.cuts.sum())


def sample_of(correlations: GroupCorrelations, model: LoadingPattern) -> tuple[Sample, BoolArray]:
    """Return the moments of several groups and the pattern of loadings."""
    if not isinstance(correlations, Mapping) or len(correlations) < 2:
        msg = (
            "correlations must map two or more groups to results of polychoric: "
            "pass polychoric_by_group(data, groups)"
        )
        raise OptionError(msg)
    names, parts = tuple(correlations), list(correlations.values())
    for name, part in correlations.items():
        if not hasattr(part, "thresholds") or not callable(getattr(part, "covariance", None)):
            msg = (
                f"correlations[{name!r}] must be a result of polychoric, got {type(part).__name__}"
            )
            raise OptionError(msg)
    rows, free = loading_pattern(model, parts[0].labels)
    kept = tuple(parts[0].labels[i] for i in rows)
    parts = [_selected(part, kept, name) for name, part in zip(names, parts, strict=True)]
    _check_answers(parts, names)
    pairs = np.tril_indices(len(kept), -1)
    finite = np.isfinite(parts[0].thresholds)
    sizes = np.array([observations(part, None) for part in parts])
    observed = [np.concatenate([part.thresholds[finite], part.matrix[pairs]]) for part in parts]
    gamma = [
        n * _covariance(part, name) for n, part, name in zip(sizes, parts, names, strict=True)
    ]
    sample = Sample(
        observed=np.stack(observed),
        gamma=np.stack(gamma),
        n=sizes,
        cuts=finite.sum(axis=1),
        labels=kept,
        groups=names,
    )
    return sample, free


def _selected(part: Any, kept: Labels, name: Hashable) -> Any:
    """Return the correlations of one group for the items of the model, in order."""
    absent = [label for label in kept if label not in set(part.labels)]
    if absent:
        msg = f"{listed(absent)} are not in group {name!r}: all groups need all items"
        raise LabelError(msg)
    return part if part.labels == kept else part.select(kept)


def _check_answers(parts: Sequence[Any], names: Sequence[Hashable]) -> None:
    """Raise an error for items whose answer codes differ between groups."""
    for i, label in enumerate(parts[0].labels):
        for part, name in zip(parts, names, strict=True):
            if part.answers[i] != parts[0].answers[i]:
                msg = (
                    f"{label!r} has answers {parts[0].answers[i]} in group {names[0]!r} but "
                    f"{part.answers[i]} in {name!r}: merge answers until all groups use the same"
                )
                raise CodeError(msg)


def _covariance(part: Any, name: Hashable) -> FloatArray:
    try:
        return np.asarray(part.covariance(thresholds=True), dtype=np.float64)
    except InputError as error:
        msg = f"group {name!r}: {error}"
        raise InputError(msg) from error


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
        Mapping from the name of each group to its result of `polychoric`, as `polychoric_by_group`
        returns it. Groups are independent sets of units. The first group is the reference. Each
        item must have the same answer categories in all groups.
    model : mapping
        Mapping from the name of each factor to the labels of its items.
    invariance : {"configural", "thresholds", "metric", "scalar", "strict"}
        Level of invariance, that is, the parameters that are equal in all groups, as listed in
        `psychollm.factor.invariance.model`.
    free : sequence of labels
        Items with their own thresholds and loadings in each group (partial invariance).
    test : {"scaled_shifted", "satorra_bentler", "mean_variance", "standard"}
        Correction of the test statistic.

    Returns
    -------
    GroupFactors
        Parameters per group on the scale of the reference group, with standard errors and fit
        indices. `score_tests` identifies items that violate the equality constraints.

    Raises
    ------
    OptionError, LabelError, ShapeError, CodeError, InputError
        If the model does not match the groups, if the answer categories of an item differ between
        groups, or if the parameters are not identified.

    Warns
    -----
    ConvergenceWarning
        If the iteration stopped before convergence.

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
    """Fit moments of several groups, for `confirmatory_groups`."""
    strange = [item for item in free if item not in set(sample.labels)]
    if strange:
        msg = (
            f"free names {listed(strange)}, which the model lacks; it has {listed(sample.labels)}"
        )
        raise LabelError(msg)
    apart = np.array([label in set(free) for label in sample.labels])
    layout = layout_of(Shape.of(pattern, sample.cuts), len(sample.groups), invariance, apart)
    observed = sample.observed.ravel()
    diagonals = np.diagonal(sample.gamma, axis1=1, axis2=2)
    share = (sample.n / sample.n.sum())[:, None]
    least = least_squares(
        observed,
        (share / diagonals).ravel(),
        lambda x: stacked_moments(layout, x),
        lambda x: stacked_derivatives(layout, x),
        layout.start(_start(layout, sample)),
    )
    ending = least.ending(f"the {invariance} factor model of {len(sample.groups)} groups")
    # Statistics and errors use n - 1 for each group, as in lavaan and Mplus.
    counted = sample.n - 1.0
    weights = (counted[:, None] / diagonals).ravel()
    gamma = block_diag(*(sample.gamma / counted[:, None, None]))
    jacobian = stacked_derivatives(layout, least.x)  # (G p, q)
    residuals = observed - stacked_moments(layout, least.x)
    _check_identified(jacobian, weights)
    spread = np.sqrt(np.maximum(np.diagonal(sandwich(jacobian, weights, gamma)[1]), 0.0))
    errors = np.where(layout.place == HELD, 0.0, spread[np.maximum(layout.place, 0)])
    # The baseline model has correlations of zero, and free thresholds in every group.
    groups, n, t = len(sample.groups), float(sample.n.sum()), sample.n_thresholds
    pairs = np.tile(np.arange(sample.observed.shape[1]) >= t, groups)
    nothing, own = np.empty((int(pairs.sum()), 0)), np.ix_(pairs, pairs)
    statistic = quadratic_test(residuals, jacobian, weights, gamma, 1.0)
    baseline = quadratic_test(observed[pairs], nothing, weights[pairs], gamma[own], 1.0)
    of_pairs = residuals.reshape(groups, -1)[:, t:]
    fits = [
        fit_indices(
            statistic.corrected(kind),
            baseline.corrected(kind),
            residuals=np.array([sample.n / n @ np.sqrt(np.mean(of_pairs**2, axis=1))]),
            n=n,
            test=WORDS[kind],
            multiplier=(n - groups) / groups,
        )
        for kind in (test, "standard")
    ]
    full = with_scales(layout, layout.full(least.x))
    return GroupFactors(
        **_fields(layout, sample, full, errors),
        invariance=invariance,
        test=test,
        free=tuple(label for label in sample.labels if label in set(free)),
        factors=factors,
        fit=fits[0],
        standard_fit=fits[1],
        scaling=statistic.scaling(test),
        objective=least.value,
        gradient=least.gradient,
        groups=sample.groups,
        n=sample.n,
        labels=sample.labels,
        convergence=ending,
        _layout=layout,
        _full=full,
        _errors=errors,
        _residuals=residuals,
        _derivatives=jacobian,
        _weights=weights,
        _gamma=gamma,
    )


def _start(layout: Layout, sample: Sample) -> FloatArray:
    """Return starting values (G, size): observed thresholds, loadings from correlations."""
    shape, k = layout.shape, len(sample.labels)
    values = layout.value.copy()
    t = sample.n_thresholds
    values[:, shape.thresholds] = sample.observed[:, :t]
    for group, row in enumerate(sample.observed):
        R = np.eye(k)
        R[np.tril_indices(k, -1)] = row[t:]
        R = R + np.tril(R, -1).T
        values[group, shape.loadings] = starting_loadings(R, shape.free)[shape.free]
    apart = np.setdiff1d(shape.covariances, shape.variances)
    values[:, apart] = 0.3
    return values


def _check_identified(jacobian: FloatArray, weights: FloatArray) -> None:
    """Raise an error if parameters are not identified."""
    p, q = jacobian.shape
    rank = inverse_of(jacobian.T @ weighted_by(weights, jacobian))[1]
    if rank < q:
        msg = (
            f"the {p} thresholds and correlations do not determine the {q} parameters of the "
            f"model (rank {rank}): factors need three items, and two that are not free"
        )
        raise ShapeError(msg)


def _fields(
    layout: Layout, sample: Sample, full: FloatArray, errors: FloatArray
) -> dict[str, Any]:
    """Return parameters and standard errors as arrays with groups on the first axis."""
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
