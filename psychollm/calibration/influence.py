r"""Standard errors and intervals from the influence of each answer.

Let the statistic :math:`\theta` be a function of the numbers of correct and wrong answers at each
score. To first order, the sampling variance of the statistic is a sum over single answers i.

.. math:: \sum_i \Big(\frac{\partial \theta}{\partial n_i}
          - \overline{\frac{\partial \theta}{\partial n}}\Big)^2.                       \quad (1)

With clustered or weighted questions, sums over clusters replace the terms of single answers.
Cluster sums are independent, whatever the dependence within clusters (Liang & Zeger).
`estimates.clustered` corrects for small numbers of clusters. If there are weights but no clusters,
each question is a cluster. The standard error is the square root of the sampling variance. A small
number of errors, like a small number of clusters, limits the precision of statistics that compare
wrong with correct answers. For intervals, the variance is therefore also computed separately from
correct and from wrong answers, with the degrees of freedom of Welch and Satterthwaite. The
interval uses the larger variance and the smaller degrees of freedom. The interval is symmetric on
a scale on which the statistic is nearly normal, so that it does not exceed the bounds of the
statistic:

* ``"log odds"`` for areas and F-scores, ``"Fisher z"`` for coefficients between -1 and 1;
* ``"proportion"``: Wilson's interval, with the number of trials from the variance in equation (1);
* ``"log"`` for positive statistics, ``"real"`` for unbounded ones.

If the value of a statistic is at a bound, its variance is zero, and the caller provides the number
of trials of Wilson's interval.

References
----------
Liang, K.-Y., & Zeger, S. L. (1986). Longitudinal data analysis using generalized linear models.
Biometrika, 73, 13-22. https://doi.org/10.1093/biomet/73.1.13
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from scipy.special import stdtrit

from psychollm._base.types import FloatArray
from psychollm.calibration.tally import Tally
from psychollm.estimates.clustered import (
    corrected_sums,
    satterthwaite,
    skewed_freedom,
    tail_freedom,
)
from psychollm.estimates.intervals import normal_multiplier, wilson

_FEW_HOLD = 4.0  # minimum degrees of freedom of wrong and of correct answers


def cluster_sums(tally: Tally, scores: FloatArray) -> FloatArray:
    """Return weighted sums of scores over clusters; without clusters, the weighted scores."""
    # Shapes: scores (n, k); returns (clusters, k).
    weighted = tally.weight[:, None] * scores
    if tally.cluster is None:
        return weighted
    return np.stack([np.bincount(tally.cluster, column) for column in weighted.T], axis=1)


def cluster_shares(tally: Tally) -> FloatArray:
    """Return each cluster's (or question's) proportion of the total weight (clusters,)."""
    if not tally.n:
        return np.empty(0)
    sizes = cluster_sums(tally, np.ones((tally.n, 1)))[:, 0]
    return np.asarray(sizes / sizes.sum(), dtype=np.float64)


def in_few_clusters(tally: Tally) -> bool:
    """Return whether errors or correct answers are concentrated in a few clusters."""
    # If one answer in eleven is wrong, bootstrap intervals cover the true value in at least 93 %
    # of data sets above this limit of degrees of freedom, but only in 69 to 93 % below it
    # (validation/coverage_clusters.py).
    if tally.cluster is None:
        return False
    sizes = cluster_sums(tally, np.stack([tally.right, 1.0 - tally.right], axis=1)).T
    held = sizes[sizes.sum(axis=1) > 0.0]
    freedom = satterthwaite(held / held.sum(axis=1, keepdims=True))
    return not bool((freedom >= _FEW_HOLD).all())


def spread_of_sum(sums: FloatArray, shares: FloatArray) -> FloatArray:
    """Return the covariance of the total of cluster sums (clusters, k); NaN for one cluster."""
    corrected = corrected_sums(sums, shares[:, None])
    return np.asarray(corrected.T @ corrected, dtype=np.float64)


def student_multiplier(level: float, df: float) -> float:
    """Return the t quantile of a two-sided interval; NaN without degrees of freedom."""
    return float(stdtrit(df, 0.5 + 0.5 * level)) if df > 0 else float("nan")


def skew_allowance(growth: float, level: float) -> float:
    """Return the increase of an upper bound if the variance is `growth` times the true value."""
    # The variance of sums of squares and of information is proportional to their value, so it is
    # underestimated if the estimate is too small. The variance is constant on the scale of square
    # roots, which gives the bound (x^(1/2) + z growth^(1/2) / 2)^2.
    return 0.25 * normal_multiplier(level) ** 2 * growth


Scale: TypeAlias = Literal["log odds", "Fisher z", "proportion", "log", "real"]
# Influence of one additional correct answer, and of one additional wrong answer, on a statistic,
# at each score (groups,).
Gradient: TypeAlias = tuple[FloatArray, FloatArray]

_ZERO = 1e-20  # smaller variances are rounding errors


@dataclass(frozen=True, slots=True)
class Sandwich:
    """Variances of statistics and their degrees of freedom; NaN for one cluster."""

    variance: FloatArray  # (statistics,) variances by equation (1)
    apart: FloatArray  # (statistics,) variances from correct and wrong answers separately
    df: FloatArray  # (statistics,) degrees of freedom of intervals
    skewed: FloatArray  # (statistics,) degrees of freedom if few clusters cause skewness
    clusters: int  # number of clusters, or of answers without clusters

    @property
    def se(self) -> FloatArray:
        """Standard errors (statistics,)."""
        return np.sqrt(self.variance)

    @property
    def larger(self) -> FloatArray:
        """Larger of `variance` and `apart` for each statistic, used for intervals."""
        return np.maximum(self.variance, self.apart)


def sandwich(tally: Tally, gradients: Sequence[Gradient]) -> Sandwich:
    """Return the sampling variances of statistics of one model."""
    # Shapes: gradients (groups,).
    shares = cluster_shares(tally)
    right = tally.right[:, None]
    by_kind = [
        np.stack([gradient[kind][tally.group] for gradient in gradients], axis=1)
        for kind in (0, 1)
    ]
    scores = right * by_kind[0] + (1.0 - right) * by_kind[1]
    parts = [
        _of_kind(tally, own, counted)
        for own, counted in zip(by_kind, (right, 1.0 - right), strict=True)
    ]
    means = right * parts[0].mean + (1.0 - right) * parts[1].mean
    whole, between = (_corrected(tally, each, shares) for each in (scores, means))
    freedom = satterthwaite(shares)
    split = [parts[0].sums, parts[1].sums, between]
    spread = np.stack([(each**2).sum(axis=0) for each in split])
    degrees = np.array([parts[0].df, parts[1].df, freedom])[:, None]
    with np.errstate(invalid="ignore", divide="ignore"):
        apart = spread.sum(axis=0) ** 2 / (spread**2 / degrees).sum(axis=0)
    df, clustered = np.fmin(freedom, apart), tally.cluster is not None
    return Sandwich(
        variance=(whole**2).sum(axis=0),
        apart=(np.sum(split, axis=0) ** 2).sum(axis=0),
        df=np.fmin(df, tail_freedom(whole)) if clustered else df,
        skewed=np.fmin(df, skewed_freedom(whole)) if clustered else df,
        clusters=shares.size,
    )


@dataclass(frozen=True, slots=True)
class _Kind:
    """Contribution of either the correct or the wrong answers to the variance of statistics."""

    mean: FloatArray  # (statistics,) means of the scores
    sums: FloatArray  # (clusters, statistics) sums of deviations from the mean, corrected
    df: float


def _of_kind(tally: Tally, scores: FloatArray, counted: FloatArray) -> _Kind:
    """Compute the contribution of one class; `counted` (n, 1) is the weight of each answer."""
    sizes = cluster_sums(tally, counted)
    total = float(sizes.sum())
    if total <= 0.0:
        return _Kind(np.zeros(scores.shape[1]), np.zeros((len(sizes), scores.shape[1])), 1.0)
    mean = cluster_sums(tally, counted * scores).sum(axis=0) / total
    sums, shares = cluster_sums(tally, counted * (scores - mean)), sizes / total
    # Within a single cluster, the deviations sum to zero.
    corrected = np.where(shares < 1.0, corrected_sums(sums, shares), 0.0)
    df = float(satterthwaite(shares[:, 0]))
    return _Kind(mean, corrected, df if df > 0.0 else 1.0)


def _corrected(tally: Tally, scores: FloatArray, shares: FloatArray) -> FloatArray:
    centred = scores - (tally.weight @ scores) / tally.weight.sum()
    return corrected_sums(cluster_sums(tally, centred), shares[:, None])


def interval_on(
    scale: Scale,
    value: float,
    variance: float,
    *,
    trials: float,
    df: float = np.inf,
    level: float = 0.95,
) -> FloatArray:
    """Return the interval (2,) of a statistic from its variance, symmetric on the given scale."""
    # The interval is NaN if the value is NaN, or if the variance is zero on an unbounded scale.
    # `trials` is the number of trials of Wilson's interval for a value at a bound.
    multiplier = student_multiplier(level, df)
    if np.isnan(value) or np.isnan(multiplier):
        return np.full(2, np.nan)
    step = multiplier * np.sqrt(variance) * np.array([-1.0, 1.0])
    if scale in {"real", "log"} and not variance > _ZERO:
        return np.full(2, np.nan)
    if scale == "real":
        return np.asarray(value + step)
    if scale == "log":
        return np.asarray(value * np.exp(step / value)) if value > 0.0 else np.full(2, np.nan)
    if scale == "Fisher z":
        # Fisher's z of r is half the log odds of (1 + r) / 2.
        scale, value = "log odds", 0.5 + 0.5 * value
        bounds = _inside_unit(scale, value, 0.25 * variance, trials=trials, df=df, level=level)
        return 2.0 * bounds - 1.0
    return _inside_unit(scale, value, variance, trials=trials, df=df, level=level)


def delta_interval(
    tally: Tally, value: float, gradient: Gradient, scale: Scale, level: float
) -> tuple[FloatArray, FloatArray]:
    """Return the standard error (1,) and interval (1, 2) of one statistic."""
    errors = sandwich(tally, [gradient])
    variance, df = float(errors.larger[0]), float(errors.df[0])
    bounds = interval_on(scale, value, variance, trials=errors.clusters, df=df, level=level)
    return errors.se, bounds[None]


def _inside_unit(
    scale: Scale, value: float, variance: float, *, trials: float, df: float, level: float
) -> FloatArray:
    spread = value * (1.0 - value)
    inside = variance > _ZERO and spread > 1e-15
    if inside and scale == "log odds":
        reach = student_multiplier(level, df) * np.sqrt(variance) / spread
        step = reach * np.array([-1.0, 1.0])
        return np.asarray(1.0 / (1.0 + (1.0 - value) / value * np.exp(-step)))
    # This is the effective number of trials. A value that differs from a bound only by a rounding
    # error counts as equal to the bound.
    size = spread / variance if inside else trials
    return wilson(np.clip(value * size, 0.0, size), size, level=level, df=df)


def wilson_from_draws(
    value: FloatArray, draws: FloatArray, trials: FloatArray, *, level: float
) -> FloatArray:
    """Return Wilson intervals with the effective number of trials implied by the draws."""
    # Percentile intervals are too short for rates near 0 or 1, and have zero length at 0 or 1. The
    # number of trials follows from the binomial variance at the rate of the sample or the mean of
    # the draws, whichever is nearer to one half. Shapes: value (points,); draws (resamples,
    # points); trials (points,); returns (points, 2).
    defined = np.isfinite(draws).sum(axis=0) > 1
    variance, mean = np.zeros(value.shape), np.zeros(value.shape)
    variance[defined] = np.nanvar(draws[:, defined], axis=0, ddof=1)
    mean[defined] = np.clip(np.nanmean(draws[:, defined], axis=0), 0.0, 1.0)
    inside = value * (1.0 - value)
    spread = np.maximum(inside, mean * (1.0 - mean))
    varies = (spread > 0.0) & (variance > _ZERO)
    alike = np.where(varies, spread / np.where(varies, variance, 1.0), trials)
    trials = np.where(inside > 0.0, alike, np.minimum(alike, trials))
    return wilson(value * trials, trials, level=level)
