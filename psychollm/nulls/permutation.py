"""`permutation_null`: null distribution of a statistic without a common factor."""

from __future__ import annotations

from functools import partial
from typing import Literal, TypeAlias

import numpy as np

from psychollm._base.checks import DRAWS, check_choice, check_count, check_generator
from psychollm._base.replicate import replicate, replicate_seeds
from psychollm._base.types import (
    Axis,
    EmptyCells,
    FloatArray,
    Missing,
    RandomState,
    WordArray,
)
from psychollm.data.responses import ResponsesLike, turned
from psychollm.estimates.null import Alternative, Mixing, Null
from psychollm.kernels.null_matrices import (
    BOTH_MARGINS,
    WITHIN_MODEL,
    WITHIN_QUESTION,
    draw_permuted,
    trade_path,
)
from psychollm.nulls.design import Design, StackStatistic, Statistic, make_design, stack_statistic

Scheme: TypeAlias = Literal["within_model", "within_question", "both_margins"]
SCHEMES = {
    "within_model": WITHIN_MODEL,
    "within_question": WITHIN_QUESTION,
    "both_margins": BOTH_MARGINS,
}
# Number of chains in the mixing diagnostic, and default number of trades per model. Each model
# then takes part in 80 trades on average. A trade redistributes all answers in which two models
# differ.
MIXING_CHAINS = 40
TRADES_PER_MODEL = 40


def permutation_null(
    responses: ResponsesLike,
    *,
    of: Axis = "models",
    statistic: Statistic = "eigenvalues",
    scheme: Scheme = "within_model",
    n_null: int = 1000,
    alternative: Alternative = "greater",
    empty_cells: EmptyCells = "keep_margins",
    missing: Missing = "pairwise",
    trades: int | None = None,
    rng: RandomState = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> Null:
    """Compare a statistic of the tetrachoric matrix with its values in shuffled tables.

    Parameters
    ----------
    responses : Responses, Scan, DataFrame, DataArray or array of shape (models, questions)
        Binary answers. Missing answers keep their positions.
    of : {"models", "questions"}
        Whether to correlate models or questions. With "questions", exchange "models" and
        "questions" in the descriptions of the other arguments.
    statistic : str or callable
        ``"eigenvalues"``, ``"shares"``, ``"negative_mass"``, ``"mean_correlation"``,
        ``"quadratic_r2"`` (R squared of first loadings on thresholds), ``"second_loadings"``, or a
        function of a correlation matrix (k, k) that returns a number or an array.
    scheme : {"within_model", "within_question", "both_margins"}
        ``"within_model"`` shuffles each model's answers over questions, which removes all common
        factors. ``"within_question"`` shuffles each question's answers over models, which
        preserves question difficulty. ``"both_margins"`` makes curveball trades, which keep the
        yes rates of models and of questions.
    n_null : int
        Number of replicates.
    alternative : {"greater", "less", "two-sided"}
        Direction in which values count as extreme.
    empty_cells : {"keep_margins", "add_half", "add_half_all", "none"}
        Continuity correction of 2 x 2 tables with an empty cell, used for data and replicates.
    missing : {"pairwise", "global"}
        Whether thresholds come from each pair's own table, or from all answers of each row.
    trades : int, optional
        Number of trades per replicate for ``"both_margins"``; by default 40 per model.
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

    Examples
    --------
    >>> import psychollm as psy
    >>> answers = psy.load_example("shared_confidence").confidence
    >>> null = psy.permutation_null(answers, of="models", n_null=99, rng=1)
    >>> float(null.p_value[0])
    0.01
    """
    check_choice("scheme", scheme, Scheme)
    n_null = check_count("n_null", n_null, high=DRAWS)
    table = turned(responses, of, "responses")
    design = make_design(table, empty_cells=empty_cells, missing=missing)
    name, compute = stack_statistic(statistic)
    k = len(design.counts.labels)
    n_trades = check_count("trades", TRADES_PER_MODEL * k if trades is None else trades)
    generator = check_generator(rng)
    task = partial(_permuted_block, design=design, scheme=scheme, trades=n_trades, compute=compute)
    draws = replicate(
        task, n_null, rng=generator, n_jobs=n_jobs, progress=progress, label=f"{scheme} null"
    )
    mixing = _mixing(design, n_trades, compute, generator) if scheme == "both_margins" else None
    return Null.compare(
        compute(*design.observed())[0],
        draws,
        scheme=scheme,
        statistic=name,
        alternative=alternative,
        mixing=mixing,
    )


def _permuted_block(
    seeds: WordArray, *, design: Design, scheme: str, trades: int, compute: StackStatistic
) -> FloatArray:
    """Return the statistics of the replicates with the given seeds."""
    matrices, thresholds = draw_permuted(
        seeds,
        SCHEMES[scheme],
        design.packed,
        design.counts.n,
        trades,
        design.rule,
        design.fixed,
    )
    return compute(matrices, thresholds)


def _mixing(
    design: Design, trades: int, compute: StackStatistic, generator: np.random.Generator
) -> Mixing:
    """Compare the mean statistics of chains after half of the trades and after all trades."""
    stops = np.unique(np.maximum(1, trades * np.array([1, 2, 4, 8]) // 8))
    seeds = replicate_seeds(2 * MIXING_CHAINS, generator)
    changed = np.mean([trade_path(seed, design.packed, stops) for seed in seeds[:10]], axis=0)
    half, full = (
        _permuted_block(s, design=design, scheme="both_margins", trades=t, compute=compute)
        for s, t in ((seeds[:MIXING_CHAINS], max(1, trades // 2)), (seeds[MIXING_CHAINS:], trades))
    )
    error = np.sqrt((half.var(axis=0, ddof=1) + full.var(axis=0, ddof=1)) / MIXING_CHAINS)
    difference = np.abs(half.mean(axis=0) - full.mean(axis=0))
    with np.errstate(invalid="ignore", divide="ignore"):
        z = np.where(error > 1e-12, difference / error, 0.0)
    return Mixing(trades=stops.astype(np.float64), changed=changed, z=float(np.max(z)))
