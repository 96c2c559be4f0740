r"""A hierarchical logistic factor model of a table with gaps, with side information.

.. math:: P(y_{ij} = 1) = \operatorname{logit}^{-1}(a_i + b_j + u_i^T v_j), \qquad
          (a_i, u_i) \sim N(A^T x_i, \Sigma_r), \quad (b_j, v_j) \sim N(B^T z_j, \Sigma_c),
                                                                                         \quad (1)

with features x of rows and z of columns. Coefficients vary a priori as rows and columns do, the
constant's ten times as much; both covariances have an inverse Wishart prior around the identity,
worth one row more than they have dimensions. Posteriors of rows and columns are normal, found by
coordinate ascent on a variational bound (`psychollm.kernels.logistic_factors`); everything above
them is at its mode. What is unknown of a row or a column therefore enters its predictions: a row
that answered nothing is predicted from its features, and with the spread of rows.

An answer between 0 and 1 counts as that share of a yes and the rest of a no.

References
----------
Simm, J., et al. (2017). Macau: Scalable Bayesian factorization with high-dimensional side
information using MCMC. IEEE MLSP. https://doi.org/10.1109/MLSP.2017.8168143
"""

from dataclasses import dataclass

import numpy as np

from psychollm._base.convergence import Convergence
from psychollm._base.types import FloatArray, IntArray
from psychollm.kernels.logistic_factors import update_side

TOLERANCE = 0.01  # root mean square change of the logits in one round
MAX_ROUNDS = 100
_CONSTANT = 0.01  # prior precision of a constant's coefficients, that of features' being 1
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(9)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()


@dataclass(frozen=True, slots=True)
class Posterior:
    """Normal posteriors of the vectors of rows or columns: intercept, then factors."""

    mean: FloatArray  # (n, 1 + rank)
    covariance: FloatArray  # (n, 1 + rank, 1 + rank)

    @property
    def pair(self) -> tuple[FloatArray, FloatArray]:
        """As the argument of a kernel."""
        return self.mean, self.covariance


@dataclass(slots=True)
class _Side:
    """Rows or columns while they are fitted."""

    features: FloatArray  # (n, p), a constant first
    posterior: Posterior
    precision: FloatArray  # (k, k) of vectors around what their features say
    coefficients: FloatArray  # (p, k)

    @classmethod
    def start(
        cls, n: int, features: FloatArray | None, rank: int, rng: np.random.Generator
    ) -> "_Side":
        k = rank + 1
        known = with_constant(n, features)
        mean = np.zeros((n, k))
        mean[:, 1:] = 0.3 * rng.standard_normal((n, rank))
        posterior = Posterior(mean, np.tile(0.05 * np.eye(k), (n, 1, 1)))
        return cls(known, posterior, np.eye(k), np.zeros((known.shape[1], k)))

    @property
    def centre(self) -> FloatArray:
        return np.ascontiguousarray(self.features @ self.coefficients)

    def update(self, answers: "Answers", other: Posterior) -> None:
        update_side(
            *answers.arrays,
            self.precision,
            self.centre,
            other.pair,
            self.posterior.pair,
        )

    def learn(self) -> None:
        """Set regression and covariance to their modes given the posteriors."""
        x, mean = self.features, self.posterior.mean
        n, k = mean.shape
        penalty = np.ones(x.shape[1])
        penalty[0] = _CONSTANT
        moments = x.T @ x + np.diag(penalty)
        self.coefficients = np.asarray(np.linalg.solve(moments, x.T @ mean), dtype=np.float64)
        gap = mean - x @ self.coefficients
        pseudo = k + 1
        scatter = gap.T @ gap + self.posterior.covariance.sum(axis=0) + pseudo * np.eye(k)
        scatter += (self.coefficients.T * penalty) @ self.coefficients
        self.precision = np.linalg.inv(scatter / (n + pseudo))


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers of a table row by row, as the kernel reads them."""

    starts: IntArray  # (rows + 1,)
    places: IntArray  # (answers,) their columns
    values: FloatArray  # (answers,)

    @classmethod
    def of(cls, table: FloatArray) -> "Answers":
        """Take the answers of a table (rows, columns) with NaN where there is none."""
        rows, columns = np.nonzero(np.isfinite(table))
        starts = np.searchsorted(rows, np.arange(len(table) + 1))
        return cls(starts.astype(np.int64), columns.astype(np.int64), table[rows, columns])

    @property
    def arrays(self) -> tuple[IntArray, IntArray, FloatArray]:
        """As the arguments of a kernel."""
        return self.starts, self.places, self.values


@dataclass(frozen=True, slots=True)
class LogisticFactors:
    """A fitted model: posteriors of rows and columns, and the populations they come from."""

    rows: Posterior
    columns: Posterior
    row_precision: FloatArray  # (k, k) of rows around what their features say
    row_coefficients: FloatArray  # (p, k)
    convergence: Convergence

    def score_rows(self, table: FloatArray, features: FloatArray | None = None) -> Posterior:
        """Return the posteriors of new rows (rows, columns) of answers, with the columns as known.

        Without features a row comes from the mean of the population.
        """
        n = len(table)
        known = np.zeros((n, len(self.row_coefficients)))
        known[:, 0] = 1.0
        if features is not None:
            known[:, 1:] = features
        centre = np.ascontiguousarray(known @ self.row_coefficients)
        spread = np.linalg.inv(self.row_precision)
        posterior = Posterior(centre.copy(), np.tile(spread, (n, 1, 1)))
        answers = Answers.of(table)
        for _ in range(MAX_ROUNDS):
            before = posterior.mean.copy()
            update_side(
                *answers.arrays,
                self.row_precision,
                centre,
                self.columns.pair,
                posterior.pair,
            )
            if np.abs(posterior.mean - before).max() < 0.1 * TOLERANCE:
                break
        return posterior

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


def with_constant(n: int, features: FloatArray | None) -> FloatArray:
    """Return features (n, p) behind a constant (n, 1 + p)."""
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
    """Fit (1) to a table (rows, columns) of answers between 0 and 1, NaN where there is none.

    `rows` (rows, p) and `columns` (columns, q) are their features, best of mean 0 and a root mean
    square of about 1. Rows and columns may be without answers. `rng` sets
    the directions in which factors start.
    """
    generator = np.random.default_rng(rng)
    n, m = table.shape
    ours = _Side.start(n, rows, rank, generator)
    theirs = _Side.start(m, columns, rank, generator)
    by_row, by_column = Answers.of(table), Answers.of(table.T)
    before = np.zeros((n, m))
    change = np.inf
    rounds = 0
    while rounds < MAX_ROUNDS and change >= TOLERANCE:
        rounds += 1
        theirs.update(by_column, ours.posterior)
        theirs.learn()
        ours.update(by_row, theirs.posterior)
        ours.learn()
        now = ours.posterior.mean[:, :1] + theirs.posterior.mean[:, 0]
        now += ours.posterior.mean[:, 1:] @ theirs.posterior.mean[:, 1:].T
        change = float(np.sqrt(np.mean((now - before) ** 2)))
        before = now
    convergence = Convergence.of_steps(
        converged=change < TOLERANCE, steps=rounds, objective=change
    )
    return LogisticFactors(
        ours.posterior, theirs.posterior, ours.precision, ours.coefficients, convergence
    )
