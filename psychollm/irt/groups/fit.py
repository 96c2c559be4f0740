r"""`fit_irt_groups`: a joint item response model of several groups with different abilities.

Items are equal in all groups, except for items in `free`, so that all abilities are on the scale
of the first group. The difference between a group's answers and the curves P is averaged over the
distribution f of its abilities (OECD, 2017; Buchholz & Hartig, 2019). With :math:`\tilde
P(\theta)` the expected proportion of yes answers among respondents whose posterior ability is
:math:`\theta`,

.. math:: \mathrm{RMSD} = \Big(\int (\tilde P - P)^2 f \, d\theta\Big)^{1/2}, \qquad
          \mathrm{MD} = \int (\tilde P - P) f \, d\theta .                               \quad (1)

With more than two answer categories, P is the expected score divided by the highest score. RMSD is
never negative, and with few respondents it is large even without misfit. Without misfit, the RMSD
of n respondents is about the square root of :math:`P (1 - P) / n`, times a number below one.
Educational assessments flag items with RMSD above 0.10 to 0.15.

References
----------
OECD (2017). PISA 2015 technical report (ch. 9). OECD Publishing.

Buchholz, J., & Hartig, J. (2019). Comparing attitudes across groups: An IRT-based item-fit
statistic for the analysis of measurement invariance. Applied Psychological Measurement, 43(3),
241-250. https://doi.org/10.1177/0146621617748323
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any, Literal, cast

import numpy as np

from psychollm._base.checks import check_count
from psychollm._base.errors import CodeError, ShapeError
from psychollm._base.replicate import progress_bar
from psychollm._base.types import BoolArray, FloatArray
from psychollm.data.labels import listed
from psychollm.data.responses import ResponsesLike
from psychollm.estimates.reasons import Reason
from psychollm.irt.answers import Respondents, patterns_of, spread
from psychollm.irt.climb import MAX_ITERATIONS, Steps
from psychollm.irt.families import Link
from psychollm.irt.fit import kinds_and_start
from psychollm.irt.groups.population import Groups, Top, height, information, maximise
from psychollm.irt.groups.reading import GroupAnswers, check_linked, read_groups
from psychollm.irt.groups.result import GroupIRTFit
from psychollm.irt.item_population import estimate_items
from psychollm.irt.likelihood import posteriors
from psychollm.irt.models import ItemModels
from psychollm.irt.one_ability import (
    OneAbility,
    SettledItems,
    averaged_problem,
    covariance_here,
    population_of,
)
from psychollm.irt.priors import ItemPopulation, Priors


def fit_irt_groups(
    responses: ResponsesLike,
    groups: Sequence[Any],
    *,
    model: ItemModels = "2pl",
    link: Link = "logit",
    respondents: Respondents = "models",
    free: Sequence[Hashable] = (),
    priors: Priors | Literal["auto"] | None = "auto",
    max_iterations: int = MAX_ITERATIONS,
    progress: bool = False,
) -> GroupIRTFit:
    """Fit an item response model jointly to several groups of respondents.

    Parameters
    ----------
    responses : Responses or table of shape (models, questions)
        Binary answers, or codes 0, 1, 2, ... for models with more than two answer categories;
        missing answers are assumed missing at random. An item may be unanswered in some groups.
    groups : sequence of labels, one per respondent
        Group of each respondent. The first group that occurs is the reference, with N(0, 1)
        abilities; the other groups have their own means and SDs.
    model : {"rasch", "1pl", "1plg", "2pl", "3pl", "4pl", "graded", "gpcm", "nominal"}
        Item model. "1plg" has a common slope and a guessing parameter per item. "graded", "gpcm"
        (generalized partial credit) and "nominal" are for more than two answer categories; items
        may differ in their number of categories. To use different models for different items, pass
        a sequence of models or a mapping from item labels to models; models with a common slope
        cannot be combined.
    link : {"logit", "probit"}
        Logistic or normal-ogive curves; probit slopes are about 1.7 times smaller. Partial credit
        and nominal models are log-linear and have no probit form.
    respondents : {"models", "questions"}
        Side of the table that has abilities; the other side contains the items.
    free : sequence of labels
        Items with their own parameters in every group; all other items anchor the scale.
    priors : Priors, "auto" or None
        With "auto" and fewer than 500 answers per item (median), ten or more items get a
        hierarchical prior. With a hierarchical prior, the first group's respondents define the
        scale. Fewer than ten items get weak fixed priors. With 500 answers or more, only
        asymptotes and weakly identified slopes get a prior. None means that only the likelihood is
        maximised.
    max_iterations : int
        Maximum number of EM and Newton iterations.
    progress : bool
        Whether to show a progress bar (needs tqdm).

    Returns
    -------
    GroupIRTFit
        Items, abilities of the groups, and deviations of each group from the common curves.

    Raises
    ------
    LabelError, ShapeError, CodeError, OptionError
        If groups, items or options do not match the table, or no item links a group to the first.
        A `CodeError` is raised if an answer to an item in `free` does not occur in a group.

    Warns
    -----
    ConvergenceWarning
        If the optimisation did not converge.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> group = np.repeat(["a", "b"], 1000)
    >>> ability = rng.normal(size=2000) + 0.5 * (group == "b")
    >>> z = 1.2 * ability[:, None] - np.linspace(-1, 1, 8)
    >>> fit = fit_irt_groups(rng.random(z.shape) < 1 / (1 + np.exp(-z)), group)
    >>> fit.ability_mean.round(1)
    array([0. , 0.6])
    """
    answers = read_groups(
        responses,
        groups,
        model=model,
        link=link,
        respondents=respondents,
        priors=priors,
        population=True,
    )
    apart = answers.chosen(free, "free")
    check_free(answers, apart)
    problem = answers.model(apart)
    most = check_count("max_iterations", max_iterations)
    bar = progress_bar(show=progress, total=most, label="steps of the fit")
    with closing(bar):
        if isinstance(answers.pooled.priors, ItemPopulation):
            fit = _with_population(answers, problem, apart, Steps(most, bar))
        else:
            top = maximise(problem, answers.start(problem.places), Steps(most, bar))
            covariance = inverse_information(information(problem, top.at, top.grids))
            place = problem.places.items
            fit = _result(
                answers,
                problem,
                top,
                apart,
                covariance[place[..., :, None], place[..., None, :]],
                _abilities(
                    problem, top.at.x, covariance, unit_slope=answers.pooled.family.unit_slope
                ),
            )
    fit.convergence.warn(f"the {fit.model} fit of {len(answers.names)} groups")
    return fit


def check_free(answers: GroupAnswers, free: BoolArray) -> None:
    """Raise an error for free items without estimates in a group, or groups without anchors."""
    for g, j in np.argwhere(answers.short(1) & free):
        msg = (
            f"free: {answers.items[j]!r} lacks an answer in group {answers.names[g]!r}, "
            "so "
            "its parameters there are undefined: merge answers, or do not free it"
        )
        raise CodeError(msg)
    if free.all():
        msg = f"free names all items ({listed(answers.items)}): at least one must be common"
        raise ShapeError(msg)
    check_linked(answers, free, "share no item outside `free`")


def _with_population(
    answers: GroupAnswers, problem: Groups, free: BoolArray, steps: Steps
) -> GroupIRTFit:
    """Fit groups jointly with the distribution of their items."""
    pooled, places = answers.pooled, problem.places
    items, column, patterns = answers.with_own_items(places)
    family = problem.problems[0].family.select(items)
    everyone = patterns_of(
        np.concatenate([one.codes[one.of_respondent] for one in patterns]), pooled.n_categories
    )
    models = [pooled.item_models[j] for j in np.flatnonzero(answers.kept)[items]]
    has_answer = pooled.has_answer[answers.kept][items]
    priors = cast("ItemPopulation", pooled.priors)
    kinds, start = kinds_and_start(family, models, has_answer, everyone, priors)
    groups = len(patterns)
    abilities = OneAbility(family, patterns, np.zeros(groups), np.ones(groups))
    settled = estimate_items(kinds, abilities, start, steps)
    x = np.empty(places.size)
    x[places.items] = settled.parameters[column]
    others = groups - 1
    x[places.n_items :][:others] = settled.abilities.means[1:]
    x[places.n_items + others :] = np.log(settled.abilities.sds[1:])
    grids = problem.grids(x)
    top = Top(height(problem, x, grids), grids, settled.convergence)
    covariance = covariance_here(settled)
    found = _result(
        answers, problem, top, free, covariance[column], _of_populations(settled, covariance)
    )
    return replace(found, gradient=settled.change, priors=population_of(settled))


def _of_populations(settled: SettledItems, covariance: FloatArray) -> dict[str, FloatArray]:
    """Return means and SDs of abilities, with standard errors that include sampling error."""
    # If abilities have SD s and standard errors e, the information about their mean is sum 1 /
    # (s^2 + e^2), and the information about log s is 2 sum (s^2 / (s^2 + e^2))^2.
    abilities, parameters = settled.abilities, settled.parameters
    family = abilities.family
    mean_variance, log_variance = np.zeros((2, len(abilities.patterns)))
    for g, (patterns, grid) in enumerate(
        zip(abilities.patterns, abilities.grids(parameters), strict=True)
    ):
        problem = averaged_problem(family, parameters[None], patterns)
        scale, shares = abilities.sds[g] ** 2, np.empty(patterns.frequency.size)
        for block, posterior, _ in posteriors(problem, parameters, grid):
            mean = posterior @ grid.nodes
            variance = posterior @ grid.nodes**2 - mean**2
            shares[block] = np.clip(1.0 - variance / scale, 1e-3, 1.0)  # s^2 / (s^2 + e^2)
        n = patterns.n_respondents
        mean_variance[g] = scale / (patterns.frequency @ shares) * n / (n - 1.0)
        log_variance[g] = 0.5 / (patterns.frequency @ shares**2)
    means, sds, unit = abilities.means, abilities.sds, 1.0
    se_mean = np.sqrt(mean_variance + mean_variance[0] + means**2 * log_variance[0])
    se_sd = sds * np.sqrt(log_variance + log_variance[0])
    se_mean[0] = se_sd[0] = np.nan
    if family.unit_slope:
        unit = float(parameters[0, 0])
        se_mean = np.sqrt(mean_variance + mean_variance[0])
        se_sd = sds * np.sqrt(log_variance + covariance[0, 0, 0] / unit**2)
        se_mean[0] = np.nan
    return {
        "ability_mean": unit * means,
        "se_ability_mean": unit * se_mean,
        "ability_sd": unit * sds,
        "se_ability_sd": unit * se_sd,
    }


def _result(
    answers: GroupAnswers,
    problem: Groups,
    top: Top,
    free: BoolArray,
    blocks: FloatArray,
    abilities: dict[str, FloatArray],
) -> GroupIRTFit:
    """Return the result for all items, given covariances by group (G, J, p, p)."""
    pooled, x = answers.pooled, top.at.x
    fields = [_columns(problem, x, blocks[g], g, answers.kept) for g in range(len(answers.names))]
    n, size = float(answers.sizes.sum()), problem.n_parameters
    estimated = isinstance(pooled.priors, ItemPopulation)
    gone = Reason.UNANSWERED if estimated else Reason.CONSTANT_ITEM
    return GroupIRTFit(
        **{name: np.stack([columns[name] for columns in fields]) for name in fields[0]},
        **abilities,
        **_residuals(problem, top, answers),
        model=pooled.model,
        item_models=pooled.item_models,
        link=pooled.link,
        respondents=pooled.respondents,
        groups=answers.names,
        n_respondents=answers.sizes,
        free=tuple(label for label, own in zip(answers.items, free, strict=True) if own),
        log_likelihood=top.at.log_likelihood,
        aic=2.0 * size - 2.0 * top.at.log_likelihood,
        bic=float(np.log(n)) * size - 2.0 * top.at.log_likelihood,
        n_parameters=size,
        gradient=top.at.steepness,
        priors=pooled.priors,
        reasons=tuple(
            gone if reason is Reason.PRIOR_ALONE and not kept else reason
            for reason, kept in zip(pooled.reasons, answers.kept.tolist(), strict=True)
        ),
        labels=pooled.labels,
        parameters=np.stack(
            [
                spread(np.where(problem.absent, np.nan, beta), answers.kept)
                for beta in problem.scaled(x)
            ]
        ),
        has_answer=pooled.has_answer,
        respondent_labels=answers.respondents,
        group_of=answers.member,
        convergence=top.convergence,
    )


def inverse_information(information: FloatArray) -> FloatArray:
    """Return the covariance matrix of the parameters; NaN if undefined."""
    try:
        root = np.linalg.cholesky(information)
    except np.linalg.LinAlgError:
        return np.full(information.shape, np.nan)
    half = np.linalg.solve(root, np.eye(len(root)))
    return np.asarray(half.T @ half, dtype=np.float64)


def _columns(
    problem: Groups, x: FloatArray, blocks: FloatArray, group: int, kept: BoolArray
) -> dict[str, FloatArray]:
    """Return the estimates of one group for all items, by name of the attribute."""
    place = problem.places.items[group]
    family = problem.problems[group].family
    columns = family.columns(x[place], blocks, np.zeros(place.shape, dtype=np.bool_))
    return {name: spread(values, kept) for name, values in columns.items()}


def _abilities(
    problem: Groups, x: FloatArray, covariance: FloatArray, *, unit_slope: bool
) -> dict[str, FloatArray]:
    """Return means, SDs and standard errors of abilities, with slope 1 for the Rasch model."""
    others, start = len(problem.problems) - 1, problem.places.n_items
    _, means, sds = problem.unpack(x)
    jacobian = np.zeros((2, others + 1, x.size))
    for g in range(1, others + 1):
        jacobian[0, g, start + g - 1] = 1.0
        jacobian[1, g, start + others + g - 1] = sds[g]
    if unit_slope:
        slope = x[0]
        jacobian *= slope
        jacobian[0, :, 0] += means
        jacobian[1, :, 0] += sds
        means, sds = slope * means, slope * sds
    variances = np.einsum("kgq,qr,kgr->kg", jacobian, covariance, jacobian)
    errors = np.sqrt(np.maximum(variances, 0.0))
    errors[np.abs(jacobian).sum(axis=2) == 0.0] = np.nan
    return {
        "ability_mean": means,
        "se_ability_mean": errors[0],
        "ability_sd": sds,
        "se_ability_sd": errors[1],
    }


def _residuals(problem: Groups, top: Top, answers: GroupAnswers) -> dict[str, FloatArray]:
    """Return RMSD and MD, equation (1), of all items and groups."""
    rmsd, md = [], []
    kept, score = answers.kept, answers.shares
    for own, piece, grid in zip(problem.problems, top.at.pieces, top.grids, strict=True):
        curve = np.exp(own.family.log_probabilities(piece.beta, grid.nodes))
        mass = piece.state.counts.sum(axis=1)  # (J, Q)
        with np.errstate(divide="ignore", invalid="ignore"):
            seen = np.einsum("jcq,jc->jq", piece.state.counts, score) / mass
            weight = mass / mass.sum(axis=1, keepdims=True)
        gap = np.where(mass > 0.0, seen - np.einsum("jcq,jc->jq", curve, score), 0.0)
        rmsd.append(spread(np.sqrt(np.sum(weight * gap**2, axis=1)), kept))
        md.append(spread(np.sum(weight * gap, axis=1), kept))
    return {"rmsd": np.stack(rmsd), "md": np.stack(md)}
