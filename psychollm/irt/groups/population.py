r"""Likelihood of item parameters, and of means and SDs of abilities, in several groups.

Group g has abilities :math:`\mu_g + \sigma_g z` with standard normal z; the first group has mean 0
and SD 1. On the scale of z, an item with parameters b on the common scale has the parameters

.. math:: \beta = b\,M(\mu_g, \sigma_g), \quad M = M_0 + \mu_g M_\mu + \sigma_g M_\sigma. \quad (1)

The parameters :math:`\beta` are linear in b, because curves depend on slope times ability plus
intercept. In each group, `irt.likelihood` gives the log-likelihood with the parameters of equation
(1). The log-likelihoods of all groups are added. The gradient and observed information of this sum
follow by the chain rule, with :math:`\log \sigma_g` as the parameter.

The optimisation is the same as in `irt.climb`, without EM. If the information is not positive
definite, or a step would lower the objective, an increasing diagonal is added. The optimisation
stops if an item parameter exceeds its bound, because the likelihood then has no maximum.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import cho_solve

from psychollm._base.convergence import Convergence
from psychollm._base.types import BoolArray, FloatArray, IntArray
from psychollm.irt.climb import MAX_ITERATIONS, Steps, ascend
from psychollm.irt.curvature import parts
from psychollm.irt.likelihood import Expectation, Grid, Problem, expectation, grid_for


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Places:
    """Positions of item parameters (G, J, p) and abilities among the free parameters."""

    # The order is: items, means of the second to the last group, logarithms of their SDs.

    items: IntArray  # (G, J, p)
    n_items: int
    tied: bool

    @property
    def size(self) -> int:
        """Number of free parameters."""
        return self.n_items + 2 * (len(self.items) - 1)

    def of_group(self, group: int) -> IntArray:
        """Return the positions of a group's parameters: items, mean, log standard deviation."""
        # The mean and SD of the first group are fixed: their position is after the last parameter.
        others = len(self.items) - 1
        own = [self.size, self.size]
        if group:
            own = [self.n_items + group - 1, self.n_items + others + group - 1]
        return np.concatenate([self.items[group].ravel(), own])

    def with_free(self, x: FloatArray, larger: "Places") -> FloatArray:
        """Copy parameters x of this layout to a layout with more free parameters."""
        out = np.empty(larger.size)
        out[larger.items] = x[self.items]
        out[larger.n_items :] = x[self.n_items :]
        return out


def places_of(free: BoolArray, answered: BoolArray, p: int, *, tied: bool) -> Places:
    """Return positions for items, in which items in `free` (J,) are group-specific."""
    groups, size = answered.shape
    items = np.zeros((groups, size, p), dtype=np.int64)
    count = first = int(tied)
    for j in range(size):
        holders = np.flatnonzero(answered[:, j]) if free[j] else np.arange(1)
        for g in holders:
            items[g, j, first:] = np.arange(count, count + p - first)
            count += p - first
        others = np.setdiff1d(np.arange(groups), holders)
        items[others, j] = items[holders[0], j]
    return Places(items=items, n_items=count, tied=tied)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Groups:
    """Objective for several groups, with a likelihood for each group and priors of the items."""

    problems: tuple[Problem, ...]  # G
    places: Places
    prior_means: FloatArray  # (p,), or (J, p) if items differ
    prior_precisions: FloatArray  # same shape as `prior_means`

    def unpack(self, x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return items (G, J, p), means (G,) and standard deviations (G,)."""
        others = len(self.problems) - 1
        rest = x[self.places.n_items :]
        means = np.concatenate([[0.0], rest[:others]])
        return x[self.places.items], means, np.exp(np.concatenate([[0.0], rest[others:]]))

    @property
    def absent(self) -> BoolArray:
        """Mask of the parameters that an item lacks (J, p)."""
        return np.broadcast_to(self.problems[0].family.absent, self.places.items.shape[1:])

    @property
    def n_parameters(self) -> int:
        """Number of free parameters, without absent parameters."""
        return self.places.size - np.unique(self.places.items[:, self.absent]).size

    def scaled(self, x: FloatArray) -> list[FloatArray]:
        """Return the parameters, equation (1), of each group, (J, p)."""
        rows = zip(self.problems, *self.unpack(x), strict=True)
        return [problem.family.rescaled(b, float(m), float(s)) for problem, b, m, s in rows]

    def grids(self, x: FloatArray) -> list[Grid]:
        """Return grids that are fine enough for the narrowest posterior of each group."""
        rows = zip(self.problems, self.scaled(x), strict=True)
        return [grid_for(problem.family, beta) for problem, beta in rows]

    def unbounded(self, x: FloatArray) -> bool:
        """Return whether an item parameter exceeds the bounds of its family."""
        bounds = self.problems[0].family.bounds
        return bool((np.abs(x[self.places.items]) >= bounds).any())

    def prior(self, x: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """Return the log prior, its gradient (q,) and its precisions (q,)."""
        mean, precision = np.zeros(x.size), np.zeros(x.size)
        mean[self.places.items] = self.prior_means
        precision[self.places.items] = self.prior_precisions
        gap = x - mean
        return -0.5 * float(precision @ gap**2), -precision * gap, precision


@dataclass(frozen=True, slots=True)
class Piece:
    """Likelihood of one group, with derivatives with respect to items, mean and log SD."""

    state: Expectation
    gradient: FloatArray  # (J p + 2,)
    beta: FloatArray  # (J, p)
    slope: FloatArray  # (J, p) gradient in beta
    blocks: FloatArray  # (J, p, p) complete-data information


@dataclass(frozen=True, slots=True)
class Height:
    """Objective and gradient at a point."""

    x: FloatArray  # (q,)
    objective: float
    log_likelihood: float
    gradient: FloatArray  # (q,)
    pieces: tuple[Piece, ...]  # G

    @property
    def steepness(self) -> float:
        """Largest absolute derivative."""
        return float(np.abs(self.gradient).max())


def height(model: Groups, x: FloatArray, grids: list[Grid]) -> Height:
    """Return the objective and its gradient at a point."""
    items, means, sds = model.unpack(x)
    prior, total, _ = model.prior(x)
    total = np.append(total, 0.0)
    pieces = []
    for g, (problem, grid) in enumerate(zip(model.problems, grids, strict=True)):
        piece = _piece(problem, items[g], float(means[g]), float(sds[g]), grid)
        np.add.at(total, model.places.of_group(g), piece.gradient)
        pieces.append(piece)
    value = sum(piece.state.log_likelihood for piece in pieces)
    return Height(x, value + prior, value, total[:-1], tuple(pieces))


def _bases(problem: Problem, shape: tuple[int, ...]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the three matrices of equation (1) for each item, (J, p, p) each."""
    rescaled, rows = problem.family.rescaled, np.eye(shape[1])

    def turned(mean: float, sd: float) -> FloatArray:
        tables = [rescaled(np.tile(row, (shape[0], 1)), mean, sd) for row in rows]
        return np.stack(tables, axis=1)

    base = turned(0.0, 0.0)
    return base, turned(1.0, 0.0) - base, turned(0.0, 1.0) - base


def _times(rows: FloatArray, matrices: FloatArray) -> FloatArray:
    """Return each item's row (J, p) times its matrix (J, p, p)."""
    return np.asarray((rows[:, None] @ matrices)[:, 0])


def _piece(problem: Problem, items: FloatArray, mean: float, sd: float, grid: Grid) -> Piece:
    base, by_mean, by_sd = _bases(problem, items.shape)
    turn = base + mean * by_mean + sd * by_sd
    beta = _times(items, turn)
    state = expectation(problem, beta, grid)
    slope, blocks, _ = problem.family.moments(beta, grid.nodes, state.counts)
    by_ability = [_times(items, by_mean), sd * _times(items, by_sd)]
    own = [float(np.sum(slope * move)) for move in by_ability]
    gradient = np.concatenate([_times(slope, turn.transpose(0, 2, 1)).ravel(), own])
    return Piece(state, gradient, beta, slope, blocks)


def information(model: Groups, at: Height, grids: list[Grid]) -> FloatArray:
    """Return the observed information (q, q), including priors."""
    items, means, sds = model.unpack(at.x)
    q = at.x.size
    total = np.zeros((q + 1, q + 1))
    for g, piece in enumerate(at.pieces):
        own = _second(
            model.problems[g], piece, items[g], (float(means[g]), float(sds[g])), grids[g]
        )
        place = model.places.of_group(g)
        np.add.at(total, (place[:, None], place), -own)
    return np.asarray(total[:q, :q] + np.diag(model.prior(at.x)[2]))


def _second(
    problem: Problem, piece: Piece, items: FloatArray, ability: tuple[float, float], grid: Grid
) -> FloatArray:
    """Return second derivatives of one group's log-likelihood (J p + 2, J p + 2)."""
    (mean, sd), (size, p) = ability, items.shape
    pieces = parts(problem, piece.beta, grid, piece.state.counts, piece.blocks)
    hidden = pieces.missing if pieces.dense else pieces.missing @ pieces.missing.T
    inner = hidden.reshape(size, p, size, p).copy()
    inner[range(size), :, range(size)] -= piece.blocks
    base, by_mean, by_sd = _bases(problem, items.shape)
    turn = base + mean * by_mean + sd * by_sd
    out = np.empty((size * p + 2, size * p + 2))
    turned = np.einsum("iak,ikjl,jbl->iajb", turn, inner, turn, optimize=True)
    out[:-2, :-2] = turned.reshape(size * p, size * p)
    flat = inner.reshape(size * p, size * p)
    moves = np.stack([_times(items, by_mean).ravel(), sd * _times(items, by_sd).ravel()], axis=1)
    bends = (by_mean, sd * by_sd)
    for k, bend in enumerate(bends):
        along = (flat @ moves[:, k]).reshape(size, p)
        by_item = _times(along, turn.transpose(0, 2, 1))
        out[:-2, -2 + k] = (by_item + _times(piece.slope, bend.transpose(0, 2, 1))).ravel()
    out[-2:, :-2] = out[:-2, -2:].T
    out[-2:, -2:] = moves.T @ flat @ moves
    out[-1, -1] += float(np.sum(piece.slope * _times(items, bends[1])))
    return out


TOLERANCE = 1e-8  # smallest tolerance of the gradient
ROUNDING = 1e-12  # rounding error of the gradient, per respondent
LONGEST = 1.0  # largest change of a parameter in one step
SLACK = 1e-13
# multiples of the diagonal; they are added in turn until the step raises the objective
DAMPING = (0.0, *np.geomspace(1e-3, 1e8, 12))


@dataclass(frozen=True, slots=True)
class Top:
    """Optimum: point, grids and convergence status."""

    at: Height
    grids: list[Grid]
    convergence: Convergence


def maximise(model: Groups, x: FloatArray, steps: Steps | None = None) -> Top:
    """Optimise, starting from x (q,), on grids that are fine enough for the optimum."""
    steps = steps or Steps(MAX_ITERATIONS)
    n = sum(problem.patterns.n_respondents for problem in model.problems)
    tolerance = max(TOLERANCE, ROUNDING * n)
    grids = model.grids(x)
    at = height(model, x, grids)
    matrix: FloatArray | None = None
    for _ in range(4):
        top = ascend(SeveralGrids(model, grids), at, steps, tolerance=tolerance, matrix=matrix)
        at, matrix = top.point, top.matrix
        finer = model.grids(at.x)
        if model.unbounded(at.x) or all(
            old.spacing <= 1.02 * new.spacing for old, new in zip(grids, finer, strict=True)
        ):
            break
        grids = finer
        at = height(model, at.x, grids)
    ending = steps.ended(at, done=at.steepness <= 100.0 * tolerance)
    if model.unbounded(at.x):
        reason = "the likelihood has no maximum: use priors, or more respondents"
        ending = replace(ending, converged=False, reason=reason)
    return Top(at, grids, ending)


@dataclass(frozen=True, slots=True)
class SeveralGrids:
    """Likelihood of several groups, each on its own grid; implements `OnNodes`."""

    model: Groups
    grids: list[Grid]

    def matrix(self, point: Height) -> FloatArray | None:
        """Return the factored information; None if an item parameter exceeds its bound."""
        return next(self._roots(point, DAMPING), None)

    def newton(self, point: Height, matrix: FloatArray) -> Height | None:
        """Return the point after a Newton step."""
        step = cho_solve((matrix, True), point.gradient)
        step *= min(1.0, LONGEST / max(float(np.abs(step).max()), 1e-300))
        size = abs(point.objective)
        for halving in range(4):
            reached = height(self.model, point.x + 0.5**halving * step, self.grids)
            loss = point.objective - reached.objective
            flatter = reached.steepness <= 0.1 * point.steepness
            if loss <= SLACK * size or (flatter and loss <= 1e-11 * size):
                return reached
        return None

    def em(self, point: Height, steps: Steps) -> Height | None:
        """Return the point after a step, damped until it raises the objective."""
        reached = (self.newton(point, root) for root in self._roots(point, DAMPING[1:]))
        return next((one for one in reached if one is not None), None)

    def _roots(self, point: Height, damping: Iterable[float]) -> Iterator[FloatArray]:
        """Yield Cholesky factors of the information, adding increasing values to its diagonal."""
        if self.model.unbounded(point.x):
            return
        whole = information(self.model, point, self.grids)
        scale = np.maximum(np.abs(np.diagonal(whole)), 1e-8)
        for share in damping:
            with suppress(np.linalg.LinAlgError):
                yield np.asarray(np.linalg.cholesky(whole + np.diag(share * scale)), np.float64)
