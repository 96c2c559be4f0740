"""The hierarchical M-ratio as estimates: the group's, every model's, and how far to trust them."""

from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.convergence import Convergence
from psychollm._base.result import Result
from psychollm._base.types import BoolArray, FloatArray
from psychollm.calibration.two_choice.meta_d_fit import Fits
from psychollm.data.labels import Labels
from psychollm.data.simulate import MetaCriterion
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.posterior import (
    effective_size,
    posterior_estimate,
    r_hat,
)
from psychollm.estimates.reasons import Reason

Method: TypeAlias = Literal["quadrature", "nuts"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HierarchicalMetaD(Result):
    """The group's M-ratio and its models', from one posterior.

    Values are posterior means, standard errors posterior standard deviations, intervals the
    shortest of their level; `Estimate.difference` of two models uses the joint draws.

    Examples
    --------
    >>> from psychollm.calibration import hierarchical_meta_d_from_counts
    >>> counts = [[50, 30, 20, 10], [45, 35, 15, 15]], [[10, 15, 30, 60], [12, 18, 25, 50]]
    >>> hierarchical_meta_d_from_counts(*counts, n_draws=500, rng=0).parameters
    ('mean', 'spread', 0, 1)
    """

    log_m_ratio: Estimate  # mean of the group's log M-ratios
    spread: Estimate  # their standard deviation
    group_m_ratio: Estimate  # exp of the mean: the M-ratio of the median model
    m_ratio: Estimate  # (models,)
    d_prime: Estimate  # (models,)
    median: FloatArray  # (models,) posterior medians of the M-ratio
    parameters: tuple[Any, ...]  # "mean", "spread" and the models: what follows is about
    r_hat: FloatArray  # (parameters,) NaN where draws are independent
    effective_size: FloatArray  # (parameters,)
    mcse: FloatArray  # (parameters,) Monte Carlo standard errors of the values of log M-ratios
    method: Method
    meta_c: MetaCriterion
    convergence: Convergence
    labels: Labels  # (models,)

    _AXES = Axes({}, "*=m_ratio", "median", "d_prime=d_prime.value")

    def summary(self) -> str:
        """Return what the group's posterior says, in sentences."""
        if not np.isfinite(self.group_m_ratio.value[0]):
            return f"No group M-ratio: {self.group_m_ratio.flags[0]}."
        counted = int(np.isfinite(self.m_ratio.value).sum())
        text = (
            f"The M-ratio of the group is {self.group_m_ratio.text()} "
            f"({counted} models; standard deviation of log M-ratios "
            f"{self.spread.value[0]:.2f})."
        )
        return text if self.convergence.converged else f"{text} {self.convergence.reason}."


@dataclass(frozen=True, slots=True)
class Sampled:
    """Draws of both methods in one shape, and how they came about."""

    mu: FloatArray  # (chains, draws)
    sigma: FloatArray  # (chains, draws)
    log_m: FloatArray  # (chains, draws, models)
    d_prime: FloatArray  # (chains, draws, models)
    convergence: Convergence


def nothing() -> Sampled:
    """Return draws of no model: fewer than two have an M-ratio."""
    ended = Convergence(
        converged=False, iterations=0, reason="too few models", objective=float("nan")
    )
    return Sampled(
        np.full((1, 2), np.nan),
        np.full((1, 2), np.nan),
        np.empty((1, 2, 0)),
        np.empty((1, 2, 0)),
        ended,
    )


def assemble(
    sampled: Sampled,
    fits: Fits,
    usable: BoolArray,
    labels: Labels,
    *,
    method: Method,
    level: float,
) -> HierarchicalMetaD:
    """Return draws of the `usable` models as a result about all of them."""
    mu, sigma = sampled.mu.reshape(-1, 1), sampled.sigma.reshape(-1, 1)
    chained = np.full((*sampled.mu.shape, 2 + usable.size), np.nan)
    chained[:, :, 0], chained[:, :, 1] = sampled.mu, sampled.sigma
    chained[:, :, 2:][:, :, usable] = sampled.log_m
    d_prime = np.full((mu.size, usable.size), np.nan)
    d_prime[:, usable] = sampled.d_prime.reshape(mu.size, -1)
    ratio = np.exp(chained[:, :, 2:].reshape(mu.size, -1))
    trust = _trust(chained)
    return HierarchicalMetaD(
        **_group_estimates(mu, sigma, int(usable.sum()), level),
        **_model_estimates(ratio, d_prime, fits, usable, labels, level),
        median=np.median(ratio, axis=0),
        parameters=("mean", "spread", *labels),
        r_hat=trust[:, 0],
        effective_size=trust[:, 1],
        mcse=trust[:, 2],
        method=method,
        meta_c="scaled" if fits.scaled else "fixed",
        convergence=sampled.convergence,
        labels=labels,
    )


def _group_estimates(
    mu: FloatArray, sigma: FloatArray, models: int, level: float
) -> dict[str, Estimate]:
    flag = Reason.NONE if models > 1 else Reason.TOO_FEW
    named = {
        "log_m_ratio": ("mean log M-ratio", mu),
        "spread": ("SD of log M-ratios", sigma),
        "group_m_ratio": ("M-ratio of the group", np.exp(mu)),
    }
    found = {
        field: posterior_estimate(
            name,
            draws,
            n=np.array([float(models)]),
            flags=(flag,),
            level=level,
            labels=("group",),
            axis="group",
        )
        for field, (name, draws) in named.items()
    }
    # The M-ratio at the mean of the logarithms, not the mean of M-ratios at all means.
    typical = np.exp(found["log_m_ratio"].value)
    found["group_m_ratio"] = replace(found["group_m_ratio"], value=typical)
    return found


def _model_estimates(
    ratio: FloatArray,
    d_prime: FloatArray,
    fits: Fits,
    usable: BoolArray,
    labels: Labels,
    level: float,
) -> dict[str, Estimate]:
    own = fits.reasons()[3]
    flags = tuple(
        reason if reason else (Reason.NONE if known else Reason.TOO_FEW)
        for reason, known in zip(own, usable, strict=True)
    )
    n = fits.tables.sum(axis=(1, 2, 3))
    return {
        field: posterior_estimate(name, draws, n=n, flags=flags, level=level, labels=labels)
        for field, name, draws in (("m_ratio", "M-ratio", ratio), ("d_prime", "d'", d_prime))
    }


def _trust(chained: FloatArray) -> FloatArray:
    """Return R-hat, effective size and Monte Carlo error per parameter (parameters, 3)."""
    found = np.full((chained.shape[2], 3), np.nan)
    for i in np.flatnonzero(np.isfinite(chained).all(axis=(0, 1))):
        draws = chained[:, :, i]
        if len(draws) > 1:
            found[i, :2] = r_hat(draws), effective_size(draws)
        else:
            found[i, 1] = draws.size
        found[i, 2] = draws.std(ddof=1) / np.sqrt(found[i, 1])
    return found
