r"""Marginal likelihood of item parameters, posteriors of respondents, and expected counts.

Let :math:`w_u(q)` be the posterior of the distinct pattern u, with frequency :math:`f_u`, over the
nodes q of the ability. An EM step needs the counts

.. math:: n_{jc}(q) = \sum_u f_u\,w_u(q)\,[y_{uj} = c],                                 \quad (1)

and by Fisher's identity the gradient of the marginal log-likelihood equals the gradient of the
expected complete-data log-likelihood :math:`\sum_{jcq} n_{jc}(q) \log P_{jc}(q)`. Counts and
gradient are computed as matrix products with the patterns, without loops over respondents.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from psychollm._base.types import FloatArray
from psychollm.irt.answers import Patterns
from psychollm.irt.families import Family
from psychollm.kernels.quadrature import HALF_RANGE, normal_grid, normalise_rows

MIN_NODES, MAX_NODES = 61, 6001
MIN_COARSE = 21
PROBES = 261  # abilities at which test information is evaluated
FINE, COARSE = 0.48, 1.4  # spacing of nodes in SDs of the narrowest posterior


@dataclass(frozen=True, slots=True)
class Grid:
    """Nodes of the ability (Q,) and the logarithms of their weights (Q,)."""

    nodes: FloatArray
    log_weights: FloatArray

    @property
    def spacing(self) -> float:
        """Distance between nodes."""
        return float(self.nodes[1] - self.nodes[0])


@dataclass(frozen=True, slots=True)
class NormalPrior:
    """Normal priors of the parameters of J items; a precision of 0 means no prior."""

    means: FloatArray  # (p,), or (J, p) where items differ
    precisions: FloatArray  # same shape as the means
    tied: bool  # a shared slope has one prior, split evenly over items
    n_items: int

    def log_density(self, parameters: FloatArray) -> float:
        """Return the log prior density up to a constant."""
        gap = parameters - self.means
        if self.tied:
            return -0.5 * float(
                self.precisions[0] * gap[0, 0] ** 2 + (gap[:, 1:] ** 2 @ self.precisions[1:]).sum()
            )
        if self.precisions.ndim > 1:
            return -0.5 * float((gap**2 * self.precisions).sum())
        return -0.5 * float((gap**2 @ self.precisions).sum())

    def gradient(self, parameters: FloatArray) -> FloatArray:
        """Return the gradient of the log prior density (J, p)."""
        slope = -self.precisions * (parameters - self.means)
        if self.tied:
            slope[:, 0] /= parameters.shape[0]
        return np.asarray(slope, dtype=np.float64)

    def information(self) -> FloatArray:
        """Return diagonal matrices of precisions, (p, p) or (J, p, p)."""
        precisions = self.precisions.copy()
        if self.tied:
            precisions[0] /= self.n_items
        return np.asarray(precisions[..., None] * np.eye(precisions.shape[-1]))


@dataclass(frozen=True, slots=True)
class Problem:
    """Objective: likelihood of patterns under a family, with normal priors."""

    family: Family
    patterns: Patterns
    prior_means: FloatArray  # (p,), or (J, p) where items differ
    prior_precisions: FloatArray  # same shape as the means

    @property
    def prior(self) -> NormalPrior:
        """Priors of the items."""
        return NormalPrior(
            self.prior_means, self.prior_precisions, self.family.tied, self.patterns.n_items
        )


@dataclass(frozen=True, slots=True)
class Expectation:
    """Results of one pass over the patterns."""

    log_likelihood: float
    objective: float  # log-likelihood plus log prior
    counts: FloatArray  # (J, C, Q)
    mass: FloatArray  # (Q,) expected number of respondents at each node


def narrowest_posterior(family: Family, parameters: FloatArray) -> float:
    """Return the smallest posterior SD of a complete pattern."""
    nodes = np.linspace(-HALF_RANGE, HALF_RANGE, PROBES)
    total = np.zeros(PROBES)
    for low in range(0, parameters.shape[0], 1000):
        part = slice(low, low + 1000)
        total += family.select(part).information(parameters[part], nodes).sum(axis=0)
    return float(1.0 / np.sqrt(1.0 + total.max()))


def grid_for(family: Family, parameters: FloatArray, fineness: float = FINE) -> Grid:
    """Return a grid with a spacing of at most `fineness` SDs of the narrowest posterior."""
    sd = narrowest_posterior(family, parameters)
    low = MIN_NODES if fineness <= FINE else MIN_COARSE
    wanted = np.ceil(2.0 * HALF_RANGE / (fineness * sd)) + 1.0
    return Grid(*normal_grid(int(np.clip(wanted, low, MAX_NODES))))


def posteriors(
    problem: Problem, parameters: FloatArray, grid: Grid
) -> Iterator[tuple[slice, FloatArray, FloatArray]]:
    """Yield blocks of patterns with posteriors (u, Q) and log-likelihoods (u,)."""
    family, patterns = problem.family, problem.patterns
    if patterns.complete:
        base, table = family.contrasts(parameters, grid.nodes)
        base = base + grid.log_weights
    else:
        table = family.log_probabilities(parameters, grid.nodes).reshape(-1, grid.nodes.size)
        base = grid.log_weights
    for block in patterns.blocks(grid.nodes.size):
        joint = patterns.indicator[block] @ table
        joint += base
        log_likelihood = normalise_rows(joint)
        yield block, joint, log_likelihood


def expectation(problem: Problem, parameters: FloatArray, grid: Grid) -> Expectation:
    """Compute the E step: the likelihood, and the expected counts of equation (1)."""
    patterns = problem.patterns
    value, n_nodes = 0.0, grid.nodes.size
    columns = np.zeros((patterns.indicator.shape[1], n_nodes))
    mass = np.zeros(n_nodes)
    for block, posterior, log_likelihood in posteriors(problem, parameters, grid):
        frequency = patterns.frequency[block]
        value += float(frequency @ log_likelihood)
        posterior *= frequency[:, None]
        columns += patterns.indicator[block].T @ posterior
        mass += posterior.sum(axis=0)
    return Expectation(
        log_likelihood=value,
        objective=value + problem.prior.log_density(parameters),
        counts=_counts(patterns, columns, mass),
        mass=mass,
    )


def _counts(patterns: Patterns, columns: FloatArray, mass: FloatArray) -> FloatArray:
    """Return counts (J, C, Q) from the counts of indicator columns."""
    items, answers = patterns.n_items, patterns.n_categories
    if not patterns.complete:
        return columns.reshape(items, answers, -1)
    counts = np.empty((items, answers, mass.size))
    counts[:, 1:] = columns.reshape(items, answers - 1, -1)
    np.subtract(mass, counts[:, 1:].sum(axis=1), out=counts[:, 0])
    np.maximum(counts[:, 0], 0.0, out=counts[:, 0])
    return counts
