"""How well a score ranks a model's correct answers above its wrong ones.

The statistics and their intervals are those of
`psychollm.calibration.discrimination.rank_statistics`.
"""

from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from psychollm._base.checks import check_choice
from psychollm._base.types import FloatArray, RandomState
from psychollm.calibration.discrimination.rank_statistics import NAMES, RANKING
from psychollm.calibration.metric import estimate_all
from psychollm.calibration.stated import (
    StatedAnswers,
    cluster_codes,
    question_weights,
)
from psychollm.data.labels import unit_numbers
from psychollm.data.responses import Responses, ResponsesLike, as_responses
from psychollm.data.table import as_table, numbers, one_model, values_like
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.resampling import Bootstrap, Resampling

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
    """Area under the ROC curve of a score for each model's correctness.

    The chance that a random correct answer has a higher score than a random wrong one, ties
    counting one half.

    Parameters
    ----------
    scores : Responses, DataFrame, DataArray or array_like (models, questions) or (questions,)
        Any real numbers, higher for "more likely correct"; NaN is missing. A vector is one score
        for all models.
    correctness : Responses, DataFrame, DataArray or array_like (models, questions)
        1 = correct.
    clusters, weights, level, rng
        What each question belongs to, how much it counts; coverage of intervals, seed.
    bootstrap : int or Bootstrap
        Resamples for `Estimate.difference`; 0 is none. The interval is DeLong's on the scale of
        log odds; a sandwich where questions are weighted or clustered.

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
    """Mean precision at each correct answer, from the highest score downwards.

    Tied answers enter together, so that their order does not matter. A score that knows nothing
    has about the share of correct answers.

    Parameters
    ----------
    scores, correctness, clusters, weights, bootstrap, level, rng
        As in `auroc`.
    of : {"correct", "errors"}
        What is to be found: correct answers from the top, or errors from the bottom.

    Returns
    -------
    Estimate
        NaN with a reason where there is nothing to be found.

    Raises
    ------
    ShapeError, LabelError, CodeError, OptionError
        As in `auroc`.

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
    """Return one of the rank statistics."""
    return estimate_all([RANKING], answers, options)[NAMES.index(name)]


def scored_answers(
    scores: ResponsesLike,
    correctness: ResponsesLike,
    *,
    clusters: ArrayLike | None = None,
    weights: ArrayLike | None = None,
) -> StatedAnswers:
    """Put any real scores beside correctness."""
    # In the order of `correctness`; its `confidence` holds the scores.
    # Shapes: scores (models, questions); correctness (models, questions).
    known = as_responses(
        one_model(correctness, argument="correctness"), argument="correctness", binary=True
    )
    values = aligned_scores(scores, known)
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
    if np.ndim(scores) == 1:
        row = unit_numbers(scores, correctness.questions, argument=argument)
        table = as_table(row[None], argument=argument)
        return np.array(np.broadcast_to(numbers(table, argument=argument), shape))
    table = as_table(scores, argument=argument)
    values = numbers(table, argument=argument)
    return np.array(values_like(replace(table, values=values), correctness, argument=argument))


def midranks(values: FloatArray) -> FloatArray:
    """Return ranks from 1, ties sharing their mean rank."""
    _, rank, count = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(count) - 0.5 * (count - 1))[rank], dtype=np.float64)
