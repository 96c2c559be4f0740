"""Checks that a trace repeats: what was verified once is verified again.

A sentence that checks something is taken with the claim it checks: its own words if it has enough
of them, else those of the sentence that follows. Two claims are the same where they hold the same
numbers and share most of their other words.
"""

import re
from dataclasses import dataclass

from psychollm.instruments.coding.lexicon import LEXICON
from psychollm.instruments.readers.sentences import sentences

_CHECKS = tuple(cue for cue in LEXICON["evaluation"] if cue.name in {"check", "check as a verb"})
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?|[-+*/^=<>×÷]")
# Words of checking, and such as say nothing of what is checked.
_COMMON = (
    "a again all also an and another at be by can check checked checking confirm "
    "correct does double for from get good have i if in indeed is it just let let's "
    "make me more my need now of ok okay on once one only our quick quickly really "
    "recheck review right sanity see should so still sure test that the then there "
    "this time to too twice us validate verified verify verifying wait was we well "
    "whether will with yes "
)
_EMPTY = frozenset(_COMMON.split())
_ALIKE = 0.6  # share of the words of two claims that are in both
_ENOUGH = 2  # words or numbers that a claim has


@dataclass(frozen=True, slots=True)
class Verifications:
    """What a trace verifies."""

    claims: tuple[str, ...]
    repeats: tuple[int | None, ...]  # place of the earlier claim that each repeats

    @property
    def n(self) -> int:
        """How often something is verified."""
        return len(self.claims)

    @property
    def repeated(self) -> int:
        """How often something is verified that was verified before."""
        return sum(one is not None for one in self.repeats)

    @property
    def share(self) -> float:
        """Share of repeated verifications, NaN without any."""
        return self.repeated / self.n if self.n else float("nan")


def verifications(text: str) -> Verifications:
    """Find what a trace verifies, and what it verifies again."""
    text = text.replace("’", "'")
    known = [text[one.start : one.end] for one in sentences(text)]
    claims: list[str] = []
    for place, words in enumerate(known):
        if not _checks(words):
            continue
        after = known[place + 1] if place + 1 < len(known) else ""
        numbers, content = _parts(words)
        claims.append(words if len(numbers) + len(content) >= _ENOUGH else f"{words} {after}")
    parts = [_parts(claim) for claim in claims]
    return Verifications(
        tuple(claim.strip() for claim in claims),
        tuple(
            next((earlier for earlier in range(place) if _same(parts[earlier], part)), None)
            for place, part in enumerate(parts)
        ),
    )


def _checks(words: str) -> bool:
    return any(cue.places(words, 0, len(words)) for cue in _CHECKS)


def _parts(claim: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the numbers of a claim and its other words that say something."""
    words = frozenset(_WORD.findall(claim.lower())) - _EMPTY
    return frozenset(_NUMBER.findall(claim)), words


def _same(
    one: tuple[frozenset[str], frozenset[str]], two: tuple[frozenset[str], frozenset[str]]
) -> bool:
    if one[0] != two[0] or not (one[0] or one[1]):
        return False
    either = one[1] | two[1]
    return not either or len(one[1] & two[1]) / len(either) >= _ALIKE
