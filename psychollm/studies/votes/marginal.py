"""Contributions of votes to the marginal likelihood, its gradient and the information."""

from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array, vstack

from psychollm._base.types import FloatArray
from psychollm.kernels.voters import voter_means, voter_modes
from psychollm.studies.votes.davidson import Terms, terms
from psychollm.studies.votes.table import Options, State, Votes

_MOST_STEPS = 6  # largest number of Newton steps to the modes of voters
_DENSE = 0.05  # proportion of nonzero cells above which a matrix is dense


class Expected(NamedTuple):
    """Quantities averaged over the posterior of the voters' effects."""

    scores: FloatArray  # (3, votes) gradients in the model, side and tie terms
    moments: FloatArray  # (voters, 3) mean squares of the effects
    log_likelihood: float


class Here(NamedTuple):
    """Likelihood terms of votes, at the posterior modes of the voters' effects."""

    terms: Terms
    slope: FloatArray  # (votes,) discrimination; (1,) without voters
    g: FloatArray  # (votes,) difference times discrimination


def nodes_of(m: int) -> tuple[FloatArray, FloatArray]:
    """Return nodes (M, 3) and log weights (M,) of a product rule for standard normal effects."""
    x, w = np.polynomial.hermite_e.hermegauss(m)
    z = np.array(list(product(x, repeat=3)))
    return z, np.log(np.array(list(product(w / w.sum(), repeat=3))).prod(axis=1))


def _differences(votes: Votes, state: State) -> tuple[FloatArray, FloatArray]:
    """Return two parts of the log odds (votes,): multiplied by discrimination, and added."""
    phi, own = state.phi[:-2], votes.is_own
    added = votes.design @ np.where(own, phi, 0.0) if votes.n_own else np.zeros(1)
    return votes.design @ np.where(own, 0.0, phi), added + state.phi[-2]


def _by_voter(votes: Votes, values: FloatArray) -> FloatArray:
    return np.asarray(np.bincount(votes.voter, values, minlength=votes.n_voters), np.float64)


def _at(
    votes: Votes, state: State, parts: tuple[FloatArray, FloatArray], effects: FloatArray
) -> tuple[Terms, FloatArray]:
    """Return each vote's terms and discrimination at given effects of voters."""
    delta, added = parts
    nu = state.phi[-1]
    if not votes.n_voters:
        return terms(delta + added, np.full(delta.size, nu), votes.wins, votes.n), np.ones(1)
    s, t, slope = np.stack([*effects.T[:2], np.exp(effects[:, 2])])[:, votes.voter]
    return terms(slope * delta + added + s, nu + t, votes.wins, votes.n), slope


def here(votes: Votes, state: State) -> Here:
    """Return the terms of the votes at the modes of their voters' effects."""
    parts = _differences(votes, state)
    one, slope = _at(votes, state, parts, state.effects)
    return Here(one, slope, slope * parts[0])


def find_modes(votes: Votes, state: State, options: Options) -> None:
    """Set each voter's effects, and the root of their covariance, to the values at the mode."""
    if votes.n_voters:
        prior = state.sd, options.free()
        given, nu = _of_voters(votes, state), float(state.phi[-1])
        voter_modes(votes.ends, given, nu, prior, _MOST_STEPS, state.effects, state.roots)


def expected(votes: Votes, state: State, nodes: tuple[FloatArray, FloatArray]) -> Expected:
    """Return expected gradients, second moments and the log-likelihood."""
    if not votes.n_voters:
        one, _ = _at(votes, state, _differences(votes, state), state.effects)
        scores = np.stack([one.eta, one.eta, one.nu])
        return Expected(scores, np.zeros((0, 3)), float(one.likelihood.sum()))
    scores, moments = np.empty((3, votes.left.size)), np.empty((votes.n_voters, 3))
    likelihood = voter_means(
        votes.ends, _of_voters(votes, state), float(state.phi[-1]), state.sd, nodes,
        (state.effects, state.roots), scores, moments,
    )  # fmt: skip
    return Expected(scores, moments, likelihood)


def _of_voters(votes: Votes, state: State) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the term multiplied by discrimination, the additive term, and the votes."""
    delta, added = _differences(votes, state)
    return delta, np.broadcast_to(added, delta.shape).copy(), np.ascontiguousarray(votes.wins)


def slope_of(votes: Votes, scores: FloatArray) -> FloatArray:
    """Return the gradient of the marginal likelihood in the parameters."""
    found = votes.design.T @ scores[0]
    if votes.n_own:
        found = np.where(votes.is_own, votes.design.T @ scores[1], found)
    return np.concatenate([found, scores[1:].sum(axis=1)])


def scale_of(votes: Votes, state: State, at: Here) -> tuple[float, float]:
    """Return the information about the scale, and the part of it that voters' effects remove."""
    line = at.slope * (state.phi[votes.left] - state.phi[votes.right])
    one = at.terms
    total = float((one.eta_eta * line**2).sum())
    if not votes.n_voters:
        return total, 0.0
    taken = taken_by_vote(votes, state, at)
    return total, sum(float((_by_voter(votes, each * line) ** 2).sum()) for each in taken)


def taken_by_vote(votes: Votes, state: State, at: Here) -> FloatArray:
    """Return the cross information (3, votes) of a vote's log odds with its voter's effects.

    Each voter's effects are scaled by a root of their posterior covariance. The sum of squares
    over voters is then the information that a vote loses because the effects are unknown.
    """
    one = at.terms
    roots = state.roots[votes.voter]
    lines = (one.eta_eta, one.eta_nu, one.eta_eta * at.g)
    return np.stack(
        [lines[0] * roots[:, 0, j] + lines[1] * roots[:, 1, j] + lines[2] * roots[:, 2, j]
         for j in range(3)]
    )  # fmt: skip


def information_of(votes: Votes, state: State, at: Here) -> FloatArray:
    """Return the information on the parameters without priors, net of voters' effects."""
    one, design = at.terms, votes.scaled(at.slope)
    p = design.shape[1]
    full = np.zeros((p + 2, p + 2))
    full[:p, :p] = (design.T @ design.multiply(one.eta_eta[:, None]).tocsr()).toarray()
    full[:p, p] = full[p, :p] = design.T @ one.eta_eta
    full[:p, p + 1] = full[p + 1, :p] = design.T @ one.eta_nu
    full[p, p], full[p + 1, p + 1] = one.eta_eta.sum(), one.nu_nu.sum()
    full[p, p + 1] = full[p + 1, p] = one.eta_nu.sum()
    for column in swept_of(votes, state, at):
        full -= _square(column)
    return full


def _square(column: csr_array) -> FloatArray:
    if column.nnz < _DENSE * column.shape[0] * column.shape[1]:
        return np.asarray((column @ column.T).toarray())
    dense = column.toarray()
    return np.asarray(dense @ dense.T)


def swept_of(votes: Votes, state: State, at: Here) -> tuple[csr_array, ...]:
    """Return matrices F (parameters, voters) for the information that voters' effects remove.

    The removed information is the sum of F F' over the returned matrices.
    """
    if not votes.n_voters:
        return ()
    one, design = at.terms, votes.scaled(at.slope)
    lines = (
        (one.eta_eta, one.eta_nu),
        (one.eta_nu, one.nu_nu),
        (one.eta_eta * at.g, one.eta_nu * at.g),
    )
    n = votes.left.size
    member = csr_array((np.ones(n), votes.voter, np.arange(n + 1)), shape=(n, votes.n_voters))
    crossed = []
    for side, tie in lines:
        top = design.multiply(side[:, None]).T.tocsr() @ member
        rest = np.stack([_by_voter(votes, side), _by_voter(votes, tie)])
        crossed.append(vstack([top, csr_array(rest)]).tocsr())
    return tuple(
        sum(
            (crossed[i].multiply(state.roots[:, i, j][None, :]) for i in range(1, 3)),
            start=crossed[0].multiply(state.roots[:, 0, j][None, :]),
        ).tocsr()
        for j in range(3)
    )


def slopes_in_effects(votes: Votes, state: State, at: Here) -> FloatArray:
    """Return the votes' contributions to the gradient in their voters' effects (3, votes)."""
    one, roots = at.terms, state.roots[votes.voter]
    slopes = (one.eta, one.nu, one.eta * at.g)
    return np.stack(
        [slopes[0] * roots[:, 0, j] + slopes[1] * roots[:, 1, j] + slopes[2] * roots[:, 2, j]
         for j in range(3)]
    )  # fmt: skip
