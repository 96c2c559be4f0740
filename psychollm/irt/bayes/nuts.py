"""Chains of the No-U-Turn sampler of nutpie if installed, otherwise of PyMC."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from inspect import signature
from typing import Any

import numpy as np

from psychollm._base.optional import require
from psychollm._base.types import FloatArray
from psychollm.data.labels import Labels
from psychollm.irt.bayes.laplace import Mode, centring
from psychollm.irt.bayes.pymc_model import named, pymc_model, shared_values
from psychollm.irt.bayes.target import Target, contrasts

PURPOSE = 'bayesian_2pl(method="nuts")'
KEPT = 4  # number of compiled models in memory; the oldest is removed first
_compiled: dict[tuple[Any, ...], Any] = {}


@dataclass(frozen=True, slots=True)
class Chains:
    """Draws of the vectors x and h of the target density, with chains as the first axis."""

    x: FloatArray  # (chains, draws, P)
    h: FloatArray  # (chains, draws, H)
    divergences: int


@dataclass(frozen=True, slots=True)
class Run:
    """Settings of the sampler: draws, tuning, chains, cores, seed and target acceptance."""

    size: dict[str, int]
    target_accept: float
    progress: bool


def sample_nuts(target: Target, mode: Mode, labels: dict[str, Labels], run: Run) -> Chains:
    """Sample the model."""
    sampler = _nutpie if find_spec("nutpie") is not None else _pymc
    with _quiet():
        trace = sampler(target, centring(target, mode), labels, run)
    return Chains(
        x=_entries(trace["posterior"], target),
        h=_scales(trace["posterior"], target),
        divergences=int(np.asarray(trace["sample_stats"]["diverging"].values).sum()),
    )


def compiled_model(
    target: Target, centred: dict[str, FloatArray], labels: dict[str, Labels]
) -> Any:
    """Return the model compiled by nutpie, which is reused for tables of the same model."""
    nutpie = require("nutpie", extra="bayes", purpose=PURPOSE)
    key: tuple[Any, ...] = (target.n_items, target.families.n, target.domains.of.tobytes())
    key += (target.link, repr(target.priors))
    if key not in _compiled:
        while len(_compiled) >= KEPT:
            del _compiled[next(iter(_compiled))]
        _compiled[key] = nutpie.compile_pymc_model(pymc_model(target, centred, labels, "marginal"))
    return _compiled[key].with_data(**shared_values(target), **named(centred))


def _nutpie(
    target: Target, centred: dict[str, FloatArray], labels: dict[str, Labels], run: Run
) -> Any:
    """Sample with a low-rank plus diagonal mass matrix, because items are correlated."""
    nutpie = require("nutpie", extra="bayes", purpose=PURPOSE)
    # name of the option up to nutpie 0.16.8
    low_rank: dict[str, Any] = {"low_rank_modified_mass_matrix": True}
    if "adaptation" in signature(nutpie.sample).parameters:
        low_rank = {"adaptation": "low_rank"}
    return nutpie.sample(
        compiled_model(target, centred, labels),
        **run.size,
        **low_rank,
        progress_bar=run.progress,
        target_accept=run.target_accept,
    )


def _pymc(
    target: Target, centred: dict[str, FloatArray], labels: dict[str, Labels], run: Run
) -> Any:
    pm = require("pymc", extra="bayes", purpose=PURPOSE)
    size = run.size
    return pm.sample(
        draws=size["draws"],
        tune=size["tune"],
        chains=size["chains"],
        cores=size["cores"],
        random_seed=size["seed"],
        target_accept=run.target_accept,
        progressbar=run.progress,
        compute_convergence_checks=False,
        model=pymc_model(target, centred, labels, "marginal"),
    )


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence PyMC's log, because the result reports convergence."""
    logger = logging.getLogger("pymc")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


def _values(posterior: Any, name: str) -> FloatArray:
    return np.asarray(posterior[name].values, dtype=np.float64)


def _entries(posterior: Any, target: Target) -> FloatArray:
    """Return the draws of x (chains, draws, P) from the variables of the model."""
    slope = _values(posterior, "slope")
    parts = [np.log(slope) if target.priors.positive else slope, _values(posterior, "intercept")]
    if target.families.n > 1:
        parts.append(_values(posterior, "family_mean") @ contrasts(target.families.n))
    if target.domains.n > 1:
        for kind in ("slope", "intercept"):
            parts += [_values(posterior, f"grand_{kind}")[..., None]]
            parts += [_values(posterior, f"domain_{kind}")]
    return np.concatenate(parts, axis=2)


def _scales(posterior: Any, target: Target) -> FloatArray:
    """Return the draws of h (chains, draws, H) from the variables of the model."""
    names = target.structure.names
    if not names:
        return np.empty((*_values(posterior, "slope").shape[:2], 0))
    return np.log(np.stack([_values(posterior, name) for name in names], axis=2))
