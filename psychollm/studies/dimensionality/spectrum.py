"""The spectrum of the tetrachoric matrix beside what independence and one factor make of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from psychollm._base.replicate import replicate
from psychollm._base.result import Result
from psychollm._base.types import EmptyCells, FloatArray, Missing, RandomState, WordArray
from psychollm.correlation.sensitivity import Sensitivity
from psychollm.correlation.tetrachoric import Correlation, tetrachoric
from psychollm.data.responses import Responses
from psychollm.estimates.null import Null
from psychollm.factor.congruence import tucker
from psychollm.kernels.null_matrices import draw_one_factor
from psychollm.kernels.one_factor import margin_thresholds
from psychollm.nulls.design import Design, make_design
from psychollm.nulls.permutation import permutation_null
from psychollm.nulls.statistics import (
    component_loadings,
    eigenvalues,
    quadratic_fit,
    quadratic_r2,
)


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
    responses: Responses,
    loadings: FloatArray,
    *,
    n_null: int,
    empty_cells: EmptyCells,
    missing: Missing,
    rng: RandomState,
    n_jobs: int | None,
    progress: bool,
) -> PlainSpectrum:
    """Set the spectrum beside independence and beside the one-factor model with `loadings`."""
    correlation = tetrachoric(responses, empty_cells=empty_cells, missing=missing)
    permutation = permutation_null(
        responses,
        n_null=n_null,
        empty_cells=empty_cells,
        missing=missing,
        rng=rng,
        n_jobs=n_jobs,
        progress=progress,
    )
    design = make_design(responses, empty_cells=empty_cells, missing=missing)
    task = partial(_block, design=design, loadings=loadings)
    draws = replicate(
        task, n_null, rng=rng, n_jobs=n_jobs, progress=progress, label="one-factor null"
    )
    measured = _measure(*design.observed())[0]
    k = loadings.size

    def null(part: slice | int, statistic: str) -> Null:
        return Null.compare(
            np.asarray(measured[part]),
            draws[:, part],
            scheme="one_factor",
            statistic=statistic,
            alternative="greater",
        )

    one_factor, replicates = null(slice(0, k), "eigenvalues"), draws[:, k + 1 :]
    observed = np.asarray(one_factor.observed)
    stack = correlation.matrix[None]
    first, second = (component_loadings(stack, which)[0] for which in (0, 1))
    # The main direction of the replicates' second loadings, whatever their signs.
    direction = np.linalg.svd(replicates, full_matrices=False)[2][0]
    return PlainSpectrum(
        correlation=correlation,
        eigenvalues=observed,
        shares=observed / observed.size,
        first_loadings=first,
        second_loadings=second,
        second_replicates=replicates,
        permutation=permutation,
        one_factor=one_factor,
        quadratic=quadratic_fit(correlation.thresholds, first)[0],
        quadratic_r2=null(k, "quadratic_r2"),
        congruence=float(_congruence(second[None], direction)[0]),
        null_congruence=float(np.median(_congruence(replicates, direction))),
        sensitivity=correlation.sensitivity(),
    )


def _congruence(loadings: FloatArray, direction: FloatArray) -> FloatArray:
    """Tucker's congruence of rows (n, k) with a vector (k,), sign ignored."""
    return np.abs(tucker(loadings.T, direction[:, None])[:, 0])


def _measure(matrices: FloatArray, thresholds: FloatArray) -> FloatArray:
    """Return eigenvalues, R squared and second loadings side by side, shape (m, 2k + 1)."""
    r2 = quadratic_r2(matrices, thresholds)[:, None]
    second = component_loadings(matrices, 1)
    return np.concatenate([eigenvalues(matrices, thresholds), r2, second], axis=1)


def _block(seeds: WordArray, *, design: Design, loadings: FloatArray) -> FloatArray:
    pairs = design.counts
    cuts = margin_thresholds((pairs.joint.copy(), pairs.yes.copy(), pairs.n.copy()))
    matrices, thresholds = draw_one_factor(
        seeds, loadings, cuts, design.packed, design.workspace(), design.rule, design.fixed
    )
    return _measure(matrices, thresholds)
