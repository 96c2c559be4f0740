r"""Seven statistics of the association of a score with correctness, computed in one pass.

Consider all pairs of one correct and one wrong answer: P pairs are concordant (the correct answer
scores higher), Q are discordant, and T are tied. Of n answers, C are correct and W are wrong;
:math:`m_g` answers have the g-th distinct score. Then

.. math:: A = \frac{P + T/2}{C W}, \quad \gamma = \frac{P - Q}{P + Q}, \quad
          d = \frac{P - Q}{C W} = 2 A - 1, \quad
          \tau_b = \frac{P - Q}{\sqrt{C W \cdot \tfrac12 (n^2 - \sum_g m_g^2)}}.        \quad (1)

Here A is the area under the ROC curve, :math:`\gamma` is Goodman and Kruskal's gamma (Yule's Q for
yes/no answers), d is Somers' d of the score given correctness, and :math:`\tau_b` is Kendall's
tau-b. The other statistics are two average precisions and the correlation of score and
correctness. For the average precision, correct answers are retrieved from the highest score down,
or wrong answers from the lowest score up; tied answers are retrieved together.

The seven statistics do not change if each answer is counted twice.
`psychollm.calibration.influence` computes standard errors and intervals from the derivatives of
the statistics with respect to the numbers of answers. For gamma, the derivatives give Goodman and
Kruskal's standard error. For independent answers, DeLong's variance is used for the area and d; it
differs from the derivative-based variance by terms of order 1/n. DeLong's variance is
:math:`s^2(V^+)/C + s^2(V^-)/W`. Here :math:`V^+_i = (W_{<} + W_{=}/2) / W` is the placement of a
correct answer among the wrong answers, and :math:`V^-_i` is the analogous placement of a wrong
answer among the correct answers.

At values of 0, 1 or -1, the estimated variance of a statistic is zero, and the Wilson interval
with min(C, W) trials is used. The Wilson interval is conservative, because the variance of A is at
most A (1 - A) / min(C, W) (Birnbaum and Klose). In simulations with 50, 200 and 1,000 answers,
95 % intervals covered the true value in 93 to 96 % of data sets. Coverage was lower only for an
average precision near one (.97): 90 % with 50 answers.

References
----------
Birnbaum, Z. W., & Klose, O. M. (1957). Bounds for the variance of the Mann-Whitney statistic.
Annals of Mathematical Statistics, 28, 933-945.

DeLong, E. R., DeLong, D. M., & Clarke-Pearson, D. L. (1988). Comparing the areas under two or more
correlated receiver operating characteristic curves. Biometrics, 44, 837-845.
https://doi.org/10.2307/2531595

Goodman, L. A., & Kruskal, W. H. (1963). Measures of association for cross classifications III:
approximate sampling theory. Journal of the American Statistical Association, 58, 310-364.
https://doi.org/10.1080/01621459.1963.10500850

Kendall, M. G. (1945). The treatment of ties in ranking problems. Biometrika, 33, 239-251.
https://doi.org/10.1093/biomet/33.3.239

Somers, R. H. (1962). A new asymmetric measure of association for ordinal variables. American
Sociological Review, 27, 799-811. https://doi.org/10.2307/2090408
"""

from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from psychollm._base.checks import check_choice, n_dimensions
from psychollm._base.errors import CodeError
from psychollm._base.types import FloatArray, RandomState
from psychollm.calibration.influence import Gradient, Scale, interval_on, sandwich
from psychollm.calibration.metric import Metric, Output, estimate_all
from psychollm.calibration.stated import (
    StatedAnswers,
    check_order,
    cluster_codes,
    question_weights,
)
from psychollm.calibration.tally import Tally
from psychollm.data.labels import unit_numbers
from psychollm.data.responses import Responses, ResponsesLike, as_responses
from psychollm.data.table import as_table, numbers, one_model, values_like
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.reasons import Reason
from psychollm.estimates.resampling import Bootstrap, Resampling
from psychollm.kernels.association import order_sums

NAMES = (
    "AUROC",
    "gamma",
    "Somers' d",
    "tau-b",
    "average precision",
    "average precision of errors",
    "point-biserial correlation",
)
_ROUNDING = 1e-12
_FEW = 10  # with fewer correct or wrong answers, intervals may be too short
_PRIOR_DF = 2.0  # prior weight, in answers, of Hanley and McNeil's variance
_SCALES: tuple[Scale, ...] = (
    "log odds",
    "Fisher z",
    "Fisher z",
    "Fisher z",
    "log odds",
    "log odds",
    "Fisher z",
)


def rank_statistics(values: FloatArray, correct: FloatArray, wrong: FloatArray) -> FloatArray:
    """Return the seven statistics of tallies."""
    # The statistics are in the order of `NAMES`; undefined ones are NaN. Shapes: values (groups,);
    # correct, wrong (resamples, groups); returns (resamples, 7).
    sums = np.empty((correct.shape[0], 11))
    # Scores are centred, which avoids cancellation in the variance.
    centre = values.mean() if values.size else 0.0
    order_sums(values - centre, correct, wrong, sums)
    c, w, up, down, tied, squares, of_correct, of_wrong, first, second, cross = sums.T
    with np.errstate(invalid="ignore", divide="ignore"):
        n, pairs = c + w, c * w
        spread = 0.5 * (n**2 - squares)
        varied = spread > 0.0
        variance = np.where(varied, second / n - (first / n) ** 2, np.nan)
        statistics = np.stack(
            [
                (up + 0.5 * tied) / pairs,
                (up - down) / (up + down),
                (up - down) / pairs,
                np.where(varied, (up - down) / np.sqrt(pairs * spread), np.nan),
                of_correct / c,
                of_wrong / w,
                (cross / n - first * c / n**2) / np.sqrt(variance * pairs / n**2),
            ],
            axis=1,
        )
    statistics[:, [1, 2, 3, 6]] = np.clip(statistics[:, [1, 2, 3, 6]], -1.0, 1.0)
    return statistics


def gradients(tally: Tally) -> list[Gradient]:
    """Return the derivatives of the seven statistics with respect to the numbers of answers."""
    c, w = tally.correct, tally.wrong
    below_c, below_w = np.cumsum(c) - c, np.cumsum(w) - w
    above_c, above_w = c.sum() - below_c - c, w.sum() - below_w - w
    up, down = (below_w, above_c), (above_w, below_c)  # derivatives of P and of Q
    with np.errstate(invalid="ignore", divide="ignore"):
        area, gamma, somers, tau = _of_pairs(c, w, up, down)
        precision = _of_precision(c, w)
        of_wrong, of_correct = _of_precision(w[::-1], c[::-1])
        errors = (of_correct[::-1], of_wrong[::-1])
        return [area, gamma, somers, tau, precision, errors, _of_correlation(tally)]


def _of_pairs(c: FloatArray, w: FloatArray, up: Gradient, down: Gradient) -> list[Gradient]:
    """Return derivatives of the area, gamma, Somers' d and tau-b."""
    all_c, all_w = c.sum(), w.sum()
    p, q, pairs = c @ up[0], c @ down[0], all_c * all_w
    m, n = c + w, all_c + all_w
    spread = 0.5 * (n**2 - m @ m)
    slopes: list[list[FloatArray]] = [[], [], [], []]
    for kind, other in ((0, all_w), (1, all_c)):
        net = up[kind] - down[kind]
        slopes[1].append((net - (p - q) / (p + q) * (up[kind] + down[kind])) / (p + q))
        slopes[2].append((net - (p - q) * other / pairs) / pairs)
        slopes[0].append(0.5 * slopes[2][kind])
        share = 0.5 * (other / pairs + (n - m) / spread)
        slopes[3].append((net - (p - q) * share) / np.sqrt(pairs * spread))
    return [(by_correct, by_wrong) for by_correct, by_wrong in slopes]


def _of_precision(c: FloatArray, w: FloatArray) -> Gradient:
    """Return derivatives of the average precision of class `c`, in order of decreasing score."""
    total = c.sum()
    hits, given = np.cumsum(c[::-1])[::-1], np.cumsum((c + w)[::-1])[::-1]
    share = hits / np.where(given > 0, given, 1.0)
    weight = c / np.where(given > 0, given, 1.0)
    by_wrong = -np.cumsum(weight * share) / total
    by_correct = (share + np.cumsum(weight)) / total + by_wrong - (c @ share) / total**2
    return by_correct, by_wrong


def _of_correlation(tally: Tally) -> Gradient:
    """Return derivatives of the correlation of score and correctness."""
    c, w, m = tally.correct, tally.wrong, tally.correct + tally.wrong
    n, rate = m.sum(), c.sum() / m.sum()
    score = tally.values - (m @ tally.values) / n
    score = score / np.sqrt((m @ score**2) / n)
    by_kind = (np.sqrt((1.0 - rate) / rate), -np.sqrt(rate / (1.0 - rate)))
    r = ((c @ score) * by_kind[0] + (w @ score) * by_kind[1]) / n
    first, second = ((score * y - 0.5 * r * (score**2 + y**2)) / n for y in by_kind)
    return first, second


def hanley_mcneil_variance(area: float, correct: float, wrong: float) -> float:
    """Return the variance of the area under the curve if scores have exponential distributions."""
    best, worst = area / (2.0 - area), 2.0 * area**2 / (1.0 + area)
    square = area**2
    if not min(correct, wrong) > 0.0:
        return float("nan")
    spread = area * (1.0 - area) + (correct - 1.0) * (best - square)
    return float((spread + (wrong - 1.0) * (worst - square)) / (correct * wrong))


def _closed_form(tally: Tally, values: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    """Return standard errors (7,) and intervals (7, 2) for independent answers."""
    errors = sandwich(tally, gradients(tally))
    se, moderate, df = errors.se, errors.larger, errors.df
    correct, wrong = float(tally.correct.sum()), float(tally.wrong.sum())
    if min(correct, wrong) < 2.0:
        # The variance cannot be estimated from a single correct or wrong answer.
        se[[0, 2]], df[:], own = np.nan, 1.0, 0.0
    else:
        own = float(df[0])
        # The variances among correct and among wrong answers are DeLong's.
        se[[0, 2]] = np.sqrt(errors.apart[[0, 2]])
    model = hanley_mcneil_variance(float(values[0]), correct, wrong)
    moderate[0] = (own * moderate[0] + _PRIOR_DF * model) / (own + _PRIOR_DF)
    moderate[2], df[[0, 2]] = 4.0 * moderate[0], own + _PRIOR_DF
    return se, _bounded(tally, values, moderate, df, level, errors.clusters)


def _sandwich(tally: Tally, values: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    """Return standard errors (7,) and intervals (7, 2) for weighted or clustered answers."""
    errors = sandwich(tally, gradients(tally))
    return errors.se, _bounded(tally, values, errors.larger, errors.df, level, errors.clusters)


def _bounded(
    tally: Tally,
    values: FloatArray,
    variances: FloatArray,
    df: FloatArray,
    level: float,
    clusters: int,
) -> FloatArray:
    trials = float(min(tally.correct.sum(), tally.wrong.sum(), clusters))
    bounds = np.array(
        [
            interval_on(scale, value, variance, trials=trials, df=freedom, level=level)
            for scale, value, variance, freedom in zip(_SCALES, values, variances, df, strict=True)
        ]
    )
    if tally.values.size == 1:
        # A constant score has an area of exactly one half, so its interval has zero width.
        bounds[0], bounds[2] = 0.5, 0.0
    return bounds


def _flags(tally: Tally) -> tuple[Reason, ...]:
    """Return the reason for each undefined or qualified statistic."""
    right = float(tally.right.sum())
    if right <= 0.0 or right >= tally.n:
        return (Reason.NO_CORRECT if right <= 0.0 else Reason.NO_WRONG,) * len(NAMES)
    if tally.values.size == 1:
        return (Reason.CONSTANT,) * len(NAMES)
    area, gamma, *_ = rank_statistics(tally.values, tally.correct[None], tally.wrong[None])[0]
    if min(area, 1.0 - area) < _ROUNDING:
        return (Reason.PERFECT,) * len(NAMES)
    rarer = min(right, tally.n - right)
    few = Reason.FEW_VARY if rarer < _FEW else Reason.NONE
    few = Reason.TOO_FEW if rarer <= 1.0 else few
    at_bound = Reason.AT_BOUND if 1.0 - abs(gamma) < _ROUNDING else few
    return (few, at_bound, *(few,) * (len(NAMES) - 2))


RANKING = Metric(
    names=NAMES,
    compute=rank_statistics,
    flags=_flags,
    analytic=_closed_form,
    method=(
        "DeLong, moderated, log odds",
        "Goodman-Kruskal, Fisher z",
        "DeLong, moderated, Fisher z",
        *(f"delta, {scale}" for scale in _SCALES[3:]),
    ),
    robust=_sandwich,
    robust_method=tuple(f"sandwich, {scale}" for scale in _SCALES),
).in_panel(
    "ranking",
    1,
    Output(
        "auroc",
        "AUROC",
        "probability that a correct answer has higher confidence than a wrong one; ties count "
        "one half",
        better="higher",
        neutral=0.5,
    ),
    Output(
        "gamma",
        "gamma",
        "proportion of concordant minus discordant pairs of correct and wrong answers, "
        "without ties",
        better="higher",
        neutral=0.0,
    ),
    Output(
        "somers_d",
        "Somers’ d",
        "concordant minus discordant pairs of correct and wrong answers as a proportion of all "
        "pairs, with ties: 2 AUROC − 1",
        better="higher",
        neutral=0.0,
        listed=False,
    ),
    Output(
        "tau_b",
        "tau-b",
        "Kendall’s correlation of confidence and correctness",
        better="higher",
        neutral=0.0,
        listed=False,
    ),
    Output(
        "average_precision",
        "average precision",
        (
            "mean precision at each correct answer, from the most confident down; "
            "uninformative "
            "confidence gives the accuracy"
        ),
        better="higher",
    ),
    Output(
        "average_precision_errors",
        "average precision of errors",
        "mean precision at each error, from the least confident up; uninformative confidence "
        "gives the error rate",
        better="higher",
    ),
    Output(
        "point_biserial",
        "point-biserial r",
        "correlation of confidence and correctness",
        better="higher",
        neutral=0.0,
        listed=False,
    ),
)


Kind = Literal["correct", "errors"]


def auroc(
    scores: ResponsesLike,
    correctness: ResponsesLike,
    *,
    clusters: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    bootstrap: Bootstrap | int = 2000,
    level: float = 0.95,
    rng: RandomState = None,
) -> Estimate:
    """Compute the area under the ROC curve of a score for each model's correctness.

    The area is the probability that a random correct answer scores higher than a random wrong
    answer; ties count one half.

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
        Number of resamples of questions, used by `Estimate.difference`; 0 disables resampling. The
        interval does not use the resamples. The interval uses DeLong's variance on the logit
        scale, or a sandwich variance if there are weights or clusters.
    level : float
        Coverage of the intervals, between 0 and 1.
    rng : Generator, int or None
        Random generator or seed.

    Returns
    -------
    Estimate
        Values are NaN, with a reason, for a model that is always or never correct. For a constant
        score the value is 0.5 with the reason `CONSTANT`.

    Raises
    ------
    ShapeError, LabelError
        If scores, correctness and clusters do not match in shape or labels.
    CodeError
        If correctness is not binary.

    References
    ----------
    DeLong, E. R., DeLong, D. M., & Clarke-Pearson, D. L. (1988). Comparing the areas under two or
    more correlated receiver operating characteristic curves. Biometrics, 44, 837-845.
    https://doi.org/10.2307/2531595

    Examples
    --------
    >>> area = auroc([[0.9, 0.8, 0.3, 0.1]], [[1, 0, 1, 0]], rng=0)
    >>> area.value, area.interval.round(2)
    (array([0.75]), array([[0.03, 1.  ]]))
    """
    answers = scored_answers(scores, correctness, clusters=clusters, weights=weights)
    options = Resampling.of(bootstrap, level, rng)
    return ranked("AUROC", answers, options)


def average_precision(
    scores: ResponsesLike,
    correctness: ResponsesLike,
    *,
    of: Kind = "correct",
    clusters: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    bootstrap: Bootstrap | int = 2000,
    level: float = 0.95,
    rng: RandomState = None,
) -> Estimate:
    """Compute the average precision, the mean of the precision at each correct answer.

    Answers are retrieved from the highest score downwards. Tied answers are retrieved together, so
    that their order does not matter. The expected average precision of an uninformative score is
    about the proportion of correct answers.

    Parameters
    ----------
    scores : Responses, DataFrame, DataArray or array_like (models, questions) or (questions,)
        Real-valued scores; a higher score means that a correct answer is more likely. NaN marks a
        missing score. A vector gives the same scores to all models.
    correctness : Responses, DataFrame, DataArray or array_like (models, questions)
        Correctness of the answers: 1 = correct, 0 = wrong.
    of : {"correct", "errors"}
        Answers to retrieve: correct answers from the highest score down, or errors from the lowest
        score up.
    clusters : array_like (questions,), optional
        Cluster of each question, such as its passage; whole clusters are resampled.
    weights : array_like (questions,), optional
        Weight of each question.
    bootstrap : int or Bootstrap
        Number of resamples of questions, used by `Estimate.difference`; 0 disables resampling.
    level : float
        Coverage of the intervals, between 0 and 1.
    rng : Generator, int or None
        Random generator or seed.

    Returns
    -------
    Estimate
        Values are NaN, with a reason, for a model without correct answers (or without errors) to
        retrieve.

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
    >>> average_precision([[0.9, 0.8, 0.3, 0.1]], [[1, 0, 1, 0]], rng=0).value.round(4)
    array([0.8333])
    """
    check_choice("of", of, Kind)
    answers = scored_answers(scores, correctness, clusters=clusters, weights=weights)
    options = Resampling.of(bootstrap, level, rng)
    name = "average precision" if of == "correct" else "average precision of errors"
    return ranked(name, answers, options)


def ranked(name: str, answers: StatedAnswers, options: Resampling) -> Estimate:
    """Return the estimate of one rank statistic."""
    return estimate_all([RANKING], answers, options)[NAMES.index(name)]


def scored_answers(
    scores: ResponsesLike,
    correctness: ResponsesLike,
    *,
    clusters: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    names: tuple[str, str] = ("scores", "correctness"),
) -> StatedAnswers:
    """Align real-valued scores with correctness; `names` are the caller's argument names."""
    # The result is in the order of `correctness`; its field `confidence` holds the scores. Shapes:
    # scores (models, questions); correctness (models, questions).
    own, other = names
    try:
        known = as_responses(one_model(correctness, argument=other), argument=other, binary=True)
    except CodeError:
        check_order(scores, correctness, names)
        raise
    values = aligned_scores(scores, known, argument=own)
    return StatedAnswers(
        confidence=values,
        correct=np.asarray((known.codes == 1) & ~known.missing, dtype=np.float64),
        present=np.isfinite(values) & ~known.missing,
        weights=question_weights(weights, known.questions),
        clusters=None if clusters is None else cluster_codes(clusters, known.questions),
        models=known.models,
        questions=known.questions,
    )


def aligned_scores(scores: Any, correctness: Responses, *, argument: str = "scores") -> FloatArray:
    """Return scores as floats (models, questions) in the order of `correctness`."""
    shape = correctness.codes.shape
    if n_dimensions(scores, argument) == 1:
        row = unit_numbers(scores, correctness.questions, argument=argument)
        table = as_table(row[None], argument=argument)
        return np.array(np.broadcast_to(numbers(table, argument=argument), shape))
    table = as_table(scores, argument=argument)
    values = numbers(table, argument=argument)
    return np.array(values_like(replace(table, values=values), correctness, argument=argument))
