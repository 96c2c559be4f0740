"""`dimensionality`: is there one shared signal, several, or none, and what of it is artefact."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping
from typing import TypedDict

import numpy as np

from psychollm._base.checks import check_choice, check_count, check_fraction, check_generator
from psychollm._base.errors import ShapeError, ValidityWarning
from psychollm._base.types import EmptyCells, Missing, RandomState
from psychollm.data.coerce import check_binary
from psychollm.data.responses import Responses, ResponsesLike, as_responses
from psychollm.factor.one_factor.full_information import full_information
from psychollm.factor.one_factor.pairwise_likelihood import pairwise_likelihood
from psychollm.factor.one_factor.residual_test import (
    LEAST_MODELS,
    residual_test,
    second_share_test,
)
from psychollm.factor.one_factor.residuals import pair_residuals
from psychollm.studies.dimensionality.result import Dimensionality
from psychollm.studies.dimensionality.spectrum import plain_spectrum
from psychollm.studies.dimensionality.verdict import count_factors, n_factors

SHARE_REPLICATES = 99


class _Work(TypedDict):
    """How replicates are run."""

    rng: np.random.Generator
    n_jobs: int | None
    progress: bool


def dimensionality(
    responses: ResponsesLike,
    *,
    empty_cells: EmptyCells = "keep_margins",
    missing: Missing = "pairwise",
    n_null: int = 499,
    alpha: float = 0.05,
    rng: RandomState = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> Dimensionality:
    """Judge whether models share one signal, several or none, and what of it is artefact.

    Every rule for empty cells bends the spectrum of a tetrachoric matrix: extreme yes rates alone
    make a second component and a quadratic fall-off of loadings. So the spectrum is shown beside
    its distribution under independence and under one factor, and the verdict rests on
    `residual_test`, which uses pair counts alone and needs no rule. Its false alarm rate and
    power over models, questions, yes rates and loadings are tabulated in the documentation.

    Parameters
    ----------
    responses : Responses or table of shape (models, questions)
        Binary answers of at least four models that vary.
    empty_cells, missing : str
        Rules of the plain spectrum (see `tetrachoric`); the verdict on the number of factors does
        not depend on them.
    n_null : int
        Replicates of each null. At 499 a p-value of .05 has a Monte Carlo error of .01.
    alpha : float
        Level of the tests.
    rng : Generator, int or None
        Seed of all replicates.
    n_jobs : int or None
        Workers; the result does not depend on it.
    progress : bool
        Show progress bars (needs tqdm).

    Raises
    ------
    ShapeError
        If fewer than four models vary.
    CodeError
        If answers are not binary, or two models share no question on which both vary.

    Warns
    -----
    ValidityWarning
        If models that always gave the same answer were left out.

    Examples
    --------
    >>> import psychollm as psy
    >>> answers = psy.load_example("shared_confidence").confidence
    >>> result = psy.dimensionality(answers, n_null=99, rng=1)
    >>> result.n_factors
    1
    """
    check_choice("empty_cells", empty_cells, EmptyCells)
    check_choice("missing", missing, Missing)
    check_count("n_null", n_null)
    check_fraction("alpha", alpha)
    table, excluded = _usable(as_responses(responses))
    work: _Work = {"rng": check_generator(rng), "n_jobs": n_jobs, "progress": progress}
    none = residual_test(table, factors=0, n_null=n_null, **work)
    one = residual_test(table, factors=1, n_null=n_null, **work)
    share = second_share_test(table, n_null=min(n_null, SHARE_REPLICATES), **work)
    plain = plain_spectrum(
        table, one.loadings, n_null=n_null, empty_cells=empty_cells, missing=missing, **work
    )
    count = n_factors(none.p_value, one.p_value, alpha)
    full = full_information(table, progress=progress)
    return Dimensionality(
        n_factors=count,
        shared_test=none,
        one_factor_test=one,
        second_share=share,
        spectrum=plain,
        factors_by_rule=count_factors(plain.permutation, plain.one_factor, tested=count),
        pairwise=pairwise_likelihood(table),
        full_information=full,
        residuals=pair_residuals(table, loadings=full.loadings),
        excluded=excluded,
        alpha=alpha,
        labels=table.models,
    )


def _usable(table: Responses) -> tuple[Responses, Mapping[Hashable, str]]:
    """Leave out models whose answers do not vary, with a warning that names them."""
    check_binary(table)
    rates = table.yes_rates
    excluded: dict[Hashable, str] = {}
    for model, rate in zip(table.models, rates, strict=True):
        if np.isnan(rate):
            excluded[model] = "answered nothing"
        elif rate in (0.0, 1.0):
            excluded[model] = "always said yes" if rate == 1.0 else "always said no"
    kept = [model for model in table.models if model not in excluded]
    if len(kept) < LEAST_MODELS:
        msg = (
            f"dimensionality needs at least {LEAST_MODELS} models whose answers vary, got "
            f"{len(kept)} of {table.n_models}: with three, one factor fits any table"
        )
        raise ShapeError(msg)
    if not excluded:
        return table, excluded
    named = ", ".join(f"{model!r} ({why})" for model, why in excluded.items())
    warnings.warn(f"left out of dimensionality: {named}", ValidityWarning, stacklevel=3)
    return table.select(models=kept), excluded
