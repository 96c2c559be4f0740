r"""Hierarchical logistic factor model of an incomplete table, with side information.

.. math:: P(y_{ij} = 1) = \operatorname{logit}^{-1}(a_i + b_j + u_i^T v_j), \qquad
          (a_i, u_i) \sim N(A^T x_i, \Sigma_r), \quad (b_j, v_j) \sim N(B^T z_j, \Sigma_c),
                                                                                         \quad (1)

with features x of rows and features z of columns. The prior covariance of a feature's coefficients
is the covariance of rows or columns; the SD of the constant's coefficients is ten times larger.
The covariances of rows and columns have an inverse Wishart prior centred at the identity. The
weight of the Wishart prior, as a number of rows or columns, is the dimension plus one. Posteriors
of rows and columns are normal and are computed by coordinate ascent on a variational bound
(`psychollm.kernels.logistic_factors`). All higher-level parameters are estimated by their
posterior modes. Predictions therefore include the uncertainty of rows and columns. The effects of
a row without answers have their prior distribution, whose mean depends on the features.

An answer x between 0 and 1 counts as x yes answers and 1 - x no answers.

References
----------
Simm, J., et al. (2017). Macau: Scalable Bayesian factorization with high-dimensional side
information using MCMC. IEEE MLSP. https://doi.org/10.1109/MLSP.2017.8168143
"""

from dataclasses import dataclass

import numpy as np

from psychollm._base.convergence import Convergence
from psychollm._base.replicate import workers
from psychollm._base.types import AnyArray, FloatArray, IntArray
from psychollm.irt.factors.rounds import (
    Ascent,
    Models,
    Questions,
    records,
    unpacked,
)
from psychollm.kernels.logistic_factors import update_rows

TOLERANCE = 0.01  # root mean square change of the logits per iteration
MAX_ROUNDS = 100
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(9)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()


@dataclass(frozen=True, slots=True)
class Posterior:
    """Normal posteriors of the vectors (intercept, then factors) of rows or columns."""

    mean: FloatArray  # (n, 1 + rank)
    covariance: FloatArray  # (n, 1 + rank, 1 + rank)


@dataclass(frozen=True, slots=True)
class Answers:
    """Answers of a table by rows, in the form that the kernel expects."""

    starts: IntArray  # (rows + 1,)
    places: IntArray  # (answers,) column of each answer
    values: FloatArray  # (answers,)

    @classmethod
    def of(cls, table: FloatArray) -> "Answers":
        """Return the answers of a table (rows, columns), in which NaN means missing."""
        rows, columns = np.nonzero(np.isfinite(table))
        starts = np.searchsorted(rows, np.arange(len(table) + 1))
        return cls(starts.astype(np.int64), columns.astype(np.int64), table[rows, columns])

    def __call__(self, low: int, high: int) -> tuple[IntArray, AnyArray, FloatArray]:
        """Return the answers of some rows."""
        first, last = self.starts[low], self.starts[high]
        start = self.starts[low : high + 1] - first
        return start, self.places[first:last], self.values[first:last]


@dataclass(frozen=True, slots=True)
class LogisticFactors:
    """Fitted model with posteriors of rows and columns, and the population of rows."""

    rows: Posterior
    columns: Posterior
    row_precision: FloatArray  # (k, k) precision of rows given their features
    row_coefficients: FloatArray  # (p, k)
    convergence: Convergence

    def score_rows(self, table: FloatArray, features: FloatArray | None = None) -> Posterior:
        """Return the posteriors of new rows from their answers (rows, columns), given the columns.

        Without features, the prior mean of a row is the mean of the population.
        """
        n = len(table)
        known = np.zeros((n, len(self.row_coefficients)))
        known[:, 0] = 1.0
        if features is not None:
            known[:, 1:] = features
        centre = np.ascontiguousarray(known @ self.row_coefficients)
        k = centre.shape[1]
        spread = np.zeros((k + 1, k + 1))
        spread[1:, 1:] = np.linalg.inv(self.row_precision)
        # The intercept of a column multiplies a constant entry of the row's vector, and vice
        # versa.
        mean = np.insert(centre, 0, 1.0, axis=1)
        packed = np.tile(spread[np.tril_indices(k + 1)], (n, 1))
        columns = records(self.columns.mean, self.columns.covariance, 1)
        answers, prior = Answers.of(table)(0, n), (self.row_precision, centre)
        nothing = np.empty((0, columns.shape[1]))
        for _ in range(MAX_ROUNDS):
            before = mean.copy()
            update_rows(answers, columns, prior, (mean, packed), nothing, True)  # noqa: FBT003
            if np.abs(mean - before).max() < 0.1 * TOLERANCE:
                break
        return _posterior(mean, packed)

    def logits(self, rows: Posterior | None = None) -> tuple[FloatArray, FloatArray]:
        """Return posterior means and variances of the logits (rows, columns)."""
        rows = self.rows if rows is None else rows
        return _logits(rows, self.columns)

    def probabilities(self, rows: Posterior | None = None) -> FloatArray:
        """Return the posterior mean probabilities of a yes (rows, columns)."""
        mean, variance = self.logits(rows)
        spread = np.sqrt(variance)
        total = np.zeros_like(mean)
        for node, weight in zip(_NODES, _WEIGHTS, strict=True):
            total += weight / (1.0 + np.exp(-(mean + node * spread)))
        return total


def _posterior(mean: FloatArray, packed: FloatArray) -> Posterior:
    """Return the posterior without the leading constant entry."""
    covariance = unpacked(packed, mean.shape[1])[:, 1:, 1:]
    return Posterior(np.ascontiguousarray(mean[:, 1:]), np.ascontiguousarray(covariance))


def with_constant(n: int, features: FloatArray | None) -> FloatArray:
    """Return features (n, p) with a leading constant (n, 1 + p)."""
    ones = np.ones((n, 1))
    return ones if features is None else np.hstack([ones, features])


def _logits(rows: Posterior, columns: Posterior) -> tuple[FloatArray, FloatArray]:
    n, m = len(rows.mean), len(columns.mean)
    own, other = rows.mean.copy(), columns.mean.copy()
    own[:, 0], other[:, 0] = 1.0, 1.0
    mean = rows.mean[:, :1] + columns.mean[:, 0] + rows.mean[:, 1:] @ columns.mean[:, 1:].T
    loose = columns.covariance.copy()
    loose[:, 0, :], loose[:, :, 0] = 0.0, 0.0
    squares = (other[:, :, None] * other[:, None] + loose).reshape(m, -1)
    variance = rows.covariance.reshape(n, -1) @ squares.T
    variance += (own[:, :, None] * own[:, None]).reshape(n, -1) @ columns.covariance.reshape(
        m, -1
    ).T
    return mean, np.maximum(variance, 0.0)


def fit_logistic_factors(
    table: FloatArray,
    *,
    rank: int,
    rows: FloatArray | None = None,
    columns: FloatArray | None = None,
    rng: np.random.Generator | int | None = None,
) -> LogisticFactors:
    """Fit equation (1) to answers (rows, columns) between 0 and 1; NaN means missing.

    `rows` (rows, p) and `columns` (columns, q) are features of rows and columns. Features should
    have mean 0 and a root mean square of about 1. Rows and columns may have no answers. `rng` is
    used to draw starting directions of the factors.
    """
    generator = np.random.default_rng(rng)
    n, m = table.shape
    first = [np.zeros((count, rank + 1)) for count in (n, m)]
    for means in first:
        means[:, 1:] = 0.3 * generator.standard_normal((len(means), rank))
    theirs = Questions.start(
        Answers.of(table.T),
        [(0, m)],
        with_constant(m, columns),
        first[1],
        known=(1.0,),
        prior=True,
    )
    ours = Models.start(with_constant(n, rows), first[0], constant=1, prior=True)
    ascent = Ascent((theirs,), ours, workers(1))
    change, rounds = np.inf, 0
    while rounds < MAX_ROUNDS and change >= TOLERANCE:
        rounds += 1
        change = ascent.round(bound=True)
    convergence = Convergence.of_steps(
        converged=change < TOLERANCE, steps=rounds, objective=change
    )
    return LogisticFactors(
        Posterior(ours.mean, ours.covariance),
        _posterior(theirs.mean, theirs.packed),
        ours.population.precision,
        ours.population.coefficients,
        convergence,
    )
