r"""How well a score ranks a model's correct answers above its wrong ones.

The area under the ROC curve is the chance that a random correct answer has a higher score than a
random wrong one, ties counting one half. With midranks :math:`R` over all questions and
:math:`R^+, R^-` within the correct and the wrong ones, the contribution of a correct question i
and of a wrong question j (DeLong's structural components, computed as by Sun and Xu) is

.. math:: V_i = \frac{R_i - R^+_i}{n^-}, \qquad V_j = 1 - \frac{R_j - R^-_j}{n^+},       \quad (1)

the area is the mean of the :math:`V_i`, and its variance
:math:`s^2(V_i)/n^+ + s^2(V_j)/n^-`. The interval is that of the logit of the area, mapped back,
so that it stays inside (0, 1). Where the area is 0 or 1 the estimated variance is zero; there the
bound is Wilson's with :math:`\min(n^+, n^-)` trials, which is conservative because no score has a
variance larger than :math:`A(1 - A)/\min(n^+, n^-)` (Birnbaum & Klose).

References
----------
DeLong, E. R., DeLong, D. M., & Clarke-Pearson, D. L. (1988). Comparing the areas under two or more
correlated receiver operating characteristic curves. Biometrics, 44, 837-845.

Sun, X., & Xu, W. (2014). Fast implementation of DeLong's algorithm. IEEE Signal Processing
Letters, 21, 1389-1393. https://doi.org/10.1109/LSP.2014.2337313

Birnbaum, Z. W., & Klose, O. M. (1957). Bounds for the variance of the Mann-Whitney statistic.
Annals of Mathematical Statistics, 28, 933-945.
"""

from typing import Any

import numpy as np

from psychollm._base.errors import ShapeError
from psychollm._base.types import BoolArray, FloatArray
from psychollm.data.coerce import check_binary
from psychollm.data.encode import numbers
from psychollm.data.labels import reorder
from psychollm.data.responses import Responses, as_responses
from psychollm.data.table import as_table
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.proportions import normal_multiplier, wilson
from psychollm.estimates.reasons import Reason


def auroc(scores: Any, correctness: Any, *, level: float = 0.95) -> Estimate:
    """Area under the ROC curve of a score for each model's correctness.

    Parameters
    ----------
    scores : Responses, DataFrame, DataArray or array_like (models, questions) or (questions,)
        Any real numbers, higher for "more likely correct"; NaN is missing. A vector is one score
        for all models.
    correctness : Responses, DataFrame, DataArray or array_like (models, questions)
        1 = correct.
    level : float
        Coverage of the interval: DeLong's on the logit scale.

    Returns
    -------
    Estimate
        NaN with a reason for a model that is always or never correct; 0.5 with the reason
        `CONSTANT` where its score is constant.

    Raises
    ------
    ShapeError, LabelError
        If scores and correctness do not match.
    CodeError
        If correctness is not binary.

    Examples
    --------
    >>> area = auroc([[0.9, 0.8, 0.3, 0.1]], [[1, 0, 1, 0]])
    >>> area.value, area.interval.round(2)
    (array([0.75]), array([[0.07, 0.99]]))
    """
    known = as_responses(correctness, argument="correctness")
    check_binary(known, argument="correctness")
    values = aligned_scores(scores, known)
    present = np.isfinite(values) & ~known.missing
    rows = [
        _area(values[i, present[i]], known.codes[i, present[i]] == 1, level)
        for i in range(known.n_models)
    ]
    value, se, interval, reason = zip(*rows, strict=True)
    return Estimate(
        name="AUROC",
        value=np.array(value),
        se=np.array(se),
        interval=np.array(interval),
        n=present.sum(axis=1).astype(np.float64),
        flags=reason,
        method="DeLong, logit",
        level=level,
        labels=known.models,
    )


def aligned_scores(scores: Any, correctness: Responses) -> FloatArray:
    """Return scores as floats (models, questions) in the order of `correctness`.

    Raises
    ------
    ShapeError
        If an array has neither one value per question nor one per model and question.
    LabelError
        If a labelled table does not hold the same models and questions.

    Examples
    --------
    >>> aligned_scores([0.5, 0.1], as_responses([[1, 0], [1, 1]])).shape
    (2, 2)
    """
    shape = correctness.codes.shape
    if isinstance(scores, Responses):
        return correctness.align(scores).values
    if hasattr(scores, "iloc") or hasattr(scores, "dims"):
        table = as_table(scores, argument="scores")
        rows = reorder("model", table.models, like=correctness.models)
        columns = reorder("question", table.questions, like=correctness.questions)
        values = numbers(table, argument="scores")
        values = values if rows is None else values[rows]
        return values if columns is None else values[:, columns]
    values = np.asarray(scores, dtype=np.float64)
    if values.shape not in {shape, shape[1:]}:
        msg = (
            f"scores has shape {values.shape}, but correctness has {shape[0]} models x {shape[1]} "
            f"questions: pass {shape} or one score per question, {shape[1:]}"
        )
        raise ShapeError(msg)
    return np.array(np.broadcast_to(values, shape))


def midranks(values: FloatArray) -> FloatArray:
    """Return ranks from 1, ties sharing their mean rank.

    Examples
    --------
    >>> midranks(np.array([3.0, 1.0, 3.0]))
    array([2.5, 1. , 2.5])
    """
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(count) - 0.5 * (count - 1))[place], dtype=np.float64)


def structural_components(scores: FloatArray, correct: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Return the components (1) of the correct and of the wrong questions.

    Two scores of the same model have the paired difference of their components; its variance
    gives the test of DeLong, DeLong and Clarke-Pearson.

    Examples
    --------
    >>> structural_components(np.array([2.0, 1.0, 0.0]), np.array([True, False, True]))
    (array([1., 0.]), array([0.5]))
    """
    rank = midranks(scores)
    positive, negative = scores[correct], scores[~correct]
    hits = (rank[correct] - midranks(positive)) / max(negative.size, 1)
    misses = 1.0 - (rank[~correct] - midranks(negative)) / max(positive.size, 1)
    return hits, misses


def components_variance(hits: FloatArray, misses: FloatArray) -> float:
    """Return the variance of a mean of structural components; NaN below two of either kind.

    Examples
    --------
    >>> components_variance(np.array([1.0, 0.0]), np.array([0.5, 0.5]))
    0.25
    """
    if min(hits.size, misses.size) < 2:
        return float("nan")
    return float(hits.var(ddof=1) / hits.size + misses.var(ddof=1) / misses.size)


def logit_interval(
    area: float, variance: float, n: tuple[int, int], *, level: float = 0.95
) -> FloatArray:
    """Return the interval of an area from its variance and the two class sizes.

    Examples
    --------
    >>> logit_interval(0.8, 0.0025, (50, 50)).round(3)
    array([0.684, 0.881])
    """
    spread = area * (1.0 - area)
    if not variance > 0.0 or spread <= 0.0:
        return wilson(area * min(n), min(n), level=level)
    centre = np.log(area / (1.0 - area))
    step = normal_multiplier(level) * np.sqrt(variance) / spread
    return np.asarray(1.0 / (1.0 + np.exp(-(centre + np.array([-step, step])))))


def _area(
    scores: FloatArray, correct: BoolArray, level: float
) -> tuple[float, float, FloatArray, Reason]:
    """Value, standard error, interval and reason for one model."""
    nothing = np.full(2, np.nan)
    if not scores.size:
        return np.nan, np.nan, nothing, Reason.NO_ANSWERS
    if correct.all() or not correct.any():
        return np.nan, np.nan, nothing, Reason.NO_WRONG if correct.all() else Reason.NO_CORRECT
    if scores.min() == scores.max():
        return 0.5, 0.0, np.full(2, 0.5), Reason.CONSTANT
    hits, misses = structural_components(scores, correct)
    area, variance = float(hits.mean()), components_variance(hits, misses)
    interval = logit_interval(area, variance, (hits.size, misses.size), level=level)
    reason = Reason.NONE if min(hits.size, misses.size) > 1 else Reason.TOO_FEW
    reason = Reason.PERFECT if area in {0.0, 1.0} else reason
    return area, float(np.sqrt(variance)), interval, reason
