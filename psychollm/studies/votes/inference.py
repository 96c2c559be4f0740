r"""Standard errors of strengths, clustered by voters and prompts.

Equation (1) is the covariance of the estimates, with :math:`s_g` the gradient of the marginal
likelihood summed over cluster g, A the information and P the precision of the priors
(`psychollm.studies.votes.fit`).

.. math:: A^{-1} \Bigl(\sum_g \frac{s_g s_g'}{1 - h_g} + P\Bigr) A^{-1} + b b'.           \quad (1)

The vector :math:`b = A^{-1} P \phi` is the distance by which the priors shrink the estimates. For
a subset of a voter's votes, the gradient is corrected for the change that the subset causes in the
voter's effects. The weight :math:`h_g` is the proportion of cluster g in the information on a
contrast. Degrees of freedom are computed as in `psychollm.estimates.clustered`. If the model is
correct, equation (1) is the posterior covariance. With both voters and prompts, the covariance is
the sum of the covariances clustered by voters and by prompts, minus the covariance clustered by
combinations of voter and prompt. The combined covariance is never smaller than the covariance
clustered by voters alone, or by prompts alone. If there are many small clusters, they are merged
at random, so that their sums remain independent.

The errors of all strengths are drawn jointly, and the largest error of all differences gives
simultaneous intervals (`max_t_of`).
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from psychollm._base.types import BoolArray, FloatArray, IntArray
from psychollm.estimates.clustered import corrected_sums, few, satterthwaite
from psychollm.estimates.comparisons import Comparisons, max_t_of
from psychollm.estimates.reasons import Reason, first_reason
from psychollm.studies.votes.fit import Fit
from psychollm.studies.votes.marginal import here, slopes_in_effects, swept_of
from psychollm.studies.votes.table import Part, Votes

FEWEST_VOTERS = 5  # with fewer voters, voters are not treated as a sample
_ALONE = 200  # number of the largest clusters, which are kept separate
_MERGED = 100  # number of groups into which all other clusters are merged
_MOST_DF = 1e6


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Contrasts:
    """Differences of strengths, i minus j; j = -1 denotes the mean over the connected set of i."""

    i: IntArray  # (m,)
    j: IntArray  # (m,)
    part: IntArray  # (models,) set of each model

    def of(self, values: FloatArray) -> FloatArray:
        """Return the contrasts (..., m) of values (..., models)."""
        alone = self.j < 0
        found = values[..., self.i] - np.where(alone, 0.0, values[..., self.j])
        if alone.any():
            found -= np.where(alone, self._means(values)[..., self.part[self.i]], 0.0)
        return np.asarray(found)

    def form(self, matrix: FloatArray) -> FloatArray:
        """Return the quadratic forms (m,) of a symmetric matrix (models, models)."""
        if (self.j >= 0).all():
            diagonal = np.diag(matrix)
            return np.asarray(diagonal[self.i] + diagonal[self.j] - 2.0 * matrix[self.i, self.j])
        across = self.of(matrix)
        own = across[self.i, np.arange(self.i.size)]
        alone = self.j < 0
        other = np.where(alone, 0.0, across[self.j, np.arange(self.j.size)])
        if alone.any():
            means = self._means(across.T)[np.arange(self.i.size), self.part[self.i]]
            other = np.where(alone, means, other)
        return np.asarray(own - other)

    def _means(self, values: FloatArray) -> FloatArray:
        member = np.equal.outer(self.part, np.arange(self.part.max() + 1)).astype(np.float64)
        return np.asarray(values @ (member / member.sum(axis=0)))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Errors:
    """Contributions of clusters to the errors of strengths."""

    clusters: tuple[FloatArray, ...]  # sums (clusters, models) of each kind of cluster
    shares: tuple[tuple[FloatArray, ...], ...]  # information of each cluster about strengths
    cells: FloatArray  # sums over voter-prompt cells; empty if there is one kind of cluster
    prior: FloatArray  # (parameters + 1, models) root of the contribution of the priors
    over: str  # kind of clusters in words

    def of(self, contrasts: Contrasts) -> tuple[FloatArray, FloatArray]:
        """Return variances and degrees of freedom of contrasts (m,)."""
        each, freedom = [], []
        for sums, information in zip(self.clusters, self.shares, strict=True):
            known = np.array([contrasts.form(one) for one in information]).T
            known = np.maximum(known, 0.0)  # rounding can make a quadratic form negative
            shares = known / np.maximum(known.sum(axis=1, keepdims=True), 1e-300)
            with np.errstate(invalid="ignore"):
                corrected = corrected_sums(contrasts.of(sums).T, np.minimum(shares, 1.0))
                each.append(np.nansum(corrected**2, axis=1))
                freedom.append(np.nan_to_num(satterthwaite(shares), nan=1.0))
        total = np.sum(each, axis=0)
        spread = np.sum([v**2 / df for v, df in zip(each, freedom, strict=True)], axis=0)
        if len(each) > 1:
            less = (contrasts.of(self.cells) ** 2).sum(axis=0)
            total = np.maximum(total - less, np.max(each, axis=0))
        prior = (contrasts.of(self.prior) ** 2).sum(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            df = np.where(spread > 0.0, (total + prior) ** 2 / spread, _MOST_DF)
        return total + prior, np.minimum(df, _MOST_DF)

    def drawn(self, n: int, source: np.random.Generator) -> FloatArray:
        """Draw errors of all strengths jointly (n, models)."""
        parts = (*self.clusters, self.prior)
        return np.asarray(sum(source.standard_normal((n, len(one))) @ one for one in parts))


def errors_of(votes: Votes, fit: Fit, part: IntArray, source: np.random.Generator) -> Errors:
    """Return errors clustered by voters and prompts, or by votes if both are unknown."""
    n = votes.left.size
    units: list[IntArray] = []
    names: list[str] = []
    if votes.n_voters and np.unique(votes.voter[votes.own < 0]).size >= FEWEST_VOTERS:
        # The strengths differ between kinds of voters, and the votes of each kind vary about its
        # own strengths.
        own = votes.n_voters + np.arange(n) % _MERGED
        units.append(np.where(votes.own >= 0, own, votes.voter))
        names.append("voters")
    if votes.prompt.size:
        units.append(votes.prompt)
        names.append("prompts")
    cells = np.zeros((0, votes.k))
    if len(units) > 1:
        both = units[0] * (units[1].max() + 1) + units[1]
        cells = _sums(votes, fit, np.unique(both, return_inverse=True)[1], part, source)[0]
    found = [
        _sums(votes, fit, one, part, source, informed=True, whole=name == "voters")
        for one, name in zip(units or [np.arange(n)], names or ["votes"], strict=True)
    ]
    return Errors(
        clusters=tuple(sums for sums, _ in found),
        shares=tuple(information for _, information in found),
        cells=cells,
        prior=np.vstack(
            [
                np.sqrt(fit.precision)[:, None] * fit.covariance[:, : votes.k],
                fit.shrinkage[: votes.k],
            ]
        ),
        over=" and ".join(names) or "votes",
    )


def _sums(
    votes: Votes,
    fit: Fit,
    unit: IntArray,
    part: IntArray,
    source: np.random.Generator,
    *,
    informed: bool = False,
    whole: bool = False,
) -> tuple[FloatArray, tuple[FloatArray, ...]]:
    """Return the contribution of each group of units to the strengths, and its information."""
    group = _groups(unit, source)
    total = int(group.max()) + 1
    slopes = np.zeros((total, fit.phi.size))
    for each in votes.parts:
        slopes += _slopes(each, fit, group[each.votes], total, whole=whole)
    bread = fit.covariance[:, : votes.k]
    sums = slopes @ bread
    sums = sums - sums.mean(axis=0)
    if not informed:
        return sums, ()
    # Votes carry no information about the common level of a set. With a wide prior, the variance
    # of this level is so large that rounding errors would exceed the information of one vote.
    member = np.equal.outer(part, np.arange(part.max() + 1)).astype(np.float64)
    top = bread[: votes.k]
    top = top - member @ (member.T @ top / member.sum(axis=0)[:, None])
    known = []
    order = np.argsort(group, kind="stable")
    ends = np.cumsum(np.bincount(group, minlength=total))
    for start, stop in zip(np.concatenate([[0], ends[:-1]]), ends, strict=True):
        rows = order[start:stop]
        pair = votes.left[rows] * votes.k + votes.right[rows]
        weight = np.bincount(pair, fit.weight[rows], minlength=votes.k**2)
        net = -weight.reshape(votes.k, votes.k)
        net = net + net.T
        net[np.diag_indices(votes.k)] = -net.sum(axis=1)
        known.append(top.T @ net @ top)
    return sums, tuple(known)


def _slopes(each: Part, fit: Fit, group: IntArray, total: int, *, whole: bool) -> FloatArray:
    """Return the gradient of a subset of the votes, summed by group (groups, parameters)."""
    table, scores = each.table, fit.scores[:, each.votes]
    n, p = group.size, table.n_parameters
    member = csr_array((np.ones(n), (group, np.arange(n))), shape=(total, n))
    found = np.empty((total, p + 2))
    found[:, :p] = (member @ table.design.multiply(scores[0][:, None]).tocsr()).toarray()
    if table.n_own:
        mine = (member @ table.design.multiply(scores[1][:, None]).tocsr()).toarray()
        found[:, :p] = np.where(table.is_own, mine, found[:, :p])
    found[:, p:] = np.asarray(member @ scores[1:].T)
    # A unit other than a voter shifts the effects of voters, which are eliminated from A.
    part = np.ones(n) if not whole else (table.own >= 0).astype(np.float64)
    if table.n_voters and part.any():
        state = fit.state.of(each)
        at = here(table, state)
        pairs = zip(swept_of(table, state, at), slopes_in_effects(table, state, at), strict=True)
        for factor, inner in pairs:
            moved = csr_array((part * inner, (group, table.voter)), shape=(total, table.n_voters))
            found -= (moved @ factor.T).toarray()
    return found


def _groups(unit: IntArray, source: np.random.Generator) -> IntArray:
    """Return the group of each vote; small units are merged at random."""
    unit = np.unique(unit, return_inverse=True)[1]
    size = np.bincount(unit)
    if size.size <= _ALONE + _MERGED:
        return unit
    order = np.argsort(-(size + 0.5 * source.random(size.size)), kind="stable")
    group = np.empty(size.size, dtype=np.int64)
    group[order[:_ALONE]] = np.arange(_ALONE)
    group[order[_ALONE:]] = _ALONE + np.arange(size.size - _ALONE) % _MERGED
    return np.unique(group[unit], return_inverse=True)[1]


def differences_of(
    value: FloatArray,
    errors: Errors,
    part: IntArray,
    labels: tuple[object, ...],
    *,
    level: float,
    n_draws: int,
    source: np.random.Generator,
) -> tuple[Comparisons, FloatArray]:
    """Return all differences with simultaneous intervals, and the degrees of freedom."""
    k = len(labels)
    i, j = np.triu_indices(k, 1)
    contrasts = Contrasts(i=i, j=j, part=part)
    variance, df = errors.of(contrasts)
    apart = part[i] != part[j]
    gap = np.where(apart, np.nan, value[i] - value[j])
    se = np.where(apart, np.nan, np.sqrt(variance))
    drawn = errors.drawn(n_draws, source)

    def deviations(places: IntArray) -> FloatArray:
        one = drawn[:, i[places]] - drawn[:, j[places]]
        return np.asarray(one / one.std(axis=0, ddof=1))

    shrunk = np.sqrt(df / (df + 1.0))
    found = max_t_of(gap, se * shrunk, df, deviations, n_draws=n_draws, level=level)
    single = max_t_p(gap, se, df)
    known = ~few(df)
    comparisons = Comparisons(
        name="strength",
        first=tuple(labels[row] for row in i),
        second=tuple(labels[row] for row in j),
        value=gap,
        se=se,
        interval=found.interval,
        p_value=single,
        adjusted=found.step_down,
        n_resamples=np.full(i.size, n_draws),
        adjustment="max_t",
        level=level,
        flags=first_reason((apart, Reason.NOT_CONNECTED), (~known, Reason.FEW_CLUSTERS)),
    )
    return comparisons, df


def max_t_p(value: FloatArray, se: FloatArray, df: FloatArray) -> FloatArray:
    """Return two-sided unadjusted p-values for the null hypothesis of no difference."""
    from scipy.special import stdtr

    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(2.0 * stdtr(df, -np.abs(value / se)))


def better_of(differences: Comparisons, k: int) -> BoolArray:
    """Return whether the row's model is significantly stronger than the column's."""
    i, j = np.triu_indices(k, 1)
    enough = np.array([flag != Reason.FEW_CLUSTERS for flag in differences.flags])
    lower, upper = np.where(enough[:, None], differences.interval, np.nan).T
    better = np.zeros((k, k), dtype=np.bool_)
    with np.errstate(invalid="ignore"):
        better[i, j], better[j, i] = lower > 0.0, upper < 0.0
    return better
