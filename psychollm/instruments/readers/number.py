"""A number of any kind."""

from typing import Literal

from psychollm._base.checks import check_choice
from psychollm.instruments.readers.clauses import Value
from psychollm.instruments.readers.numerals import Numeral
from psychollm.instruments.readers.numeric_form import NumericForm
from psychollm.instruments.readers.verdict import read
from psychollm.instruments.reading import Reading


def read_integer(reply: str, *, finish_reason: str | None = None) -> Reading:
    """Read a whole number.

    Thousands may be grouped by commas, spaces, apostrophes, or points where there are two of them;
    "1.234" may be one number or another and is ambiguous. Bounds and ranges are ambiguous too. A
    number at the end of a reply that was cut off may go on, so that it is not read.

    Parameters
    ----------
    reply : str
        Whatever came back.
    finish_reason : str, optional
        "length" if the reply was cut off.

    Examples
    --------
    >>> read_integer("10 - 4 = 6, so she has 6 coins.").value
    6
    >>> read_integer("5 or 6").outcome.value
    'ambiguous'
    """
    return read(reply, _Integer(), finish_reason)


class _Integer(NumericForm):
    states = True
    labels = ("sum", "number", "amount")

    def value(self, one: Numeral) -> Value | None:
        if one.out_of is not None or one.percent or one.value != int(one.value):
            return int(one.written.replace(".", "")) if one.doubtful else None
        return int(one.value)

    def unclear(self, one: Numeral) -> bool:
        return one.doubtful


DecimalMark = Literal[".", ","]


def read_number(
    reply: str, *, decimal_mark: DecimalMark = ".", finish_reason: str | None = None
) -> Reading:
    """Read a number: whole, decimal, a fraction, or a percentage, which stays as written (80 for 80 %).

    Parameters
    ----------
    reply : str
        Whatever came back.
    decimal_mark : {".", ","}
        How to read one mark before three digits: "1,234" is 1234 with ".", and 1.234 with ",".
        Marks before any other number of digits are decimal marks either way.
    finish_reason : str, optional
        "length" if the reply was cut off.

    Examples
    --------
    >>> read_number("about 3.14").value, read_number("3/4").value
    (3.14, 0.75)
    >>> read_number("1.234", decimal_mark=",").value
    1234
    """
    check_choice("decimal_mark", decimal_mark, DecimalMark)
    return read(reply, _Number(decimal_mark), finish_reason)


class _Number(NumericForm):
    states = True
    labels = ("sum", "number", "amount", "value")

    def __init__(self, decimal_mark: DecimalMark) -> None:
        self._comma = decimal_mark == ","

    def value(self, one: Numeral) -> Value | None:
        if one.out_of is not None:
            return one.value / one.out_of if one.out_of else None
        sign = -1 if one.value < 0 else 1
        if self._comma and one.doubtful:
            return int(one.written.replace(".", "")) * sign
        if self._comma and one.written.count(",") == 1 and "." not in one.written:
            return float(one.written.replace(",", ".")) * sign
        return one.value
