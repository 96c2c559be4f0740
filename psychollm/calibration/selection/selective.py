r"""Selective prediction: error rates if a model answers only above a confidence threshold.

Answers are given from the highest score downwards. Let :math:`e_k` be the expected number of
errors among the first k of n answers, with tied answers in random order. Then

.. math:: \text{AURC} = \frac1n \sum_{k=1}^{n} \frac{e_k}{k}, \qquad
          \text{AUGRC} = \frac1n \sum_{k=1}^{n} \frac{e_k}{n}.                          \quad (1)

AURC is the mean of the error rate among the first k answers, over k = 1, ..., n (Geifman and
El-Yaniv). AUGRC is the mean, also over k, of the proportion of all questions that are answered
wrongly (Traub and others). Binary confidence gives two groups of tied answers. In the best order
of C correct and W wrong answers, all errors are last. Equation (2) gives the areas of the best
order, with harmonic numbers H.

.. math:: \text{AURC}^* = \frac1n \left(W - C (H_n - H_C)\right), \qquad
          \text{AUGRC}^* = \frac{W (W + 1)}{2 n^2}.                                     \quad (2)

In a random order, the expected areas are W/n and W (n + 1) / (2 n^2). The difference between AURC
and its value in the best order is the excess (E-AURC). The normalised AURC is the excess divided
by the excess of a random order. The normalised AURC is 0 for the best order, 1 for a random order
and above 1 for an order worse than random.

Other authors compute the area with the trapezoidal rule. These authors compute the area of the
best order as r + (1 - r) ln(1 - r), with r the error rate. Areas by the trapezoidal rule differ
from the areas used here by terms of order 1/n. With tied scores, the difference between the two
rules is larger, because the trapezoidal rule replaces the curve of the expected risk by a straight
line.

With weights (scaled to mean one), a question of weight v counts as v answers. With weights, sums
of 1/k become differences of the digamma function, which extends the harmonic numbers.

References
----------
Geifman, Y., & El-Yaniv, R. (2017). Selective classification for deep neural networks. Advances in
Neural Information Processing Systems, 30.

Geifman, Y., Uziel, G., & El-Yaniv, R. (2019). Bias-reduced uncertainty estimation for deep neural
classifiers. International Conference on Learning Representations.

Traub, J., Bungert, T. J., Lüth, C. T., Baumgartner, M., Maier-Hein, K. H., Maier-Hein, L., &
Jaeger, P. F. (2024). Overcoming common flaws in the evaluation of selective classification
systems. Advances in Neural Information Processing Systems, 37.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from psychollm._base.axes import Axes
from psychollm._base.checks import check_choice, check_fraction
from psychollm._base.errors import OptionError
from psychollm._base.result import Result
from psychollm._base.types import FloatArray, RandomState
from psychollm.calibration.discrimination.ranking import scored_answers
from psychollm.calibration.influence import wilson_from_draws
from psychollm.calibration.metric import Metric, estimate_all
from psychollm.calibration.selection.selective_areas import SELECTIVE, class_flag
from psychollm.calibration.tally import Tally
from psychollm.data.responses import ResponsesLike
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.intervals import percentile_interval
from psychollm.estimates.reasons import Reason
from psychollm.estimates.resampling import Bootstrap, Resampling
from psychollm.kernels.selective import coverages_at_risks, risks_at_coverages

Ties = Literal["random", "whole"]

_CURVE = np.arange(1, 101) / 100.0  # coverages at which the inverted curve is evaluated


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SelectivePrediction(Result):
    """Areas under the risk-coverage curve of every model.

    Examples
    --------
    >>> found = selective_prediction([[0.9, 0.8, 0.3, 0.1]], [[1, 0, 1, 0]], rng=0)
    >>> found.aurc.value.round(4), found.excess_aurc.value.round(4)
    (array([0.3333]), array([0.125]))
    """

    aurc: Estimate  # mean error rate over all coverages
    excess_aurc: Estimate  # AURC minus AURC of the best order
    normalised_aurc: Estimate  # excess divided by the excess of a random order
    augrc: Estimate  # mean proportion of wrongly answered questions over all coverages
    excess_augrc: Estimate  # AUGRC minus AUGRC of the best order
    labels: tuple[Any, ...]  # (models,)

    _AXES = Axes(
        {"model": "labels"},
        "aurc",
        "excess_aurc",
        "normalised_aurc",
        "augrc",
        "excess_augrc",
        "flag=normalised_aurc.flags",
    )


def selective_prediction(
    scores: ResponsesLike,
    correctness: ResponsesLike,
    *,
    clusters: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    bootstrap: Bootstrap | int = 2000,
    level: float = 0.95,
    rng: RandomState = None,
) -> SelectivePrediction:
    """Compute areas under the risk-coverage curve, and their excess over the optimum.

    Parameters
    ----------
    scores : Responses, DataFrame, DataArray or array_like (models, questions) or (questions,)
        Real-valued scores; a higher score means that a correct answer is more likely. NaN marks a
        missing score. A vector gives the same scores to all models.
    correctness : Responses, DataFrame, DataArray or array_like (models, questions)
        Correctness of the answers: 1 = correct, 0 = wrong.
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
    SelectivePrediction
        For a model without errors, the areas are 0 and the normalised area is NaN, with the flag
        `NO_WRONG`.

    Raises
    ------
    ShapeError, LabelError
        If scores, correctness and clusters do not match in shape or labels.
    CodeError
        If correctness is not binary.
    OptionError
        If a weight is not finite, or an option is invalid.

    Examples
    --------
    >>> found = selective_prediction([[1, 1, 0, 0]], [[1, 1, 1, 0]], rng=0, bootstrap=50)
    >>> found.aurc.value.round(4), found.normalised_aurc.value.round(4)
    (array([0.1042]), array([0.2222]))
    """
    answers = scored_answers(scores, correctness, clusters=clusters, weights=weights)
    options = Resampling.of(bootstrap, level, rng)
    areas = estimate_all([SELECTIVE], answers, options)
    return SelectivePrediction(
        aurc=areas[0],
        excess_aurc=areas[1],
        normalised_aurc=areas[2],
        augrc=areas[3],
        excess_augrc=areas[4],
        labels=answers.models,
    )


def risk_at_coverage(
    scores: ResponsesLike,
    correctness: ResponsesLike,
    *,
    coverage: float = 0.8,
    ties: Ties = "random",
    clusters: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    bootstrap: Bootstrap | int = 2000,
    level: float = 0.95,
    rng: RandomState = None,
) -> Estimate:
    """Compute the error rate if each model answers only its most confident questions.

    Parameters
    ----------
    scores : Responses, DataFrame, DataArray or array_like (models, questions) or (questions,)
        Real-valued scores; a higher score means that a correct answer is more likely. NaN marks a
        missing score. A vector gives the same scores to all models.
    correctness : Responses, DataFrame, DataArray or array_like (models, questions)
        Correctness of the answers: 1 = correct, 0 = wrong.
    coverage : float
        Proportion of questions to answer, above 0 and at most 1.
    ties : {"random", "whole"}
        "random" answers as many of the tied questions as needed, in random order, and returns the
        expected risk. "whole" answers all tied questions, as a threshold does, so that coverage
        may be larger than requested.
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
    Estimate
        For a model without answers, values are NaN, with a reason.

    Raises
    ------
    OptionError
        If the coverage is not inside (0, 1].
    ShapeError, LabelError
        If scores, correctness and clusters do not match in shape or labels.
    CodeError
        If correctness is not binary.

    Examples
    --------
    >>> scores, correct = [[0.9, 0.8, 0.3, 0.3]], [[1, 0, 1, 0]]
    >>> risk_at_coverage(scores, correct, coverage=0.75, rng=0).value
    array([0.5])
    >>> risk_at_coverage(scores, correct, coverage=0.5, ties="whole", rng=0).value
    array([0.5])
    """
    metric = risk_at_coverage_metric([coverage], ties=ties)
    answers = scored_answers(scores, correctness, clusters=clusters, weights=weights)
    options = Resampling.of(bootstrap, level, rng)
    return estimate_all([metric], answers, options)[0]


def coverage_at_risk(
    scores: ResponsesLike,
    correctness: ResponsesLike,
    *,
    risk: float = 0.1,
    ties: Ties = "random",
    clusters: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    bootstrap: Bootstrap | int = 2000,
    level: float = 0.95,
    rng: RandomState = None,
) -> Estimate:
    """Compute the largest coverage at which each model's error rate is at most a given risk.

    Parameters
    ----------
    scores : Responses, DataFrame, DataArray or array_like (models, questions) or (questions,)
        Real-valued scores; a higher score means that a correct answer is more likely. NaN marks a
        missing score. A vector gives the same scores to all models.
    correctness : Responses, DataFrame, DataArray or array_like (models, questions)
        Correctness of the answers: 1 = correct, 0 = wrong.
    risk : float
        Tolerated error rate among the given answers, at least 0 and below 1.
    ties : {"random", "whole"}
        "random" may answer only some of the tied questions, in random order, and uses the expected
        risk. "whole" answers either all or none of the tied questions, as a threshold does.
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
    Estimate
        The value is 0 with the flag `UNREACHABLE` if the error rate of the most confident answers
        already exceeds the risk.

    Raises
    ------
    OptionError
        If the risk is not inside [0, 1).
    ShapeError, LabelError
        If scores, correctness and clusters do not match in shape or labels.
    CodeError
        If correctness is not binary.

    Notes
    -----
    The estimate is a maximum over the sample and is therefore biased upwards. The interval inverts
    the band of `risk_coverage`. The lower bound of the interval is the largest coverage at which
    the upper band does not exceed the risk; the upper bound uses the lower band. With
    ``ties="whole"``, the lower bound is the smaller of the inverted bound and the bootstrap bound.

    Examples
    --------
    >>> coverage_at_risk([[0.9, 0.8, 0.3, 0.1]], [[1, 0, 1, 0]], risk=0.4, rng=0).value
    array([0.75])
    """
    metric = coverage_at_risk_metric([risk], ties=ties)
    answers = scored_answers(scores, correctness, clusters=clusters, weights=weights)
    options = Resampling.of(bootstrap, level, rng)
    return estimate_all([metric], answers, options)[0]


def risk_at_coverage_metric(coverages: Sequence[float], *, ties: Ties = "random") -> Metric:
    """Return the error rate at each of several coverages as a metric."""
    check_choice("ties", ties, Ties)
    wanted = np.array([_check_share("coverage", each) for each in coverages], dtype=np.float64)
    order = np.argsort(wanted, kind="stable")

    def compute(values: FloatArray, correct: FloatArray, wrong: FloatArray) -> FloatArray:
        risks = np.empty((correct.shape[0], wanted.size))
        risks_at_coverages(correct, wrong, wanted[order], ties == "whole", risks)
        n = correct.sum(axis=1) + wrong.sum(axis=1)
        return np.concatenate([risks[:, np.argsort(order)], n[:, None] * wanted], axis=1)

    return Metric(
        names=tuple(f"risk at coverage {each:g}" for each in wanted),
        compute=compute,
        flags=lambda tally: (class_flag(tally),) * wanted.size,
        carried=wanted.size,
        bounds=_bounds,
        method="Wilson with the bootstrap variance",
    )


def coverage_at_risk_metric(risks: Sequence[float], *, ties: Ties = "random") -> Metric:
    """Return the largest coverage at each of several error rates as a metric."""
    check_choice("ties", ties, Ties)
    tolerated = np.array([_check_share("risk", each) for each in risks], dtype=np.float64)

    def shares(correct: FloatArray, wrong: FloatArray) -> FloatArray:
        coverages = np.empty((correct.shape[0], tolerated.size))
        coverages_at_risks(correct, wrong, tolerated, ties == "whole", coverages)
        return coverages

    def compute(values: FloatArray, correct: FloatArray, wrong: FloatArray) -> FloatArray:
        curve = np.empty((correct.shape[0], _CURVE.size))
        risks_at_coverages(correct, wrong, _CURVE, False, curve)  # noqa: FBT003
        n = correct.sum(axis=1) + wrong.sum(axis=1)
        return np.concatenate([shares(correct, wrong), curve, n[:, None] * _CURVE], axis=1)

    def flags(tally: Tally) -> tuple[Reason, ...]:
        known = shares(tally.correct[None], tally.wrong[None])[0]
        return tuple(Reason.UNREACHABLE if share == 0.0 else class_flag(tally) for share in known)

    return Metric(
        names=tuple(f"coverage at risk {each:g}" for each in tolerated),
        compute=compute,
        flags=flags,
        carried=2 * _CURVE.size,
        bounds=partial(_inverted, tolerated, whole=ties == "whole"),
        method="band of the risk-coverage curve, inverted",
    )


def _inverted(
    risks: FloatArray, own: FloatArray, draws: FloatArray, level: float, *, whole: bool
) -> FloatArray:
    """Return the range of coverages at which the band includes each risk (risks, 2)."""
    parts = [risks.size, risks.size + _CURVE.size]
    value, curve, given = np.split(own, parts)
    band = wilson_from_draws(curve, draws[:, parts[0] : parts[1]], given, level=level)
    bounds = np.array([[_last_below(side, risk) for side in band.T[::-1]] for risk in risks])
    if whole:
        low = percentile_interval(draws[:, : risks.size], level)[:, 0]
        bounds[:, 0] = np.fmin(bounds[:, 0], low)
    # The curve is evaluated only at a grid of coverages, so the estimate may be slightly outside
    # its interval. The bounds are therefore extended to include it.
    return np.stack([np.minimum(bounds[:, 0], value), np.maximum(bounds[:, 1], value)], axis=1)


def _last_below(curve: FloatArray, risk: float) -> float:
    """Return the largest coverage at which an interpolated curve is at most a risk."""
    if np.isnan(curve).any():
        return np.nan
    met = np.flatnonzero(curve <= risk)
    if not met.size or met[-1] == curve.size - 1:
        return 1.0 if met.size else 0.0
    i = met[-1]
    step = (risk - curve[i]) / (curve[i + 1] - curve[i])
    return float(_CURVE[i] + step * (_CURVE[i + 1] - _CURVE[i]))


def _bounds(own: FloatArray, draws: FloatArray, level: float) -> FloatArray:
    risk, given = np.split(own, 2)
    return wilson_from_draws(risk, draws[:, : risk.size], given, level=level)


def _check_share(name: str, value: float) -> float:
    """Raise an error unless a coverage is in (0, 1] or a risk is in [0, 1)."""
    end = 1.0 if name == "coverage" else 0.0
    if value == end:
        return end
    try:
        return check_fraction(name, value)
    except OptionError as error:
        msg = f"{str(error).removesuffix(' (both excluded)')}, or {end:g}"
        raise OptionError(msg) from error
