r"""Differences of mean scores for many pairs, without a pairs-by-questions array.

If every model answered every question, the residuals in equation (1) of `clustered` are linear in
the scores. The residuals of a pair are then the differences between the two models' residuals. Let
:math:`p_{ig}` be the contribution of cluster g to the error of model i. The square of
:math:`p_{ig}` is a term of equation (2) of `clustered`. The variances of all pairs follow from one
matrix,

.. math:: C_{ij} = \sum_g p_{ig} p_{jg}, \qquad
          \operatorname{Var}(\bar s_i - \bar s_j) = C_{ii} + C_{jj} - 2 C_{ij}.           \quad (1)

Simulated errors of pairs are differences of simulated errors of models. If the variance, equation
(1), is small relative to its terms, it may be a rounding error. Pairs with such small variances
are computed separately, in blocks. If scores are missing, each pair has its own set of questions,
so all pairs are computed separately.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from psychollm._base.replicate import one_blas_thread
from psychollm._base.types import BoolArray, FloatArray, IntArray
from psychollm.data.labels import Labels, numbered, unit_labels
from psychollm.estimates.clustered import pilot_freedom
from psychollm.reliability.means.clustered import (
    ROUNDING,
    ClusteredMean,
    Correction,
    clustered_mean,
    t_interval,
)

_CELLS = 1 << 20  # size of a block of pairs by questions: 8 MB per array
_CANCELLED = 1e-6  # smaller variances, relative to their terms, are recomputed
_NOISE = 100  # number of error vectors drawn at a time

# A function that returns the errors (draws, indices) of the pairs with given indices.
Errors: TypeAlias = Callable[[IntArray], FloatArray]


def strata_of(tasks: Any, questions: Labels) -> IntArray:
    """Return the stratum of each question, numbered from 0."""
    return numbered(unit_labels(tasks, questions, argument="tasks"))[0]


def balanced(
    values: FloatArray, weight: FloatArray, strata: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Return scores and weights (rows, questions) that give all strata equal weight.

    The weighted mean of the returned scores is the unweighted mean over strata. Scores are NaN in
    rows that have fewer than two questions of some stratum.

    Examples
    --------
    >>> scores, weights = balanced(np.array([[1.0, 0, 1, 1, 1, 1]]), np.ones((1, 6)),
    ...                            np.array([0, 0, 1, 1, 1, 1]))
    >>> float((scores * weights).sum().round(12)), weights.round(3).tolist()
    (0.75, [[0.25, 0.25, 0.125, 0.125, 0.125, 0.125]])
    """
    member = (strata[:, None] == np.arange(strata.max() + 1)).astype(np.float64)
    n, known = weight @ member, weight > 0
    with np.errstate(invalid="ignore", divide="ignore"):
        means = (np.where(known, values, 0.0) @ member) / n
        size = n * member.shape[1]
        factor = np.sqrt((1.0 - 1.0 / size) / (1.0 - 1.0 / n))
        shares = np.where(known, 1.0 / size[:, strata], 0.0)
        moved = means.mean(axis=1, keepdims=True) + (values - means[:, strata]) * factor[:, strata]
    enough = (n > 1).all(axis=1, keepdims=True)
    return np.where(enough, np.where(known, moved, 0.0), np.nan), np.where(enough, shares, weight)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairMeans:
    """Differences of mean scores of pairs, with standard errors."""

    value: FloatArray  # (pairs,) first - second
    se: FloatArray  # (pairs,) NaN with fewer than two clusters
    df: FloatArray  # (pairs,)
    pilot_df: FloatArray  # (pairs,) degrees of freedom for planning another study
    n: FloatArray  # (pairs,) number of questions that both answered
    n_clusters: FloatArray  # (pairs,)
    se_paired: FloatArray  # (pairs,) SE assuming independent questions
    se_first: FloatArray  # (pairs,) SE of the first mean, assuming independent questions
    se_second: FloatArray  # (pairs,) SE of the second mean, assuming independent questions
    first_only: FloatArray  # (pairs,) questions that only the first solved; NaN if not binary
    second_only: FloatArray  # (pairs,) questions that only the second solved; NaN if not binary
    few_of_a_task: BoolArray  # (pairs,) whether a stratum has fewer than two questions
    errors: Callable[[np.random.Generator, int], Errors]  # draws error vectors

    def interval(self, level: float) -> FloatArray:
        """Return bounds of Student's t intervals (pairs, 2)."""
        return t_interval(self.value, self.se, self.df, level)


def pair_means(
    values: FloatArray,
    first: IntArray,
    second: IntArray,
    *,
    clusters: IntArray | None,
    strata: IntArray | None,
    correction: Correction,
) -> PairMeans:
    """Return differences between pairs of rows (models, questions); NaN marks missing scores."""
    rows = _Rows(values, clusters, strata, correction)
    if not np.isfinite(values).all():
        return rows.by_pairs(first, second)
    with one_blas_thread():  # rounding depends on the number of threads
        return rows.by_models(first, second)


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """Scores (models, questions), with the clusters and strata of their means."""

    values: FloatArray
    clusters: IntArray | None
    strata: IntArray | None
    correction: Correction

    def by_models(self, i: IntArray, j: IntArray) -> PairMeans:
        """Return the differences of rows without missing scores, by equation (1)."""
        weight, moved = np.ones(self.values.shape), self.values
        if self.strata is not None:
            moved, weight = balanced(moved, weight, self.strata)
        mean, alone = self._mean(moved, weight), clustered_mean(moved, weight, None)
        own = clustered_mean(self.values, weight, None).se
        se, sure = _of_pairs(mean, i, j)
        se_paired, sure_alone = _of_pairs(alone, i, j)
        binary: BoolArray = np.asarray(np.isin(self.values, (0.0, 1.0)).all(axis=1))
        solved = np.where(binary[:, None], self.values, 0.0)
        only = np.where(binary[:, None] & binary, solved @ (1.0 - solved).T, np.nan)
        n = np.full(i.size, float(self.values.shape[1]))
        parts = np.nan_to_num(mean.parts)
        pilot_df = mean.df[i]
        if self.clusters is not None:
            fourths = _fourths(parts, i, j)
            pilot_df = pilot_freedom(pilot_df, se**2, fourths, mean.n_clusters[i])

        def errors(source: np.random.Generator, n_draws: int) -> Errors:
            drawn = np.concatenate([noise @ parts.T for noise in _noise(source, n_draws, parts)])
            # The draws of each model are contiguous in memory, so that pairs are collected faster.
            drawn = np.ascontiguousarray(drawn.T)
            return lambda places: (drawn[i[places]] - drawn[j[places]]).T

        found = PairMeans(
            value=mean.value[i] - mean.value[j],
            se=se,
            df=mean.df[i],
            pilot_df=pilot_df,
            n=n,
            n_clusters=mean.n_clusters[i],
            se_paired=se_paired,
            se_first=own[i],
            se_second=own[j],
            first_only=only[i, j],
            second_only=only[j, i],
            few_of_a_task=np.asarray(np.isnan(moved).any(axis=1))[i],
            errors=errors,
        )
        alike = np.flatnonzero(~(sure & sure_alone))
        if alike.size:
            exact = self.by_pairs(i[alike], j[alike])
            for name in ("value", "se", "se_paired", "pilot_df"):
                getattr(found, name)[alike] = getattr(exact, name)
        return found

    def by_pairs(self, i: IntArray, j: IntArray) -> PairMeans:
        """Return differences between rows with missing scores, computed in blocks of pairs."""
        blocks = [self._block(i[part], j[part]) for part in self._parts(np.arange(i.size))]

        def errors(source: np.random.Generator, n_draws: int) -> Errors:
            n_parts = self.values.shape[1] if self.clusters is None else self.clusters.max() + 1
            noise = np.concatenate([*_noise(source, n_draws, np.empty((0, n_parts)))])

            def of(places: IntArray) -> FloatArray:
                made = [
                    noise @ np.nan_to_num(self._mean(*self._gaps(i[part], j[part])).parts).T
                    for part in self._parts(places)
                ]
                return np.concatenate(made, axis=1)

            return of

        return PairMeans(
            errors=errors,
            **{name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]},
        )

    def _parts(self, places: IntArray) -> list[IntArray]:
        """Return indices of pairs, in parts that fit into memory."""
        size = max(1, _CELLS // self.values.shape[1])
        return np.split(places, range(size, places.size, size))

    def _mean(self, values: FloatArray, weight: FloatArray) -> ClusteredMean:
        return clustered_mean(values, weight, self.clusters, correction=self.correction)

    def _gaps(self, i: IntArray, j: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return differences and their weights (pairs, questions)."""
        gap = self.values[i] - self.values[j]
        both = np.isfinite(gap)
        gap, weight = np.where(both, gap, 0.0), both.astype(np.float64)
        return (gap, weight) if self.strata is None else balanced(gap, weight, self.strata)

    def _block(self, i: IntArray, j: IntArray) -> dict[str, Any]:
        """Return the fields of `PairMeans` for a block of pairs."""
        gap, weight = self._gaps(i, j)
        mean, alone = self._mean(gap, weight), clustered_mean(gap, weight, None)
        both = np.isfinite(self.values[i]) & np.isfinite(self.values[j])
        first, second = (np.where(both, self.values[row], 0.0) for row in (i, j))
        binary = (np.isin(first, (0.0, 1.0)) & np.isin(second, (0.0, 1.0))).all(axis=1)
        binary &= both.any(axis=1)
        return {
            "value": mean.value,
            "se": mean.se,
            "df": mean.df,
            "pilot_df": mean.df
            if self.clusters is None
            else pilot_freedom(
                mean.df, mean.se**2, (np.nan_to_num(mean.parts) ** 4).sum(axis=1), mean.n_clusters
            ),
            "n": both.sum(axis=1).astype(np.float64),
            "n_clusters": mean.n_clusters,
            "se_paired": alone.se,
            "se_first": clustered_mean(first, weight, None).se,
            "se_second": clustered_mean(second, weight, None).se,
            "first_only": np.where(binary, (first > second).sum(axis=1), np.nan),
            "second_only": np.where(binary, (second > first).sum(axis=1), np.nan),
            "few_of_a_task": np.isnan(gap).any(axis=1),
        }


def _fourths(parts: FloatArray, i: IntArray, j: IntArray) -> FloatArray:
    """Return, for each pair, the sum of the fourth powers of the clusters' contributions."""
    square = parts**2
    own, both = (square**2).sum(axis=1), square @ square.T
    odd = (square * parts) @ parts.T
    return np.asarray(own[i] + own[j] + 6.0 * both[i, j] - 4.0 * (odd[i, j] + odd[j, i]))


def _of_pairs(mean: ClusteredMean, i: IntArray, j: IntArray) -> tuple[FloatArray, BoolArray]:
    """Return standard errors by equation (1), and whether each variance exceeds rounding error."""
    products = mean.parts @ mean.parts.T
    both = products.diagonal()[i] + products.diagonal()[j]
    variance = both - 2.0 * products[i, j]
    least = np.maximum(_CANCELLED * both, (ROUNDING * (mean.size[i] + mean.size[j])) ** 2)
    with np.errstate(invalid="ignore"):
        sure = ~(variance <= least)
    se = np.sqrt(np.where(sure, variance, 0.0))
    return np.where(np.isfinite(mean.df[i]), se, np.nan), sure


def _noise(source: np.random.Generator, n_draws: int, parts: FloatArray) -> Iterator[FloatArray]:
    """Yield blocks of independent normal errors of clusters, with `n_draws` rows in total."""
    for start in range(0, n_draws, _NOISE):
        yield source.standard_normal((_NOISE, parts.shape[1]))[: n_draws - start]
