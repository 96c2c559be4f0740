"""Scores under several conditions, with one row per score and labels of condition and model."""

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from psychollm._base.checks import float_array
from psychollm._base.errors import CodeError, LabelError, ShapeError
from psychollm._base.result import Result
from psychollm._base.types import FloatArray, IntArray
from psychollm.data.labels import index_of, listed, numbered, unit_labels


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ConditionScores(Result):
    """Non-missing scores with their conditions and models."""

    scores: FloatArray  # (n,)
    condition: IntArray  # (n,) index into `conditions`
    model: IntArray  # (n,) index into `models`
    conditions: tuple[Hashable, ...]  # labels of the conditions, in order of appearance
    models: tuple[Hashable, ...]  # labels of the models; one per score if no models are named

    @property
    def sizes(self) -> IntArray:
        """Number of scores of each condition (conditions,)."""
        return np.bincount(self.condition, minlength=len(self.conditions))

    @property
    def all_tied(self) -> bool:
        """Whether all scores are equal."""
        return bool(self.scores.size) and bool(self.scores.min() == self.scores.max())

    def means(self) -> FloatArray:
        """Return each model's mean score under each condition, or NaN (models, conditions)."""
        shape = (len(self.models), len(self.conditions))
        cell = np.ravel_multi_index((self.model, self.condition), shape)
        counts = np.bincount(cell, minlength=int(np.prod(shape))).reshape(shape)
        first = np.full(shape, np.nan)
        first[self.model[::-1], self.condition[::-1]] = self.scores[::-1]
        # The first score is subtracted so that the mean of equal repeats is exact and ties are
        # preserved.
        off = self.scores - first[self.model, self.condition]
        sums = np.bincount(cell, off, minlength=int(np.prod(shape))).reshape(shape)
        return np.asarray(first + sums / np.maximum(counts, 1))

    @property
    def crossed(self) -> bool:
        """Whether any model has scores under several conditions."""
        pairs = np.unique(np.stack([self.model, self.condition]), axis=1)
        return bool(pairs.shape[1] > len(self.models))

    def averaged(self) -> "ConditionScores":
        """Return the mean of the repeats for each model and condition."""
        means = self.means()
        model, condition = np.nonzero(np.isfinite(means))
        return replace(self, scores=means[model, condition], condition=condition, model=model)


def condition_scores(scores: ArrayLike, conditions: Any, models: Any = None) -> ConditionScores:
    """Check scores, and assign integer codes to their conditions and models."""
    values = _numbers(scores)
    rows = index_of(scores) or tuple(range(values.size))
    condition = unit_labels(conditions, rows, argument="conditions", kind="row")
    model = list(rows)
    if models is not None:
        model = unit_labels(models, rows, argument="models", kind="row")
    known = np.flatnonzero(np.isfinite(values))
    codes, names = numbered([condition[row] for row in known])
    who, labels = numbered([model[row] for row in known])
    return ConditionScores(
        scores=values[known], condition=codes, model=who, conditions=names, models=labels
    )


def _numbers(scores: Any) -> FloatArray:
    values = float_array(scores, "scores")
    if values.ndim != 1 or not values.size:
        msg = "scores must be a vector with one number per row, such as table['total']"
        raise ShapeError(msg)
    infinite = np.flatnonzero(np.isinf(values))
    if infinite.size:
        msg = f"scores: row {infinite[0] + 1} is infinite: leave unknown scores missing (NaN)"
        raise CodeError(msg)
    return values


def check_known(kind: str, label: Hashable, labels: tuple[Hashable, ...]) -> int:
    """Return the index of a label; if it is unknown, raise an error that lists the labels."""
    if label not in labels:
        msg = f"there is no {kind} {label!r}: choose one of {listed(labels)}"
        raise LabelError(msg)
    return labels.index(label)
