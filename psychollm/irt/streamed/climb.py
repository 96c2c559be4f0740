r"""Maximisation of a marginal likelihood that is read range by range: accelerated EM.

A step is a scoring step of each item on the posteriors of the abilities, after which abilities are
put on mean 0 and standard deviation 1 (parameter expansion, as in `irt.climb`). These are found in
the gradient (integrate by parts),

.. math:: \sum_j a_j \frac{\partial \ell}{\partial d_j} = \sum_i E \theta_i, \qquad
          \sum_j a_j \frac{\partial \ell}{\partial a_j} = \sum_i (E \theta_i^2 - 1),  \quad (1)

On few nodes the left sides, of thousands of items each, have a far larger error than the right
ones, and it would go to the scale, which answers tell little of. So the gradient is moved until
(1) holds, along what a shift and a stretch of the scale do to it: see `_on_scale`.

Where a test tells abilities well, mean and deviation are all that items share, and a few steps
lead to the top; SQUAREM leaps where they do not. A step costs two readings of the table, or three
where peaks have moved.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from psychollm._base.convergence import Convergence
from psychollm._base.types import BoolArray, FloatArray
from psychollm.irt.climb import EM_TRIES, FLAT, ROUNDING, TOLERANCE, Passes, Steps, scoring_step
from psychollm.irt.families import Family
from psychollm.irt.likelihood import NormalPrior
from psychollm.irt.streamed.posterior import FINEST, Posterior, StreamedAbilities

SETTLING = 0.02  # of the variance of abilities: from there on items without a top are left out
WORTH = 1.5  # the shortest leap, in steps of EM
LEAST_VARIANCE = 0.01  # of abilities after a step
RIDGE = 1e-8  # of information
LOSS = 1e-9  # of the objective, relative, that peaks off the middle of their nodes explain
UNTOLD = 1e-10  # information of a respondent's answers where both sides of (1) are rounding
STALLED = 4  # cycles in which the gradient may fail to fall before rounding is all that is left


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """Parameters with the posteriors of abilities there."""

    parameters: FloatArray  # (J, p)
    abilities: StreamedAbilities
    posterior: Posterior
    objective: float


@dataclass(frozen=True, slots=True, eq=False)
class StreamedPoint(Seen):
    """The same with what items get from them."""

    gradient: FloatArray  # (J, p), with priors; a shared slope's stands with each item
    expected: FloatArray  # (J, p, p)
    frozen: BoolArray  # (J, p)
    target: FloatArray  # (J, p) where scoring steps of each item lead
    mean: float  # of abilities; and their standard deviation: those of (1)
    sd: float

    @property
    def steepness(self) -> float:
        """Largest derivative by a free parameter."""
        return float(np.abs(self.gradient[~self.frozen]).max(initial=0.0))


@dataclass(frozen=True, slots=True)
class StreamedProblem:
    """Objective of the fit."""

    family: Family
    prior: NormalPrior

    def seen(self, parameters: FloatArray, abilities: StreamedAbilities) -> Seen:
        """Read the likelihood."""
        bounds = self.family.bounds
        parameters = np.clip(parameters, -bounds, bounds)
        posterior = abilities.posterior(parameters[None])
        objective = posterior.log_marginal + self.prior.log_density(parameters)
        return Seen(parameters, abilities.moved(posterior), posterior, objective)

    def completed(self, seen: Seen) -> StreamedPoint:
        """Read the gradient, too."""
        parameters = seen.parameters
        means, precisions = self.prior.means, self.prior.precisions
        known = np.stack([means, precisions, self.family.bounds])
        score, information, target = seen.abilities.targets(parameters, seen.posterior, known)
        push = _on_scale(seen, score, information)
        score = score + push
        expected = information + self.prior.information()
        target = target + np.linalg.solve(expected + RIDGE * np.eye(2), push[:, :, None])[:, :, 0]
        gradient = score + self.prior.gradient(parameters)
        frozen = np.abs(parameters) >= self.family.bounds
        frozen &= gradient * parameters > 0.0
        free, n = np.where(frozen, 0.0, score), seen.posterior.centre.size
        mean = float(parameters[:, 0] @ free[:, 1]) / n
        square = 1.0 + float(parameters[:, 0] @ free[:, 0]) / n
        lost = seen.abilities.lost | frozen.any(axis=1)
        known_well = not self.family.tied and abs(square - 1.0) < SETTLING
        known_well &= seen.abilities.n_nodes < FINEST  # on a fine grid it is no edge
        if known_well and lost.sum() > seen.abilities.lost.sum():
            # An edge in the likelihood, which would tie the scale of all others to its bound.
            return self.at(parameters, replace(seen.abilities, lost=lost))
        frozen |= seen.abilities.lost[:, None]
        if self.family.tied:
            gradient[:, 0] = gradient[:, 0].sum()
        return StreamedPoint(
            parameters=parameters,
            abilities=seen.abilities,
            posterior=seen.posterior,
            objective=seen.objective,
            gradient=gradient,
            expected=expected,
            frozen=frozen,
            target=np.where(frozen, parameters, target),
            mean=mean,
            sd=float(np.sqrt(max(square - mean**2, LEAST_VARIANCE))),
        )

    def at(self, parameters: FloatArray, abilities: StreamedAbilities) -> StreamedPoint:
        """Read likelihood and gradient."""
        return self.completed(self.seen(parameters, abilities))

    def after(self, point: StreamedPoint) -> StreamedPoint | None:
        """Return where a step of EM leads, a shorter one if it must be; None if all lead down."""
        target = scoring_step(self.family, point) if self.family.tied else point.target
        mean, sd = point.mean, point.sd
        if self.prior.precisions.any():  # which would pull them back
            mean, sd = 0.0, 1.0
        for halving in range(EM_TRIES):
            share = 0.5**halving
            to, unit = share * mean, 1.0 + share * (sd - 1.0)
            moved = point.parameters + share * (target - point.parameters)
            moved = self.family.rescaled(moved, to, unit)
            moved = np.where(point.frozen, point.parameters, moved)
            seen = self.seen(moved, point.abilities.moved(point.posterior, to, unit))
            if seen.objective >= point.objective - LOSS * abs(point.objective):
                return self.completed(seen)
        return None

    def leap(
        self,
        start: StreamedPoint,
        second: StreamedPoint,
        length: float,
        step: FloatArray,
        bend: FloatArray,
    ) -> StreamedPoint | None:
        """Return the point that two steps of EM aim at, if it is higher than the second."""
        aim = start.parameters + 2.0 * length * step + length**2 * bend
        seen = self.seen(aim, second.abilities)
        return self.completed(seen) if seen.objective > second.objective else None


def _on_scale(seen: Seen, score: FloatArray, information: FloatArray) -> FloatArray:
    """Return what to add to scores (J, 2) so that (1) holds: a step along the scale's two ways."""
    slope, posterior = seen.parameters[:, 0], seen.posterior
    means, zero = posterior.means, np.zeros(slope.size)
    shift, stretch = np.stack([zero, slope], axis=1), np.stack([slope, zero], axis=1)
    ways = np.stack([shift, stretch], axis=2)  # (J, 2, 2)
    told = np.array([means.sum(), (means**2 + posterior.variances - 1.0).sum()])
    moved = information @ ways
    total = np.einsum("jpk,jpl->kl", ways, moved)
    if np.trace(total) < UNTOLD * means.size:
        return np.zeros_like(score)
    gap = told - np.einsum("jpk,jp->k", ways, score)
    return np.asarray(moved @ np.linalg.solve(total, gap))


def climb(
    problem: StreamedProblem,
    point: StreamedPoint,
    steps: Steps,
    keep: Callable[[StreamedPoint, int], None],
) -> tuple[StreamedPoint, Convergence]:
    """Maximise from a point; `keep` is handed the point after each cycle."""
    passes = Passes(
        problem.after, lambda one, other: other.parameters - one.parameters, problem.leap, WORTH
    )
    tolerance = max(TOLERANCE, ROUNDING * point.posterior.centre.size)
    flattest, stalled = np.inf, 0
    while point.steepness > tolerance and steps.left and stalled < STALLED:
        following, _ = passes.run(point, steps, cycles=1, close=0.0)
        steps.near(following.steepness, tolerance)
        keep(following, steps.taken)
        rises = following.objective - point.objective > LOSS * abs(point.objective)
        stalled = 0 if following.steepness < 0.9 * flattest or rises else stalled + 1
        flattest = min(flattest, following.steepness)
        if following is point:
            break
        point = following
    done = point.steepness <= max(tolerance, FLAT if stalled >= STALLED else 0.0)
    return point, steps.ended(point, done=done)
