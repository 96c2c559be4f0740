r"""Predictors of missing answers, and their stacked combination.

Each predictor returns a logit for every cell of a table with missing data. The simplest predictor
is the item mean. The Rasch model has normal distributions of abilities and of difficulties.
Predictions of the 2PL (`psychollm.fit_irt`) are averaged over the posterior of each ability. Item
means are used where the 2PL has no estimate. Graded scores and very large tables are predicted
without the 2PL. The multidimensional logistic model (`psychollm.irt.logistic_factors`) is fitted
with and without side information.

The resemblance predictor uses the residuals of similar models. Equation (1) defines the similarity
w of models i and k and the logit h, with D the residuals of the largest factor model and V the
variances of the answers.

.. math:: w_{ik} = \frac{\sum_j D_{ij} D_{kj}}{5 + \sum_j \sqrt{V_{ij} V_{kj}}}, \qquad
          h_{ij} = \sum_{k \ne i} w_{ik}^3 D_{kj}.                                       \quad (1)

The cube gives most weight to near copies of a model, because a small number of factors cannot
represent near copies.

The stacked predictor is a logistic regression of held-out answers on these logits, shrunk towards
the best single predictor.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from psychollm._base.replicate import one_blas_thread
from psychollm._base.types import BoolArray, FloatArray
from psychollm.irt.logistic_factors import fit_logistic_factors

SMALLEST = 1e-6
MEANS, RASCH, TWO_PL, RESEMBLANCE, STACKED = "item means", "Rasch", "2PL", "resemblance", "stacked"
RANKS = (2, 8)
MOST_FOR_2PL = 150_000  # largest number of answers for the 2PL
_SHRINKAGE = 10.0  # prior precision of stacking weights
_SHIFT = 5.0  # constant in the denominator of (1)
_BLOCK = 100_000  # answers whose logits are stacked together

Features = tuple[FloatArray | None, FloatArray | None]
Logits = dict[str, FloatArray]


@dataclass(frozen=True, slots=True)
class Predictors:
    """Predictors fitted to a table."""

    features: Callable[[FloatArray], Features]  # features of models and questions, given the table
    ranks: tuple[int, ...]
    with_2pl: bool
    rng: int

    def logits(
        self, table: FloatArray, *, stackable: bool = False
    ) -> Iterator[tuple[str, FloatArray]]:
        """Yield the name and the logits of each predictor, or of each stackable predictor."""
        # Large tables leave no memory for the logits of all predictors together.
        ours, theirs = self.features(table)
        if not stackable:
            yield MEANS, logit(_means(table))
            if self.with_2pl:
                yield TWO_PL, logit(_two_pl(table))
        yield RASCH, self._factors(table, 0, None, None)
        last = self._factors(table, self.ranks[-1], None, None)
        yield _name(self.ranks[-1]), last
        if ours is not None or theirs is not None:
            for rank in self.ranks:
                last = self._factors(table, rank, ours, theirs)
                yield f"{_name(rank)} + side", last
        yield RESEMBLANCE, _resemblance(table, expit(last))

    def combined(self, table: FloatArray, weights: Mapping[str, float]) -> FloatArray:
        """Return for each cell the weighted sum of the predictors' logits."""
        total = np.zeros(table.shape)
        for name, logits in self.logits(table, stackable=not weights.keys() & {MEANS, TWO_PL}):
            if name in weights:
                total += weights[name] * logits
        return total

    def _factors(
        self, table: FloatArray, rank: int, ours: FloatArray | None, theirs: FloatArray | None
    ) -> FloatArray:
        with one_blas_thread():
            fit = fit_logistic_factors(table, rank=rank, rows=ours, columns=theirs, rng=self.rng)
            return logit(fit.probabilities())


def _name(rank: int) -> str:
    return f"{rank} factor{'s' if rank > 1 else ''}"


def logit(p: FloatArray) -> FloatArray:
    """Return log odds of probabilities clipped to the open interval (0, 1)."""
    inside = np.clip(p, SMALLEST, 1.0 - SMALLEST)
    return np.asarray(np.log(inside) - np.log1p(-inside))


def expit(x: FloatArray) -> FloatArray:
    """Return the logistic function, the inverse of `logit`."""
    return np.asarray(1.0 / (1.0 + np.exp(-x)))


def _means(table: FloatArray) -> FloatArray:
    """Return question means, shrunk as if two average answers were added (n, m)."""
    there = np.isfinite(table)
    mean = (np.nansum(table, axis=0) + 2.0 * table[there].mean()) / (there.sum(axis=0) + 2.0)
    return np.broadcast_to(mean, table.shape).copy()


def _two_pl(table: FloatArray) -> FloatArray:
    """Return predictions of the 2PL, or item means where predictions are undefined (n, m)."""
    from psychollm.irt.fit import fit_irt

    predicted = fit_irt(table, model="2pl").predict(table)
    return np.where(np.isfinite(predicted), predicted, _means(table))


def _resemblance(table: FloatArray, p: FloatArray) -> FloatArray:
    """Return the similarity of equation (1)."""
    there = np.isfinite(table)
    residual = np.where(there, table - p, 0.0)
    deviation = np.where(there, np.sqrt(p * (1.0 - p)), 0.0)
    with one_blas_thread():
        alike = residual @ residual.T / (_SHIFT + deviation @ deviation.T)
        np.fill_diagonal(alike, 0.0)
        return np.asarray(alike**3 @ residual)


def log_losses(y: FloatArray, logits: FloatArray) -> FloatArray:
    """Return the log loss of each answer; scores between 0 and 1 weight the two outcomes."""
    return np.asarray(np.logaddexp(0.0, logits) - y * logits)


def stacked(
    held: Mapping[str, FloatArray], y: FloatArray, best: str, used: BoolArray | None = None
) -> dict[str, float]:
    """Return the weights of a logistic regression of answers on logits, by Newton steps."""
    names = [name for name in held if name not in (MEANS, TWO_PL)]
    blocks = [slice(start, start + _BLOCK) for start in range(0, y.size, _BLOCK)]
    kept = [slice(None) if used is None else used[block] for block in blocks]
    large = [held[RESEMBLANCE][block][part] for block, part in zip(blocks, kept, strict=True)]
    mean_square = sum(float(x @ x) for x in large) / sum(x.size for x in large)
    scale = np.ones(len(names))
    scale[names.index(RESEMBLANCE)] = np.sqrt(max(mean_square, 1e-12))
    start = np.array([float(name == best) for name in names])
    weights = start.copy()
    for _ in range(50):
        slope = -_SHRINKAGE * (weights - start)
        curvature = _SHRINKAGE * np.eye(len(names))
        for block, part in zip(blocks, kept, strict=True):
            x = np.stack([held[name][block][part] for name in names]) / scale[:, None]
            p = expit(weights @ x)
            slope += x @ (y[block][part] - p)
            curvature += (x * (p * (1.0 - p))) @ x.T
        step = np.linalg.solve(curvature, slope)
        weights = weights + step
        if np.abs(step).max() < 1e-8:
            break
    return dict(zip(names, (weights / scale).tolist(), strict=True))


def combined(logits: Mapping[str, FloatArray], weights: Mapping[str, float]) -> FloatArray:
    """Return the weighted sum of logits."""
    return np.asarray(sum(weight * logits[name] for name, weight in weights.items()))
