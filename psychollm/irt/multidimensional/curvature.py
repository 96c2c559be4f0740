r"""Observed information by Louis's identity, with solutions of linear systems and inverse blocks.

.. math:: I = D - V^\top V, \qquad D = \mathrm{blockdiag}(B_1, \dots, B_J, C),         \quad (1)

where B is the complete-data information of an item, C the complete-data information of the
correlations of abilities, and V the centred scores of all nodes
(`kernels.irt_multidimensional_scores`). With correlations :math:`\Phi`, their directions
:math:`E_a`, second moments S and n respondents,

.. math:: C_{ab} = \mathrm{tr}(\Phi^{-1} E_a \Phi^{-1} E_b \Phi^{-1} S)
          - \tfrac{n}{2}\,\mathrm{tr}(\Phi^{-1} E_a \Phi^{-1} E_b).                       \quad (2)

With many parameters and few nodes (two dozen models, thousands of questions) the matrix is never
formed: :math:`I^{-1} = D^{-1} + D^{-1} V^\top (1 - V D^{-1} V^\top)^{-1} V D^{-1}`.

Standard errors of loadings are computed by the delta method. With
:math:`s^2 = D^2 + a^\top \Phi a`, a loading :math:`\lambda_k = a_k / s` has the derivatives

.. math:: \frac{\partial \lambda_k}{\partial a_l} = \frac{[k = l]}{s}
          - \frac{a_k (\Phi a)_l}{s^3}, \qquad
          \frac{\partial \lambda_k}{\partial \rho_{pq}} = -\frac{a_k a_p a_q}{s^3}.      \quad (3)
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, solve_triangular

from psychollm._base.types import BoolArray, FloatArray
from psychollm.irt.families import Link
from psychollm.irt.multidimensional.problem import Place, Point, Problem, pairs
from psychollm.irt.multidimensional.scale import constant_of
from psychollm.kernels.adaptive_rules import Rule
from psychollm.kernels.irt_multidimensional_scores import score_rows

DENSE = 3_000  # up to this number of parameters, the matrix is always formed
CELLS = 8_000_000  # entries of rows of V per block
MANY_CELLS = 250_000_000  # entries of rows of V kept in memory


@dataclass(frozen=True, slots=True)
class DenseInformation:
    """Factored information matrix of the free parameters."""

    factor: tuple[FloatArray, bool]
    free: BoolArray  # (P,)
    items: int

    def solve(self, gradient: FloatArray) -> FloatArray:
        """Return the Newton step (P,), zero for fixed parameters."""
        step = np.zeros(self.free.size)
        step[self.free] = cho_solve(self.factor, gradient[self.free])
        return step

    def inverse(self) -> FloatArray:
        """Return the covariance matrix (P, P), NaN for fixed parameters."""
        full = np.full((self.free.size, self.free.size), np.nan)
        size = int(self.free.sum())
        full[np.ix_(self.free, self.free)] = cho_solve(self.factor, np.eye(size))
        return full


@dataclass(frozen=True, slots=True)
class LowRankInformation:
    """Inverse information, from blocks of D and scaled rows of V, without forming the matrix."""

    roots: FloatArray  # (J, p, p) inverse Cholesky factors of the blocks
    tail: FloatArray  # (c, c) inverse Cholesky factor of C
    rows: FloatArray  # (r, P) V times the transposed inverse roots
    factor: tuple[FloatArray, bool]
    free: BoolArray  # (P,)

    def _half(self, values: FloatArray, *, transposed: bool) -> FloatArray:
        """Return the inverse root of D, or its transpose, times a vector."""
        items, p = self.roots.shape[:2]
        head, rest = values[: items * p].reshape(items, p), values[items * p :]
        way, end = ("jab,ja->jb", self.tail.T) if transposed else ("jab,jb->ja", self.tail)
        return np.concatenate([np.einsum(way, self.roots, head).ravel(), end @ rest])

    def solve(self, gradient: FloatArray) -> FloatArray:
        """Return the Newton step (P,), zero for fixed parameters."""
        half = self._half(np.where(self.free, gradient, 0.0), transposed=False)
        half = half + self.rows.T @ cho_solve(self.factor, self.rows @ half)
        return np.where(self.free, self._half(half, transposed=True), 0.0)

    def blocks(self) -> tuple[FloatArray, FloatArray]:
        """Return covariances of each item's parameters (J, p, p) and of correlations (c, c)."""
        items, p = self.roots.shape[:2]
        half = solve_triangular(self.factor[0], self.rows, lower=True)
        inner = half[:, : items * p].reshape(-1, items, p)
        total = np.einsum("rja,rjb->jab", inner, inner, optimize=True) + np.eye(p)
        blocks = np.einsum("jab,jac,jcd->jbd", self.roots, total, self.roots, optimize=True)
        rest = half[:, items * p :]
        end = self.tail.T @ (rest.T @ rest + np.eye(len(self.tail))) @ self.tail
        free = self.free[: items * p].reshape(items, p)
        blocks[~(free[:, :, None] & free[:, None])] = np.nan
        return blocks, end


def information(
    problem: Problem, point: Point, rule: Rule
) -> DenseInformation | LowRankInformation | None:
    """Return the factored observed information; None if it is not positive definite."""
    blocks, end, free = _complete(problem, point)
    try:
        kept = problem.frequency.size * rule[2]
        if free.size > DENSE and kept < free.size and kept * free.size < MANY_CELLS:
            return _low_rank(problem, point, rule, (blocks, end, free))
        return _dense(problem, point, rule, (blocks, end, free))
    except LinAlgError:
        return None


def _complete(problem: Problem, point: Point) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Return the blocks of D without fixed parameters, and the free parameters (P,)."""
    free = problem.free.copy()
    blocks = point.complete.copy()
    for j in np.flatnonzero(point.running):
        slopes = np.append(point.place.slopes[j], 0.0)
        outward = slopes / np.linalg.norm(slopes)
        blocks[j] += 1e8 * blocks[j].trace() * np.outer(outward, outward)
    blocks = np.where(free[:, :, None] & free[:, None], blocks, np.eye(free.shape[1]))
    end = np.zeros((0, 0))
    if problem.correlated:
        end = _of_correlations(problem, point)
    return blocks, end, np.append(free.ravel(), np.ones(len(end), dtype=np.bool_))


def _of_correlations(problem: Problem, point: Point) -> FloatArray:
    """Return the information on correlations, equation (2), plus the information of the prior."""
    m, n = problem.dimensions, problem.frequency.sum()
    inverse = np.linalg.inv(point.place.correlation)
    second = n * point.moments(problem.frequency)[1]
    rows, columns = pairs(m)
    directions = np.zeros((rows.size, m, m))
    index = np.arange(rows.size)
    directions[index, rows, columns] = directions[index, columns, rows] = 1.0
    turned = inverse @ directions  # (c, m, m)
    first = np.einsum("aij,bjk,ki->ab", turned, turned, inverse @ second)
    end = 0.5 * (first + first.T)
    # The log prior has the form of a normal log-likelihood, so its second derivative has the same
    # form.
    end -= 0.5 * (n - 2.0 * problem.eta) * np.einsum("aij,bji->ab", turned, turned)
    return np.asarray(end, dtype=np.float64)


def _rows(problem: Problem, point: Point, rule: Rule, block: slice, width: int) -> FloatArray:
    """Return the rows of the matrix V that belong to a block of answer patterns."""
    items, data, prior = problem.kernel_arguments(point.place)
    part = tuple(values[block] for values in data)  # type: ignore[index]
    rows = np.empty((part[2].size * rule[2], width))
    own = rule
    if rule[3]:  # every pattern has its own segment of the sequence
        spare = rule[1].size - rule[2] + 1
        places = (np.arange(block.start, block.start + part[2].size) * rule[3]) % spare
        index = (places[:, None] + np.arange(rule[2])).ravel()
        own = (rule[0][index], rule[1][index], rule[2], rule[2])
    score_rows(items, part, prior, own, point.modes[block].copy(), rows)
    return rows


def _blocks_of_patterns(problem: Problem, rule: Rule, width: int) -> list[slice]:
    """Return slices of patterns that fit into memory."""
    rows = problem.frequency.size
    step = max(1, CELLS // (rule[2] * width))
    return [slice(low, min(low + step, rows)) for low in range(0, rows, step)]


Pieces = tuple[FloatArray, FloatArray, BoolArray]


def _dense(problem: Problem, point: Point, rule: Rule, pieces: Pieces) -> DenseInformation:
    """Return the information matrix of equation (1), factored."""
    blocks, end, free = pieces
    items, p = blocks.shape[:2]
    missing = np.zeros((free.size, free.size))
    for block in _blocks_of_patterns(problem, rule, free.size):
        rows = _rows(problem, point, rule, block, free.size)
        missing += rows.T @ rows
    matrix = -missing
    for j in range(items):
        matrix[j * p : (j + 1) * p, j * p : (j + 1) * p] += blocks[j]
    matrix[items * p :, items * p :] += end
    matrix = matrix[np.ix_(free, free)]
    return DenseInformation(cho_factor(matrix, lower=True), free, items)


def _low_rank(problem: Problem, point: Point, rule: Rule, pieces: Pieces) -> LowRankInformation:
    """Return the factored information, equation (1), in low-rank form."""
    blocks, end, free = pieces
    items, p = blocks.shape[:2]
    roots = np.linalg.inv(np.linalg.cholesky(blocks))
    tail = np.linalg.inv(np.linalg.cholesky(end)) if len(end) else end
    rows = _rows(problem, point, rule, slice(0, problem.frequency.size), free.size)
    rows[:, ~free] = 0.0
    inner = rows[:, : items * p].reshape(-1, items, p)
    rows[:, : items * p] = np.einsum("rjb,jab->rja", inner, roots).reshape(len(rows), -1)
    rows[:, items * p :] = rows[:, items * p :] @ tail.T
    factor = cho_factor(np.eye(len(rows)) - rows @ rows.T, lower=True)
    return LowRankInformation(roots, tail, rows, factor, free)


@dataclass(frozen=True, slots=True)
class Errors:
    """Standard errors of the items of a fit, and the covariance matrix if it was formed."""

    table: FloatArray  # (J, m + 1)
    correlation: FloatArray  # (m, m)
    loadings: FloatArray  # (J, m)
    covariance: FloatArray  # (P, P) or (0, 0)
    blocks: FloatArray  # (J, m + 1, m + 1) covariance of each item


def errors_of(
    place: Place, matrix: DenseInformation | LowRankInformation | None, link: Link
) -> Errors:
    """Return standard errors at a point; NaN for fixed or undetermined parameters."""
    items, p = place.table.shape
    m = p - 1
    nothing = Errors(
        table=np.full((items, p), np.nan),
        correlation=np.full((m, m), np.nan),
        loadings=np.full((items, m), np.nan),
        covariance=_none(),
        blocks=np.full((items, p, p), np.nan),
    )
    if matrix is None:
        return nothing
    full, cross = _none(), np.zeros((items, p, 0))
    if isinstance(matrix, DenseInformation):
        full = matrix.inverse()
        index = np.arange(items * p).reshape(items, p)
        blocks = full[index[:, :, None], index[:, None]]
        end = full[items * p :, items * p :]
        cross = full[: items * p, items * p :].reshape(items, p, -1)
    else:
        blocks, end = matrix.blocks()
        if len(end):
            cross = np.full((items, p, len(end)), np.nan)
    return replace(errors_from(place, link, blocks, cross, end), covariance=full)


def errors_from(
    place: Place, link: Link, blocks: FloatArray, cross: FloatArray, end: FloatArray
) -> Errors:
    """Return standard errors from the covariance blocks of items and ability correlations."""
    m = place.slopes.shape[1]
    correlation = np.full((m, m), np.nan)
    if len(end):
        k, i = pairs(m)
        correlation[k, i] = correlation[i, k] = _root(np.diagonal(end))
    return Errors(
        table=_root(np.einsum("jpp->jp", blocks)),
        correlation=correlation,
        loadings=_of_loadings(place, link, blocks, cross, end),
        covariance=_none(),
        blocks=blocks,
    )


def _none() -> FloatArray:
    return np.zeros((0, 0))


def _root(variance: FloatArray) -> FloatArray:
    """Return square roots of variances; NaN for negative variances."""
    return np.sqrt(np.where(variance > 0.0, variance, np.nan))


def _of_loadings(
    place: Place, link: Link, blocks: FloatArray, cross: FloatArray, end: FloatArray
) -> FloatArray:
    """Return standard errors of loadings (J, m) by equation (3)."""
    slopes, m = place.slopes, place.slopes.shape[1]
    turned = slopes @ place.correlation
    size = np.sqrt(constant_of(link) ** 2 + (turned * slopes).sum(axis=1))
    by_slopes = np.eye(m) / size[:, None, None]
    by_slopes = by_slopes - slopes[:, :, None] * turned[:, None] / size[:, None, None] ** 3
    held = np.isnan(np.einsum("jpp->jp", blocks)[:, :m])
    inner = np.where(np.isnan(blocks[:, :m, :m]), 0.0, blocks[:, :m, :m])
    variance = np.einsum("jka,jab,jkb->jk", by_slopes, inner, by_slopes)
    if len(end):
        k, i = pairs(m)
        both = slopes[:, k] * slopes[:, i]
        by_correlations = -slopes[:, :, None] * both[:, None] / size[:, None, None] ** 3
        outer = np.where(held[:, :, None], 0.0, cross[:, :m])
        variance += np.einsum("jkc,cd,jkd->jk", by_correlations, end, by_correlations)
        variance += 2.0 * np.einsum("jka,jac,jkc->jk", by_slopes, outer, by_correlations)
    return np.where(held, np.nan, _root(variance))


def errors_of_functions(
    jacobian: FloatArray, covariance: FloatArray, free: BoolArray
) -> FloatArray:
    """Return standard errors of functions of the free parameters; NaN if undefined."""
    inner = covariance[np.ix_(free, free)]
    return _root(np.einsum("oa,ab,ob->o", jacobian, inner, jacobian))
