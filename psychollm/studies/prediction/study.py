r"""Prediction of missing answers, evaluated on held-out answers.

Folds hold out single answers, and also whole models and whole questions. Each predictor of
`psychollm.studies.prediction.predictors` is fitted to the remaining answers. The predictor with
the smallest log loss on held-out cells is refitted to all answers. In the evaluation, weights of
the stacked predictor come from the other folds, so no predictor is evaluated on its training data.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import check_count, check_generator
from psychollm._base.errors import CodeError, ShapeError
from psychollm._base.result import Result
from psychollm._base.types import BoolArray, FloatArray, IntArray, RandomState
from psychollm.calibration.errors.binned import calibration_error
from psychollm.calibration.errors.bins import mass_index
from psychollm.data.labels import Labels, positions
from psychollm.data.responses import ResponsesLike
from psychollm.data.table import as_table, numbers
from psychollm.studies.prediction.predictors import (
    MEANS,
    MOST_FOR_2PL,
    RANKS,
    RESEMBLANCE,
    STACKED,
    TWO_PL,
    Features,
    Logits,
    Predictors,
    combined,
    expit,
    log_losses,
    stacked,
)
from psychollm.studies.prediction.side import (
    FULL,
    further,
    gap_features,
    joined,
    label_features,
    side_table,
    table_features,
)

_BINS = 10
_STEPS = 1000  # distinct probabilities
_RESAMPLES = 200
_LEVEL = 0.95
_LEAST = 20  # smallest number of answers


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HeldOut(Result):
    """Accuracy of predictions of held-out answers.

    Attributes
    ----------
    labels : tuple of str
        Names of the predictors, or of the kinds of held-out answers.
    log_loss, se : ndarray of shape (labels,)
        Mean log loss of the answers in nats, and its standard error, with questions as clusters.
    n : int ndarray of shape (labels,)
        Number of held-out answers.
    calibration_error : ndarray of shape (labels,)
        Mean difference between predicted probability and proportion of yes over ten equal-count
        bins, minus its expectation for a calibrated predictor.
    interval : ndarray of shape (labels, 2)
        95 % interval of the calibration error, by resampling questions.
    """

    labels: tuple[str, ...]
    log_loss: FloatArray  # (labels,)
    se: FloatArray  # (labels,)
    n: IntArray  # (labels,)
    calibration_error: FloatArray  # (labels,)
    interval: FloatArray  # (labels, 2)

    _AXES = Axes(
        {"judged": "labels"},
        "log_loss",
        "se_log_loss=se",
        "calibration_error",
        "calibration_error_{bound}=interval",
        "n",
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PredictedAnswers(Result):
    """Predicted probabilities for all models and questions, and their accuracy.

    Attributes
    ----------
    models, questions : tuple
        Labels in the table of answers, followed by further labels from the side information.
    probability : ndarray of shape (models, questions)
        Predicted probability of yes or expected score, which is also computed for known answers.
    answered : bool ndarray of shape (models, questions)
        Whether the answer is known.
    predictor : str
        Name of the predictor used.
    weights : mapping
        Weights of the stacked predictor.
    predictors : HeldOut
        Accuracy of every predictor on held-out cells.
    held_out : HeldOut
        Accuracy of the predictor used: on held-out cells, on models without answers ("models") and
        on questions without answers ("questions").
    """

    models: Labels  # (models,)
    questions: Labels  # (questions,)
    probability: FloatArray  # (models, questions)
    answered: BoolArray  # (models, questions)
    predictor: str
    weights: Mapping[str, float]
    predictors: HeldOut
    held_out: HeldOut

    _AXES = Axes(
        {"model": "models", "question": "questions"},
        "probability",
        "answered",
        arrays={"model question": "probability answered"},
    )

    def predict(
        self, *, models: Iterable[Any] | None = None, questions: Iterable[Any] | None = None
    ) -> FloatArray:
        """Return the probabilities of selected models and questions, in the order passed.

        Raises
        ------
        LabelError
            If a label is unknown or repeated.
        """
        rows = positions("model", self.models, models)
        columns = positions("question", self.questions, questions)
        return np.ascontiguousarray(self.probability[np.ix_(rows, columns)])

    def summary(self) -> str:
        """Return the predictor and its accuracy as text."""
        cells, models, questions = (
            f"{loss:.3f} ({se:.3f})"
            for loss, se in zip(self.held_out.log_loss, self.held_out.se, strict=True)
        )
        means = self.predictors.log_loss[self.predictors.labels.index(MEANS)]
        low, high = 100.0 * self.held_out.interval[0]
        error = 100.0 * self.held_out.calibration_error[0]
        return "\n".join(
            [
                f"{int((~self.answered).sum())} of {self.answered.size} answers were predicted by "
                f"the predictor '{self.predictor}'.",
                f"Its log loss (standard error) is {cells} for held-out answers (item means: "
                f"{means:.3f}), {models} for models without answers and {questions} for questions "
                "without answers.",
                f"Its calibration error is {error:.1f} points [{low:.1f}, {high:.1f}].",
            ]
        )


def predict_answers(
    responses: ResponsesLike,
    models: Any = None,
    questions: Any = None,
    *,
    names: bool = True,
    n_folds: int = 5,
    rng: RandomState = None,
) -> PredictedAnswers:
    """Predict the answers of all models to all questions, and evaluate the predictions.

    Parameters
    ----------
    responses : Responses or table (models, questions)
        Answers (0 or 1), or scores between 0 and 1, which count as fractions of a yes. Missing
        answers are predicted, and known answers are smoothed. Predictions also cover models and
        questions without answers, and questions that all models or no model solved.
    models, questions : DataFrame, optional
        Side information, indexed by label, such as family, date, domain or human minutes. Columns
        are numbers, dates or words; positive numbers with a wide range are log-transformed. Labels
        that are not in `responses` are predicted as well, after the others.
    names : bool
        Whether to use letter n-grams of text labels as features.
    n_folds : int
        Number of folds of the cross-validation.
    rng : int, Generator or None
        Random generator or seed, for folds and starting values.

    Returns
    -------
    PredictedAnswers
        The result has `probability`, `to_frame()`, and the evaluation in `predictors` and
        `held_out`.

    Raises
    ------
    CodeError
        If a value is not between 0 and 1.
    ShapeError
        If there are fewer than 20 answers, or fewer than two models or questions.
    LabelError, OptionError
        If a table has none of the labels, a label occurs twice, or a table is not a DataFrame.

    Notes
    -----
    The evaluated fits use (n_folds - 1) / n_folds of the answers, so the final fit is more
    accurate than the evaluated fits, especially with few answers. The calibration error refers to
    cells held out at random. Cross-validation cannot detect that answers are missing because they
    would have been wrong.

    Examples
    --------
    >>> import psychollm as psy
    >>> rng = np.random.default_rng(3)
    >>> logits = 1.5 * rng.normal(size=(12, 1)) + rng.normal(size=40)
    >>> answers = (rng.random((12, 40)) < 1 / (1 + np.exp(-logits))).astype(float)
    >>> answers[rng.random((12, 40)) < 0.3] = np.nan
    >>> predicted = psy.predict_answers(answers, rng=0, n_folds=3)
    >>> predicted.probability.shape, bool((predicted.probability < 1).all())
    ((12, 40), True)
    """
    n_folds = check_count("n_folds", n_folds, low=2)
    generator = check_generator(rng)
    table = as_table(responses)
    models, questions = side_table(models, "models"), side_table(questions, "questions")
    ours = (*table.models, *further(models, table.models, "models"))
    theirs = (*table.questions, *further(questions, table.questions, "questions"))
    values = np.full((len(ours), len(theirs)), np.nan)
    values[: len(table.models), : len(table.questions)] = numbers(table)
    _check(values, ours, theirs)
    sides = _Sides(
        table_features(models, ours),
        table_features(questions, theirs),
        label_features(ours) if names else np.empty((len(ours), 0)),
        label_features(theirs) if names else np.empty((len(theirs), 0)),
    )
    predictors = _predictors(values, sides, generator)
    folds = _Folds.drawn(values, n_folds, generator)
    judged, used, name = _compared(folds.cells(predictors), folds)
    apart = folds.apart(predictors, used)
    score = partial(_scored, folds=folds, rng=generator)
    scores = {one: score(own) for one, own in judged.items()}
    return PredictedAnswers(
        models=ours,
        questions=theirs,
        probability=expit(predictors.combined(values, used)),
        answered=np.isfinite(values),
        predictor=name,
        weights=used,
        predictors=_held_out(scores),
        held_out=_held_out(
            {"cells": scores[name]}
            | {
                which: score(own)
                for which, own in zip(("models", "questions"), apart, strict=True)
            }
        ),
    )


@dataclass(frozen=True, slots=True)
class _Sides:
    """Side information that does not depend on the held-out answers."""

    models: FloatArray
    questions: FloatArray
    model_labels: FloatArray
    question_labels: FloatArray

    def of(self, table: FloatArray, *, gaps: bool) -> Features:
        """Return features of models and of questions, given the known answers."""
        blocks, others = [self.models, self.model_labels], [self.questions, self.question_labels]
        if gaps:
            there = np.isfinite(table)
            blocks.append(gap_features(there, "models"))
            others.append(gap_features(there, "questions"))
        return joined(blocks), joined(others)


def _check(values: FloatArray, models: Labels, questions: Labels) -> None:
    known = np.isfinite(values)
    outside = known & ((values < 0.0) | (values > 1.0))
    if outside.any():
        row, column = (int(k) for k in np.argwhere(outside)[0])
        msg = (
            f"responses: model {models[row]!r}, question {questions[column]!r} has "
            f"{values[row, column]:g}: answers must be between 0 and 1, so divide graded ones by "
            "the highest score"
        )
        raise CodeError(msg)
    if known.sum() < _LEAST or known.any(axis=1).sum() < 2 or known.any(axis=0).sum() < 2:
        msg = (
            f"responses has {known.sum()} answers of {known.any(axis=1).sum()} models to "
            f"{known.any(axis=0).sum()} questions: at least {_LEAST}, 2 and 2 are needed"
        )
        raise ShapeError(msg)


def _predictors(values: FloatArray, sides: _Sides, rng: np.random.Generator) -> Predictors:
    known = values[np.isfinite(values)]
    most = max(1, min(values.shape) // 3)
    # In a nearly complete table, most gaps come from the folds, so their pattern is uninformative.
    gapless = np.isfinite(values).mean() > FULL
    return Predictors(
        features=partial(sides.of, gaps=not gapless),
        ranks=tuple(sorted({min(rank, most) for rank in RANKS})),
        with_2pl=bool(np.isin(known, (0.0, 1.0)).all()) and known.size <= MOST_FOR_2PL,
        rng=int(rng.integers(2**31)),
    )


@dataclass(frozen=True, slots=True)
class _Folds:
    """Assignments of answers, of models and of questions to folds."""

    values: FloatArray  # (models, questions)
    rows: IntArray  # (answers,)
    columns: IntArray  # (answers,)
    cell: IntArray  # (answers,) fold
    row: IntArray  # (models,) fold
    column: IntArray  # (questions,) fold
    n: int

    @classmethod
    def drawn(cls, values: FloatArray, n: int, rng: np.random.Generator) -> "_Folds":
        rows, columns = np.nonzero(np.isfinite(values))
        cell, row, column = (
            rng.permutation(np.arange(size) % n) for size in (rows.size, *values.shape)
        )
        return cls(values, rows, columns, cell, row, column, n)

    @property
    def y(self) -> FloatArray:
        """The answers (answers,)."""
        return self.values[self.rows, self.columns]

    def cells(self, predictors: Predictors) -> Logits:
        """Return logits by predictor; each fold holds out single answers (answers,)."""
        found: Logits = {}
        for fold in range(self.n):
            out = self.cell == fold
            rows, columns = self.rows[out], self.columns[out]
            rest = self.values.copy()
            rest[rows, columns] = np.nan
            for name, logits in predictors.logits(rest):
                found.setdefault(name, np.full(out.size, np.nan))[out] = logits[rows, columns]
        return found

    def apart(
        self, predictors: Predictors, weights: Mapping[str, float]
    ) -> tuple[FloatArray, FloatArray]:
        """Return two sets of logits (answers,): of held-out models, and of held-out questions.

        One fit holds out models and questions together; a held-out model's answer to a held-out
        question is NaN.
        """
        by_model, by_question = (np.full(self.rows.size, np.nan) for _ in "ab")
        for fold in range(self.n):
            model, question = self.row[self.rows] == fold, self.column[self.columns] == fold
            rest = self.values.copy()
            rest[self.row == fold] = np.nan
            rest[:, self.column == fold] = np.nan
            logits = predictors.combined(rest, weights)
            for out, kept in ((model & ~question, by_model), (question & ~model, by_question)):
                kept[out] = logits[self.rows[out], self.columns[out]]
        return by_model, by_question


def _compared(held: Logits, folds: _Folds) -> tuple[Logits, dict[str, float], str]:
    """Return held-out logits by predictor, and weights and name of the best predictor."""
    y = folds.y
    losses = {
        name: float(log_losses(y, one).mean()) for name, one in held.items() if name != RESEMBLANCE
    }
    stackable = [name for name in losses if name not in (MEANS, TWO_PL)]
    start = min(stackable, key=losses.__getitem__)
    together = np.empty(y.size)
    for fold in range(folds.n):
        out = folds.cell == fold
        weights = stacked(held, y, start, ~out)
        together[out] = combined({name: one[out] for name, one in held.items()}, weights)
    judged = {name: held[name] for name in losses} | {STACKED: together}
    losses[STACKED] = float(log_losses(y, together).mean())
    best = min(losses, key=losses.__getitem__)
    return judged, stacked(held, y, start) if best == STACKED else {best: 1.0}, best


class _Score(NamedTuple):
    """Accuracy of one predictor."""

    log_loss: float
    se: float
    n: int
    calibration_error: float
    interval: FloatArray  # (2,) interval of the calibration error


def _scored(logits: FloatArray, *, folds: _Folds, rng: np.random.Generator) -> _Score:
    """Return the accuracy of the predicted logits (answers,)."""
    there = np.isfinite(logits)
    y, logits, question = folds.y[there], logits[there], folds.columns[there]
    loss = log_losses(y, logits)
    off = np.bincount(question, loss - loss.mean())
    n_questions = int((np.bincount(question) > 0).sum())
    se = float(np.sqrt((off**2).sum() * n_questions / max(n_questions - 1, 1)) / y.size)
    stated, correct, clusters, weights = _by_question(expit(logits), y, question)
    found = calibration_error(
        stated,
        correct,
        bins="mass",
        n_bins=_BINS,
        n_null=_RESAMPLES,
        clusters=clusters,
        weights=weights,
        bootstrap=_RESAMPLES,
        level=_LEVEL,
        rng=rng,
    )
    error = float(found.debiased.value[0])
    return _Score(float(loss.mean()), se, int(y.size), error, found.corrected.interval[0])


def _by_question(
    p: FloatArray, y: FloatArray, question: IntArray
) -> tuple[FloatArray, FloatArray, IntArray, FloatArray]:
    """Return mean prediction, mean answer, question and number of answers by question and bin."""
    # The gap of a bin and its resamples depend only on these means. Rounding limits the number of
    # distinct values, which determines the computing time of resampling.
    rounded = np.round(p * _STEPS).astype(np.int64)
    values, level, counts = np.unique(rounded, return_inverse=True, return_counts=True)
    bin_of = mass_index(np.arange(values.size), counts.astype(np.float64), _BINS, left=False)
    cell = question * _BINS + bin_of[level]
    n = np.bincount(cell)
    known = np.flatnonzero(n)
    mean, correct = (np.bincount(cell, x)[known] / n[known] for x in (p, y))
    return np.round(mean * _STEPS) / _STEPS, correct, known // _BINS, n[known].astype(np.float64)


def _held_out(scores: Mapping[str, _Score]) -> HeldOut:
    loss, se, n, error, interval = zip(*scores.values(), strict=True)
    return HeldOut(
        labels=tuple(scores),
        log_loss=np.array(loss),
        se=np.array(se),
        n=np.array(n),
        calibration_error=np.array(error),
        interval=np.array(interval),
    )
