"""Intervals of proportions and of differences between paired proportions.

References
----------
Wilson, E. B. (1927). Probable inference, the law of succession, and statistical inference.
Journal of the American Statistical Association, 22, 209-212.

Clopper, C. J., & Pearson, E. S. (1934). The use of confidence or fiducial limits illustrated in
the case of the binomial. Biometrika, 26, 404-413. https://doi.org/10.1093/biomet/26.4.404

Bonett, D. G., & Price, R. M. (2012). Adjusted Wald confidence interval for a difference of
binomial proportions based on paired data. Journal of Educational and Behavioral Statistics,
37(4), 479-488. https://doi.org/10.3102/1076998611411915
"""

from typing import Any

import numpy as np
from scipy.special import betaincinv, ndtri, stdtrit

from psychollm._base.arrays import float_array
from psychollm._base.checks import check_fraction
from psychollm._base.types import BoolArray, FloatArray
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.reasons import Reason, first_reason


def normal_multiplier(level: float) -> float:
    """Return the z with P(-z < Z < z) = `level`."""
    return float(ndtri(0.5 + 0.5 * check_fraction("level", level)))


def wilson(successes: Any, n: Any, *, level: float = 0.95, df: Any = np.inf) -> FloatArray:
    """Return the Wilson score interval of a proportion.

    Parameters
    ----------
    successes, n : array_like (...)
        Counts; `n` may be zero.
    level : float
        Coverage.
    df : float or ndarray (...)
        Degrees of freedom, where the variance behind `n` was estimated: Student's quantile takes
        the place of the normal one.

    Returns
    -------
    ndarray (..., 2)
        Bounds inside [0, 1]; NaN where `n` is zero, or there are no degrees of freedom.

    Examples
    --------
    >>> wilson([0, 11], [20, 11]).round(4)
    array([[0.    , 0.1611],
           [0.7412, 1.    ]])
    """
    hits, size = _counts(successes, n)
    df = float_array(df, "df")
    normal = normal_multiplier(level)
    square = np.where(np.isinf(df), normal, stdtrit(df, 0.5 + 0.5 * level)) ** 2
    with np.errstate(invalid="ignore", divide="ignore"):
        rate = np.where(size > 0, hits / size, np.nan)
        centre = (hits + 0.5 * square) / (size + square)
        spread = np.sqrt(square * (hits * (1.0 - rate) + 0.25 * square)) / (size + square)
    # At 0 and n the bound is 0 or 1 exactly; the formula may miss it by a rounding error.
    known = (size > 0) & ~np.isnan(square)
    lower = np.where(hits == 0, 0.0, np.clip(centre - spread, 0.0, rate))
    upper = np.where(hits == size, 1.0, np.clip(centre + spread, rate, 1.0))
    return np.where(known[..., None], np.stack([lower, upper], axis=-1), np.nan)


def clopper_pearson(successes: Any, n: Any, *, level: float = 0.95) -> FloatArray:
    """Return the exact interval of a proportion, which covers too often rather than too seldom.

    Parameters
    ----------
    successes, n : array_like (...)
        Counts; `n` may be zero.
    level : float
        Least coverage.

    Returns
    -------
    ndarray (..., 2)
        Bounds inside [0, 1]; NaN where `n` is zero.

    Examples
    --------
    >>> clopper_pearson([0, 11], [20, 11]).round(4)
    array([[0.    , 0.1684],
           [0.7151, 1.    ]])
    """
    hits, size = _counts(successes, n)
    tail = 0.5 - 0.5 * check_fraction("level", level)
    # At 0 and n one bound is 0 or 1 by definition: the beta quantile does not exist there.
    lower = np.where(hits > 0, betaincinv(np.maximum(hits, 1.0), size - hits + 1.0, tail), 0.0)
    room = np.maximum(size - hits, 1.0)
    upper = np.where(hits < size, betaincinv(hits + 1.0, room, 1.0 - tail), 1.0)
    return np.where((size > 0)[..., None], np.stack([lower, upper], axis=-1), np.nan)


def proportion_se(successes: Any, n: Any) -> FloatArray:
    """Return the Wald standard error of a proportion, NaN where `n` is zero."""
    hits, size = _counts(successes, n)
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
        On how many of the `n` occasions only the first, or only the second, was a success.
    n : array_like (...)
        Occasions; may be zero.
    level : float
        Coverage.

    Returns
    -------
    ndarray (..., 2)
        Bounds of (first - second) inside [-1, 1]; NaN where `n` is zero.

    Examples
    --------
    >>> paired_difference(10, 4, 50).round(3)
    array([-0.032,  0.263])
    """
    up, down, size = np.broadcast_arrays(
        float_array(first_only, "first_only"),
        float_array(second_only, "second_only"),
        float_array(n, "n"),
    )
    high, low = (up + 1.0) / (size + 2.0), (down + 1.0) / (size + 2.0)
    difference = high - low
    spread = normal_multiplier(level) * np.sqrt((high + low - difference**2) / (size + 2.0))
    bounds = np.clip(np.stack([difference - spread, difference + spread], axis=-1), -1.0, 1.0)
    return np.where((size > 0)[..., None], bounds, np.nan)


def paired_difference_se(first_only: Any, second_only: Any, n: Any) -> FloatArray:
    """Return the Wald standard error of a difference between two paired proportions."""
    up, down, size = (np.asarray(count, float) for count in (first_only, second_only, n))
    with np.errstate(invalid="ignore", divide="ignore"):
        variance = (up + down) / size - ((up - down) / size) ** 2
        return np.asarray(np.sqrt(np.maximum(variance, 0.0) / size), dtype=np.float64)


def proportion(
    name: str,
    successes: FloatArray,
    n: FloatArray,
    *cases: tuple[BoolArray, Reason],
    level: float,
    labels: tuple[Any, ...],
) -> Estimate:
    """Return one proportion per model with its Wilson interval.

    Parameters
    ----------
    name : str
        What the proportion is called in tables.
    successes, n : ndarray (models,)
        Counts; where `n` is zero the proportion is NaN.
    *cases : tuple of (bool array (models,), Reason)
        Why it is undefined for some models, in order of precedence.
    level : float
        Coverage.
    labels : tuple
        The models.

    Examples
    --------
    >>> proportion("hits", np.array([2.0]), np.array([4.0]), level=0.95, labels=("m",)).value
    array([0.5])
    """
    successes, n = _counts(successes, n)
    with np.errstate(invalid="ignore", divide="ignore"):
        value = np.where(n > 0, successes / n, np.nan)
    return Estimate(
        name=name,
        value=value,
        se=proportion_se(successes, n),
        interval=wilson(successes, n, level=level),
        n=n,
        flags=first_reason(*cases, (n == 0, Reason.NO_ANSWERS)),
        method="Wilson",
        level=level,
        labels=labels,
    )


def _counts(successes: Any, n: Any) -> tuple[FloatArray, FloatArray]:
    """Return both counts as arrays of one shape."""
    hits, size = np.broadcast_arrays(float_array(successes, "successes"), float_array(n, "n"))
    return hits, size
