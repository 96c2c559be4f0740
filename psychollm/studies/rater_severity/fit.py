r"""Estimate parameters of raters and their population by maximum marginal likelihood.

Severity, transformed slope, central tendency, drift and group effects are each normal over raters.
The mean over raters has a flat or nearly flat prior. The variance over raters maximises the
marginal likelihood, in which raters are integrated out by Laplace's method. The variance's prior
has the weight of one or two raters of typical variance (MacKay's update). Therefore, raters with
little information are shrunk towards the other raters, and a rater with constant ratings has
finite severity. Newton steps use the observed information. The observed information subtracts the
missing information, which is due to the unknown values of the objects. The missing information is
reduced or omitted in the first three steps, and whenever the observed information matrix is not
positive definite.

A standard error is the larger of two values: one from the inverse of the information matrix H, and
one from the sandwich estimator over objects.

.. math:: H^{-1} \quad\text{and}\quad
          H^{-1} \Big(\sum_j g_j g_j' + P\Big) H^{-1}.                                    \quad (1)

In equation (1), g is the score of an object and P the precision of the prior, which is also part
of H. The estimation of the variances between raters adds a term to both matrices. Equation (2)
gives the term for the logarithm of a variance that is estimated from c raters.

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
    """Prior assumptions about one kind of parameter."""

    sd: float  # SD between raters
    worth: float  # weight of the prior, as a number of raters
    mean_sd: float  # prior SD of the mean over raters; 0 if it is fixed


POPULATION: Mapping[str, Typical] = {
    "severity": Typical(1.0, 1.0, 10.0),
    "slope": Typical(0.4, 2.0, 1.0),
    "middle": Typical(1.0, 1.0, 10.0),
    "drift": Typical(0.5, 2.0, 10.0),
    "group": Typical(0.5, 2.0, 0.0),
}
STEPS_SD, MEANS_SD = 2.0, 3.0  # prior SDs of common steps, and of group means
SLOPE = 1.5  # initial slope for binary ratings
SCORING = 3  # number of scoring steps before Newton's method
# proportions of the missing information to subtract, tried in this order
LEFT_OUT = (1.0, 0.9, 0.6, 0.0)
LONGEST = 1.0  # largest change of a parameter in one step
TOLERANCE, SETTLED = 1e-6, 0.01  # limits of a step's gain, and of the change of log variances
MAX_ITERATIONS = 200
NARROW = 0.6  # maximum spacing of nodes, in SDs of the narrowest posterior
FEWEST, MOST = 41, 401  # smallest and largest number of nodes
HALVINGS = 12


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """Maximum of the posterior, and its covariance."""

    facets: Facets
    layout: Layout
    at: FloatArray  # (P,)
    covariance: FloatArray  # (P, P) inverse information
    sandwich: FloatArray  # (P, P)
    spread: Mapping[str, float]  # SD between raters, by kind
    state: State
    grid: Grid
    convergence: Convergence


@dataclass(frozen=True, slots=True, eq=False)
class Prior:
    """Normal prior of all parameters."""

    centre: FloatArray
    precision: FloatArray

    def height(self, at: FloatArray, state: State) -> float:
        """Return the log-likelihood plus the log prior."""
        gap = at - self.centre
        return state.log_likelihood - 0.5 * float(gap @ self.precision @ gap)


@dataclass(frozen=True, slots=True, eq=False)
class Population:
    """Parameters of raters by kind, and typical values of each kind."""

    layout: Layout
    kinds: Mapping[str, list[IntArray]]  # indices of raters' parameters, in each block of the kind
    typical: Mapping[str, Typical]
    slope: float  # typical slope coordinate

    @classmethod
    def of(cls, facets: Facets, layout: Layout, *, drift_of_all: bool) -> "Population":
        """Return the population of raters; mean drift is 0 unless `drift_of_all` is set."""
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
        """Return the prior that follows from the standard deviations between raters."""
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
        """Return standard deviations after one MacKay update, and effective numbers of raters."""
        # The effective number is the number of raters whose effects are determined by the ratings
        # and not by the prior.
        moved, worth = dict(spread), dict.fromkeys(spread, 0.0)
        for kind, places in self.kinds.items():
            typical, variance = self.typical[kind], spread[kind] ** 2
            squares = known = 0.0
            for block in places:
                gap = at[block] - prior.centre[block]
                own = covariance[np.ix_(block, block)]
                free, trace = block.size, float(np.trace(own))
                if typical.mean_sd:  # deviations are taken from the mean of raters
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
        """Return the covariance, adding the contribution of estimated SDs, equation (2)."""
        total = covariance.copy()
        for kind, places in self.kinds.items():
            pull = np.zeros(at.size)
            every = np.concatenate(places)
            pull[every] = (prior.precision @ (at - prior.centre))[every]
            moved = covariance @ pull
            total += 2.0 / worth[kind] * np.outer(moved, moved)
        return total


def fit(facets: Facets, *, drift_of_all: bool) -> Fitted:
    """Return the posterior mode of the parameters of raters and of their population."""
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
    """Return quadrature nodes that are dense enough for the narrowest posterior."""
    # The information in one rating is at most the squared slope times the largest variance of its
    # score.
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
    """Return the Cholesky factor of the information, made positive definite if necessary."""
    known = state.complete + prior.precision
    missing = np.zeros_like(known)
    if newton:
        missing = missing_information(facets, made, state, grid.nodes)
    for share in LEFT_OUT:
        try:
            return cho_factor(known - share * missing, lower=True)
        except np.linalg.LinAlgError:
            continue
    # Far from the maximum, even the complete information may be indefinite (slopes and means).
    lift = 1e-3 - float(np.linalg.eigvalsh(known)[0])
    return cho_factor(known + lift * np.eye(len(known)), lower=True)
