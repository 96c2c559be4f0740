"""Result of a confirmatory factor model: estimates, fit and modification indices."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.convergence import Convergence
from psychollm._base.numbers import signed
from psychollm._base.result import Result
from psychollm._base.types import FloatArray
from psychollm.data.expected import Expects
from psychollm.data.labels import listed
from psychollm.factor.fit import FactorFit
from psychollm.factor.robust_test import inverse_of, weighted_by

if TYPE_CHECKING:
    import pandas as pd

LEAST_INFORMATION = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ModificationIndices(Result):
    """Modification indices of parameters that are fixed at zero, largest first.

    Attributes
    ----------
    kind : tuple of str
        Kind of parameter: "loading" or "residual" (correlation of the residuals of two variables).
    first, second : tuple
        Labels of a variable and a factor, or of two variables.
    index : ndarray of shape (c,)
        Expected decrease of the uncorrected statistic; approximately chi-square with one degree of
        freedom.
    scaled : ndarray of shape (c,)
        `index` divided by the scaling factor of the robust statistic.
    change : ndarray of shape (c,)
        Expected estimate of the parameter if it were free.
    """

    kind: tuple[str, ...]
    first: tuple[Hashable, ...]
    second: tuple[Hashable, ...]
    index: FloatArray  # (c,)
    scaled: FloatArray  # (c,)
    change: FloatArray  # (c,)

    _AXES = Axes({}, "kind", "first", "second", "index", "scaled", "change")

    def __repr__(self) -> str:
        lines = [f"ModificationIndices of {len(self.kind)} parameters fixed at zero"]
        rows = zip(self.kind, self.first, self.second, self.index, self.change, strict=True)
        for kind, first, second, index, change in list(rows)[:8]:
            lines.append(
                f"  {kind:<9}{first!r} - {second!r}: {index:.2f}, expected {signed(change, 3)}"
            )
        return "\n".join(lines)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ConfirmatoryFactors(Expects, Result):
    """Fitted confirmatory factor model.

    Attributes
    ----------
    loadings, loading_errors : ndarray of shape (k, m)
        Standardised loadings and standard errors; zero for loadings that the model fixes at zero.
    factor_correlation, factor_correlation_errors : ndarray of shape (m, m)
        Correlations of the factors, and their standard errors.
    residual_pairs : tuple of pairs
        Variables whose residuals may covary.
    residual_covariances, residual_covariance_errors : ndarray of shape (r,)
        Residual covariances of `residual_pairs`, on the scale of correlations.
    communalities : ndarray of shape (k,)
        Proportion of variance explained by the factors; above one in an inadmissible solution.
    covariance : ndarray of shape (q, q)
        Covariance matrix of the free parameters: loadings row by row, factor correlations,
        residual covariances.
    fit, standard_fit : FactorFit
        Fit indices with the corrected and with the uncorrected statistic. SRMR is computed over
        pairs of variables.
    scaling : float
        Scaling factor by which the uncorrected statistic is divided, before any shift.
    objective, gradient : float
        Value of the discrepancy function, and largest component of its gradient.
    estimator, errors : str
        Discrepancy function and kind of standard errors.
    n : float
        Number of observations.
    labels, factors : tuple
        Names of the k variables and the m factors.
    convergence : Convergence
        Convergence status.
    """

    loadings: FloatArray  # (k, m)
    loading_errors: FloatArray  # (k, m)
    factor_correlation: FloatArray  # (m, m)
    factor_correlation_errors: FloatArray  # (m, m)
    residual_pairs: tuple[tuple[Hashable, Hashable], ...]  # r
    residual_covariances: FloatArray  # (r,)
    residual_covariance_errors: FloatArray  # (r,)
    communalities: FloatArray  # (k,)
    covariance: FloatArray  # (q, q)
    fit: FactorFit
    standard_fit: FactorFit
    scaling: float
    objective: float
    gradient: float
    estimator: str
    errors: str
    n: float
    labels: tuple[Hashable, ...]  # k
    factors: tuple[str, ...]  # m
    convergence: Convergence
    _residuals: FloatArray  # (p,)
    _derivatives: FloatArray  # (p, q)
    _weights: FloatArray  # (p,) or (p, p)
    _gamma: FloatArray  # (p, p)

    _EXPECTED = ("factor.expected", "expected_answers")

    @property
    def residuals(self) -> FloatArray:
        """Residual correlations (k, k); zero on the diagonal."""
        k = len(self.labels)
        rest = np.zeros((k, k))
        rest[np.tril_indices(k, -1)] = self._residuals
        return rest + rest.T

    @property
    def standardised_residuals(self) -> FloatArray:
        """Residuals divided by their standard errors (k, k); zero on the diagonal."""
        side = weighted_by(self._weights, self._derivatives)
        bread = inverse_of(self._derivatives.T @ side)[0]
        maker = np.eye(self._residuals.size) - self._derivatives @ bread @ side.T
        spread = np.einsum("ij,jk,ik->i", maker, self._gamma, maker) / (self.n - 1.0)
        k = len(self.labels)
        standardised = np.zeros((k, k))
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = self._residuals / np.sqrt(np.maximum(spread, 0.0))
        standardised[np.tril_indices(k, -1)] = np.where(spread > 1e-14, ratio, 0.0)
        return standardised + standardised.T

    @property
    def inadmissible(self) -> tuple[Hashable, ...]:
        """Variables with a communality >= 1, and factors with an absolute correlation >= 1."""
        rows = [self.labels[i] for i in np.flatnonzero(self.communalities >= 1.0)]
        size = np.abs(np.tril(self.factor_correlation, -1))
        return (*rows, *(self.factors[i] for i in np.flatnonzero((size >= 1.0).any(axis=1))))

    def modification_indices(self) -> ModificationIndices:
        """Return modification indices of fixed loadings and residual correlations.

        Parameters that would not be identified are omitted.
        """
        named, columns = self._held()
        side = weighted_by(self._weights, self._derivatives)
        bread = inverse_of(self._derivatives.T @ side)[0]
        other = weighted_by(self._weights, columns)
        pull = other.T @ self._residuals
        own = np.sum(columns * other, axis=0)
        crossed = side.T @ columns
        rest = own - np.sum(crossed * (bread @ crossed), axis=0)
        known = np.flatnonzero(rest > LEAST_INFORMATION * own)
        index = (self.n - 1.0) * pull[known] ** 2 / rest[known]
        order = np.argsort(-index, kind="stable")
        chosen = known[order]
        return ModificationIndices(
            kind=tuple(named[c][0] for c in chosen),
            first=tuple(named[c][1] for c in chosen),
            second=tuple(named[c][2] for c in chosen),
            index=index[order],
            scaled=index[order] / self.scaling,
            change=(pull[chosen] / rest[chosen]),
        )

    def _held(self) -> tuple[list[tuple[str, Hashable, Hashable]], FloatArray]:
        """Return names of the parameters fixed at zero, and derivatives (p, c)."""
        k = len(self.labels)
        first, second = np.tril_indices(k, -1)
        structure = self.loadings @ self.factor_correlation
        named: list[tuple[str, Hashable, Hashable]] = []
        columns = []
        for i, f in np.argwhere(self.loading_errors == 0.0):
            named.append(("loading", self.labels[i], self.factors[f]))
            columns.append(
                (first == i) * structure[second, f] + (second == i) * structure[first, f]
            )
        pairs = zip(first, second, strict=True)
        named += [("residual", self.labels[a], self.labels[b]) for a, b in pairs]
        return named, np.column_stack([*columns, np.eye(first.size)])

    def to_frame(self) -> pd.DataFrame:
        """Return a table with one row per free parameter, with estimate, standard error and z."""
        import pandas as pd

        rows: list[dict[str, Any]] = []
        for i, f in np.argwhere(self.loading_errors > 0.0):
            names = {"kind": "loading", "first": self.labels[i], "second": self.factors[f]}
            rows.append(names | _numbers(self.loadings[i, f], self.loading_errors[i, f]))
        for f, g in np.argwhere(np.tril(self.factor_correlation_errors) > 0.0):
            names = {"kind": "correlation", "first": self.factors[f], "second": self.factors[g]}
            value, error = self.factor_correlation[f, g], self.factor_correlation_errors[f, g]
            rows.append(names | _numbers(value, error))
        for r, (first, second) in enumerate(self.residual_pairs):
            names = {"kind": "residual", "first": first, "second": second}
            value, error = self.residual_covariances[r], self.residual_covariance_errors[r]
            rows.append(names | _numbers(value, error))
        return pd.DataFrame(rows)

    def summary(self) -> str:
        """Describe the fit of the model, with warnings."""
        names = listed(self.factors)
        lines = [
            f"{len(self.factors)} factor{'s' if len(self.factors) > 1 else ''} ({names}), "
            f"{len(self.labels)} variables, estimator {self.estimator}, n = {self.n:g}.",
            f"Fit: {self.fit.summary()}.",
        ]
        if self.inadmissible:
            lines.append(
                f"Inadmissible (communality or factor correlation of at least one): "
                f"{listed(self.inadmissible)}."
            )
        return "\n".join(lines)


def _numbers(value: float, error: float) -> dict[str, float]:
    return {"estimate": float(value), "se": float(error), "z": float(value / error)}
