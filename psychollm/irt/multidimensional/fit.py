r"""`fit_multidimensional`: item response models with several abilities.

A respondent of abilities :math:`\theta \sim N(0, \Phi)` answers item j with yes with probability

.. math:: P_j(\theta) = F(a_j^\top \theta + d_j),                                        \quad (1)

where F is logistic or normal. The model is compensatory: one ability can compensate for another.
In the *exploratory* form, all items load on all abilities, :math:`\Phi` is the identity, and
slopes are identified up to a rotation. To fix the rotation, m items get triangular slopes (the
echelon form). Any rotation of factor analysis can be applied afterwards. In the *confirmatory*
form, a table defines which items load on which abilities, and abilities may correlate.

Starting values are principal components of the answers (exploratory) or signs of item-rest
covariances (confirmatory). With fewer respondents than items, neither kind of starting value needs
an item-by-item matrix.

References
----------
Bock, R. D., Gibbons, R., & Muraki, E. (1988). Full-information item factor analysis. Applied
Psychological Measurement, 12(3), 261-280. https://doi.org/10.1177/014662168801200305

Cai, L. (2010). High-dimensional exploratory item factor analysis by a Metropolis-Hastings
Robbins-Monro algorithm. Psychometrika, 75(1), 33-57. https://doi.org/10.1007/s11336-009-9136-x

Reckase, M. D. (2009). Multidimensional item response theory. Springer.
https://doi.org/10.1007/978-0-387-89976-3
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from psychollm._base.checks import check_choice, check_count
from psychollm._base.errors import OptionError
from psychollm._base.replicate import progress_bar
from psychollm._base.types import BoolArray, FloatArray, IntArray
from psychollm.data.responses import ResponsesLike, as_responses
from psychollm.estimates.reasons import Reason
from psychollm.irt.answers import Oriented, Patterns, Respondents, orient, patterns_of, spread
from psychollm.irt.climb import MAX_ITERATIONS, Steps
from psychollm.irt.families import Link
from psychollm.irt.multidimensional.climb import NODES, POINTS, Summit, climb
from psychollm.irt.multidimensional.curvature import Errors, errors_of
from psychollm.irt.multidimensional.form import (
    Shape,
    check_size,
    correlation_exponent,
    has_population,
    priors_of,
    shape_of,
)
from psychollm.irt.multidimensional.population import NODES as POPULATION_NODES
from psychollm.irt.multidimensional.population import errors_here, estimate_slopes
from psychollm.irt.multidimensional.problem import Place, at, make_problem, pairs
from psychollm.irt.multidimensional.result import MultidimensionalIRT
from psychollm.irt.multidimensional.scale import constant_of, standardised
from psychollm.irt.priors import ItemPopulation, Priors
from psychollm.kernels.adaptive_rules import product_rule

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike

IntegrationMethod = Literal["auto", "quadrature", "quasi_random"]


def fit_multidimensional(
    responses: ResponsesLike,
    dimensions: int | pd.DataFrame | ArrayLike,
    *,
    link: Link = "logit",
    respondents: Respondents = "models",
    correlated: bool = True,
    priors: Priors | Literal["auto"] | None = "auto",
    integration: IntegrationMethod = "auto",
    n_points: int = POINTS,
    max_iterations: int = MAX_ITERATIONS,
    progress: bool = False,
) -> MultidimensionalIRT:
    """Fit a 2PL with several abilities by marginal maximum likelihood.

    Parameters
    ----------
    responses : Responses or table of shape (models, questions)
        Binary answers; missing answers are assumed missing at random.
    dimensions : int, or bool table of shape (items, m)
        Number of abilities for an exploratory fit. For a confirmatory fit, a table that marks
        which items load on each ability. Columns of a DataFrame name the abilities.
    link : {"logit", "probit"}
        Logistic or normal-ogive curves.
    respondents : {"models", "questions"}
        Side of the table that has abilities; the other side contains the items.
    correlated : bool
        Whether abilities of a confirmatory fit correlate; use False for a bifactor model.
    priors : Priors, "auto" or None
        With fewer than 500 respondents, "auto" uses a hierarchical prior for confirmatory fits of
        up to three abilities. Otherwise, "auto" uses fixed priors: N(0, 1.25) for slopes, and N(0,
        2.5) for intercepts. With many items and few respondents, fixed priors can distort the
        scale. None means that only the likelihood is maximised.
    integration : {"auto", "quadrature", "quasi_random"}
        Adaptive quadrature, or quasi-random importance sampling. "auto" uses quadrature for up to
        three abilities.
    n_points : int
        Minimum number of quasi-random points per answer pattern. With few answer patterns, more
        quasi-random points are used.
    max_iterations : int
        Maximum number of EM and Newton iterations.
    progress : bool
        Whether to show a progress bar (needs tqdm).

    Returns
    -------
    MultidimensionalIRT
        Slopes, intercepts and loadings with standard errors.

    Raises
    ------
    CodeError
        If answers are not 0 and 1.
    ShapeError
        If there are too few items or respondents for the number of abilities, or the table of
        loadings does not match.
    OptionError
        If an option does not exist, or a prior would depend on the rotation.

    Warns
    -----
    ConvergenceWarning
        If the optimisation did not converge, or integrals are inaccurate.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> ability = rng.normal(size=(1000, 2))
    >>> chance = 1 / (1 + np.exp(-1.5 * np.repeat(ability, 4, axis=1)))
    >>> fit = fit_multidimensional(rng.random((1000, 8)) < chance, np.repeat(np.eye(2), 4, axis=0))
    >>> fit.slopes.shape, fit.convergence.converged, abs(fit.factor_correlation[0, 1]) < 0.2
    ((8, 2), True, np.True_)
    """
    check_choice("link", link, Link)
    check_choice("integration", integration, IntegrationMethod)
    table = as_responses(responses, binary=True)
    answers = orient(table, respondents)
    shape = shape_of(dimensions, answers.items, correlated=correlated)
    reasons = answers.reasons()
    keep = np.array([not reason for reason in reasons])
    check_size(shape, keep, answers)
    n, m = len(answers.respondents), shape.loads.shape[1]
    most = check_count("max_iterations", max_iterations)
    points = _points(integration, m, n_points)
    if points is None and has_population(priors, shape, len(answers.items), n):
        bar = progress_bar(show=progress, total=most, label="steps of the fit")
        with closing(bar):
            fit = _with_population(answers, shape, link, Steps(most, bar))
        fit.convergence.warn("the fit on several abilities")
        return fit
    patterns = patterns_of(answers.codes if keep.all() else answers.codes[:, keep], 2)
    used = priors_of(priors, shape, link, n)
    free = np.column_stack([shape.loads[keep], np.ones(keep.sum(), dtype=np.bool_)])
    means, precisions = used.arrays(("slope",) * m + ("intercept",))
    problem = make_problem(
        patterns,
        free,
        link,
        exploratory=shape.exploratory,
        correlated=correlated,
        means=means,
        precisions=precisions,
        eta=correlation_exponent(priors, shape, n),
    )
    if shape.exploratory:
        start = exploratory_start(patterns, m, link)
    else:
        start = confirmatory_start(patterns, free[:, :m], link, correlated=correlated)
    bar = progress_bar(show=progress, total=most, label="steps of the fit")
    with closing(bar):
        summit = climb(problem, start, points=points, steps=Steps(most, bar))
    summit.convergence.warn("the fit on several abilities")
    return _result(summit, shape, answers, (keep, reasons), patterns.of_respondent, used)


def _with_population(
    answers: Oriented, shape: Shape, link: Link, steps: Steps
) -> MultidimensionalIRT:
    """Fit items jointly with their distribution."""
    reasons = answers.reasons()
    keep = np.array([reason is not Reason.UNANSWERED for reason in reasons])
    reasons = tuple(
        Reason.PRIOR_ALONE if reason is Reason.CONSTANT_ITEM else reason for reason in reasons
    )
    patterns = patterns_of(answers.codes[:, keep], 2)
    free, m = shape.loads[keep], shape.loads.shape[1]
    start = confirmatory_start(patterns, free, link, correlated=shape.correlated and m > 1)
    settled = estimate_slopes(
        patterns, free, link, start, steps, correlated=shape.correlated and m > 1
    )
    errors, error = errors_here(settled)
    place = Place(settled.parameters, settled.abilities.correlation)
    problem = make_problem(
        patterns,
        np.column_stack([free, np.ones(len(free), dtype=np.bool_)]),
        link,
        exploratory=shape.exploratory,
        correlated=shape.correlated,
        means=np.zeros(m + 1),
        precisions=np.zeros(m + 1),
    )
    rule = product_rule(POPULATION_NODES[m] + 2, m)
    point = at(problem, place, rule, settled.abilities.modes)
    point = replace(point, running=np.zeros(len(free), dtype=np.bool_))
    summit = Summit(problem, point, rule, None, settled.convergence, error, ())
    population, read = settled.kinds[0].population, (keep, reasons)
    fit = _result(summit, shape, answers, read, patterns.of_respondent, population, errors)
    return replace(fit, gradient=settled.change)


def _points(integration: IntegrationMethod, dimensions: int, n_points: int) -> int | None:
    """Return the number of quasi-random points; None for quadrature."""
    if integration == "quadrature" and dimensions not in NODES:
        msg = (
            f"integration='quadrature' is for up to {max(NODES)} abilities, not {dimensions}: use "
            "'quasi_random'"
        )
        raise OptionError(msg)
    if integration == "quadrature" or (integration == "auto" and dimensions in NODES):
        return None
    count = check_count("n_points", n_points, low=16)
    return count + count % 2


def _flips(place: Place, loads: BoolArray) -> FloatArray:
    """Return the signs of abilities (m,) that make most slopes positive."""
    total = np.where(loads, place.slopes, 0.0).sum(axis=0)
    return np.where(total < 0.0, -1.0, 1.0)


def _flipped(place: Place, errors: Errors, signs: FloatArray) -> tuple[Place, Errors]:
    """Return estimates and errors with the signs of some abilities reversed."""
    turns = np.append(signs, 1.0)
    place = Place(place.table * turns, place.correlation * np.outer(signs, signs))
    errors = replace(errors, blocks=errors.blocks * np.outer(turns, turns))
    if not errors.covariance.size:
        return place, errors
    every = np.tile(turns, len(place.table))
    k, i = pairs(signs.size)
    rest = (signs[k] * signs[i])[: errors.covariance.shape[0] - every.size]
    every = np.append(every, rest)
    return place, replace(errors, covariance=errors.covariance * np.outer(every, every))


def _result(
    summit: Summit,
    shape: Shape,
    answers: Oriented,
    read: tuple[BoolArray, tuple[Reason, ...]],
    of_respondent: IntArray,
    priors: Priors | ItemPopulation,
    errors: Errors | None = None,
) -> MultidimensionalIRT:
    """Return the result for all items, with abilities oriented so that slopes are positive."""
    keep, reasons = read
    problem, point = summit.problem, summit.point
    link, m = problem.link, problem.dimensions
    mean, second = point.moments(problem.frequency)
    errors = errors or errors_of(point.place, summit.matrix, link)
    signs = _flips(point.place, problem.free[:, :m])
    place, errors = _flipped(point.place, errors, signs)
    qualified = iter([Reason.UNBOUNDED if lost else Reason.NONE for lost in point.running])
    shown = np.where(point.running[:, None], np.nan, 1.0)
    loadings, thresholds = standardised(place.table, place.correlation, link)
    size, value, n = problem.n_parameters, point.log_likelihood, len(answers.respondents)
    labels = [label for label, kept in zip(answers.items, keep, strict=True) if kept]
    pivots = () if problem.pivots is None else tuple(labels[j] for j in problem.pivots)
    return MultidimensionalIRT(
        slopes=spread(place.slopes * shown, keep),
        intercepts=spread(place.table[:, -1] * shown[:, 0], keep),
        factor_correlation=place.correlation,
        se_slopes=spread(errors.table[:, :-1] * shown, keep),
        se_intercepts=spread(errors.table[:, -1] * shown[:, 0], keep),
        se_factor_correlation=errors.correlation,
        loadings=spread(loadings * shown, keep),
        se_loadings=spread(errors.loadings * shown, keep),
        thresholds=spread(thresholds * shown[:, 0], keep),
        form="exploratory" if shape.exploratory else "confirmatory",
        rotation="echelon" if pivots else "none",
        link=link,
        respondents=answers.reading,
        pivots=pivots,
        log_likelihood=value,
        aic=2.0 * size - 2.0 * value,
        bic=float(np.log(n)) * size - 2.0 * value,
        gradient=point.steepness,
        n_parameters=size,
        n_respondents=n,
        n_patterns=problem.frequency.size,
        n_nodes=summit.rule[2],
        integration="quasi_random" if summit.rule[3] else "quadrature",
        integration_error=summit.integration_error,
        posterior_sd=float(np.sqrt(np.diagonal(second - np.outer(mean, mean)).mean())),
        priors=priors,
        correlation_prior=problem.eta,
        parameters=spread(place.table, keep),
        reasons=tuple(reason or next(qualified) for reason in reasons),
        labels=answers.items,
        respondent_labels=answers.respondents,
        dimensions=shape.names,
        convergence=summit.convergence,
        _covariance=errors.covariance,
        _echelon=place.table.copy(),
        _blocks=errors.blocks,
    )


LATENT = 1.3  # ratio of correlations of latent responses to correlations of answers
LARGEST_COMMUNALITY = 0.75
START_CORRELATION = 0.2
ATTENUATION = 2.9  # D^2 in the ratio of intercepts to thresholds of (1) in `scale`


def exploratory_start(patterns: Patterns, dimensions: int, link: Link) -> Place:
    """Return slopes from principal components, corrected for noise."""
    scores, rates = _standard_scores(patterns)
    items = scores.shape[1]
    small = scores.T @ scores if items <= scores.shape[0] else scores @ scores.T
    values, vectors = np.linalg.eigh(small)
    values, vectors = values[::-1][:dimensions], vectors[:, ::-1][:, :dimensions]
    if items > scores.shape[0]:
        vectors = scores.T @ vectors / np.sqrt(np.maximum(values, 1e-12))
    noise = max(items - values.sum(), 0.0) / max(items - dimensions, 1)
    loadings = vectors * np.sqrt(np.maximum(values - noise, 0.1 * values)) * LATENT
    shared = (loadings**2).sum(axis=1, keepdims=True)
    loadings *= np.sqrt(np.minimum(1.0, LARGEST_COMMUNALITY / np.maximum(shared, 1e-12)))
    shared = np.minimum(shared, LARGEST_COMMUNALITY)
    slopes = constant_of(link) * loadings / np.sqrt(1.0 - shared)
    if dimensions == 1 and slopes.sum() < 0.0:
        slopes = -slopes
    return Place(_with_intercepts(slopes, rates, link), np.eye(dimensions))


def confirmatory_start(
    patterns: Patterns, free: BoolArray, link: Link, *, correlated: bool
) -> Place:
    """Return starting values; a slope has the sign of the covariance with the other items."""
    scores, rates = _standard_scores(patterns)
    slopes = np.zeros(free.shape)
    for k in range(free.shape[1]):
        here = np.flatnonzero(free[:, k])
        part = scores[:, here]
        rest = part.sum(axis=1)
        signs = np.where(part.T @ rest - (part**2).sum(axis=0) >= 0.0, 1.0, -1.0)
        slopes[here, k] = signs * constant_of(link) / 1.7
    correlation = np.full((free.shape[1],) * 2, START_CORRELATION if correlated else 0.0)
    np.fill_diagonal(correlation, 1.0)
    return Place(_with_intercepts(slopes, rates, link), correlation)


def _standard_scores(patterns: Patterns) -> tuple[FloatArray, FloatArray]:
    """Return standardised answers (U, J) times the root of frequency / n, and yes rates."""
    answered, frequency = patterns.codes >= 0, patterns.frequency
    weight = frequency @ answered
    rates = (frequency @ (patterns.codes == 1) + 0.5) / (weight + 1.0)
    centred = np.where(answered, (patterns.codes == 1) - rates, 0.0)
    scores = centred / np.sqrt(rates * (1.0 - rates))
    return scores * np.sqrt(frequency / frequency.sum())[:, None], rates


def _with_intercepts(slopes: FloatArray, rates: FloatArray, link: Link) -> FloatArray:
    """Return slopes and intercepts (J, m + 1)."""
    scale = constant_of(link) / 1.7
    logits = np.log(rates / (1.0 - rates)) * scale
    growth = np.sqrt(1.0 + (slopes**2).sum(axis=1) / (ATTENUATION * scale**2))
    return np.column_stack([slopes, logits * growth])
