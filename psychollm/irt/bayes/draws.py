"""Draws of a Bayesian fit: replicated answers, and conversion to ArviZ."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import signature
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np

from psychollm._base.optional import require
from psychollm._base.types import AnyArray, BoolArray, FloatArray, IntArray
from psychollm.data.labels import Labels
from psychollm.irt.bayes.target import Target
from psychollm.irt.families import Link
from psychollm.kernels.response_models import distribution

Kind: TypeAlias = Literal["posterior", "prior"]


class Drawn(Protocol):
    """Labels and posterior draws of a fit."""

    @property
    def labels(self) -> Labels: ...  # noqa: D102
    @property
    def fitted(self) -> BoolArray: ...  # noqa: D102
    @property
    def respondent_labels(self) -> Labels: ...  # noqa: D102
    @property
    def family_labels(self) -> Labels: ...  # noqa: D102
    @property
    def domain_labels(self) -> Labels: ...  # noqa: D102
    @property
    def _target(self) -> Target: ...
    @property
    def _sampled(self) -> Any: ...


def replicates(fit: Drawn, kind: Kind, n: int, rng: np.random.Generator) -> Iterator[IntArray]:
    """Yield simulated answers (respondents, fitted items) of new respondents, -1 where missing."""
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
    """Return simulated answers (N, J) for given abilities, slopes and intercepts."""
    link: Link = target.link
    yes = distribution(np.outer(ability, items[0]) + items[1], link)[0]
    answers = (rng.random(yes.shape) < yes).astype(np.int64)
    answers[missing] = -1
    return answers


REPLICATES = 200
Group = dict[str, AnyArray]


def inference_data(fit: Drawn) -> Any:
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
    # ArviZ 1 accepts all groups in one dictionary, and ArviZ 0 as separate arguments.
    if "posterior" in signature(arviz.from_dict).parameters:
        return arviz.from_dict(**groups, coords=coords, dims=dims)
    return arviz.from_dict(groups, coords=coords, dims=dims)


def _groups(fit: Drawn) -> tuple[dict[str, Group], dict[str, list[str]]]:
    """Return the arrays of each group (chains, draws, ...), and the names of further axes."""
    target, sampled = fit._target, fit._sampled
    chains = sampled.x.shape[:2]
    flat = sampled.flat()[0]
    pointwise = target.pattern_log_likelihood(flat)[:, target.answers.of_respondent]
    rng = np.random.default_rng(0)
    prior_x, prior_h = target.structure.draw(REPLICATES, rng)
    codes = target.answers.codes[target.answers.of_respondent]
    made = {kind: _replicated(fit, kind, rng) for kind in ("posterior", "prior")}
    known = _variables(fit, flat, sampled.h.reshape(len(flat), -1), chains)
    groups: dict[str, Group] = {
        "posterior": {**known, "ability": sampled.ability},
        "sample_stats": {"log_likelihood_sum": pointwise.sum(axis=1).reshape(chains)},
        "log_likelihood": {"responses": pointwise.reshape(*chains, -1)},
        "posterior_predictive": {"replicated": made["posterior"]},
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


def _replicated(fit: Drawn, kind: Any, rng: np.random.Generator) -> AnyArray:
    """Return replicated answers (1, n, N, J)."""
    return np.array(list(replicates(fit, kind, REPLICATES, rng)), dtype=np.int8)[None]


def _variables(
    fit: Drawn, x: AnyArray, h: AnyArray, chains: tuple[int, ...]
) -> dict[str, AnyArray]:
    """Return the parameters by name, from draws of the vectors x (S, P) and h (S, H)."""
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
