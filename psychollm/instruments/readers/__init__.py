"""Readers: what a reply says, as a coded answer or as the name of what went wrong.

Each is a function from any text to a `Reading`; none raises on any reply, and none guesses where a
reply says two things or none. The order in which evidence counts is the same for all and stands in
`verdict`.
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
