r"""Maximisation with several abilities by EM and Newton steps, with ever finer integration rules.

The M step is one Newton step per item. Parameters are rescaled so that the mean and covariance of
abilities under the current posteriors equal the model's values (parameter expansion). SQUAREM
extrapolates pairs of steps. Before Newton steps, rotatable slopes are fixed in triangular form,
which removes the rotational indeterminacy.

Each pattern has a fixed number of nodes around its own posterior. A grid common to all patterns
would need a spacing of half the SD of the narrowest posterior over the range of all abilities.
With ten items per ability, a common grid takes about 50^m nodes for m abilities: 2,500 for two,
and 125,000 for three. With more items a common grid needs more nodes, whereas adaptive rules need
fewer. The number of nodes is checked at the optimum: finer rules are adopted until the next finer
rule does not change the parameters appreciably.

With more than three abilities, product rules have too many nodes. The likelihood of each pattern
is then integrated by importance sampling over the pattern's own segment of a quasi-random
sequence. Nodes are the same in all steps, so that the objective is smooth. Unlike stochastic
approximation, the optimisation converges to a point and yields the likelihood. The integration is
repeated with other segments of the sequence to measure its error.
"""

from dataclasses import dataclass, replace

import numpy as np

from psychollm._base.convergence import Convergence
from psychollm._base.types import FloatArray
from psychollm.irt.climb import MAX_ITERATIONS, SINGULAR, Passes, Steps
from psychollm.irt.multidimensional.curvature import (
    DenseInformation,
    LowRankInformation,
    information,
)
from psychollm.irt.multidimensional.problem import (
    Place,
    Point,
    Problem,
    admissible,
    at,
    echelon,
    with_pivots,
)
from psychollm.kernels.adaptive_rules import Rule, product_rule, quasi_random_rule

Information = DenseInformation | LowRankInformation

NODES = {1: (15, 31, 61, 101), 2: (7, 11, 15, 21, 31, 45), 3: (5, 7, 9, 11, 15, 21)}
START_NODES = {1: 9, 2: 5, 3: 4}
START_POINTS, POINTS = 64, 512
# minimum total number of quasi-random nodes; errors average out over patterns
LEAST_NODES = 262_144
MATRIX_NODES = {1: 15, 2: 7, 3: 5}
# refinement ends if a finer rule changes parameters by less than this
PRECISION = {1: 1e-8, 2: 2e-6, 3: 5e-5}
SMALL_STEP = 1e-9  # change of a parameter at the optimum of one rule
SMALL_QUASI = 1e-6  # change of a parameter at the optimum of a quasi-random rule
STALLED = 1e-6, 1e-3  # smaller steps may be due to rounding or integration error
FIRST_STEP = 1e-3  # change of a parameter at the optimum of the coarsest rule
CLOSE = 0.03  # largest change in an EM step at which Newton steps take over
LONGEST = 1.0  # largest change of a parameter in one step
MAX_NEWTON = 60
MAX_SINGULAR = 8  # number of indefinite matrices after which the optimisation ends
SLACK = 1e-13  # relative loss of the objective that counts as rounding
# accepted relative loss of the objective if the gradient decreased, for product and quasi-random
# rules
INEXACT = 1e-7, 1e-4
SHIFTS = 4  # number of other segments of the quasi-random sequence that are tried
LARGEST_ERROR = 0.2  # a larger integration error, in standard errors, causes a warning


@dataclass(frozen=True, slots=True)
class Summit:
    """Optimum and convergence status."""

    problem: Problem
    point: Point
    rule: Rule
    matrix: Information | None
    convergence: Convergence
    integration_error: float  # change of a parameter under another rule, in standard errors
    em_objectives: tuple[float, ...]


def em_step(problem: Problem, point: Point, *, expand: bool = True) -> Place:
    """Return the point after one (expanded) EM step."""
    free = problem.free
    matrix = point.complete + 1e-8 * np.eye(free.shape[1])
    matrix = np.where(free[:, :, None] & free[:, None], matrix, np.eye(free.shape[1]))
    gradient = point.gradient[: free.size].reshape(free.shape)
    step = np.linalg.solve(matrix, gradient[:, :, None])[:, :, 0]
    longest = np.abs(step).max(axis=1, keepdims=True)
    table = point.place.table + step * np.minimum(1.0, LONGEST / np.maximum(longest, 1e-300))
    mean, second = point.moments(problem.frequency)
    if not expand:
        return Place(table, _scaled(second)[1] if problem.correlated else point.place.correlation)
    moved = table.copy()
    moved[:, -1] += point.place.slopes @ mean
    around = second - np.outer(mean, mean)
    if problem.correlated:
        sd, correlation = _scaled(around)
        moved[:, :-1] *= sd
        return Place(moved, correlation)
    if not problem.exploratory:
        moved[:, :-1] *= _scaled(around)[0]
        return Place(moved, point.place.correlation)
    values, vectors = np.linalg.eigh(around)
    moved[:, :-1] = table[:, :-1] @ (vectors * np.sqrt(np.maximum(values, 1e-6))) @ vectors.T
    if problem.pivots is not None:
        moved = echelon(moved, problem.pivots)
    return Place(moved, point.place.correlation)


def _scaled(covariance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the standard deviations and correlations of a covariance matrix."""
    sd = np.sqrt(np.diagonal(covariance))
    correlation = covariance / np.outer(sd, sd)
    np.fill_diagonal(correlation, 1.0)
    return sd, correlation


def improved(
    problem: Problem, point: Point, step: FloatArray, rule: Rule, *, halvings: int = 12
) -> Point | None:
    """Take a step, which is halved while it lowers the objective; return None on failure."""
    for halving in range(halvings):
        place = point.place.moved(step, 0.5**halving)
        if not admissible(place.correlation):
            continue
        reached = at(problem, place, rule, point.modes)
        if point.objective - reached.objective <= SLACK * abs(point.objective):
            return reached
    return None


def accelerated_em(
    problem: Problem,
    point: Point,
    rule: Rule,
    steps: Steps,
    *,
    cycles: int,
    close: float = CLOSE,
) -> tuple[Point, list[float]]:
    """Run accelerated EM from a point; return the last point and the path of objectives."""

    def after(here: Point) -> Point | None:
        for expand in (True, False):  # try again without parameter expansion if the step fails
            step = em_step(problem, here, expand=expand).minus(here.place)
            reached = improved(problem, here, step, rule, halvings=3 if expand else 12)
            if reached is not None:
                return reached
        return None

    def leap(
        start: Point, second: Point, length: float, step: FloatArray, bend: FloatArray
    ) -> Point | None:
        place = start.place.moved(2.0 * length * step + length**2 * bend, 1.0)
        if not admissible(place.correlation):
            return None
        return at(problem, place, rule, second.modes)

    passes = Passes(after, lambda one, other: other.place.minus(one.place), leap)
    return passes.run(point, steps, cycles=cycles, close=close)


def newton(
    problem: Problem,
    point: Point,
    rules: tuple[Rule, Rule],
    matrix: Information | None,
    steps: Steps,
    *,
    small: float,
) -> tuple[Point, Information | None, bool]:
    """Take Newton steps until one is `small`; return the point, the matrix and a success flag."""
    # The first rule is for the gradient, the second for the information matrix. The matrix is
    # recomputed only if a step is longer than a third of the previous step.
    rule, coarse = rules
    singular = 0
    for _ in range(MAX_NEWTON):
        if not steps.left:
            break
        steps.take(1)
        fresh = matrix is None
        if matrix is None:
            matrix = information(problem, point, coarse)
            singular += matrix is None
        if singular > MAX_SINGULAR:
            return point, None, False
        reached = None
        if matrix is not None:
            step = matrix.solve(point.gradient)
            longest = _longest(step)
            if longest <= small:
                return point, matrix, True
            reached = _newton_step(problem, point, rule, matrix, step)
            if reached is None and fresh and longest <= STALLED[rule[3] > 0]:
                return point, matrix, True
        if reached is None:
            if not fresh:
                matrix = None
                continue
            reached, _ = accelerated_em(problem, point, rule, steps, cycles=5, close=1e-6)
            if reached.objective <= point.objective:
                return point, matrix, False
        if matrix is None or _longest(matrix.solve(reached.gradient)) > longest / 3.0:
            matrix = None
        point = reached
    return point, matrix, False


def _longest(step: FloatArray) -> float:
    """Return the largest change of a parameter."""
    return float(np.abs(step).max(initial=0.0))


def _newton_step(
    problem: Problem, point: Point, rule: Rule, matrix: Information, step: FloatArray
) -> Point | None:
    """Take a Newton step, halved while it lowers the objective; return None on failure."""
    # Nodes move with the parameters. Near the optimum, integration error may therefore lower the
    # objective although the gradient decreases. Such a step is accepted if the next step is at
    # most half as long.
    longest, size = _longest(step), abs(point.objective)
    step = step * min(1.0, LONGEST / longest)
    for halving in range(12 if longest > STALLED[1] else 3):
        place = point.place.moved(step, 0.5**halving)
        if not admissible(place.correlation):
            continue
        reached = at(problem, place, rule, point.modes)
        loss = point.objective - reached.objective
        if loss <= SLACK * size:
            return reached
        if loss <= INEXACT[rule[3] > 0] * size:
            following = _longest(matrix.solve(reached.gradient))
            if following <= 0.5 * longest:
                return reached
    return None


def climb(
    problem: Problem,
    start: Place,
    *,
    points: int | None,
    steps: Steps | None = None,
    cycles: int = 60,
) -> Summit:
    """Maximise from `start` with product rules, or with `points` quasi-random points."""
    steps = steps or Steps(MAX_ITERATIONS)
    m, rows = problem.dimensions, problem.frequency.size
    if points is None:
        coarse, middle = product_rule(START_NODES[m], m), product_rule(NODES[m][0], m)
        inner = product_rule(MATRIX_NODES[m], m)
    else:
        points = max(points, 2 * (LEAST_NODES // (2 * rows)))
        coarse = inner = quasi_random_rule(max(2 * (points // 16), START_POINTS), m, rows)
        middle = quasi_random_rule(max(2 * (points // 8), START_POINTS), m, rows)
    point = at(problem, start, coarse, np.zeros((rows, m)))
    point, path = accelerated_em(problem, point, coarse, steps, cycles=cycles)
    problem, place = with_pivots(problem, point.place)
    point = at(problem, place, middle, point.modes)
    point, matrix, done = newton(problem, point, (middle, inner), None, steps, small=FIRST_STEP)
    summit = Summit(problem, point, middle, matrix, steps.ended(point, done=done), np.nan, ())
    if points is None:
        summit = _refined(summit, steps)
    else:
        summit = _polished(summit, steps, quasi_random_rule(points, m, rows), middle)
    return replace(summit, em_objectives=tuple(path))


def _refined(summit: Summit, steps: Steps) -> Summit:
    """Refine product rules until the next rule changes no parameter appreciably."""
    problem, point, matrix = summit.problem, summit.point, summit.matrix
    m = problem.dimensions
    done, error = summit.convergence.converged, np.nan
    rule, coarse = summit.rule, product_rule(MATRIX_NODES[m], m)
    for nodes in NODES[m][1:]:
        if not steps.left:
            done = False
            break
        rule = product_rule(nodes, m)
        point = at(problem, point.place, rule, point.modes)
        moved = np.full(1, np.inf) if matrix is None else matrix.solve(point.gradient)
        longest = _longest(moved)
        error = np.inf if matrix is None else _in_errors(moved, matrix)
        last = longest <= PRECISION[m]
        small = SMALL_STEP if last or nodes == NODES[m][-1] else min(0.05 * longest, FIRST_STEP)
        point, matrix, done = newton(
            problem, point, (rule, coarse), matrix, steps, small=max(small, SMALL_STEP)
        )
        if (done and last) or (matrix is None and not done):
            break
    return replace(
        summit,
        point=point,
        matrix=information(problem, point, coarse),
        rule=rule,
        convergence=_judged(steps, point, matrix, error, done=done),
        integration_error=error,
    )


def _polished(summit: Summit, steps: Steps, rule: Rule, coarse: Rule) -> Summit:
    """Optimise on the final quasi-random rule; estimate the error from shifted rules."""
    problem, point = summit.problem, summit.point
    m, rows = problem.dimensions, problem.frequency.size
    point = at(problem, point.place, rule, point.modes)
    point, matrix, done = newton(
        problem, point, (rule, coarse), summit.matrix, steps, small=SMALL_QUASI
    )
    error = np.nan
    if matrix is not None:
        others = [quasi_random_rule(rule[2], m, rows, shift) for shift in range(1, SHIFTS + 1)]
        moved = [
            matrix.solve(at(problem, point.place, other, point.modes).gradient) for other in others
        ]
        error = _in_errors(np.sqrt(np.mean(np.square(moved), axis=0)), matrix)
    return replace(
        summit,
        point=point,
        matrix=matrix,
        rule=rule,
        convergence=_judged(steps, point, matrix, error, done=done),
        integration_error=error,
    )


def _in_errors(moved: FloatArray, matrix: Information) -> float:
    """Return the largest change of a parameter in units of its standard error."""
    if isinstance(matrix, DenseInformation):
        variance = np.diagonal(matrix.inverse())
    else:
        blocks, end = matrix.blocks()
        variance = np.append(np.einsum("jpp->jp", blocks).ravel(), np.diagonal(end))
    with np.errstate(invalid="ignore", divide="ignore"):
        return float(np.nanmax(np.abs(moved) / np.sqrt(variance), initial=0.0))


def _judged(
    steps: Steps, point: Point, matrix: Information | None, error: float, *, done: bool
) -> Convergence:
    """Return the convergence status, including integration errors."""
    if matrix is None:
        reason = f"the gradient is still {point.steepness:.1e} and {SINGULAR}"
        return steps.ended(point, done=False, reason=reason)
    if done and error > LARGEST_ERROR:
        reason = (
            f"integrals are not exact: another rule would move a parameter by {error:.2g} "
            "standard errors"
        )
        return steps.ended(point, done=False, reason=reason)
    return steps.ended(point, done=done)
