r"""Extrapolate to more attempts at the same questions with a beta-binomial model.

A model's success probabilities :math:`p_q` over questions follow a beta distribution with
parameters a and b, so its successes s in n attempts are beta-binomial. The posterior of (a, b) is
computed on a grid of means and concentrations, with a flat prior on the grid. Given (a, b), a
success probability has the posterior distribution

.. math:: p_q \mid s_q \sim \mathrm{Beta}(a + s_q, \; b + n_q - s_q).                     \quad (1)

One draw consists of the parameters (a, b), the success probabilities, and the simulated results of
further attempts up to the k-th. Each draw gives one value of pass@k and of pass^k; the intervals
are quantiles of these values. The intervals predict further attempts at the same questions.
Intervals for other questions from the population would be wider.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import betaln, expit

from psychollm._base.axes import Axes
from psychollm._base.result import Result
from psychollm._base.types import FloatArray
from psychollm.data.labels import Labels
from psychollm.estimates.reasons import Reason
from psychollm.studies.attempts.closed_forms import QUANTITIES

_MEANS = expit(np.linspace(-6.0, 6.0, 61))
_CONCENTRATIONS = np.exp(np.linspace(np.log(0.01), np.log(100.0), 50))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Foretold(Result):
    """Model-based predictions for k attempts at the same questions: see `Attempts.foretell`."""

    model: Labels  # (rows,)
    quantity: tuple[str, ...]  # (rows,) "pass@k" or "pass^k"
    k: tuple[int, ...]  # (rows,)
    value: FloatArray  # (rows,) expected value
    interval: FloatArray  # (rows, 2) prediction interval
    flags: tuple[Reason, ...]  # (rows,)
    level: float

    _AXES = Axes({"model": "model"}, "quantity", "k", "value", "{bound}=interval", "flag=flags")


def foretold(
    successes: FloatArray,
    trials: FloatArray,
    k: int,
    *,
    level: float,
    n_draws: int,
    source: np.random.Generator,
) -> tuple[FloatArray, FloatArray]:
    """Return expected values (quantities,) and intervals (quantities, 2) for one model."""
    if (trials >= k).all():
        known = np.array([quantity.of(successes, trials, k).mean() for quantity in QUANTITIES])
        return known, np.stack([known, known], axis=1)
    a, b, weight = _posterior(successes, trials)
    drawn = source.choice(weight.size, n_draws, p=weight)
    p = source.beta(a[drawn, None] + successes, b[drawn, None] + trials - successes)
    made = trials >= k
    to_come = np.where(made, 0, k - trials).astype(np.int64)
    total = successes + source.binomial(to_come, p)
    n = np.maximum(trials, k)
    values, bounds = [], []
    # Means over questions are discrete; without jitter, intervals can be too wide by a whole step.
    jitter = (source.random(n_draws) - 0.5) * (~made).sum() / len(trials) ** 2
    for quantity in QUANTITIES:
        draws = quantity.of(total, n, k).mean(axis=1)
        values.append(draws.mean())
        bounds.append(np.quantile(draws + jitter, [0.5 - 0.5 * level, 0.5 + 0.5 * level]))
    return np.array(values), np.clip(bounds, 0.0, 1.0)


def _posterior(
    successes: FloatArray, trials: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the grid of (a, b) and the posterior weight of each point."""
    mean, concentration = np.meshgrid(_MEANS, _CONCENTRATIONS)
    a, b = (mean * concentration).ravel(), ((1.0 - mean) * concentration).ravel()
    kinds, times = np.unique(np.stack([successes, trials]), axis=1, return_counts=True)
    log_likelihood = np.zeros(a.size)
    for (s, n), count in zip(kinds.T, times, strict=True):
        log_likelihood += count * (betaln(a + s, b + n - s) - betaln(a, b))
    weight = np.exp(log_likelihood - log_likelihood.max())
    return a, b, weight / weight.sum()
