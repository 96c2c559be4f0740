r"""Marginal likelihood of items on several abilities, computed in one pass over the patterns.

Item parameters are slopes and intercept; ability parameters are the correlations :math:`\rho_{kl}`
(pairs (1, 0), (2, 0), (2, 1), ...), free in the confirmatory form. With the second moments
:math:`S = \sum_u f_u E_u[\theta\theta^\top]` and n respondents,

.. math:: \frac{\partial\ell}{\partial\rho_{kl}}
          = \big(\Phi^{-1} S \Phi^{-1} - n \Phi^{-1}\big)_{kl} .                       \quad (1)

With few respondents the correlations get a weak prior :math:`|\Phi|^{\eta}`, which keeps them away
from -1 and 1.

In an exploratory fit, items with triangular slopes fix the rotation.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import qr

from psychollm._base.types import BoolArray, FloatArray, IntArray
from psychollm.irt.answers import Patterns
from psychollm.irt.families import Link
from psychollm.kernels.adaptive_rules import Rule
from psychollm.kernels.irt_multidimensional import LOGIT, PROBIT, integrate

STEEPEST, FURTHEST = 25.0, 75.0  # bounds of the length of slopes and of intercepts
WIDTH = 8  # the number of items is padded to a multiple of this number
LEAST_EIGENVALUE = 1e-4  # smallest eigenvalue of the correlations of abilities


@dataclass(frozen=True, slots=True)
class Place:
    """Values of the parameters: slopes and intercepts (J, m + 1), and correlations (m, m)."""

    table: FloatArray
    correlation: FloatArray

    @property
    def slopes(self) -> FloatArray:
        """Slopes (J, m)."""
        return self.table[:, :-1]

    def moved(self, step: FloatArray, share: float) -> "Place":
        """Return the point after a fraction `share` of a step (P,)."""
        size = self.table.size
        table = self.table + share * step[:size].reshape(self.table.shape)
        correlation = self.correlation.copy()
        k, i = pairs(len(correlation))
        if step.size > size:
            correlation[k, i] += share * step[size:]
            correlation[i, k] = correlation[k, i]
        return Place(table, correlation)

    def minus(self, other: "Place") -> FloatArray:
        """Return the difference to another point as one vector, including correlations."""
        k, i = pairs(len(self.correlation))
        rest = self.correlation[k, i] - other.correlation[k, i]
        return np.concatenate([(self.table - other.table).ravel(), rest])


def pairs(dimensions: int) -> tuple[IntArray, IntArray]:
    """Return rows and columns of the correlations that are parameters."""
    k, i = np.tril_indices(dimensions, -1)
    return np.asarray(k, dtype=np.int64), np.asarray(i, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Problem:
    """Objective of the fit, defined by answers, priors and free parameters."""

    yes: FloatArray  # (U, J') padded
    asked: FloatArray  # (U, J')
    frequency: FloatArray  # (U,)
    free: BoolArray  # (J, m + 1) mask of parameters not fixed at zero
    link: Link
    exploratory: bool  # whether slopes may be rotated
    correlated: bool  # whether correlations of abilities are parameters
    means: FloatArray  # (m + 1,) means of the priors
    precisions: FloatArray  # (m + 1,)
    eta: float  # exponent of the prior of correlations
    pivots: IntArray | None = None  # items with triangular slopes

    @property
    def dimensions(self) -> int:
        """Number of abilities."""
        return int(self.free.shape[1]) - 1

    @property
    def n_parameters(self) -> int:
        """Number of free parameters, minus the number of free rotations."""
        m = self.dimensions
        turned = m * (m - 1) // 2 if self.exploratory and self.pivots is None else 0
        return int(self.free.sum()) - turned + (m * (m - 1) // 2 if self.correlated else 0)

    def padded(self, values: FloatArray) -> FloatArray:
        """Return values (..., J) padded to the width of the table."""
        full = np.zeros((*values.shape[:-1], self.yes.shape[1]))
        full[..., : values.shape[-1]] = values
        return full

    def log_prior(self, place: Place) -> float:
        """Return the log prior density up to a constant."""
        gap = np.where(self.free, place.table - self.means, 0.0)
        value = -0.5 * float((gap**2 @ self.precisions).sum())
        if self.eta:
            value += self.eta * float(np.linalg.slogdet(place.correlation)[1])
        return value

    def kernel_arguments(self, place: Place) -> tuple[tuple[object, ...], ...]:
        """Return items, data and prior as arguments of the kernels."""
        slopes = self.padded(np.ascontiguousarray(place.slopes.T))
        items = (
            slopes,
            self.padded(place.table[:, -1]),
            LOGIT if self.link == "logit" else PROBIT,
        )
        log_det = np.linalg.slogdet(place.correlation)[1]
        prior = (np.linalg.inv(place.correlation), float(log_det), self.correlated)
        return items, (self.yes, self.asked, self.frequency), prior


def make_problem(
    patterns: Patterns,
    free: BoolArray,
    link: Link,
    *,
    exploratory: bool,
    correlated: bool,
    means: FloatArray,
    precisions: FloatArray,
    eta: float = 0.0,
) -> Problem:
    """Return the optimisation problem of the answer patterns."""
    rows, items = patterns.codes.shape
    width = -(-items // WIDTH) * WIDTH
    yes, asked = np.zeros((rows, width)), np.zeros((rows, width))
    yes[:, :items], asked[:, :items] = patterns.codes == 1, patterns.codes >= 0
    return Problem(
        yes=yes,
        asked=asked,
        frequency=patterns.frequency,
        free=free,
        link=link,
        exploratory=exploratory,
        correlated=correlated and not exploratory and free.shape[1] > 2,
        means=means,
        precisions=precisions,
        eta=eta,
    )


@dataclass(frozen=True, slots=True)
class Point:
    """Parameters, with the results of one data pass at these parameters."""

    place: Place
    log_likelihood: float
    objective: float  # log-likelihood plus log prior
    gradient: FloatArray  # (P,), zero for fixed parameters
    complete: FloatArray  # (J, m + 1, m + 1) information of the expected counts, with priors
    patterns: FloatArray  # (U,) log-likelihoods
    mean: FloatArray  # (U, m) posterior means of abilities
    covariance: FloatArray  # (U, m, m)
    modes: FloatArray  # (U, m)
    running: BoolArray  # (J,) items with slopes at a bound beyond which the gradient points

    @property
    def steepness(self) -> float:
        """Largest absolute derivative."""
        return float(np.abs(self.gradient).max(initial=0.0))

    def moments(self, frequency: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return mean (m,) and second moments (m, m) of the abilities of all respondents."""
        total = frequency.sum()
        mean = frequency @ self.mean / total
        second = np.einsum("u,ukl->kl", frequency, self.covariance)
        second += (self.mean * frequency[:, None]).T @ self.mean
        return mean, second / total


def at(problem: Problem, place: Place, rule: Rule, modes: FloatArray) -> Point:
    """Evaluate the objective, its gradient and the complete information."""
    place = bounded(problem, place)
    rows, m, width = problem.frequency.size, problem.dimensions, problem.yes.shape[1]
    moments = (np.empty(rows), np.empty((rows, m)), np.empty((rows, m, m)))
    sums = (np.empty((m + 1, width)), np.empty(((m + 1) * (m + 2) // 2, width)))
    modes = modes.copy()
    integrate(*problem.kernel_arguments(place), rule, modes, moments, sums)
    items = problem.free.shape[0]
    gradient = sums[0][:, :items].T - problem.precisions * (place.table - problem.means)
    complete = np.empty((items, m + 1, m + 1))
    k, i = np.tril_indices(m + 1)
    complete[:, k, i] = complete[:, i, k] = sums[1][:, :items].T
    complete += np.diag(problem.precisions)
    gradient = np.where(problem.free, gradient, 0.0)
    gradient, running = _held(place, gradient)
    value = float(problem.frequency @ moments[0])
    point = Point(
        place=place,
        log_likelihood=value,
        objective=value + problem.log_prior(place),
        gradient=gradient.ravel(),
        complete=complete,
        patterns=moments[0],
        mean=moments[1],
        covariance=moments[2],
        modes=modes,
        running=running,
    )
    if not problem.correlated:
        return point
    return replace(point, gradient=np.append(point.gradient, _by_correlations(problem, point)))


def _by_correlations(problem: Problem, point: Point) -> FloatArray:
    """Return the gradient by equation (1) plus the gradient of the prior."""
    inverse = np.linalg.inv(point.place.correlation)
    n = problem.frequency.sum()
    second = n * point.moments(problem.frequency)[1]
    slope = inverse @ second @ inverse - (n - 2.0 * problem.eta) * inverse
    return np.asarray(slope[pairs(problem.dimensions)], dtype=np.float64)


def bounded(problem: Problem, place: Place) -> Place:
    """Return the nearest point with slopes and intercepts within the bounds."""
    table = np.where(problem.free, place.table, 0.0)
    length = np.sqrt((table[:, :-1] ** 2).sum(axis=1))
    table[:, :-1] *= np.minimum(1.0, STEEPEST / np.maximum(length, 1e-300))[:, None]
    table[:, -1] = np.clip(table[:, -1], -FURTHEST, FURTHEST)
    return Place(table, place.correlation)


def _held(place: Place, gradient: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Return the gradient without slope components beyond bounds, and a mask of affected items."""
    slopes, by = place.slopes, gradient[:, :-1]
    length = np.sqrt((slopes**2).sum(axis=1))
    outward = (slopes * by).sum(axis=1) / np.maximum(length, 1e-300)
    running = (length >= STEEPEST * (1.0 - 1e-9)) & (outward > 0.0)
    kept = gradient.copy()
    kept[running, :-1] -= outward[running, None] * slopes[running] / length[running, None]
    return kept, running


def admissible(correlation: FloatArray) -> bool:
    """Return whether correlations of abilities are positive definite with a margin."""
    return bool(np.linalg.eigvalsh(correlation)[0] >= LEAST_EIGENVALUE)


def echelon(table: FloatArray, pivots: IntArray) -> FloatArray:
    """Rotate slopes so that pivot number k (from 0) loads only on the first k + 1 abilities."""
    turn, triangular = np.linalg.qr(table[pivots, :-1].T)
    signs = np.where(np.diagonal(triangular) < 0.0, -1.0, 1.0)
    found = table.copy()
    found[:, :-1] = table[:, :-1] @ (turn * signs)
    for k, item in enumerate(pivots):
        found[item, k + 1 : -1] = 0.0
    return found


def pivots_of(place: Place) -> IntArray:
    """Return m items whose slopes have the most different directions."""
    slopes = place.slopes
    lengths = 1.0 + (slopes**2).sum(axis=1, keepdims=True)
    _, _, order = qr((slopes / np.sqrt(lengths)).T, pivoting=True, mode="economic")
    return np.asarray(order[: slopes.shape[1]], dtype=np.int64)


def with_pivots(problem: Problem, place: Place) -> tuple[Problem, Place]:
    """Fix the rotation of an exploratory fit by pivots; return the new problem and point.

    Problems without rotations are returned unchanged.
    """
    m = problem.dimensions
    if not problem.exploratory or m == 1:
        return problem, place
    pivots = pivots_of(place)
    free = problem.free.copy()
    for k, item in enumerate(pivots):
        free[item, k + 1 : m] = False
    turned = Place(echelon(place.table, pivots), place.correlation)
    return replace(problem, free=free, pivots=pivots), turned
