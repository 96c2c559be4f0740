r"""Hierarchical prior: items from a population whose mean and covariance are estimated.

A fixed prior on thousands of slopes outweighs the N(0, 1) prior of a few abilities and distorts
the scale. The hierarchical prior is instead the distribution of the items themselves. In the
coordinates

.. math:: u = \operatorname{arsinh}(a / \kappa), \qquad e = d / \sqrt{a^2 + \kappa^2}, \quad (1)

items have a multivariate t distribution with `FREEDOM` degrees of freedom. The mean and covariance
of this distribution maximise the marginal likelihood, with items integrated out. For slopes a far
above :math:`\kappa`, the coordinates are log slope and minus difficulty, up to a constant;
`psychollm.irt.item_coordinates` defines the coordinates of polytomous items. A change of unit or
origin of abilities only shifts the coordinates of equation (1), so that the prior does not affect
the scale. Slopes may be negative: the slopes of miskeyed items are in the tail of the
distribution.

Each item model has its own population of item parameters. The mean of a population of fewer than
`POPULATION` items is shrunk towards the means of the other models. The shrunk mean includes
`ItemPopulation.worth` additional items at the mean of all items with that coordinate.

Abilities and items are integrated out in turn (variational EM). The posterior of an ability uses
expected log-probabilities of the answers on a grid. The posterior of an item is normal in the
coordinates of equation (1), with mean and covariance from the expected gradient and curvature at
sigma points. Each iteration ends by standardising abilities to mean 0 and SD 1. EM is slow if
answers carry little information about an item. Every sixth iteration therefore extrapolates the
population's mean and covariance by a Newton step. The step is shortened if the lower bound of the
marginal likelihood has risen by less than `LEAST_GAIN` since the previous extrapolation.

**These respondents define the scale**: their abilities have mean 0 and SD 1, and intervals apply
to parameters on this scale. Intervals do not include the sampling error of respondents. For n
respondents sampled from a normal population, the standard error of the population's mean is
:math:`1/\sqrt n` SDs, and the standard error of its SD is :math:`1/\sqrt{2n}` SDs.

References
----------
Fox, J.-P., & Glas, C. A. W. (2001). Bayesian estimation of a multilevel IRT model using Gibbs
sampling. Psychometrika, 66(2), 271-288. https://doi.org/10.1007/BF02294839

Opper, M., & Archambeau, C. (2009). The variational Gaussian approximation revisited. Neural
Computation, 21(3), 786-792. https://doi.org/10.1162/neco.2008.08-07-592
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Generic, Protocol, Self, TypeVar

import numpy as np

from psychollm._base.convergence import Convergence
from psychollm._base.types import FloatArray, IntArray
from psychollm.irt.climb import MAX_ITERATIONS, Steps
from psychollm.irt.item_coordinates import points_and_roots
from psychollm.irt.priors import POPULATION, ItemPopulation
from psychollm.kernels.item_posteriors import LONGEST, move_posteriors, turn_covariances

FREEDOM = 8.0  # degrees of freedom of the items' distribution
SETTLED = 1.5e-3  # root mean square change per iteration, in posterior standard deviations
LONGEST_LOG = 0.6  # largest change of a log variance per iteration
# iterations per extrapolation; gain of the bound below which the next extrapolation is shortened
LEAP_EVERY, LEAST_GAIN = 6, 0.01
# extrapolation corrects for at most this proportion of missing information
MOST_PRIOR = 0.9
BOUNDLESS = 60.0  # a larger median slope means that the objective has no maximum


class Abilities(Protocol):
    """Respondents whose abilities are integrated out."""

    def expected(self, points: FloatArray, centre: FloatArray) -> "Expected[Self]":
        """Return the information on item parameters at `points` (S, J, p) near `centre`."""


class Curves(Protocol):
    """Protocol of the mapping from coordinates of items to their parameters."""

    @property
    def tied(self) -> bool:
        """Whether all items share one slope."""

    @property
    def first(self) -> int:
        """Index of the first item-specific parameter."""

    def of(self, parameters: FloatArray) -> FloatArray:
        """Return coordinates (J, q) of starting parameters."""

    def parameters(self, coordinates: FloatArray, slope: float) -> FloatArray:
        """Return parameters (..., J, p) at coordinates (..., J, q)."""

    def jacobian(self, coordinates: FloatArray) -> FloatArray:
        """Return derivatives (..., J, p, q) of item-specific parameters."""

    def rescaled(
        self, coordinates: FloatArray, slope: float, mean: FloatArray, sd: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return coordinates and derivatives for abilities with origin `mean` and unit `sd`."""


A = TypeVar("A", bound=Abilities)
C = TypeVar("C", bound=Curves)


@dataclass(frozen=True, slots=True)
class Expected(Generic[A]):
    """Information about items, with abilities integrated out."""

    score: FloatArray  # (S, J, p) gradients at each point
    information: FloatArray  # (J, p, p) expected information, used if a slope is shared
    mean: FloatArray  # () or (m,) mean of the abilities that define the scale
    sd: FloatArray
    objective: float
    abilities: A  # abilities for the next iteration


@dataclass(frozen=True, slots=True)
class Items:
    """Normal posteriors of items in the coordinates of equation (1), and the items' population."""

    mean: FloatArray  # (J, q)
    covariance: FloatArray  # (J, q, q)
    weight: FloatArray  # (J,) expected precision of each item's own prior; 1 for a normal prior
    step: FloatArray  # (J, q) last full step
    stride: FloatArray  # (J,) damping of steps, lower if steps oscillate
    slope: float  # slope shared by all items; NaN if each has its own
    population: ItemPopulation

    def moved_from(self, before: "Items") -> FloatArray:
        """Return the undamped changes, in units of posterior standard deviations (J, q)."""
        scale = np.sqrt(np.einsum("jqq->jq", self.covariance)) * self.stride[:, None]
        return np.asarray((self.mean - before.mean) / scale)

    @property
    def bound(self) -> float:
        """Contribution of items and their population to the lower bound of the likelihood."""
        population, q = self.population, self.mean.shape[1]
        sizes = np.linalg.slogdet(self.covariance)[1] - np.linalg.slogdet(population.covariance)[1]
        tails = (FREEDOM + q) * np.log1p(_distances(self) / FREEDOM)
        variances = np.diagonal(population.covariance)
        prior = population.worth * (np.log(variances) + population.typical**2 / variances)
        return 0.5 * float((sizes - tails).sum() - prior.sum())


@dataclass(frozen=True, slots=True)
class Kind(Generic[C]):
    """Items of one population, with starting values."""

    curves: C
    rows: IntArray  # positions of these items among all items
    population: ItemPopulation


@dataclass(frozen=True, slots=True)
class Settled(Generic[C, A]):
    """Final state of the iterations."""

    kinds: tuple[Kind[C], ...]  # kinds of items with their populations
    parameters: FloatArray  # (J, p) posterior means
    covariance: FloatArray  # (J, p, p) posterior covariances given the abilities
    slope: float  # slope shared by all items; NaN if each has its own
    abilities: A
    change: float  # change in the last iteration, in standard errors
    convergence: Convergence


@dataclass(frozen=True, slots=True)
class Round(Generic[A]):
    """Current state of the iterations."""

    every: tuple[Items, ...]
    abilities: A
    change: float = np.inf
    height: float = -np.inf
    taken: int = 0
    top: float = -np.inf
    reach: float = MOST_PRIOR


class Keeper(Protocol[A]):
    """Protocol of a store of iterations, from which a fit can resume."""

    def keep(self, at: Round[A]) -> None:
        """Store the state of an iteration."""

    def restored(self, start: Round[A]) -> Round[A]:
        """Return the stored state, or `start` if none is stored."""


def estimate_items(
    kinds: Sequence[Kind[C]],
    abilities: A,
    start: FloatArray,
    steps: Steps | None = None,
    keeper: Keeper[A] | None = None,
) -> Settled[C, A]:
    """Alternate between abilities, items and their populations until convergence."""
    at = Round(tuple(_start(kind, start[kind.rows]) for kind in kinds), abilities)
    steps = steps or Steps(MAX_ITERATIONS)
    if keeper is not None:
        at = keeper.restored(at)
        steps.take(at.taken)
    boundless = False
    while steps.left and at.change > SETTLED:
        top, reach = at.top, at.reach
        leap = at.taken % LEAP_EVERY == LEAP_EVERY - 1
        if leap:
            bound = at.height + sum(items.bound for items in at.every)
            reach = 0.5 * reach if bound < top + LEAST_GAIN else reach
            top = bound
        following, expected = _round(kinds, at.abilities, at.every, reach if leap else 0.0)
        boundless = not np.median(np.abs(_centres(kinds, following)[:, 0])) < BOUNDLESS
        if boundless:
            break
        pairs = zip(following, at.every, strict=True)
        moves = np.concatenate([new.moved_from(old).ravel() for new, old in pairs])
        at = Round(
            every=tuple(following),
            abilities=expected.abilities,
            change=float(np.sqrt(np.mean(moves**2))),
            height=expected.objective,
            taken=at.taken + 1,
            top=top,
            reach=reach,
        )
        steps.take(1)
        steps.near(at.change, SETTLED)
        if keeper is not None:
            keeper.keep(at)
    every, change, abilities = at.every, at.change, at.abilities
    done = change <= SETTLED and not boundless
    reason = (
        "slopes diverge, because the answers form a perfect Guttman scale: pass priors="
        if boundless
        else f"max_iterations={steps.limit} was reached: the last iteration changed items by "
        f"{change:.1e} standard errors"
    )
    points = _points(kinds, every)[0]
    mean = points.mean(axis=0)
    gap = points - mean
    return Settled(
        kinds=tuple(
            replace(kind, population=items.population)
            for kind, items in zip(kinds, every, strict=True)
        ),
        parameters=mean,
        covariance=np.asarray(np.einsum("sjp,sjr->jpr", gap, gap) / len(points)),
        slope=every[0].slope,
        abilities=abilities,
        change=change,
        convergence=Convergence(
            converged=done,
            iterations=at.taken,
            reason="converged" if done else reason,
            objective=at.height,
        ),
    )


def _among_all(kinds: Sequence[Kind[C]], parts: Sequence[FloatArray]) -> FloatArray:
    """Combine parameters (..., own J, own p) by kind into a table (..., J, p) of all items."""
    if len(kinds) == 1:
        return parts[0]
    items = sum(kind.rows.size for kind in kinds)
    table = np.zeros((*parts[0].shape[:-2], items, max(part.shape[-1] for part in parts)))
    for kind, part in zip(kinds, parts, strict=True):
        table[..., kind.rows, : part.shape[-1]] = part
    return table


def _centres(kinds: Sequence[Kind[C]], every: Sequence[Items]) -> FloatArray:
    """Return parameters (J, p) at the means of the items' coordinates."""
    pairs = zip(kinds, every, strict=True)
    return _among_all(
        kinds, [kind.curves.parameters(items.mean, items.slope) for kind, items in pairs]
    )


def _points(
    kinds: Sequence[Kind[C]], every: Sequence[Items]
) -> tuple[FloatArray, list[tuple[FloatArray, FloatArray]]]:
    """Return sigma points (S, J, p), and coordinates and covariance roots by kind of item."""
    widest = max(items.mean.shape[1] for items in every)
    places = [points_and_roots(items.mean, items.covariance, widest) for items in every]
    rows = zip(kinds, every, places, strict=True)
    points = [kind.curves.parameters(place[0], items.slope) for kind, items, place in rows]
    return _among_all(kinds, points), places


def _start(kind: Kind[C], start: FloatArray) -> Items:
    """Return starting values, with one quarter of the population's variances."""
    curves, population = kind.curves, kind.population
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


def _round(
    kinds: Sequence[Kind[C]], abilities: A, every: Sequence[Items], reach: float
) -> tuple[list[Items], Expected[A]]:
    """Make one iteration, which updates abilities, items, scale and populations."""
    points, places = _points(kinds, every)
    expected = abilities.expected(points, _centres(kinds, every))
    following = []
    for kind, items, (place, root) in zip(kinds, every, places, strict=True):
        turn, first = kind.curves.jacobian(place), kind.curves.first
        score = expected.score[:, kind.rows, first : first + turn.shape[-2]]
        moved = _updated(items, score, np.ascontiguousarray(turn), root)
        if kind.curves.tied:
            moved = replace(moved, slope=_shared_slope(items, expected))
        following.append(_rescaled(kind.curves, moved, expected))
    anchors = [_anchor(kind, following) for kind in kinds]
    pairs = zip(following, anchors, strict=True)
    return [_with_population(items, *anchor, reach) for items, anchor in pairs], expected


def _anchor(kind: Kind[C], every: Sequence[Items]) -> tuple[FloatArray, FloatArray]:
    """Return prior means (q,) for the mean of a population with few items, and their weights."""
    mean, weight = kind.population.mean.copy(), np.zeros(kind.population.mean.size)
    if len(every) == 1 or kind.rows.size >= POPULATION:
        return mean, weight
    for k, name in enumerate(kind.population.names):
        alike = [
            items.mean[:, items.population.names.index(name)]
            for items in every
            if name in items.population.names
        ]
        pooled = np.concatenate(alike)
        if pooled.size >= POPULATION:
            mean[k] = pooled.mean()
    return mean, kind.population.worth


def _updated(items: Items, score: FloatArray, turn: FloatArray, root: FloatArray) -> Items:
    """Return new means and covariances, from scores and derivatives at the sigma points."""
    population = items.population
    prior = np.vstack([population.mean, np.linalg.inv(population.covariance)])
    parts = (items.mean, items.covariance, items.step, items.stride)
    mean, covariance, step, stride = moved = tuple(part.copy() for part in parts)
    move_posteriors(np.ascontiguousarray(score), turn, root, prior, items.weight, moved)
    return replace(items, mean=mean, covariance=covariance, step=step, stride=stride)


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
    """Standardise abilities to mean 0 and standard deviation 1."""
    coordinates, turn = curves.rescaled(items.mean, items.slope, expected.mean, expected.sd)
    covariance = items.covariance.copy()
    turn_covariances(turn, covariance)
    shift = (coordinates - items.mean).mean(axis=0)
    population = items.population
    return replace(
        items,
        mean=coordinates,
        covariance=covariance,
        slope=float(items.slope * expected.sd) if curves.tied else np.nan,
        population=replace(population, mean=population.mean + shift * ~population.held),
    )


def _with_population(
    items: Items, anchor: FloatArray, strength: FloatArray, reach: float
) -> Items:
    """Return items with updated population and weights."""
    # Plain EM is slow if the prior dominates the posteriors. Extrapolation divides the changes of
    # means and covariances by the proportion of information that is not missing, along the
    # eigenvectors of that proportion.
    old, n, weight = items.population, len(items.mean), items.weight
    free = np.flatnonzero(~old.held)
    block = np.ix_(free, free)
    root = np.linalg.cholesky(old.covariance[block])
    inverse, own = np.linalg.inv(root), items.covariance[:, free[:, None], free]
    missing, turn = np.linalg.eigh(inverse @ own.mean(axis=0) @ inverse.T)
    there, back = root @ turn, turn.T @ inverse
    seen = 1.0 - np.clip(missing, 0.0, reach)
    gap = items.mean[:, free] - old.mean[free]
    step = weight @ gap + strength[free] * (anchor - old.mean)[free]
    step = there @ (back @ (step / (weight.sum() + strength[free])) / seen)
    gap -= step
    typical, worth = old.typical[free], old.worth[free]
    scatter = (gap.T * weight) @ gap + np.einsum("j,jab->ab", weight, own)
    scatter += np.diag(worth * typical**2)
    scatter /= np.sqrt(np.outer(n + worth, n + worth))
    share = n / (n + worth.mean())
    change = back @ scatter @ back.T - np.eye(free.size)
    change /= share * np.outer(seen, seen) + 1.0 - share
    rates, axes = np.linalg.eigh(change)
    logs = np.clip(np.log(np.maximum(1.0 + rates, 1e-3)), -LONGEST_LOG, LONGEST_LOG)
    half = there @ axes * np.exp(0.5 * logs)
    mean, covariance = old.mean.copy(), old.covariance.copy()
    mean[free] += step
    covariance[block] = half @ half.T
    moved = replace(items, population=replace(old, mean=mean, covariance=covariance, n_items=n))
    q = mean.size
    return replace(moved, weight=(FREEDOM + q) / (FREEDOM + _distances(moved)))


def _distances(items: Items) -> FloatArray:
    """Return expected squared distances of items from their population (J,)."""
    inverse, gap = np.linalg.inv(items.population.covariance), items.mean - items.population.mean
    distance = np.einsum("ja,ab,jb->j", gap, inverse, gap)
    return np.asarray(distance + np.einsum("ab,jba->j", inverse, items.covariance))
