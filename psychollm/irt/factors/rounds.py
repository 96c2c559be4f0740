"""Coordinate ascent for a logistic factor model.

An iteration is one pass over the questions, which are read in blocks. Each iteration updates the
posteriors of questions given the posteriors of models, and accumulates the sums for the models'
posteriors (`psychollm.kernels.logistic_factors`). At the end of an iteration, the posteriors of
models and both populations are updated. Only the vectors of questions and models are kept, so that
memory does not grow with the number of filled cells. Blocks are summed in order, so that results
are bitwise identical for any number of workers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

import numpy as np

from psychollm._base.replicate import Workers, spread
from psychollm._base.types import AnyArray, FloatArray, IntArray
from psychollm.kernels.logistic_factors import update_rows

CONSTANT = 0.01  # prior precision of the constant's coefficients; features have precision 1


class Reads(Protocol):
    """Function that reads the answers to a range of questions."""

    def __call__(self, low: int, high: int) -> tuple[IntArray, AnyArray, FloatArray]:
        """Return each question's offset, the models of its answers, and the answers."""


@dataclass(slots=True)
class Population:
    """Normal prior of vectors, centred at the prediction from features."""

    features: FloatArray  # (n, p) with a leading constant
    precision: FloatArray  # (k, k)
    coefficients: FloatArray  # (p, k)
    prior: bool  # whether constant and covariance have a prior

    @classmethod
    def start(cls, features: FloatArray, k: int, *, prior: bool) -> Population:
        """Return a standard normal population."""
        return cls(features, np.eye(k), np.zeros((features.shape[1], k)), prior)

    def centre(self, low: int = 0, high: int | None = None) -> FloatArray:
        """Return the prediction from features (n, k)."""
        return np.ascontiguousarray(self.features[low:high] @ self.coefficients)

    def learn(self, mean: FloatArray, spread: FloatArray) -> None:
        """Set coefficients and precision to their modes, from means (n, k) and covariances."""
        x = self.features
        n, k = mean.shape
        penalty = np.diag([CONSTANT * self.prior] + [1.0] * (x.shape[1] - 1))
        self.coefficients = np.asarray(
            np.linalg.solve(x.T @ x + penalty, x.T @ mean), dtype=np.float64
        )
        gap = mean - x @ self.coefficients
        pseudo = (k + 1) * self.prior
        scatter = gap.T @ gap + spread + pseudo * np.eye(k)
        scatter += self.coefficients.T @ penalty @ self.coefficients
        self.precision = np.linalg.inv(scatter / (n + pseudo))


def packed_size(d: int) -> int:
    """Return the number of entries in the lower triangle of a matrix."""
    return d * (d + 1) // 2


def unpacked(packed: FloatArray, d: int) -> FloatArray:
    """Return symmetric matrices (..., d, d) from their lower triangles, row by row."""
    rows, columns = np.tril_indices(d)
    full = np.empty((*packed.shape[:-1], d, d))
    full[..., rows, columns] = packed
    full[..., columns, rows] = packed
    return full


def records(mean: FloatArray, covariance: FloatArray, constant: int) -> FloatArray:
    """Return E[z z'] and E[z] (n, p + d), with a constant inserted into z."""
    z = np.insert(mean, constant, 1.0, axis=1)
    d = z.shape[1]
    second = z[:, :, None] * z[:, None]
    free = np.delete(np.arange(d), constant)
    second[:, free[:, None], free] += covariance
    rows, columns = np.tril_indices(d)
    return np.ascontiguousarray(np.hstack([second[:, rows, columns], z]))


@dataclass(slots=True)
class Questions:
    """Vectors of questions, with the reader of their answers."""

    reads: Reads
    ranges: list[tuple[int, int]]
    population: Population
    mean: FloatArray  # (m, d) means, known entries first
    packed: FloatArray  # (m, p) covariances

    @classmethod
    def start(
        cls,
        reads: Reads,
        ranges: list[tuple[int, int]],
        features: FloatArray,
        first: FloatArray,
        *,
        known: tuple[float, ...] = (),
        prior: bool = False,
    ) -> Questions:
        """Return starting vectors: the known entries, followed by the means `first` (m, k)."""
        m, k = first.shape
        mean = np.hstack([np.tile(np.asarray(known), (m, 1)), first])
        d = mean.shape[1]
        covariance = np.diag([0.0] * len(known) + [0.05] * k)[np.tril_indices(d)]
        population = Population.start(features, k, prior=prior)
        return cls(reads, ranges, population, mean, np.tile(covariance, (m, 1)))

    @property
    def known(self) -> int:
        """Number of entries with known values; these entries come first in each vector."""
        return int(self.mean.shape[1]) - len(self.population.precision)

    @property
    def told(self) -> FloatArray:
        """Vectors used as features, in units of the population SD, with a leading constant."""
        # The SD of the vectors themselves is not used as the unit, because a small SD is mostly
        # noise.
        entries = self.mean[:, self.known :]
        entries = entries - entries.mean(axis=0)
        squares = (entries**2).sum(axis=0) + np.diagonal(self._loose)
        return np.insert(entries / np.sqrt(squares / len(entries)), 0, 1.0, axis=1)

    @property
    def _loose(self) -> FloatArray:
        """Posterior covariances of the unknown vectors, summed over rows."""
        total = unpacked(self.packed.sum(axis=0), self.mean.shape[1])
        return total[self.known :, self.known :]

    def learn(self) -> None:
        """Set the population parameters to their posterior modes."""
        self.population.learn(self.mean[:, self.known :], self._loose)


@dataclass(slots=True)
class Models:
    """Vectors of models, without the constant entry."""

    population: Population
    constant: int
    mean: FloatArray  # (n, q)
    covariance: FloatArray  # (n, q, q)

    @classmethod
    def start(
        cls, features: FloatArray, first: FloatArray, constant: int, *, prior: bool = False
    ) -> Models:
        """Return starting vectors with the means `first` (n, q)."""
        n, q = first.shape
        covariance = np.tile(0.05 * np.eye(q), (n, 1, 1))
        population = Population.start(features, q, prior=prior)
        return cls(population, constant, first, covariance)

    @property
    def records(self) -> FloatArray:
        """Vectors in the form that the kernel expects."""
        return records(self.mean, self.covariance, self.constant)

    def update(self, sums: FloatArray, levels: FloatArray | None = None) -> None:
        """Set the posteriors from sums over questions.

        The argument `levels` contains the sums for the first entries of the vectors.
        """
        d = self.mean.shape[1] + 1
        total, pull = unpacked(sums[:, : packed_size(d)], d), sums[:, packed_size(d) :].copy()
        if levels is not None:
            more = unpacked(levels[:, : packed_size(d)], d)[:, 0]
            known = np.insert(self.mean, self.constant, 1.0, axis=1)[:, 1:]
            total[:, 0, 0] += more[:, 0]
            pull[:, 0] += levels[:, packed_size(d)] - (more[:, 1:] * known).sum(axis=1)
        free = np.delete(np.arange(d), self.constant)
        prior = self.population.precision
        pull = self.population.centre() @ prior + pull[:, free] - total[:, free, self.constant]
        inverse = np.linalg.inv(prior + total[:, free[:, None], free])
        self.covariance = np.asarray(inverse, dtype=np.float64)
        self.mean = np.ascontiguousarray((self.covariance @ pull[:, :, None])[:, :, 0])

    def learn(self) -> None:
        """Set the population parameters to their posterior modes."""
        self.population.learn(self.mean, self.covariance.sum(axis=0))


Piece: TypeAlias = tuple[int, int, int, FloatArray, FloatArray, FloatArray]


@dataclass(frozen=True, slots=True)
class _Pass:
    """Data pass that updates one block of questions while the models' posteriors are fixed."""

    reads: tuple[Reads, ...]
    precisions: tuple[FloatArray, ...]
    records: FloatArray
    bound: bool

    def __call__(self, piece: Piece) -> tuple[float, FloatArray, FloatArray, FloatArray]:
        """Return log-likelihood, posteriors of the block's questions, and sums for the models."""
        kind, low, high, centre, mean, packed = piece
        sums = np.zeros_like(self.records)
        mean, packed = mean.copy(), packed.copy()
        cells = self.reads[kind](low, high)
        prior = self.precisions[kind], centre
        found = update_rows(cells, self.records, prior, (mean, packed), sums, self.bound)
        return found, mean, packed, sums


@dataclass(slots=True)
class Ascent:
    """Questions of one or two kinds, with the models that answer them.

    Questions of the first kind describe answers, and questions of the second kind describe missing
    data. Missing data contribute only to the first entries (the levels) of the models' vectors.
    Patterns of missing data therefore do not appear as factors. Conversely, the vectors of the
    first kind of questions have a normal distribution given the vectors of the second kind.
    """

    kinds: tuple[Questions, ...]
    models: Models
    who: Workers
    likelihoods: FloatArray = field(default_factory=lambda: np.zeros(0), init=False)
    # The log-likelihood of each kind of question in the last iteration is in `likelihoods`.

    def __post_init__(self) -> None:
        for those in self.kinds[1:]:
            k = len(self.kinds[0].population.precision)
            self.kinds[0].population = Population.start(those.told, k, prior=False)

    @property
    def _blocks(self) -> list[tuple[int, int, int]]:
        return [(k, *bounds) for k, those in enumerate(self.kinds) for bounds in those.ranges]

    def _pieces(self) -> Iterator[Piece]:
        for kind, low, high in self._blocks:
            those = self.kinds[kind]
            centre = those.population.centre(low, high)
            yield kind, low, high, centre, those.mean[low:high], those.packed[low:high]

    def round(self, *, bound: bool = False, learn: bool = True) -> float:
        """Make one pass over all cells; return the root mean square change of the logits."""
        old = self.models.records
        sums = np.zeros((len(self.kinds), *old.shape))
        step = _Pass(
            tuple(those.reads for those in self.kinds),
            tuple(those.population.precision for those in self.kinds),
            old,
            bound,
        )
        d = self.models.mean.shape[1] + 1
        grams = np.zeros((3, d, d))
        self.likelihoods = np.zeros(len(self.kinds))
        found = spread(step, self._pieces(), self.who)
        for (kind, low, high), part in zip(self._blocks, found, strict=True):
            those, (likelihood, mean, packed, added) = self.kinds[kind], part
            before = those.mean[low:high]
            if kind == 0:
                grams += np.stack([before.T @ before, before.T @ mean, mean.T @ mean])
            those.mean[low:high], those.packed[low:high] = mean, packed
            self.likelihoods[kind] += likelihood
            sums[kind] += added
        self.models.update(*sums)
        if learn:
            self._learn()
        cells = len(old) * len(self.kinds[0].mean)
        return _change(old[:, -d:], self.models.records[:, -d:], grams) / float(np.sqrt(cells))

    def _learn(self) -> None:
        """Set the parameters of all populations to their posterior modes."""
        self.models.learn()
        for those in reversed(self.kinds):
            those.learn()
            if those is not self.kinds[0]:
                self.kinds[0].population.features = those.told


def _change(old: FloatArray, new: FloatArray, grams: FloatArray) -> float:
    """Return the square root of the sum of squared changes, from cross products."""
    # |Z W' - Z0 W0'|^2 = <Z'Z, W'W> - 2 <Z0'Z, W0'W> + <Z0'Z0, W0'W0>
    squares = np.sum((old.T @ old) * grams[0]) - 2.0 * np.sum((old.T @ new) * grams[1])
    return float(np.sqrt(max(squares + np.sum((new.T @ new) * grams[2]), 0.0)))
