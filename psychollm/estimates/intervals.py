r"""Intervals from bootstrap draws and from the jackknife.

The corrected interval (BCa) takes other percentiles than the nominal ones. With
:math:`z_0 = \Phi^{-1}(\text{share of draws below the value})` and the acceleration a,

.. math:: \alpha' = \Phi\!\left(z_0 + \frac{z_0 + z_\alpha}{1 - a (z_0 + z_\alpha)}\right), \qquad
          a = \frac{\sum_g u_g^3}{6 \left(\sum_g u_g^2\right)^{3/2}},                     \quad (1)

where :math:`u_g` is the mean of the jackknife values minus the value with group g left out. The
groups are single questions (or clusters), or blocks of them where there are many: sums of
influences over blocks have the same sums of squares and cubes in expectation, and with 200 blocks
the noise of a is 0.003.

The jackknife works on a scale where the distribution is near normal. With :math:`\theta_{(g)}`
the value without group g of G and f the scale, say :math:`f(\alpha) = \log(1 - \alpha)`,

.. math:: s^2 = \frac{G - 1}{G} \sum_g \big(f(\theta_{(g)}) - \bar f\big)^2, \qquad
          f^{-1}\big(G f(\hat\theta) - (G - 1) \bar f \pm t_{G-1}\, s\big).              \quad (2)

The centre is corrected for bias, which matters where regressions are fitted (lambda 6). The
interval needs no distribution of the scores, respects the repetitions of a respondent because
these are left out together, and with ten respondents covers better than percentiles do.

References
----------
Bonett, D. G. (2002). Sample size requirements for testing and estimating coefficient alpha.
Journal of Educational and Behavioral Statistics, 27, 335-340.
https://doi.org/10.3102/10769986027004335

Efron, B. (1987). Better bootstrap confidence intervals. Journal of the American Statistical
Association, 82, 171-185.

Kott, P. S. (2001). The delete-a-group jackknife. Journal of Official Statistics, 17, 521-526.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri, stdtrit

from psychollm._base.types import FloatArray


class Scale(NamedTuple):
    """Where a coefficient is near normal: there, back, and what it is called."""

    forward: Callable[[FloatArray], FloatArray]
    back: Callable[[FloatArray], FloatArray]
    name: str


def _log_complement(value: FloatArray) -> FloatArray:
    return np.asarray(np.log(np.where(value < 1.0, 1.0 - value, np.nan)))


def _complement_exp(value: FloatArray) -> FloatArray:
    return np.asarray(1.0 - np.exp(value))


def _log(value: FloatArray) -> FloatArray:
    return np.asarray(np.log(np.where(value > 0.0, value, np.nan)))


def _arctanh(value: FloatArray) -> FloatArray:
    return np.asarray(np.arctanh(np.where(np.abs(value) < 1.0, value, np.nan)))


RELIABILITY = Scale(_log_complement, _complement_exp, "log(1 - x)")
POSITIVE = Scale(_log, np.exp, "log x")
CORRELATION = Scale(_arctanh, np.tanh, "Fisher's z")


def percentile_interval(draws: FloatArray, level: float | FloatArray) -> FloatArray:
    """Return percentile bounds (..., 2) of draws (n, ...); a level, or one for each column."""
    if isinstance(level, np.ndarray):
        columns = zip(draws.T, level.tolist(), strict=True)
        return np.array([percentile_interval(column, own) for column, own in columns])
    tails = [0.5 * (1.0 - level), 0.5 * (1.0 + level)]
    defined = np.asarray(np.isfinite(draws).any(axis=0))
    safe = np.where(defined, draws, 0.0)
    bounds = np.asarray(np.nanquantile(safe, tails, axis=0))
    return np.where(defined[..., None], np.moveaxis(bounds, 0, -1), np.nan)


def basic_interval(value: FloatArray, draws: FloatArray, level: float | FloatArray) -> FloatArray:
    """Return percentile bounds reflected about the value: for estimates whose draws are biased."""
    bounds = percentile_interval(draws, level)
    return np.asarray(2.0 * value[..., None] - bounds[..., ::-1], dtype=np.float64)


def bca_interval(
    value: FloatArray, draws: FloatArray, jackknife: FloatArray, level: float | FloatArray
) -> FloatArray:
    """Return bounds (k, 2) corrected for bias and acceleration (1)."""
    reach = np.broadcast_to(ndtri(0.5 + 0.5 * np.asarray(level)), value.shape)
    bounds = np.full((value.size, 2), np.nan)
    for column in range(value.size):
        defined = draws[np.isfinite(draws[:, column]), column]
        if not np.isfinite(value[column]) or defined.size < 2:
            continue
        shift = _median_bias(float(value[column]), defined)
        acceleration = _acceleration(jackknife[:, column])
        moved = shift + reach[column] * np.array([-1.0, 1.0])
        with np.errstate(divide="ignore"):
            shares = ndtr(shift + moved / (1.0 - acceleration * moved))
        bounds[column] = np.quantile(defined, shares)
    return bounds


def _median_bias(value: float, draws: FloatArray) -> float:
    """z0 of (1); ties count one half, and the share stays off 0 and 1."""
    # Draws equal to the value but for rounding are ties: two orders of summing one number.
    near = np.abs(draws - value) <= 1e-12 * max(1.0, abs(value))
    below = ((draws < value) & ~near).sum() + 0.5 * near.sum()
    edge = 1.0 / (draws.size + 1.0)
    return float(ndtri(np.clip(below / draws.size, edge, 1.0 - edge)))


def _acceleration(jackknife: FloatArray) -> float:
    defined = jackknife[np.isfinite(jackknife)]
    if defined.size < 3:
        return 0.0
    influence = defined.mean() - defined
    spread = float((influence**2).sum())
    if spread <= 1e-28 * max(1.0, float(defined.mean() ** 2)):
        return 0.0
    return float((influence**3).sum() / (6.0 * spread**1.5))


def jackknife_se(left_out: FloatArray) -> FloatArray:
    """Return the standard error s of (2) over the first axis; NaN if a value is undefined."""
    groups = len(left_out)
    if groups < 2:
        return np.full(left_out.shape[1:], np.nan)
    spread = ((left_out - left_out.mean(axis=0)) ** 2).sum(axis=0)
    return np.asarray(np.sqrt((groups - 1.0) / groups * spread))


def jackknife_interval(
    value: FloatArray, left_out: FloatArray, scale: Scale, level: float
) -> FloatArray:
    """Return the interval (2) of values (k,) from those without each group (groups, k)."""
    groups = len(left_out)
    quantile = stdtrit(groups - 1.0, 0.5 + 0.5 * level) if groups > 1 else np.nan
    with np.errstate(over="ignore"):
        scaled = scale.forward(left_out)
        step = quantile * jackknife_se(scaled)
        centre = groups * scale.forward(value) - (groups - 1.0) * scaled.mean(axis=0)
        ends = scale.back(np.stack([centre - step, centre + step], axis=-1))
    steady = (left_out == value).all(axis=0) & np.isfinite(value)
    return np.where(steady[:, None], value[:, None], np.sort(ends, axis=-1))
