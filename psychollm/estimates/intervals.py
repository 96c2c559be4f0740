r"""Intervals for proportions, and intervals from bootstrap draws and from the jackknife.

The bias-corrected and accelerated interval (BCa) shifts the nominal percentiles. With :math:`z_0 =
\Phi^{-1}(\text{proportion of draws below the value})` and the acceleration a, the levels are

.. math:: \alpha' = \Phi\!\left(z_0 + \frac{z_0 + z_\alpha}{1 - a (z_0 + z_\alpha)}\right), \qquad
          a = \frac{\sum_g u_g^3}{6 \left(\sum_g u_g^2\right)^{3/2}},                     \quad (1)

where :math:`u_g` is the mean of the jackknife values minus the value with group g left out. The
groups are single questions or clusters; if there are more than 200 groups, the groups are combined
into 200 blocks. In expectation, the influences summed within blocks have the same sum of squares
and the same sum of cubes as the single influences. Blocking gives the acceleration a standard
error of 0.003.

The jackknife is applied on a scale f on which the estimate is nearly normal, such as
:math:`f(\alpha) = \log(1 - \alpha)`. With :math:`\theta_{(g)}` the value without group g, of G
groups, the squared standard error and the interval are

.. math:: s^2 = \frac{G - 1}{G} \sum_g \big(f(\theta_{(g)}) - \bar f\big)^2, \qquad
          f^{-1}\big(G f(\hat\theta) - (G - 1) \bar f \pm t_{G-1}\, s\big).              \quad (2)

The centre is corrected for bias, which is large for coefficients from regressions, such as
Guttman's lambda 6. The jackknife interval does not assume a distribution of scores. The jackknife
accounts for the dependence between repetitions of a respondent, which are left out together. With
ten respondents, the coverage of the jackknife interval is better than the coverage of percentile
intervals.

References
----------
Bonett, D. G. (2002). Sample size requirements for testing and estimating coefficient alpha.
Journal of Educational and Behavioral Statistics, 27, 335-340.
https://doi.org/10.3102/10769986027004335

Bonett, D. G., & Price, R. M. (2012). Adjusted Wald confidence interval for a difference of
binomial proportions based on paired data. Journal of Educational and Behavioral Statistics,
37(4), 479-488. https://doi.org/10.3102/1076998611411915

Clopper, C. J., & Pearson, E. S. (1934). The use of confidence or fiducial limits illustrated in
the case of the binomial. Biometrika, 26, 404-413. https://doi.org/10.1093/biomet/26.4.404

Efron, B. (1987). Better bootstrap confidence intervals. Journal of the American Statistical
Association, 82, 171-185. https://doi.org/10.1080/01621459.1987.10478410

Kott, P. S. (2001). The delete-a-group jackknife. Journal of Official Statistics, 17, 521-526.

Wilson, E. B. (1927). Probable inference, the law of succession, and statistical inference. Journal
of the American Statistical Association, 22, 209-212.
https://doi.org/10.1080/01621459.1927.10502953
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy.special import betaincinv, ndtr, ndtri, stdtrit

from psychollm._base.checks import MOST, check_fraction, of_one_shape
from psychollm._base.errors import CodeError
from psychollm._base.types import FloatArray

_ROUNDING = 1e-9  # tolerance for rounding errors in computed counts


def normal_multiplier(level: float) -> float:
    """Return the z with P(-z < Z < z) = `level`."""
    return float(ndtri(0.5 + 0.5 * check_fraction("level", level)))


def wilson(successes: Any, n: Any, *, level: float = 0.95, df: Any = np.inf) -> FloatArray:
    """Return the Wilson score interval of a proportion.

    Parameters
    ----------
    successes, n : array_like (...)
        Numbers of successes and of trials; `n` may be zero.
    level : float
        Coverage, between 0 and 1.
    df : float or ndarray (...)
        Degrees of freedom, if `n` is based on an estimated variance. With degrees of freedom,
        Student's quantile replaces the normal quantile.

    Returns
    -------
    ndarray (..., 2)
        Bounds inside [0, 1]; NaN if `n` or `df` is zero.

    Raises
    ------
    ShapeError
        If the shapes differ.

    References
    ----------
    Wilson, E. B. (1927). Probable inference, the law of succession, and statistical inference.
    Journal of the American Statistical Association, 22, 209-212.
    https://doi.org/10.1080/01621459.1927.10502953

    Examples
    --------
    >>> wilson([0, 11], [20, 11]).round(4)
    array([[0.    , 0.1611],
           [0.7412, 1.    ]])
    """
    hits, size, df = of_one_shape({"successes": successes, "n": n, "df": df})
    hits, size = _checked({"successes": hits, "n": size})
    normal = normal_multiplier(level)
    square = np.where(np.isinf(df), normal, stdtrit(df, 0.5 + 0.5 * level)) ** 2
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        rate = np.where(size > 0, hits / size, np.nan)
        centre = (hits + 0.5 * square) / (size + square)
        spread = np.sqrt(square * (hits * (1.0 - rate) + 0.25 * square)) / (size + square)
    # With 0 or n successes, one bound is exactly 0 or 1, which rounding could miss.
    known = (size > 0) & ~np.isnan(square)
    lower = np.where(hits == 0, 0.0, np.clip(centre - spread, 0.0, rate))
    upper = np.where(hits == size, 1.0, np.clip(centre + spread, rate, 1.0))
    return np.where(known[..., None], np.stack([lower, upper], axis=-1), np.nan)


def clopper_pearson(successes: Any, n: Any, *, level: float = 0.95) -> FloatArray:
    """Return the exact, conservative (Clopper-Pearson) interval of a proportion.

    Parameters
    ----------
    successes, n : array_like (...)
        Numbers of successes and of trials; `n` may be zero.
    level : float
        Minimum coverage, between 0 and 1.

    Returns
    -------
    ndarray (..., 2)
        Bounds inside [0, 1]; NaN if `n` is zero.

    Raises
    ------
    ShapeError
        If the shapes differ.

    References
    ----------
    Clopper, C. J., & Pearson, E. S. (1934). The use of confidence or fiducial limits illustrated
    in the case of the binomial. Biometrika, 26, 404-413. https://doi.org/10.1093/biomet/26.4.404

    Examples
    --------
    >>> clopper_pearson([0, 11], [20, 11]).round(4)
    array([[0.    , 0.1684],
           [0.7151, 1.    ]])
    """
    hits, size = counts_of({"successes": successes, "n": n})
    tail = 0.5 - 0.5 * check_fraction("level", level)
    # With 0 or n successes, one bound is 0 or 1 by definition, not a beta quantile.
    lower = np.where(hits > 0, betaincinv(np.maximum(hits, 1.0), size - hits + 1.0, tail), 0.0)
    room = np.maximum(size - hits, 1.0)
    upper = np.where(hits < size, betaincinv(hits + 1.0, room, 1.0 - tail), 1.0)
    return np.where((size > 0)[..., None], np.stack([lower, upper], axis=-1), np.nan)


def proportion_se(successes: Any, n: Any) -> FloatArray:
    """Return the Wald standard error of a proportion, NaN where `n` is zero."""
    hits, size = counts_of({"successes": successes, "n": n})
    with np.errstate(invalid="ignore", divide="ignore"):
        rate = hits / size
        return np.asarray(np.sqrt(rate * (1.0 - rate) / size), dtype=np.float64)


def paired_difference(
    first_only: Any, second_only: Any, n: Any, *, level: float = 0.95
) -> FloatArray:
    """Return the Bonett-Price interval of a difference between two paired proportions.

    Parameters
    ----------
    first_only, second_only : array_like (...)
        Number of the `n` pairs in which only the first outcome, or only the second, is a success.
    n : array_like (...)
        Number of pairs; may be zero.
    level : float
        Coverage, between 0 and 1.

    Returns
    -------
    ndarray (..., 2)
        Bounds of (first - second) inside [-1, 1]; NaN if `n` is zero.

    Raises
    ------
    ShapeError
        If the shapes differ.

    References
    ----------
    Bonett, D. G., & Price, R. M. (2012). Adjusted Wald confidence interval for a difference of
    binomial proportions based on paired data. Journal of Educational and Behavioral Statistics,
    37(4), 479-488. https://doi.org/10.3102/1076998611411915

    Examples
    --------
    >>> paired_difference(10, 4, 50).round(3)
    array([-0.032,  0.263])
    """
    up, down, size = counts_of({"first_only": first_only, "second_only": second_only, "n": n})
    if (up + down > size).any():
        msg = "first_only and second_only add up to more than n: pass counts out of n"
        raise CodeError(msg)
    high, low = (up + 1.0) / (size + 2.0), (down + 1.0) / (size + 2.0)
    difference = high - low
    spread = normal_multiplier(level) * np.sqrt((high + low - difference**2) / (size + 2.0))
    bounds = np.clip(np.stack([difference - spread, difference + spread], axis=-1), -1.0, 1.0)
    return np.where((size > 0)[..., None], bounds, np.nan)


def paired_difference_se(first_only: Any, second_only: Any, n: Any) -> FloatArray:
    """Return the Wald standard error of a difference between two paired proportions."""
    up, down, size = counts_of({"first_only": first_only, "second_only": second_only, "n": n})
    with np.errstate(invalid="ignore", divide="ignore"):
        variance = (up + down) / size - ((up - down) / size) ** 2
        return np.asarray(np.sqrt(np.maximum(variance, 0.0) / size), dtype=np.float64)


def counts_of(counts: Mapping[str, Any]) -> tuple[FloatArray, ...]:
    """Check that named counts are non-negative and finite; return arrays of one shape."""
    return _checked(dict(zip(counts, of_one_shape(counts), strict=True)))


def _checked(counts: Mapping[str, FloatArray]) -> tuple[FloatArray, ...]:
    for name, values in counts.items():
        wrong = values[(values < -_ROUNDING) | (values > MOST)]
        if wrong.size:
            msg = f"{name} holds {wrong[0]}: pass counts, and NaN where one is missing"
            raise CodeError(msg)
    if "successes" in counts and (counts["successes"] > counts["n"] * (1.0 + _ROUNDING)).any():
        msg = "there are more successes than n: pass counts out of n"
        raise CodeError(msg)
    return tuple(np.maximum(values, 0.0) for values in counts.values())


def within_range(bounds: FloatArray, scores: FloatArray, low: float = 0.0) -> FloatArray:
    """Clip bounds to [low, 1] if all scores are within [0, 1]; `low` is -1 for differences."""
    known = scores[np.isfinite(scores)]
    shares = known.size > 0 and known.min() >= 0.0 and known.max() <= 1.0
    return np.clip(bounds, low, 1.0) if shares else bounds


class Scale(NamedTuple):
    """Scale on which a coefficient is nearly normal, with transform, inverse and name."""

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
    """Return percentile bounds (..., 2) of draws (n, ...), at one level or a level per column."""
    if isinstance(level, np.ndarray):
        columns = zip(draws.T, level.tolist(), strict=True)
        return np.array([percentile_interval(column, own) for column, own in columns])
    tails = [0.5 * (1.0 - level), 0.5 * (1.0 + level)]
    defined = np.asarray(np.isfinite(draws).any(axis=0))
    safe = np.where(defined, draws, 0.0)
    table = safe.reshape(len(safe), int(np.prod(safe.shape[1:])))
    bounds = _quantiles(table, tails).reshape(2, *safe.shape[1:])
    return np.where(defined[..., None], np.moveaxis(bounds, 0, -1), np.nan)


def _quantiles(draws: FloatArray, shares: list[float]) -> FloatArray:
    """Return quantiles (shares, k) of draws (n, k), some of which may be undefined."""
    found = np.full((len(shares), draws.shape[1]), np.nan)
    if not draws.size:
        return found
    # NumPy takes columns with undefined values one by one, and all others together.
    gaps = np.isnan(draws).any(axis=0)
    if not gaps.all():
        found[:, ~gaps] = np.quantile(draws[:, ~gaps], shares, axis=0)
    if gaps.any():
        found[:, gaps] = np.nanquantile(draws[:, gaps], shares, axis=0)
    return found


def basic_interval(value: FloatArray, draws: FloatArray, level: float | FloatArray) -> FloatArray:
    """Return percentile bounds reflected about the value, for estimates with biased draws."""
    bounds = percentile_interval(draws, level)
    return np.asarray(2.0 * value[..., None] - bounds[..., ::-1], dtype=np.float64)


def less_bias_interval(value: FloatArray, draws: FloatArray, level: float) -> FloatArray:
    """Return bounds (k, 2) of a normal interval about the bias-corrected value, in [0, 1]."""
    bounds = np.full((value.size, 2), np.nan)
    for row in np.flatnonzero(np.isfinite(value) & (np.isfinite(draws).sum(axis=0) > 1)):
        known = draws[np.isfinite(draws[:, row]), row]
        bias = known.mean() - value[row]
        # The error of the bias correction can be as large as the bias. Therefore the bias widens
        # the interval.
        step = normal_multiplier(level) * np.hypot(known.std(ddof=1), bias)
        low, high = np.clip(value[row] - bias + np.array([-step, step]), 0.0, 1.0)
        bounds[row] = min(low, value[row]), max(high, value[row])
    return bounds


def bca_interval(
    value: FloatArray, draws: FloatArray, jackknife: FloatArray, level: float | FloatArray
) -> FloatArray:
    """Return bounds (k, 2) corrected for bias and acceleration, by equation (1)."""
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
    """Return z0 of equation (1); ties count one half, and the proportion is kept inside (0, 1)."""
    # Draws that differ from the value only by rounding errors count as ties.
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
    """Return the standard error s of equation (2) over the first axis; NaN if not defined."""
    groups = len(left_out)
    if groups < 2:
        return np.full(left_out.shape[1:], np.nan)
    spread = ((left_out - left_out.mean(axis=0)) ** 2).sum(axis=0)
    return np.asarray(np.sqrt((groups - 1.0) / groups * spread))


def jackknife_interval(
    value: FloatArray, left_out: FloatArray, scale: Scale, level: float
) -> FloatArray:
    """Return jackknife intervals, equation (2); `left_out` has the values without each group."""
    groups = len(left_out)
    quantile = stdtrit(groups - 1.0, 0.5 + 0.5 * level) if groups > 1 else np.nan
    with np.errstate(over="ignore"):
        scaled = scale.forward(left_out)
        step = quantile * jackknife_se(scaled)
        centre = groups * scale.forward(value) - (groups - 1.0) * scaled.mean(axis=0)
        ends = scale.back(np.stack([centre - step, centre + step], axis=-1))
    steady = (left_out == value).all(axis=0) & np.isfinite(value)
    return np.where(steady[:, None], value[:, None], np.sort(ends, axis=-1))
