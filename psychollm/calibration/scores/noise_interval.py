r"""Intervals of parts of a score that noise can only enlarge.

Reliability, resolution, miscalibration and discrimination are squares of departures, such as that
of outcomes from confidence; over- and underconfidence are sums of the departures of one sign. None
is ever negative, so that noise adds to each, and resamples add it twice: their percentiles lie too
high, and never reach zero. The bootstrap is therefore turned round, as for calibration errors
(`error_interval`). Let the population depart by :math:`\theta` times what the sample shows, which
makes the part :math:`\theta^p M`, with p two for squares and one for sums. A sample from it has

.. math:: T^*(\theta) = \theta^p M + \theta L^* + N^*,                                    \quad (1)

where :math:`L^*` is the noise that goes with the departure and :math:`N^*` that which remains
without any; both are read from resamples. The interval holds every :math:`\theta^p M` under which
the part T of the sample is neither among the largest nor among the smallest of (1). Its lower
bound is zero where T is no larger than noise. A sample that happens to depart by less than noise
would exclude even zero, or all but zero: its upper bound is that of a sample with average noise.

Noise is estimated, and so is the way in which the population departs; 95 % intervals are therefore
close to their name and no more. Five forecasters (eleven levels, continuous, yes/no; calibrated
or overconfident), 300 data sets each, give coverage of 91 to 100 % at 200 questions and more, and
of 86 to 100 % at 50, where bins and blocks hold a handful of answers; for the logarithmic score
83 to 100 % at 50. Near zero coverage exceeds its name, since there only the lower bound can miss.
Percentiles, plain or corrected, hardly ever cover the zero of a calibrated model.

The uncertainty o (1 - o) is largest at one half, where resamples can only lie below it; its bounds
are those of the share o of correct answers, carried over.
"""

from typing import Literal

import numpy as np
from scipy.special import entr

from psychollm._base.types import FloatArray
from psychollm.estimates.intervals import percentile_interval

METHOD = "inverted bootstrap"

_GRID = np.linspace(0.0, 1.0, 26)


def noise_bounds(
    value: float,
    size: float,
    along: FloatArray,
    noise: FloatArray,
    level: float,
    *,
    power: int = 2,
) -> FloatArray:
    """Return lower and upper bound of one part."""
    # NaN where the value is, or all resamples are, undefined.
    # Shapes: along (resamples,); noise (resamples,); returns (2,).
    known = np.isfinite(along) & np.isfinite(noise)
    if not np.isfinite(value) or known.sum() < 2:
        return np.full(2, np.nan)
    along, noise = along[known], noise[known]
    tails = np.array([0.5 * (1.0 - level), 0.5 * (1.0 + level)])
    high = float(np.quantile(noise, tails[1]))
    if size <= 0.0:
        return np.array([0.0, high])
    # Far enough for parts that are small beside their noise.
    top = max(2.5, float(((value + 4.0 * max(high, 0.0)) / size) ** (1.0 / power)))
    theta = top * _GRID
    # The noise of a square grows with the departure; that of a sum is all there at the sample's.
    reach = theta if power > 1 else np.minimum(theta, 1.0)
    family = size * theta**power + np.outer(along, reach) + noise[:, None]
    smallest, largest = np.quantile(family, tails, axis=0)
    at_least = max(value, float(noise.mean()))
    ends = _crossing(theta, largest, value), _crossing(theta, smallest, at_least)
    return np.asarray(size * np.array(ends) ** power, dtype=np.float64)


def _crossing(theta: FloatArray, quantile: FloatArray, value: float) -> float:
    """Return the last theta at which a rising quantile is below the value."""
    below = np.flatnonzero(quantile < value)
    if not below.size:
        return 0.0
    i = int(below[-1])
    if i + 1 == theta.size:
        return float(theta[-1])
    share = (value - quantile[i]) / (quantile[i + 1] - quantile[i])
    return float(theta[i] + share * (theta[i + 1] - theta[i]))


def uncertainty_bounds(
    shares: FloatArray, level: float, *, score: Literal["brier", "log"] = "brier"
) -> FloatArray:
    """Return bounds of the uncertainty from resampled shares of correct answers."""
    # Shapes: shares (resamples,).
    ends = percentile_interval(shares, level)
    whole = np.append(ends, 0.5) if ends[0] <= 0.5 <= ends[1] else ends
    found = whole * (1.0 - whole) if score == "brier" else entr(whole) + entr(1.0 - whole)
    return np.array([found.min(), found.max()])
