"""Parsers that return the coded answer of a reply, or a failure category.

Each parser maps any text to a `Reading`. A parser never raises an error for a reply, and never
guesses if a reply gives no answer or two different answers. All parsers consider the evidence in
the same order, which the module `verdict` describes.
"""

from psychollm.instruments.readers.number import read_integer, read_number
from psychollm.instruments.readers.numbered import read_numbered
from psychollm.instruments.readers.option import read_option
from psychollm.instruments.readers.percent import read_percent
from psychollm.instruments.readers.rating import read_rating
from psychollm.instruments.readers.refusals import declines
from psychollm.instruments.readers.verbal import CONFIDENCE_LEVELS, LIKELIHOOD, read_verbal
from psychollm.instruments.readers.yes_no import CAN_ANSWER, CANNOT_ANSWER, read_yes_no

__all__ = [
    "CANNOT_ANSWER",
    "CAN_ANSWER",
    "CONFIDENCE_LEVELS",
    "LIKELIHOOD",
    "declines",
    "read_integer",
    "read_number",
    "read_numbered",
    "read_option",
    "read_percent",
    "read_rating",
    "read_verbal",
    "read_yes_no",
]
