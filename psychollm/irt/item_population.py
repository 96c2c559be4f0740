r"""Items as draws from a population whose location and spread are estimated with them.

A fixed prior on thousands of slopes outvotes the N(0, 1) of a few abilities: the scale slips from
the slopes into the abilities. Here the prior is the distribution of the items themselves. In the
coordinates

.. math:: u = \operatorname{arsinh}(a / \kappa), \qquad e = d / \sqrt{a^2 + \kappa^2}, \quad (1)

which for slopes a well above :math:`\kappa` are log slope and minus difficulty (for items of
several answers see `psychollm.irt.item_coordinates`), items are multivariate t with `FREEDOM`
degrees of freedom about a mean and covariance that maximise the marginal likelihood, the items
integrated out. Measuring abilities in other units or from another origin moves (1) along, so that
the prior has no say on the scale. Slopes may be negative: a wrong key lies in the tail.

Abilities and items are integrated out in turn (variational EM): the posterior of an ability is
taken over its grid with the expected log-probabilities of the answers, that of an item is normal
in (1), its mean and covariance from the expected gradient and curvature at sigma points. With
items few the one is exact, with respondents few the other. Every round ends by putting abilities
on mean 0 and standard deviation 1.

**The scale is that of the respondents at hand**: their abilities have mean 0 and standard
deviation 1, and intervals say how far numbers on that scale may lie from the estimate. That the
respondents are a sample, whose mean and spread would be others in the next, is not in them. For a
normal population the standard error of its mean is :math:`1/\sqrt n` of its standard deviation,
that of the standard deviation :math:`1/\sqrt{2n}`.

References
----------
Fox, J.-P., & Glas, C. A. W. (2001). Bayesian estimation of a multilevel IRT model using Gibbs
sampling. Psychometrika, 66(2), 271-288. https://doi.org/10.1007/BF02294839

Opper, M., & Archambeau, C. (2009). The variational Gaussian approximation revisited. Neural
Computation, 21(3), 786-792. https://doi.org/10.1162/neco.2008.08-07-592
"""

from dataclasses import dataclass, replace
from typing import Generic, Protocol, Self, TypeVar

import numpy as np

from psychollm._base.convergence import Convergence
from psychollm._base.types import FloatArray
from psychollm.irt.climb import MAX_ITERATIONS, Steps
from psychollm.irt.item_coordinates import points_and_roots
from psychollm.irt.priors import ItemPopulation

FREEDOM = 8.0  # degrees of freedom of the items' distribution
SETTLED = 2e-3  # root mean square of a round's changes, in posterior standard deviations
LONGEST = 1.0  # change of a coordinate in one round
DAMPING = 0.5  # share of the old precision in the new, without which steep items swing
PATIENCE = 60  # rounds before items that swing are slowed down
SWING, SHORTEST = 0.02, 0.25  # in standard errors; share of a step
LONGEST_LOG = 0.3  # change of the logarithm of a standard deviation in one round
LEAP_EVERY, STEEPEST_RATIO = 6, 0.95
BOUNDLESS = 60.0  # median slope beyond which no maximum is in sight
MOST_PRIOR = 0.6  # share of the prior in a posterior up to which rounds are lengthened


class Abilities(Protocol):
    """Respondents whose abilities are integrated out."""

    def expected(self, points: FloatArray, centre: FloatArray) -> "Expected[Self]":
        """Return what items at `points` (S, J, p), about `centre`, get from abilities."""


class Curves(Protocol):
    """Parameters of items by coordinates in which they are distributed alike."""

    @property
    def tied(self) -> bool:
        """Whether all items share one slope."""

    @property
    def first(self) -> int:
        """Place of the first parameter that each item has for itself."""

    def of(self, parameters: FloatArray) -> FloatArray:
        """Return coordinates (J, q) of parameters to start from."""

    def parameters(self, coordinates: FloatArray, slope: float) -> FloatArray:
        """Return own parameters (..., J, p) at coordinates (..., J, q)."""

    def jacobian(self, coordinates: FloatArray) -> FloatArray:
        """Return derivatives of own parameters (..., J, p, q)."""

    def rescaled(
        self, coordinates: FloatArray, slope: float, mean: FloatArray, sd: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return coordinates for abilities from `mean` in units of `sd`, and derivatives."""


A = TypeVar("A", bound=Abilities)
C = TypeVar("C", bound=Curves)


@dataclass(frozen=True, slots=True)
class Expected(Generic[A]):
    """What abilities, integrated out, say about items."""

    score: FloatArray  # (S, J, p) at each point
    information: FloatArray  # (J, p, p) expected, where a slope is shared
    mean: FloatArray  # () or (m,) of the abilities that define the scale
    sd: FloatArray
    objective: float
    abilities: A  # for the next round


@dataclass(frozen=True, slots=True)
class Items:
    """Normal posteriors of items in coordinates (1), and what is known of all of them."""

    mean: FloatArray  # (J, q)
    covariance: FloatArray  # (J, q, q)
    weight: FloatArray  # (J,) expected precision of each item's own prior, 1 for a normal one
    step: FloatArray  # (J, q) the last one
    stride: FloatArray  # (J,) share of a step that is taken: less where steps swing
    slope: float  # shared by all; NaN where each has its own
    population: ItemPopulation


@dataclass(frozen=True, slots=True)
class Settled(Generic[C, A]):
    """Where the rounds ended."""

    curves: C
    parameters: FloatArray  # (J, p) posterior means
    covariance: FloatArray  # (J, p, p), abilities given
    slope: float  # shared by all; NaN where each has its own
    population: ItemPopulation
    abilities: A
    change: float  # in the last round, in standard errors
    convergence: Convergence


def estimate_items(
    curves: C,
    abilities: A,
    start: FloatArray,
    population: ItemPopulation,
    steps: Steps | None = None,
) -> Settled[C, A]:
    """Alternate between abilities, items and their population until a round changes nothing."""
    items = _start(curves, start, population)
    change, height, taken = np.inf, -np.inf, 0
    trail: list[ItemPopulation] = []
    steps = steps or Steps(MAX_ITERATIONS)
    boundless = False
    while steps.left and change > SETTLED:
        moved, expected = _round(curves, abilities, items)
        slopes = curves.parameters(moved.mean, moved.slope)[:, 0]
        boundless = not np.median(np.abs(slopes)) < BOUNDLESS
        if boundless:
            break
        abilities, height = expected.abilities, expected.objective
        trail = [*trail, moved.population][-3:]
        if taken % LEAP_EVERY == LEAP_EVERY - 1:
            moved = replace(moved, population=_extrapolated(trail))
        scale = np.sqrt(np.einsum("jqq->jq", moved.covariance))
        moved = _strided(moved, moved.mean - items.mean, late=taken >= PATIENCE)
        full = moved.step / (scale * items.stride[:, None])
        change = float(np.sqrt(np.mean(full**2)))
        items, taken = moved, taken + 1
        steps.take(1)
    points = curves.parameters(points_and_roots(items.mean, items.covariance)[0], items.slope)
    mean = points.mean(axis=0)
    gap = points - mean
    done = change <= SETTLED and not boundless
    reason = (
        "slopes grow without bound: the answers order the respondents without a contradiction "
        "(a perfect Guttman scale); pass priors= to hold them"
        if boundless
        else f"max_iterations={steps.limit} was reached: a round still changes items by "
        f"{change:.1e} standard errors"
    )
    return Settled(
        curves=curves,
        parameters=mean,
        covariance=np.asarray(np.einsum("sjp,sjr->jpr", gap, gap) / len(points)),
        slope=items.slope,
        population=items.population,
        abilities=abilities,
        change=change,
        convergence=Convergence(
            converged=done,
            iterations=taken,
            reason="converged" if done else reason,
            objective=height,
        ),
    )


def _extrapolated(trail: list[ItemPopulation]) -> ItemPopulation:
    """Return where means and deviations that change geometrically are heading (Aitken)."""
    means = np.stack([one.mean for one in trail])
    logs = np.log(np.stack([np.sqrt(np.diagonal(one.covariance)) for one in trail]))
    last, ratio = trail[-1], np.exp(_limit(logs) - logs[-1])
    return replace(
        last,
        mean=np.where(last.held, last.mean, _limit(means)),
        covariance=last.covariance * np.outer(ratio, ratio),
    )


def _limit(path: FloatArray) -> FloatArray:
    """Return the limits (q,) of three terms (3, q), no further than `LONGEST_LOG` away."""
    before, after = path[1] - path[0], path[2] - path[1]
    ratio = np.divide(after, before, out=np.zeros_like(after), where=np.abs(before) > 1e-12)
    ratio = np.clip(ratio, 0.0, STEEPEST_RATIO)
    leap = np.clip(after * ratio / (1.0 - ratio), -LONGEST_LOG, LONGEST_LOG)
    return np.asarray(path[2] + leap)


def _start(curves: Curves, start: FloatArray, population: ItemPopulation) -> Items:
    """Return items at their start, with slopes of one sign and the spread of the population."""
    coordinates = curves.of(start)
    if not population.n_items:
        mean = np.where(population.held, population.mean, coordinates.mean(axis=0))
        population = replace(population, mean=mean)
    spread = np.diag(np.diagonal(population.covariance)) / 4.0
    return Items(
        mean=coordinates,
        covariance=np.tile(spread, (len(coordinates), 1, 1)),
        weight=np.ones(len(coordinates)),
        step=np.zeros_like(coordinates),
        stride=np.ones(len(coordinates)),
        slope=float(np.abs(start[:, 0]).mean()) if curves.tied else np.nan,
        population=population,
    )


def _round(curves: Curves, abilities: A, items: Items) -> tuple[Items, Expected[A]]:
    """Update abilities, items, the scale and the population once."""
    points, root = points_and_roots(items.mean, items.covariance)
    parameters = curves.parameters(points, items.slope)
    expected = abilities.expected(parameters, curves.parameters(items.mean, items.slope))
    first = curves.first
    own = np.einsum("sja,sjab->sjb", expected.score[:, :, first:], curves.jacobian(points))
    moved = _updated(items, own, root)
    if curves.tied:
        moved = replace(moved, slope=_shared_slope(items, expected))
    return _with_population(_rescaled(curves, moved, expected)), expected


def _updated(items: Items, score: FloatArray, root: FloatArray) -> Items:
    """Return new means and covariances, given the scores (2q, J, q) at the sigma points."""
    # The expected curvature comes from the differences of the scores (Price's theorem), in units
    # of the roots of the old covariances.
    q = items.mean.shape[1]
    apart = (score[1::2] - score[0::2]) / (2.0 * np.sqrt(q))  # (q, J, q)
    bend = np.einsum("jab,kja->jbk", root, apart)
    values, vectors = np.linalg.eigh(0.5 * (bend + bend.transpose(0, 2, 1)))
    bend = (vectors * np.maximum(values, 0.0)[:, None]) @ vectors.transpose(0, 2, 1)
    precision = np.linalg.inv(items.population.covariance) * items.weight[:, None, None]
    total = bend + root.transpose(0, 2, 1) @ precision @ root
    total = (1.0 - DAMPING) * total + DAMPING * np.eye(q)
    covariance = root @ np.linalg.inv(total) @ root.transpose(0, 2, 1)
    away = (items.mean - items.population.mean)[:, :, None]
    gradient = score.mean(axis=0)[:, :, None] - precision @ away
    step = (covariance @ gradient)[:, :, 0]
    longest = np.abs(step).max(axis=1, keepdims=True)
    step *= np.minimum(1.0, LONGEST / np.maximum(longest, 1e-300))
    return replace(items, mean=items.mean + items.stride[:, None] * step, covariance=covariance)


def _strided(items: Items, step: FloatArray, *, late: bool) -> Items:
    """Return items with the step just taken; those that swing late take shorter ones from now."""
    precision = np.linalg.inv(items.covariance)
    turned = np.einsum("ja,jab,jb->j", step, precision, items.step) < -(SWING**2)
    stride = np.where(turned & late, np.maximum(0.5 * items.stride, SHORTEST), items.stride)
    return replace(items, step=step, stride=stride)


def _shared_slope(items: Items, expected: Expected[A]) -> float:
    """Return the shared slope after a scoring step."""
    rest = expected.information[:, 1:, 1:] + np.linalg.inv(items.population.covariance)
    cross = expected.information[:, 1:, :1]
    total = (
        expected.information[:, 0, 0] - (cross * np.linalg.solve(rest, cross))[:, :, 0].sum(axis=1)
    ).sum()
    step = float(expected.score[:, :, 0].mean(axis=0).sum() / total)
    return items.slope + float(np.clip(step, -LONGEST, LONGEST))


def _rescaled(curves: Curves, items: Items, expected: Expected[A]) -> Items:
    """Put abilities on mean 0 and standard deviation 1."""
    coordinates, turn = curves.rescaled(items.mean, items.slope, expected.mean, expected.sd)
    shift = (coordinates - items.mean).mean(axis=0)
    population = items.population
    return replace(
        items,
        mean=coordinates,
        covariance=turn @ items.covariance @ turn.transpose(0, 2, 1),
        slope=float(items.slope * expected.sd) if curves.tied else np.nan,
        population=replace(population, mean=population.mean + shift * ~population.held),
    )


def _with_population(items: Items) -> Items:
    """Return items with the mean and covariance of their population, and their own weights."""
    # Where the prior makes up most of each posterior, plain EM creeps: steps are divided by what
    # share of the information on the mean or the logarithm of a standard deviation is not
    # missing; no longer where items have been slowed down, as these lengths may be what makes
    # them swing.
    old, (n, q) = items.population, items.mean.shape
    own, weight = np.einsum("jqq->jq", items.covariance), items.weight
    calm = (items.stride.mean() - SHORTEST) / (1.0 - SHORTEST)
    seen = 1.0 - np.minimum(own.mean(axis=0) / np.diagonal(old.covariance), calm * MOST_PRIOR)
    step = (weight @ (items.mean - old.mean)) / weight.sum()
    mean = np.where(old.held, old.mean, old.mean + step / seen)
    gap = items.mean - mean
    typical, worth = old.typical, old.worth
    scatter = (gap.T * weight) @ gap + np.einsum("j,jab->ab", weight, items.covariance)
    scatter += np.diag(worth * typical**2)
    scatter /= np.sqrt(np.outer(n + worth, n + worth))
    sd, before = np.sqrt(np.diagonal(scatter)), np.sqrt(np.diagonal(old.covariance))
    gain = np.sqrt((n + worth) / (n * seen**2 + worth))
    wanted = before * np.exp(np.clip(gain * np.log(sd / before), -LONGEST_LOG, LONGEST_LOG))
    ratio = wanted / sd
    covariance = scatter * np.outer(ratio, ratio)
    covariance[old.held] = 0.0
    covariance[:, old.held] = 0.0
    covariance[old.held, old.held] = before[old.held] ** 2
    population = replace(old, mean=mean, covariance=covariance, n_items=n)
    inverse = np.linalg.inv(covariance)
    gap = items.mean - mean
    distance = np.einsum("ja,ab,jb->j", gap, inverse, gap)
    distance += np.einsum("ab,jba->j", inverse, items.covariance)
    weight = (FREEDOM + q) / (FREEDOM + distance)
    return replace(items, population=population, weight=weight)
