r"""Result of a multi-group factor model, with score tests of its equality constraints.

Score tests of equalities between groups need only the constrained model. Releasing an equality
adds parameters with derivatives E. The part of E that the other parameters cannot absorb, and the
score s, are

.. math:: E_\perp = E - \Delta B \Delta^\top W E, \qquad s = E^\top W e, \qquad
          B = (\Delta^\top W \Delta)^{-1}.                                                \quad (1)

With W the weights of the moments and :math:`\Gamma` their covariance matrix, s has covariance
matrix :math:`E_\perp^\top W \Gamma W E_\perp`. The score statistic is

.. math:: s^\top (E_\perp^\top W \Gamma W E_\perp)^{-} s .                                \quad (2)

The score statistic has a chi-square distribution for any weights, with the rank of the covariance
matrix as degrees of freedom (Satorra, 1989). The usual modification index, :math:`s^\top
(E_\perp^\top W E_\perp)^{-} s`, assumes that W is the inverse of :math:`\Gamma`, which is not true
for DWLS. The usual index is reported for comparison.

References
----------
Satorra, A. (1989). Alternative test criteria in covariance structure analysis: A unified approach.
Psychometrika, 54(1), 131-151. https://doi.org/10.1007/BF02294453
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import check_choice
from psychollm._base.convergence import Convergence
from psychollm._base.multiplicity import Adjustment, adjust_p_values
from psychollm._base.numbers import p_equals, signed
from psychollm._base.result import Result
from psychollm._base.types import FloatArray, IntArray
from psychollm.data.labels import listed
from psychollm.factor.fit import FactorFit
from psychollm.factor.invariance.model import (
    HELD,
    Invariance,
    Layout,
    own_columns,
    parameter_names,
)
from psychollm.factor.robust_test import RobustTest

if TYPE_CHECKING:
    import pandas as pd

Released = Literal["items", "parameters"]
FLAT = 1e-7


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class EqualityTests(Result):
    """Score tests of equalities between groups, with the largest statistic first.

    Attributes
    ----------
    kind, item, detail, group : tuple
        Kind of test, label of the item, factor or threshold, and group. The kind is "item" if all
        parameters of an item are tested in all groups; otherwise, the kind is that of the tested
        parameter.
    statistic, df, p_value, adjusted : ndarray of shape (c,)
        Robust score statistic of equation (2), its degrees of freedom, and its unadjusted and
        adjusted p-values.
    index : ndarray of shape (c,)
        Uncorrected statistic, as in modification indices.
    change : ndarray of shape (c,)
        Expected difference of the parameter from its value in the reference group; NaN for tests
        of items.
    """

    kind: tuple[str, ...]
    item: tuple[Hashable, ...]
    detail: tuple[Hashable, ...]
    group: tuple[Hashable, ...]
    statistic: FloatArray  # (c,)
    df: IntArray  # (c,)
    p_value: FloatArray  # (c,)
    adjusted: FloatArray  # (c,)
    index: FloatArray  # (c,)
    change: FloatArray  # (c,)

    _AXES = Axes(
        {},
        "kind",
        "item",
        "detail",
        "group",
        "statistic",
        "df",
        "p_value",
        "adjusted",
        "index",
        "change",
    )

    def __repr__(self) -> str:
        lines = [f"EqualityTests of {len(self.kind)} equalities between groups"]
        for c in range(min(len(self.kind), 8)):
            which = " ".join(str(word) for word in (self.kind[c], self.item[c], self.detail[c]))
            where = f" in {self.group[c]!r}" if self.group[c] != "" else ""
            lines.append(
                f"  {which.strip()}{where}: chi-square({self.df[c]}) = {self.statistic[c]:.2f}, "
                f"{p_equals(self.p_value[c])} (adjusted {self.adjusted[c]:.3g})"
            )
        return "\n".join(lines)


class _Release(NamedTuple):
    """Score test, with its name and the derivatives of the released parameters."""

    names: tuple[str, Hashable, Hashable, Hashable]
    columns: FloatArray  # (G p, c)


def equality_tests(model: GroupFactors, *, of: Released, adjustment: Adjustment) -> EqualityTests:
    """Test the equalities of a fitted model, as described in `GroupFactors.score_tests`."""
    from scipy.stats import chi2

    check_choice("of", of, Released)
    check_choice("adjustment", adjustment, Adjustment)
    releases = _releases(model, of)
    values = np.array([_tested(model, release.columns) for release in releases]).reshape(-1, 4)
    known = values[:, 1] > 0
    releases = [release for release, kept in zip(releases, known, strict=True) if kept]
    values = values[known]
    p_values = np.asarray(chi2.sf(values[:, 0], values[:, 1]))
    order = np.argsort(p_values, kind="stable")
    order = order[np.argsort(-values[order, 0], kind="stable")] if of == "parameters" else order
    names = [releases[i].names for i in order]
    return EqualityTests(
        kind=tuple(name[0] for name in names),
        item=tuple(name[1] for name in names),
        detail=tuple(name[2] for name in names),
        group=tuple(name[3] for name in names),
        statistic=values[order, 0],
        df=values[order, 1].astype(np.int64),
        p_value=p_values[order],
        adjusted=adjust_p_values(p_values, method=adjustment)[order],
        index=values[order, 2],
        change=values[order, 3],
    )


def _releases(model: GroupFactors, of: Released) -> list[_Release]:
    """Return the equality constraints that can be released, with their derivatives."""
    layout = model._layout
    groups, p = len(model.groups), len(model._residuals) // len(model.groups)
    stacked = np.zeros((groups, p, groups, layout.shape.size))
    for g in range(groups):
        stacked[g] = own_columns(layout, model._full, g)
    flat = stacked.reshape(groups * p, groups, -1)
    equal = _equal(layout)
    if of == "items":
        releases = []
        for i, label in enumerate(model.labels):
            own = layout.shape.of_item(i)
            columns = flat[:, 1:, own[equal[own]]].reshape(groups * p, -1)
            if columns.shape[1]:
                releases.append(_Release(("item", label, "", ""), columns))
        return releases
    names = parameter_names(layout.shape, model.labels, model.factors)
    return [
        _Release((*names[parameter], model.groups[g]), flat[:, g, [parameter]])
        for parameter in np.flatnonzero(equal)
        for g in range(1, groups)
    ]


def _equal(layout: Layout) -> Any:
    """Return a mask of the item parameters whose equality across groups is tested (size,)."""
    shape = layout.shape
    equal = (layout.place[1:] == layout.place[0]).all(axis=0) & (layout.place[0] != HELD)
    items = np.zeros(len(shape.free), dtype=np.bool_)
    items[shape.item_of_threshold[equal[shape.thresholds]]] = True
    held = (layout.place[1:] == HELD).all(axis=0)
    several = np.bincount(shape.item_of_threshold, minlength=len(items)) > 1
    equal[shape.covariances] = equal[shape.means] = False
    # With one threshold, tests of intercept and threshold are identical.
    equal[shape.intercepts] = held[shape.intercepts] & items & several
    equal[shape.scales] = held[shape.scales] & items & layout.derived
    return equal


def _tested(fit: GroupFactors, columns: FloatArray) -> tuple[float, float, float, float]:
    """Return robust statistic, rank, uncorrected index, and expected change of a parameter."""
    weights, model = fit._weights[:, None], fit._derivatives
    side = weights * model
    information = model.T @ side
    apart = columns - model @ np.linalg.solve(information, side.T @ columns)
    score = (weights * columns).T @ fit._residuals
    pulled = weights * apart
    robust, rank = _quadratic(score, pulled.T @ fit._gamma @ pulled, columns, weights)
    plain, _ = _quadratic(score, apart.T @ pulled, columns, weights)
    alone = columns.shape[1] == 1 and rank > 0
    change = float(score[0] / (apart.T @ pulled)[0, 0]) if alone else float("nan")
    return robust, float(rank), plain, change


def _quadratic(
    score: FloatArray, matrix: FloatArray, columns: FloatArray, weights: FloatArray
) -> tuple[float, int]:
    """Return s' M^- s and the rank of M, after dividing s and M by the norms of `columns`."""
    size = np.sqrt(np.maximum(np.sum(columns**2 * weights, axis=0), 1e-300))
    values, vectors = np.linalg.eigh(matrix / np.outer(size, size))
    kept = values > FLAT * max(float(values[-1]), FLAT)
    along = vectors[:, kept].T @ (score / size)
    return float(np.sum(along**2 / values[kept])), int(kept.sum())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class GroupFactors(Result):
    """Factor model of G groups, on the scale of the first group.

    Attributes
    ----------
    thresholds, threshold_errors : ndarray of shape (G, k, C - 1)
        Thresholds and standard errors. Items with fewer than C answer categories are padded with
        NaN.
    loadings, loading_errors : ndarray of shape (G, k, m)
        Loadings and standard errors; standardised in the first group.
    intercepts : ndarray of shape (G, k)
        Intercepts of the latent answers. The intercepts are zero unless thresholds are equal and
        intercepts are free.
    scales : ndarray of shape (G, k)
        Inverse SD of the latent answers (delta parameterisation).
    factor_means, factor_mean_errors : ndarray of shape (G, m)
        Factor means and standard errors; zero in the first group.
    factor_covariance, factor_covariance_errors : ndarray of shape (G, m, m)
        Factor covariances and standard errors; variances are one in the first group. Fixed
        parameters have standard errors of zero.
    fit, standard_fit : FactorFit
        Fit indices with the corrected and with the uncorrected statistic. RMSEA takes account of
        the number of groups, and SRMR is computed from correlations.
    scaling : float
        Scaling factor by which the uncorrected statistic is divided, before any shift.
    objective, gradient : float
        Value of the discrepancy function, and largest component of its gradient.
    invariance, test : str
        Level of invariance and correction of the statistic.
    free : tuple
        Items with their own parameters in each group.
    groups, n : tuple and ndarray of shape (G,)
        Names of the groups, with the reference first, and their numbers of units.
    labels, factors : tuple
        Names of the k items and the m factors.
    convergence : Convergence
        Convergence status.
    """

    thresholds: FloatArray  # (G, k, C - 1)
    threshold_errors: FloatArray  # (G, k, C - 1)
    loadings: FloatArray  # (G, k, m)
    loading_errors: FloatArray  # (G, k, m)
    intercepts: FloatArray  # (G, k)
    scales: FloatArray  # (G, k)
    factor_means: FloatArray  # (G, m)
    factor_mean_errors: FloatArray  # (G, m)
    factor_covariance: FloatArray  # (G, m, m)
    factor_covariance_errors: FloatArray  # (G, m, m)
    fit: FactorFit
    standard_fit: FactorFit
    scaling: float
    objective: float
    gradient: float
    invariance: Invariance
    test: RobustTest
    free: tuple[Hashable, ...]
    groups: tuple[Hashable, ...]  # G
    n: FloatArray  # (G,)
    labels: tuple[Hashable, ...]  # k
    factors: tuple[str, ...]  # m
    convergence: Convergence
    _layout: Layout
    _full: FloatArray  # (G, size)
    _errors: FloatArray  # (G, size)
    _residuals: FloatArray  # (G p,)
    _derivatives: FloatArray  # (G p, q)
    _weights: FloatArray  # (G p,)
    _gamma: FloatArray  # (G p, G p)

    _AXES = Axes(
        labels={"group": "groups", "variable": "labels", "factor": "factors", "other": "factors"},
        arrays={
            "group variable threshold": "thresholds threshold_errors",
            "group variable factor": "loadings loading_errors",
            "group variable": "intercepts scales",
            "group factor": "factor_means factor_mean_errors",
            "group factor other": "factor_covariance factor_covariance_errors",
            "group": "n",
        },
    )

    @property
    def standardised_loadings(self) -> FloatArray:
        """Loadings of standardised answers on standardised factors, shape (G, k, m)."""
        spread = np.sqrt(np.maximum(np.diagonal(self.factor_covariance, axis1=1, axis2=2), 0.0))
        return np.asarray(self.loadings * self.scales[:, :, None] * spread[:, None])

    @property
    def residual_variances(self) -> FloatArray:
        """Residual variances of the latent answers, shape (G, k)."""
        shared = np.sum((self.loadings @ self.factor_covariance) * self.loadings, axis=2)
        return np.asarray(self.scales**-2.0 - shared)

    @property
    def inadmissible(self) -> tuple[tuple[Hashable, Hashable], ...]:
        """Groups with items that have a residual variance of zero or less."""
        improper = np.argwhere(self.residual_variances <= 0.0)
        return tuple((self.groups[g], self.labels[i]) for g, i in improper)

    def score_tests(
        self,
        *,
        of: Literal["items", "parameters"] = "items",
        adjustment: Adjustment = "holm",
    ) -> EqualityTests:
        """Test which items violate the equality constraints, without refitting.

        Parameters
        ----------
        of : {"items", "parameters"}
            Whether to test all parameters of an item jointly, or each parameter in each group
            except the reference.
        adjustment : {"holm", "bonferroni", "bh", "by"}
            Adjustment of the p-values for multiple tests.

        Examples
        --------
        >>> from psychollm.correlation import polychoric_by_group
        >>> from psychollm.factor import confirmatory_groups
        >>> rng = np.random.default_rng(1)
        >>> group = np.repeat([0, 1], 1000)
        >>> latent = 0.8 * rng.normal(size=2000) + 0.6 * rng.normal(size=(5, 2000))
        >>> latent[3] += 0.5 * group
        >>> halves = polychoric_by_group(np.digitize(latent, [-0.5, 0.5]), group)
        >>> equal = confirmatory_groups(halves, {"F": range(5)}, invariance="scalar")
        >>> equal.score_tests().item[0]
        3
        """
        return equality_tests(self, of=of, adjustment=adjustment)

    def to_frame(self) -> pd.DataFrame:
        """Return a table of parameters by group, with names, estimates and standard errors."""
        import pandas as pd

        names = parameter_names(self._layout.shape, self.labels, self.factors)
        position, rows = self._layout.place, []
        for g, group in enumerate(self.groups):
            for p, (kind, first, second) in enumerate(names):
                same = bool((position[:, p] == position[g, p]).all())
                row: dict[str, Any] = {"group": group, "kind": kind}
                row |= {"first": first, "second": second, "estimate": self._full[g, p]}
                status = "fixed" if position[g, p] == HELD else "shared" if same else "own"
                rows.append(row | {"se": self._errors[g, p], "status": status})
        return pd.DataFrame(rows)

    def summary(self) -> str:
        """Describe the equality constraints and the fit of the model, with warnings."""
        sizes = ", ".join(f"{g!r} ({n:g})" for g, n in zip(self.groups, self.n, strict=True))
        lines = [
            f"{self.invariance.capitalize()} model of {len(self.labels)} items on "
            f"{listed(self.factors)} in groups {sizes}.",
            f"Fit: {self.fit.summary()}.",
        ]
        if self.free:
            lines.append(f"Items with group-specific parameters: {listed(self.free)}.")
        if self.invariance in ("scalar", "strict"):
            for g, group in enumerate(self.groups[1:], 1):
                shown = (
                    f"{name} {signed(self.factor_means[g, f])} "
                    f"({self.factor_mean_errors[g, f]:.2f})"
                    for f, name in enumerate(self.factors)
                )
                lines.append(f"Factor means of {group!r} (standard errors): {', '.join(shown)}.")
        if self.inadmissible:
            named = ", ".join(f"{item!r} in {group!r}" for group, item in self.inadmissible)
            lines.append(f"Inadmissible (no residual variance): {named}.")
        return "\n".join(lines)
