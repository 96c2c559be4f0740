r"""Maximisation of the likelihood by accelerated EM and, near the optimum, Newton steps.

The M step is one Fisher scoring step per item, based on expected counts. In the M step, parameters
are rescaled so that the ability has mean 0 and variance 1 under the current posteriors (parameter
expansion, Liu, Rubin & Wu, 1998). Without this rescaling, EM with thousands of items would
converge slowly along a common shift of all items. A single item carries almost no information
about a common shift. SQUAREM (Varadhan & Roland, 2008) extrapolates pairs of steps. Every step
that would lower the objective is shortened.

Newton steps use the observed information. The information matrix is recomputed only after a step
that reduces the gradient by less than a factor of about 30. Near the optimum, one information
matrix therefore serves several Newton steps. Far from an optimum, for example in a 3PL without
priors, the matrix may not be positive definite. If the matrix is not positive definite, only part
of the missing information due to unknown abilities is subtracted. Without any subtraction, the
result is a Fisher scoring step of EM.

The function `ascend` iterates Newton and EM steps until convergence. The argument of `ascend` is a
likelihood on given nodes (`OnNodes`), for one group (`OneGrid`) or several groups
(`irt.groups.population`).

References
----------
Liu, C., Rubin, D. B., & Wu, Y. N. (1998). Parameter expansion to accelerate EM: the PX-EM
algorithm. Biometrika, 85(4), 755-770. https://doi.org/10.1093/biomet/85.4.755

Varadhan, R., & Roland, C. (2008). Simple and globally convergent methods for accelerating the
convergence of any EM algorithm. Scandinavian Journal of Statistics, 35(2), 335-353.
https://doi.org/10.1111/j.1467-9469.2007.00585.x
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Generic, Protocol, TypeAlias, TypeVar

import numpy as np

from psychollm._base.convergence import Convergence
from psychollm._base.replicate import Progress
from psychollm._base.types import BoolArray, FloatArray
from psychollm.irt.curvature import DenseCurvature, dense_curvature, parts
from psychollm.irt.families import Family
from psychollm.irt.likelihood import COARSE, Expectation, Grid, Problem, expectation, grid_for
from psychollm.irt.low_rank import LowRankCurvature, low_rank_curvature

TOLERANCE = 1e-10  # gradient at which the optimisation ends
ROUNDING = 1e-14  # rounding error of the gradient, per respondent
NEAR = 1e-4  # gradient at which the fine grid replaces the coarse one, per respondent
CLOSE = 0.02  # largest change in an EM step after which Newton steps take over
LONGEST = 1.5  # largest change of a parameter in one step
MAX_ITERATIONS = 500
LEFT_OUT = (0.9, 0.6, 0.0)  # fractions of the missing information to subtract
STALE = 0.03  # a matrix is reused if at most this fraction of the gradient remains
FLAT = 1e-6  # a smaller gradient may be rounding error
AT_BOUND = 1e-3  # relative distance from a bound that counts as at the bound
FURTHEST_LEAP = 16.0  # longest extrapolation of SQUAREM, in EM steps
EM_TRIES = 4  # attempts at an EM step; with priors, even short expanded steps may fail
SLACK = 1e-13  # relative loss of the objective that counts as rounding
ROUNDED = 1e-11  # relative loss that is accepted if the gradient has decreased tenfold
SINGULAR = "the information is singular: the data do not determine all parameters"
EM_CYCLES = 40
Matrix: TypeAlias = DenseCurvature | LowRankCurvature


class Steps:
    """Counter of optimisation steps, with a limit and a progress bar."""

    per_step = 1  # units of the progress bar per step

    def __init__(self, limit: int, bar: Progress | None = None) -> None:
        self.limit, self.taken, self._bar = limit, 0, bar
        self._path: list[tuple[int, float]] = []

    @property
    def left(self) -> bool:
        """Whether another step may be taken."""
        return self.taken < self.limit

    def take(self, n: int) -> None:
        """Count n steps: 1 for a Newton step, or the number of passes of an EM cycle."""
        self.taken += n
        if self._bar is not None:
            self._bar.update(n)

    def ended(self, point: "Height", *, done: bool, reason: str = "") -> Convergence:
        """Return the convergence status at a point; `reason` explains a failure if known."""
        why = reason or f"the gradient is still {point.steepness:.1e}"
        if not self.left:
            why = f"max_iterations={self.limit} was reached: {why}"
        return Convergence(
            converged=done,
            iterations=self.taken,
            reason="converged" if done else why,
            objective=point.objective,
        )

    def near(self, distance: float, goal: float) -> None:
        """Record the remaining distance, for the time estimate of the progress bar."""
        self._path.append((self.taken, float(np.log(max(distance, 1e-300) / goal))))
        if self._bar is None or not hasattr(self._bar, "total"):
            return
        first, last = self._path[len(self._path) // 2 - 1], self._path[-1]
        if last[0] > first[0] and last[1] < first[1]:
            rate = (first[1] - last[1]) / (last[0] - first[0])
            left = int(np.ceil(max(last[1], 0.0) / rate))
            self._bar.total = min(self.limit, self.taken + left) * self.per_step


@dataclass(frozen=True, slots=True)
class Point:
    """Parameters, with the results of one data pass at these parameters."""

    parameters: FloatArray  # (J, p)
    state: Expectation
    gradient: FloatArray  # (J, p) gradient of the objective; equal entries for a shared slope
    observed: FloatArray  # (J, p, p) complete-data information of the counts, plus priors
    expected: FloatArray  # (J, p, p) expectation of `observed`, positive semi-definite
    frozen: BoolArray  # (J, p) whether fixed: absent, or at a bound that the gradient would cross

    @property
    def objective(self) -> float:
        """Log-likelihood plus log prior density."""
        return self.state.objective

    @property
    def steepness(self) -> float:
        """Largest absolute derivative with respect to a free parameter."""
        return float(np.abs(self.gradient[~self.frozen]).max(initial=0.0))


@dataclass(frozen=True, slots=True)
class Summit:
    """Optimum and convergence status."""

    point: Point
    grid: Grid
    convergence: Convergence
    em_objectives: tuple[float, ...]


def at(problem: Problem, parameters: FloatArray, grid: Grid) -> Point:
    """Evaluate the objective and its gradient."""
    bounds = problem.family.bounds
    parameters = np.clip(parameters, -bounds, bounds)
    state = expectation(problem, parameters, grid)
    moments = problem.family.moments(parameters, grid.nodes, state.counts)
    gradient = moments[0] + problem.prior.gradient(parameters)
    precisions = problem.prior.information()
    if problem.family.tied:
        gradient[:, 0] = gradient[:, 0].sum()
    frozen = (np.abs(parameters) >= bounds - AT_BOUND) & (gradient * parameters > 0.0)
    frozen |= problem.family.absent
    return Point(
        parameters, state, gradient, moments[1] + precisions, moments[2] + precisions, frozen
    )


def em_step(problem: Problem, point: Point, grid: Grid, *, expand: bool = True) -> FloatArray:
    """Return the parameters after one (expanded) EM step."""
    family, state = problem.family, point.state
    moved = scoring_step(family, point)
    if not expand or (point.frozen & ~family.absent).any():
        return moved
    mass = state.mass / state.mass.sum()
    mean = float(mass @ grid.nodes)
    sd = float(np.sqrt(mass @ (grid.nodes - mean) ** 2))
    return family.rescaled(moved, mean, sd)


class Slope(Protocol):
    """Protocol for the point at which a scoring step starts."""

    @property
    def parameters(self) -> FloatArray:
        """Parameters, (J, p)."""

    @property
    def gradient(self) -> FloatArray:
        """Gradient of the objective, (J, p)."""

    @property
    def expected(self) -> FloatArray:
        """Information matrices of items, computed from expected counts (J, p, p)."""

    @property
    def frozen(self) -> BoolArray:
        """Mask of the fixed parameters (J, p)."""


def scoring_step(family: Family, point: Slope) -> FloatArray:
    """Return the parameters after one Fisher scoring step of each item."""
    information = point.expected + 1e-8 * np.eye(point.parameters.shape[1])
    free = ~point.frozen
    information = np.where(free[:, :, None] & free[:, None], information, np.eye(free.shape[1]))
    gradient = np.where(free, point.gradient, 0.0)
    if family.tied:
        step = _tied_step(gradient, information)
    else:
        step = np.asarray(
            np.linalg.solve(information, gradient[:, :, None])[:, :, 0], dtype=np.float64
        )
    longest = np.abs(step).max(axis=None if family.tied else 1, keepdims=True)
    return np.asarray(
        point.parameters + step * np.minimum(1.0, LONGEST / np.maximum(longest, 1e-300))
    )


def _tied_step(gradient: FloatArray, information: FloatArray) -> FloatArray:
    """Return the scoring step of a shared slope and of the items' other parameters."""
    rest = information[:, 1:, 1:]
    cross = information[:, 1:, :1]
    inner = np.linalg.solve(rest, np.concatenate([gradient[:, 1:, None], cross], axis=2))
    top = gradient[0, 0] - float((cross[:, :, 0] * inner[:, :, 0]).sum())
    slope = top / (information[:, 0, 0].sum() - float((cross[:, :, 0] * inner[:, :, 1]).sum()))
    step = np.empty_like(gradient)
    step[:, 0] = slope
    step[:, 1:] = inner[:, :, 0] - slope * inner[:, :, 1]
    return step


def improved(
    problem: Problem, point: Point, target: FloatArray, grid: Grid, *, tries: int = 12
) -> Point | None:
    """Take a step towards `target`, halved while it lowers the objective; None on failure."""
    size = abs(point.objective)
    step = _up_to_bounds(problem.family, point.parameters, target - point.parameters)
    for halving in range(tries):
        reached = at(problem, point.parameters + 0.5**halving * step, grid)
        loss = point.objective - reached.objective
        flatter = reached.steepness <= 0.1 * point.steepness
        if loss <= SLACK * size or (flatter and loss <= ROUNDED * size):
            return reached
    return None


def _up_to_bounds(family: Family, place: FloatArray, step: FloatArray) -> FloatArray:
    """Shorten the steps of items whose slope or intercept would cross its bound."""
    # If a slope were clipped without its intercept, the step might lower the objective.
    with np.errstate(divide="ignore", invalid="ignore"):
        room = (np.sign(step) * family.bounds - place) / step
    room = np.where(family.asymptotes | ~(room > 0.0), np.inf, room * (1.0 + 1e-9))
    shortest = room.min(axis=None if family.tied else 1, keepdims=True)
    return np.asarray(step * np.minimum(1.0, shortest))


class Height(Protocol):
    """Iterate of an optimisation."""

    @property
    def objective(self) -> float:
        """Value of the objective."""

    @property
    def steepness(self) -> float:
        """Largest absolute derivative with respect to a free parameter."""


P = TypeVar("P", bound=Height)
M = TypeVar("M")


@dataclass(frozen=True, slots=True)
class Passes(Generic[P]):
    """Functions that SQUAREM needs: an EM pass, a difference and an extrapolation."""

    after: Callable[[P], P | None]
    change: Callable[[P, P], FloatArray]  # change from the first point to the second
    # extrapolation from a start and two passes
    leap: Callable[[P, P, float, FloatArray, FloatArray], P | None]
    shortest: float = 1.0  # shortest extrapolation that is tried, in EM steps

    def run(self, point: P, steps: Steps, *, cycles: int, close: float) -> tuple[P, list[float]]:
        """Run SQUAREM cycles until a pass changes no parameter by more than `close`."""
        path = [point.objective]
        for _ in range(cycles):
            if not steps.left:
                break
            steps.take(3)
            first = self.after(point)
            if first is None:
                break
            path.append(first.objective)
            step = self.change(point, first)
            if np.abs(step).max() <= close:
                return first, path
            second = self.after(first)
            if second is None:
                return first, path
            path.append(second.objective)
            last = self.change(first, second)
            point = self._extrapolated(point, second, step, last - step)
            path.append(point.objective)
            if np.abs(last).max() <= close:
                break
        return point, path

    def _extrapolated(self, start: P, second: P, step: FloatArray, bend: FloatArray) -> P:
        """Return the SQUAREM point, or the point after two EM steps if its objective is higher."""
        length = float(np.linalg.norm(step)) / max(float(np.linalg.norm(bend)), 1e-300)
        if length <= self.shortest:
            return second
        reached = self.leap(start, second, min(length, FURTHEST_LEAP), step, bend)
        higher = reached is not None and reached.objective > second.objective
        return reached if reached is not None and higher else second


def accelerated_em(
    problem: Problem, point: Point, grid: Grid, steps: Steps, *, cycles: int, close: float = CLOSE
) -> tuple[Point, list[float]]:
    """Run accelerated EM from a point; return the last point and the path of objectives."""

    def after(here: Point) -> Point | None:
        return improved(problem, here, em_step(problem, here, grid), grid, tries=EM_TRIES)

    def leap(
        start: Point, second: Point, length: float, step: FloatArray, bend: FloatArray
    ) -> Point:
        return at(problem, start.parameters + 2.0 * length * step + length**2 * bend, grid)

    passes = Passes(after, lambda one, other: other.parameters - one.parameters, leap)
    return passes.run(point, steps, cycles=cycles, close=close)


def curvature(problem: Problem, point: Point, grid: Grid, *, step: bool = False) -> Matrix | None:
    """Return the factored observed information; None if it is not positive definite."""
    # For a Newton step, the information is less exact, and it is made positive definite if
    # necessary.
    pieces = parts(problem, point.parameters, grid, point.state.counts, point.observed, rough=step)
    build = dense_curvature if pieces.dense else low_rank_curvature
    matrix = build(pieces, point.frozen, tied=problem.family.tied)
    for share in LEFT_OUT if step else ():
        if matrix is None:
            missing = pieces.missing * (share if pieces.dense else np.sqrt(share))
            smaller = replace(pieces, blocks=point.expected, missing=missing)
            matrix = build(smaller, point.frozen, tied=problem.family.tied)
    return matrix


def _newton_target(problem: Problem, point: Point, matrix: Matrix) -> FloatArray:
    """Return the parameters after a Newton step, with changes limited to `LONGEST`."""
    # Each asymptote and each item is damped separately: a guessing parameter near zero has almost
    # no information and must not delay the others.
    gradient = np.where(point.frozen, 0.0, point.gradient)
    if problem.family.tied:
        gradient[:, 0] /= gradient.shape[0]
    step = matrix.solve(gradient)
    step = np.where(point.frozen, 0.0, step)
    step = np.where(problem.family.asymptotes, np.clip(step, -LONGEST, LONGEST), step)
    longest = np.abs(step).max(axis=None if problem.family.tied else 1, keepdims=True)
    scale = np.minimum(1.0, LONGEST / np.maximum(longest, 1e-300))
    return np.asarray(point.parameters + step * scale)


class OnNodes(Protocol[P, M]):
    """Marginal likelihood on given nodes, and its optimisation steps."""

    def matrix(self, point: P) -> M | None:
        """Return the factored information; None if it is not positive definite."""

    def newton(self, point: P, matrix: M) -> P | None:
        """Return the point after a Newton step, shortened if needed; None if the step fails."""

    def em(self, point: P, steps: Steps) -> P | None:
        """Return the point after EM steps, which replace a failed Newton step; None on failure."""


@dataclass(frozen=True, slots=True)
class Ascended(Generic[P, M]):
    """Result of Newton steps on given nodes."""

    point: P
    matrix: M | None  # information at a nearby point, which the next optimisation reuses
    done: bool


def ascend(
    abilities: OnNodes[P, M],
    point: P,
    steps: Steps,
    *,
    tolerance: float,
    matrix: M | None = None,
) -> Ascended[P, M]:
    """Maximise the objective until its gradient is at most `tolerance`."""
    while point.steepness > tolerance:
        if not steps.left:
            return Ascended(point, matrix, done=False)
        steps.take(1)
        if matrix is None:
            matrix = abilities.matrix(point)
        reached = None if matrix is None else abilities.newton(point, matrix)
        if reached is None:
            if point.steepness <= 100.0 * tolerance:
                return Ascended(point, matrix, done=True)
            reached = abilities.em(point, steps)
            if reached is None:
                return Ascended(point, matrix, done=False)
        if not reached.steepness <= STALE * point.steepness:
            matrix = None
            if reached.steepness >= 0.5 * point.steepness <= 50.0 * min(tolerance, FLAT):
                return Ascended(point, matrix, done=True)
        point = reached
    return Ascended(point, matrix, done=True)


@dataclass(frozen=True, slots=True)
class OneGrid:
    """Likelihood of one group on one grid; implements `OnNodes`."""

    problem: Problem
    grid: Grid

    def matrix(self, point: Point) -> Matrix | None:
        """Return the factored information, made positive definite if necessary."""
        return curvature(self.problem, point, self.grid, step=True)

    def newton(self, point: Point, matrix: Matrix) -> Point | None:
        """Return the point after a Newton step."""
        target = _newton_target(self.problem, point, matrix)
        return improved(self.problem, point, target, self.grid)

    def em(self, point: Point, steps: Steps) -> Point | None:
        """Return the point after some cycles of EM."""
        reached, _ = accelerated_em(self.problem, point, self.grid, steps, cycles=5, close=1e-6)
        if reached is not point:
            return reached
        # A sufficiently short scoring step without expansion always raises the objective.
        target = em_step(self.problem, point, self.grid, expand=False)
        return improved(self.problem, point, target, self.grid)


def climb(problem: Problem, start: FloatArray, steps: Steps | None = None) -> Summit:
    """Maximise from `start` on a coarse grid, then on a grid fine enough for all posteriors."""
    steps = steps or Steps(MAX_ITERATIONS)
    tolerance = max(TOLERANCE, ROUNDING * problem.patterns.n_respondents)
    grid = grid_for(problem.family, start, COARSE)
    point = at(problem, start, grid)
    point, path = accelerated_em(problem, point, grid, steps, cycles=EM_CYCLES)
    grid = grid_for(problem.family, point.parameters, COARSE)
    near = NEAR * max(problem.patterns.n_respondents, 1_000.0)
    point = at(problem, point.parameters, grid)
    on: OnNodes[Point, Matrix] = OneGrid(problem, grid)
    top = ascend(on, point, steps, tolerance=near)
    for _ in range(4):
        grid = grid_for(problem.family, top.point.parameters)
        point, on = at(problem, top.point.parameters, grid), OneGrid(problem, grid)
        top = ascend(on, point, steps, tolerance=tolerance, matrix=top.matrix)
        if grid.spacing <= 1.02 * grid_for(problem.family, top.point.parameters).spacing:
            break
    point, reason = top.point, ""
    if not top.done and curvature(problem, point, grid) is None:
        reason = f"the gradient is still {point.steepness:.1e} , {SINGULAR}"
    ending = steps.ended(point, done=top.done, reason=reason)
    return Summit(_oriented(problem, point, grid), grid, ending, tuple(path))


def _oriented(problem: Problem, point: Point, grid: Grid) -> Point:
    """Reflect the ability so that most slopes are positive."""
    if point.parameters[:, 0].sum() >= 0.0 or np.any(problem.prior_precisions[..., 0] > 0.0):
        return point
    parameters = problem.family.rescaled(point.parameters, 0.0, -1.0)
    return replace(at(problem, parameters, grid), frozen=point.frozen)
