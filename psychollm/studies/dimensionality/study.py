"""Test whether models share one factor, several or none, with `dimensionality`.

Near copies are models that agree more than the common factor predicts; such models are often
related.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import partial
from typing import Literal, TypedDict

import numpy as np
from scipy.special import ndtri

from psychollm._base.checks import (
    DRAWS,
    check_choice,
    check_count,
    check_fraction,
    check_generator,
)
from psychollm._base.entry import warn
from psychollm._base.errors import ShapeError, SparseError, ValidityWarning
from psychollm._base.replicate import replicate
from psychollm._base.types import Axis, EmptyCells, FloatArray, Missing, RandomState, WordArray
from psychollm.correlation.tetrachoric import tetrachoric
from psychollm.data.correlated import check_axis, check_factor_axis
from psychollm.data.pair_counts import CountedAnswers, PairCounts, writable_counts
from psychollm.data.responses import ResponsesLike, as_responses, turned
from psychollm.estimates.null import Null
from psychollm.factor.congruence import tucker
from psychollm.factor.number_of_factors.parallel import leading
from psychollm.factor.one_factor.full_information import full_information
from psychollm.factor.one_factor.pairwise_likelihood import kernel_counts, pairwise_likelihood
from psychollm.factor.one_factor.residuals import (
    LEAST_MODELS,
    MAX_STEPS,
    TOLERANCE,
    pair_residuals,
    residual_test,
    second_share_test,
)
from psychollm.kernels.null_matrices import draw_one_factor
from psychollm.kernels.one_factor import margin_thresholds
from psychollm.kernels.pairwise_likelihood import fit_pairwise, residuals, start_loadings
from psychollm.nulls.design import (
    Design,
    component_loadings,
    eigenvalues,
    make_design,
    quadratic_fit,
    quadratic_r2,
)
from psychollm.nulls.permutation import permutation_null
from psychollm.studies.dimensionality.lapse_tests import WithLapses, with_lapses
from psychollm.studies.dimensionality.result import Dimensionality, PlainSpectrum

TRIMS = 10
STANDING_OUT = 2.0  # minimum ratio of a group's mean residual to the largest other residual


def near_copies(counts: PairCounts, alpha: float) -> tuple[tuple[Hashable, ...], ...]:
    """Return groups of models in which each pair agrees more than the common factor predicts."""
    # Models that are nearly copies of one another bias the factor towards themselves. Therefore
    # pairs that agree too much are excluded, and the factor is refitted to the other pairs until
    # the excluded pairs no longer change.
    cells, tau, rate = kernel_counts(counts)
    k = len(tau)
    pairs = np.isfinite(tau) & np.tri(k, k=-1, dtype=np.bool_)
    highest = float(ndtri(1.0 - 0.5 * alpha / max(pairs.sum(), 1)))
    above, z, loadings = np.zeros((k, k), dtype=np.bool_), np.empty((k, k)), np.empty(k)
    for _ in range(TRIMS):
        kept = np.where(above, np.nan, tau)
        start_loadings(cells, kept, loadings)
        fit_pairwise(cells, kept, rate, loadings, TOLERANCE, MAX_STEPS)
        residuals(cells, tau, rate, loadings[:, None], z)
        before, above = above, z > highest
        if (above == before).all() or np.tril(above).sum() > 0.5 * pairs.sum():
            break
    groups, left = [], set(range(k))
    for first, second in np.argwhere(np.tril(above))[np.argsort(-z[np.tril(above)])]:
        if not {int(first), int(second)} <= left:
            continue
        group = [int(first), int(second)]
        for other in sorted(left - set(group), key=lambda m: -float(z[m, group].min())):
            if above[other, group].all():
                group.append(other)
        left -= set(group)
        groups.append(group)
    outside = np.tril(np.abs(z), -1)
    for group in groups:
        outside[np.ix_(group, group)] = 0.0
    # A second factor of many models produces many large residuals, but near copies are outliers.
    named = []
    for group in groups:
        mean = float(z[np.ix_(group, group)].sum() / (len(group) ** 2 - len(group)))
        if 2 * len(group) < k and mean > STANDING_OUT * outside.max():
            named.append(tuple(counts.labels[m] for m in sorted(group)))
    return tuple(named)


SHARE_REPLICATES = 99


class _Work(TypedDict):
    """Options for running replicates."""

    rng: np.random.Generator
    n_jobs: int | None
    progress: bool


def dimensionality(
    responses: ResponsesLike,
    *,
    of: Axis = "models",
    empty_cells: EmptyCells = "keep_margins",
    missing: Missing = "pairwise",
    n_null: int = 499,
    alpha: float = 0.05,
    rng: RandomState = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> Dimensionality:
    """Test whether models share one factor, several or none, and identify artefacts.

    Every continuity correction biases the spectrum of a tetrachoric matrix: extreme yes rates
    alone produce a second component and a quadratic decline of loadings. The spectrum is therefore
    compared with its distribution under independence and under one factor. The verdict is based on
    `residual_test`, which uses pair counts and needs no correction. If `residual_test` rejects one
    normal factor, one factor with lapses or guesses is fitted, tested, and compared with two
    factors by their likelihood. In pair counts, the effect of a lapse rate of even half a percent
    resembles a second factor. If the likelihood does not distinguish lapses from a second factor,
    the verdict is inconclusive. The documentation tabulates false-positive rates and power, with
    and without lapses and guesses.

    Parameters
    ----------
    responses : Responses or table of shape (models, questions)
        Binary answers of at least four models with varying answers.
    of : {"models", "questions"}
        Whether to count the factors of the models (rows; questions are the sampling units) or the
        factors of the questions (columns; models are the sampling units).
    empty_cells, missing : str
        Treatment of empty cells and of missing answers in the eigenvalues of `spectrum` (see
        `tetrachoric`). `empty_cells` and `missing` do not affect the verdict on the number of
        factors.
    n_null : int
        Number of replicates of each null distribution. With 499 replicates, a p-value of .05 has a
        Monte Carlo error of .01.
    alpha : float
        Significance level of the tests.
    rng : Generator, int or None
        Seed of all replicates.
    n_jobs : int or None
        Number of workers; it does not affect the result.
    progress : bool
        Whether to show progress bars (needs tqdm).

    Raises
    ------
    ShapeError
        If answers of fewer than four models vary, or if ``of="models"`` and there are at least ten
        times as many models as questions.
    CodeError
        If answers are not binary, or two models have no common questions on which both vary.

    Warns
    -----
    ValidityWarning
        If models with constant answers were excluded.

    Examples
    --------
    >>> import psychollm as psy
    >>> answers = psy.load_example("shared_confidence").confidence
    >>> result = psy.dimensionality(answers, of="models", n_null=99, rng=1)
    >>> result.n_factors
    1
    """
    check_choice("empty_cells", empty_cells, EmptyCells)
    check_choice("missing", missing, Missing)
    n_null = check_count("n_null", n_null, high=DRAWS)
    check_fraction("alpha", alpha)
    # Convert and count the answers once; later functions accept the converted table.
    if not isinstance(responses, CountedAnswers):
        table = as_responses(responses, binary=True, needs="cells")
        if table.is_sparse:
            msg = (
                "responses: dimensionality needs a dense table: use shared_signals(responses) for "
                "a sparse one or a scan, or responses.dense()"
            )
            raise SparseError(msg)
        check_factor_axis(table, of, "responses")
        check_axis(table, of, "responses")
        responses = turned(table, of, "responses")
    answers, excluded = _usable(CountedAnswers.of(responses), of)
    work: _Work = {"rng": check_generator(rng), "n_jobs": n_jobs, "progress": progress}
    design = make_design(answers, empty_cells=empty_cells, missing=missing)
    none = residual_test(answers, factors=0, n_null=n_null, **work)
    one = residual_test(answers, factors=1, n_null=n_null, **work)
    share = second_share_test(answers, n_null=min(n_null, SHARE_REPLICATES), **work)
    plain = _plain_spectrum(
        design, one.loadings, n_null=n_null, empty_cells=empty_cells, missing=missing, **work
    )
    pairwise = pairwise_likelihood(answers)
    full = full_information(answers, start=pairwise, progress=progress)
    lapses = None
    if none.p_value <= alpha and one.p_value <= alpha:
        lapses = with_lapses(
            answers,
            without=full.log_likelihood,
            n_null=n_null,
            n_shares=min(n_null, SHARE_REPLICATES),
            level=1.0 - alpha,
            rng=work["rng"],
            progress=progress,
        )
    count = n_factors(none.p_value, lapses, alpha)
    residuals = pair_residuals(answers.counts, loadings=full.loadings)
    if lapses is not None and lapses.evident:
        fit = lapses.fit
        residuals = pair_residuals(
            answers.counts, loadings=fit.loadings, lower=fit.lower, upper=fit.upper
        )
    return Dimensionality(
        n_factors=count,
        shared_test=none,
        one_factor_test=one,
        second_share=share,
        with_lapses=lapses,
        spectrum=plain,
        factors_by_rule=count_factors(plain.permutation, plain.one_factor, tested=count),
        pairwise=pairwise,
        full_information=full,
        residuals=residuals,
        near_copies=near_copies(answers.counts, alpha)
        if lapses is not None and (lapses.test.p_value <= alpha or count == 2)
        else (),
        excluded=excluded,
        alpha=alpha,
        labels=answers.table.models,
        of=of,
    )


def _usable(answers: CountedAnswers, of: Axis) -> tuple[CountedAnswers, Mapping[Hashable, str]]:
    """Exclude models (or questions) with constant answers, and warn about them."""
    table = answers.table
    excluded: dict[Hashable, str] = {}
    for model, rate in zip(table.models, answers.counts.yes_rates, strict=True):
        if np.isnan(rate):
            excluded[model] = "answered nothing" if of == "models" else "has no answers"
        elif rate in (0.0, 1.0):
            said = "said" if of == "models" else "answered"
            excluded[model] = f"always {said} {'yes' if rate == 1.0 else 'no'}"
    kept = [model for model in table.models if model not in excluded]
    if len(kept) < LEAST_MODELS:
        msg = (
            f"dimensionality needs at least {LEAST_MODELS} {of} with varying answers, got "
            f"{len(kept)} of {table.n_models}: one factor fits any table of three {of}"
        )
        raise ShapeError(msg)
    if not excluded:
        return answers, excluded
    named = ", ".join(f"{model!r} ({why})" for model, why in excluded.items())
    warn(f"excluded from dimensionality: {named}", ValidityWarning)
    return CountedAnswers.of_binary(table.select(models=kept)), excluded


def n_factors(p_shared: float, lapses: WithLapses | None, alpha: float) -> Literal[0, 1, 2]:
    """Return the number of factors: 0, 1, or 2 for "at least two"."""
    # The plain spectrum is not used. Lapses are fitted only if one normal factor is rejected.
    if p_shared > alpha:
        return 0
    return 2 if lapses is not None and lapses.second_shown(alpha) else 1


def count_factors(permutation: Null, one_factor: Null, *, tested: int) -> Mapping[str, int]:
    """Return the number of factors by each rule, from null distributions of eigenvalues (k,)."""
    # `tested` is the number of factors according to the residual tests. The one-factor null model
    # reproduces the first eigenvalue by construction, so the count of factors starts at one.
    observed = np.asarray(permutation.observed)
    top = one_factor.quantile(0.95)
    return {
        "rule-free residual test": tested,
        "one-factor null, 95 %": 1 + leading(observed[1:], top[1:]),
        "permutation null, 95 %": leading(observed, permutation.quantile(0.95)),
        "permutation null, mean": leading(observed, permutation.mean),
        "Kaiser (eigenvalue > 1)": int(np.sum(observed > 1.0)),
    }


def _plain_spectrum(
    design: Design,
    loadings: FloatArray,
    *,
    n_null: int,
    empty_cells: EmptyCells,
    missing: Missing,
    rng: RandomState,
    n_jobs: int | None,
    progress: bool,
) -> PlainSpectrum:
    """Compare the spectrum with its distributions under independence and under one factor."""
    correlation = tetrachoric(design.counts, empty_cells=empty_cells, missing=missing)
    permutation = permutation_null(
        design,
        n_null=n_null,
        empty_cells=empty_cells,
        missing=missing,
        rng=rng,
        n_jobs=n_jobs,
        progress=progress,
    )
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
    # The replicates' second loadings have arbitrary signs, so use their main direction, not their
    # mean.
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
    """Return Tucker's congruence of rows (n, k) with a vector (k,), ignoring sign."""
    return np.abs(tucker(loadings.T, direction[:, None])[:, 0])


def _measure(matrices: FloatArray, thresholds: FloatArray) -> FloatArray:
    """Return eigenvalues, R squared and second loadings in one array of shape (m, 2k + 1)."""
    r2 = quadratic_r2(matrices, thresholds)[:, None]
    second = component_loadings(matrices, 1)
    return np.concatenate([eigenvalues(matrices, thresholds), r2, second], axis=1)


def _block(seeds: WordArray, *, design: Design, loadings: FloatArray) -> FloatArray:
    slopes, cuts = np.array(loadings), margin_thresholds(writable_counts(design.counts))
    matrices, thresholds = draw_one_factor(
        seeds, slopes, cuts, design.packed, design.counts.n, design.rule, design.fixed
    )
    return _measure(matrices, thresholds)
