r"""Estimates from posterior draws, with shortest intervals and convergence diagnostics.

Split :math:`\hat R` compares the variance between and within the halves of all chains. The
effective sample size is computed from the sum of autocorrelations up to the first pair with a
negative sum (Geyer's monotone sequence). Both diagnostics are computed from normal scores of the
ranks of the draws.

References
----------
Vehtari, A., Gelman, A., Simpson, D., Carpenter, B., & Bürkner, P.-C. (2021). Rank-normalization,
folding, and localization: an improved R-hat for assessing convergence of MCMC. Bayesian Analysis,
16, 667-718. https://doi.org/10.1214/20-BA1221
"""

from typing import Any

import numpy as np
from scipy.special import ndtri

from psychollm._base.ranks import midranks
from psychollm._base.types import FloatArray
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.reasons import Reason


def shortest_interval(draws: FloatArray, level: float) -> FloatArray:
    """Return the shortest interval (k, 2) that contains a proportion `level` of draws (n, k)."""
    ordered = np.sort(draws, axis=0)
    inside = min(max(int(np.ceil(level * len(draws))), 1), len(draws))
    lows, highs = ordered[: len(draws) - inside + 1], ordered[inside - 1 :]
    best = (highs - lows).argmin(axis=0)
    columns = np.arange(draws.shape[1])
    return np.stack([lows[best, columns], highs[best, columns]], axis=1)


def posterior_estimate(
    name: str,
    draws: FloatArray,
    *,
    n: FloatArray,
    flags: tuple[Reason, ...],
    level: float,
    labels: tuple[Any, ...],
    axis: str = "model",
) -> Estimate:
    """Return posterior means with standard deviations and shortest intervals."""
    return Estimate(
        name=name,
        value=draws.mean(axis=0),
        se=draws.std(axis=0, ddof=1),
        interval=shortest_interval(draws, level),
        n=n,
        flags=flags,
        method="posterior, shortest interval",
        level=level,
        labels=labels,
        axis=axis,
        _draws=draws,
    )


def r_hat(chains: FloatArray) -> float:
    """Return the rank-normalised split R-hat of draws (chains, draws)."""
    bulk = _ratio(_normal_scores(_split(chains)))
    folded = np.abs(chains - np.median(chains))
    return max(bulk, _ratio(_normal_scores(_split(folded))))


def effective_size(chains: FloatArray) -> float:
    """Return the effective sample size of draws (chains, draws)."""
    scores = _normal_scores(_split(chains))
    m, n = scores.shape
    within, total = _variances(scores)
    if not total > 0.0:
        return float("nan")
    covariance = _autocovariance(scores).mean(axis=0)
    rho = 1.0 - (within - covariance * n / (n - 1)) / total
    rho[0] = 1.0
    pairs = rho[: n // 2 * 2].reshape(-1, 2).sum(axis=1)
    stop = np.flatnonzero(pairs <= 0.0)
    kept = np.minimum.accumulate(pairs[: stop[0] if stop.size else pairs.size])
    tau = max(2.0 * kept.sum() - 1.0, 1.0 / np.log10(m * n))
    return float(m * n / tau)


def _split(chains: FloatArray) -> FloatArray:
    half = chains.shape[1] // 2
    return np.concatenate([chains[:, :half], chains[:, -half:]])


def _normal_scores(values: FloatArray) -> FloatArray:
    scores = ndtri((midranks(values) - 0.375) / (values.size + 0.25))
    return np.asarray(scores.reshape(values.shape))


def _variances(chains: FloatArray) -> tuple[float, float]:
    """Return the variance within chains, and the estimated variance of all draws."""
    n = chains.shape[1]
    within = float(chains.var(axis=1, ddof=1).mean())
    between = float(chains.mean(axis=1).var(ddof=1))
    return within, within * (n - 1) / n + between


def _ratio(chains: FloatArray) -> float:
    within, total = _variances(chains)
    return float(np.sqrt(total / within)) if within > 0.0 else float("nan")


def _autocovariance(chains: FloatArray) -> FloatArray:
    """Return autocovariances (chains, lags) by the fast Fourier transform."""
    n = chains.shape[1]
    centred = chains - chains.mean(axis=1, keepdims=True)
    spectrum = np.fft.rfft(centred, 2 * n, axis=1)
    return np.asarray(np.fft.irfft(np.abs(spectrum) ** 2, axis=1)[:, :n] / n)
