"""A whole number, in digits or in words."""

from psychollm.instruments.readers.mentions import Value
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
