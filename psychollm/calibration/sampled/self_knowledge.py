r"""P(IK), the probability of knowing an answer, and P(True), the probability that it is true.

For P(True), the model sees a question with a proposed answer and is asked whether the answer is
true. P(True) depends only on the ratio of the probabilities of the two continuations, because
other continuations are irrelevant.

.. math:: P(\text{True}) = \frac{e^{\ell_T}}{e^{\ell_T} + e^{\ell_F}}.                    \quad (1)

For P(IK), "I know", a logistic regression predicts correctness before the model answers. The
predictors are features of the question, such as a hidden state of the model or an embedding of the
text. The predictions are out of sample, and groups of questions are never split between folds. The
result includes a baseline that predicts the model's accuracy for every question.

References
----------
Kadavath, S., et al. (2022). Language models (mostly) know what they know. arXiv:2207.05221.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from psychollm._base.checks import LARGEST, check_count, float_array
from psychollm._base.errors import CodeError, OptionError, ShapeError
from psychollm._base.optional import require
from psychollm._base.result import Result
from psychollm._base.types import FloatArray, IntArray
from psychollm.calibration.stated import (
    StatedAnswers,
    cluster_codes,
    stated_answers,
)
from psychollm.data.labels import Labels
from psychollm.data.responses import ResponsesLike
from psychollm.data.table import one_model
from psychollm.estimates.reasons import Reason


def p_true(log_true: Any, log_false: Any) -> FloatArray:
    """Return P(True) from the log-probabilities of the two continuations.

    Parameters
    ----------
    log_true, log_false : array_like (models, questions)
        Natural logarithms of the probabilities of "True" and of "False", at most 0; ``-inf`` means
        a probability of zero. If several spellings are accepted, add their probabilities first.

    Returns
    -------
    ndarray (models, questions)
        P(True), a confidence that every metric of this package accepts. The result is NaN if
        either log-probability is missing or both are ``-inf``.

    Raises
    ------
    ShapeError
        If the two arguments differ in shape.
    CodeError
        If a value is above 0, for example because probabilities were passed instead of logarithms.

    Examples
    --------
    >>> p_true([[-0.1, -3.0]], [[-2.5, -0.2]]).round(3)
    array([[0.917, 0.057]])
    """
    true, false = float_array(log_true, "log_true"), float_array(log_false, "log_false")
    if true.shape != false.shape:
        msg = f"log_true has shape {true.shape}, but log_false has {false.shape}"
        raise ShapeError(msg)
    for argument, values in (("log_true", true), ("log_false", false)):
        if (values > 1e-6).any():
            cell = tuple(int(i) for i in np.argwhere(values > 1e-6)[0])
            msg = (
                f"{argument}{list(cell)} = {values[cell]:g}: pass natural logarithms of "
                "probabilities, which are at most 0"
            )
            raise CodeError(msg)
    with np.errstate(invalid="ignore"):
        return np.asarray(expit(true - false), dtype=np.float64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PredictedCorrectness(Result):
    """Out-of-sample probabilities of being correct, predicted from the question alone.

    `confidence` can be passed to every metric of this package.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> features = rng.normal(size=(200, 3))
    >>> correct = (features[:, 0] + rng.normal(size=200) > 0).astype(float)
    >>> found = predicted_correctness(features, correct)
    >>> found.confidence.shape, found.n_folds
    ((1, 200), 5)
    """

    confidence: FloatArray  # (models, questions) out-of-sample predictions, NaN if not graded
    baseline: FloatArray  # (models, questions) accuracy in the training folds
    fold: IntArray  # (questions,) the fold in which each question was predicted
    n_folds: int
    penalty: float  # inverse strength of the ridge penalty, scikit-learn's C
    flags: tuple[Reason, ...]  # (models,)
    models: Labels
    questions: Labels


def predicted_correctness(
    features: Any,
    correctness: ResponsesLike,
    *,
    groups: Any = None,
    n_folds: int = 5,
    penalty: float = 1.0,
) -> PredictedCorrectness:
    """Predict correctness from features of the questions, out of sample.

    The function requires scikit-learn (extra ``text``).

    Parameters
    ----------
    features : array_like (questions, features) or (models, questions, features)
        Features known before the question is answered. Features are standardised within each
        training fold.
    correctness : Responses, DataFrame, DataArray or array_like (models, questions)
        Correctness: 1 = correct, 0 = wrong; a fraction is the probability of being correct,
        estimated from several samples.
    groups : array_like (questions,), optional
        Group of each question, such as its passage or topic; groups are never split between folds.
    n_folds : int
        Number of cross-validation folds.
    penalty : float
        Inverse strength of the ridge penalty, as scikit-learn's ``C``.

    Returns
    -------
    PredictedCorrectness
        Values are NaN with a reason if all answers of a training fold are correct, or if all are
        wrong.

    Raises
    ------
    ShapeError
        If features do not match the questions.
    CodeError
        If features are not finite.
    OptionError
        If there are fewer groups than folds.
    MissingPackageError
        If scikit-learn is not installed.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> features = rng.normal(size=(200, 3))
    >>> correct = (features[:, 0] + rng.normal(size=200) > 0).astype(float)
    >>> predicted_correctness(features, correct).confidence.shape
    (1, 200)
    """
    selection = require("sklearn.model_selection", extra="text", purpose="predicted_correctness")
    table = one_model(correctness, argument="correctness")
    answers = stated_answers(np.zeros(table.values.shape), table.values)
    n_models, n_questions = answers.correct.shape
    known = _features(features, n_models, n_questions)
    labels = table.questions
    codes = (
        np.arange(n_questions)
        if groups is None
        else cluster_codes(groups, labels, argument="groups")
    )
    n_groups = int(codes.max()) + 1
    if check_count("n_folds", n_folds, low=2) > n_groups:
        msg = f"n_folds={n_folds}, but there are only {n_groups} groups of questions: use fewer"
        raise OptionError(msg)
    fold = np.empty(n_questions, dtype=np.int64)
    splits = selection.GroupKFold(n_splits=n_folds).split(codes, groups=codes)
    for number, (_, held_out) in enumerate(splits):
        fold[held_out] = number
    confidence = np.full(answers.correct.shape, np.nan)
    baseline = confidence.copy()
    flags = [
        _fill(confidence[row], baseline[row], known[row], answers, row, fold, penalty)
        for row in range(n_models)
    ]
    return PredictedCorrectness(
        confidence=confidence,
        baseline=baseline,
        fold=fold,
        n_folds=n_folds,
        penalty=float(penalty),
        flags=tuple(flags),
        models=table.models,
        questions=labels,
    )


def _features(features: Any, n_models: int, n_questions: int) -> FloatArray:
    known = float_array(features, "features")
    if known.ndim == 2:
        known = np.broadcast_to(known, (n_models, *known.shape))
    if known.ndim != 3 or known.shape[:2] != (n_models, n_questions):
        msg = (
            f"features has shape {np.shape(features)}: pass (questions, features) or (models, "
            f"questions, features) for {n_models} models and {n_questions} questions"
        )
        raise ShapeError(msg)
    if not known.shape[2]:
        msg = "features has no columns: a classifier needs at least one"
        raise ShapeError(msg)
    bad = np.argwhere(~(np.abs(known) <= LARGEST))
    if bad.size:
        row = int(bad[0][1]) + 1
        msg = (
            f"features of question number {row} are not finite, or too large: correct or drop them"
        )
        raise CodeError(msg)
    return known


def _fill(
    confidence: FloatArray,
    baseline: FloatArray,
    features: FloatArray,
    answers: StatedAnswers,
    row: int,
    fold: IntArray,
    penalty: float,
) -> Reason:
    """Fill one model's confidence and baseline; return a reason if they are undefined."""
    correct, present = answers.correct[row], answers.present[row]
    if not present.any():
        return Reason.NO_ANSWERS
    for number in np.unique(fold):
        train, test = present & (fold != number), present & (fold == number)
        share = correct[train].mean() if train.any() else np.nan
        if not 0.0 < share < 1.0:
            confidence[:], baseline[:] = np.nan, np.nan
            return Reason.NO_WRONG if share >= 1.0 else Reason.NO_CORRECT
        baseline[test] = share
        if test.any():
            model = _fitted(features[train], correct[train], penalty)
            confidence[test] = model.predict_proba(features[test])[:, 1]
    return Reason.NONE


def _fitted(features: FloatArray, correct: FloatArray, penalty: float) -> Any:
    """Fit a weighted logistic regression with each question twice: as correct and as wrong."""
    linear = require("sklearn.linear_model", extra="text", purpose="predicted_correctness")
    pipeline = require("sklearn.pipeline", extra="text", purpose="predicted_correctness")
    scaling = require("sklearn.preprocessing", extra="text", purpose="predicted_correctness")
    rows = np.concatenate([np.flatnonzero(correct > 0), np.flatnonzero(correct < 1)])
    outcome = np.repeat([1, 0], [(correct > 0).sum(), (correct < 1).sum()])
    weight = np.where(outcome == 1, correct[rows], 1.0 - correct[rows])
    model = pipeline.make_pipeline(
        scaling.StandardScaler(), linear.LogisticRegression(C=penalty, max_iter=1000)
    )
    return model.fit(features[rows], outcome, logisticregression__sample_weight=weight)
