"""A factor model of several groups: its parameters, its fit, which equalities it breaks."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.convergence import Convergence
from psychollm._base.result import Result
from psychollm._base.types import FloatArray
from psychollm.data.labels import listed
from psychollm.factor.fit import FactorFit
from psychollm.factor.invariance.layout import HELD, Invariance, Layout, parameter_names
from psychollm.factor.invariance.score_tests import EqualityTests, equality_tests
from psychollm.factor.robust_test import RobustTest

if TYPE_CHECKING:
    import pandas as pd

    from psychollm._base.multiplicity import Adjustment


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class GroupFactors(Result):
    """One factor model in G groups, on the scale of the first.

    Attributes
    ----------
    thresholds, threshold_errors : ndarray of shape (G, k, C - 1)
        Thresholds with standard errors; NaN where an item has fewer answers than that with most.
    loadings, loading_errors : ndarray of shape (G, k, m)
        Loadings: in the first group the standardised ones.
    intercepts : ndarray of shape (G, k)
        Of the latent answers; zero unless thresholds are shared and intercepts are not.
    scales : ndarray of shape (G, k)
        One over the standard deviation of the latent answers (delta parameterisation).
    factor_means, factor_mean_errors : ndarray of shape (G, m)
        Means of the factors; zero in the first group.
    factor_covariance, factor_covariance_errors : ndarray of shape (G, m, m)
        Their covariance matrices; variances one in the first group. Errors of what is held fixed
        are zero.
    fit, standard_fit : FactorFit
        With the statistic corrected as asked, and uncorrected; RMSEA is that of G groups, SRMR
        is over correlations.
    scaling : float
        What the corrected statistic divides the uncorrected one by, before any shift.
    objective, gradient : float
        The discrepancy, and the largest component of its gradient.
    invariance, test : str
        What is the same in all groups; which correction.
    free : tuple
        Items with parameters of their own in every group.
    groups, n : tuple and ndarray of shape (G,)
        Names of the groups, the reference first, and their units.
    labels, factors : tuple
        Names of the k items and the m factors.
    convergence : Convergence
        How the iteration ended.
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
        """Variance of the latent answers that the factors leave, shape (G, k)."""
        shared = np.sum((self.loadings @ self.factor_covariance) * self.loadings, axis=2)
        return np.asarray(self.scales**-2.0 - shared)

    @property
    def inadmissible(self) -> tuple[tuple[Hashable, Hashable], ...]:
        """Groups with the items whose residual variance is not positive."""
        places = np.argwhere(self.residual_variances <= 0.0)
        return tuple((self.groups[g], self.labels[i]) for g, i in places)

    def score_tests(
        self,
        *,
        of: Literal["items", "parameters"] = "items",
        adjust: Adjustment = "holm",
    ) -> EqualityTests:
        """Test the equalities without fitting again: which item breaks them.

        Parameters
        ----------
        of : {"items", "parameters"}
            All parameters of an item in all groups together, or every parameter in every group
            but the reference.
        adjust : {"holm", "bonferroni", "bh", "by"}
            How p-values are adjusted for their number.
        """
        return equality_tests(self, of=of, adjust=adjust)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per parameter and group: estimate, standard error, and what it is."""
        import pandas as pd

        names = parameter_names(self._layout.shape, self.labels, self.factors)
        place, rows = self._layout.place, []
        for g, group in enumerate(self.groups):
            for p, (kind, first, second) in enumerate(names):
                same = bool((place[:, p] == place[g, p]).all())
                row: dict[str, Any] = {"group": group, "kind": kind}
                row |= {"first": first, "second": second, "estimate": self._full[g, p]}
                status = "fixed" if place[g, p] == HELD else "shared" if same else "own"
                rows.append(row | {"se": self._errors[g, p], "status": status})
        return pd.DataFrame(rows)

    def summary(self) -> str:
        """Say what is the same, how the model fits, and what to beware of."""
        sizes = ", ".join(f"{g!r} ({n:g})" for g, n in zip(self.groups, self.n, strict=True))
        lines = [
            f"{self.invariance.capitalize()} model of {len(self.labels)} items on "
            f"{listed(self.factors)} in groups {sizes}.",
            f"Fit: {self.fit.summary()}.",
        ]
        if self.free:
            lines.append(f"With parameters of their own in every group: {listed(self.free)}.")
        if self.invariance in ("scalar", "strict"):
            for g, group in enumerate(self.groups[1:], 1):
                shown = (
                    f"{name} {self.factor_means[g, f]:+.2f} ({self.factor_mean_errors[g, f]:.2f})"
                    for f, name in enumerate(self.factors)
                )
                lines.append(f"Factor means of {group!r} (standard errors): {', '.join(shown)}.")
        if self.inadmissible:
            named = ", ".join(f"{item!r} in {group!r}" for group, item in self.inadmissible)
            lines.append(f"Inadmissible: no residual variance left in {named}.")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"GroupFactors: {self.summary()}"
