r"""Hierarchical M-ratio by quadrature instead of Markov chains, in about a second.

Let :math:`L_s(x)` be the profile likelihood of the log M-ratio of model s, maximised over d',
criterion and confidence criteria (`psychollm.kernels.meta_d_group`). If the log M-ratios
:math:`x_s` have the distribution :math:`N(\mu, \sigma)`, equation (1) gives the likelihood of the
group.

.. math:: L(\mu, \sigma) = \prod_s \int L_s(x) \, \varphi_{\mu, \sigma}(x) \, dx.        \quad (1)

The profile likelihoods are interpolated linearly between the points of a grid and are constant
beyond the ends of the grid. Each integral is therefore a weighted sum, with weights from
:math:`E(a - x)_+ = \sigma (z \Phi(z) + \varphi(z))`, :math:`z = (a - \mu)/\sigma`. The posterior
of :math:`(\mu, \sigma)` is computed on a coarse grid, and then on a finer grid around its
probability mass. The priors follow Fleming (2017). The prior of :math:`\mu` is N(0, 1), and
:math:`\sigma` is the product of a uniform variable on (0, 1) and a half-normal variable, with the
density in equation (2).

.. math:: p(\sigma) = E_1(\sigma^2/2) / \sqrt{2 \pi}.                                    \quad (2)

References
----------
Fleming, S. M. (2017). HMeta-d: hierarchical Bayesian estimation of metacognitive efficiency from
confidence ratings. Neuroscience of Consciousness, 2017, nix007. https://doi.org/10.1093/nc/nix007
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import exp1, logsumexp, ndtr

from psychollm._base.types import FloatArray
from psychollm.kernels.meta_d_group import LOG_L, MODE, VARIANCE, profile

_LOWEST, _HIGHEST = -5.0, 3.0  # range of log M; likelihoods are constant outside it
_POINTS_PER_SE = 8.0
_WIDEST_STEP = 0.02
_MOST_POINTS = 2000
_MU_POINTS, _SIGMA_POINTS = 61, 45
_CHUNK = 250


@dataclass(frozen=True, slots=True)
class Curves:
    """Profile likelihood of every model's log M-ratio on a common grid."""

    log_m: FloatArray  # (grid,)
    likelihood: FloatArray  # (models, grid) scaled to a maximum of one
    scale: FloatArray  # (models,) logarithm of the maximum likelihood
    d_prime: FloatArray  # (models, grid) maximum likelihood d' at each log M
    d_prime_se: FloatArray  # (models, grid)


@dataclass(frozen=True, slots=True)
class Draws:
    """Independent draws from the posterior."""

    mu: FloatArray  # (draws,)
    sigma: FloatArray  # (draws,)
    log_m: FloatArray  # (draws, models)
    d_prime: FloatArray  # (draws, models)
    log_evidence: float


def curves(tables: FloatArray, type_1: FloatArray, se: FloatArray, *, scaled: bool) -> Curves:
    """Return every model's profile likelihood of log M."""
    # Shapes: tables (models, 2 classes, 2 responses, ratings) of models with a defined M-ratio;
    # type_1 (models, 2) with d' and c; se (models,). The standard errors `se` of log M, NaN if M
    # is not positive, determine the step of the grid. With `scaled`, the criterion is multiplied
    # by M.
    finest = np.nanmin(se) / _POINTS_PER_SE if np.isfinite(se).any() else _WIDEST_STEP
    points = int(np.ceil((_HIGHEST - _LOWEST) / min(finest, _WIDEST_STEP)))
    log_m = np.linspace(_LOWEST, _HIGHEST, min(points, _MOST_POINTS) + 1)
    maxima = np.empty((tables.shape[0], log_m.size, 3))
    middle = int(np.argmin(np.abs(log_m)))
    for table, start, out in zip(tables, type_1, maxima, strict=True):
        profile(np.ascontiguousarray(table), start, scaled, log_m, middle, out)
    log_l = np.where(np.isfinite(maxima[:, :, LOG_L]), maxima[:, :, LOG_L], -np.inf)
    scale = log_l.max(axis=1)
    return Curves(
        log_m=log_m,
        likelihood=np.exp(log_l - scale[:, None]),
        scale=scale,
        d_prime=np.nan_to_num(maxima[:, :, MODE]),
        d_prime_se=np.sqrt(np.nan_to_num(maxima[:, :, VARIANCE])),
    )


def sample(profiles: Curves, n: int, generator: np.random.Generator) -> Draws:
    """Draw from the posterior of the group and its models."""
    sigma = np.geomspace(1e-3, 4.0, _SIGMA_POINTS)
    mu = np.linspace(-4.0, 3.0, _MU_POINTS)
    coarse = _posterior(profiles, mu, sigma)
    weight = np.exp(coarse - logsumexp(coarse)).sum(axis=1)
    centre = float(weight @ mu)
    spread = max(np.sqrt(weight @ (mu - centre) ** 2), mu[1] - mu[0])
    mu = np.linspace(centre - 6.0 * spread, centre + 6.0 * spread, _MU_POINTS)
    fine = _posterior(profiles, mu, sigma)
    total = float(logsumexp(fine))
    cell = generator.choice(fine.size, n, p=np.exp(fine - total).ravel())
    row, column = np.unravel_index(cell, fine.shape)
    steps = np.array([mu[1] - mu[0], np.log(sigma[1] / sigma[0])])
    jitter = (generator.random((n, 2)) - 0.5) * steps
    drawn_mu, drawn_sigma = mu[row] + jitter[:, 0], sigma[column] * np.exp(jitter[:, 1])
    log_m, d_prime = _models(profiles, drawn_mu, drawn_sigma, generator)
    return Draws(drawn_mu, drawn_sigma, log_m, d_prime, total + float(profiles.scale.sum()))


def _posterior(profiles: Curves, mu: FloatArray, sigma: FloatArray) -> FloatArray:
    """Return the log posterior mass of the cells of a grid (mu, sigma), up to a constant."""
    log_p = np.empty((mu.size, sigma.size))
    for column, width in enumerate(sigma):
        weights = _weights(profiles.log_m, mu, np.full(mu.size, width))
        with np.errstate(divide="ignore"):
            log_p[:, column] = np.log(weights @ profiles.likelihood.T).sum(axis=1)
    # Cells have equal width in log sigma, so their width in sigma is proportional to sigma.
    prior = np.log(exp1(0.5 * sigma**2) * sigma / np.sqrt(2.0 * np.pi))
    prior = prior + np.log(np.log(sigma[1] / sigma[0]) * (mu[1] - mu[0]))
    log_p += prior - 0.5 * (mu[:, None] ** 2 + np.log(2.0 * np.pi))
    return log_p


def _weights(grid: FloatArray, mu: FloatArray, sigma: FloatArray) -> FloatArray:
    """Return weights (n, grid) that integrate a piecewise linear function against N(mu, sigma)."""
    z = (grid - mu[:, None]) / sigma[:, None]
    below = sigma[:, None] * (z * ndtr(z) + np.exp(-0.5 * z**2) / np.sqrt(2.0 * np.pi))
    slopes = np.diff(below, axis=1) / np.diff(grid)
    weights = np.empty((mu.size, grid.size))
    weights[:, 0] = slopes[:, 0]
    weights[:, 1:-1] = np.diff(slopes, axis=1)
    weights[:, -1] = 1.0 - slopes[:, -1]
    return np.maximum(weights, 0.0)


def _models(
    profiles: Curves, mu: FloatArray, sigma: FloatArray, generator: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Draw every model's log M and d' given the group's parameters (draws, models)."""
    n, models = mu.size, profiles.likelihood.shape[0]
    log_m, d_prime = np.empty((n, models)), np.empty((n, models))
    step = profiles.log_m[1] - profiles.log_m[0]
    for low in range(0, n, _CHUNK):
        block = slice(low, low + _CHUNK)
        weights = _weights(profiles.log_m, mu[block], sigma[block])
        rows = np.arange(weights.shape[0])
        for model in range(models):
            summed = np.cumsum(weights * profiles.likelihood[model], axis=1)
            level = generator.random(rows.size) * summed[:, -1]
            node = (summed < level[:, None]).sum(axis=1)
            # Triangular deviations from the nodes correspond to linear interpolation between them.
            corner = generator.triangular(-step, 0.0, step, rows.size)
            log_m[block, model] = profiles.log_m[node] + corner
            noise = generator.standard_normal(rows.size) * profiles.d_prime_se[model, node]
            d_prime[block, model] = profiles.d_prime[model, node] + noise
    return log_m, d_prime
