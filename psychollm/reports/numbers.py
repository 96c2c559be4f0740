"""Numbers as they are printed: true minus signs, no false precision, p-values without a zero."""

from collections.abc import Sequence
from typing import Any

import numpy as np

ABSENT = "–"
SPACE = "\u00a0"  # does not break


def number(value: float, digits: int = 2) -> str:
    """Return a number with a fixed number of decimals.

    Examples
    --------
    >>> number(-0.125, 2), number(float("nan"))
    ('−0.12', '–')
    """
    if value is None or np.isnan(value):
        return ABSENT
    if np.isinf(value):
        return "∞" if value > 0 else "−∞"
    text = f"{value:,.{digits}f}"
    if float(text.replace(",", "")) == 0.0:
        text = text.removeprefix("-")
    return text.replace("-", "−").replace(",", "\u202f")


def significant(value: float, digits: int = 3) -> str:
    """Return a number with some significant digits.

    Examples
    --------
    >>> significant(0.028467), significant(4.2226), significant(float("inf"))
    ('0.0285', '4.22', '∞')
    """
    if value is None or not np.isfinite(value) or value == 0.0:
        return number(value, 0)
    return number(value, max(0, digits - 1 - int(np.floor(np.log10(abs(value))))))


def percent(value: float, digits: int = 0) -> str:
    r"""Return a share as a percentage.

    Examples
    --------
    >>> percent(0.256)
    '26\u202f%'
    """
    text = number(100.0 * value, digits)
    return text if text == ABSENT else f"{text}\u202f%"


def count(value: float) -> str:
    r"""Return a whole number with thin spaces between thousands.

    Examples
    --------
    >>> count(12000)
    '12\u202f000'
    """
    return number(value, 0)


def interval(bounds: Sequence[float] | Any, digits: int = 2) -> str:
    r"""Return an interval in brackets.

    Examples
    --------
    >>> interval((0.1, float("inf"))), interval((float("nan"),) * 2)
    ('[0.10,\xa0∞]', '–')
    """
    lower, upper = (float(bound) for bound in bounds)
    if np.isnan(lower) and np.isnan(upper):
        return ABSENT
    return f"[{number(lower, digits)},{SPACE}{number(upper, digits)}]"


def estimate(value: float, bounds: Sequence[float] | Any, digits: int = 2) -> str:
    r"""Return a number with its interval.

    Examples
    --------
    >>> estimate(0.5, (0.25, 0.75))
    '0.50 [0.25,\xa00.75]'
    """
    if value is None or np.isnan(value):
        return ABSENT
    return f"{number(value, digits)} {interval(bounds, digits)}"


def p_value(value: float) -> str:
    """Return a p-value: three decimals below .1, two above, "< .001" below that.

    Examples
    --------
    >>> p_value(0.0421), p_value(0.5), p_value(1e-9), p_value(1.0)
    ('.042', '.50', '< .001', '1.00')
    """
    if value is None or np.isnan(value):
        return ABSENT
    if value < 0.001:
        return "< .001"
    text = f"{value:.3f}" if value < 0.0995 else f"{value:.2f}"
    return text.removeprefix("0")


def p_equals(value: float) -> str:
    r"""Return a p-value with its letter.

    Examples
    --------
    >>> p_equals(0.2), p_equals(0.0)
    ('p\xa0=\xa0.20', 'p\xa0<\xa0.001')
    """
    text = p_value(value)
    text = text if text.startswith("<") else f"= {text}"
    return f"p {text}".replace(" ", SPACE)
