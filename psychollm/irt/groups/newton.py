"""Newton's method on the likelihood of several groups.

One matrix serves several steps: it is computed anew only where the gradient has not fallen
tenfold. Where the information is not positive definite, or a step would lower the objective, the
matrix gets a growing diagonal. The climb is given up where a parameter of an item leaves all
bounds: the likelihood then has no top.
"""

from dataclasses import dataclass

import numpy as np

from psychollm._base.convergence import Convergence
from psychollm._base.types import FloatArray
from psychollm.irt.climb import MAX_ITERATIONS, Steps
from psychollm.irt.groups.population import Groups, Height, height, information
from psychollm.irt.likelihood import Grid

TOLERANCE = 1e-8  # of the gradient
ROUNDING = 1e-12  # of the gradient, per respondent
LONGEST = 1.0  # largest change of a parameter in one step
SLACK = 1e-13
MOST_DAMPING = 1e8


@dataclass(frozen=True, slots=True)
class Top:
    """Where the climb ended: the point, its grids, how it ended."""

    at: Height
    grids: list[Grid]
    convergence: Convergence


def maximise(model: Groups, x: FloatArray, steps: Steps | None = None) -> Top:
    """Climb from x (q,), on grids that fit the point where the climb ends."""
    steps = steps or Steps(MAX_ITERATIONS)
    n = sum(problem.patterns.n_respondents for problem in model.problems)
    tolerance = max(TOLERANCE, ROUNDING * n)
    grids = model.grids(x)
    at = height(model, x, grids)
    for _ in range(4):
        at = _climbed(model, at, grids, tolerance, steps)
        finer = model.grids(at.x)
        if model.unbounded(at.x) or all(
            old.spacing <= 1.02 * new.spacing for old, new in zip(grids, finer, strict=True)
        ):
            break
        grids = finer
        at = height(model, at.x, grids)
    done = at.steepness <= 100.0 * tolerance
    reason = "converged" if done else f"the gradient is still {at.steepness:.1e}"
    if not (done or steps.left):
        reason = f"max_iterations={steps.limit} was reached where {reason}"
    if model.unbounded(at.x):
        done, reason = False, "the likelihood has no maximum: use priors, or more respondents"
    ending = Convergence(
        converged=done, iterations=steps.taken, reason=reason, objective=at.objective
    )
    return Top(at, grids, ending)


def _climbed(
    model: Groups, at: Height, grids: list[Grid], tolerance: float, steps: Steps
) -> Height:
    """Return the highest point reached on these grids."""
    damping, matrix = 0.0, None
    while steps.left and at.steepness > tolerance and not model.unbounded(at.x):
        steps.take(1)
        fresh = matrix is None
        if matrix is None:
            matrix = information(model, at, grids)
        reached = _stepped(model, at, grids, matrix, damping)
        if reached is None:
            if not fresh:
                matrix = None
            elif damping > MOST_DAMPING or at.steepness <= 100.0 * tolerance:
                return at
            else:
                damping = max(10.0 * damping, 1e-3)
            continue
        damping = 0.1 * damping if damping > 1e-6 else 0.0
        if reached.steepness > 0.1 * at.steepness:
            matrix = None
        at = reached
    return at


def _stepped(
    model: Groups, at: Height, grids: list[Grid], matrix: FloatArray, damping: float
) -> Height | None:
    """Return the point after one step, None if the step cannot be made or leads down."""
    scale = np.maximum(np.abs(np.diagonal(matrix)), 1e-8)
    try:
        root = np.linalg.cholesky(matrix + np.diag(damping * scale))
    except np.linalg.LinAlgError:
        return None
    step = np.linalg.solve(root.T, np.linalg.solve(root, at.gradient))
    step *= min(1.0, LONGEST / max(float(np.abs(step).max()), 1e-300))
    size = abs(at.objective)
    for halving in range(4):
        reached = height(model, at.x + 0.5**halving * step, grids)
        loss = at.objective - reached.objective
        flatter = reached.steepness <= 0.1 * at.steepness
        if loss <= SLACK * size or (flatter and loss <= 1e-11 * size):
            return reached
    return None
