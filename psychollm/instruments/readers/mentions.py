"""A value within a text, and in what manner it stands there."""

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

Value: TypeAlias = float | str


class Mode(Enum):
    """In what manner a value stands in a text."""

    SAID = "said"
    DENIED = "denied"  # or excluded, reported, wished for: not what the writer says
    ASKED = "asked"
    RAISED = "raised"  # supposed, or in a form that says something else
    OPEN = "left open"


@dataclass(frozen=True, slots=True)
class Mention:
    """One value within a text, and where it stands."""

    value: Value
    start: int
    end: int
    mode: Mode = Mode.SAID
    heads: bool = False  # whether it opens its sentence
