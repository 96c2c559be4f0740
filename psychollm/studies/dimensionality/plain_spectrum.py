"""The spectrum of the tetrachoric matrix beside what independence and one factor make of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from psychollm._base.result import Result
from psychollm._base.types import FloatArray
from psychollm.correlation.sensitivity import Sensitivity
from psychollm.correlation.tetrachoric import Correlation
from psychollm.estimates.null import Null
from psychollm.factor.congruence import tucker
from psychollm.nulls.statistics import component_loadings, quadratic_fit
from psychollm.studies.dimensionality.spectrum_null import SpectrumNull


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class PlainSpectrum(Result):
    """A tetrachoric spectrum with its nulls; bent by the empty-cell rule, as they are.

    Attributes
    ----------
    correlation : Correlation
        Tetrachoric correlations under the rules chosen.
    eigenvalues, shares : ndarray of shape (k,)
        Falling; shares are eigenvalues over k.
    first_loadings, second_loadings : ndarray of shape (k,)
        Loadings of the first two components, their sums not negative.
    second_replicates : ndarray of shape (n, k)
        Loadings on the second component in each one-factor replicate.
    permutation, one_factor : Null
        The eigenvalues under independence and under one factor, shape (k,).
    quadratic : ndarray of shape (3,)
        Fit of first loadings on thresholds: constant, linear, quadratic.
    quadratic_r2 : Null
        Its R squared, beside one-factor replicates whose true loadings do not fall off.
    congruence : float
        Tucker's congruence of `second_loadings` with the second component of replicates.
    null_congruence : float
        Median congruence of single replicates with that component: what to compare with.
    sensitivity : Sensitivity
        Pairs with an empty cell, and shares under every empty-cell rule.
    """

    correlation: Correlation
    eigenvalues: FloatArray  # (k,)
    shares: FloatArray  # (k,)
    first_loadings: FloatArray  # (k,)
    second_loadings: FloatArray  # (k,)
    second_replicates: FloatArray  # (n, k)
    permutation: Null
    one_factor: Null
    quadratic: FloatArray  # (3,)
    quadratic_r2: Null
    congruence: float
    null_congruence: float
    sensitivity: Sensitivity

    @property
    def min_eigenvalue(self) -> float:
        """Smallest eigenvalue; negative where no correlation matrix fits all pairs."""
        return float(self.eigenvalues[-1])

    @property
    def n_empty(self) -> int:
        """Number of pairs whose 2 x 2 table has an empty cell."""
        return self.sensitivity.n_empty


def plain_spectrum(
    correlation: Correlation, permutation: Null, null: SpectrumNull
) -> PlainSpectrum:
    """Put a correlation and its nulls together."""
    eigenvalues = np.asarray(null.eigenvalues.observed)
    stack = correlation.matrix[None]
    first, second = (component_loadings(stack, which)[0] for which in (0, 1))
    # The main direction of the replicates' second loadings, whatever their signs.
    direction = np.linalg.svd(null.second_loadings, full_matrices=False)[2][0]
    return PlainSpectrum(
        correlation=correlation,
        eigenvalues=eigenvalues,
        shares=eigenvalues / eigenvalues.size,
        first_loadings=first,
        second_loadings=second,
        second_replicates=null.second_loadings,
        permutation=permutation,
        one_factor=null.eigenvalues,
        quadratic=quadratic_fit(correlation.thresholds, first)[0],
        quadratic_r2=null.quadratic_r2,
        congruence=float(_congruence(second[None], direction)[0]),
        null_congruence=float(np.median(_congruence(null.second_loadings, direction))),
        sensitivity=correlation.sensitivity(),
    )


def _congruence(loadings: FloatArray, direction: FloatArray) -> FloatArray:
    """Tucker's congruence of rows (n, k) with a vector (k,), sign ignored."""
    return np.abs(tucker(loadings.T, direction[:, None])[:, 0])
