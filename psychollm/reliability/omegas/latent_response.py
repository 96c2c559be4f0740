r"""Reliability of a sum of ordinal scores, computed under latent normal variables.

Each item i has a latent response that has the correlation :math:`\lambda_i` with the factor.
Thresholds divide the latent response into scores. Two parallel forms have only the factor in
common, so latent responses of different forms have correlations :math:`\lambda_i \lambda_j`.
`kernels.ordinal_covariance` computes covariances of scores from latent correlations. Green and
Yang's omega is the covariance of the total scores of two forms, divided by the variance of one
total score,

.. math:: \omega = \frac{\sum_{ij} \operatorname{cov}(x_i, x_j; \lambda_i \lambda_j)}{V}, \qquad
          V = \sum_{ij} \operatorname{cov}(x_i, x_j; r_{ij}).                             \quad (1)

The latent correlations :math:`r_{ij}` are observed or implied by the factor. Omega, equation (1),
is the reliability of the observed total score. The reliability of the unobserved latent responses
is

.. math:: \omega_y = \frac{(\sum_i \lambda_i)^2}{\sum_{ij} r_{ij}}, \qquad
          \alpha_y = \frac{k}{k - 1} \Big(1 - \frac{k}{\sum_{ij} r_{ij}}\Big), \qquad
          \text{AVE} = \frac1k \sum_i \lambda_i^2.                                        \quad (2)

The reliability of the latent responses is higher than omega, and does not apply to any observed
score.

References
----------
Green, S. B., & Yang, Y. (2009). Reliability of summed item scores using structural equation
modeling: An alternative to coefficient alpha. Psychometrika, 74, 155-167.
https://doi.org/10.1007/s11336-008-9099-3

Chalmers, R. P. (2018). On misconceptions and the limited usefulness of ordinal alpha. Educational
and Psychological Measurement, 78(6), 1056-1071. https://doi.org/10.1177/0013164417727036
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from psychollm._base.types import BoolArray, FloatArray
from psychollm.factor.exploratory.weighted import weighted_factor
from psychollm.kernels.correlate import (
    RULES,
    correlate_pairs,
    correlations,
    empty_outputs,
)
from psychollm.kernels.ordinal_covariance import score_covariances
from psychollm.kernels.pairwise_likelihood import (
    BOUND,
    CONVERGED,
    STALLED,
    fit_pairwise,
    pair_margins,
    start_loadings,
)
from psychollm.kernels.table_inference import standard_error_pairs
from psychollm.kernels.tetrachoric import thresholds_of

NUMBERS = ("total", "alpha", "latent", "latent_alpha", "average_variance")

# tolerances without starting values, and with a nearby solution as the start
_TOLERANCE, _NEAR = 1e-8, 1e-5
_MAX_STEPS = 500
_NEAR_ONE = 0.99
_OWN_MARGINS = False  # whether thresholds of each pair are estimated from its rows

Counts: TypeAlias = tuple[FloatArray, FloatArray, FloatArray]
Estimator: TypeAlias = Literal["pairwise", "dwls"]


def reliability_numbers(
    common: FloatArray, thresholds: FloatArray, correlation: FloatArray, variance: FloatArray
) -> FloatArray:
    """Return omega, alpha, latent omega, latent alpha and AVE of the given items (5,)."""
    k = np.float64(len(common))
    shared = np.empty(common.shape)
    score_covariances(thresholds, common, shared)
    total, latent_total = variance.sum(), correlation.sum()
    total = total if total > 0.0 else np.nan
    latent_total = latent_total if latent_total > 0.0 else np.nan
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = k / (k - 1.0)
        return np.array(
            [
                shared.sum() / total,
                spread * (1.0 - np.trace(variance) / total),
                common.sum() / latent_total,
                spread * (1.0 - k / latent_total),
                np.trace(common) / k,
            ]
        )


@dataclass(frozen=True, slots=True, eq=False)
class OneFactor:
    """One-factor solution for binary answers, from the pair counts of one resample."""

    loadings: FloatArray  # (k,) NaN for a zero-variance item
    thresholds: FloatArray  # (k,)
    converged: bool

    @property
    def varying(self) -> BoolArray:
        """Mask of the items with a loading (k,)."""
        return np.asarray(np.isfinite(self.loadings), dtype=np.bool_)

    @property
    def at_bound(self) -> bool:
        """Whether the loading of an item is estimated at its bound of 1."""
        return bool((np.abs(self.loadings[self.varying]) >= BOUND - 1e-6).any())


def count_pairs(values: FloatArray, weights: FloatArray) -> Counts:
    """Return numbers of rows (k, k): both yes; first yes and second answered; both answered."""
    answered = np.isfinite(values).astype(np.float64)
    yes = np.where(answered > 0.0, values, 0.0)
    weighted = (yes * weights[:, None]).T
    return weighted @ yes, weighted @ answered, (answered * weights[:, None]).T @ answered


def fit_one_factor(
    counts: Counts, estimator: Estimator = "pairwise", start: FloatArray | None = None
) -> OneFactor | None:
    """Fit one factor to pair counts; return None if fewer than three items have variance."""
    joint, yes, n = counts
    tau, rate = np.empty(joint.shape), np.empty(joint.shape)
    with np.errstate(invalid="ignore", divide="ignore"):
        pair_margins(yes, n, tau, rate)
    apart = ~np.eye(len(tau), dtype=np.bool_)
    together = (np.isfinite(tau) & apart).any(axis=1)
    varying = np.isfinite(np.diagonal(tau)) & together
    if varying.sum() < 3:
        return None
    first = np.empty(len(tau))
    if start is None:
        start_loadings(counts, tau, first)
    else:
        first[:] = np.clip(np.where(np.isfinite(start), start, 0.0), -_NEAR_ONE, _NEAR_ONE)
    if estimator == "dwls":
        loadings, converged = _weighted(counts, tau, first)
    else:
        tolerance = _TOLERANCE if start is None else _NEAR
        _, _, status = fit_pairwise(counts, tau, rate, first, tolerance, _MAX_STEPS)
        loadings, converged = first, status in (CONVERGED, STALLED)
    loadings = np.where(varying, loadings, np.nan)
    loadings *= -1.0 if np.nansum(loadings) < 0.0 else 1.0
    return OneFactor(loadings, np.where(varying, np.diagonal(tau), np.nan), converged)


def _weighted(counts: Counts, tau: FloatArray, loadings: FloatArray) -> tuple[FloatArray, bool]:
    """Fit tetrachoric correlations, each weighted by its precision."""
    joint, yes, n = counts
    own = np.diagonal(tau).copy()
    out = empty_outputs(*joint.shape)
    correlate_pairs((joint, yes, n), own, RULES["keep_margins"], _OWN_MARGINS, out)
    se, fixed = np.empty(joint.shape), np.empty(joint.shape)
    standard_error_pairs(out[:2], (yes, n), own, _OWN_MARGINS, (se, fixed))
    known = np.isfinite(se) & (se > 0.0) & np.isfinite(out[0])
    weights = np.where(known, 1.0 / np.where(known, se, 1.0) ** 2, 0.0)
    fit = weighted_factor(np.where(known, out[0], 0.0), weights, loadings)
    return fit.loadings, fit.converged


def latent_correlations(counts: Counts) -> FloatArray:
    """Return tetrachoric correlations, zero where undefined (k, k)."""
    _, yes, n = counts
    tau = thresholds_of(np.diagonal(yes).copy(), np.diagonal(n).copy())
    return correlations(counts, tau, RULES["keep_margins"], _OWN_MARGINS)


def observed_covariances(counts: Counts) -> FloatArray:
    """Return covariances of binary scores, each from the rows that answer both items (k, k)."""
    joint, yes, n = counts
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(joint / n - yes * yes.T / n**2, dtype=np.float64)
