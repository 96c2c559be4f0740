"""The table behind a binned reliability diagram: confidence and accuracy of every bin."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.result import Result
from psychollm._base.types import FloatArray, IntArray
from psychollm.calibration.errors.bins import Bins
from psychollm.calibration.stated import StatedAnswers
from psychollm.calibration.tally import Tally
from psychollm.estimates.proportions import wilson


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReliabilityBins(Result):
    """Bins of all models, one below the other: those that hold answers.

    Examples
    --------
    >>> from psychollm.calibration.errors.binned import calibration_error
    >>> table = calibration_error([[0.9, 0.9, 0.2]], [[1, 0, 0]], rng=0).bins
    >>> table.confidence, table.accuracy, table.n
    (array([0.2, 0.9]), array([0. , 0.5]), array([1., 2.]))
    """

    model: IntArray  # (rows,) place among `labels`
    lower: FloatArray  # (rows,) edges; equal where the bin is one confidence
    upper: FloatArray  # (rows,)
    confidence: FloatArray  # (rows,) mean
    accuracy: FloatArray  # (rows,) share correct
    n: FloatArray  # (rows,) answers, weighted
    interval: FloatArray  # (rows, 2) of accuracy, Wilson
    level: float
    labels: tuple[Any, ...]  # (models,)

    _AXES = Axes(
        {},
        ("model", lambda bins: [bins.labels[row] for row in bins.model]),
        "lower",
        "upper",
        "confidence",
        "accuracy",
        "n",
        "accuracy_{bound}=interval",
    )


def reliability_bins(
    answers: StatedAnswers,
    tables: Sequence[Tally],
    binned: Callable[[Tally], Bins],
    *,
    level: float,
) -> ReliabilityBins:
    """Return the bins of every model."""
    # The interval of an accuracy is Wilson's for as many independent answers as would give it the
    # variance it has: fewer than were given where weights differ or clusters go together.
    rows = [_rows(tally, binned(tally), level) for tally in tables]
    names = ("lower", "upper", "confidence", "accuracy", "n", "interval")
    columns = {name: np.concatenate([part[i] for part in rows]) for i, name in enumerate(names)}
    model = np.repeat(np.arange(len(tables)), [len(part[0]) for part in rows])
    return ReliabilityBins(model=model, **columns, level=level, labels=answers.models)


def _rows(tally: Tally, bins: Bins, level: float) -> tuple[FloatArray, ...]:
    """Return the columns of one model's bins."""
    counts = tally.correct + tally.wrong

    def sums(of_groups: FloatArray) -> FloatArray:
        total = np.bincount(bins.index, of_groups, minlength=bins.size)
        return np.asarray(total, dtype=np.float64)

    n = sums(counts)
    accuracy = sums(tally.correct) / n
    confidence = sums(tally.values * counts) / n
    free = _independent(tally, bins, accuracy)
    interval = wilson(accuracy * free, free, level=level)
    return bins.edges[:, 0], bins.edges[:, 1], confidence, accuracy, n, interval


def _independent(tally: Tally, bins: Bins, accuracy: FloatArray) -> FloatArray:
    """Return how many independent answers each accuracy is worth (bins,)."""
    # Kish's number for the weights; with clusters, that which gives the variance between them, at
    # most as many as there are answers and at least one; where all are right or wrong, the
    # clusters.
    place = bins.index[tally.group]
    weight = np.bincount(place, tally.weight, minlength=bins.size)
    worth = weight**2 / np.bincount(place, tally.weight**2, minlength=bins.size)
    if tally.cluster is None:
        return worth
    pair, inside = np.unique(np.stack([place, tally.cluster]), axis=1, return_inverse=True)
    residual = np.bincount(inside.ravel(), tally.weight * (tally.right - accuracy[place]))
    variance = np.bincount(pair[0], residual**2, minlength=bins.size) / weight**2
    clusters = np.bincount(pair[0], minlength=bins.size).astype(np.float64)
    spread = accuracy * (1.0 - accuracy)
    with np.errstate(invalid="ignore", divide="ignore"):
        alike = np.where(variance > 1e-12, spread / variance, clusters)
    return np.clip(alike, 1.0, worth)
