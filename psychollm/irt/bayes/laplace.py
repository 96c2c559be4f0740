r"""Draws from a posterior by a normal approximation, corrected by importance resampling.

Near the mode, the log-likelihood is approximated by a quadratic function with Hessian -K. Given
the log standard deviations h, the approximate posterior of x is normal with precision :math:`P(h)
= K + A^T s(h)^{-2} A`, and h has the marginal density

.. math:: \log q(h) = \log p(h) - \sum_k \log s_k - \tfrac12 \log |P| + \tfrac12 v^T P^{-1} v
                      - \tfrac12 |m / s|^2 + \text{const},                               \quad (1)

where v is the linear term. The vector h is drawn from a t distribution centred at the mode of
equation (1). Given h, x is drawn from a split distribution (Geweke, 1989). Along each axis of the
Cholesky factor of P, the two halves of a t distribution have separate scales. The scales are
computed from the posterior density at one and two conditional standard deviations from the mode.
The proposal of h is adapted twice to the moments of weighted draws. Ratios of the posterior to
this proposal are Pareto-smoothed, and draws are resampled with probabilities proportional to them.
Standard deviations below 1/3000 of their prior scale, which have prior probability 0.0003, are not
proposed.

Hierarchical items are partially centred, which avoids funnels. A value x in a group with mean m
and standard deviation s is written as

.. math:: u \sim N(c\,m,\ s^{c}), \qquad x = m + s^{1 - c}\,(u - c\,m).

This form is centred for c = 1 and non-centred for c = 0 (Papaspiliopoulos, Roberts & Skold, 2007).
If the data determine x with standard error e, :math:`c = s^2 / (s^2 + e^2)` makes u and s almost
independent. The values of s and e at the mode are used. For slopes, whose standard deviation s may
be near zero, the fourth power of c is used. Means of domains and families are not centred, because
s may be near zero for a few domains or families.

References
----------
Geweke, J. (1989). Bayesian inference in econometric models using Monte Carlo integration.
Econometrica, 57(6), 1317-1339. https://doi.org/10.2307/1913710

Papaspiliopoulos, O., Roberts, G. O., & Skold, M. (2007). A general framework for the
parametrization of hierarchical models. Statistical Science, 22(1), 59-73.
https://doi.org/10.1214/088342307000000014
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.optimize import minimize
from scipy.special import gammaln

from psychollm._base.types import FloatArray, IntArray
from psychollm.irt.bayes.pareto import smooth_ratios
from psychollm.irt.bayes.target import Target

DEGREES = 5.0  # degrees of freedom of the proposal of h
AXIS_DEGREES = 20.0  # degrees of freedom of x along each axis; at least half the number of axes
PROBES = (1.0, 2.0)  # distances from the mode at which the scales of the two sides are measured
NARROWEST, WIDEST = 0.7, 2.0  # limits of the scales of the two sides
STEP = 1e-4  # step of finite differences of the gradient
ROUNDS = 8
DEEPEST, HIGHEST = 8.0, 2.5  # range of h below and above the logarithm of its prior scale
# number of runs that adapt the proposal of h, and smallest number of draws per run
PILOTS, FEWEST_PILOT = 2, 500


@dataclass(frozen=True, slots=True)
class Mode:
    """Posterior mode, with the quadratic approximation of the likelihood."""

    x: FloatArray  # (P,)
    h: FloatArray  # (H,)
    information: FloatArray  # (P, P) K, positive semi-definite
    linear: FloatArray  # (P,) gradient + K x
    steepness: float


@dataclass(frozen=True, slots=True)
class Moments:
    """Centre (H,) and lower Cholesky factor (H, H) of the proposal distribution of h."""

    centre: FloatArray
    root: FloatArray


@dataclass(frozen=True, slots=True)
class Resampled:
    """Resampled draws of x and h, with diagnostics of the resampling."""

    x: FloatArray  # (S, P)
    h: FloatArray  # (S, H)
    pareto_k: float
    effective_size: float


def find_mode(target: Target, near: Mode | None = None) -> Mode:
    """Alternate between the mode of x given h and the mode of h, until both converge."""
    structure = target.structure
    x, h = _start(target), np.log(0.6 * structure.scales)
    if near is not None:
        x, h = near.x, near.h
    for _ in range(ROUNDS):
        x, steepness = _climb(target, x, h)
        information = _information(target, x)
        linear = target.gradient(x)[1] + information @ x
        before, h = h, _mode_of_scales(target, information, linear, h)
        if np.abs(h - before).max(initial=0.0) < 0.02:
            break
    return Mode(x, h, information, linear, steepness)


def _start(target: Target) -> FloatArray:
    """Return starting values: prior mean slopes, and intercepts from yes rates."""
    codes, frequency = target.answers.codes, target.answers.data[4]
    structure, items = target.structure, target.n_items
    yes = frequency @ (codes == 1) + 0.5
    share = yes / (frequency @ (codes >= 0) + 1.0)
    x = np.asarray(np.linalg.solve(structure.a, structure.m), dtype=np.float64)
    x[items : 2 * items] = np.log(share / (1.0 - share)) * (1.0 if target.link_code == 0 else 0.6)
    return x


def _climb(target: Target, x: FloatArray, h: FloatArray) -> tuple[FloatArray, float]:
    """Maximise the log posterior over x at given h; also return the largest derivative."""
    precision, linear = target.structure.precision(h)

    def fall(point: FloatArray) -> tuple[float, FloatArray]:
        value, slope = target.gradient(point)
        pull = precision @ point
        return 0.5 * float(point @ pull) - float(point @ linear) - value, pull - linear - slope

    found = minimize(fall, x, jac=True, method="L-BFGS-B", options={"maxiter": 2000, "gtol": 1e-5})
    return np.asarray(found.x), float(np.abs(found.jac).max())


def _information(target: Target, x: FloatArray) -> FloatArray:
    """Return the negative Hessian of the log-likelihood, with negative eigenvalues set to 0."""
    size = target.n_likelihood
    table = np.zeros((x.size, x.size))
    for k in range(size):
        moved = np.zeros(x.size)
        moved[k] = STEP
        ahead, behind = target.gradient(x + moved)[1], target.gradient(x - moved)[1]
        table[k] = (behind - ahead) / (2.0 * STEP)
    values, axes = np.linalg.eigh(0.5 * (table + table.T))
    return np.asarray((axes * np.maximum(values, 0.0)) @ axes.T, dtype=np.float64)


def _log_marginal(
    target: Target, information: FloatArray, linear: FloatArray, h: FloatArray
) -> float:
    """Return the log marginal density of h, equation (1)."""
    structure = target.structure
    precision, pull = structure.precision(h)
    factor = cho_factor(information + precision, lower=True)
    v, sd = linear + pull, structure.sd(h)
    value = 0.5 * v @ cho_solve(factor, v) - np.log(np.diag(factor[0])).sum()
    value -= np.log(sd).sum() + 0.5 * ((structure.m / sd) ** 2).sum()
    return float(value + structure.log_prior_h(h))


def _mode_of_scales(
    target: Target, information: FloatArray, linear: FloatArray, h: FloatArray
) -> FloatArray:
    """Return the mode of the marginal density of h, equation (1)."""
    if not h.size:
        return h

    def fall(at: FloatArray) -> float:
        return -_log_marginal(target, information, linear, at)

    found = minimize(
        fall,
        h,
        method="L-BFGS-B",
        bounds=list(zip(*_limits(target), strict=True)),
    )
    return np.asarray(found.x)


def _limits(target: Target) -> tuple[FloatArray, FloatArray]:
    """Return the lower and the upper limit of h, (H,) each."""
    centre = np.log(target.structure.scales)
    return centre - DEEPEST, centre + HIGHEST


def _scales_proposal(target: Target, mode: Mode) -> FloatArray:
    """Return the lower Cholesky factor of the covariance of h (H, H)."""
    size, step = mode.h.size, 0.1

    def value(shift: FloatArray) -> float:
        return _log_marginal(target, mode.information, mode.linear, mode.h + shift)

    unit = step * np.eye(size)
    curvature = np.empty((size, size))
    for i in range(size):
        for j in range(i + 1):
            sides = value(unit[i] + unit[j]) + value(-unit[i] - unit[j])
            sides -= value(unit[i] - unit[j]) + value(unit[j] - unit[i])
            curvature[i, j] = curvature[j, i] = -sides / (4.0 * step**2)
    values, axes = np.linalg.eigh(curvature)
    # A weakly identified log SD has a long lower tail: use a width of at least one unit.
    return np.asarray(np.linalg.cholesky((axes / np.clip(values, 0.3, None)) @ axes.T))


def _sides(target: Target, mode: Mode) -> FloatArray:
    """Return scales (2, P) of the negative and the positive side of each axis."""
    precision, _ = target.structure.precision(mode.h)
    root = np.linalg.cholesky(mode.information + precision)
    axes = solve_triangular(root, np.eye(mode.x.size), lower=True)  # rows: L^-1
    peak = _log_joint(target, mode.x[None], mode.h[None])[0]
    scales = np.empty((2, mode.x.size))
    for side, sign in enumerate((-1.0, 1.0)):
        found = np.zeros(mode.x.size)
        for unit in PROBES:
            points = mode.x + sign * unit * axes
            drop = peak - _log_joint(
                target, points, np.broadcast_to(mode.h, (len(axes), mode.h.size))
            )
            found = np.maximum(found, unit / np.sqrt(np.maximum(2.0 * drop, 1e-3)))
        scales[side] = np.clip(found, NARROWEST, WIDEST)
    return scales


def _log_joint(target: Target, x: FloatArray, h: FloatArray) -> FloatArray:
    """Return the log posterior (S,) up to a constant."""
    return np.asarray(target.log_likelihood(x) + target.structure.log_prior(x, h))


def propose(
    target: Target,
    mode: Mode,
    about: Moments,
    n: int,
    rng: np.random.Generator,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return draws of x (n, P) and h (n, H) from the proposal, and its log densities (n,)."""
    h, log_h = _propose_scales(about, n, rng)
    sides = _sides(target, mode)
    degrees = max(AXIS_DEGREES, 0.5 * mode.x.size)
    normal = rng.standard_t(degrees, size=(n, mode.x.size))
    share = sides[1] / sides.sum(axis=0)  # the wider side of a split normal is more probable
    up = rng.random(normal.shape) < share
    width = np.where(up, sides[1], sides[0])
    unit = np.where(up, 1.0, -1.0) * np.abs(normal) * width
    log_x = -0.5 * (degrees + 1.0) * np.log1p(normal**2 / degrees).sum(axis=1)
    log_x += mode.x.size * _log_t_constant(degrees, 1)
    log_x -= np.log(0.5 * sides.sum(axis=0)).sum()
    x = np.empty_like(unit)
    factored, limits = None, _limits(target)
    for s in range(n):
        if factored is None or mode.h.size:
            factored = _conditional(target, mode, np.clip(h[s], *limits))
        centre, root = factored
        x[s] = centre + solve_triangular(root, unit[s], lower=True, trans="T", check_finite=False)
        log_x[s] += np.log(np.diag(root)).sum()
    return x, h, log_h + log_x


def _conditional(target: Target, mode: Mode, h: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the mean of x given h, and the lower Cholesky factor of its precision."""
    precision, pull = target.structure.precision(h)
    root, _ = cho_factor(mode.information + precision, lower=True, check_finite=False)
    return cho_solve((root, True), mode.linear + pull, check_finite=False), np.tril(root)


def _propose_scales(
    about: Moments, n: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Return draws of h (n, H) from a t distribution, and their log densities (n,)."""
    size, root = about.centre.size, about.root
    if not size:
        return np.empty((n, 0)), np.zeros(n)
    normal = rng.normal(size=(n, size))
    t = normal / np.sqrt(rng.chisquare(DEGREES, size=(n, 1)) / DEGREES)
    constant = _log_t_constant(DEGREES, size) - np.log(np.diag(root)).sum()
    density = constant - 0.5 * (DEGREES + size) * np.log1p((t**2).sum(axis=1) / DEGREES)
    return about.centre + t @ root.T, density


def _log_t_constant(degrees: float, size: int) -> float:
    """Return the log density of a standard t distribution of `size` dimensions at 0."""
    gammas = gammaln(0.5 * (degrees + size)) - gammaln(0.5 * degrees)
    return float(gammas - 0.5 * size * np.log(degrees * np.pi))


def laplace(target: Target, mode: Mode, n: int, rng: np.random.Generator) -> Resampled:
    """Return `n` draws resampled by Pareto-smoothed importance ratios."""
    about = Moments(mode.h, _scales_proposal(target, mode))
    for _ in range(PILOTS if mode.h.size else 0):
        x, h, weights, _ = _weighted(target, mode, about, max(n // 4, FEWEST_PILOT), rng)
        about = _matched(h, weights, about)
    x, h, weights, k = _weighted(target, mode, about, n, rng)
    chosen = _systematic(weights, rng)
    return Resampled(x[chosen], h[chosen], k, float(1.0 / (weights**2).sum()))


def _weighted(
    target: Target, mode: Mode, about: Moments, n: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray, FloatArray, float]:
    """Return draws of x and h, their smoothed weights (n,), and Pareto's shape k."""
    x, h, log_density = propose(target, mode, about, n, rng)
    log_ratios = _log_joint(target, x, h) - log_density
    low, high = _limits(target)
    inside = ((h > low) & (h < high)).all(axis=1)
    log_weights, k = smooth_ratios(np.where(inside, log_ratios, -np.inf))
    return x, h, np.exp(log_weights), k


def _matched(h: FloatArray, weights: FloatArray, before: Moments) -> Moments:
    """Return the weighted mean and covariance of h, shrunk towards the previous moments."""
    size = 1.0 / (weights**2).sum()
    share = size / (size + 5.0 * h.shape[1])
    centre = before.centre + share * (weights @ h - before.centre)
    gap = h - centre
    covariance = share * (gap.T * weights) @ gap + (1.0 - share) * before.root @ before.root.T
    return Moments(centre, np.linalg.cholesky(covariance))


def _systematic(weights: FloatArray, rng: np.random.Generator) -> IntArray:
    """Return resampled indices in random order, with frequencies proportional to weights."""
    n = weights.size
    aims = (np.arange(n) + rng.random()) / n
    places = np.minimum(np.searchsorted(np.cumsum(weights), aims), n - 1)
    return np.asarray(rng.permutation(places), dtype=np.int64)


LEAST = 1e-8
CAUTION = {"slope": 4, "intercept": 1}  # power of c for each kind of parameter


def centring(target: Target, mode: Mode) -> dict[str, FloatArray]:
    """Return the degree of centring c of each item's slope and intercept, given domains."""
    if target.domains.n < 2:
        return {}
    variance = target.structure.sd(mode.h)[: 2 * target.n_items] ** 2
    noise = 1.0 / np.maximum(_rough_information(target, mode.x), LEAST)
    share = (variance / (variance + noise)).reshape(2, -1)
    return {name: row**power for row, (name, power) in zip(share, CAUTION.items(), strict=True)}


def _rough_information(target: Target, x: FloatArray) -> FloatArray:
    """Return the approximate information of the data on each slope and intercept (2J,)."""
    codes, frequency = target.answers.codes, target.answers.data[4]
    yes, answered = frequency @ (codes == 1) + 0.5, frequency @ (codes >= 0) + 1.0
    # a probit curve provides more information than a logit curve
    steep = 1.0 if target.link == "logit" else 2.9
    known = steep * yes * (answered - yes) / answered
    slope = target.split(x[None])[0][0]
    by_slope = 0.5 * known * (slope**2 if target.priors.positive else 1.0)
    return np.concatenate([by_slope, known])
