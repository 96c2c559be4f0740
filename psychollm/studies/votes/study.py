r"""Estimate strengths, ranks and tiers from votes on pairs of models.

Votes follow Davidson's model of ties (`psychollm.studies.votes.davidson`), extended by an
advantage of one side and effects of covariates. Each voter has effects on side, ties and
discrimination (`psychollm.studies.votes.fit`). Standard errors are clustered by voters and prompts
(`psychollm.studies.votes.inference`). The intervals of all differences and the bounds of all ranks
are simultaneous, as in `psychollm.compare`.

Strengths have a normal prior; its standard deviation is estimated, but at least one. The prior has
little influence if there are many votes, and keeps the strength of an undefeated model finite.

References
----------
Davidson, R. R. (1970). On extending the Bradley-Terry model to accommodate ties in paired
comparison experiments. Journal of the American Statistical Association, 65, 317-328.
https://doi.org/10.1080/01621459.1970.10481082

Mogstad, M., Romano, J. P., Shaikh, A. M., & Wilhelm, D. (2024). Inference for ranks with
applications to mobility across neighbourhoods and academic achievement across countries. Review of
Economic Studies, 91, 476-518. https://doi.org/10.1093/restud/rdad006
"""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from scipy.special import expit, stdtrit

from psychollm._base.checks import check_count, check_fraction, check_generator, check_positive
from psychollm._base.errors import ConvergenceWarning
from psychollm._base.types import BoolArray, FloatArray, IntArray, RandomState
from psychollm.estimates.clustered import few
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.reasons import Reason, first_reason
from psychollm.studies.comparison.ranks import rank, tiers
from psychollm.studies.votes.ballot import Ballot, ballot_of
from psychollm.studies.votes.columns import check_varied
from psychollm.studies.votes.fit import Fit, fit_votes
from psychollm.studies.votes.inference import (
    Contrasts,
    Errors,
    better_of,
    differences_of,
    errors_of,
)
from psychollm.studies.votes.pairs import pairs_of
from psychollm.studies.votes.prediction import expected_chances
from psychollm.studies.votes.prompts import PromptVariation, prompt_variation
from psychollm.studies.votes.result import BradleyTerry, FitStatistics, Kinds, Voters
from psychollm.studies.votes.table import Options, Votes

_OWN_VOTES = 10  # a voter with more votes per model than this, and
_OWN_SHARE = 0.15  # with more than this proportion of all votes, has separate strengths
_FEW_OWN = 5  # maximum number of such voters
_ZERO = 1e-12


def bradley_terry(
    votes: Any,
    *,
    left: Any = None,
    right: Any = None,
    winner: Any = None,
    voter: Any = None,
    kind: Any = None,
    prompt: Any = None,
    covariates: str | Sequence[str] | Mapping[str, Any] = (),
    weights: Any = None,
    side: bool = True,
    prior: float | None = None,
    level: float = 0.95,
    n_draws: int = 4000,
    rng: RandomState = None,
) -> BradleyTerry:
    """Estimate strengths, ranks and tiers of models from votes on pairs of models.

    Parameters
    ----------
    votes : DataFrame, mapping, sequence of rows, path or None
        Table with one row per vote. A Parquet file, a DuckDB database with one table, and tables
        of Arrow, polars and DuckDB are read in batches, without the columns that are not required.
        Columns with known names are recognised: model_a, model_b and winner; left, right and
        winner; chosen and rejected; a numeric preference. None if `left`, `right` and `winner` are
        arrays.
    left, right : str or array_like (votes,), optional
        Models shown on the left side and on the right side.
    winner : str or array_like (votes,), optional
        "left", "right", "tie" (or "model_a", "tie (bothbad)"), the name of the model, or a number
        from 1 for left to 0 for right, or from 1 for left to 2 for right. Numbers other than 0, .5
        and 1 are fractional wins. Votes without a winner are omitted.
    voter : str or array_like (votes,), optional
        Person or judge who voted; by default, a column with a known name, if there is one.
    kind : str or array_like (votes,), optional
        Kind of voter, such as "people" and "judge". The kind with most voters determines the
        strengths; the strengths of other kinds deviate from these strengths.
    prompt : str or array_like (votes,), optional
        Prompt that the models answered. Prompts are clusters, and strengths refer to a typical
        prompt. By default, the prompt is a column with a known name, if there is one.
    covariates : str, sequence of str, or mapping
        Covariates, such as "length": two columns (length_left and length_right), or one column
        with the difference, left minus right; or a mapping from names to such columns.
    weights : str or array_like (votes,), optional
        Frequency weight of each row.
    side : bool
        Whether to estimate an advantage of the left side.
    prior : float, optional
        Standard deviation of the normal prior of strengths; by default estimated, at least 1.
        ``np.inf`` gives maximum likelihood estimates.
    level : float
        Coverage of the intervals: pointwise for strengths, simultaneous for differences and ranks.
    n_draws : int
        Number of draws for the simultaneous intervals.
    rng : Generator, int or None
        Source of randomness.

    Returns
    -------
    BradleyTerry
        The strongest model comes first. Strengths have mean 0 in each connected set of models.

    Raises
    ------
    LabelError, CodeError, ShapeError, OptionError
        If columns, labels or winners are invalid, or an option is out of range.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> pairs = rng.permuted(np.tile(["a", "b", "c"], (600, 1)), axis=1)[:, :2]
    >>> better = {"a": 2.0, "b": 0.5, "c": 0.0}
    >>> odds = [better[one] - better[other] for one, other in pairs]
    >>> won = np.where(rng.logistic(size=600) < odds, "left", "right")
    >>> found = bradley_terry(None, left=pairs[:, 0], right=pairs[:, 1], winner=won, rng=1)
    >>> found.to_frame().round(1)[["model", "strength", "rank_lower", "rank_upper", "tier"]]
      model  strength  rank_lower  rank_upper  tier
    0     a       1.2           1           1     1
    1     b      -0.3           2           2     2
    2     c      -0.8           3           3     3
    >>> found.predict(["a"], ["c"]).round(1)
    array([[0.9, 0. , 0.1]])
    """
    check_fraction("level", level)
    check_count("n_draws", n_draws, low=100)
    if prior is not None and prior != np.inf:
        check_positive("prior", prior)
    source = check_generator(rng)
    ballot = ballot_of(
        votes, left=left, right=right, winner=winner, voter=voter, kind=kind, prompt=prompt,
        covariates=covariates, weights=weights,
    )  # fmt: skip
    side = side and ballot.sided
    check_varied(ballot.x, ballot.covariates, side=side)
    given, order, owners = _votes(ballot)
    options = Options(
        side=side,
        ties=bool(ballot.wins[1].any()),
        prior=None if prior is None else min(prior, 1e4),
    )
    fit = fit_votes(given, options)
    if not fit.converged:
        msg = "bradley_terry did not converge: estimates are those of the last iteration"
        warnings.warn(msg, ConvergenceWarning, stacklevel=2)
    part = _parts(given)
    errors = errors_of(given, fit, part, source)
    typical = prompt_variation(given, fit)
    return _result(
        ballot, given, order, owners, fit, errors, part, options, typical,
        level=level, n_draws=n_draws, source=source,
    )  # fmt: skip


def _votes(ballot: Ballot) -> tuple[Votes, IntArray, IntArray]:
    """Return the votes by voter, their order, and the voters or kinds with separate strengths."""
    n, voter = ballot.left.size, ballot.voter
    own, owners = _own(ballot)
    # Effects of a single voter are not identified.
    known = voter.size > 0 and len(ballot.voters) > 1
    order = np.argsort(voter, kind="stable") if known else np.arange(n)
    return (
        Votes(
            left=ballot.left[order],
            right=ballot.right[order],
            wins=ballot.wins[:, order],
            voter=voter[order] if known else np.empty(0, dtype=np.int64),
            prompt=ballot.prompt[order] if ballot.prompt.size else ballot.prompt,
            own=own[order],
            x=ballot.x[order],
            k=len(ballot.models),
            n_voters=len(ballot.voters) if known else 0,
            n_own=len(owners),
        ),
        order,
        owners,
    )


def _own(ballot: Ballot) -> tuple[IntArray, IntArray]:
    """Return each vote's set of deviations (-1: none), and the voter or kind of each set."""
    n, k = ballot.left.size, len(ballot.models)
    none = np.full(n, -1, dtype=np.int64), np.empty(0, dtype=np.int64)
    if len(ballot.kinds) > 1:
        sizes = np.bincount(ballot.kind)
        if ballot.voter.size:
            both = np.unique(np.stack([ballot.kind, ballot.voter]), axis=1)[0]
            sizes = np.bincount(both) * (n + 1) + sizes
        owners = np.delete(np.arange(len(sizes)), np.argmax(sizes))
        code = ballot.kind
    elif len(ballot.voters) > _FEW_OWN:
        sizes = np.bincount(ballot.voter)
        heavy = (sizes >= _OWN_VOTES * k) & (sizes >= _OWN_SHARE * n)
        owners, code = np.flatnonzero(heavy)[:_FEW_OWN], ballot.voter
    else:
        return none
    if not owners.size:
        return none
    place = np.full(int(code.max()) + 1, -1, dtype=np.int64)
    place[owners] = np.arange(owners.size)
    return place[code], owners


def _result(
    ballot: Ballot,
    votes: Votes,
    order: IntArray,
    owners: IntArray,
    fit: Fit,
    errors: Errors,
    part: IntArray,
    options: Options,
    typical: PromptVariation,
    *,
    level: float,
    n_draws: int,
    source: np.random.Generator,
) -> BradleyTerry:
    k, scale = votes.k, typical.scale
    means = np.bincount(part, fit.phi[:k]) / np.bincount(part)
    value = scale * (fit.phi[:k] - means[part])
    first = np.lexsort((-value, part))
    labels = tuple(ballot.models[row] for row in first)
    part, value = part[first], value[first]
    turned = _reordered(errors, first, scale, typical.scale_error * value)
    differences, _ = differences_of(
        value, turned, part, labels, level=level, n_draws=n_draws, source=source
    )
    better = better_of(differences, k)
    strengths = _strengths(votes, value, turned, part, first, labels, level=level)
    covariance = scale**2 * fit.covariance[:k, :k][np.ix_(first, first)]
    return BradleyTerry(
        strengths=strengths,
        win_rates=_win_rates(value, part, fit, scale, strengths, level),
        differences=differences,
        rank=rank(value, part).astype(np.int64),
        rank_interval=np.stack(
            [1 + better.sum(axis=0), np.bincount(part)[part] - better.sum(axis=1)], axis=1
        ),
        tier=tiers(better, np.ones(k, dtype=np.bool_), part),
        component=part + 1,
        n_votes=_counts(votes)[first],
        ties=_ties(fit, options, errors, level, votes),
        side=_one("side", "left", scale * fit.phi[-2], scale**2 * fit.covariance[-2, -2], level,
                  votes, Reason.NONE if options.side else Reason.NO_SIDES),
        covariates=_slopes(ballot, fit, scale, level, votes),
        voters=_voters(ballot, votes, fit),
        kinds=_kinds(ballot, votes, fit, owners, first, scale),
        fit=_statistics(ballot, votes, fit, errors, typical),
        pairs=pairs_of(votes, fit, first),
        covariance=covariance,
        parameters=np.array([scale * fit.phi[-2], fit.phi[-1], *fit.sd, fit.spread[0]]),
        labels=labels,
        level=level,
    )  # fmt: skip


def _reordered(errors: Errors, first: IntArray, scale: float, of_scale: FloatArray) -> Errors:
    """Return the errors with reordered models, rescaled to the scale of a typical prompt."""
    return Errors(
        clusters=tuple(scale * one[:, first] for one in errors.clusters),
        shares=tuple(tuple(one[np.ix_(first, first)] for one in known) for known in errors.shares),
        cells=scale * errors.cells[:, first],
        prior=np.vstack([scale * errors.prior[:, first], of_scale]),
        over=errors.over,
    )


def _parts(votes: Votes) -> IntArray:
    """Return each model's connected set, 0 for the largest (models,)."""
    found = _components(votes, votes.left, votes.right, strong=False)
    order = np.argsort(-np.bincount(found), kind="stable")
    return np.asarray(np.argsort(order)[found])


def _components(votes: Votes, winner: IntArray, loser: IntArray, *, strong: bool) -> IntArray:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    links = coo_array((np.ones(winner.size), (winner, loser)), shape=(votes.k, votes.k))
    kind: Literal["strong", "weak"] = "strong" if strong else "weak"
    return np.asarray(connected_components(links, directed=True, connection=kind)[1], np.int64)


def _one_sided(votes: Votes, part: IntArray) -> BoolArray:
    """Return which models have finite strengths only because of the prior (models,)."""
    wins = votes.wins
    ahead, behind = wins[0] + wins[1] > 0.0, wins[2] + wins[1] > 0.0
    winner = np.concatenate([votes.left[ahead], votes.right[behind]])
    loser = np.concatenate([votes.right[ahead], votes.left[behind]])
    found = _components(votes, winner, loser, strong=True)
    sizes = np.bincount(found)
    largest = np.zeros(int(part.max()) + 1, dtype=np.int64)
    np.maximum.at(largest, part, sizes[found])
    return np.asarray((sizes[found] < largest[part]) | (largest[part] < 2) & (len(part) > 1))


def _counts(votes: Votes) -> IntArray:
    both = np.concatenate([votes.left, votes.right])
    return np.bincount(both, minlength=votes.k).astype(np.int64)


def _strengths(
    votes: Votes,
    value: FloatArray,
    errors: Errors,
    part: IntArray,
    first: IntArray,
    labels: tuple[Any, ...],
    *,
    level: float,
) -> Estimate:
    k = value.size
    variance, df = errors.of(Contrasts(i=np.arange(k), j=np.full(k, -1), part=part))
    se = np.sqrt(variance)
    margin = stdtrit(df, 0.5 + 0.5 * level) * se
    original = np.empty_like(part)
    original[first] = part
    flags = first_reason(
        (_one_sided(votes, original)[first], Reason.ONE_SIDED), (few(df), Reason.FEW_CLUSTERS)
    )
    return Estimate(
        name="strength", value=value, se=se,
        interval=np.stack([value - margin, value + margin], axis=1),
        n=_counts(votes)[first].astype(np.float64), flags=flags,
        method=f"marginal likelihood, over {errors.over}", level=level, labels=labels,
        df=df,
    )  # fmt: skip


def _win_rates(
    value: FloatArray,
    part: IntArray,
    fit: Fit,
    scale: float,
    strengths: Estimate,
    level: float,
) -> Estimate:
    """Return expected win rates against the other models of the set; ties count as half."""
    k = value.size
    i, j = np.nonzero(np.equal.outer(part, part) & ~np.eye(k, dtype=np.bool_))
    voters = np.zeros((1, 3)), np.diag(fit.sd)[None]
    at = np.zeros(i.size, dtype=np.int64)
    step = 0.01

    def rates(shift: float) -> FloatArray:
        one = expected_chances(
            (value[i] - value[j] + shift) / scale, np.zeros(i.size), fit.phi[-1],
            spread=np.zeros(i.size), effects=voters[0], roots=voters[1], voter=at,
        )  # fmt: skip
        n = np.maximum(np.bincount(i, minlength=k), 1)
        return np.bincount(i, one[:, 0] + 0.5 * one[:, 1], minlength=k) / n

    rate = np.where(np.bincount(part)[part] > 1, rates(0.0), np.nan)
    # The rate depends on the model's strength relative to the mean of the others.
    share = np.bincount(part)[part] / np.maximum(np.bincount(part)[part] - 1, 1)
    slope = (rates(step) - rates(-step)) / (2.0 * step) * share
    se = slope * strengths.se
    with np.errstate(invalid="ignore", divide="ignore"):
        odds = np.log(rate / (1.0 - rate))
        margin = stdtrit(strengths.freedom, 0.5 + 0.5 * level) * se / (rate * (1.0 - rate))
    return Estimate(
        name="win rate", value=rate, se=np.where(np.isnan(rate), np.nan, se),
        interval=expit(np.stack([odds - margin, odds + margin], axis=1)),
        n=strengths.n, flags=strengths.flags, method="delta method, log odds", level=level,
        labels=strengths.labels, df=strengths.df,
    )  # fmt: skip


def _one(
    name: str,
    label: str,
    value: float,
    variance: float,
    level: float,
    votes: Votes,
    reason: Reason,
) -> Estimate:
    value, se = (np.nan, np.nan) if reason else (value, np.sqrt(variance))
    margin = stdtrit(np.inf, 0.5 + 0.5 * level) * se
    return Estimate(
        name=name, value=np.array([value]), se=np.array([se]),
        interval=np.array([[value - margin, value + margin]]),
        n=np.array([votes.n.sum()]), flags=(reason,), method="marginal likelihood", level=level,
        labels=(label,), axis="of",
    )  # fmt: skip


def _ties(fit: Fit, options: Options, errors: Errors, level: float, votes: Votes) -> Estimate:
    """Return the probability of a tie if models are equally strong and sides have no effect."""
    found = _one("ties", "equals", fit.phi[-1], fit.covariance[-1, -1], level, votes,
                 Reason.NONE if options.ties else Reason.NO_TIES)  # fmt: skip
    share = expit(found.value - np.log(2.0))
    return Estimate(
        name="ties", value=share, se=found.se * share * (1.0 - share),
        interval=expit(found.interval - np.log(2.0)), n=found.n, flags=found.flags,
        method=found.method, level=level, labels=found.labels, axis="of",
    )  # fmt: skip


def _slopes(ballot: Ballot, fit: Fit, scale: float, level: float, votes: Votes) -> Estimate:
    q = len(ballot.covariates)
    own = slice(fit.phi.size - 2 - q, fit.phi.size - 2)
    value, se = scale * fit.phi[own], scale * np.sqrt(np.diag(fit.covariance)[own])
    margin = stdtrit(np.inf, 0.5 + 0.5 * level) * se
    return Estimate(
        name="covariate", value=value, se=se,
        interval=np.stack([value - margin, value + margin], axis=1),
        n=np.full(q, votes.n.sum()), flags=(Reason.NONE,) * q, method="marginal likelihood",
        level=level, labels=ballot.covariates, axis="covariate",
    )  # fmt: skip


def _voters(ballot: Ballot, votes: Votes, fit: Fit) -> Voters:
    known = votes.n_voters
    se = np.sqrt((fit.roots**2).sum(axis=2))
    own = np.full(known, -1, dtype=np.int64)
    if known:
        own[votes.voter] = votes.own
    return Voters(
        labels=ballot.voters if known else (),
        n_votes=np.bincount(votes.voter, minlength=known).astype(np.int64),
        effects=fit.effects,
        se=se,
        roots=fit.roots,
        kind=own,
        sd=fit.sd,
    )


def _kinds(
    ballot: Ballot,
    votes: Votes,
    fit: Fit,
    owners: IntArray,
    first: IntArray,
    scale: float,
) -> Kinds:
    source = ballot.kinds if len(ballot.kinds) > 1 else ballot.voters
    k = votes.k
    deviations = fit.phi[k : k * (1 + votes.n_own)].reshape(votes.n_own, k)[:, first]
    common = fit.spread[0] if votes.n_own else 1.0
    found = np.sqrt((fit.phi[:k] ** 2).mean()) if votes.n_own else common
    spread = fit.spread[1:]
    worth = np.array([_worth(votes, fit, g) for g in range(votes.n_own)])
    correlation = found / np.sqrt(found**2 + spread**2)
    return Kinds(
        labels=tuple(source[one] for one in owners),
        n_votes=np.bincount(votes.own[votes.own >= 0], minlength=votes.n_own).astype(np.int64),
        deviations=scale * deviations,
        spread=scale * spread,
        correlation=correlation,
        worth=worth,
    )


def _worth(votes: Votes, fit: Fit, g: int) -> float:
    """Return the information per vote of a kind of voters, relative to all other voters."""
    k = votes.k
    own = votes.own == g
    centre = np.eye(k) - 1.0 / k

    def network(which: BoolArray) -> FloatArray:
        pair = votes.left[which] * k + votes.right[which]
        net = -np.bincount(pair, fit.weight[which], minlength=k**2).reshape(k, k)
        net = net + net.T
        net[np.diag_indices(k)] = -net.sum(axis=1)
        return np.asarray(net, np.float64)

    mine, others = network(own), network(votes.own < 0)
    if not own.any() or not (votes.own < 0).any():
        return float("nan")
    # Eliminate the deviations: (mine^-1 + spread^2)^-1.
    precision = np.eye(k) / fit.spread[1 + g] ** 2
    swept = mine - mine @ np.linalg.solve(mine + precision, mine)
    each = np.trace(centre @ swept) / own.sum(), np.trace(others) / (votes.own < 0).sum()
    return float(each[0] / each[1])


def _statistics(
    ballot: Ballot, votes: Votes, fit: Fit, errors: Errors, typical: PromptVariation
) -> FitStatistics:
    total = votes.n.sum()
    share = votes.wins.sum(axis=1) / total
    base = float(-(share[share > 0] * np.log(share[share > 0])).sum())
    return FitStatistics(
        n_votes=int(votes.left.size),
        n_models=votes.k,
        n_voters=len(ballot.voters),
        n_prompts=len(ballot.prompts),
        n_without_winner=ballot.n_without,
        log_likelihood=fit.log_likelihood,
        log_loss=-fit.log_likelihood / float(total),
        base_log_loss=base,
        over=errors.over,
        prior=float(fit.spread[0]),
        prompt_sd=typical.sd,
        prompt_scale=scale if (scale := typical.scale) > 1.0 else None,
        rounds=fit.rounds,
        converged=fit.converged,
    )
