r"""Intervals from derivatives: how far each answer moves a statistic, and on what scale.

A statistic :math:`\theta` of the numbers of correct and wrong answers at each score has, to first
order, the sampling variance

.. math:: \sum_i \Big(\frac{\partial \theta}{\partial n_i}
          - \overline{\frac{\partial \theta}{\partial n}}\Big)^2                        \quad (1)

over single answers i; sums over clusters take their place where questions are clustered, times
G / (G - 1) with G clusters, and t with G - 1 degrees of freedom. Intervals are symmetric on a
scale on which the statistic is nearly normal, so that they stay inside its bounds:

* ``"log odds"`` for areas and F-scores, ``"Fisher z"`` for coefficients between -1 and 1;
* ``"proportion"``: Wilson's interval with as many trials as would give the variance (1);
* ``"log"`` for what is positive, ``"real"`` for what has no bounds.

At a bound the variance is zero; there Wilson's interval is that of a given number of trials.
"""

from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np

from psychollm._base.types import FloatArray
from psychollm.calibration.sandwich import cluster_sums, spread_of_sum, student_multiplier
from psychollm.calibration.tally import Tally
from psychollm.estimates.proportions import wilson

Scale: TypeAlias = Literal["log odds", "Fisher z", "proportion", "log", "real"]
# What one correct, and one wrong, answer at each score adds to a statistic: (groups,) each.
Gradient: TypeAlias = tuple[FloatArray, FloatArray]

_ZERO = 1e-20  # below it a variance is a rounding error


def sandwich_variances(
    tally: Tally, gradients: Sequence[Gradient], level: float
) -> tuple[FloatArray, float, int]:
    """Return the variances (1) of statistics, a multiplier for their intervals, and G.

    Parameters
    ----------
    tally : Tally
        Of one model, weighted or clustered or neither.
    gradients : sequence of pairs of ndarray (groups,)
        Derivatives of each statistic by the number of correct and of wrong answers.
    level : float
        Coverage.

    Examples
    --------
    >>> from psychollm.calibration.stated import stated_answers
    >>> from psychollm.calibration.tally import tallies
    >>> tally = tallies(stated_answers([0.5, 0.6, 0.7, 0.8], [1, 0, 1, 0]))[0]
    >>> mean = (np.full(4, 0.25), np.zeros(4))
    >>> variance, multiplier, clusters = sandwich_variances(tally, [mean], 0.95)
    >>> variance.round(4), clusters
    (array([0.0833]), 4)
    """
    scores = np.stack([_by_answer(tally, gradient) for gradient in gradients], axis=1)
    scores -= (tally.weight @ scores) / tally.weight.sum()
    sums = cluster_sums(tally, scores)
    variances = np.array([spread_of_sum(column[:, None])[0, 0] for column in sums.T])
    return variances, student_multiplier(level, len(sums)), len(sums)


def _by_answer(tally: Tally, gradient: Gradient) -> FloatArray:
    by_correct, by_wrong = gradient[0][tally.group], gradient[1][tally.group]
    return np.asarray(tally.right * by_correct + (1.0 - tally.right) * by_wrong)


def interval_on(
    scale: Scale, value: float, variance: float, *, trials: float, multiplier: float
) -> FloatArray:
    """Return the interval (2,) of a statistic from its variance.

    Parameters
    ----------
    scale : {"log odds", "Fisher z", "proportion", "log", "real"}
        On which the interval is symmetric.
    value, variance : float
        The estimate and its variance.
    trials : float
        Of Wilson's interval where the value lies at a bound.
    multiplier : float
        Quantile of the normal or t distribution.

    Examples
    --------
    >>> interval_on("log odds", 0.8, 0.0025, trials=50.0, multiplier=1.96).round(3)
    array([0.684, 0.881])
    >>> interval_on("proportion", 1.0, 0.0, trials=10.0, multiplier=1.96).round(3)
    array([0.722, 1.   ])
    """
    if np.isnan(value) or np.isnan(multiplier):
        return np.full(2, np.nan)
    step = multiplier * np.sqrt(variance) * np.array([-1.0, 1.0])
    if scale == "real":
        return np.asarray(value + step)
    if scale == "log":
        return np.asarray(value * np.exp(step / value)) if value > 0.0 else np.full(2, np.nan)
    if scale == "Fisher z":
        # Fisher's z of r is half the log odds of (1 + r) / 2.
        share, variance = 0.5 + 0.5 * value, 0.25 * variance
        return 2.0 * _inside_unit("log odds", share, variance, trials, multiplier) - 1.0
    return _inside_unit(scale, value, variance, trials, multiplier)


def _inside_unit(
    scale: Scale, value: float, variance: float, trials: float, multiplier: float
) -> FloatArray:
    spread = value * (1.0 - value)
    inside = variance > _ZERO and spread > 1e-15
    if inside and scale == "log odds":
        step = multiplier * np.sqrt(variance) / spread * np.array([-1.0, 1.0])
        return np.asarray(1.0 / (1.0 + (1.0 - value) / value * np.exp(-step)))
    return _score_interval(value, spread / variance if inside else trials, multiplier)


def _score_interval(rate: float, trials: float, multiplier: float) -> FloatArray:
    """Return Wilson's interval with any multiplier: t with one degree of freedom has 12.7."""
    if not trials > 0.0:
        return np.full(2, np.nan)
    square = multiplier**2
    half = multiplier * np.sqrt(trials * rate * (1.0 - rate) + 0.25 * square)
    bounds = (rate * trials + 0.5 * square + half * np.array([-1.0, 1.0])) / (trials + square)
    # At 0 and 1 the bound is the rate exactly; the formula may miss it by a rounding error.
    bounds[0], bounds[1] = min(bounds[0], rate), max(bounds[1], rate)
    return np.asarray(np.clip(bounds, 0.0, 1.0), dtype=np.float64)


def wilson_from_draws(
    value: FloatArray, draws: FloatArray, trials: FloatArray, *, level: float
) -> FloatArray:
    """Return Wilson's intervals with as many trials as would vary like the draws.

    Percentiles of the draws of a rate near 0 or 1 are too short, and of no length where the
    sample holds no exception; these are not. So many trials vary by rate times one minus rate
    over their number, at the rate of the sample or at the mean of the draws, whichever is nearer
    to one half: next to 0 or 1 the draws vary as the population does, which is not at 0 or 1.

    Parameters
    ----------
    value : ndarray (points,)
        Rates in the sample.
    draws : ndarray (resamples, points)
        In the resamples.
    trials : ndarray (points,)
        Where the rate does not vary; where it is 0 or 1, no more than these.
    level : float
        Coverage.

    Returns
    -------
    ndarray (points, 2)

    Examples
    --------
    >>> draws = np.array([[0.1, 0.0], [0.3, 0.0]])
    >>> wilson_from_draws(np.array([0.2, 0.0]), draws, np.full(2, 10.0), level=0.95).round(2)
    array([[0.05, 0.55],
           [0.  , 0.28]])
    """
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
