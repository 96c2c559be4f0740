r"""Expected answers from a fit: item curves averaged over the posterior of each ability.

The posterior of a respondent's ability has the mean and covariance that `ability` or
`multidimensional_ability` returns. The posterior of a respondent without answers is the population
distribution. The expected answer is the mean of the item's curve over a normal distribution with
the posterior's moments, computed by Gauss-Hermite quadrature along the item's slopes. Items are
treated as known, except in a Bayesian fit, which averages over draws of items. For binary answers,
the expected answer is the probability of a yes. With more than two answer categories, the expected
answer is scaled to 0 for an item's lowest answer and 1 for its highest.
"""

import numpy as np

from psychollm._base.errors import LabelError
from psychollm._base.types import FloatArray
from psychollm.data.expected import Expected
from psychollm.data.labels import Labels, listed
from psychollm.data.responses import ResponsesLike
from psychollm.irt.ability import Abilities, ability
from psychollm.irt.answers import Oriented, Respondents, answers_to
from psychollm.irt.bayes.result import BayesianIRT
from psychollm.irt.conditional.rasch import ConditionalRasch, rasch_ability
from psychollm.irt.families import Dichotomous
from psychollm.irt.groups.result import GroupIRTFit
from psychollm.irt.multidimensional.abilities import multidimensional_ability
from psychollm.irt.multidimensional.result import MultidimensionalIRT
from psychollm.irt.result import IRTFit

_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(15)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
_CURVES = 2_000_000  # number of curve values per block
_GRID = np.linspace(-6.0, 6.0, 121)  # nodes for abilities, in population SDs
_DRAWS = 200  # largest number of draws of items


def of_one_ability(fit: IRTFit | ConditionalRasch, responses: ResponsesLike) -> Expected:
    """Return expected answers for a fit with one ability."""
    if isinstance(fit, IRTFit):
        known = ability(fit, responses)
        items, unit = fit.estimated, fit.ability_sd
        family, shares = fit.family_of(items), fit.shares[items]
        parameters = fit.parameters[items]
    else:
        known = rasch_ability(fit, responses)
        items, unit = fit.fitted, 1.0
        parameters = np.column_stack([np.ones(int(items.sum())), -fit.difficulty[items]])
        family, shares = Dichotomous("rasch", "logit"), np.tile([0.0, 1.0], (len(parameters), 1))
    mean, sd = _standard(known, unit)
    # A conditional fit does not estimate a population whose moments could replace missing
    # abilities.
    if isinstance(fit, ConditionalRasch):
        mean, sd = known.ability, known.se
    theta = mean[:, None] + sd[:, None] * _NODES  # (N, nodes)
    expected = np.full((len(theta), len(items)), np.nan)
    step = max(1, _CURVES // (max(len(parameters), 1) * shares.shape[1] * _NODES.size))
    for low in range(0, len(theta), step):
        rows = slice(low, low + step)
        nodes = theta[rows].ravel()
        curves = np.exp(family.log_probabilities(parameters, nodes))
        means = np.einsum("jc,jcq->qj", shares[:, : curves.shape[1]], curves)
        per_row = means.reshape(-1, _NODES.size, len(parameters))
        expected[rows, items] = np.einsum("nqj,q->nj", per_row, _WEIGHTS)
    return _turned(expected, fit.respondents, (known.labels, fit.labels))


def _standard(known: Abilities, unit: float) -> tuple[FloatArray, FloatArray]:
    """Return abilities and standard errors in population SDs; 0 and 1 where missing."""
    missing = ~np.isfinite(known.ability)
    mean = np.where(missing, 0.0, known.ability / unit)
    return mean, np.where(missing, 1.0, known.se / unit)


def of_several_abilities(fit: MultidimensionalIRT, responses: ResponsesLike) -> Expected:
    """Return expected answers for a fit with several abilities."""
    known = multidimensional_ability(fit, responses)
    missing = ~np.isfinite(known.ability[:, 0])
    mean = np.where(missing[:, None], 0.0, known.ability)
    covariance = np.where(missing[:, None, None], fit.factor_correlation, known.covariance)
    slopes = fit.parameters[:, :-1]
    centre = mean @ slopes.T + fit.parameters[:, -1]
    spread = np.sqrt(np.einsum("jk,nkl,jl->nj", slopes, covariance, slopes))
    family = Dichotomous("rasch", fit.link)
    unit = np.array([[1.0, 0.0]])  # slope 1, intercept 0: the ability is the linear predictor
    expected = np.zeros(centre.shape)
    for node, weight in zip(_NODES, _WEIGHTS, strict=True):
        at = (centre + node * spread).ravel()
        curve = np.exp(family.log_probabilities(unit, at)[0, 1])
        expected += weight * curve.reshape(centre.shape)
    return _turned(expected, fit.respondents, (known.labels, fit.labels))


def of_groups(fit: GroupIRTFit, responses: ResponsesLike) -> Expected:
    """Return expected answers for a fit of several groups, from the curves of each group."""
    answers = answers_to(responses, fit.labels, fit.respondents)
    row = {label: place for place, label in enumerate(fit.respondent_labels)}
    strange = [label for label in answers.respondents if label not in row]
    if strange:
        msg = (
            f"responses: {listed(strange)} are not respondents of the fit, so "
            "their group "
            "is unknown: use fit.of_group(group).predict(...)"
        )
        raise LabelError(msg)
    member = fit.group_of[[row[label] for label in answers.respondents]]
    expected = np.full((len(member), len(fit.labels)), np.nan)
    for g, group in enumerate(fit.groups):
        if (member == g).any():
            whole = of_one_ability(fit.of_group(group), responses)[0]
            expected[member == g] = _as_read(whole, fit.respondents)[member == g]
    return _turned(expected, fit.respondents, (answers.respondents, fit.labels))


def of_draws(fit: BayesianIRT, responses: ResponsesLike) -> Expected:
    """Return expected answers averaged over the draws of a Bayesian fit."""
    answers = answers_to(responses, fit.labels, fit.respondents)
    items = fit.fitted
    codes = answers.codes[:, items]
    yes, asked = (codes == 1).astype(np.float64), (codes >= 0).astype(np.float64)
    slopes, intercepts = fit.slope.draws[:, items], fit.intercept.draws[:, items]
    means, sds = _populations(fit, answers)
    family = Dichotomous("2pl", fit.link)
    chosen = np.linspace(0, len(slopes) - 1, min(_DRAWS, len(slopes))).astype(int)
    total = np.zeros(codes.shape)
    for draw in chosen:
        parameters = np.column_stack([slopes[draw], intercepts[draw]])
        for mean, sd in {*zip(means[draw].tolist(), sds[draw].tolist(), strict=True)}:
            rows = (means[draw] == mean) & (sds[draw] == sd)
            logs = family.log_probabilities(parameters, mean + sd * _GRID)  # (J, 2, Q)
            density = asked[rows] @ logs[:, 0] + yes[rows] @ (logs[:, 1] - logs[:, 0])
            density -= 0.5 * _GRID**2
            weight = np.exp(density - density.max(axis=1, keepdims=True))
            weight /= weight.sum(axis=1, keepdims=True)
            total[rows] += weight @ np.exp(logs[:, 1]).T
    expected = np.full((len(codes), len(items)), np.nan)
    expected[:, items] = total / len(chosen)
    return _turned(expected, fit.respondents, (answers.respondents, fit.labels))


def _populations(fit: BayesianIRT, answers: Oriented) -> tuple[FloatArray, FloatArray]:
    """Return the mean and SD of each respondent's population, (draws, respondents) each."""
    shape = (len(fit.slope.draws), len(answers.respondents))
    if not fit.family_labels:
        return np.zeros(shape), np.ones(shape)
    # For a respondent of unknown family, the marginal distribution over families is used.
    row = {label: place for place, label in enumerate(fit.respondent_labels)}
    between = fit.scale.draws[:, list(fit.scale.labels).index("sd_families")]
    means, sds = np.zeros(shape), np.tile(np.sqrt(1.0 + between**2)[:, None], shape[1])
    for place, label in enumerate(answers.respondents):
        if label in row:
            means[:, place] = fit.family.draws[:, fit._target.families.of[row[label]]]
            sds[:, place] = 1.0
    return means, sds


def _as_read(expected: FloatArray, reading: Respondents) -> FloatArray:
    """Transpose between (models, questions) and (respondents, items) if needed."""
    return expected.T if reading == "questions" else expected


def _turned(expected: FloatArray, reading: Respondents, labels: tuple[Labels, Labels]) -> Expected:
    """Convert a table (respondents, items) to (models, questions), and return it with labels."""
    ours, theirs = labels if reading == "models" else labels[::-1]
    return _as_read(expected, reading), ours, theirs
