r"""Estimate strengths and the variation between voters by maximum marginal likelihood.

Equation (1) gives the log odds of left against right for voter v, and the log tie parameter.

.. math:: \eta &= e^{\alpha_v} \bigl(\theta_l - \theta_r + x'\beta\bigr)
          + u_{gl} - u_{gr} + \sigma + s_v, \\
          \nu &= \tau + t_v.                                                              \quad (1)

Voter v has three normal effects: a preference :math:`s_v` for the left side, an effect :math:`t_v`
on ties, and a log discrimination :math:`\alpha_v`. Strengths differ between kinds of voters: kind
g has normal deviations :math:`u_g`. A single voter with very many votes is not pooled with other
voters, but has its own deviations from the strengths. Strengths also have a normal prior. All
standard deviations are estimated.

The effects of voters are integrated out. Newton steps find the mode of each voter's posterior.
Around the mode, a product of Gauss-Hermite rules is weighted by the true density. By Fisher's
identity, the gradient of the marginal likelihood is the mean gradient over the quadrature nodes.
Newton steps use the information of equation (2) at the mode, with the effects of voters
eliminated.

.. math:: A = H_{\phi\phi} - \sum_v H_{\phi v} H_{vv}^{-1} H_{v\phi} + P.                 \quad (2)

In equation (2), P is the precision of the priors. The variance of k effects follows MacKay's rule:
the sum of squared effects is divided by k minus the sum of the ratios of posterior to prior
variance.

With very many votes, the votes of a subset of voters are fitted first. The remaining steps with
all votes are short, so the information, equation (2), of the first iteration is reused.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from psychollm._base.types import BoolArray, FloatArray
from psychollm.studies.votes.davidson import NEVER
from psychollm.studies.votes.marginal import (
    expected,
    find_modes,
    here,
    information_of,
    nodes_of,
    scale_of,
    slope_of,
)
from psychollm.studies.votes.table import Options, State, Votes

_MOST_ROUNDS = 60
_SETTLED = 2e-3  # tolerance of steps, in standard errors, and of log standard deviations
_SETTLED_MANY = 1e-2
_LONGEST = 1.0  # largest step
_SD = np.array([0.5, 0.5, 0.3])  # SDs of voters' effects: start values, prior centres
_SD_SPREAD = 1.5  # prior SD of the logarithm of an SD
_LEAST_SD = 1e-3
_SMALL_SD = 0.1
_CURVES = 8.0  # largest ratio of secant to expected curvature, and its inverse
_FIRST_SD = 1.0  # initial SD of strengths
_WEAK = 10.0  # prior SD of the effects of side and ties
_MANY = 200_000  # above this number of votes, fewer nodes and a first fit to a subset are used
_SHORT = 0.1  # step below which the information is reused


@dataclass(frozen=True, kw_only=True, eq=False)
class Fit:
    """Estimates; `phi` contains strengths, deviations of kinds, covariates, side and ties."""

    state: State
    precision: FloatArray  # (parameters,) P of (2), as it shrinks the estimates
    information: FloatArray  # (parameters, parameters) A of (2)
    scores: FloatArray  # (3, votes) gradients in the model, side and tie terms
    weight: FloatArray  # (votes,) information of each vote on its difference
    sd: FloatArray  # (3,) SDs of the effects of voters
    log_likelihood: float
    converged: bool
    rounds: int

    @property
    def phi(self) -> FloatArray:
        """Parameters (parameters,)."""
        return self.state.phi

    @property
    def effects(self) -> FloatArray:
        """Effects of each voter on side, ties and discrimination (voters, 3)."""
        return self.state.effects

    @property
    def roots(self) -> FloatArray:
        """Square roots of the posterior covariances of the effects (voters, 3, 3)."""
        return self.state.roots

    @property
    def spread(self) -> FloatArray:
        """SD of the strengths, followed by the SD of the deviations of each kind (1 + own,)."""
        return self.state.spread

    @cached_property
    def covariance(self) -> FloatArray:
        """Posterior covariance of the parameters."""
        return inverse(self.information)

    def mean_discrimination(self, votes: Votes) -> FloatArray:
        """Return the posterior mean of each vote's discrimination, divided by its mode."""
        # Shape: (votes,).
        if not votes.n_voters:
            return np.ones(votes.left.size)
        return np.asarray(np.exp(0.5 * (self.roots[:, 2] ** 2).sum(axis=1))[votes.voter])

    @property
    def shrinkage(self) -> FloatArray:
        """Distance by which the priors shrink the estimates (parameters,)."""
        phi = np.where(_estimated(self.state), self.phi, 0.0)
        return np.asarray(self.covariance @ (self.precision * phi))


def inverse(matrix: FloatArray) -> FloatArray:
    """Return the inverse of a positive definite matrix."""
    return np.asarray(cho_solve(cho_factor(matrix), np.eye(len(matrix))))


def fit_votes(votes: Votes, options: Options) -> Fit:
    """Maximise the marginal likelihood of the model in equation (1)."""
    state = _start(votes, options)
    step = votes.left.size // _MANY + 1
    # A kind may consist of a single voter, whom the subset would omit.
    begun = step > 1 and votes.n_voters > 100 * step and not votes.n_own
    if begun:
        some = votes.of_every(2 * step)
        first = _start(some, options)
        _climb(some, first, options)
        state.phi, state.sd, state.spread = first.phi, first.sd, first.spread
    rounds, converged = _climb(votes, state, options)
    return _finished(votes, state, options, rounds=rounds, converged=converged)


def _start(votes: Votes, options: Options) -> State:
    state = State(
        phi=np.zeros(votes.n_parameters + 2),
        effects=np.zeros((votes.n_voters, 3)),
        roots=np.zeros((votes.n_voters, 3, 3)),
        sd=np.where(options.free(), _SD, _LEAST_SD),
        spread=np.full(1 + votes.n_own, _FIRST_SD if options.prior is None else options.prior),
    )
    state.phi[-1] = _tie_start(votes) if options.ties else NEVER
    return state


def _climb(votes: Votes, state: State, options: Options) -> tuple[int, bool]:
    """Iterate until steps are short; return the number of iterations and convergence status."""
    p = votes.n_parameters
    many = votes.left.size > _MANY
    nodes = nodes_of(2 if many else 3)
    close = _SETTLED_MANY if many else _SETTLED
    factor: Any = None
    longest, secant = np.inf, _Secant()
    for rounds in range(1, _MOST_ROUNDS + 1):
        anew = not many or longest > _SHORT
        slope, information, ratio = np.zeros(p + 2), np.zeros((p + 2, p + 2)), np.zeros(2)
        moments = np.zeros((votes.n_voters, 3))
        for part in votes.parts:
            one = state.of(part)
            find_modes(part.table, one, options)
            found = expected(part.table, one, nodes)
            moments[part.voters] = found.moments
            slope += slope_of(part.table, found.scores)
            at = here(part.table, one)
            ratio += scale_of(part.table, one, at)
            if anew:
                information += information_of(part.table, one, at)
        precision = _precision(votes, state)
        if anew:
            factor = cho_factor(_fixed(information + np.diag(precision), options))
        slope -= _remaining(votes, precision, *ratio) * np.where(_estimated(state), state.phi, 0.0)
        slope[_constant(p, options)] = 0.0
        step = cho_solve(factor, slope)
        moved = float(np.sqrt(slope @ step / max(p, 1)))
        # Damping is needed because the scale of strengths and the discriminations are confounded.
        damping = 0.6 if votes.n_voters and rounds > 3 else 1.0
        longest = float(np.abs(step).max())
        state.phi += damping * step * min(1.0, _LONGEST / max(longest, 1e-300))
        turned = _spreads(votes, state, options, moments, factor, damping, secant)
        if moved < close and turned < close:
            return rounds, True
    return rounds, False


def _finished(
    votes: Votes, state: State, options: Options, *, rounds: int, converged: bool
) -> Fit:
    nodes = nodes_of(2 if votes.left.size > _MANY else 3)
    information, ratio = np.zeros((state.phi.size,) * 2), np.zeros(2)
    scores, weight = np.empty((3, votes.left.size)), np.empty(votes.left.size)
    likelihood = 0.0
    for part in votes.parts:
        one = state.of(part)
        find_modes(part.table, one, options)
        found = expected(part.table, one, nodes)
        at = here(part.table, one)
        information += information_of(part.table, one, at)
        ratio += scale_of(part.table, one, at)
        scores[:, part.votes] = found.scores
        weight[part.votes] = at.slope**2 * at.terms.eta_eta
        likelihood += found.log_likelihood
    precision = _remaining(votes, _precision(votes, state), *ratio)
    return Fit(
        state=state,
        precision=precision,
        information=_fixed(information + np.diag(precision), options),
        scores=scores,
        weight=weight,
        sd=np.where(options.free() & bool(votes.n_voters), state.sd, 0.0),
        log_likelihood=likelihood,
        converged=converged,
        rounds=rounds,
    )


def _constant(p: int, options: Options) -> list[int]:
    """Return the indices of parameters that are not estimated."""
    return [p] * (not options.side) + [p + 1] * (not options.ties)


def _fixed(information: FloatArray, options: Options) -> FloatArray:
    """Return the information with unit rows for parameters that are not estimated."""
    for place in _constant(len(information) - 2, options):
        information[place], information[:, place] = 0.0, 0.0
        information[place, place] = 1.0
    return information


def _tie_start(votes: Votes) -> float:
    ties, rest = votes.wins[1].sum(), votes.wins[[0, 2]].sum()
    return float(np.log(2.0 * (ties + 0.5) / (rest + 0.5)))


def _estimated(state: State) -> BoolArray:
    return np.asarray(state.phi > NEVER)


def _remaining(votes: Votes, precision: FloatArray, total: float, lost: float) -> FloatArray:
    """Return the precision of the priors by which the estimates are shrunk (parameters,)."""
    # The discrimination of voters leaves the scale of strengths weakly determined. The joint mode
    # ignores the posterior volume, which would offset the prior of many strengths along this
    # scale. Therefore, the prior is scaled by the proportion of information that remains without
    # voters' effects.
    found = precision.copy()
    if lost:
        found[: votes.k] *= (total - lost) / total
    return found


def _precision(votes: Votes, state: State) -> FloatArray:
    """Return the precision of the priors (parameters,)."""
    covariates = votes.x.std(axis=0) ** 2 / _WEAK**2 if votes.x.size else votes.x.sum(axis=0)
    return np.concatenate(
        [np.repeat(state.spread**-2.0, votes.k), covariates, np.full(2, _WEAK**-2.0)]
    )


class _Secant:
    """Curvature of the likelihood in log standard deviations, from the last two iterations.

    Near a standard deviation of 0, the expected information can be much too large or too small.
    Steps that use the expected information are then too short, or oscillate about the maximum.
    """

    def __init__(self) -> None:
        self.last: tuple[FloatArray, FloatArray] | None = None

    def curvature(self, at: FloatArray, slope: FloatArray, expected: FloatArray) -> FloatArray:
        """Return the secant curvature, bounded relative to the expected curvature."""
        last, self.last = self.last, (at, slope)
        if last is None:
            return expected
        with np.errstate(invalid="ignore", divide="ignore"):
            found = -(slope - last[1]) / (at - last[0])
        found = np.where(np.isfinite(found) & (found > 0.0), found, expected)
        return np.asarray(np.clip(found, expected / _CURVES, expected * _CURVES))


def _spreads(
    votes: Votes,
    state: State,
    options: Options,
    moments: FloatArray,
    factor: Any,
    damping: float,
    secant: _Secant,
) -> float:
    """Update all standard deviations, and return the largest relative change."""
    before = np.concatenate([state.sd, state.spread])
    if votes.n_voters:
        free = options.free()
        shrunk = 1.0 - (state.roots**2).sum(axis=2) / state.sd**2
        pull = np.log(_SD) - np.log(state.sd)
        slope = (moments / state.sd**2 - 1.0).sum(axis=0) + pull / _SD_SPREAD**2
        curve = secant.curvature(
            np.log(state.sd), slope, 2.0 * (shrunk**2).sum(axis=0) + _SD_SPREAD**-2.0
        )
        step = damping * np.clip(slope / curve, -0.7, 0.7)
        state.sd = np.where(free, np.maximum(state.sd * np.exp(step), _LEAST_SD), state.sd)
    variance = np.diag(cho_solve(factor, np.eye(state.phi.size)))
    for g in range(len(state.spread)):
        if g == 0 and options.prior is not None:
            continue
        own = slice(g * votes.k, (g + 1) * votes.k)
        known = votes.k - variance[own].sum() / state.spread[g] ** 2
        found = np.sqrt((state.phi[own] ** 2).sum() / max(known, 0.5))
        state.spread[g] = max(found, _FIRST_SD if g == 0 else 0.02)
    after = np.concatenate([state.sd, state.spread])
    # An SD near 0 keeps shrinking without any effect on votes.
    return float((np.abs(after - before) / np.maximum(before, _SMALL_SD)).max())
