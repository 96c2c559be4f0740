r"""Type-2 signal detection: sensitivity and criterion of yes answers as signs of correctness.

The signal is a correct answer and the response is yes. The model says yes to TP of its C correct
answers and to FP of its W wrong answers. Half an answer is added to each cell, so that rates are
never 0 or 1 (Hautus). With the normal quantile function z, equation (1) defines the sensitivity d'
and the criterion c.

.. math:: H = \frac{TP + \frac12}{C + 1}, \quad F = \frac{FP + \frac12}{W + 1}, \quad
          d' = z(H) - z(F), \quad c = -\tfrac12 \left(z(H) + z(F)\right).               \quad (1)

A positive d' means that yes is associated with correct answers; a negative c means a liberal
criterion. With :math:`\varphi` the normal density, equation (2) gives the variance of d'
(Gourevitch and Galanter).

.. math:: \operatorname{Var}(d') = 4 \operatorname{Var}(c)
        = \frac{H (1 - H)}{C\, \varphi(z(H))^2} + \frac{F (1 - F)}{W\, \varphi(z(F))^2}. \quad (2)

Because half an answer is added, a model that always answers yes has a d' close to zero; its d' is
exactly zero only if the numbers of correct and wrong answers are equal. Tables with an empty cell
are flagged `CORRECTED`.

References
----------
Gourevitch, V., & Galanter, E. (1967). A significance test for one parameter isosensitivity
functions. Psychometrika, 32, 25-33. https://doi.org/10.1007/BF02289402

Hautus, M. J. (1995). Corrections for extreme proportions and their biasing effects on estimated
values of d'. Behavior Research Methods, Instruments, & Computers, 27, 46-51.
https://doi.org/10.3758/BF03203619
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from psychollm._base.axes import Axes
from psychollm._base.result import Result
from psychollm._base.types import FloatArray, RandomState
from psychollm.calibration.decisions.two_by_two import (
    FALSE_ALARM_RATE,
    RECALL,
    Bounds,
    Cases,
    Cells,
    CellStatistic,
    cell_metric,
    one_class,
    ratio,
)
from psychollm.calibration.metric import estimate_all
from psychollm.calibration.stated import stated_answers
from psychollm.data.responses import ResponsesLike
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.intervals import normal_multiplier
from psychollm.estimates.reasons import Reason
from psychollm.estimates.resampling import Bootstrap, Resampling


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SignalDetection(Result):
    """Type-2 sensitivity and criterion of every model.

    Examples
    --------
    >>> found = signal_detection([[1, 1, 0, 0, 0]], [[1, 1, 1, 0, 0]], rng=0, bootstrap=20)
    >>> found.sensitivity.value.round(3), found.sensitivity.flags[0].name
    (array([1.286]), 'CORRECTED')
    """

    sensitivity: Estimate  # d'
    criterion: Estimate  # c
    hit_rate: Estimate  # proportion of yes among correct answers, as observed
    false_alarm_rate: Estimate  # proportion of yes among wrong answers, as observed
    labels: tuple[Any, ...]  # (models,)

    _AXES = Axes(
        {"model": "labels"},
        "sensitivity",
        "criterion",
        "hit_rate",
        "false_alarm_rate",
        "flag=sensitivity.flags",
    )


def signal_detection(
    confidence: ResponsesLike,
    correctness: ResponsesLike,
    *,
    yes_above: float = 0.5,
    clusters: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    bootstrap: Bootstrap | int = 2000,
    level: float = 0.95,
    rng: RandomState = None,
) -> SignalDetection:
    """Compute type-2 d' and c: how well yes distinguishes correct from wrong answers.

    Parameters
    ----------
    confidence : Responses, DataFrame, DataArray or array_like (models, questions)
        Yes (1) and no (0), or stated probabilities of being correct, inside [0, 1].
    correctness : Responses, DataFrame, DataArray or array_like (models, questions)
        Correctness of the answers: 1 = correct, 0 = wrong. Questions
        with missing confidence or correctness are ignored.
    yes_above : float
        Threshold above which a stated confidence counts as yes.
    clusters : array_like (questions,), optional
        Cluster of each question, such as its passage; whole clusters are resampled.
    weights : array_like (questions,), optional
        Weight of each question.
    bootstrap : int or Bootstrap
        Number of resamples of questions. All models share the same resamples, so that differences
        between models are paired.
    level : float
        Coverage of the intervals, between 0 and 1.
    rng : Generator, int or None
        Random generator or seed.

    Returns
    -------
    SignalDetection
        Values are NaN, with a reason, for a model that is always or never correct. Intervals of d'
        and c use Gourevitch and Galanter's variance; the rates have Wilson intervals. With weights
        or clusters, all intervals are estimated from the resamples.

    Raises
    ------
    CodeError
        If a confidence or a correctness is outside [0, 1].
    ShapeError, LabelError
        If the tables or the clusters do not match in shape or labels.
    OptionError
        If a weight is not finite, or an option is invalid.

    Examples
    --------
    >>> found = signal_detection([[0.9, 0.7, 0.2, 0.6, 0.1]], [[1, 1, 1, 0, 0]], rng=0)
    >>> found.sensitivity.value.round(3), found.criterion.value.round(3)
    (array([0.319]), array([-0.159]))
    """
    answers = stated_answers(confidence, correctness, clusters=clusters, weights=weights)
    options = Resampling.of(bootstrap, level, rng)
    metric = cell_metric((D_PRIME, CRITERION, RECALL, FALSE_ALARM_RATE), yes_above=yes_above)
    sensitivity, criterion, hits, alarms = estimate_all([metric], answers, options)
    return SignalDetection(
        sensitivity=sensitivity,
        criterion=criterion,
        hit_rate=hits,
        false_alarm_rate=alarms,
        labels=answers.models,
    )


def _rates(t: Cells) -> tuple[FloatArray, FloatArray]:
    """Return the hit rate and the false-alarm rate; NaN without correct or wrong answers."""
    hits = np.where(t.correct > 0, (t.tp + 0.5) / (t.correct + 1.0), np.nan)
    alarms = np.where(t.wrong > 0, (t.fp + 0.5) / (t.wrong + 1.0), np.nan)
    return hits, alarms


def _density(rate: FloatArray) -> FloatArray:
    """Return the normal density at the normal quantile of a rate."""
    return np.asarray(np.exp(-0.5 * ndtri(rate) ** 2) / np.sqrt(2.0 * np.pi), dtype=np.float64)


def _sensitivity(t: Cells) -> FloatArray:
    hits, alarms = _rates(t)
    return np.asarray(ndtri(hits) - ndtri(alarms), dtype=np.float64)


def _criterion(t: Cells) -> FloatArray:
    hits, alarms = _rates(t)
    return np.asarray(-0.5 * (ndtri(hits) + ndtri(alarms)), dtype=np.float64)


def _gradients(t: Cells) -> tuple[FloatArray, FloatArray]:
    """Return the derivatives (4, tables) of z(H) and z(F) with respect to the cells."""
    hits, alarms = _rates(t)
    zero = np.zeros_like(t.tp)
    to_hits = 1.0 / ((t.correct + 1.0) * _density(hits))
    to_alarms = 1.0 / ((t.wrong + 1.0) * _density(alarms))
    return (
        np.stack([(1.0 - hits) * to_hits, zero, -hits * to_hits, zero]),
        np.stack([zero, (1.0 - alarms) * to_alarms, zero, -alarms * to_alarms]),
    )


def _sensitivity_gradient(t: Cells) -> FloatArray:
    hits, alarms = _gradients(t)
    return hits - alarms


def _criterion_gradient(t: Cells) -> FloatArray:
    hits, alarms = _gradients(t)
    return -0.5 * (hits + alarms)


def _variances(t: Cells) -> tuple[FloatArray, FloatArray]:
    """Return the two terms of the variance of d', equation (2)."""
    hits, alarms = (
        ratio(rate * (1.0 - rate), n * _density(rate) ** 2)
        for rate, n in zip(_rates(t), (t.correct, t.wrong), strict=True)
    )
    return hits, alarms


def _error(t: Cells) -> FloatArray:
    """Return the standard error of d', the square root of equation (2)."""
    return np.sqrt(np.add(*_variances(t)))


def _hidden(t: Cells) -> FloatArray:
    """Return the variance due to rates of 0 or 1, which cluster sums underestimate."""
    hits, alarms = _variances(t)
    extreme = (t.tp * t.fn == 0, t.fp * t.tn == 0)
    return np.where(extreme[0], hits, 0.0) + np.where(extreme[1], alarms, 0.0)


def _around(value: FloatArray, se: FloatArray, level: float) -> Bounds:
    step = normal_multiplier(level) * se
    return se, np.stack([value - step, value + step], axis=-1)


def _cases(t: Cells) -> Cases:
    extreme = (t.tp == 0) | (t.fp == 0) | (t.fn == 0) | (t.tn == 0)
    return (*one_class(t), (extreme, Reason.CORRECTED))


D_PRIME = CellStatistic(
    name="type-2 d'",
    value=_sensitivity,
    gradient=_sensitivity_gradient,
    closed_form=lambda t, level: _around(_sensitivity(t), _error(t), level),
    method="Gourevitch-Galanter",
    scale="real",
    size=lambda t: t.n,
    cases=_cases,
    hidden=_hidden,
)
CRITERION = CellStatistic(
    name="type-2 c",
    value=_criterion,
    gradient=_criterion_gradient,
    closed_form=lambda t, level: _around(_criterion(t), 0.5 * _error(t), level),
    method="Gourevitch-Galanter",
    scale="real",
    size=lambda t: t.n,
    cases=_cases,
    hidden=lambda t: 0.25 * _hidden(t),
)
