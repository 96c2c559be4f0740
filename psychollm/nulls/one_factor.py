"""`one_factor_null`: null distribution of a statistic under exactly one factor."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from psychollm._base.checks import DRAWS, check_count
from psychollm._base.errors import OptionError
from psychollm._base.replicate import replicate
from psychollm._base.types import Axis, EmptyCells, FloatArray, Missing, RandomState, WordArray
from psychollm.data.labels import loadings_of_models
from psychollm.data.pair_counts import writable_counts
from psychollm.data.responses import ResponsesLike, turned
from psychollm.estimates.null import Alternative, Null
from psychollm.kernels.null_matrices import draw_one_factor
from psychollm.kernels.one_factor import margin_thresholds
from psychollm.kernels.pairwise_likelihood import fit_pairwise, pair_margins, start_loadings
from psychollm.nulls.design import Design, Statistic, make_design, stack_statistic

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

TOLERANCE = 1e-6
MAX_STEPS = 200


def one_factor_null(
    responses: ResponsesLike,
    *,
    of: Axis = "models",
    statistic: Statistic = "eigenvalues",
    n_null: int = 1000,
    alternative: Alternative = "greater",
    loadings: ArrayLike | None = None,
    empty_cells: EmptyCells = "keep_margins",
    missing: Missing = "pairwise",
    rng: RandomState = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> Null:
    """Compare a statistic of the tetrachoric matrix with simulated one-factor data.

    The comparison is a parametric bootstrap of the one-factor model. Each replicate simulates
    answers from the observed thresholds and the estimated loadings, with the observed pattern of
    missing data and the same continuity correction. The p-values show whether a second component
    is larger than expected under one factor.

    Parameters
    ----------
    responses : Responses, Scan, DataFrame, DataArray or array of shape (models, questions)
        Binary answers.
    of : {"models", "questions"}
        Whether to correlate models or questions. With "questions", exchange "models" and
        "questions" in the descriptions of the other arguments.
    statistic : str or callable
        ``"eigenvalues"``, ``"shares"``, ``"negative_mass"``, ``"mean_correlation"``,
        ``"quadratic_r2"`` (R squared of first loadings on thresholds), ``"second_loadings"``, or a
        function of a correlation matrix (k, k) that returns a number or an array.
    n_null : int
        Number of replicates.
    alternative : {"greater", "less", "two-sided"}
        Direction in which values count as extreme.
    loadings : array of shape (models,), optional
        Loadings used to simulate answers. The default loadings are pairwise-likelihood estimates,
        which need no continuity correction.
    empty_cells : {"keep_margins", "add_half", "add_half_all", "none"}
        Continuity correction of 2 x 2 tables with an empty cell, used for data and replicates.
    missing : {"pairwise", "global"}
        Whether thresholds come from each pair's own table, or from all answers of each row.
    rng : Generator, int or None
        Random generator or seed. The result is identical for any `n_jobs`.
    n_jobs : int or None
        Number of worker threads; -1 uses all processors.
    progress : bool
        Whether to show a progress bar.

    Returns
    -------
    Null
        Observed statistic, replicates, and p-values with Monte Carlo errors.

    Raises
    ------
    CodeError
        If a model has constant answers, or a pair of models has no common question.
    OptionError
        If an option does not exist, or a loading is NaN.

    Notes
    -----
    A model with an extreme yes rate can have constant answers in a replicate; its
    correlations are then set to zero.

    Examples
    --------
    >>> import psychollm as psy
    >>> answers = psy.load_example("shared_confidence").confidence
    >>> null = psy.one_factor_null(answers, of="models", n_null=99, rng=1)
    >>> bool(null.p_value[1] > 0.05)
    True
    """
    n_null = check_count("n_null", n_null, high=DRAWS)
    table = turned(responses, of, "responses")
    design = make_design(table, empty_cells=empty_cells, missing=missing)
    name, compute = stack_statistic(statistic)
    labels = design.counts.labels
    size = fit_loadings(design) if loadings is None else loadings_of_models(loadings, labels)
    if np.isnan(size).any():
        msg = f"loadings: model {labels[int(np.isnan(size).argmax())]!r} is NaN: pass a number"
        raise OptionError(msg)
    counts = writable_counts(design.counts)
    cuts = margin_thresholds(counts)

    def task(seeds: WordArray) -> FloatArray:
        n, rules = design.counts.n, (design.rule, design.fixed)
        return compute(*draw_one_factor(seeds, size, cuts, design.packed, n, *rules))

    draws = replicate(
        task, n_null, rng=rng, n_jobs=n_jobs, progress=progress, label="one-factor null"
    )
    return Null.compare(
        compute(*design.observed())[0],
        draws,
        scheme="one_factor",
        statistic=name,
        alternative=alternative,
    )


def fit_loadings(design: Design) -> FloatArray:
    """Fit the one-factor model by pairwise likelihood, and return its loadings, shape (k,)."""
    counts = writable_counts(design.counts)
    shape = counts[0].shape
    tau, rate, loadings = np.empty(shape), np.empty(shape), np.empty(shape[0])
    pair_margins(counts[1], counts[2], tau, rate)
    start_loadings(counts, tau, loadings)
    fit_pairwise(counts, tau, rate, loadings, TOLERANCE, MAX_STEPS)
    return loadings
