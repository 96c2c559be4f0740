"""A value within a text, and in what manner it stands there."""

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from psychollm.instruments.readers.sentences import Sentence, conditional, denied

Value: TypeAlias = float | str


class Mode(Enum):
    """In what manner a value stands in a text.

    Examples
    --------
    >>> Mode.SAID.value
    'said'
    """

    SAID = "said"
    DENIED = "denied"
    RAISED = "raised"  # asked, supposed, or in a form that says something else
    OPEN = "left open"


@dataclass(frozen=True, slots=True)
class Mention:
    """One value within a text, and where it stands.

    Examples
    --------
    >>> Mention(3, 10, 11).mode.value
    'said'
    """

    value: Value
    start: int
    end: int
    mode: Mode = Mode.SAID
    heads: bool = False  # whether it opens its sentence


def manner(text: str, sentence: Sentence, start: int) -> Mode:
    """Return in what manner a sentence holds what stands at a position.

    Parameters
    ----------
    text : str
        What the sentence is part of.
    sentence : Sentence
        One of `sentences`.
    start : int
        Where the value begins.

    Examples
    --------
    >>> from psychollm.instruments.readers.sentences import sentences
    >>> manner("Is it 5?", sentences("Is it 5?")[0], 6).value
    'raised'
    """
    if sentence.asks or conditional(text, start):
        return Mode.RAISED
    return Mode.DENIED if denied(text, start) else Mode.SAID
