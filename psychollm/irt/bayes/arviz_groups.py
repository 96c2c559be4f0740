"""A Bayesian fit as ArviZ inference data, with either generation of ArviZ."""

from inspect import signature
from typing import Any

import numpy as np

from psychollm._base.optional import require
from psychollm._base.types import AnyArray
from psychollm.irt.bayes.predictive import replicates
from psychollm.irt.bayes.result import BayesianIRT

REPLICATES = 200
Group = dict[str, AnyArray]


def inference_data(fit: BayesianIRT) -> Any:
    """Return the groups of `BayesianIRT.to_arviz`.

    Raises
    ------
    MissingPackageError
        If ArviZ is not installed.
    """
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
