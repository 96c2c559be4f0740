r"""What a fit expects of answers: curves averaged over what is not known of each ability.

A respondent's ability has a posterior with the mean and the covariance that `ability` or
`multidimensional_ability` give; one without answers has that of the population. The expected
answer is the mean of the item's curve over a normal distribution with these moments, by
Gauss-Hermite nodes along the direction in which the item reads the abilities. Items count as
known. The chance of a yes; with several answers, the expected one, from 0 for an item's lowest to
1 for its highest.
"""

from collections.abc import Iterable
from typing import Any, cast

import numpy as np

from psychollm._base.types import FloatArray
from psychollm.data.labels import Labels, positions
from psychollm.data.responses import ResponsesLike
from psychollm.irt.ability import Abilities, ability
from psychollm.irt.answers import Respondents
from psychollm.irt.conditional.rasch import ConditionalRasch, rasch_ability
from psychollm.irt.families import Dichotomous
from psychollm.irt.multidimensional.abilities import multidimensional_ability
from psychollm.irt.multidimensional.result import MultidimensionalIRT
from psychollm.irt.result import IRTFit

_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(15)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
_CURVES = 2_000_000  # values of curves held at once

Wanted = Iterable[Any] | None


def predict_one_ability(
    fit: IRTFit | ConditionalRasch, responses: ResponsesLike, models: Wanted, questions: Wanted
) -> FloatArray:
    """Return expected answers (models, questions) of a fit with one ability."""
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
    if isinstance(fit, ConditionalRasch):  # which has no population to fall back on
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
    return _selected(expected, fit.respondents, (known.labels, fit.labels), models, questions)


def _standard(known: Abilities, unit: float) -> tuple[FloatArray, FloatArray]:
    """Return abilities and errors in units of the population, which stands in where none is."""
    missing = ~np.isfinite(known.ability)
    mean = np.where(missing, 0.0, known.ability / unit)
    return mean, np.where(missing, 1.0, known.se / unit)


def predict_several_abilities(
    fit: MultidimensionalIRT, responses: ResponsesLike, models: Wanted, questions: Wanted
) -> FloatArray:
    """Return expected answers (models, questions) of a fit with several abilities."""
    known = multidimensional_ability(fit, responses)
    missing = ~np.isfinite(known.ability[:, 0])
    mean = np.where(missing[:, None], 0.0, known.ability)
    covariance = np.where(missing[:, None, None], fit.factor_correlation, known.covariance)
    slopes = fit.parameters[:, :-1]
    centre = mean @ slopes.T + fit.parameters[:, -1]
    spread = np.sqrt(np.einsum("jk,nkl,jl->nj", slopes, covariance, slopes))
    family = Dichotomous("rasch", fit.link)
    unit = np.array([[1.0, 0.0]])  # the curve itself, at linear predictors
    expected = np.zeros(centre.shape)
    for node, weight in zip(_NODES, _WEIGHTS, strict=True):
        at = (centre + node * spread).ravel()
        curve = np.exp(family.log_probabilities(unit, at)[0, 1])
        expected += weight * curve.reshape(centre.shape)
    return _selected(expected, fit.respondents, (known.labels, fit.labels), models, questions)


def _selected(
    expected: FloatArray,
    reading: Respondents,
    labels: tuple[Labels, Labels],
    models: Wanted,
    questions: Wanted,
) -> FloatArray:
    """Turn respondents and items into models and questions, and keep those asked for."""
    if reading == "questions":
        expected, labels = expected.T, (labels[1], labels[0])
    rows = positions("model", labels[0], models)
    columns = positions("question", labels[1], questions)
    return cast("FloatArray", np.ascontiguousarray(expected[np.ix_(rows, columns)]))
