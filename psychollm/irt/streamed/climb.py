r"""Accelerated EM for a marginal likelihood of answers that are read in ranges.

A step is a Fisher scoring step of each item under the posteriors of abilities, followed by
standardisation of abilities to mean 0 and SD 1 (parameter expansion, as in `irt.climb`). The mean
and SD follow from the gradient by integration by parts,

.. math:: \sum_j a_j \frac{\partial \ell}{\partial d_j} = \sum_i E \theta_i, \qquad
          \sum_j a_j \frac{\partial \ell}{\partial a_j} = \sum_i (E \theta_i^2 - 1),  \quad (1)

where :math:`\ell` is the log-likelihood. With few nodes, the left sides of equations (1) are sums
over thousands of items and have a far larger error than the right sides. Answers carry little
information about the scale of abilities, so this error would shift the scale. `_on_scale`
therefore corrects the gradient so that both equations (1) are true. The correction changes only
the directions that correspond to a shift or a stretch of the scale.

If abilities are estimated precisely, items are coupled only through the mean and SD of abilities,
and a few steps suffice. If abilities are estimated imprecisely, SQUAREM extrapolates the steps. A
step takes two data passes, or three if posterior modes have moved.
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

# diverging items are excluded when the variance of abilities changes by less than this
SETTLING = 0.02
WORTH = 1.5  # shortest extrapolation, in EM steps
LEAST_VARIANCE = 0.01  # smallest variance of abilities after a step
RIDGE = 1e-8  # constant added to the information
LOSS = 1e-9  # accepted relative loss of the objective if nodes are not centred at the modes
UNTOLD = 1e-10  # with less information per respondent, both sides of (1) are rounding errors
STALLED = 4  # number of cycles without a smaller gradient after which rounding errors are assumed


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """Parameters, with the posteriors of abilities at these parameters."""

    parameters: FloatArray  # (J, p)
    abilities: StreamedAbilities
    posterior: Posterior
    objective: float


@dataclass(frozen=True, slots=True, eq=False)
class StreamedPoint(Seen):
    """Parameters and posteriors, with gradients and information of items."""

    gradient: FloatArray  # (J, p) gradient with priors; a shared slope has equal entries
    expected: FloatArray  # (J, p, p)
    frozen: BoolArray  # (J, p)
    target: FloatArray  # (J, p) targets of each item's scoring step
    mean: float  # mean and standard deviation of abilities, by (1)
    sd: float

    @property
    def steepness(self) -> float:
        """Largest absolute derivative with respect to a free parameter."""
        return float(np.abs(self.gradient[~self.frozen]).max(initial=0.0))


@dataclass(frozen=True, slots=True)
class StreamedProblem:
    """Objective of the fit: likelihood of the answers, computed by data passes, and priors."""

    family: Family
    prior: NormalPrior

    def seen(self, parameters: FloatArray, abilities: StreamedAbilities) -> Seen:
        """Compute the likelihood in one data pass."""
        bounds = self.family.bounds
        parameters = np.clip(parameters, -bounds, bounds)
        posterior = abilities.posterior(parameters[None])
        objective = posterior.log_marginal + self.prior.log_density(parameters)
        return Seen(parameters, abilities.moved(posterior), posterior, objective)

    def completed(self, seen: Seen) -> StreamedPoint:
        """Return the point with the gradient and information of the items."""
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
        known_well &= seen.abilities.n_nodes < FINEST  # on a fine grid the likelihood is smooth
        if known_well and lost.sum() > seen.abilities.lost.sum():
            # On a coarse grid, the likelihood of an extreme slope is a step function. The slope
            # would move to its bound, and the bound would determine the scale of all other slopes.
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
        """Compute the likelihood of the answers and its gradient."""
        return self.completed(self.seen(parameters, abilities))

    def after(self, point: StreamedPoint) -> StreamedPoint | None:
        """Return the point after an EM step, shortened if needed; None on failure."""
        target = scoring_step(self.family, point) if self.family.tied else point.target
        mean, sd = point.mean, point.sd
        if self.prior.precisions.any():  # priors keep slopes finite
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
        """Return the SQUAREM point if its objective exceeds the objective after two EM steps."""
        aim = start.parameters + 2.0 * length * step + length**2 * bend
        seen = self.seen(aim, second.abilities)
        return self.completed(seen) if seen.objective > second.objective else None


def _on_scale(seen: Seen, score: FloatArray, information: FloatArray) -> FloatArray:
    """Return the corrections of the scores (J, 2) that make both equations (1) true."""
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
    """Maximise from a point; the function `keep` is called with the point after each cycle."""
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
