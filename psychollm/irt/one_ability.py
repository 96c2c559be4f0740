"""Unidimensional abilities for fits with a hierarchical prior (`irt.item_population`)."""

from dataclasses import dataclass, replace
from typing import Any, Self, TypeAlias, cast

import numpy as np

from psychollm._base.types import FloatArray
from psychollm.estimates.reasons import Reason
from psychollm.irt.answers import Patterns
from psychollm.irt.climb import Summit, at
from psychollm.irt.curvature import Parts, leading_columns
from psychollm.irt.families import Family
from psychollm.irt.item_coordinates import points_and_roots, turns
from psychollm.irt.item_population import Expected, Kind, Settled
from psychollm.irt.likelihood import COARSE, Grid, Problem, expectation, grid_for
from psychollm.irt.low_rank import low_rank_curvature
from psychollm.irt.mixed import Mixed
from psychollm.irt.models import item_population
from psychollm.irt.priors import NO_PRIORS, ItemPopulation
from psychollm.irt.result import IRTFit
from psychollm.kernels.quadrature import HALF_RANGE


@dataclass(frozen=True, slots=True, eq=False)
class ItemCurves:
    """Transformation between coordinates and item parameters, given the observed categories."""

    family: Family  # family with observed answers only, parameters (J, p)
    whole: Family  # family with all answers, parameters (J, p')

    @property
    def tied(self) -> bool:
        """Whether all items share one slope."""
        return self.family.tied

    @property
    def first(self) -> int:
        """Index of the first item-specific parameter."""
        return self.whole.coordinates.first

    def of(self, parameters: FloatArray) -> FloatArray:
        """Return coordinates of parameters (J, p') of items with all answers."""
        parameters = parameters[:, : len(self.whole.names)]
        # start all slopes with a positive sign, because negative slopes are improbable
        if self.tied or "slope" in self.whole.names:
            parameters = np.column_stack([np.abs(parameters[:, 0]), parameters[:, 1:]])
        return self.whole.coordinates.of(parameters)

    def parameters(self, coordinates: FloatArray, slope: float) -> FloatArray:
        """Return parameters (..., J, p) at coordinates (..., J, q)."""
        return self._own(self.whole.coordinates.parameters(coordinates, slope))

    def jacobian(self, coordinates: FloatArray) -> FloatArray:
        """Return derivatives (..., J, p, q) of item-specific parameters."""
        matrix = self.whole.coordinates.jacobian(coordinates)
        if not isinstance(self.family, Mixed):
            return matrix
        return np.moveaxis(self._own(np.moveaxis(matrix, -1, 0)), 0, -1)

    def rescaled(
        self, coordinates: FloatArray, slope: float, mean: FloatArray, sd: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return coordinates and derivatives for abilities with origin `mean` and unit `sd`."""
        way, first = self.whole.coordinates, self.first
        old = way.parameters(coordinates, slope)
        moved = way.of(self.whole.rescaled(old, float(mean), float(sd)))
        linear = self.whole.rescaled(np.eye(old.shape[1]), float(mean), float(sd)).T
        turn = turns(way.jacobian(moved), linear[first:, first:], way.jacobian(coordinates))
        return moved, turn

    def _own(self, parameters: FloatArray) -> FloatArray:
        if not isinstance(self.family, Mixed):
            return parameters
        table = np.zeros((*parameters.shape[:-1], len(self.family.names)))
        for member in self.family.members:
            restriction = self.whole.restriction(member.codes)
            table[..., member.items, : member.size] = (
                parameters[..., member.items, :] @ restriction.T
            )
        return table


@dataclass(frozen=True, slots=True)
class Averaged:
    """Family whose log-probabilities are averaged over several points of each item."""

    family: Family
    points: FloatArray  # (S, J, p)

    @property
    def tied(self) -> bool:
        """Whether all items share one slope."""
        return self.family.tied

    def log_probabilities(self, parameters: FloatArray, nodes: FloatArray) -> FloatArray:
        """Return mean log probabilities (J, C, Q)."""
        total = sum(self.family.log_probabilities(x, nodes) for x in self.points)
        return np.asarray(total / len(self.points))

    def contrasts(
        self, parameters: FloatArray, nodes: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return summed log probabilities of answer 0 (Q,) and log odds against answer 0."""
        parts = [self.family.contrasts(x, nodes) for x in self.points]
        base, odds = (sum(part[k] for part in parts) / len(parts) for k in range(2))
        return np.asarray(base), np.asarray(odds)


def averaged_problem(family: Family, points: FloatArray, patterns: Patterns) -> Problem:
    """Return a problem whose log probabilities are averaged over `points` (S, J, p) of items."""
    nothing = np.zeros(points.shape[2])
    return Problem(cast("Family", Averaged(family, points)), patterns, nothing, nothing)


@dataclass(frozen=True, slots=True, eq=False)
class OneAbility:
    """Groups of respondents with one ability; the first group has mean 0 and SD 1."""

    family: Family
    patterns: tuple[Patterns, ...]  # G
    means: FloatArray  # (G,)
    sds: FloatArray  # (G,)

    def grids(self, centre: FloatArray) -> list[Grid]:
        """Return a grid for each group; all groups have the same nodes."""
        grid = grid_for(self.family, centre, COARSE)
        if len(self.patterns) == 1:
            return [grid]
        step = grid.spacing * min(1.0, self.sds.min())
        low = (self.means - HALF_RANGE * self.sds).min()
        high = (self.means + HALF_RANGE * self.sds).max()
        nodes = np.linspace(low, high, int(np.ceil((high - low) / step)) + 1)
        height = -0.5 * ((nodes - self.means[:, None]) / self.sds[:, None]) ** 2
        height -= np.log(np.exp(height).sum(axis=1, keepdims=True))
        return [Grid(nodes, own) for own in height]

    def expected(self, points: FloatArray, centre: FloatArray) -> Expected[Self]:
        """Return the information that abilities contain about items at `points` (S, J, p)."""
        grids = self.grids(centre)
        nodes = grids[0].nodes
        states = [
            expectation(averaged_problem(self.family, points, patterns), points[0], grid)
            for patterns, grid in zip(self.patterns, grids, strict=True)
        ]
        counts = states[0].counts
        for state in states[1:]:
            counts = counts + state.counts
        with np.errstate(divide="ignore", invalid="ignore"):  # undefined curvatures are not used
            score = np.stack([self.family.gradient(x, nodes, counts) for x in points])
        information = np.zeros(0)
        if self.family.tied:
            information = self.family.moments(points.mean(axis=0), nodes, counts)[2]
        shares = [state.mass / state.mass.sum() for state in states]
        means = np.array([float(mass @ nodes) for mass in shares])
        sds = np.array(
            [
                float(np.sqrt(mass @ (nodes - mean) ** 2))
                for mass, mean in zip(shares, means, strict=True)
            ]
        )
        return Expected(
            score=score,
            information=information,
            mean=means[0],
            sd=sds[0],
            objective=sum(state.objective for state in states),
            abilities=replace(self, means=(means - means[0]) / sds[0], sds=sds / sds[0]),
        )


SettledItems: TypeAlias = Settled[ItemCurves, OneAbility]
AnySettled: TypeAlias = Settled[ItemCurves, Any]


def kinds_of(
    family: Family, whole: Family, items: int, priors: ItemPopulation
) -> list[Kind[ItemCurves]]:
    """Return items by item model.

    The argument `family` contains the observed answers, and `whole` contains all possible answers.
    """
    members = [(whole, np.arange(items))]
    if isinstance(whole, Mixed):
        members = [(member.family, member.items) for member in whole.members]
    kinds = []
    for own, rows in members:
        population = priors.of(own.model)
        if population is None or population.names != own.coordinates.names:
            population = item_population(own.model, own.link, own.n_categories)
        kinds.append(Kind(ItemCurves(family.select(rows), own), rows, population))
    return kinds


def population_of(settled: AnySettled) -> ItemPopulation:
    """Return the populations of all kinds of items."""
    if len(settled.kinds) == 1:
        return settled.kinds[0].population
    first, *others = (
        replace(kind.population, model=kind.curves.whole.model, others=())
        for kind in settled.kinds
    )
    return replace(first, others=tuple(others))


def covariance_here(settled: SettledItems) -> FloatArray:
    """Return covariance blocks (J, p, p) on the scale of these respondents."""
    # Louis's identity (`psychollm.irt.curvature`) adds the uncertainty of abilities. The mean and
    # SD of the first group's abilities are excluded, because they define the scale.
    family, parameters = settled.abilities.family, settled.parameters
    absent = np.broadcast_to(family.absent, parameters.shape)
    grids = settled.abilities.grids(parameters)
    columns, information = [], np.zeros((len(parameters),) + 2 * parameters.shape[1:])
    for group, (patterns, grid) in enumerate(zip(settled.abilities.patterns, grids, strict=True)):
        problem = Problem(family, patterns, *family.prior_arrays(NO_PRIORS))
        linear, others, directions, row = [], [], [], 0
        for mean, sd, terms in leading_columns(problem, parameters, grid):
            root = np.sqrt(patterns.frequency[row : row + mean.size])
            row += mean.size
            directions.append(np.column_stack([root * sd, root * sd * mean]))
            linear.append(next(terms))
            others += list(terms)
        if not group:
            basis, first = np.linalg.qr(np.vstack(directions))[0], np.vstack(linear)
            linear = [first - basis @ (basis.T @ first)]
        columns += [*linear, *others]
        if family.tied:
            counts = expectation(problem, parameters, grid).counts
            information += family.moments(parameters, grid.nodes, counts)[2]
    if family.tied:
        blocks = information
        blocks[:, 1:, 1:] = np.linalg.inv(settled.covariance[:, 1:, 1:])
    else:
        nothing = absent[:, :, None] * np.eye(parameters.shape[1])
        blocks = np.asarray(np.linalg.inv(settled.covariance + nothing), dtype=np.float64)
    scores = np.zeros((parameters.size, 1))
    pieces = Parts(blocks, np.vstack(columns).T, scores, dense=False)
    matrix = low_rank_curvature(pieces, absent, tied=family.tied)
    covariance = settled.covariance if matrix is None else matrix.covariance("observed")
    return np.where(absent[:, :, None] | absent[:, None], np.nan, covariance)


def summit_of(problem: Problem, settled: SettledItems) -> Summit:
    """Return the point at the items' posterior means, with the posterior mass of abilities."""
    family, parameters = problem.family, settled.parameters
    grid = grid_for(family, parameters)
    point = at(problem, parameters, grid)
    points = family.points(parameters, settled.covariance)
    averaged = averaged_problem(family, points, problem.patterns)
    mass = expectation(averaged, parameters, grid).mass
    free = np.zeros_like(point.frozen)
    point = replace(point, state=replace(point.state, mass=mass), frozen=free)
    return Summit(point, grid, settled.convergence, ())


def with_unanswered(fit: IRTFit, settled: AnySettled) -> IRTFit:
    """Give items without answers the mean and covariance of their population."""
    unanswered = np.array([reason is Reason.UNANSWERED for reason in fit.reasons])
    reasons = np.array(fit.reasons, dtype=object)
    if not unanswered.any():
        return fit
    filled: dict[str, FloatArray] = {}
    for kind in settled.kinds:
        population, whole = kind.population, kind.curves.whole
        rows = np.flatnonzero(unanswered & (np.array(fit.item_models) == whole.model))
        points = points_and_roots(population.mean[None], population.covariance[None])[0]
        points = whole.coordinates.parameters(points, settled.slope)[:, 0]
        mean, covariance = points.mean(axis=0), np.cov(points.T, bias=True)
        held = np.zeros((1, mean.size), dtype=np.bool_)
        columns = whole.columns(mean[None], covariance[None], held)
        columns |= {"parameters": mean[None], "covariance": covariance[None]}
        for name, values in columns.items():
            own = filled.get(name, getattr(fit, name))
            # add columns for answers that no fitted item had
            more = np.maximum(np.subtract(values.shape[1:], own.shape[1:]), 0)
            own = np.pad(own, [(0, 0), *((0, n) for n in more)], constant_values=np.nan)
            whole_rows = own[(slice(None), *(slice(n) for n in values.shape[1:]))]
            whole_rows[rows] = values
            filled[name] = own
        reasons[rows] = Reason.PRIOR_ALONE
    return replace(fit, **cast("Any", filled), reasons=tuple(reasons))
