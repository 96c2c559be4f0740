r"""Intervals from bootstrap draws: percentiles, and percentiles corrected for bias and skewness.

The corrected interval (BCa) takes other percentiles than the nominal ones. With
:math:`z_0 = \Phi^{-1}(\text{share of draws below the value})` and the acceleration a,

.. math:: \alpha' = \Phi\!\left(z_0 + \frac{z_0 + z_\alpha}{1 - a (z_0 + z_\alpha)}\right), \qquad
          a = \frac{\sum_g u_g^3}{6 \left(\sum_g u_g^2\right)^{3/2}},                     \quad (1)

where :math:`u_g` is the mean of the jackknife values minus the value with group g left out. The
groups are single questions (or clusters), or blocks of them where there are many: sums of
influences over blocks have the same sums of squares and cubes in expectation, and with 200 blocks
the noise of a is 0.003.

References
----------
Efron, B. (1987). Better bootstrap confidence intervals. Journal of the American Statistical
Association, 82, 171-185.
"""

import numpy as np
from scipy.special import ndtr, ndtri

from psychollm._base.types import FloatArray


def percentile_interval(draws: FloatArray, level: float | FloatArray) -> FloatArray:
    """Return percentile bounds over the first axis; NaN where no draw is defined.

    Parameters
    ----------
    draws : ndarray (n, ...)
        Bootstrap draws; undefined ones (NaN) are left out.
    level : float or ndarray (k,)
        Coverage, or that of each column of draws (n, k).

    Returns
    -------
    ndarray (..., 2)
        Lower and upper bound.

    Examples
    --------
    >>> percentile_interval(np.arange(101.0), 0.9)
    array([ 5., 95.])
    """
    if isinstance(level, np.ndarray):
        columns = zip(draws.T, level.tolist(), strict=True)
        return np.array([percentile_interval(column, own) for column, own in columns])
    tails = [0.5 * (1.0 - level), 0.5 * (1.0 + level)]
    defined = np.asarray(np.isfinite(draws).any(axis=0))
    safe = np.where(defined, draws, 0.0)
    bounds = np.asarray(np.nanquantile(safe, tails, axis=0))
    return np.where(defined[..., None], np.moveaxis(bounds, 0, -1), np.nan)


def basic_interval(value: FloatArray, draws: FloatArray, level: float | FloatArray) -> FloatArray:
    """Return percentile bounds reflected about the value: for estimates whose draws are biased.

    Parameters
    ----------
    value : ndarray (...)
        In the sample.
    draws : ndarray (n, ...)
        In the resamples.
    level : float
        Coverage.

    Returns
    -------
    ndarray (..., 2)

    Examples
    --------
    >>> basic_interval(np.array(40.0), np.arange(101.0), 0.9)
    array([-15.,  75.])
    """
    bounds = percentile_interval(draws, level)
    return np.asarray(2.0 * value[..., None] - bounds[..., ::-1], dtype=np.float64)


def bca_interval(
    value: FloatArray, draws: FloatArray, jackknife: FloatArray, level: float | FloatArray
) -> FloatArray:
    """Return bounds corrected for bias and acceleration (1).

    Parameters
    ----------
    value : ndarray (k,)
        In the sample.
    draws : ndarray (n, k)
        In the resamples; undefined ones (NaN) are left out.
    jackknife : ndarray (groups, k)
        With one group of questions left out at a time.
    level : float or ndarray (k,)
        Coverage.

    Returns
    -------
    ndarray (k, 2)
        NaN where the value or all draws are undefined.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> sample = rng.exponential(size=40)
    >>> draws = rng.choice(sample, (4000, 40)).mean(axis=1)[:, None]
    >>> left_out = (sample.sum() - sample)[:, None] / 39
    >>> bca_interval(np.array([sample.mean()]), draws, left_out, 0.95).shape
    (1, 2)
    """
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
