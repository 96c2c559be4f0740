r"""GRIM test of whether a reported rate is possible with n outcomes.

A rate over n binary outcomes, or any mean of n whole numbers, is a multiple of 1/n. A rate
reported with d decimals must therefore be a rounded multiple of 1/n:

.. math:: \min_{c \in \{0, 1, \dots\}} \Big| \text{rate} - \frac{c}{n} \Big|
          \le \tfrac{1}{2} 10^{-d}.                                                      \quad (1)

If :math:`n \ge 10^d`, every rate passes the test. If n is smaller, an arbitrary rate fails with
probability about :math:`1 - n / 10^d`.

The appropriate n depends on the reported rate. With 30 questions in 3 runs, pooled rates are
multiples of 1/90, or of 1/30 if all runs have the same answers.

References
----------
Brown, N. J. L., & Heathers, J. A. J. (2017). The GRIM test: A simple technique detects numerous
anomalies in the reporting of results in psychology. Social Psychological and Personality Science,
8, 363-369. https://doi.org/10.1177/1948550616673876
"""

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import (
    MOST,
    check_count,
    check_positive,
    float_array,
    plain_array,
    shown,
)
from psychollm._base.errors import CodeError, OptionError, ShapeError
from psychollm._base.result import Result
from psychollm._base.types import AnyArray, BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Grim(Result):
    """Consistency of reported rates, with the nearest possible rates.

    Examples
    --------
    >>> grim(["0.88", "0.87"], 30).to_frame()
       rate   n  consistent  lower  upper  power
    0  0.88  30       False   0.87   0.90    0.7
    1  0.87  30        True   0.87   0.87    0.7
    """

    rate: FloatArray  # (rates,) as reported
    n: IntArray  # (rates,)
    digits: IntArray  # (rates,) number of reported decimals
    consistent: BoolArray  # (rates,) whether a possible count yields this rate
    count: IntArray  # (rates,) count with the nearest rate
    lower: FloatArray  # (rates,) nearest possible rate at or below
    upper: FloatArray  # (rates,) nearest possible rate at or above
    power: FloatArray  # (rates,) proportion of all rates with these decimals that fail

    _AXES = Axes({}, "rate", "n", "consistent", "lower", "upper", "power")


def grim(rate: Any, n: Any, *, digits: int | None = None, scale: float = 1.0) -> Grim:
    """Test whether reported rates are possible for n outcomes (GRIM test).

    Parameters
    ----------
    rate : array_like of float or str (rates,)
        Rates, percentages or means of whole numbers, as printed. Pass text to keep trailing zeros.
    n : array_like of int (rates,)
        Number of outcomes on which each rate is based (items, or items times runs); a single
        number applies to all rates.
    digits : int, optional
        Number of reported decimals. By default, the number is taken from the text of each rate;
        for numbers, the largest number of decimals of any rate is used.
    scale : float
        Value that represents a rate of one (for percentages, 100).

    Returns
    -------
    Grim
        Test result of each rate; a rate of NaN counts as inconsistent.

    Raises
    ------
    CodeError
        If a rate is not a number.
    OptionError
        If `n`, `digits` or `scale` is not positive.
    ShapeError
        If the number of values of n is neither one nor the number of rates.

    Notes
    -----
    The test accepts halves rounded up, down or to even.

    References
    ----------
    Brown, N. J. L., & Heathers, J. A. J. (2017). The GRIM test: A simple technique detects
    numerous anomalies in the reporting of results in psychology. Social Psychological and
    Personality Science, 8, 363-369. https://doi.org/10.1177/1948550616673876

    Examples
    --------
    >>> pooled = [87.8, 67.8, 54.4, 44.4]
    >>> grim(pooled, 90, scale=100).consistent, grim(pooled, 30, scale=100).consistent
    (array([ True,  True,  True,  True]), array([False, False, False, False]))
    """
    texts = np.atleast_1d(plain_array(rate, "rate").astype(object)).ravel()
    rates = float_array([_number(text) for text in texts], "rate", most=MOST)
    sizes = _sizes(n, rates.size)
    decimals = _digits(texts, digits)
    scale = check_positive("scale", scale, ": 100 for percentages, 1 for rates")
    return _checked(rates, sizes, decimals, scale)


def _checked(rates: FloatArray, n: IntArray, digits: IntArray, scale: float) -> Grim:
    """Compare each rate with the nearest possible rates above and below it."""
    known = np.isfinite(rates)
    exact = np.where(known, rates, 0.0) / scale * n
    if (np.abs(exact) > MOST).any():
        msg = f"rate holds {rates[np.argmax(np.abs(exact))]:g}: proportions are at most 1"
        raise CodeError(msg)
    nearest = np.maximum(np.round(exact), 0.0)
    unit = 10.0 ** -digits.astype(np.float64)
    # The tolerance is half a unit of the last decimal, plus the error of converting decimal to
    # binary numbers.
    reach = 0.5 * unit + 8.0 * np.finfo(float).eps * np.maximum(np.abs(rates), scale)
    with np.errstate(invalid="ignore"):
        consistent = np.asarray(np.abs(nearest / n * scale - rates) <= reach, dtype=np.bool_)
    sides = np.stack([np.floor(exact), np.maximum(np.ceil(exact), 0.0)])
    possible = np.where(known & (sides >= 0.0), sides / n * scale, np.nan)
    reports = np.where(consistent, rates, possible)
    lower, upper = (_shown(side, digits) for side in reports)
    return Grim(
        rate=rates,
        n=n,
        digits=digits,
        consistent=consistent,
        count=np.where(known, nearest, -1.0).astype(np.int64),
        lower=lower,
        upper=upper,
        power=np.maximum(0.0, 1.0 - n * unit / scale),
    )


def _number(text: Any) -> float:
    """Return one rate as a float."""
    try:
        return float(text)
    except (TypeError, ValueError, OverflowError) as error:
        msg = f"rate holds {shown(text)}, which is not a number: write 0.878 or '87.8' (scale=100)"
        raise CodeError(msg) from error


def _decimals(text: Any) -> int:
    """Return the number of decimals in the text of a rate."""
    try:
        written = Decimal(text if isinstance(text, str) else repr(float(text)))
    except (InvalidOperation, TypeError, OverflowError):
        return 0
    if not isinstance(text, str):
        written = written.normalize()
    exponent = written.as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def _digits(texts: AnyArray, digits: int | None) -> IntArray:
    """Return the number of decimals of each rate: `digits` if given, otherwise as written."""
    if digits is not None:
        return np.full(texts.size, check_count("digits", digits, low=0), dtype=np.int64)
    decimals = np.array([_decimals(text) for text in texts], dtype=np.int64)
    numeric = np.array([not isinstance(text, str) for text in texts], dtype=np.bool_)
    if numeric.any():
        decimals[numeric] = decimals[numeric].max()
    return decimals


def _sizes(n: Any, rates: int) -> IntArray:
    """Return the denominator of each rate, which is its number of outcomes."""
    sizes = np.atleast_1d(plain_array(n, "n")).ravel()
    whole = sizes.dtype.kind in "iuf" and ((sizes >= 1) & (sizes <= MOST)).all()
    if not whole or (sizes % 1 != 0).any():
        msg = (
            f"n={n if isinstance(n, int | float) else sizes.tolist()!r:.80} must be whole numbers "
            "of at least 1: pass the number of outcomes of each rate"
        )
        raise OptionError(msg)
    if sizes.size not in {1, rates}:
        msg = f"n holds {sizes.size} numbers for {rates} rates: pass one, or one for each"
        raise ShapeError(msg)
    return np.broadcast_to(sizes.astype(np.int64), (rates,)).copy()


def _shown(values: FloatArray, digits: IntArray) -> FloatArray:
    """Round each value to its number of decimals."""
    rounded = [round(float(v), int(d)) for v, d in zip(values, digits, strict=True)]
    return np.array(rounded, dtype=np.float64)
