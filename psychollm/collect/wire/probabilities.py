"""Log probabilities of a reply's tokens, and of the alternatives at its verdict.

The verdict is the text after the last "Answer:" of a reply, or the beginning of a reply without
this mark. A reply that begins with reasoning requires the mark, because its first token is not a
verdict.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from psychollm._base.untrusted_json import as_number

_LABELLED = r"(?i)\b(?:%s)\b[\s*_`]*(?::|\bis\b\s*:?)[\s*_`\"'(]*"
MARK = re.compile(_LABELLED % "answer")
# Further marks that may precede a number.
NUMBER_MARK = re.compile(_LABELLED % "answer|confidence|probability|rating|score")
_WORDS = ("yes", "no")
ROUNDING = 0.01  # tolerated excess over 1, because servers round or compute in 16-bit precision


@dataclass(frozen=True, slots=True)
class Token:
    """One token of a reply, and the most likely tokens at its position."""

    text: str
    logprob: float | None
    top: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class YesNoMass:
    """Probabilities that the verdict token is a form of "yes", and that it is a form of "no"."""

    # Report `captured` with `p_yes`, because other tokens may account for much of the probability.

    yes: float
    no: float

    @property
    def captured(self) -> float:
        """Total probability of "yes" and "no"."""
        return self.yes + self.no

    @property
    def p_yes(self) -> float:
        """Probability of "yes" divided by `captured`; NaN if neither "yes" nor "no" was listed."""
        return self.yes / self.captured if self.captured > 0 else math.nan


def word_of(token: str) -> str:
    """Return the word of a token in lower case, without space marks and punctuation."""
    return token.strip(" \t\r\n\u2581\u0120\u010a.,:;!*_\"'`()").casefold()


def logprob_of(value: Any) -> float | None:
    """Return a server's log probability, capped at zero, or None if it is invalid."""
    number = -math.inf if value == -math.inf else as_number(value)
    return None if number is None else min(number, 0.0)


def token_of(text: Any, logprob: Any, top: Iterable[tuple[Any, Any]] = ()) -> Token:
    """Return a token with its alternatives, if all their probabilities are valid."""
    pairs = [(text, logprob), *top]
    if any((as_number(value) or 0.0) > ROUNDING for _, value in pairs):
        pairs = [(text, None)]
    known = [(one, logprob_of(value)) for one, value in pairs]
    listed = tuple(
        (one, value) for one, value in known[1:] if isinstance(one, str) and value is not None
    )
    return Token(text if isinstance(text, str) else "", known[0][1], listed)


def openai_tokens(entries: Any, *, top: str = "top_logprobs") -> tuple[Token, ...]:
    """Return the tokens listed in one of OpenAI's formats."""
    if not isinstance(entries, list):
        return ()
    return tuple(
        token_of(one.get("token"), one.get("logprob"), _pairs(one.get(top)))
        for one in entries
        if isinstance(one, Mapping)
    )


def _pairs(listed: Any) -> list[tuple[Any, Any]]:
    entries = listed if isinstance(listed, list) else []
    return [(one.get("token"), one.get("logprob")) for one in entries if isinstance(one, Mapping)]


def verdict_at(tokens: Sequence[Token], *, mark: re.Pattern[str] = MARK) -> tuple[int, str] | None:
    """Return the index of the first verdict token, and whether "Answer:" precedes it."""
    text = "".join(one.text for one in tokens)
    marks = list(mark.finditer(text))
    start = marks[-1].end() if marks else 0
    end = 0
    for at, one in enumerate(tokens):
        end += len(one.text)
        if end > start and word_of(text[max(start, end - len(one.text)) : end]):
            return at, "answer" if marks else "first"
    # An empty reply, or a reply without text after the mark, contains no verdict.
    return (0, "first") if tokens and not marks else None


def listed_at(token: Token) -> dict[str, float]:
    """Return the probability of every listed token at a position, including the chosen one."""
    listed = {text: math.exp(logprob) for text, logprob in token.top}
    if listed and token.logprob is not None:
        listed.setdefault(token.text, math.exp(token.logprob))
    return listed


def yes_no_mass(tokens: Sequence[Token]) -> YesNoMass | None:
    """Sum the probabilities of all forms of "yes" and "no" at the verdict."""
    found = verdict_at(tokens)
    listed = listed_at(tokens[found[0]]) if found else {}
    if not listed:
        return None
    masses = dict.fromkeys(_WORDS, 0.0)
    for text, probability in listed.items():
        word = word_of(text)
        if word in masses:
            masses[word] += probability
    mass = YesNoMass(yes=masses["yes"], no=masses["no"])
    return mass if mass.captured <= 1.0 + ROUNDING else None


def sequence_logprob(tokens: Sequence[Token]) -> float | None:
    """Return the log probability of a whole reply, or None if any token lacks a probability."""
    known = [one.logprob for one in tokens if one.logprob is not None]
    return math.fsum(known) if known and len(known) == len(tokens) else None
