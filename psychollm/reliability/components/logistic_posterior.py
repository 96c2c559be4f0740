r"""Maximum likelihood and posterior of the standard deviations of a crossed logistic model.

The integrated log likelihood :math:`\ell(\sigma)` of `logistic_blocks` is a function of a few
standard deviations. The maximum of this function over :math:`\sigma \ge 0` gives the components.
The posterior of :math:`\lambda = \log \sigma`, with a half-normal prior of scale :math:`\tau`, has
the density

.. math:: \log p(\lambda) = \ell(e^\lambda) + \sum_j \Bigl(\lambda_j
          - \frac{e^{2 \lambda_j}}{2 \tau^2}\Bigr).                                       \quad (1)

The density is evaluated along each eigenvector of its curvature, at two points on either side of
its mode. The log density is approximated by a sum of natural cubic splines, one for each
eigenvector. The approximation can be skewed. The tails of the approximation are exponential in
directions in which a component may be zero. Draws are generated from the densities of the splines.
The mean and the log standard deviation of each effect are interpolated along the same
eigenvectors. Draws of effects are therefore mixtures over the draws of equation (1), as in
integrated nested Laplace approximations.

References
----------
Rue, H., Martino, S., & Chopin, N. (2009). Approximate Bayesian inference for latent Gaussian
models by using integrated nested Laplace approximations. Journal of the Royal Statistical Society
B, 71, 319-392. https://doi.org/10.1111/j.1467-9868.2008.00700.x

Gelman, A. (2006). Prior distributions for variance parameters in hierarchical models. Bayesian
Analysis, 1, 515-534. https://doi.org/10.1214/06-BA117A
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.optimize import nnls

from psychollm._base.convergence import Convergence
from psychollm._base.types import FloatArray
from psychollm.reliability.components.logistic_blocks import (
    Design,
    Mode,
    State,
    find_mode,
    one_hot,
)

# largest SD in logits; a likelihood that increases up to this SD counts as unbounded
LARGEST = 20.0
_STEP = 0.01  # step of finite differences
# Each effect groups answers by question, by domain or not at all, and by model, by family or not
# at all.
_GROUPS = ((2, 1), (2, 0), (1, 2), (1, 0), (0, 2), (0, 0))
_PAST = 16  # number of earlier modes that predict the next one
_PREDICTED = 0.3  # largest step of the prediction
_CLIMB, _FARTHEST, _FLAT = 60, 1.0, 0.05
_GAIN, _ROUGHLY = 1e-6, 1e-2  # tolerances of the maximum and of the posterior mode
_NOISE = 1e-3  # smaller predicted gains may be finite-difference errors
_NOTHING = 1e-3  # smaller standard deviations count as zero
_SMALL, _KEPT = 0.1, 0.3  # a step keeps at least 30 % of a component above 0.1
_POINTS = np.array([-3.0, -1.5, 0.0, 1.5, 3.0])
_GRID = np.linspace(-8.0, 8.0, 801)


@dataclass
class Integrated:
    """Integrated likelihood as a function of the free standard deviations."""

    design: Design
    past: list[tuple[FloatArray, State, FloatArray]] = field(init=False)  # latest modes

    def __post_init__(self) -> None:
        state = State.at_start(self.design)
        self.past = [(first_guess(self.design), state, state.flat())]

    def mode(self, free: FloatArray, mean: float | None = None) -> Mode:
        """Return the mode of the effects."""
        sd = self.design.deviations(free)
        found = find_mode(self.design, sd, self._start(free, sd.interaction), mean)
        self.past = [*self.past[1 - _PAST :], (free.copy(), found.state, found.state.flat())]
        return found

    def _start(self, free: FloatArray, interaction: float) -> State:
        """Predict the mode by a weighted linear fit to nearby earlier modes."""
        known = np.array([there for there, _, _ in self.past])
        distance = ((known - free) ** 2).sum(axis=1)
        nearest = int(np.argmin(distance))
        weight = 1.0 / (distance + _STEP**2)
        off = np.clip(free - known[nearest], -_PREDICTED, _PREDICTED)
        share = (off @ np.linalg.pinv(weight[:, None] * (known - known[nearest]), 1e-3)) * weight
        effects = np.array([flat for _, _, flat in self.past])
        start = self.past[nearest][1].at(effects[nearest] + share @ (effects - effects[nearest]))
        for _, state, _ in self.past:
            if state.interaction == interaction:  # both modes have the same table of cells
                start.table, start.interaction = state.table, interaction
        return start


def first_guess(design: Design) -> FloatArray:
    """Return moment estimates of standard deviations, treating scores as dichotomised normals."""
    hits, n = (
        np.concatenate([getattr(one, name) for one in design.domains]) for name in ("hits", "n")
    )
    share = float(hits.sum() / n.sum())
    models: list[FloatArray | None] = [None, np.ones((design.n_models, 1))]
    models.insert(1, models[1] if design.families is None else one_hot(design.families))
    domain = one_hot(np.repeat(np.arange(len(design.domains)), [len(x.n) for x in design.domains]))
    groups = [
        (rows, columns) for rows in (None, domain, np.ones((len(n), 1))) for columns in models
    ]

    def squares(x: FloatArray) -> FloatArray:
        """Return the sum of squared totals over groups of questions and groups of models."""
        found = []
        for rows, columns in groups:
            total = x if rows is None else rows.T @ x
            found.append(float(((total if columns is None else total @ columns) ** 2).sum()))
        return np.array(found).reshape(3, 3)

    # Two answers share both effects if they belong to the same group of the finer effect.
    pairs, products = squares(n), squares(hits - n * share)
    at = np.array([_GROUPS[row] for row in design.active])
    finer = np.minimum(at[:, None], at[None])
    alike = pairs[finer[..., 0], finer[..., 1]]
    noise = float((hits - 2.0 * hits * share + n * share**2).sum())
    left = np.block([[alike, np.full((len(at), 1), n.sum())], [np.full(len(at) + 1, n.sum())]])
    right = np.append(products[at[:, 0], at[:, 1]], noise)
    found = nnls(left / left[:, -2:-1], right / left[:, -2])[0][:-1]
    spread = max(share * (1.0 - share), 1e-3)
    latent = np.sin(0.5 * np.pi * np.clip(found / spread, 0.01, 0.6))
    latent *= min(1.0, 0.8 / latent.sum())
    return np.asarray(np.sqrt(3.0 * latent / (1.0 - latent.sum())))


class Maximum(NamedTuple):
    """Standard deviations (and mean for "ml") at the maximum, with convergence status."""

    free: FloatArray
    mean: float | None
    curvature: FloatArray  # (free, free)
    mode: Mode
    convergence: Convergence


def maximum(integrated: Integrated, *, ml: bool) -> Maximum:
    """Maximise the integrated likelihood."""
    n_free = len(integrated.design.active)

    def value(x: FloatArray) -> float:
        # The likelihood depends on squared standard deviations, so it is symmetric around zero.
        mean = float(x[n_free]) if ml else None
        return integrated.mode(np.abs(x[:n_free]), mean).log_likelihood

    start = integrated.past[0][0]
    if ml:
        start = np.append(start, integrated.past[0][1].mean)
    found = climbed(value, start, positive=n_free)
    # Changing the sign of a component also changes the signs of its correlations.
    turn = np.where(found.at[:n_free] < 0.0, -1.0, 1.0)
    free = turn * found.at[:n_free]
    free = np.minimum(np.where(free < _NOTHING, 0.0, free), LARGEST)
    mean = float(found.at[n_free]) if ml else None
    return Maximum(
        free, mean, found.curvature[:n_free, :n_free] * np.outer(turn, turn),
        integrated.mode(free, mean), found.convergence,
    )  # fmt: skip


class Climbed(NamedTuple):
    """Optimum, and negative second derivatives at the optimum."""

    at: FloatArray
    curvature: FloatArray
    convergence: Convergence


def climbed(
    function: Callable[[FloatArray], float],
    start: FloatArray,
    *,
    least: float = _GAIN,
    known: FloatArray | None = None,
    positive: int = 0,
) -> Climbed:
    """Maximise a function of a few arguments by Newton's method with finite differences.

    The differences that estimate the gradient also estimate the diagonal of the curvature.
    Off-diagonal entries of the curvature change little after scaling; they are updated every
    fourth step, or taken from `known`. The first `positive` arguments are non-negative, approach
    zero gradually, and are at most `LARGEST`.
    """
    at, value = start, function(start)
    related = np.eye(start.size) if known is None else _scaled(known)
    converged, step = False, 0
    for step in range(1, _CLIMB + 1):
        full = step % 4 == (2 if known is None else 0)
        slope, curvature = _derivatives(function, at, value, full=full)
        if full:
            related = _scaled(curvature)
        else:
            scale = np.sqrt(np.maximum(np.abs(np.diagonal(curvature)), _FLAT))
            curvature = curvature + (related - np.eye(start.size)) * np.outer(scale, scale)
        values, vectors = np.linalg.eigh(curvature)
        values = np.maximum(np.abs(values), _FLAT)
        move = vectors @ ((vectors.T @ slope) / values)
        promised = float(slope @ move)
        if promised < least:
            converged = True
            break
        move *= min(1.0, _FARTHEST / float(np.abs(move).max()))
        here = at[:positive]
        below = (here > _SMALL) & (here + move[:positive] < _KEPT * here)
        move[:positive][below] = (_KEPT - 1.0) * here[below]
        ahead = function(at + move)
        for _ in range(20):
            if ahead >= value:
                break
            move *= 0.4
            ahead = function(at + move)
        gained = ahead - value
        if gained > 0.0:
            at, value = at + move, ahead
        if (gained < least and promised < _NOISE) or (at[:positive] >= LARGEST).any():
            converged = True
            break
    convergence = Convergence.of_steps(converged=converged, steps=step, objective=value)
    return Climbed(at, curvature, convergence)


def _scaled(curvature: FloatArray) -> FloatArray:
    scale = np.sqrt(np.maximum(np.abs(np.diagonal(curvature)), _FLAT))
    related = curvature / np.outer(scale, scale)
    np.fill_diagonal(related, 1.0)
    return np.asarray(related)


@dataclass(frozen=True)
class Explored:
    """Posterior density, equation (1), around its mode: nodes and values."""

    at: FloatArray  # (free,) logarithms of standard deviations at the centre
    axes: FloatArray  # (free, free) columns: one SD along each line
    log_density: FloatArray  # (free, points) log density at the points of each line
    modes: tuple[tuple[Mode, ...], ...]  # (free, points)

    def draws(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Return points along the lines (n, free), drawn from the density of each line."""
        columns = []
        for log_density in self.log_density:
            log = CubicSpline(_POINTS, log_density, bc_type="natural")(np.clip(_GRID, -3.0, 3.0))
            spline = CubicSpline(_POINTS, log_density, bc_type="natural")
            for end in (-3.0, 3.0):
                outside = end > _GRID if end < 0 else end < _GRID
                # The log density decreases linearly beyond the outermost points.
                rise = max(float(spline(end, 1)) * -np.sign(end), 0.1) * -np.sign(end)
                log[outside] = float(spline(end)) + rise * (_GRID[outside] - end)
            density = np.exp(log - log.max())
            total = np.concatenate([[0.0], np.cumsum(0.5 * (density[1:] + density[:-1]))])
            # Draws are stratified: one draw comes from each of n equally probable parts.
            u = (rng.permutation(n) + rng.random(n)) / n
            columns.append(np.interp(u * total[-1], total, _GRID))
        return np.stack(columns, axis=1)

    def deviations(self, places: FloatArray) -> FloatArray:
        """Return SDs (n, free) at `places`, which are positions along the eigenvectors."""
        return np.asarray(np.exp(np.minimum(self.at + places @ self.axes.T, np.log(LARGEST))))

    def along(self, values: Callable[[Mode], FloatArray], places: FloatArray) -> FloatArray:
        """Interpolate a function of the mode along each line, and add the results (n, values)."""
        centre = values(self.modes[0][2])
        # A spline is linear in its values: it is the sum of the values times cardinal splines.
        basis = CubicSpline(_POINTS, np.eye(_POINTS.size), bc_type="natural")
        share = basis(np.clip(places, -3.0, 3.0)).reshape(len(places), -1)
        known = np.array([values(mode) for line in self.modes for mode in line]) - centre
        return np.asarray(centre + share @ known)


def explored(integrated: Integrated, top: Maximum, prior_scale: float) -> Explored:
    """Find the mode of equation (1), and evaluate it along the eigenvectors of its curvature."""

    def density(log_sd: FloatArray) -> tuple[float, Mode]:
        found = integrated.mode(np.minimum(np.exp(log_sd), LARGEST))
        prior = log_sd - 0.5 * np.exp(2.0 * log_sd) / prior_scale**2
        return found.log_likelihood + float(prior.sum()), found

    # For a quadratic likelihood, this starting value maximises (1) over each component separately.
    height = np.maximum(np.diagonal(top.curvature), 1.0)
    start = np.log(0.5 * (top.free + np.sqrt(top.free**2 + 4.0 / height)))
    at, curvature, _ = climbed(lambda x: density(x)[0], start, least=_ROUGHLY, known=top.curvature)
    values, vectors = np.linalg.eigh(curvature)
    axes = vectors / np.sqrt(np.maximum(values, _FLAT))  # limits the length of flat axes
    # The signs of eigenvectors depend on the BLAS library, and draws are not symmetric.
    axes *= np.where(vectors.sum(axis=0) < 0.0, -1.0, 1.0)
    centre = density(at)
    log_density, modes = [], []
    for axis in axes.T:
        line = [centre if place == 0.0 else density(at + place * axis) for place in _POINTS]
        log_density.append([value - centre[0] for value, _ in line])
        modes.append(tuple(mode for _, mode in line))
    return Explored(at, axes, np.array(log_density), tuple(modes))


def _derivatives(
    function: Callable[[FloatArray], float], at: FloatArray, centre: float, *, full: bool
) -> tuple[FloatArray, FloatArray]:
    """Return gradient and negative Hessian by finite differences; diagonal unless `full`."""
    n = at.size
    shift = _STEP * np.eye(n)
    ahead, behind = (np.array([function(at + sign * one) for one in shift]) for sign in (1, -1))
    slope = (ahead - behind) / (2.0 * _STEP)
    second = np.diag(ahead - 2.0 * centre + behind)
    for i in range(n if full else 0):
        for j in range(i):
            both = function(at + shift[i] + shift[j])
            second[i, j] = second[j, i] = both - ahead[i] - ahead[j] + centre
    return slope, -second / _STEP**2
