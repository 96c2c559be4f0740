r"""Observed information of the marginal likelihood, without finite differences.

By Louis's identity, with scores :math:`s_u(\theta)` of all item parameters given pattern u,

.. math:: I = \mathrm{diag}_j\Big(-\sum_{cq} n_{jc}(q) \nabla^2 \log P_{jc}(q)\Big)
              - \sum_u f_u\,\mathrm{Cov}_u[s_u].                                       \quad (1)

For logistic items without asymptotes :math:`s_u = (y - P)(\theta, 1)`, and the second term
requires only three weighted products :math:`Y^T \mathrm{diag}(f\,E_u[\theta^m])\,Y`, m = 0, 1, 2.
For all other items the covariances are sums over a few orthonormal polynomials per pattern
(equation (2) of `kernels.quadrature`). With many parameters and few patterns (100 models, 5,000
questions) the matrix is never formed: with :math:`I = D - V V^T`, D block-diagonal,

.. math:: I^{-1} = D^{-1} + D^{-1} V (1 - V^T D^{-1} V)^{-1} V^T D^{-1}.              \quad (2)

References
----------
Louis, T. A. (1982). Finding the observed information matrix when using the EM algorithm. Journal
of the Royal Statistical Society B, 44(2), 226-233.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from psychollm._base.types import BoolArray, FloatArray, IntArray
from psychollm.irt.likelihood import Grid, Problem, posteriors
from psychollm.kernels.quadrature import weighted_polynomials
from psychollm.kernels.response_models import linear, logistic

DENSE = 2_500  # largest number of parameters for which the matrix is formed
MAX_DEGREE = 30
Projection: TypeAlias = Callable[[FloatArray], FloatArray]
Terms: TypeAlias = tuple[FloatArray, Iterator[FloatArray]]
NEGLIGIBLE = 1e-13  # a series ends when the next polynomial adds less than this proportion
ROUGH = 1e-7  # the same proportion for Newton steps, which tolerate larger errors
WIDE, GROUP = 200, 8  # beyond WIDE nodes, GROUP patterns of similar ability form a group
OUTSIDE = 1e-30  # posterior probability below which a node is negligible
BATCH = 2**22  # cells of posteriors in memory at a time


@dataclass(frozen=True, slots=True)
class Parts:
    """Terms of equation (1): complete-data blocks, missing information, and mean scores."""

    # In the dense form, `missing` is (Jp, Jp) and `scores` are products (Jp, Jp) of mean scores.
    # In the low-rank form, `missing` is V (Jp, r) and `scores` are mean scores times root
    # frequency (Jp, U).

    blocks: FloatArray  # (J, p, p)
    missing: FloatArray
    scores: FloatArray
    dense: bool


def parts(
    problem: Problem,
    parameters: FloatArray,
    grid: Grid,
    counts: FloatArray,
    blocks: FloatArray,
    *,
    rough: bool = False,
) -> Parts:
    """Return the terms of equation (1), given the blocks of its first term."""
    if parameters.size > DENSE:
        missing, scores = _factors(problem, parameters, grid, ROUGH if rough else NEGLIGIBLE)
        return Parts(blocks, missing, scores, dense=False)
    if problem.family.exponential and problem.patterns.complete:
        missing, scores = _logistic_products(problem, parameters, grid, counts)
    elif problem.patterns.frequency.size < parameters.size:
        missing, scores = _polynomial_products(problem, parameters, grid)
    else:
        missing, scores = _node_products(problem, parameters, grid)
    return Parts(blocks, missing, scores, dense=True)


def _logistic_products(
    problem: Problem, parameters: FloatArray, grid: Grid, counts: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return sum f Cov(s) and sum f s s^T for logistic items without missing answers."""
    patterns, items = problem.patterns, parameters.shape[0]
    curve, _ = logistic(linear(parameters, grid.nodes))
    powers = [curve * grid.nodes**m for m in range(3)]
    second = np.zeros((3, items, items))
    products = np.zeros((2 * items, 2 * items))
    for block, posterior, _ in posteriors(problem, parameters, grid):
        answers, frequency = patterns.indicator[block], patterns.frequency[block]
        mean = posterior @ grid.nodes
        weights = (frequency, frequency * mean, frequency * (posterior @ grid.nodes**2))
        for m in range(3):
            second[m] += answers.T @ (answers * weights[m][:, None])
        score = np.empty((answers.shape[0], items, 2))
        score[:, :, 0] = answers * mean[:, None] - posterior @ powers[1].T
        score[:, :, 1] = answers - posterior @ powers[0].T
        flat = score.reshape(answers.shape[0], -1)
        products += (flat * frequency[:, None]).T @ flat
    mass = counts[0].sum(axis=0)
    for m in range(3):
        cross = powers[m] @ counts[:, 1].T
        second[m] += (powers[m] * mass) @ curve.T - cross - cross.T
    total = np.empty((items, 2, items, 2))
    for i in range(2):
        for j in range(2):
            total[:, i, :, j] = second[2 - i - j]
    return total.reshape(products.shape) - products, products


def _projected(codes: IntArray, table: FloatArray) -> Projection:
    """Return a function from node weights (u, Q) to sums of weight times score, (u, J p)."""
    # codes: answers (u, J); table: derivatives of log-probabilities (J, C, p, Q).
    items, answers, size, n_nodes = table.shape

    def project(weighted: FloatArray) -> FloatArray:
        total = np.zeros((weighted.shape[0], items, size))
        for answer in range(answers):
            flat = table[:, answer].reshape(items * size, n_nodes)
            part = (weighted @ flat.T).reshape(total.shape)
            part *= (codes == answer)[:, :, None]
            total += part
        return total.reshape(weighted.shape[0], -1)

    return project


def _logistic_projected(codes: IntArray, curve: FloatArray, nodes: FloatArray) -> Projection:
    """Return `_projected` for logistic items, whose scores are (y - P) times (ability, 1)."""
    yes, answered = (codes == 1).astype(np.float64), (codes >= 0).astype(np.float64)

    def project(weighted: FloatArray) -> FloatArray:
        total = np.empty((*codes.shape, 2))
        for k, part in ((0, weighted * nodes), (1, weighted)):
            total[:, :, k] = yes * part.sum(axis=1)[:, None] - answered * (part @ curve.T)
        return total.reshape(codes.shape[0], -1)

    return project


def _projections(
    problem: Problem, parameters: FloatArray, grid: Grid, negligible: float
) -> Iterator[Terms]:
    """Yield mean and projected scores by group of patterns, scaled by the root of frequency."""
    patterns, logistic_items = problem.patterns, problem.family.exponential
    if logistic_items:
        table = logistic(linear(parameters, grid.nodes))[0]
    else:
        table = problem.family.scores(parameters, grid.nodes)
    for block, posterior, _ in posteriors(problem, parameters, grid):
        rows = np.arange(patterns.frequency.size)[block]
        for group, window in _windows(posterior, grid.nodes):
            given, nodes = posterior[group, window], grid.nodes[window]
            if logistic_items:
                project = _logistic_projected(patterns.codes[rows[group]], table[:, window], nodes)
            else:
                project = _projected(patterns.codes[rows[group]], table[..., window])
            root = np.sqrt(patterns.frequency[rows[group]])[:, None]
            yield project(given) * root, _series(project, given, nodes, root, negligible)


def leading_columns(
    problem: Problem, parameters: FloatArray, grid: Grid
) -> Iterator[tuple[FloatArray, FloatArray, Iterator[FloatArray]]]:
    """Yield, by block of patterns, means and SDs of abilities and projections of scores."""
    # The polynomial of the first projection is linear in the ability.
    patterns = problem.patterns
    if problem.family.exponential:
        table = logistic(linear(parameters, grid.nodes))[0]
    else:
        table = problem.family.scores(parameters, grid.nodes)
    for block, posterior, _ in posteriors(problem, parameters, grid):
        codes, root = patterns.codes[block], np.sqrt(patterns.frequency[block])[:, None]
        mean = posterior @ grid.nodes
        sd = np.sqrt(np.maximum(posterior @ grid.nodes**2 - mean**2, 0.0))
        if problem.family.exponential:
            project = _logistic_projected(codes, table, grid.nodes)
        else:
            project = _projected(codes, table)
        yield mean, sd, _series(project, posterior, grid.nodes, root, ROUGH)


def _windows(posterior: FloatArray, nodes: FloatArray) -> Iterator[tuple[IntArray, slice]]:
    """Yield groups of rows with similar abilities, with the range of their relevant nodes."""
    # With thousands of items, each posterior is concentrated on a few of about a thousand nodes.
    if nodes.size <= WIDE:
        yield np.arange(posterior.shape[0]), slice(0, nodes.size)
        return
    order = np.argsort(posterior @ nodes, kind="stable")
    for low in range(0, order.size, GROUP):
        group = order[low : low + GROUP]
        seen = np.flatnonzero((posterior[group] > OUTSIDE).any(axis=0))
        yield group, slice(int(seen[0]), int(seen[-1]) + 1)


def _series(
    project: Projection,
    posterior: FloatArray,
    nodes: FloatArray,
    root: FloatArray,
    negligible: float,
) -> Iterator[FloatArray]:
    """Yield projections on polynomials of increasing degree until they are negligible."""
    total = 0.0
    for weighted in weighted_polynomials(posterior, nodes, MAX_DEGREE):
        term = project(weighted) * root
        yield term
        size = float(np.einsum("up,up->", term, term))
        total += size
        if size <= negligible * total:
            return


def _polynomial_products(
    problem: Problem, parameters: FloatArray, grid: Grid
) -> tuple[FloatArray, FloatArray]:
    """Return sum f Cov(s) and sum f s s^T for any family, by polynomial series."""
    size = parameters.size
    missing, products = np.zeros((size, size)), np.zeros((size, size))
    for mean, terms in _projections(problem, parameters, grid, NEGLIGIBLE):
        products += mean.T @ mean
        for term in terms:
            missing += term.T @ term
    return missing, products


def _node_products(
    problem: Problem, parameters: FloatArray, grid: Grid
) -> tuple[FloatArray, FloatArray]:
    """Return sum f Cov(s) and sum f s s^T from counts of pairs of answers at each node."""
    # A curve much steeper than the posteriors is nearly a step function, whose series would need
    # more polynomials than there are nodes.
    patterns, size = problem.patterns, parameters.size
    table = problem.family.scores(parameters, grid.nodes)  # (J, C, p, Q)
    by_answer = table[:, 1:] - table[:, :1] if patterns.complete else table
    items, answers, p, nodes = by_answer.shape
    always = (table[:, 0] * patterns.complete).reshape(size, nodes)
    total, products = np.zeros((size, size)), np.zeros((size, size))
    for rows, posterior in _batches(problem, parameters, grid):
        indicator, frequency = patterns.indicator[rows], patterns.frequency[rows]
        mean = _projected(patterns.codes[rows], table)(posterior) * np.sqrt(frequency)[:, None]
        products += mean.T @ mean
        weighted = posterior * frequency[:, None]
        for j in range(items):
            later = slice(j * answers, None)  # earlier items follow by symmetry
            part = np.zeros((p, (items - j) * p))
            for c in range(answers):
                given = np.flatnonzero(indicator[:, j * answers + c])
                pairs = indicator[given, later].T @ weighted[given]
                pairs = pairs.reshape(items - j, answers, 1, nodes)
                turned = (pairs * by_answer[j:]).sum(axis=1).reshape(-1, nodes)
                part += by_answer[j, c] @ turned.T
            total[j * p : (j + 1) * p, j * p :] += part
            total[(j + 1) * p :, j * p : (j + 1) * p] += part[:, p:].T
        if patterns.complete:
            yes = (indicator.T @ weighted).reshape(items, answers, 1, nodes)
            sums = (yes * by_answer).sum(axis=1).reshape(size, nodes)
            cross = (sums + 0.5 * weighted.sum(axis=0) * always) @ always.T
            total += cross + cross.T
    return total - products, products


def _batches(
    problem: Problem, parameters: FloatArray, grid: Grid
) -> Iterator[tuple[slice, FloatArray]]:
    """Yield slices of many patterns with their posteriors."""
    held: list[FloatArray] = []
    low = 0
    for block, posterior, _ in posteriors(problem, parameters, grid):
        held.append(posterior)
        high = min(block.stop, problem.patterns.frequency.size)
        if (high - low) * grid.nodes.size >= BATCH or high == problem.patterns.frequency.size:
            yield slice(low, high), np.concatenate(held)
            held, low = [], high


def _factors(
    problem: Problem, parameters: FloatArray, grid: Grid, negligible: float
) -> tuple[FloatArray, FloatArray]:
    """Return V (Jp, r) and mean scores (Jp, U), scaled by the square root of frequency."""
    columns, means = [], []
    for mean, terms in _projections(problem, parameters, grid, negligible):
        means.append(mean)
        columns += list(terms)
    return np.vstack(columns).T, np.vstack(means).T


@dataclass(frozen=True, slots=True)
class DenseCurvature:
    """Cholesky factor of the information of the free parameters."""

    # `design` (Jp, P) maps free parameters to all parameters; None means the identity.

    factor: tuple[FloatArray, bool]
    design: FloatArray | None
    products: FloatArray  # (P, P)
    shape: tuple[int, int]

    def solve(self, gradient: FloatArray) -> FloatArray:
        """Return the Newton step (J, p) for a gradient (J, p)."""
        flat = gradient.ravel()
        if self.design is None:
            return np.asarray(cho_solve(self.factor, flat).reshape(self.shape))
        step = cho_solve(self.factor, self.design.T @ flat)
        return np.asarray((self.design @ step).reshape(self.shape))

    def covariance(self, kind: str) -> FloatArray:
        """Return covariance blocks (J, p, p); NaN if they cannot be computed."""
        items, p = self.shape
        total = self.full(kind).reshape(items, p, items, p)
        return np.asarray(total[range(items), :, range(items)])

    def full(self, kind: str) -> FloatArray:
        """Return covariances of all parameters (J p, J p); NaN if they cannot be computed."""
        size = self.products.shape[0]
        if kind == "cross_product":
            total = _inverse(self.products)
        else:
            total = cho_solve(self.factor, np.eye(size))
            if kind == "sandwich":
                total = total @ self.products @ total
        if self.design is not None:
            total = self.design @ total @ self.design.T
        return np.asarray(total)


def _inverse(matrix: FloatArray) -> FloatArray:
    """Return the inverse of a matrix; NaN if the matrix is not positive definite."""
    try:
        factor = cho_factor(matrix, lower=True)
    except np.linalg.LinAlgError:
        return np.full(matrix.shape, np.nan)
    if np.diagonal(factor[0]).min() <= 1e-7 * np.sqrt(np.diagonal(matrix).max()):
        return np.full(matrix.shape, np.nan)
    return np.asarray(cho_solve(factor, np.eye(matrix.shape[0])))


def dense_curvature(pieces: Parts, frozen: BoolArray, *, tied: bool) -> DenseCurvature | None:
    """Factor the information; None if it is not positive definite."""
    items, p, _ = pieces.blocks.shape
    matrix = -pieces.missing.copy()
    view = matrix.reshape(items, p, items, p)
    view[range(items), :, range(items)] += pieces.blocks
    products = pieces.scores
    design = _tying(items, p) if tied else None
    if design is not None:
        matrix, products = design.T @ matrix @ design, design.T @ products @ design
    fixed = np.flatnonzero(frozen[:, 1:].ravel() if tied else frozen.ravel())
    fixed = fixed + 1 if tied else fixed
    if fixed.size:
        matrix, products = _held(matrix, fixed), _held(products, fixed)
    try:
        factor = cho_factor(0.5 * (matrix + matrix.T), lower=True)
    except np.linalg.LinAlgError:
        return None
    return DenseCurvature(factor, design, products, (items, p))


def _tying(items: int, p: int) -> FloatArray:
    """Return the design matrix (Jp, 1 + J(p-1)) for one slope shared by all items."""
    design = np.zeros((items, p, 1 + items * (p - 1)))
    design[:, 0, 0] = 1.0
    rest = np.arange(items * (p - 1)).reshape(items, p - 1)
    for k in range(1, p):
        design[range(items), k, 1 + rest[:, k - 1]] = 1.0
    return design.reshape(items * p, -1)


def _held(matrix: FloatArray, fixed: IntArray) -> FloatArray:
    """Replace rows and columns of fixed parameters by rows and columns of the identity."""
    matrix = matrix.copy()
    matrix[fixed] = 0.0
    matrix[:, fixed] = 0.0
    matrix[fixed, fixed] = 1.0
    return matrix
