r"""The strengths of models and what varies between voters, by maximum marginal likelihood.

The log odds of left against right of voter v, and the log tie parameter, are

.. math:: \eta &= e^{\alpha_v} \bigl(\theta_l - \theta_r + x'\beta\bigr)
          + u_{gl} - u_{gr} + \sigma + s_v, \\
          \nu &= \tau + t_v,                                                              \quad (1)

with normal effects :math:`s_v, t_v, \alpha_v` of the voter: side, ties and discrimination. Normal
deviations :math:`u_g` are there for a kind of voters g, or for one voter with very many votes: it
is linked with the others and not pooled. Strengths have a normal prior as well. All standard
deviations are estimated.

The effects of voters are integrated out. Around the mode of a voter's posterior, which Newton
steps find for all voters at once, a product of Gauss-Hermite rules is weighted by the true
density. By Fisher's identity the slope of the marginal likelihood is the mean of the slopes at
these nodes. Newton steps use the information at the mode, with the effects of voters swept out,

.. math:: A = H_{\phi\phi} - \sum_v H_{\phi v} H_{vv}^{-1} H_{v\phi} + P,                 \quad (2)

P being the precision of the priors. A standard deviation of k effects follows MacKay's rule: the
sum of squares of their estimates over k minus the sum of posterior by prior variances.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csr_array

from psychollm._base.types import BoolArray, FloatArray, IntArray
from psychollm.studies.votes.davidson import NEVER, Terms, terms

_MOST_ROUNDS = 60
_SETTLED = 2e-3  # of the steps, in standard errors, and of log standard deviations
_LONGEST = 1.0  # step
_SD = np.array([0.5, 0.5, 0.3])  # of the effects of voters, to begin with, and in their weak prior
_SD_SPREAD = 1.5  # of the logarithm of an SD
_LEAST_SD = 1e-3
_FIRST_SD = 1.0  # of strengths
_WEAK = 10.0  # SD of side and ties
_FEW_VOTES = 200_000  # more votes have a rule with fewer nodes


@dataclass(frozen=True, kw_only=True, eq=False)
class Votes:
    """Votes by numbers, sorted by voter."""

    left: IntArray  # (votes,) number of the model
    right: IntArray
    wins: FloatArray  # (3, votes) weight of left, tie and right
    voter: IntArray  # (votes,) number of the voter; empty where nothing is known of voters
    prompt: IntArray  # (votes,) likewise
    own: IntArray  # (votes,) number of the kind with strengths of its own, -1 for the others
    x: FloatArray  # (votes, covariates) left minus right
    k: int  # models
    n_voters: int
    n_own: int

    @cached_property
    def n(self) -> FloatArray:
        """Weight of each vote (votes,)."""
        return np.asarray(self.wins.sum(axis=0), np.float64)

    @cached_property
    def is_own(self) -> BoolArray:
        """Which parameters are deviations of a kind of voters (parameters,)."""
        place = np.arange(self.design.shape[1])
        return np.asarray((place >= self.k) & (place < self.k * (1 + self.n_own)))

    def scaled(self, slope: FloatArray) -> csr_array:
        """Return the design with the discrimination of the voter in all but deviations."""
        found = self.design.copy()
        row = np.repeat(np.arange(self.left.size), np.diff(found.indptr))
        common = ~self.is_own[found.indices]
        found.data[common] *= np.broadcast_to(slope, self.left.shape)[row[common]]
        return found

    @cached_property
    def design(self) -> csr_array:
        """Coefficients of strengths, own strengths and covariates (votes, parameters)."""
        rows = np.arange(self.left.size)
        one = np.ones(self.left.size)
        parts = [(rows, self.left, one), (rows, self.right, -one)]
        mine = np.flatnonzero(self.own >= 0)
        if mine.size:
            base = self.k * (1 + self.own[mine])
            parts += [
                (mine, base + self.left[mine], one[mine]),
                (mine, base + self.right[mine], -one[mine]),
            ]
        first = self.k * (1 + self.n_own)
        for j, column in enumerate(self.x.T):
            parts.append((rows, np.full(rows.size, first + j), column))
        row, column, value = (np.concatenate(one) for one in zip(*parts, strict=True))
        shape = (rows.size, first + self.x.shape[1])
        return csr_array((value, (row, column)), shape=shape)


@dataclass(frozen=True, kw_only=True, eq=False)
class Fit:
    """What was estimated; `phi` holds strengths, own strengths, covariates, side and ties."""

    phi: FloatArray  # (parameters,)
    precision: FloatArray  # (parameters,) P of (2)
    information: FloatArray  # (parameters, parameters) A of (2)
    scores: FloatArray  # (3, votes) slopes in what models, side and ties add
    weight: FloatArray  # (votes,) information of each vote on its difference
    # What the effects of voters take of (2) is the sum of the squares of these (parameters,
    # voters), and what each vote adds to the slopes in the effects, in the same units (votes,).
    swept: tuple[csr_array, ...]
    inner: tuple[FloatArray, ...]
    effects: FloatArray  # (voters, 3) side, ties and discrimination of each voter
    roots: FloatArray  # (voters, 3, 3) square roots of their posterior covariance
    sd: FloatArray  # (3,) of the effects of voters
    spread: FloatArray  # (1 + own,) SD of strengths, and of each kind's own deviations
    log_likelihood: float
    converged: bool
    rounds: int

    @cached_property
    def covariance(self) -> FloatArray:
        """Posterior covariance of the parameters."""
        return inverse(self.information)


@dataclass(slots=True, kw_only=True, eq=False)
class _State:
    """What changes from round to round."""

    phi: FloatArray
    effects: FloatArray
    roots: FloatArray
    sd: FloatArray
    spread: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Options:
    """What is estimated."""

    side: bool
    ties: bool
    prior: float | None  # SD of strengths, where it is given

    def free(self) -> "np.ndarray[Any, np.dtype[np.bool_]]":
        """Return which effects of voters there are: side, ties, discrimination."""
        return np.array([self.side, self.ties, True])


def inverse(matrix: FloatArray) -> FloatArray:
    """Return the inverse of a positive definite matrix."""
    return np.asarray(cho_solve(cho_factor(matrix), np.eye(len(matrix))))


def fit_votes(votes: Votes, options: Options) -> Fit:
    """Maximise the marginal likelihood of (1)."""
    p = votes.design.shape[1]
    state = _State(
        phi=np.zeros(p + 2),
        effects=np.zeros((votes.n_voters, 3)),
        roots=np.zeros((votes.n_voters, 3, 3)),
        sd=np.where(options.free(), _SD, _LEAST_SD),
        spread=np.full(1 + votes.n_own, _FIRST_SD if options.prior is None else options.prior),
    )
    state.phi[-1] = _tie_start(votes) if options.ties else NEVER
    fixed = np.zeros(p + 2, dtype=np.bool_)
    fixed[-2], fixed[-1] = not options.side, not options.ties
    nodes = _nodes(3 if votes.left.size <= _FEW_VOTES else 2)
    settled = False
    for rounds in range(1, _MOST_ROUNDS + 1):
        _modes(votes, state, options)
        scores, moments, likelihood = _expected(votes, state, nodes)
        precision = _precision(votes, state, options)
        information, _, swept, _ = _information(votes, state, precision)
        slope = _slope(votes, scores) - precision * _pull(votes, state, information, swept)
        slope[fixed] = 0.0
        information[fixed], information[:, fixed] = 0.0, 0.0
        information[fixed, fixed] = 1.0
        factor = cho_factor(information)
        step = cho_solve(factor, slope)
        moved = float(np.sqrt(slope @ step / max(p, 1)))
        # The scale of strengths and the discrimination of voters move against each other.
        damping = 0.6 if votes.n_voters and rounds > 3 else 1.0
        state.phi += damping * step * min(1.0, _LONGEST / max(np.abs(step).max(), 1e-300))
        turned = _spreads(votes, state, options, moments, factor, damping)
        settled = moved < _SETTLED and turned < _SETTLED
        if settled:
            break
    _modes(votes, state, options)
    scores, moments, likelihood = _expected(votes, state, nodes)
    precision = _precision(votes, state, options)
    information, weight, swept, inner = _information(votes, state, precision)
    information[fixed], information[:, fixed] = 0.0, 0.0
    information[fixed, fixed] = 1.0
    return Fit(
        phi=state.phi,
        precision=precision,
        information=information,
        scores=scores,
        weight=weight,
        swept=swept,
        inner=inner,
        effects=state.effects,
        roots=state.roots,
        sd=np.where(options.free() & bool(votes.n_voters), state.sd, 0.0),
        spread=state.spread,
        log_likelihood=float(likelihood.sum()),
        converged=settled,
        rounds=rounds,
    )


def _tie_start(votes: Votes) -> float:
    ties, rest = votes.wins[1].sum(), votes.wins[[0, 2]].sum()
    return float(np.log(2.0 * (ties + 0.5) / (rest + 0.5)))


def _pull(
    votes: Votes, state: _State, information: FloatArray, swept: tuple[csr_array, ...]
) -> FloatArray:
    """Return what the precision of the priors pulls to zero (parameters,)."""
    phi = np.where(state.phi > NEVER, state.phi, 0.0)
    # The discrimination of voters leaves the scale of strengths open. Along it the volume of many
    # strengths balances their prior, which the mode does not show: the prior keeps the share that
    # votes alone determine.
    line = np.zeros_like(phi)
    line[: votes.k] = phi[: votes.k]
    lost = sum(float(((factor.T @ line) ** 2).sum()) for factor in swept)
    if lost:
        left = (
            float(line @ information @ line)
            - float((line[: votes.k] ** 2).sum()) / state.spread[0] ** 2
        )
        phi[: votes.k] *= left / (left + lost)
    return phi


def _nodes(m: int) -> tuple[FloatArray, FloatArray]:
    """Return nodes (M, 3) and log weights (M,) of a product rule for standard normal effects."""
    x, w = np.polynomial.hermite_e.hermegauss(m)
    z = np.array(list(product(x, repeat=3)))
    return z, np.log(np.array(list(product(w / w.sum(), repeat=3))).prod(axis=1))


def _differences(votes: Votes, state: _State) -> tuple[FloatArray, FloatArray]:
    """Return what the discrimination multiplies, and what is added (votes,)."""
    phi, own = state.phi[:-2], votes.is_own
    added = votes.design @ np.where(own, phi, 0.0) if own.any() else np.zeros(1)
    return votes.design @ np.where(own, 0.0, phi), added + state.phi[-2]


def _by_voter(votes: Votes, values: FloatArray) -> FloatArray:
    return np.asarray(np.bincount(votes.voter, values, minlength=votes.n_voters), np.float64)


def _at(
    votes: Votes, state: _State, parts: tuple[FloatArray, FloatArray], effects: FloatArray
) -> tuple[Terms, FloatArray]:
    """Return the terms of the votes at given effects of voters, and the discrimination."""
    delta, added = parts
    nu = state.phi[-1]
    if not votes.n_voters:
        return terms(delta + added, np.full(delta.size, nu), votes.wins, votes.n), np.ones(1)
    s, t, alpha = (column[votes.voter] for column in effects.T)
    slope = np.exp(alpha)
    return terms(slope * delta + added + s, nu + t, votes.wins, votes.n), slope


def _modes(votes: Votes, state: _State, options: Options, *, most: int = 6) -> None:
    """Find the mode of each voter's effects, and the root of the covariance there."""
    if not votes.n_voters:
        return
    parts = _differences(votes, state)
    free = options.free()
    for left in reversed(range(most)):
        one, slope = _at(votes, state, parts, state.effects)
        g = slope * parts[0]
        gradient = np.stack([_by_voter(votes, v) for v in (one.eta, one.nu, one.eta * g)], axis=1)
        # What the expected information lacks of the curvature in the discrimination.
        bend = np.maximum(-gradient[:, 2], 0.0)
        gradient -= state.effects / state.sd**2
        entries = (
            one.eta_eta, one.eta_nu, one.eta_eta * g, one.nu_nu, one.eta_nu * g, one.eta_eta * g**2
        )  # fmt: skip
        hessian = np.empty((votes.n_voters, 3, 3))
        for (i, j), values in zip(zip(*np.triu_indices(3), strict=True), entries, strict=True):
            hessian[:, i, j] = hessian[:, j, i] = _by_voter(votes, values)
        hessian[:, range(3), range(3)] += 1.0 / state.sd**2
        hessian[:, 2, 2] += bend
        gradient[:, ~free] = 0.0
        step = np.clip(np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0], -1.0, 1.0)
        if not left or np.abs(step).max() < 1e-4:
            break
        state.effects += step
    # The inverse root: rows of the Cholesky factor of the inverse.
    state.roots = np.linalg.cholesky(np.linalg.inv(hessian))


def _expected(
    votes: Votes, state: _State, nodes: tuple[FloatArray, FloatArray]
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return expected slopes (3, votes), second moments (voters, 3) and log-likelihoods."""
    parts = _differences(votes, state)
    if not votes.n_voters:
        one, _ = _at(votes, state, parts, state.effects)
        return np.stack([one.eta, one.eta, one.nu]), np.zeros((0, 3)), one.likelihood
    z, log_weight = nodes
    found, log_density, squares = [], [], []
    for node, w in zip(z, log_weight, strict=True):
        effects = state.effects + state.roots @ node
        one, slope = _at(votes, state, parts, effects)
        prior = -0.5 * ((effects / state.sd) ** 2).sum(axis=1)
        log_density.append(w + _by_voter(votes, one.likelihood) + prior + 0.5 * node @ node)
        found.append((one.eta * slope, one.eta, one.nu))
        squares.append(effects**2)
    density = np.array(log_density)
    top = density.max(axis=0)
    share = np.exp(density - top)
    total = share.sum(axis=0)
    share /= total
    scores = np.zeros((3, votes.left.size))
    for values, weight in zip(found, share, strict=True):
        scores += np.stack(values) * weight[votes.voter]
    moments = (np.array(squares) * share[:, :, None]).sum(axis=0)
    roots = np.abs(np.linalg.det(state.roots))
    likelihood = top + np.log(total) + np.log(roots) - np.log(state.sd).sum()
    return scores, moments, likelihood


def _slope(votes: Votes, scores: FloatArray) -> FloatArray:
    common, own = (votes.design.T @ one for one in scores[:2])
    return np.concatenate([np.where(votes.is_own, own, common), scores[1:].sum(axis=1)])


def _precision(votes: Votes, state: _State, options: Options) -> FloatArray:
    """Return the precision of the priors (parameters,)."""
    covariates = votes.x.std(axis=0) ** 2 / _WEAK**2 if votes.x.size else votes.x.sum(axis=0)
    return np.concatenate(
        [np.repeat(state.spread**-2.0, votes.k), covariates, np.full(2, _WEAK**-2.0)]
    )


def _information(
    votes: Votes, state: _State, precision: FloatArray
) -> tuple[FloatArray, FloatArray, tuple[csr_array, ...], tuple[FloatArray, ...]]:
    """Return A of (2), the information of each vote, and what effects of voters take away."""
    parts = _differences(votes, state)
    one, slope = _at(votes, state, parts, state.effects)
    design = votes.scaled(slope)
    p = design.shape[1]
    full = np.zeros((p + 2, p + 2))
    full[:p, :p] = (design.T @ design.multiply(one.eta_eta[:, None]).tocsr()).toarray()
    full[:p, p] = full[p, :p] = design.T @ one.eta_eta
    full[:p, p + 1] = full[p + 1, :p] = design.T @ one.eta_nu
    full[p, p], full[p + 1, p + 1] = one.eta_eta.sum(), one.nu_nu.sum()
    full[p, p + 1] = full[p + 1, p] = one.eta_nu.sum()
    swept: tuple[csr_array, ...] = ()
    inner: tuple[FloatArray, ...] = ()
    if votes.n_voters:
        g = slope * parts[0]
        swept = _swept(votes, design, state, one, g)
        roots = state.roots[votes.voter]
        slopes = (one.eta, one.nu, one.eta * g)
        inner = tuple(
            slopes[0] * roots[:, 0, j] + slopes[1] * roots[:, 1, j] + slopes[2] * roots[:, 2, j]
            for j in range(3)
        )
        for column in swept:
            full -= (column @ column.T).toarray()
    full[range(p + 2), range(p + 2)] += precision
    return full, slope**2 * one.eta_eta, swept, inner


def _swept(
    votes: Votes, design: csr_array, state: _State, one: Terms, g: FloatArray
) -> tuple[csr_array, ...]:
    """Return three factors (parameters, voters) of what the effects of voters take away."""
    lines = (
        (one.eta_eta, one.eta_nu), (one.eta_nu, one.nu_nu), (one.eta_eta * g, one.eta_nu * g)
    )  # fmt: skip
    n = votes.left.size
    member = csr_array((np.ones(n), votes.voter, np.arange(n + 1)), shape=(n, votes.n_voters))
    crossed = []
    for side, tie in lines:
        top = design.multiply(side[:, None]).T.tocsr() @ member
        rest = np.stack([_by_voter(votes, side), _by_voter(votes, tie)])
        crossed.append(_stacked(top, rest))
    return tuple(
        sum(
            (crossed[i].multiply(state.roots[:, i, j][None, :]) for i in range(1, 3)),
            start=crossed[0].multiply(state.roots[:, 0, j][None, :]),
        ).tocsr()
        for j in range(3)
    )


def _stacked(top: csr_array, rest: FloatArray) -> csr_array:
    from scipy.sparse import vstack

    return vstack([top, csr_array(rest)]).tocsr()


def _spreads(
    votes: Votes,
    state: _State,
    options: Options,
    moments: FloatArray,
    factor: Any,
    damping: float,
) -> float:
    """Update all standard deviations, and return the largest change of a logarithm."""
    before = np.concatenate([state.sd, state.spread])
    if votes.n_voters:
        free = options.free()
        shrunk = 1.0 - (state.roots**2).sum(axis=2) / state.sd**2
        pull = np.log(_SD) - np.log(state.sd)
        slope = (moments / state.sd**2 - 1.0).sum(axis=0) + pull / _SD_SPREAD**2
        curve = 2.0 * (shrunk**2).sum(axis=0) + _SD_SPREAD**-2.0
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
    return float(np.abs(np.log(np.concatenate([state.sd, state.spread]) / before)).max())
