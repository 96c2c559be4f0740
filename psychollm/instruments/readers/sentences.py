"""Where sentences and clauses begin and end, and what a clause denies or asks."""

import re
from typing import NamedTuple

# Letters with their marks: `\\w` alone ends Hindi and Arabic words at a vowel sign.
WORD = r"\w\u0300-\u036f\u0591-\u05c7\u064b-\u0655\u0670\u0900-\u0903\u093a-\u094f\u0e31-\u0e4e"

_END = re.compile(
    r"(?<![.!?])[.!?]+[\"')\]}]*(?!\s?[=×*/])(?=\s|$|[\u3040-\u9fff\uac00-\ud7af])|\n+"
)
_BREAK = re.compile(
    r"[;:!?\n()–]|[.,](?![0-9])|(?<![\w'])(?:(?<![Aa]ll )(?<!thing )(?<!none )(?<![Aa]ny \w{6} )but|yet|however|though|so|aber|sondern|mais|pero|sino|ma|mas"
    r"|sondern|maar|ale|lecz|но|а|ama|fakat|يل|بل|लेकिन|बल्कि)(?![\w'])"
)
_NEGATION = re.compile(
    rf"(?<![{WORD}'])(?:not|never|cannot|can't|cant|neither|nor|rather than|instead of|nicht"
    rf"|kein\w{{0,2}}|pas|jamais|nunca|não|niet|geen|nie|не|ليس|ليست)(?![{WORD}'])|n't(?!\w)|不是|并非"
)
_CONDITION = re.compile(
    r"(?i)\W{0,3}(?:even |and |but )?(?:if|whether|wenn|ob|jeśli|если|eğer|如果)(?!\w)"
)
_COLON = re.compile(r"[:=][\s\"'(\[]*$")
_REACH = 60  # how far back a denial is looked for: clauses are rarely longer


class Sentence(NamedTuple):
    """Where a sentence stands in a text."""

    start: int
    end: int
    asks: bool


def sentences(text: str) -> list[Sentence]:
    """Return the sentences of a text; lines end them as well."""
    found: list[Sentence] = []
    start = 0
    for end in [*_END.finditer(text), None]:
        stop = len(text) if end is None else end.end()
        words = text[start:stop]
        if words.strip():
            lead = len(words) - len(words.lstrip())
            asks = end is not None and "?" in end.group()
            found.append(Sentence(start + lead, start + len(words.rstrip()), asks))
        start = stop
    return found


def clause_before(text: str, position: int, *, colon: bool = False) -> str:
    """Return the words of a clause that stand before a position."""
    # With `colon`, those before a colon that stands there count as well ("He said: yes").
    reach = text[max(position - _REACH, 0) : position]
    end = _COLON.search(reach) if colon else None
    breaks = list(_BREAK.finditer(reach, 0, end.start() if end else len(reach)))
    return reach[breaks[-1].end() :] if breaks else reach


def conditional(text: str, position: int) -> bool:
    """Tell whether the clause only supposes what stands at a position."""
    return _CONDITION.match(clause_before(text, position)) is not None


def denied(text: str, position: int) -> bool:
    """Tell whether the clause denies what stands at a position."""
    return _NEGATION.search(clause_before(text, position).lower()) is not None
