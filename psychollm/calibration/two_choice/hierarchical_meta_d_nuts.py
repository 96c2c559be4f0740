r"""Hierarchical M-ratio by Hamiltonian Monte Carlo: Fleming's model in PyMC.

Equation (1) defines the hierarchical model for language model s, response r and stimulus class i.

.. math:: \text{responses} &\sim \text{Binomial}\big(\Phi(\pm d'_s/2 - c_s)\big), \qquad
          \text{ratings} \sim \text{Multinomial}\big(p(M_s d'_s, v_s, k_s)\big),           \\
          \log M_s &\sim N(\mu, \sigma), \quad d'_s \sim N(\mu_d, \sigma_d), \quad
          c_s \sim N(\mu_c, \sigma_c), \quad v_{srj} \sim N(\mu_v, \sigma_v)
          \text{ beyond the edge } k_s.                                                  \quad (1)

The confidence criteria v are ordered on the axis of each response. The prior of :math:`\mu` is
N(0, 1), and the prior of :math:`\sigma` is the product of a uniform variable on (0, 1) and a
half-normal variable. The means of the other parameters have N(0, 10) priors, and their standard
deviations have half-normal priors with scale 10.

References
----------
Fleming, S. M. (2017). HMeta-d: hierarchical Bayesian estimation of metacognitive efficiency from
confidence ratings. Neuroscience of Consciousness, 2017, nix007. https://doi.org/10.1093/nc/nix007
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from psychollm._base.optional import require
from psychollm._base.types import FloatArray
from psychollm.calibration.two_choice.meta_d_fit import fit_counts

_TINY = 1e-300


@dataclass(frozen=True, slots=True)
class Chains:
    """Posterior draws, with chains as the first axis."""

    mu: FloatArray  # (chains, draws)
    sigma: FloatArray  # (chains, draws)
    log_m: FloatArray  # (chains, draws, models)
    d_prime: FloatArray  # (chains, draws, models)
    divergences: int


def sample(
    tables: FloatArray,
    *,
    scaled: bool,
    n_draws: int,
    chains: int,
    tune: int,
    seed: int,
    cores: int,
    progress: bool,
) -> Chains:
    """Sample from the posterior with the No-U-Turn sampler."""
    # Shapes: tables (models, 2 classes, 2 responses, ratings).
    pm = require("pymc", extra="bayes", purpose='method="nuts"')
    with _model(pm, tables, scaled=scaled), _quiet():
        trace = pm.sample(
            draws=n_draws,
            tune=tune,
            chains=chains,
            cores=cores,
            random_seed=seed,
            target_accept=0.95,
            progressbar=progress,
            compute_convergence_checks=False,
        )
    posterior = trace["posterior"]
    return Chains(
        mu=np.asarray(posterior["mu"].values),
        sigma=np.asarray(posterior["sigma"].values),
        log_m=np.asarray(posterior["log_m"].values),
        d_prime=np.asarray(posterior["d_prime"].values),
        divergences=int(trace["sample_stats"]["diverging"].values.sum()),
    )


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence PyMC's log messages, because the result reports convergence."""
    logger = logging.getLogger("pymc")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


def _model(pm: Any, tables: FloatArray, *, scaled: bool) -> Any:
    """Return the hierarchical model as a PyMC model."""
    tensor = require("pytensor.tensor", extra="bayes", purpose='method="nuts"')
    start = _start(tables, scaled=scaled)
    models = tables.shape[0]
    with pm.Model() as model:
        mu = pm.Normal("mu", 0.0, 1.0, initval=-0.3)
        share, size = pm.Uniform("share", 0.0, 1.0), pm.HalfNormal("size", 1.0)
        sigma = pm.Deterministic("sigma", share * size)
        offset = pm.Normal("offset", 0.0, 1.0, shape=models, initval=np.zeros(models))
        log_m = pm.Deterministic("log_m", mu + sigma * offset)
        ratio = tensor.exp(log_m)
        d_prime = _group(pm, "d_prime", start.d_prime)
        c = _group(pm, "c", start.c)
        log_gaps = pm.Flat("log_gaps", shape=start.log_gaps.shape, initval=start.log_gaps)
        k = ratio * c if scaled else c
        edge = tensor.stack([-k, k], axis=1)  # (models, responses)
        cuts = edge[:, :, None] + tensor.cumsum(tensor.exp(log_gaps), axis=2)
        mean, width = _hyper(pm, "cuts", start.cuts)
        scores = -0.5 * ((cuts - mean) / width) ** 2 - tensor.log(width)
        beyond = _log_tail(tensor, (edge - mean) / width)
        pm.Potential("criteria", scores.sum() - cuts.shape[2] * beyond.sum() + log_gaps.sum())
        pm.Potential("responses", _responses(tensor, tables, d_prime, c))
        pm.Potential("ratings", _ratings(tensor, tables, ratio * d_prime, edge, cuts))
    return model


@dataclass(frozen=True, slots=True)
class _Start:
    """Starting values of the chains, from a separate fit to each model."""

    d_prime: FloatArray  # (models,)
    c: FloatArray  # (models,)
    log_gaps: FloatArray  # (models, 2 responses, ratings - 1)
    cuts: FloatArray  # (models, 2 responses, ratings - 1) on the axis of each response


def _start(tables: FloatArray, *, scaled: bool) -> _Start:
    # Counts are padded, so that unused ratings also have criteria.
    fits = fit_counts(tables, padding=True, meta_c="scaled" if scaled else "fixed")
    d_prime, c, edge = fits.outputs[:, 0], fits.outputs[:, 1], fits.outputs[:, -1]
    cuts = np.stack([-fits.criteria[:, 0, ::-1], fits.criteria[:, 1]], axis=1)
    edges = np.stack([-edge, edge], axis=1)
    gaps = np.diff(np.concatenate([edges[:, :, None], cuts], axis=2), axis=2)
    usable = np.isfinite(gaps).all(axis=(1, 2))
    gaps[~usable] = gaps[usable].mean(axis=0) if usable.any() else 0.5
    gaps = np.maximum(gaps, 0.02)
    start = np.stack([-c, c], axis=1)[:, :, None] + np.cumsum(gaps, axis=2)
    return _Start(d_prime, c, np.log(gaps), start)


def _hyper(pm: Any, name: str, values: FloatArray) -> tuple[Any, Any]:
    """Return variables for the mean and SD of a group, with starting values from `values`."""
    mean = pm.Normal(f"mean_{name}", 0.0, 10.0, initval=float(values.mean()))
    width = pm.HalfNormal(f"sd_{name}", 10.0, initval=max(float(values.std()), 0.05))
    return mean, width


def _group(pm: Any, name: str, values: FloatArray) -> Any:
    """Return a variable for a parameter that is normally distributed over models."""
    mean, width = _hyper(pm, name, values)
    return pm.Normal(name, mean, width, shape=values.shape, initval=values)


def _log_tail(tensor: Any, x: Any) -> Any:
    """Return the logarithm of P(X > x) for a standard normal X, accurate in the far tail."""
    scaled = x / np.sqrt(2.0)
    far = tensor.log(tensor.erfcx(tensor.maximum(scaled, 0.0))) - tensor.maximum(scaled, 0.0) ** 2
    near = tensor.log(tensor.erfc(tensor.minimum(scaled, 0.0)))
    return tensor.switch(scaled > 0.0, far, near) - np.log(2.0)


def _responses(tensor: Any, tables: FloatArray, d_prime: Any, c: Any) -> Any:
    """Return the log likelihood of the responses."""
    answers = tables.sum(axis=3)
    total = 0.0
    for stimulus, response in np.ndindex(2, 2):
        evidence = (stimulus - 0.5) * d_prime - c
        sign = 2.0 * response - 1.0
        total += (answers[:, stimulus, response] * _log_tail(tensor, -sign * evidence)).sum()
    return total


def _ratings(tensor: Any, tables: FloatArray, m: Any, edge: Any, cuts: Any) -> Any:
    """Return the log likelihood of the ratings given responses and classes."""
    right = np.stack([tables[:, i, i] for i in (0, 1)], axis=1)
    wrong = np.stack([tables[:, 1 - i, i] for i in (0, 1)], axis=1)
    lows = tensor.concatenate([edge[:, :, None], cuts], axis=2)
    total = 0.0
    for counts, sign in ((right, 0.5), (wrong, -0.5)):
        low = (lows - sign * m[:, None, None]) / np.sqrt(2.0)
        upper, lower = 0.5 * tensor.erfc(low), 0.5 * tensor.erfc(-low)
        above = tensor.concatenate([upper[:, :, 1:], tensor.zeros_like(upper[:, :, :1])], axis=2)
        below = tensor.concatenate([lower[:, :, 1:], tensor.ones_like(lower[:, :, :1])], axis=2)
        # Differences of probabilities are computed in the tail where both are small, which avoids
        # cancellation.
        chance = tensor.switch(low > 0.0, upper - above, below - lower)
        total += (counts * tensor.log(tensor.maximum(chance, _TINY))).sum()
        given = _log_tail(tensor, lows[:, :, 0] - sign * m[:, None])
        total -= (counts.sum(axis=2) * given).sum()
    return total
