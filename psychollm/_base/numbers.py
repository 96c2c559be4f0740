"""Formatting of numbers and p-values for sentences, tables, figures and reports.

The functions write plain text. For pages and figures, `typeset` adds true minus signs and
non-breaking spaces.
"""

import re
from collections.abc import Sequence
from math import floor, inf, isfinite, isnan, log10
from typing import Any

ABSENT = "–"  # text of an undefined number in a table
UNDEFINED = "undefined"  # text of an undefined number in a sentence

_TYPESET = (
    (re.compile(r"(?<![^\s(\[=,;±>])-(?=[\d.∞])"), "−"),
    (re.compile(r"(?<=\d),(?=\d{3}(?!\d))"), "\u202f"),
    (re.compile(r"(?<=\d) %"), "\u202f%"),
    (re.compile(r"\bp (=|<|&lt;) (?=\.?\d)"), "p\u00a0\\1\u00a0"),
    (re.compile(r"(\[[−\d.∞–\u202f%]+,) (?=[−\d.∞–\u202f%]+\])"), "\\1\u00a0"),
    (re.compile(r"(?<![\w-])R2 (?=(?:= |is )?[-−]?\d?\.\d|alone\b)"), "R² "),
    (re.compile(r"\bchi2\("), "χ²("),
    (re.compile(r"(?<=\([A-Z]) - (?=[A-Z]\))"), " − "),
    (re.compile(r"(?<=[a-z])(?:'|&#39;|&#x27;)(?=[a-z]\b)"), "’"),
)


def number(value: float, digits: int = 2, *, signed: bool = False, absent: str = ABSENT) -> str:
    """Return a number as text with a fixed number of decimals; a rounded -0 loses its sign.

    Parameters
    ----------
    value : float
        Number to print; None counts as undefined.
    digits : int
        Number of decimals.
    signed : bool
        Whether to print a plus sign before positive numbers, as for differences.
    absent : str
        Text for an undefined number.

    Examples
    --------
    >>> number(-0.125), number(-0.001), number(0.25, 1, signed=True), number(float("nan"))
    ('-0.12', '0.00', '+0.2', '–')
    """
    if value is None or isnan(value):
        return absent
    if value in (inf, -inf):
        return "-∞" if value < 0 else "+∞" if signed else "∞"
    text = f"{value:.{digits}f}"
    if not text.strip("-0."):
        return text.removeprefix("-")
    return f"+{text}" if signed and value > 0 else text


def signed(value: float, digits: int = 2) -> str:
    """Return a number with its sign, for differences and correlations.

    Examples
    --------
    >>> signed(0.25), signed(-0.001), signed(float("nan"))
    ('+0.25', '0.00', '–')
    """
    return number(value, digits, signed=True)


def significant(value: float, digits: int = 3, *, signed: bool = False) -> str:
    """Return a number with `digits` significant digits.

    Examples
    --------
    >>> significant(0.028467), significant(4.2226), significant(float("inf"))
    ('0.0285', '4.22', '∞')
    """
    if value is None or not isfinite(value) or value == 0.0:
        return number(value, 0, signed=signed)
    return number(value, max(0, digits - 1 - floor(log10(abs(value)))), signed=signed)


def percent(value: float, digits: int = 0) -> str:
    """Return a proportion as a percentage.

    Examples
    --------
    >>> percent(0.256), percent(float("nan"))
    ('26 %', '–')
    """
    text = number(100.0 * value, digits)
    return text if text == ABSENT else f"{text} %"


def count(value: float) -> str:
    """Return a whole number with thousands separators.

    Examples
    --------
    >>> count(12000.0), count(float("nan"))
    ('12,000', '–')
    """
    return ABSENT if value is None or isnan(value) else f"{value:,.0f}"


def interval(bounds: Sequence[float] | Any, digits: int = 2, *, signed: bool = False) -> str:
    """Return an interval in brackets.

    Examples
    --------
    >>> interval((0.1, float("inf"))), interval((float("nan"),) * 2)
    ('[0.10, ∞]', '–')
    """
    lower, upper = (number(float(bound), digits, signed=signed) for bound in bounds)
    return ABSENT if lower == upper == ABSENT else f"[{lower}, {upper}]"


def with_interval(
    value: float,
    bounds: Sequence[float] | Any,
    digits: int = 2,
    *,
    signed: bool = False,
    absent: str = UNDEFINED,
) -> str:
    """Return a number with its interval, if it has one.

    Examples
    --------
    >>> with_interval(0.5, (0.25, 0.75)), with_interval(-0.1, (float("nan"),) * 2, 1)
    ('0.50 [0.25, 0.75]', '-0.1')
    """
    if value is None or isnan(value):
        return absent
    text, beside = number(value, digits, signed=signed), interval(bounds, digits, signed=signed)
    return text if beside == ABSENT else f"{text} {beside}"


def extent(values: Sequence[float] | Any, digits: int = 2, *, signed: bool = False) -> str:
    """Return the range of the values, ignoring undefined values.

    Examples
    --------
    >>> extent([0.25, float("nan"), 0.5]), extent([0.25, 0.25]), extent([])
    ('0.25 to 0.50', '0.25', 'undefined')
    """
    known = [float(value) for value in values if isfinite(value)]
    if not known:
        return UNDEFINED
    low, high = (number(end, digits, signed=signed) for end in (min(known), max(known)))
    return low if low == high else f"{low} to {high}"


def p_value(value: float) -> str:
    """Return a p-value with three decimals and no leading zero; values below .001 give "< .001".

    Examples
    --------
    >>> p_value(0.0421), p_value(0.5), p_value(1e-9), p_value(1.0), p_value(float("nan"))
    ('.042', '.500', '< .001', '1.000', '–')
    """
    if value is None or isnan(value):
        return ABSENT
    return "< .001" if value < 0.001 else f"{value:.3f}".removeprefix("0")


def p_equals(value: float) -> str:
    """Return a p-value as printed in a sentence, such as "p = .012".

    Examples
    --------
    >>> p_equals(0.2), p_equals(0.0), p_equals(float("nan"))
    ('p = .200', 'p < .001', 'p undefined')
    """
    text = p_value(value)
    if text == ABSENT:
        return f"p {UNDEFINED}"
    return f"p {text}" if text.startswith("<") else f"p = {text}"


def typeset(text: str) -> str:
    r"""Return plain text with the typography of pages and figures.

    Numbers get true minus signs, thin spaces between thousands and before the per cent sign, and
    non-breaking spaces inside intervals and after the letter p. Squares and apostrophes become
    typographic characters.

    Examples
    --------
    >>> typeset("-0.12 [-0.30, 0.05], p = .042, on 12,000 questions of gpt-4 (26 %)")
    '−0.12 [−0.30,\xa00.05], p\xa0=\xa0.042, on 12\u202f000 questions of gpt-4 (26\u202f%)'
    >>> typeset("the model's R2 = 0.73, R2 is 0.20, chi2(1) = 2.10 (C - A)")
    'the model’s R² = 0.73, R² is 0.20, χ²(1) = 2.10 (C − A)'
    """
    for pattern, new in _TYPESET:
        text = pattern.sub(new, text)
    return text
