r"""Validation of inputs, assignment of questions to folds, and ridge regression.

Let X be the centred features, y the outcome and :math:`H = 11^\top/n + X (X^\top X + \lambda
I)^{-1} X^\top`. If a group g of questions is held out, no refit is needed, because its prediction
errors follow exactly from the full fit:

.. math:: e_g = (I - H_{gg})^{-1} (y - H y)_g.                                            \quad (1)

The questions of a group are always held out together.

References
----------
Allen, D. M. (1974). The relationship between variable selection and data augmentation and a method
for prediction. Technometrics, 16, 125-127. https://doi.org/10.1080/00401706.1974.10489157
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from psychollm._base.checks import float_array
from psychollm._base.errors import CodeError, InputError, LabelError, OptionError, ShapeError
from psychollm._base.types import BoolArray, FloatArray, IntArray
from psychollm.data.labels import in_order, numbered, unit_labels
from psychollm.estimates.folds import dealt
from psychollm.studies.difficulty.words import Words, learn_words

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

# The penalties are multiples of the mean squared norm of a row.
PENALTIES = tuple(float(x) for x in np.logspace(-2.0, 4.0, 19))


class Ridge(NamedTuple):
    """Fitted ridge regression."""

    weights: FloatArray  # (features,)
    intercept: float
    penalty: float

    def predict(self, table: FloatArray) -> FloatArray:
        """Return predictions (rows,)."""
        return np.asarray(table @ self.weights + self.intercept)


def ridge(table: FloatArray, outcome: FloatArray, groups: IntArray) -> Ridge:
    """Fit a ridge regression with the penalty that minimises equation (1), the held-out error."""
    means, level = table.mean(axis=0), float(outcome.mean())
    x, y = table - means, outcome - level
    square = float((x**2).sum(axis=1).mean())
    if square <= 0.0 or not np.any(y):
        return Ridge(np.zeros(table.shape[1]), level, np.inf)
    values, vectors = _eigen(x)
    along = vectors.T @ y
    best, chosen = np.inf, PENALTIES[-1]
    for relative in PENALTIES:
        shrink = values / (values + relative * square)
        error = _left_out(vectors, shrink, y, along, groups)
        if error < best * (1.0 - 1e-9):
            best, chosen = error, relative
    dual = vectors @ (along / (values + chosen * square))
    weights = x.T @ dual
    return Ridge(weights, level - float(means @ weights), chosen * square)


def _eigen(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return non-zero eigenvalues and eigenvectors of x x', from the smaller of x x' and x' x."""
    if x.shape[0] <= x.shape[1]:
        values, vectors = np.linalg.eigh(x @ x.T)
        keep = values > 1e-10 * values[-1]
        return values[keep], vectors[:, keep]
    values, right = np.linalg.eigh(x.T @ x)
    keep = values > 1e-10 * values[-1]
    return values[keep], x @ right[:, keep] / np.sqrt(values[keep])


def _left_out(
    vectors: FloatArray, shrink: FloatArray, y: FloatArray, along: FloatArray, groups: IntArray
) -> float:
    """Return the mean squared error, equation (1), of held-out groups."""
    n = y.size
    residual = y - vectors @ (shrink * along)
    if np.unique(groups).size == n:
        leverage = 1.0 / n + (vectors**2) @ shrink
        return float(np.mean((residual / np.maximum(1.0 - leverage, 1e-12)) ** 2))
    total = 0.0
    for group in np.unique(groups):
        own = np.flatnonzero(groups == group)
        part = vectors[own]
        hat = 1.0 / n + (part * shrink) @ part.T
        total += float((np.linalg.solve(np.eye(own.size) - hat, residual[own]) ** 2).sum())
    return total / n


Embedding: TypeAlias = Callable[[Sequence[str]], Any]

FEWEST = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Questions:
    """Texts of questions, and their features if passed."""

    texts: tuple[str, ...]
    labels: tuple[Hashable, ...]
    table: FloatArray | None  # (questions, features)
    groups: IntArray  # (questions,)

    def take(self, rows: IntArray) -> Questions:
        """Return the selected questions."""
        return Questions(
            texts=tuple(self.texts[row] for row in rows),
            labels=tuple(self.labels[row] for row in rows),
            table=None if self.table is None else self.table[rows],
            groups=self.groups[rows],
        )

    def fit(self, outcome: FloatArray) -> Model:
        """Fit a ridge regression to the questions."""
        if self.table is None:
            words = learn_words(self.texts)
            return Model(words, None, None, ridge(words.measure(self.texts), outcome, self.groups))
        mean, spread = self.table.mean(axis=0), self.table.std(axis=0)
        # Scale rows to a norm of about one, as for texts, so that the same penalties apply.
        scale = np.where(spread > 1e-12, spread, np.inf) * np.sqrt(self.table.shape[1])
        return Model(None, mean, scale, ridge((self.table - mean) / scale, outcome, self.groups))


@dataclass(frozen=True, slots=True)
class Model:
    """Ridge regression, with the means and scales of its features."""

    words: Words | None
    mean: FloatArray | None  # (features,)
    scale: FloatArray | None  # (features,)
    line: Ridge

    def predict(self, questions: Questions) -> FloatArray:
        """Return predictions (questions,)."""
        if self.words is not None:
            return self.line.predict(self.words.measure(questions.texts))
        return self.line.predict((questions.table - self.mean) / self.scale)  # type: ignore[operator]


def as_questions(
    texts: Sequence[str] | Mapping[Any, str],
    *,
    features: ArrayLike | Embedding | None = None,
    groups: Sequence[Any] | None = None,
) -> Questions:
    """Return validated questions; raise an error if a text is empty or lengths do not match."""
    if isinstance(texts, str) or not hasattr(texts, "__len__") or hasattr(texts, "columns"):
        given = f"={texts!r:.60}" if isinstance(texts, str) else f" is a {type(texts).__name__}"
        msg = f"texts{given}: pass a list of questions, or a mapping of labels to questions"
        raise InputError(msg)
    labels = tuple(texts) if isinstance(texts, Mapping) else tuple(range(len(texts)))
    listed = tuple(texts.values()) if isinstance(texts, Mapping) else tuple(texts)
    for label, text in zip(labels, listed, strict=True):
        if not isinstance(text, str) or not text.strip():
            msg = f"texts: question {label!r} is {text!r:.60}, not a text: pass a string"
            raise CodeError(msg)
    if len(listed) < FEWEST:
        msg = f"texts holds {len(listed)} questions: at least {FEWEST} are needed"
        raise ShapeError(msg)
    return Questions(
        texts=listed,
        labels=labels,
        table=as_features(features, listed),
        groups=np.arange(len(labels))
        if groups is None
        else numbered(unit_labels(groups, labels, argument="groups"))[0],
    )


def as_features(features: ArrayLike | Embedding | None, texts: Sequence[str]) -> FloatArray | None:
    """Return a table of features (questions, features); call `features` if it is a function."""
    if features is None:
        return None
    made = features(list(texts)) if callable(features) else features
    table = float_array(made, "features")
    if table.ndim != 2 or len(table) != len(texts) or table.shape[1] < 1:
        msg = f"features must be (questions, features) for {len(texts)} questions: {table.shape}"
        raise ShapeError(msg)
    if not np.isfinite(table).all():
        row, column = np.argwhere(~np.isfinite(table))[0]
        msg = f"features[{row}, {column}] is {table[row, column]}: features must be finite"
        raise CodeError(msg)
    return table


def as_outcome(name: str, values: Any, labels: tuple[Hashable, ...]) -> FloatArray:
    """Return one number per question (questions,), NaN if missing."""
    if hasattr(values, "scores") and hasattr(values, "questions"):
        values = dict(zip(values.questions, values.scores, strict=True))
        labels = labels if labels != tuple(range(len(labels))) else tuple(values)
    if isinstance(values, Mapping):
        if absent := [label for label in labels if label not in values]:
            msg = f"{name} has no value for question {absent[0]!r}: pass NaN if it is missing"
            raise LabelError(msg)
        values = [values[label] for label in labels]
    array = float_array(in_order(values, labels, argument=name), name)
    if array.ndim == 2 and len(array) == 1:
        array = array[0]
    if array.shape != (len(labels),):
        msg = f"{name} must hold one number per question ({len(labels)}), got {array.shape}"
        raise ShapeError(msg)
    return np.where(np.isfinite(array), array, np.nan)


def as_binary(name: str, values: Any, labels: tuple[Hashable, ...]) -> FloatArray:
    """Return 1, 0 or NaN per question; raise an error for other values."""
    if hasattr(values, "codes") and hasattr(values, "missing"):
        values = np.where(values.missing, np.nan, values.codes)
    array = as_outcome(name, values, labels)
    odd = np.flatnonzero(np.isfinite(array) & (array != 0) & (array != 1))
    if odd.size:
        msg = f"{name} of question {labels[odd[0]]!r} is {array[odd[0]]:g}: it must be 1 or 0"
        raise CodeError(msg)
    return array


def fold_of(groups: IntArray, n_folds: int, rng: np.random.Generator) -> IntArray:
    """Assign whole groups to folds of similar size, largest groups first (questions,)."""
    # With fewer groups than folds, each group is a fold.
    n_groups = np.unique(groups).size
    if n_groups < 2:
        msg = "groups: all questions are in one group; cross-validation needs at least two"
        raise OptionError(msg)
    return dealt(groups, min(n_folds, n_groups), rng)


def parts(fold: IntArray) -> list[tuple[IntArray, IntArray]]:
    """Return, for each fold, the rows to fit and the rows to predict."""
    chosen: list[BoolArray] = [fold == one for one in np.unique(fold)]
    return [(np.flatnonzero(~own), np.flatnonzero(own)) for own in chosen]


def out_of_fold(questions: Questions, outcome: FloatArray, fold: IntArray) -> FloatArray:
    """Return out-of-fold predictions (questions,)."""
    predicted = np.empty(outcome.size)
    for fit_on, own in parts(fold):
        predicted[own] = questions.take(fit_on).fit(outcome[fit_on]).predict(questions.take(own))
    return predicted
