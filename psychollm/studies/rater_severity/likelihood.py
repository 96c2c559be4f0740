r"""Marginal likelihood of ratings, where objects differ in quality and raters in style.

Equation (1) is the linear predictor of rater i for object j.

.. math:: z = a_i (\mu_j + x_j) - s_i - \delta_i t - h_{i g(j)}, \qquad x_j \sim N(0, 1). \quad (1)

Here, a is discrimination, s severity, :math:`\delta` drift over time t, and h the rater's effect
for a group g of objects. The mean of h over raters is part of :math:`\mu_j`. Equation
(2) gives the probabilities of the ordered ratings 0, ..., K - 1.

.. math:: \log P(k) = c_k z + w_k m_i + \sum_l T_{kl} \tau_l + \text{const}.                (2)

The scores c are equally spaced, and w is 1 in the middle and 0 at both ends. The parameter m is
the rater's central tendency. The columns of T are polynomials of degree 3 and higher; all raters
share their coefficients :math:`\tau`. With two ratings, the model is the many-facet logistic model
with slopes; with more ratings, it is the generalised partial credit model. With three ratings, the
model is Davidson's model of ties, with "unsure" between no and yes. Slopes are
:math:`a = \kappa \sinh u`: for large slopes, u is nearly logarithmic in a, and slopes may be
negative.

The quality x is integrated out over nodes. The observed information is the information for known x
minus the missing information. The missing information is the covariance of the scores under the
posterior of x, computed in orthogonal polynomials.

References
----------
Davidson, R. R. (1970). On extending the Bradley-Terry model to accommodate ties in paired
comparison experiments. Journal of the American Statistical Association, 65(329), 317-328.

Linacre, J. M. (1989). Many-facet Rasch measurement. MESA Press.

Muraki, E. (1992). A generalized partial credit model: Application of an EM algorithm. Applied
Psychological Measurement, 16(2), 159-176. https://doi.org/10.1177/014662169201600206
"""

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import csr_matrix, vstack
from scipy.special import log_softmax

from psychollm._base.types import FloatArray, IntArray
from psychollm.irt.likelihood import Grid
from psychollm.kernels.quadrature import normalise_rows, weighted_polynomials

Sparse: TypeAlias = Any  # scipy.sparse provides no type annotations

KAPPA = 0.5  # slope below which its coordinate is linear
DEGREES = 12  # number of polynomials for the missing information
NEGLIGIBLE = 1e-5
ROWS = 4096  # number of rated objects per block of scores


@dataclass(frozen=True, slots=True, eq=False)
class Facets:
    """Ratings as integer codes, with their raters, times, groups and covariates."""

    # A cell is a combination of rater, time and covariates; all its ratings follow the same curve.
    thing: IntArray  # (N,)
    cell: IntArray  # (N,)
    rating: IntArray  # (N,)
    rater: IntArray  # (U,) rater of each cell
    time: FloatArray | None  # (U,) time from -1/2 to 1/2
    group: IntArray | None  # (U,)
    covariates: FloatArray  # (U, p) effects on the mean ability
    n_things: int
    n_raters: int
    n_groups: int
    steps: FloatArray  # (K,) scores c of the ratings
    tied: bool  # one slope for all raters

    @property
    def n_ratings(self) -> int:
        """Number of different ratings."""
        return self.steps.size


@dataclass(frozen=True, slots=True)
class Layout:
    """Positions of the parameters, with one block of values per rater before common parameters."""

    names: tuple[str, ...]  # names of the blocks
    n_raters: int
    n_shared_steps: int
    n_covariates: int
    tied: bool

    @classmethod
    def of(cls, facets: Facets) -> "Layout":
        """Return the layout of the parameters for the given ratings."""
        names = ["severity"]
        if not facets.tied:
            names.append("slope")
        if facets.n_ratings > 2:
            names.append("middle")
        if facets.time is not None:
            names.append("drift")
        names += [f"group {g}" for g in range(facets.n_groups)]
        return cls(
            tuple(names),
            facets.n_raters,
            max(facets.n_ratings - 3, 0),
            facets.covariates.shape[1],
            facets.tied,
        )

    @property
    def size(self) -> int:
        """Number of parameters."""
        own = len(self.names) * self.n_raters
        return own + self.tied + self.n_shared_steps + self.n_covariates

    def block(self, name: str) -> slice:
        """Return the indices of a parameter of all raters, or of the slope that raters share."""
        if name == "slope" and self.tied:
            low = len(self.names) * self.n_raters
            return slice(low, low + 1)
        low = self.names.index(name) * self.n_raters
        return slice(low, low + self.n_raters)

    @property
    def shared_steps(self) -> slice:
        """Return the indices of the step parameters that all raters share."""
        low = len(self.names) * self.n_raters + self.tied
        return slice(low, low + self.n_shared_steps)

    @property
    def means(self) -> slice:
        """Return the indices of covariate effects on the ability."""
        low = len(self.names) * self.n_raters + self.tied + self.n_shared_steps
        return slice(low, low + self.n_covariates)


@dataclass(frozen=True, slots=True, eq=False)
class Curves:
    """Log-probabilities of all ratings by cell and node, and moments of the scores."""

    log_p: FloatArray  # (U, K, Q)
    features: FloatArray  # (K, F): c, w, T
    expected: FloatArray  # (F, U, Q)
    constant: Sparse  # (U, P) derivative of z at ability x = 0
    linear: Sparse  # (U, P) change of this derivative with x
    places: list[Sparse]  # (U, P) for each feature after the first: derivative of its factor
    slope: FloatArray  # (U,) equal to the second derivative of the slope in its coordinate
    turn: FloatArray  # (U,) derivative of the slope in its coordinate
    centre: FloatArray  # (U,) mean quality of the rated objects


def features_of(facets: Facets) -> FloatArray:
    """Return the constants c, w and T of equation (2) for each rating (K, F)."""
    k = facets.n_ratings
    if k == 2:
        return facets.steps[:, None]
    place = np.linspace(-1.0, 1.0, k)
    columns = [facets.steps, 1.0 - place**2]
    if k > 3:
        basis = np.linalg.qr(np.vander(place, k, increasing=True))[0]
        columns += list(basis[:, 3:].T * np.sqrt(k))
    return np.column_stack(columns)


def curves(facets: Facets, layout: Layout, at: FloatArray, nodes: FloatArray) -> Curves:
    """Return the curves of all cells at given parameters."""
    n, rater = facets.rater.size, facets.rater
    u = at[layout.block("slope")]
    u = np.full(n, u[0]) if layout.tied else u[rater]
    a, turn = KAPPA * np.sinh(u), KAPPA * np.cosh(u)
    centre = facets.covariates @ at[layout.means]
    offset = -at[layout.block("severity")][rater]
    slopes = layout.block("slope").start + (np.zeros_like(rater) if layout.tied else rater)
    entries = [(layout.block("severity").start + rater, np.full(n, -1.0)), (slopes, turn * centre)]
    if facets.time is not None:
        offset = offset - at[layout.block("drift")][rater] * facets.time
        entries.append((layout.block("drift").start + rater, -facets.time))
    if facets.group is not None:
        place = layout.block("group 0").start + facets.group * facets.n_raters + rater
        offset = offset - at[place]
        entries.append((place, np.full(n, -1.0)))
    for k in range(layout.n_covariates):
        place = np.full(n, layout.means.start + k)
        entries.append((place, a * facets.covariates[:, k]))
    z = (offset + a * centre)[:, None] + a[:, None] * nodes
    features = features_of(facets)
    eta = z[:, None, :] * features[None, :, :1]
    places = []
    if features.shape[1] > 1:
        eta = eta + (at[layout.block("middle")][rater][:, None] * features[:, 1])[:, :, None]
        places.append(_placed([(layout.block("middle").start + rater, np.ones(n))], layout))
    for k in range(layout.n_shared_steps):
        eta = eta + (at[layout.shared_steps][k] * features[:, 2 + k])[None, :, None]
        own = np.full(n, layout.shared_steps.start + k)
        places.append(_placed([(own, np.ones(n))], layout))
    log_p = log_softmax(eta, axis=1)
    return Curves(
        log_p=log_p,
        features=features,
        expected=np.einsum("kf,ukq->fuq", features, np.exp(log_p)),
        constant=_placed(entries, layout),
        linear=_placed([(slopes, turn)], layout),
        places=places,
        slope=a,
        turn=turn,
        centre=centre,
    )


def _placed(parts: list[tuple[IntArray, FloatArray]], layout: Layout) -> Sparse:
    """Return values (U, P), with cells in rows and parameters in columns."""
    n = parts[0][0].size
    columns = np.concatenate([one[0] for one in parts])
    values = np.concatenate([one[1] for one in parts])
    rows = np.tile(np.arange(n), len(parts))
    return csr_matrix((values, (rows, columns)), shape=(n, layout.size))


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """Result of one pass over the ratings."""

    log_likelihood: float
    posterior: FloatArray  # (J, Q)
    gradient: FloatArray  # (P,)
    complete: FloatArray  # (P, P) information if x were known


def e_step(facets: Facets, layout: Layout, made: Curves, grid: Grid, sums: Sparse) -> State:
    """Return posteriors, the gradient and the complete information.

    The array `sums` (J, U K) contains the number of ratings by object, cell and rating.
    """
    nodes = grid.nodes
    n_cells, k, q = made.log_p.shape
    posterior = np.asarray(sums @ made.log_p.reshape(n_cells * k, q)) + grid.log_weights
    log_likelihood = float(normalise_rows(posterior).sum())
    counts = np.asarray(sums.T @ posterior).reshape(n_cells, k, q)
    n = counts.sum(axis=1)  # (U, Q)
    p = np.exp(made.log_p)
    factors = range(1, made.features.shape[1])
    residual = np.einsum("kf,ukq->fuq", made.features, counts) - n * made.expected
    r0, r1 = residual[0].sum(axis=1), residual[0] @ nodes
    gradient = made.constant.T @ r0 + made.linear.T @ r1
    for f in factors:
        gradient = gradient + made.places[f - 1].T @ residual[f].sum(axis=1)

    def weighted(first: Sparse, weight: FloatArray, second: Sparse) -> FloatArray:
        return np.asarray((first.T @ second.multiply(weight[:, None]).tocsr()).todense())

    def moment(f: int, g: int) -> FloatArray:
        both = np.einsum("k,ukq->uq", made.features[:, f] * made.features[:, g], p)
        return np.asarray(n * (both - made.expected[f] * made.expected[g]))

    zz = moment(0, 0)
    constant, linear = made.constant, made.linear
    cross = weighted(constant, zz @ nodes, linear)
    information = weighted(constant, zz.sum(axis=1), constant) + cross + cross.T
    information += weighted(linear, zz @ nodes**2, linear)
    for f in factors:
        zf, place = moment(0, f), made.places[f - 1]
        part = weighted(constant, zf.sum(axis=1), place) + weighted(linear, zf @ nodes, place)
        information += part + part.T
        for g in factors:
            both = moment(f, g).sum(axis=1)
            information += weighted(place, both, made.places[g - 1])
    # The nonzero second derivatives of z are with respect to the slope's coordinate, alone and
    # together with the mean.
    slopes = layout.block("slope")
    rater = np.zeros_like(facets.rater) if layout.tied else facets.rater
    places = np.arange(slopes.start, slopes.stop)
    bend = made.slope * (made.centre * r0 + r1)
    information[places, places] -= np.bincount(rater, bend, places.size)
    for k in range(layout.n_covariates):
        mixed = np.bincount(rater, made.turn * facets.covariates[:, k] * r0, places.size)
        information[places, layout.means.start + k] -= mixed
        information[layout.means.start + k, places] -= mixed
    return State(log_likelihood, posterior, np.asarray(gradient).ravel(), information)


def thing_scores(facets: Facets, made: Curves, weights: FloatArray, nodes: FloatArray) -> Sparse:
    """Return each object's score (J, P), summed over nodes with weights (J, Q)."""
    thing, cell = facets.thing, facets.cell
    shape = facets.n_things, facets.rater.size
    totals, firsts = weights.sum(axis=1), weights @ nodes

    def at_ratings(table: FloatArray) -> FloatArray:
        if shape[0] * shape[1] <= 4 * thing.size:
            return np.asarray((weights @ table.T)[thing, cell])
        return np.asarray(np.einsum("nq,nq->n", weights[thing], table[cell]))

    observed = made.features[facets.rating]  # (N, F)
    first = at_ratings(made.expected[0] * nodes)
    parts = [observed[:, 0] * firsts[thing] - first]
    for f, expected in enumerate(made.expected):
        parts.append(observed[:, f] * totals[thing] - at_ratings(expected))
    turns = [made.linear, made.constant, *made.places]
    columns = np.concatenate([cell + k * shape[1] for k in range(len(parts))])
    rows = np.tile(thing, len(parts))
    spread = csr_matrix(
        (np.concatenate(parts), (rows, columns)), shape=(shape[0], len(parts) * shape[1])
    )
    return spread @ vstack(turns, format="csr")


def missing_information(
    facets: Facets, made: Curves, state: State, nodes: FloatArray
) -> FloatArray:
    """Return the information that is missing because the quality of objects is unknown (P, P)."""
    total, size = np.zeros_like(state.complete), 0.0
    for weighted in weighted_polynomials(state.posterior, nodes, DEGREES):
        part = products(thing_scores(facets, made, weighted, nodes))
        total += part
        gain = float(np.trace(part))
        size += gain
        if gain <= NEGLIGIBLE * size:
            break
    return total


def products(scores: Sparse) -> FloatArray:
    """Return the sum of outer products of the scores of objects (P, P)."""
    total = np.zeros((scores.shape[1],) * 2)
    if scores.nnz < 0.05 * np.prod(scores.shape, dtype=np.float64):
        return np.asarray((scores.T @ scores).todense())
    for low in range(0, scores.shape[0], ROWS):
        dense = scores[low : low + ROWS].toarray()
        total += dense.T @ dense
    return total
