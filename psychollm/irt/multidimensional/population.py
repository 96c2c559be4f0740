r"""Several abilities with a hierarchical prior of items (`irt.item_population`).

Items have the coordinates

.. math:: u_k = \operatorname{arsinh}(a_k / \kappa), \qquad
          e = d / \sqrt{a^\top a + \kappa^2},                                            \quad (1)

for the abilities on which an item loads. Adaptive product rules are centred on each pattern's
posterior, which is computed at the mean parameters of the items. Each iteration ends by
standardising abilities to mean 0 and SD 1; their correlations are computed from the posteriors.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from psychollm._base.types import BoolArray, FloatArray
from psychollm.irt.answers import Patterns
from psychollm.irt.climb import Steps
from psychollm.irt.curvature import Parts
from psychollm.irt.families import Link
from psychollm.irt.item_coordinates import kappa_of, points_and_roots, turns
from psychollm.irt.item_population import Expected, Kind, Settled, estimate_items
from psychollm.irt.low_rank import low_rank_curvature
from psychollm.irt.multidimensional.curvature import Errors, errors_from
from psychollm.irt.multidimensional.problem import Place, Problem, at, make_problem, pairs
from psychollm.irt.priors import ItemPopulation
from psychollm.kernels.adaptive_rules import product_rule
from psychollm.kernels.response_models import TINY, distribution

NODES = {1: 9, 2: 5, 3: 4}  # nodes per ability, by number of abilities
CELLS = 2_000_000  # cells of a (respondents, nodes, items) table per block
SLOPE, EASINESS = (1.0, 0.4), (0.0, 1.2)  # (mean, SD) of the starting population


@dataclass(frozen=True, slots=True, eq=False)
class SlopeCurves:
    """Mapping between slopes and intercepts, and the coordinates, equation (1)."""

    free: BoolArray  # (J, m) mask of an item's slopes
    kappa: float
    tied: bool = False
    first: int = 0

    def of(self, parameters: FloatArray) -> FloatArray:
        """Return coordinates of slopes and intercepts (J, m + 1)."""
        coordinates = np.arcsinh(parameters / self.kappa)
        coordinates[:, -1] = parameters[:, -1] / self._length(parameters[:, :-1])
        return coordinates

    def _length(self, slopes: FloatArray) -> FloatArray:
        return np.asarray(np.sqrt((np.where(self.free, slopes, 0.0) ** 2).sum(-1) + self.kappa**2))

    def _whole(self, coordinates: FloatArray) -> FloatArray:
        """Return parameters including the absent slopes."""
        parameters = self.kappa * np.sinh(coordinates)
        parameters[..., -1] = coordinates[..., -1] * self._length(parameters[..., :-1])
        return np.asarray(parameters)

    def parameters(self, coordinates: FloatArray, slope: float) -> FloatArray:
        """Return slopes and intercepts (..., J, m + 1), 0 where an item does not load."""
        parameters = self._whole(coordinates)
        parameters[..., :-1] *= self.free
        return parameters

    def jacobian(self, coordinates: FloatArray) -> FloatArray:
        """Return derivatives of the parameters (..., J, m + 1, m + 1)."""
        matrix = self._turn(coordinates)
        matrix[..., :-1, :] *= self.free[..., None]
        return matrix

    def _turn(self, coordinates: FloatArray) -> FloatArray:
        q = coordinates.shape[-1]
        slopes = np.where(self.free, self.kappa * np.sinh(coordinates[..., :-1]), 0.0)
        length = self._length(slopes)
        change = self.kappa * np.cosh(coordinates[..., :-1])
        matrix = np.zeros((*coordinates.shape, q))
        matrix[..., range(q - 1), range(q - 1)] = change
        matrix[..., -1, :-1] = coordinates[..., -1:] * slopes * change / length[..., None]
        matrix[..., -1, -1] = length
        return matrix

    def rescaled(
        self, coordinates: FloatArray, slope: float, mean: FloatArray, sd: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return coordinates and derivatives for abilities with origin `mean` and unit `sd`."""
        linear = np.zeros((len(coordinates), sd.size + 1, sd.size + 1))
        linear[:, range(sd.size), range(sd.size)] = sd
        linear[:, -1, :-1], linear[:, -1, -1] = self.free * mean, 1.0
        moved = self.of((linear @ self._whole(coordinates)[:, :, None])[:, :, 0])
        return moved, turns(self._turn(moved), linear, self._turn(coordinates))


@dataclass(frozen=True, slots=True, eq=False)
class Posterior:
    """Ability posteriors of each pattern on a few nodes, averaged over item parameter values."""

    theta: FloatArray  # (U, Q, m)
    share: FloatArray  # (U, Q)
    log_likelihood: FloatArray  # (U,)

    @property
    def mean(self) -> FloatArray:
        """Posterior means of the abilities for each pattern (U, m)."""
        return np.asarray(np.einsum("uq,uqk->uk", self.share, self.theta))

    @property
    def covariance(self) -> FloatArray:
        """Posterior covariances of the abilities for each pattern (U, m, m)."""
        gap = self.theta - self.mean[:, None]
        return np.asarray(np.einsum("uq,uqk,uql->ukl", self.share, gap, gap))


@dataclass(frozen=True, slots=True, eq=False)
class SeveralAbilities:
    """Respondents with several abilities of mean 0 and standard deviation 1."""

    patterns: Patterns
    link: Link
    correlation: FloatArray  # (m, m)
    modes: FloatArray  # (U, m) starting values
    correlated: bool

    def problem(self, items: int) -> Problem:
        """Return the likelihood without priors."""
        m = len(self.correlation)
        return make_problem(
            self.patterns,
            np.ones((items, m + 1), dtype=np.bool_),
            self.link,
            exploratory=False,
            correlated=False,
            means=np.zeros(m + 1),
            precisions=np.zeros(m + 1),
        )

    def posterior(
        self, points: FloatArray, centre: FloatArray, *, finer: int = 0
    ) -> tuple[Posterior, FloatArray, FloatArray]:
        """Return abilities, scores (S, J, m + 1) at the points, and the estimated modes."""
        count, items, p = points.shape
        m, rows = p - 1, self.patterns.frequency.size
        rule = product_rule(NODES[m] + finer, m)
        there = at(self.problem(items), Place(centre, self.correlation), rule, self.modes)
        root = np.linalg.cholesky(there.covariance)
        theta = there.mean[:, None] + np.einsum("ukl,ql->uqk", root, rule[0])
        inverse = np.linalg.inv(self.correlation)
        height = rule[1] - 0.5 * np.einsum("uqk,kl,uql->uq", theta, inverse, theta)
        height -= 0.5 * np.linalg.slogdet(self.correlation)[1]
        height += np.log(np.einsum("ukk->uk", root)).sum(axis=1)[:, None]
        yes = np.tile(self.patterns.codes == 1, count)
        asked = np.tile(self.patterns.codes >= 0, count)
        flat = points.reshape(-1, p)
        share, value = np.empty(height.shape), np.empty(rows)
        score = np.zeros(flat.shape)
        step = max(1, CELLS // (len(flat) * height.shape[1]))
        for low in range(0, rows, step):
            block = slice(low, low + step)
            own, use = theta[block], asked[block, None]
            lower, upper, density, _ = distribution(own @ flat[:, :-1].T + flat[:, -1], self.link)
            chance = np.maximum(np.where(yes[block, None], lower, upper), TINY)
            height[block] += (np.log(chance) * use).sum(axis=2) / count
            top = height[block].max(axis=1)
            share[block] = np.exp(height[block] - top[:, None])
            total = share[block].sum(axis=1)
            share[block] /= total[:, None]
            value[block] = top + np.log(total)
            slope = np.where(yes[block, None], density, -density) * use / chance
            weight = share[block] * self.patterns.frequency[block, None]
            slope *= weight[:, :, None]
            extended = np.concatenate([own, np.ones((*own.shape[:2], 1))], axis=2)
            score += slope.reshape(-1, len(flat)).T @ extended.reshape(-1, p)
        return Posterior(theta, share, value), score.reshape(points.shape), there.modes

    def expected(self, points: FloatArray, centre: FloatArray) -> Expected[Self]:
        """Return gradients for items at `points` (S, J, m + 1), with abilities integrated out."""
        posterior, score, modes = self.posterior(points, centre)
        frequency = self.patterns.frequency / self.patterns.frequency.sum()
        each = posterior.mean
        mean = frequency @ each
        gap = each - mean
        spread = np.einsum("u,ukl->kl", frequency, posterior.covariance)
        spread += (gap * frequency[:, None]).T @ gap
        sd = np.sqrt(np.diagonal(spread))
        abilities = replace(self, modes=(modes - mean) / sd)
        if self.correlated:
            abilities = replace(abilities, correlation=spread / np.outer(sd, sd))
        return Expected(
            score=score,
            information=np.zeros(0),
            mean=mean,
            sd=sd,
            objective=float(self.patterns.frequency @ posterior.log_likelihood),
            abilities=abilities,
        )


SettledSlopes = Settled[SlopeCurves, SeveralAbilities]


def estimate_slopes(
    patterns: Patterns,
    free: BoolArray,
    link: Link,
    start: Place,
    steps: Steps,
    *,
    correlated: bool,
) -> SettledSlopes:
    """Estimate items and their distribution; `free` (J, m) marks the abilities of each item."""
    m, kappa = free.shape[1], kappa_of(link)
    unit = float(np.arcsinh(SLOPE[0] * kappa / kappa_of("logit") / kappa))
    population = ItemPopulation(
        names=(*(f"slope_{k + 1}" for k in range(m)), "easiness"),
        mean=np.array([unit] * m + [EASINESS[0]]),
        covariance=np.diag([SLOPE[1] ** 2] * m + [EASINESS[1] ** 2]),
        kappa=kappa,
    )
    table = np.abs(start.table)
    table[:, :-1] = np.where(free, table[:, :-1], kappa / kappa_of("logit"))
    table[:, -1] = start.table[:, -1]
    abilities = SeveralAbilities(
        patterns, link, start.correlation, np.zeros((patterns.frequency.size, m)), correlated
    )
    kind = Kind(SlopeCurves(free, kappa), np.arange(len(free)), population)
    return estimate_items([kind], abilities, table, steps)


def errors_here(settled: SettledSlopes) -> tuple[Errors, float]:
    """Return standard errors on the scale of these respondents, and the integration error."""
    # The method is the same as in `irt.one_ability.covariance_here`, with normal posteriors of
    # abilities.
    abilities, free = settled.abilities, settled.kinds[0].curves.free
    patterns, parameters = abilities.patterns, settled.parameters
    items, p = parameters.shape
    m, rows = p - 1, patterns.frequency.size
    absent = np.column_stack([~free, np.zeros(items, dtype=np.bool_)])
    points = settled_points(parameters, settled.covariance)
    posterior, score, _ = abilities.posterior(points, parameters)
    gap, mean = posterior.theta - posterior.mean[:, None], posterior.mean
    root = np.linalg.cholesky(posterior.covariance)
    lower, upper, density, _ = distribution(
        posterior.theta @ parameters[:, :-1].T + parameters[:, -1], abilities.link
    )
    chance = np.where((patterns.codes == 1)[:, None], lower, upper)
    slope = density / np.maximum(chance, TINY)
    slope *= np.where(patterns.codes == 1, 1.0, -1.0 * (patterns.codes == 0))[:, None]
    extended = np.concatenate([posterior.theta, np.ones((*gap.shape[:2], 1))], axis=2)
    cross = np.einsum("uq,uqj,uqp,uqk->ujpk", posterior.share, slope, extended, gap, optimize=True)
    cross = cross @ np.linalg.inv(root).transpose(0, 2, 1)[:, None]
    weight = np.sqrt(patterns.frequency)
    columns = (cross * weight[:, None, None, None]).transpose(1, 2, 0, 3).reshape(items * p, -1)
    turned = root.transpose(0, 2, 1) * weight[:, None, None]  # (U, m, m)
    known = np.concatenate([turned, turned * mean[:, None]], axis=2).reshape(rows * m, -1)
    basis = np.linalg.qr(known)[0]
    columns -= (columns @ basis) @ basis.T
    nothing = absent[:, :, None] * np.eye(p)
    blocks = np.asarray(np.linalg.inv(settled.covariance + nothing), dtype=np.float64)
    pieces = Parts(blocks, columns, np.zeros((items * p, 1)), dense=False)
    matrix = low_rank_curvature(pieces, absent, tied=False)
    covariance = settled.covariance if matrix is None else matrix.covariance("observed")
    covariance = np.where(absent[:, :, None] | absent[:, None], np.nan, covariance)
    k, i = pairs(m)
    end = np.zeros((0, 0))
    if abilities.correlated:
        correlation = abilities.correlation[k, i]
        end = np.diag((1.0 - correlation**2) ** 2 / patterns.n_respondents)
    place = Place(parameters, abilities.correlation)
    cross = np.zeros((items, p, len(end)))
    errors = errors_from(place, abilities.link, covariance, cross, end)
    change = (abilities.posterior(points, parameters, finer=2)[1] - score).mean(axis=0)
    moved = (settled.covariance @ change[:, :, None])[:, :, 0] / errors.table
    return errors, float(np.nanmax(np.abs(moved)))


def settled_points(parameters: FloatArray, covariance: FloatArray) -> FloatArray:
    """Return points around slopes and intercepts; absent slopes stay 0."""
    covariance = np.nan_to_num(covariance)
    variances = np.einsum("jpp->jp", covariance)
    absent = variances == 0.0
    points = points_and_roots(
        parameters, covariance + absent[:, :, None] * np.eye(absent.shape[1])
    )
    return np.where(absent, parameters, points[0])
