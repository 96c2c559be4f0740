r"""Maximisation over raters, who are draws from a population that is estimated with them.

Severity, slope coordinate, middle, drift and what is added for groups are each normal over raters.
The mean is flat, or nearly so; the variance maximises the marginal likelihood, raters integrated
out by Laplace's method, with a prior that counts as one or two raters of a typical variance
(MacKay's update). So a rater of whom little is known is moved towards the others, and a rater
whose ratings are all alike has finite severity. Steps are Newton's on the observed information;
the first three, and those where it is not positive definite, leave all or part of what not knowing
the things takes away in it.

Standard errors are the larger of those of the information matrix and of the sandwich over things:

.. math:: H^{-1} \quad\text{and}\quad
          H^{-1} \Big(\sum_j g_j g_j' + P\Big) H^{-1},                                    \quad (1)

with g the score of a thing and P the precision of the prior, which is in H too. That the variances
between raters are estimated adds to both, for the logarithm of each with c raters behind it,

.. math:: \frac{2}{c}\, v v', \qquad v = H^{-1} P_k (u - \bar u).                         \quad (2)

References
----------
Kass, R. E., & Steffey, D. (1989). Approximate Bayesian inference in conditionally independent
hierarchical models. Journal of the American Statistical Association, 84(407), 717-726.

MacKay, D. J. C. (1992). Bayesian interpolation. Neural Computation, 4(3), 415-447.
https://doi.org/10.1162/neco.1992.4.3.415
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csr_matrix

from psychollm._base.convergence import Convergence
from psychollm._base.types import FloatArray, IntArray
from psychollm.irt.likelihood import Grid
from psychollm.kernels.quadrature import normal_grid
from psychollm.studies.rater_severity.likelihood import (
    KAPPA,
    Curves,
    Facets,
    Layout,
    State,
    curves,
    e_step,
    missing_information,
    products,
    thing_scores,
)


@dataclass(frozen=True, slots=True)
class Typical:
    """What is assumed of one kind of parameter before any rating."""

    sd: float  # between raters
    worth: float  # raters that this counts for
    mean_sd: float  # of the mean of raters; 0 where it is fixed


POPULATION: Mapping[str, Typical] = {
    "severity": Typical(1.0, 1.0, 10.0),
    "slope": Typical(0.4, 2.0, 1.0),
    "middle": Typical(1.0, 1.0, 10.0),
    "drift": Typical(0.5, 2.0, 10.0),
    "group": Typical(0.5, 2.0, 0.0),
}
STEPS_SD, MEANS_SD = 2.0, 3.0  # of the steps that all share, and of the means of groups
SLOPE = 1.5  # of a yes or no rating, to start from
SCORING = 3  # steps before Newton's
LEFT_OUT = (1.0, 0.9, 0.6, 0.0)  # of the missing information
LONGEST = 1.0  # change of a parameter in one step
TOLERANCE, SETTLED = 1e-6, 0.01  # of the gain of a step, and of the logarithms of variances
MAX_ITERATIONS = 200
NARROW = 0.6  # of the spacing of nodes, in standard deviations of the surest thing
FEWEST, MOST = 41, 401  # nodes
HALVINGS = 12


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """Where the maximum is, and how sure."""

    facets: Facets
    layout: Layout
    at: FloatArray  # (P,)
    covariance: FloatArray  # (P, P) inverse information
    sandwich: FloatArray  # (P, P)
    spread: Mapping[str, float]  # standard deviation between raters, by kind
    state: State
    grid: Grid
    convergence: Convergence


@dataclass(frozen=True, slots=True, eq=False)
class Prior:
    """A normal prior of all parameters."""

    centre: FloatArray
    precision: FloatArray

    def height(self, at: FloatArray, state: State) -> float:
        """Return the log-likelihood with the log prior."""
        gap = at - self.centre
        return state.log_likelihood - 0.5 * float(gap @ self.precision @ gap)


@dataclass(frozen=True, slots=True, eq=False)
class Population:
    """Parameters of raters by kind, and what is typical of each."""

    layout: Layout
    kinds: Mapping[str, list[IntArray]]  # places of raters, in each block of the kind
    typical: Mapping[str, Typical]
    slope: float  # coordinate that is typical

    @classmethod
    def of(cls, facets: Facets, layout: Layout, *, drift_of_all: bool) -> "Population":
        """Return the population; the mean drift is fixed where things may drift instead."""
        kinds: dict[str, list[IntArray]] = {}
        for name in layout.names:
            block = layout.block(name)
            kinds.setdefault(name.split()[0], []).append(np.arange(block.start, block.stop))
        typical = dict(POPULATION)
        if not drift_of_all:
            typical["drift"] = replace(typical["drift"], mean_sd=0.0)
        span = float(facets.steps[-1] - facets.steps[0])
        return cls(layout, kinds, typical, float(np.arcsinh(SLOPE / np.sqrt(span) / KAPPA)))

    def prior(self, spread: Mapping[str, float]) -> Prior:
        """Return the prior for standard deviations between raters."""
        layout = self.layout
        precision, centre = np.zeros((layout.size, layout.size)), np.zeros(layout.size)
        n = layout.n_raters
        for kind, places in self.kinds.items():
            variance, of_mean = spread[kind] ** 2, self.typical[kind].mean_sd ** 2
            own = (np.eye(n) - of_mean / (variance + n * of_mean)) / variance
            for block in places:
                precision[np.ix_(block, block)] = own
        slope = layout.block("slope")
        centre[slope] = self.slope
        if layout.tied:
            precision[slope, slope] = 1.0 / POPULATION["slope"].mean_sd ** 2
        for shared, sd in ((layout.shared_steps, STEPS_SD), (layout.means, MEANS_SD)):
            alone = np.arange(shared.start, shared.stop)
            precision[alone, alone] = sd**-2.0
        return Prior(centre, precision)

    def updated(
        self, spread: Mapping[str, float], at: FloatArray, covariance: FloatArray, prior: Prior
    ) -> tuple[dict[str, float], dict[str, float]]:
        """Return standard deviations after one of MacKay's updates, and what they rest on."""
        # They rest on as many raters as the ratings, not the prior, determine.
        moved, worth = dict(spread), dict.fromkeys(spread, 0.0)
        for kind, places in self.kinds.items():
            typical, variance = self.typical[kind], spread[kind] ** 2
            squares = known = 0.0
            for block in places:
                gap = at[block] - prior.centre[block]
                own = covariance[np.ix_(block, block)]
                free, trace = block.size, float(np.trace(own))
                if typical.mean_sd:  # about the mean of raters
                    gap = gap - gap.mean()
                    free, trace = free - 1, trace - float(own.mean()) * block.size
                squares += float(gap @ gap)
                known += free - trace / variance
            worth[kind] = max(known, 0.0) + typical.worth
            new = (squares + typical.worth * typical.sd**2) / worth[kind]
            moved[kind] = float(np.sqrt(np.clip(new, variance / 4.0, variance * 4.0)))
        return moved, worth

    def with_spread(
        self, worth: Mapping[str, float], at: FloatArray, covariance: FloatArray, prior: Prior
    ) -> FloatArray:
        """Return the covariance with what the unknown standard deviations add to it: (2)."""
        total = covariance.copy()
        for kind, places in self.kinds.items():
            pull = np.zeros(at.size)
            every = np.concatenate(places)
            pull[every] = (prior.precision @ (at - prior.centre))[every]
            moved = covariance @ pull
            total += 2.0 / worth[kind] * np.outer(moved, moved)
        return total


def fit(facets: Facets, *, drift_of_all: bool) -> Fitted:
    """Return the posterior mode of raters and their population."""
    layout = Layout.of(facets)
    population = Population.of(facets, layout, drift_of_all=drift_of_all)
    n_answers = facets.rater.size * facets.n_ratings
    column = facets.cell * facets.n_ratings + facets.rating
    sums = csr_matrix(
        (np.ones(column.size), (facets.thing, column)), shape=(facets.n_things, n_answers)
    )
    at = _start(facets, layout, population)
    spread = {kind: population.typical[kind].sd for kind in population.kinds}
    grid = _grid_at(facets, layout, at)

    def evaluate(place: FloatArray) -> tuple[Curves, State]:
        made = curves(facets, layout, place, grid.nodes)
        return made, e_step(facets, layout, made, grid, sums)

    made, state = evaluate(at)
    prior, done, taken = population.prior(spread), False, 0
    while taken < MAX_ITERATIONS and not done:
        gradient = state.gradient - prior.precision @ (at - prior.centre)
        newton = taken >= SCORING
        factor = _factor(facets, made, state, grid, prior, newton=newton)
        step = cho_solve(factor, gradient)
        gain = float(gradient @ step)
        step *= min(1.0, LONGEST / max(float(np.abs(step).max()), 1e-300))
        before = prior.height(at, state)
        for halving in range(HALVINGS):
            place = at + 0.5**halving * step
            made, state = evaluate(place)
            if prior.height(place, state) >= before - 1e-9 * abs(before):
                break
        at, taken = place, taken + 1
        if not newton:
            continue
        covariance = cho_solve(factor, np.eye(layout.size))
        moved = population.updated(spread, at, covariance, prior)[0]
        change = max(abs(2.0 * np.log(moved[kind] / spread[kind])) for kind in spread)
        spread = moved
        prior = population.prior(spread)
        done = taken > SCORING + 1 and gain < TOLERANCE and change < SETTLED
        finer = _grid_at(facets, layout, at)
        if finer.nodes.size > 1.2 * grid.nodes.size:
            grid = finer
            made, state = evaluate(at)
    factor = _factor(facets, made, state, grid, prior, newton=True)
    covariance = np.asarray(cho_solve(factor, np.eye(layout.size)))
    meat = products(thing_scores(facets, made, state.posterior, grid.nodes)) + prior.precision
    sandwich = covariance @ meat @ covariance
    worth = population.updated(spread, at, covariance, prior)[1]
    return Fitted(
        facets=facets,
        layout=layout,
        at=at,
        covariance=population.with_spread(worth, at, covariance, prior),
        sandwich=sandwich + population.with_spread(worth, at, covariance, prior) - covariance,
        spread=spread,
        state=state,
        grid=grid,
        convergence=Convergence.of_steps(
            converged=bool(done), steps=taken, objective=prior.height(at, state)
        ),
    )


def _start(facets: Facets, layout: Layout, population: Population) -> FloatArray:
    at = np.zeros(layout.size)
    at[layout.block("slope")] = population.slope
    k = facets.n_ratings
    counts = np.full((facets.n_raters, k), 0.5)
    np.add.at(counts, (facets.rater[facets.cell], facets.rating), 1.0)
    mean = counts @ np.arange(k) / counts.sum(axis=1) / (k - 1)
    span = facets.steps[-1] - facets.steps[0]
    at[layout.block("severity")] = -1.3 * np.log(mean / (1.0 - mean)) / span
    return at


def _grid_at(facets: Facets, layout: Layout, at: FloatArray) -> Grid:
    """Return nodes as near to each other as the surest thing needs."""
    # One rating tells at most the square of the slope times the largest variance of its score.
    span = float(facets.steps[-1] - facets.steps[0])
    slope = KAPPA * np.sinh(at[layout.block("slope")])
    slope = np.full(facets.n_raters, slope[0]) if layout.tied else slope
    told = (slope * span / 2.0) ** 2 * 0.6
    information = np.bincount(facets.thing, told[facets.rater[facets.cell]], facets.n_things)
    spacing = NARROW / np.sqrt(1.0 + information.max())
    return Grid(*normal_grid(int(np.clip(np.ceil(13.0 / spacing), FEWEST, MOST))))


def _factor(
    facets: Facets, made: Curves, state: State, grid: Grid, prior: Prior, *, newton: bool
) -> tuple[FloatArray, bool]:
    """Return the Cholesky factor of the information, made positive definite where it is not."""
    known = state.complete + prior.precision
    missing = np.zeros_like(known)
    if newton:
        missing = missing_information(facets, made, state, grid.nodes)
    for share in LEFT_OUT:
        try:
            return cho_factor(known - share * missing, lower=True)
        except np.linalg.LinAlgError:
            continue
    # Far from the maximum even the complete one need not be: slopes and means bend.
    lift = 1e-3 - float(np.linalg.eigvalsh(known)[0])
    return cho_factor(known + lift * np.eye(len(known)), lower=True)
