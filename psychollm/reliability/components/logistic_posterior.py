r"""Standard deviations of a crossed logistic model: their maximum, and all that the data allow.

The integrated log likelihood :math:`\ell(\sigma)` of `logistic_blocks` has few arguments. Its
maximum over :math:`\sigma \ge 0` gives the components. What is known of them is the density

.. math:: \log p(\lambda) = \ell(e^\lambda) + \sum_j \Bigl(\lambda_j
          - \frac{e^{2 \lambda_j}}{2 \tau^2}\Bigr),                                       \quad (1)

of :math:`\lambda = \log \sigma`, half-normal of scale :math:`\tau` a priori. About its mode, along
the eigenvectors of its curvature, it is read at two points on either side and taken as a sum of
natural cubic splines, one for each eigenvector: skewed, with exponential tails where a component
may be zero. Draws come from the splines' densities. The mean and the log standard deviation of
each effect are interpolated along the same lines, so that draws of effects mix over the draws of
(1), as with integrated nested Laplace approximations.

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

import numpy as np
from scipy.interpolate import CubicSpline

from psychollm._base.convergence import Convergence
from psychollm._base.types import FloatArray
from psychollm.reliability.components.logistic_blocks import Design, Mode, State, find_mode

_START, _LARGEST = 0.7, 10.0  # standard deviations of logits
_STEP = 0.02  # of differences
_CLIMB, _FARTHEST = 60, 1.0
_GAIN, _ROUGHLY = 1e-6, 1e-2  # what is left to gain, at the maximum and where lines cross
_NOTHING = 1e-3  # a standard deviation that is none
_NEAR = 0.15  # where (1) is begun for a component at zero
_POINTS = np.array([-3.0, -1.5, 0.0, 1.5, 3.0])
_GRID = np.linspace(-8.0, 8.0, 801)


@dataclass
class Integrated:
    """The integrated likelihood as a function of the standard deviations that are free."""

    design: Design
    state: State = field(init=False)
    calls: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.state = State.at_start(self.design)

    def mode(self, free: FloatArray, mean: float | None = None) -> Mode:
        """Return the mode of the effects, begun where the last one was."""
        found = find_mode(self.design, self.design.deviations(free), self.state, mean)
        self.state = found.state
        self.calls += 1
        return found


def maximum(integrated: Integrated, *, ml: bool) -> tuple[FloatArray, float | None, Convergence]:
    """Return the standard deviations at the maximum, the mean if it is an argument, and how."""
    n_free = len(integrated.design.active)

    def value(x: FloatArray) -> float:
        # The likelihood depends on squares: what lies below zero is its mirror image.
        mean = float(x[n_free]) if ml else None
        return integrated.mode(np.abs(x[:n_free]), mean).log_likelihood

    start = np.full(n_free, _START)
    top, convergence = climbed(value, np.append(start, integrated.state.mean) if ml else start)
    free = np.abs(top[:n_free])
    return np.where(free < _NOTHING, 0.0, free), float(top[n_free]) if ml else None, convergence


def climbed(
    function: Callable[[FloatArray], float], start: FloatArray, least: float = _GAIN
) -> tuple[FloatArray, Convergence]:
    """Maximise a function of a few arguments by Newton's method with differences."""
    at, value, curvature = start, function(start), np.eye(start.size)
    converged, step = False, 0
    for step in range(1, _CLIMB + 1):
        # The curvature settles sooner than the place does.
        fresh = step <= 3 or step % 3 == 0
        slope, second = _derivatives(function, at, value, full=fresh)
        curvature = second if fresh else curvature
        values, vectors = np.linalg.eigh(curvature)
        values = np.maximum(np.abs(values), 0.05)
        move = vectors @ ((vectors.T @ slope) / values)
        if float(slope @ move) < least:
            converged = True
            break
        move *= min(1.0, _FARTHEST / float(np.abs(move).max()))
        ahead = function(at + move)
        for _ in range(20):
            if ahead >= value:
                break
            move *= 0.4
            ahead = function(at + move)
        converged = ahead - value < least and fresh
        if ahead > value:
            at, value = at + move, ahead
        if converged:
            break
    return at, Convergence.of_steps(converged=converged, steps=step, objective=value)


@dataclass(frozen=True)
class Explored:
    """The density (1) about its mode: where it was read, and what was found there."""

    at: FloatArray  # (free,) logarithms of standard deviations at the centre
    axes: FloatArray  # (free, free) columns: one standard deviation along each line
    log_density: FloatArray  # (free, points) along each line
    modes: tuple[tuple[Mode, ...], ...]  # (free, points)

    def draws(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Return places along the lines (n, free), each drawn from its own density."""
        columns = []
        for log_density in self.log_density:
            log = CubicSpline(_POINTS, log_density, bc_type="natural")(np.clip(_GRID, -3.0, 3.0))
            spline = CubicSpline(_POINTS, log_density, bc_type="natural")
            for end in (-3.0, 3.0):
                outside = end > _GRID if end < 0 else end < _GRID
                # Beyond the last points a straight line that falls.
                rise = max(float(spline(end, 1)) * -np.sign(end), 0.1) * -np.sign(end)
                log[outside] = float(spline(end)) + rise * (_GRID[outside] - end)
            density = np.exp(log - log.max())
            total = np.concatenate([[0.0], np.cumsum(0.5 * (density[1:] + density[:-1]))])
            # One draw from each n-th part of the distribution.
            u = (rng.permutation(n) + rng.random(n)) / n
            columns.append(np.interp(u * total[-1], total, _GRID))
        return np.stack(columns, axis=1)

    def deviations(self, places: FloatArray) -> FloatArray:
        """Return standard deviations (n, free) at places along the lines."""
        return np.asarray(np.exp(np.minimum(self.at + places @ self.axes.T, np.log(_LARGEST))))

    def along(self, values: Callable[[Mode], FloatArray], places: FloatArray) -> FloatArray:
        """Return a function of the mode (n, ...), interpolated along the lines and added up."""
        centre = values(self.modes[0][2])
        out = np.tile(centre, (len(places), *(1,) * centre.ndim))
        for line, place in zip(self.modes, places.T, strict=True):
            known = np.array([values(mode) for mode in line])
            spline = CubicSpline(_POINTS, known, bc_type="natural")
            out += spline(np.clip(place, -3.0, 3.0)) - centre
        return out


def explored(integrated: Integrated, free: FloatArray, prior_scale: float) -> Explored:
    """Find the mode of (1), and read it along the eigenvectors of its curvature."""

    def density(log_sd: FloatArray) -> tuple[float, Mode]:
        found = integrated.mode(np.exp(log_sd))
        prior = log_sd - 0.5 * np.exp(2.0 * log_sd) / prior_scale**2
        return found.log_likelihood + float(prior.sum()), found

    at = np.log(np.maximum(free, _NEAR))
    at, convergence = climbed(lambda x: density(x)[0], at, least=_ROUGHLY)
    curvature = _derivatives(lambda x: density(x)[0], at, convergence.objective, full=True)[1]
    values, vectors = np.linalg.eigh(curvature)
    axes = vectors / np.sqrt(np.maximum(values, 0.05))  # nearly flat: lines of bounded length
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
    """Return the first derivatives, and if `full` minus the second, by differences."""
    n = at.size
    shift = _STEP * np.eye(n)
    ahead, behind = (np.array([function(at + sign * one) for one in shift]) for sign in (1, -1))
    slope = (ahead - behind) / (2.0 * _STEP)
    if not full:
        return slope, np.empty((0, 0))
    second = np.diag(ahead - 2.0 * centre + behind)
    for i in range(n):
        for j in range(i):
            both = function(at + shift[i] + shift[j])
            second[i, j] = second[j, i] = both - ahead[i] - ahead[j] + centre
    return slope, -second / _STEP**2
