r"""Item response models by marginal maximum likelihood.

A respondent of ability :math:`\theta \sim N(0, 1)` answers item j with yes with probability

.. math:: P_j(\theta) = g_j + (u_j - g_j)\,F(a_j \theta + d_j).                       \quad (1)

Answers are independent given the ability, which is integrated out. The function F is logistic or
normal. Rasch and 1PL models have one common slope; in the Rasch model this slope is 1, and the SD
of abilities is free. The 2PL has no asymptotes, the 3PL has the lower asymptote g, and the 4PL has
both asymptotes.

Either questions or models can be the items. If questions are the items, slopes show which
questions discriminate. If models are the items, slopes show how strongly each model's answers
depend on the common factor.

References
----------
Bock, R. D., & Aitkin, M. (1981). Marginal maximum likelihood estimation of item parameters:
Application of an EM algorithm. Psychometrika, 46(4), 443-459.
https://doi.org/10.1007/BF02293801
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from os import PathLike
from typing import Any, Literal

import numpy as np

from psychollm._base.checks import check_choice, check_count
from psychollm._base.entry import warn
from psychollm._base.errors import CodeError, LabelError, OptionError, ShapeError, ValidityWarning
from psychollm._base.replicate import progress_bar
from psychollm._base.types import BoolArray, FloatArray, IntArray
from psychollm.data.connected import connected
from psychollm.data.labels import numbered, unit_labels
from psychollm.data.responses import Responses, ResponsesLike, as_responses
from psychollm.estimates.clustered import effective_shares
from psychollm.estimates.reasons import Reason
from psychollm.irt.answers import (
    MISSING,
    Oriented,
    Patterns,
    Respondents,
    answers_to,
    orient,
    patterns_of,
)
from psychollm.irt.climb import MAX_ITERATIONS, Steps, Summit, climb, curvature
from psychollm.irt.dependence import (
    FEWEST,
    MOST,
    alike,
    family_correlations,
    residuals_of,
    weighted,
)
from psychollm.irt.ending import FittedItems, StandardErrors, ending_of, result_of
from psychollm.irt.families import Family, Link, Model
from psychollm.irt.item_population import Kind, estimate_items
from psychollm.irt.likelihood import Problem, grid_for, posteriors
from psychollm.irt.mixed import Mixed
from psychollm.irt.models import (
    ItemModels,
    all_answers,
    all_yes_or_no,
    chosen_priors,
    codes_of,
    family_of_items,
    kind_of,
    models_of_items,
    proper,
)
from psychollm.irt.one_ability import (
    ItemCurves,
    OneAbility,
    covariance_here,
    kinds_of,
    population_of,
    summit_of,
    with_unanswered,
)
from psychollm.irt.priors import NO_PRIORS, ItemPopulation, Priors
from psychollm.irt.result import IRTFit

MANY = 1000  # from this number of items, dense 2PL fits use the algorithm for sparse tables
PASSES, SETTLED = 4, 0.02  # largest number of refits with families, and their tolerance


def fit_irt(
    responses: ResponsesLike,
    *,
    model: ItemModels = "2pl",
    link: Link = "logit",
    respondents: Respondents = "models",
    families: Sequence[Any] | None = None,
    priors: Priors | Literal["auto"] | None = "auto",
    standard_errors: StandardErrors = "observed",
    max_iterations: int = MAX_ITERATIONS,
    n_jobs: int | None = None,
    device: str | None = None,
    checkpoint: str | PathLike[str] | None = None,
    progress: bool = False,
) -> IRTFit:
    """Fit an item response model by marginal maximum likelihood.

    Parameters
    ----------
    responses : Responses, Scan or table of shape (models, questions)
        Binary answers, or codes 0, 1, 2, ... for "graded", "gpcm" and "nominal". Missing answers
        are assumed missing at random. Scans and sparse tables are read in blocks and allow only
        "rasch", "1pl" and "2pl" with the logit link, and standard errors from the observed
        information.
    model : {"rasch", "1pl", "1plg", "2pl", "3pl", "4pl", "graded", "gpcm", "nominal"}
        Item model. "1plg" has a common slope and a guessing parameter per item. "graded", "gpcm"
        (generalized partial credit) and "nominal" are for more than two answer categories; items
        may differ in their number of categories. To use different models for different items, pass
        a sequence of models or a mapping from item labels to models; models with a common slope
        cannot be combined.
    link : {"logit", "probit"}
        Logistic or normal-ogive curves; probit slopes are about 1.7 times smaller. Partial
        credit and nominal models are log-linear and have no probit form.
    respondents : {"models", "questions"}
        Side of the table that has abilities; the other side contains the items.
    families : sequence of labels, one per respondent, optional
        Family of each respondent, for respondents with dependent answers, such as models of one
        vendor. The residual correlation rho of each family is estimated
        (`psychollm.irt.dependence`). With residual correlation rho, each of the m members of a
        family has weight 1 / (1 + (m - 1) rho). The weights apply to estimates, standard errors
        and the scale of abilities. Without families, `summary()` names respondents with correlated
        residuals.
    priors : Priors, "auto" or None
        With "auto" and fewer than 500 answers per item (median), ten or more items get a
        hierarchical prior, which is estimated separately for each item model. With a hierarchical
        prior, estimates are posterior means on the scale on which these respondents' abilities
        have mean 0 and SD 1. Fewer than ten items get weak fixed priors. With 500 answers or more,
        slopes get a wide prior in models with asymptotes. Slopes also get the wide prior if an
        item has fewer than 20 answers outside its most frequent code. Asymptotes always get a
        prior. None means that only the likelihood is maximised. With a prior, items without
        variance or without answers also have estimates, which are marked in `reasons`.
    standard_errors : {"observed", "cross_product", "sandwich"}
        Standard errors from the observed information, from cross products of score vectors, or
        from both (sandwich). Hierarchical priors always use the observed information.
    max_iterations : int
        Maximum number of EM and Newton iterations. A fit that reaches this limit raises a warning,
        and `convergence` reports that the limit was reached.
    n_jobs : int or None
        Number of workers that read a scan or sparse table; -1 uses all processors. The result is
        identical for any number of workers and any backend of ``joblib.parallel_config``.
    device : str, optional
        Device on which torch reads a scan or sparse table, such as "cuda", "cuda:1" or "cpu"
        (needs torch). The default, None, uses compiled kernels on the processor. The optimum does
        not depend on the device, but on a GPU the last bits may vary between runs.
    checkpoint : path, optional
        File that stores the state of a scan's fit after each cycle. If the file exists, the fit
        resumes from it.
    progress : bool
        Whether to show a progress bar (needs tqdm).

    Returns
    -------
    IRTFit
        Item parameters with standard errors, log-likelihood and flags.

    Raises
    ------
    CodeError
        If answers to items of a dichotomous model are not 0 and 1.
    LabelError
        If `model` does not match the items, or `families` has a single label.
    ShapeError
        If there are fewer than two respondents, or no item varies.
    OptionError
        If an option does not exist, or torch does not find the device.
    MissingPackageError
        If `device` is given and torch is not installed.

    Warns
    -----
    ConvergenceWarning
        If the optimisation did not converge, for example for a poorly identified 3PL without
        priors.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> chance = 1 / (1 + np.exp(-(rng.normal(size=(2000, 1)) * [1.5, 1, 1] - [0, 1, -1])))
    >>> fit = fit_irt(rng.random((2000, 3)) < chance)
    >>> fit.slope.shape, fit.convergence.converged
    ((3,), True)
    """
    check_choice("link", link, Link)
    check_choice("standard_errors", standard_errors, StandardErrors)
    table = as_responses(responses, needs="cells")
    most = check_count("max_iterations", max_iterations)

    def by_cells(cells: Responses) -> IRTFit:
        from psychollm.irt.streamed.fit import fit_cells

        return fit_cells(
            cells,
            respondents,
            model=model,
            link=link,
            priors=priors,
            standard_errors=standard_errors,
            most=most,
            n_jobs=n_jobs,
            device=device,
            checkpoint=checkpoint,
            progress=progress,
        )

    if table.is_sparse:
        if families is not None:
            msg = "families= needs a dense table: omit it for a sparse table"
            raise OptionError(msg)
        found = by_cells(table)
        found.convergence.warn(f"the {found.model} fit")
        return found
    for name, value in (("device", device), ("checkpoint", checkpoint)):
        if value is not None:
            msg = (
                f"{name}={value!r} is for scans and sparse tables: use responses.sparse(), or None"
            )
            raise OptionError(msg)
    answers = orient(table, respondents)
    models = models_of_items(model, answers.items)
    _check_answers(table, answers, models, link)

    def chosen(share: float) -> Priors | ItemPopulation:
        sizes = share * answers.per_item, answers.n_categories, share * answers.rarest
        return chosen_priors(priors, models, link, *sizes)

    def fitted(weights: FloatArray | None, start: IRTFit | None) -> IRTFit:
        used = chosen(1.0 if weights is None else float(weights.mean()))
        if isinstance(used, ItemPopulation) and standard_errors != "observed":
            msg = (
                f"standard_errors={standard_errors!r} needs a likelihood, but priors='auto' "
                "is hierarchical here: use 'observed', or priors=None"
            )
            raise OptionError(msg)
        bar = progress_bar(show=progress, total=most, label="steps of the fit")
        with closing(bar):
            return fit_answers(
                answers,
                models,
                link,
                priors=used,
                standard_errors=standard_errors,
                start=start,
                steps=Steps(most, bar),
                weights=weights,
            )

    if families is None:
        # Fits of sparse tables adapt the nodes to each respondent; with many items, a common grid
        # would require far more nodes.
        usual = (model, link, standard_errors) == ("2pl", "logit", "observed")
        narrow = usual and len(answers.items) >= MANY and isinstance(chosen(1.0), ItemPopulation)
        found = by_cells(table.sparse()) if narrow else fitted(None, None)
        if len(answers.respondents) <= MOST and found.fitted.sum() >= FEWEST:
            residuals = residuals_of(found, answers.codes, _expected(found, answers.codes))
            found = replace(found, alike=alike(residuals, answers.respondents))
    else:
        if standard_errors != "observed":
            msg = f"standard_errors={standard_errors!r} does not support families=: use 'observed'"
            raise OptionError(msg)
        found = _with_families(answers, families, fitted)
    found.convergence.warn(f"the {found.model} fit")
    return found


def _with_families(
    answers: Oriented,
    families: Sequence[Any],
    fitted: Callable[[FloatArray | None, IRTFit | None], IRTFit],
) -> IRTFit:
    """Fit with respondents weighted by family correlations, until the correlations converge."""
    kind = answers.reading[:-1]
    given = unit_labels(families, answers.respondents, argument="families", kind=kind)
    member, names = numbered(given)
    if len(names) < 2:
        msg = f"families has only one label ({names[0]!r}): at least two are needed"
        raise LabelError(msg)
    correlation, many = np.full(len(names), 0.5), np.bincount(member) > 1
    weights = effective_shares(member, correlation)
    found = fitted(weights, None)
    for _ in range(PASSES):
        residuals = residuals_of(found, answers.codes, _expected(found, answers.codes))
        change = family_correlations(found, residuals, member, weights) - correlation
        if np.abs(change[many]).max(initial=0.0) <= SETTLED:
            break
        correlation = correlation + change
        weights = effective_shares(member, correlation)
        found = fitted(weights, found)
    return replace(
        found,
        families=names,
        family_correlation=np.where(many, correlation, np.nan),
        respondent_weight=weights,
    )


def _expected(fit: IRTFit, codes: IntArray) -> FloatArray:
    """Return posterior means of the fitted respondents' abilities (N,)."""
    patterns = patterns_of(codes[:, fit.fitted], fit.n_categories)
    parameters, family = np.nan_to_num(fit.parameters[fit.fitted]), fit.family
    problem = Problem(family, patterns, *family.prior_arrays(NO_PRIORS))
    grid = grid_for(family, parameters)
    means = [own @ grid.nodes for _, own, _ in posteriors(problem, parameters, grid)]
    return np.concatenate(means)[patterns.of_respondent]


def fit_answers(
    answers: Oriented,
    models: Sequence[Model],
    link: Link,
    *,
    priors: Priors | ItemPopulation,
    standard_errors: StandardErrors | None = "observed",
    start: IRTFit | None = None,
    steps: Steps | None = None,
    weights: FloatArray | None = None,
) -> IRTFit:
    """Fit each item's model to oriented answers, optionally starting from a previous fit."""
    # If `standard_errors` is None, the final curvature is not computed.
    reasons = answers.reasons()
    keep = np.array([not reason for reason in reasons])
    if keep.any() and proper(priors, models):
        keep |= np.array([reason is Reason.CONSTANT_ITEM for reason in reasons])
    population = isinstance(priors, ItemPopulation)
    family, has_answer = _family(answers, models, link, keep, reasons, population=population)
    codes = answers.codes if keep.all() else answers.codes[:, keep]
    patterns = weighted(patterns_of(codes, has_answer.shape[1]), weights)
    items = FittedItems(answers, has_answer, tuple(models), keep, reasons)
    if isinstance(priors, ItemPopulation):
        kept = [model for model, own in zip(models, keep, strict=True) if own]
        kinds, begin = kinds_and_start(family, kept, has_answer[keep], patterns, priors)
        if start is not None and not isinstance(family, Mixed):
            _take_over(begin, start, has_answer, keep)
        one = OneAbility(family, (patterns,), np.zeros(1), np.ones(1))
        settled = estimate_items(kinds, one, begin, steps)
        problem = Problem(family, patterns, *family.prior_arrays(NO_PRIORS))
        summit = summit_of(problem, settled)
        covariance = np.full(settled.covariance.shape, np.nan)
        if standard_errors:
            covariance = covariance_here(settled)
        fit = result_of(
            ending_of(problem, summit), covariance, items, population_of(settled), standard_errors
        )
        return replace(with_unanswered(fit, settled), gradient=settled.change)
    begin = start_of(family, patterns, has_answer[keep])
    if start is not None:
        _take_over(begin, start, has_answer, keep)
    problem = Problem(family, patterns, *family.prior_arrays(priors))
    summit = climb(problem, begin, steps)
    covariance = _covariance(problem, summit, standard_errors)
    return result_of(ending_of(problem, summit), covariance, items, priors, standard_errors)


def kinds_and_start(
    family: Family,
    models: Sequence[Model],
    has_answer: BoolArray,
    patterns: Patterns,
    priors: ItemPopulation,
) -> tuple[list[Kind[ItemCurves]], FloatArray]:
    """Return the kinds of items, and starting values (J, p) of items with all answers."""
    everything = all_answers(models, has_answer)
    whole = family_of_items(models, family.link, codes_of(everything), patterns.n_categories)
    begin = start_of(whole, patterns, everything)
    return kinds_of(family, whole, patterns.n_items, priors), begin


def _take_over(begin: FloatArray, start: IRTFit, has_answer: BoolArray, keep: BoolArray) -> None:
    """Take starting values from a previous fit for items with the same answer categories."""
    if start.parameters.shape[1] == begin.shape[1] and start.has_answer.shape == has_answer.shape:
        same = (start.has_answer == has_answer).all(axis=1) & start.estimated
        begin[same[keep]] = np.nan_to_num(start.parameters[same & keep])


def _family(
    answers: Oriented,
    models: Sequence[Model],
    link: Link,
    keep: BoolArray,
    reasons: tuple[Reason, ...],
    *,
    population: bool,
) -> tuple[Family, BoolArray]:
    """Return the family of the items in `keep`, and a mask of the categories of all items."""
    given = answers.given
    if given.shape[1] < 2:
        given = np.column_stack([given, np.zeros(len(given), dtype=np.bool_)])
    if population:  # items without variance are given the answer categories of other items
        few = [reason in (Reason.CONSTANT_ITEM, Reason.UNANSWERED) for reason in reasons]
        given[few] = all_answers(models, given)[few]
    yes_or_no = np.array([kind_of(model).yes_or_no for model in models])
    given[yes_or_no, :2] = True
    kept = [model for model, kept in zip(models, keep, strict=True) if kept]
    return family_of_items(kept, link, codes_of(given[keep]), given.shape[1]), given


def _check_answers(
    table: Responses, answers: Oriented, models: Sequence[Model], link: Link
) -> None:
    """Raise an error for unsuitable answers or links, or for a single respondent."""
    if len(answers.respondents) < 2:
        msg = (
            f"responses: respondents={answers.reading!r} leaves one respondent: a distribution of "
            "abilities needs at least two"
        )
        raise ShapeError(msg)
    without = sorted(model for model in set(models) if link not in kind_of(model).links)
    if without:
        msg = f"link={link!r} does not exist for model={without[0]!r}, which is log-linear: "
        raise OptionError(msg + "use 'logit'")
    given, varies = answers.codes >= 0, answers.given.sum(axis=1) > 1
    # Items without variance do not connect respondents.
    sets = int(connected(given[given[:, varies].any(axis=1)]).max(initial=0)) + 1
    if sets > 1:
        msg = (
            f"respondents fall into {sets} sets without a common question: abilities of different "
            "sets are not on one scale, and their differences depend on the prior"
        )
        warn(msg, ValidityWarning)
    if all_yes_or_no(models):
        as_responses(table, binary=True)
    yes_or_no = np.array([kind_of(model).yes_or_no for model in models])
    for j in np.flatnonzero(yes_or_no & (answers.codes.max(axis=0) > 1)).tolist():
        msg = (
            f"responses: {answers.items[j]!r} has code {answers.codes[:, j].max()}, but "
            f"model={models[j]!r} is for answers 0 and 1: use 'graded', 'gpcm' or 'nominal'"
        )
        raise CodeError(msg)


def start_of(family: Family, patterns: Patterns, has_answer: BoolArray) -> FloatArray:
    """Return starting values from proportions of answers and signs of item-rest covariances."""
    answered, answers = patterns.codes >= 0, range(patterns.n_categories)
    weight = patterns.frequency @ answered
    counts = np.stack([patterns.frequency @ (patterns.codes == c) for c in answers], axis=1)
    shares = (counts + 1.0 / has_answer.sum(axis=1, keepdims=True)) / (weight[:, None] + 1.0)
    shares *= has_answer
    centred = np.where(answered, patterns.codes - shares @ np.arange(len(answers)), 0.0)
    rest = centred.sum(axis=1)
    weighted = centred * patterns.frequency[:, None]
    shared = weighted.T @ rest - np.einsum("uj,uj->j", weighted, centred)
    signs = np.where((shared >= 0.0) | family.tied, 1.0, -1.0)
    return family.start(shares, signs)


def _covariance(problem: Problem, summit: Summit, kind: StandardErrors | None) -> FloatArray:
    """Return covariance blocks (J, p, p); NaN where the information is singular."""
    items, p = summit.point.parameters.shape
    matrix = curvature(problem, summit.point, summit.grid) if kind else None
    if kind is None or matrix is None:
        return np.full((items, p, p), np.nan)
    blocks = matrix.covariance(kind).copy()
    held = summit.point.frozen
    blocks[np.repeat(held[:, :, None], p, axis=2) | np.repeat(held[:, None], p, axis=1)] = np.nan
    return blocks


def codes_for(fit: IRTFit, responses: ResponsesLike, items: BoolArray | None = None) -> IntArray:
    """Return the codes (respondents, fitted items) of a table oriented as in the fit."""
    # `items` (J,) selects items other than the fitted ones.
    answers = answers_to(responses, fit.labels, fit.respondents)
    items = fit.fitted if items is None else items
    codes = np.asarray(answers.codes[:, items], dtype=np.int64)
    known = fit.has_answer[items]
    place = np.clip(codes, 0, known.shape[1] - 1)
    strange = (codes != MISSING) & ~(known[np.arange(len(known)), place] & (place == codes))
    if strange.any():
        row, j = np.argwhere(strange)[0]
        label = [name for name, kept in zip(fit.labels, items, strict=True) if kept][j]
        msg = (
            f"responses hold code {codes[row, j]} for {label!r}, but the fit has only "
            f"{', '.join(map(str, np.flatnonzero(known[j])))}: set that answer to "
            "missing, "
            "or refit with it"
        )
        raise CodeError(msg)
    return codes
