r"""Differences between models in pass@k or pass^k, with simultaneous intervals.

With few questions, or with scores near 0 or 1, simultaneous Student's t intervals of all
differences are wide, and their coverage is still too low. Without clusters, the intervals of
differences therefore combine Wilson intervals of the scores
(`psychollm.reliability.means.combined_intervals`). With clusters, which may be few, the intervals
of differences remain Student's t intervals.

If nearly all of n questions have the same value, the estimated variance is too small. Therefore,
the variance V of a mean p is computed as if one question with a value of 0 or 1 were added:

.. math:: V^+ = \max\Big(V, \, \frac{n V + p (1 - p) / n}{n + 1}\Big).                    \quad (1)

The effective number of questions is :math:`p (1 - p) / V^+`. The correlation of two models' errors
is their covariance divided by the square root of the product of the two models' :math:`V^+`.
"""

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from psychollm._base.types import FloatArray, IntArray
from psychollm.data.labels import Labels
from psychollm.estimates.intervals import wilson
from psychollm.reliability.means.clustered import clustered_mean
from psychollm.reliability.means.combined_intervals import combined_intervals
from psychollm.reliability.means.score_differences import ScoreDifferences, score_differences

if TYPE_CHECKING:
    import pandas as pd


def differences_in(
    values: FloatArray,
    clusters: IntArray | None,
    models: Labels,
    questions: Labels,
    *,
    level: float,
    n_draws: int,
    rng: np.random.Generator,
) -> ScoreDifferences:
    """Return the differences of all pairs of rows of values (models, questions)."""
    found = score_differences(
        _table(values, models, questions), clusters=clusters, adjustment="max_t", level=level,
        n_draws=n_draws, rng=rng,
    )  # fmt: skip
    if clusters is not None:
        return found
    first, second, covariance = _pairs(values)
    scale = np.sqrt(first.variance * second.variance)
    correlation = np.where(scale > 0.0, covariance / np.where(scale > 0.0, scale, 1.0), 0.0)
    return combined_intervals(
        found, lambda each: (first.margins(each), second.margins(each)), correlation
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Means:
    """Means of rows of values, with Wilson intervals."""

    value: FloatArray  # (rows,)
    variance: FloatArray  # (rows,) by (1); 0 if all values are 0 or all are 1
    df: FloatArray  # (rows,)
    n: FloatArray  # (rows,) questions

    def at(self, places: IntArray) -> "_Means":
        """Return the means of some of the rows."""
        return _Means(*(getattr(self, field.name)[places] for field in fields(self)))

    def margins(self, level: float) -> FloatArray:
        """Return the lower and upper margins of the intervals (2, rows)."""
        varies = self.variance > 0.0
        spread = self.value * (1.0 - self.value)
        size = np.where(varies, spread / np.where(varies, self.variance, 1.0), self.n)
        bounds = wilson(self.value * size, size, level=level, df=self.df)
        return np.stack([self.value - bounds[:, 0], bounds[:, 1] - self.value])


def _means(values: FloatArray, weight: FloatArray) -> tuple[_Means, FloatArray]:
    """Return the mean of each row, and each question's contribution to the error of the mean."""
    mean = clustered_mean(np.where(weight > 0.0, values, 0.0), weight, None)
    value = np.clip(np.nan_to_num(mean.value), 0.0, 1.0)
    own, n = np.nan_to_num(mean.se) ** 2, mean.n_clusters
    variance = np.maximum(own, (n * own + value * (1.0 - value) / np.maximum(n, 1.0)) / (n + 1.0))
    df = np.nan_to_num(mean.df, nan=1.0)
    return _Means(value, variance, df, n), np.nan_to_num(mean.parts)


def _pairs(values: FloatArray) -> tuple[_Means, _Means, FloatArray]:
    """Return the means of the first and second model of each pair, and their covariances."""
    i, j = np.triu_indices(len(values), 1)
    there = np.isfinite(values)
    if there.all():
        means, parts = _means(values, np.ones(values.shape))
        return means.at(i), means.at(j), (parts @ parts.T)[i, j]
    found = []
    for row in range(len(values) - 1):  # each pair has its own set of questions
        others = values[row + 1 :]
        both = (there[row] & there[row + 1 :]).astype(np.float64)
        one, parts = _means(np.broadcast_to(values[row], others.shape), both)
        other, of_other = _means(others, both)
        found.append((one, other, (parts * of_other).sum(axis=1)))
    firsts, seconds, covariances = zip(*found, strict=True)
    return _joined(firsts), _joined(seconds), np.concatenate(covariances)


def _joined(parts: tuple[_Means, ...]) -> _Means:
    return _Means(
        *(np.concatenate([getattr(one, field.name) for one in parts]) for field in fields(_Means))
    )


def _table(values: FloatArray, models: Labels, questions: Labels) -> "pd.DataFrame":
    import pandas as pd

    return pd.DataFrame(values, index=pd.Index(models, tupleize_cols=False),
                        columns=pd.Index(questions, tupleize_cols=False))  # fmt: skip
