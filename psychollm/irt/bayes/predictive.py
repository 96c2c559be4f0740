"""Predictive checks: answers drawn from the prior or the posterior beside those seen.

New respondents are drawn from their families, answer the items of one draw, and leave missing what
was missing. Compared are the share of yes of each item, its correlation with the rest, the
standard deviation of respondents' shares of yes and, with up to a hundred items, how far all
covariances of pairs lie from those of the replicates on average: second dimensions show there. A
posterior predictive p value near 0 or 1 says that the model does not make data like these; as it
uses the data twice, it is conservative.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from inspect import signature
from typing import Any, Literal, TypeAlias

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import check_choice, check_count, check_generator
from psychollm._base.optional import require
from psychollm._base.result import Result
from psychollm._base.types import AnyArray, BoolArray, FloatArray, IntArray, RandomState
from psychollm.irt.bayes.result import BayesianIRT
from psychollm.irt.bayes.target import Target
from psychollm.irt.families import Link
from psychollm.kernels.response_models import distribution

Kind: TypeAlias = Literal["posterior", "prior"]
MIDDLE = (0.025, 0.975)
MOST_PAIRED = 100  # items whose pairs are looked at


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class PredictiveCheck(Result):
    """Statistics of the answers beside those of replicated answers.

    Attributes
    ----------
    statistic : tuple of str
        "yes_rate" and "rest_correlation" of each item, "spread" of shares of yes, and
        "pair_misfit": root mean square of the covariances' standardised deviations.
    item : tuple
        Labels of the items; None for the last two.
    observed, mean : ndarray of shape (statistics,)
        Of the answers, and on average over replicates.
    interval : ndarray of shape (statistics, 2)
        Middle 95 % of the replicates.
    p_value : ndarray of shape (statistics,)
        Share of replicates at least as large as the answers' value, ties half.
    kind : {"posterior", "prior"}
        Where parameters were drawn from.
    n : int
        Replicates.
    """

    statistic: tuple[str, ...]
    item: tuple[object, ...]
    observed: FloatArray
    mean: FloatArray
    interval: FloatArray
    p_value: FloatArray
    kind: Kind
    n: int

    _AXES = Axes({}, "statistic", "item", "observed", "mean", "{bound}=interval", "p_value")

    def summary(self) -> str:
        """Return how many statistics lie outside their range, in one sentence."""
        outside = (self.observed < self.interval[:, 0]) | (self.observed > self.interval[:, 1])
        named = [
            f"{name} of {item!r}" if item is not None else name
            for name, item, out in zip(self.statistic, self.item, outside, strict=True)
            if out
        ]
        shown = ": " + ", ".join(named[:6]) + (", ..." if len(named) > 6 else "") if named else ""
        return (
            f"{len(named)} of {len(self.statistic)} statistics lie outside the middle 95 % of "
            f"{self.n} {self.kind} replicates{shown}."
        )


def predictive_check(
    fit: BayesianIRT, *, kind: Kind = "posterior", n: int = 400, rng: RandomState = None
) -> PredictiveCheck:
    """Compare the answers with answers drawn from the prior or the posterior.

    Parameters
    ----------
    fit : BayesianIRT
        What `bayesian_2pl` returns.
    kind : {"posterior", "prior"}
        Where parameters are drawn from.
    n : int
        Replicates.
    rng : Generator, int or None
        Source of randomness.

    Raises
    ------
    OptionError
        If an option does not exist.

    Examples
    --------
    >>> from psychollm.irt.bayes.bayesian import bayesian_2pl
    >>> answers = np.random.default_rng(1).random((200, 4)) < [0.2, 0.4, 0.6, 0.7]
    >>> predictive_check(bayesian_2pl(answers, n_draws=200, rng=0), n=50, rng=0).observed.shape
    (10,)
    """
    check_choice("kind", kind, Kind)
    check_count("n", n)
    target = fit._target
    codes = target.answers.codes[target.answers.of_respondent]
    made = [codes, *replicates(fit, kind, n, check_generator(rng))]
    table = np.array([_statistics(answers, codes >= 0) for answers in made])
    table = np.column_stack([table, _pair_misfit(made)])
    observed, table = table[0], table[1:]
    items = [label for label, kept in zip(fit.labels, fit.fitted, strict=True) if kept]
    above = (table > observed).mean(axis=0) + 0.5 * (table == observed).mean(axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a statistic that no replicate has
        mean, interval = np.nanmean(table, axis=0), np.nanquantile(table, MIDDLE, axis=0).T
    return PredictiveCheck(
        statistic=(
            *("yes_rate",) * len(items),
            *("rest_correlation",) * len(items),
            "spread",
            "pair_misfit",
        ),
        item=(*items, *items, None, None),
        observed=observed,
        mean=mean,
        interval=interval,
        p_value=np.where(np.isfinite(mean), above, np.nan),
        kind=kind,
        n=n,
    )


def replicates(
    fit: BayesianIRT, kind: Kind, n: int, rng: np.random.Generator
) -> Iterator[IntArray]:
    """Yield tables of answers (respondents, fitted items) of new respondents, -1 where missing."""
    target = fit._target
    if kind == "prior":
        x, _ = target.structure.draw(n, rng)
    else:
        drawn = fit._sampled.flat()[0]
        x = drawn[rng.integers(len(drawn), size=n)]
    missing = target.answers.codes[target.answers.of_respondent] < 0
    for parts in zip(*target.split(x), strict=True):
        ability = rng.normal(size=target.families.of.size) + parts[2][target.families.of]
        yield answers_at(target, ability, (parts[0], parts[1]), missing, rng)


def answers_at(
    target: Target,
    ability: FloatArray,
    items: tuple[FloatArray, FloatArray],
    missing: BoolArray,
    rng: np.random.Generator,
) -> IntArray:
    """Return answers (N, J) of respondents of given abilities to items (slopes, intercepts)."""
    link: Link = target.link
    yes = distribution(np.outer(ability, items[0]) + items[1], link)[0]
    answers = (rng.random(yes.shape) < yes).astype(np.int64)
    answers[missing] = -1
    return answers


def _pair_misfit(tables: list[IntArray]) -> FloatArray:
    """Return how far covariances lie from those of all tables but the first, NaN if too many."""
    items = tables[0].shape[1]
    if not 1 < items <= MOST_PAIRED:
        return np.full(len(tables), np.nan)
    upper = np.triu_indices(items, 1)
    found = np.empty((len(tables), upper[0].size))
    for k, codes in enumerate(tables):
        use = (codes >= 0).astype(np.float64)
        rate = (codes * use).sum(axis=0) / np.maximum(use.sum(axis=0), 1.0)
        gap = (codes - rate) * use
        found[k] = ((gap.T @ gap) / np.maximum(use.T @ use, 1.0))[upper]
    deviation = found - found[1:].mean(axis=0)
    share = deviation**2 / np.maximum(found[1:].var(axis=0), 1e-12)
    return np.asarray(np.sqrt(share.mean(axis=1)), dtype=np.float64)


def _statistics(codes: IntArray, answered: BoolArray) -> FloatArray:
    """Return share of yes (J,), correlation with the rest (J,), spread of respondents' shares."""
    yes = np.where(answered, codes, 0).astype(np.float64)
    n, total = answered.sum(axis=0), yes.sum(axis=1, keepdims=True)
    size = answered.sum(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        rate = yes.sum(axis=0) / n
        rest = (total - yes) / (size - answered)
        use = answered & np.isfinite(rest)
        rest = np.where(use, rest, 0.0)
        count = use.sum(axis=0)
        gap = np.where(use, rest - rest.sum(axis=0) / count, 0.0)
        own = np.where(use, yes - (yes * use).sum(axis=0) / count, 0.0)
        product = (gap * own).sum(axis=0)
        correlation = product / np.sqrt((gap**2).sum(axis=0) * (own**2).sum(axis=0))
        share = (total / size)[size > 0]
    return np.concatenate([rate, correlation, [share.std()]])


REPLICATES = 200
Group = dict[str, AnyArray]


def inference_data(fit: BayesianIRT) -> Any:
    """Return the groups of `BayesianIRT.to_arviz`."""
    arviz = require("arviz", extra="bayes", purpose="to_arviz()")
    groups, dims = _groups(fit)
    coords: dict[str, list[Any]] = {
        "item": [label for label, kept in zip(fit.labels, fit.fitted, strict=True) if kept],
        "respondent": list(fit.respondent_labels),
        "family": list(fit.family_labels),
        "domain": list(fit.domain_labels),
    }
    used = {name for names in dims.values() for name in names}
    coords = {name: labels for name, labels in coords.items() if name in used}
    # ArviZ 1 takes all groups in one dictionary, ArviZ 0 one argument each.
    if "posterior" in signature(arviz.from_dict).parameters:
        return arviz.from_dict(**groups, coords=coords, dims=dims)
    return arviz.from_dict(groups, coords=coords, dims=dims)


def _groups(fit: BayesianIRT) -> tuple[dict[str, Group], dict[str, list[str]]]:
    """Return the arrays of each group, chains and draws first, and the names of further axes."""
    target, sampled = fit._target, fit._sampled
    chains = sampled.x.shape[:2]
    flat = sampled.flat()[0]
    pointwise = target.pattern_log_likelihood(flat)[:, target.answers.of_respondent]
    rng = np.random.default_rng(0)
    prior_x, prior_h = target.structure.draw(REPLICATES, rng)
    codes = target.answers.codes[target.answers.of_respondent]
    made = {kind: _replicated(fit, kind, rng) for kind in ("posterior", "prior")}
    groups: dict[str, Group] = {
        "posterior": _variables(fit, flat, sampled.h.reshape(len(flat), -1), chains),
        "sample_stats": {"log_likelihood_sum": pointwise.sum(axis=1).reshape(chains)},
        "log_likelihood": {"responses": pointwise.reshape(*chains, -1)},
        "posterior_predictive": {"ability": sampled.ability, "replicated": made["posterior"]},
        "prior": _variables(fit, prior_x, prior_h, (1, REPLICATES)),
        "prior_predictive": {"replicated": made["prior"]},
        "observed_data": {"answers": codes},
    }
    dims = {name: ["item"] for name in ("slope", "intercept")}
    dims |= {"family_mean": ["family"]} if fit.family_labels else {}
    dims |= {f"domain_{k}": ["domain"] for k in ("slope", "intercept") if fit.domain_labels}
    dims |= {"responses": ["respondent"], "ability": ["respondent"]}
    dims |= {"replicated": ["respondent", "item"], "answers": ["respondent", "item"]}
    return groups, dims


def _replicated(fit: BayesianIRT, kind: Any, rng: np.random.Generator) -> AnyArray:
    """Return replicated answers (1, n, N, J)."""
    return np.array(list(replicates(fit, kind, REPLICATES, rng)), dtype=np.int8)[None]


def _variables(
    fit: BayesianIRT, x: AnyArray, h: AnyArray, chains: tuple[int, ...]
) -> dict[str, AnyArray]:
    """Return the parameters by name, from draws of x (S, P) and h (S, H)."""
    target = fit._target
    slope, intercept, mean = target.split(x)
    found = {"slope": slope, "intercept": intercept}
    if fit.family_labels:
        found["family_mean"] = mean
    n = len(fit.domain_labels)
    for kind, name in enumerate(("slope", "intercept") if n else ()):
        start = target.n_likelihood + kind * (n + 1)
        found[f"grand_{name}"] = x[:, start]
        found[f"domain_{name}"] = x[:, start + 1 : start + 1 + n]
    found |= {name: np.exp(h[:, k]) for k, name in enumerate(target.structure.names)}
    return {name: draws.reshape(*chains, *draws.shape[1:]) for name, draws in found.items()}
