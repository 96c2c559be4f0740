"""One pass of the one-factor null for everything the plain spectrum shows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from psychollm._base.replicate import replicate
from psychollm._base.types import EmptyCells, FloatArray, Missing, RandomState, WordArray
from psychollm.data.responses import Responses
from psychollm.estimates.null import Null
from psychollm.kernels.null_matrices import draw_one_factor
from psychollm.kernels.one_factor import margin_thresholds
from psychollm.nulls.design import Design, make_design
from psychollm.nulls.statistics import component_loadings, eigenvalues, quadratic_r2


@dataclass(frozen=True, slots=True, kw_only=True)
class SpectrumNull:
    """Eigenvalues, R squared and second loadings under one factor."""

    eigenvalues: Null  # (k,)
    quadratic_r2: Null  # ()
    second_loadings: FloatArray  # (n, k)


def spectrum_null(
    responses: Responses,
    loadings: FloatArray,
    *,
    n_null: int,
    empty_cells: EmptyCells,
    missing: Missing,
    rng: RandomState,
    n_jobs: int | None,
    progress: bool,
) -> SpectrumNull:
    """Draw the spectrum of the tetrachoric matrix from the one-factor model with `loadings`."""
    design = make_design(responses, empty_cells=empty_cells, missing=missing)
    task = partial(_block, design=design, loadings=loadings)
    draws = replicate(
        task, n_null, rng=rng, n_jobs=n_jobs, progress=progress, label="one-factor null"
    )
    observed = _measure(*design.observed())[0]
    k = loadings.size

    def null(part: slice | int, statistic: str) -> Null:
        return Null.compare(
            np.asarray(observed[part]),
            draws[:, part],
            scheme="one_factor",
            statistic=statistic,
            alternative="greater",
        )

    return SpectrumNull(
        eigenvalues=null(slice(0, k), "eigenvalues"),
        quadratic_r2=null(k, "quadratic_r2"),
        second_loadings=draws[:, k + 1 :],
    )


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
