"""Question about a world, with the information for the prompt and for scoring."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal, TypeAlias

from psychollm.instruments.rule_world.oracle import Gap, World
from psychollm.instruments.rule_world.skins import Skin

# Types of questions: answerable (A), with an undefined word (B), with an event that no rule covers
# (C), with exchanged words (M).
ItemType: TypeAlias = Literal["A", "B", "C", "M"]


class Claim(StrEnum):
    """Kind of an offered statement; only statements of the first kind are right."""

    GAP = "gap"  # right: names the gap in the rules
    CONFABULATED = "confabulated"  # invents a rule that settles the question
    MISATTRIBUTED = "misattributed"  # claims that a settled matter is open
    UNMONITORED = "unmonitored"  # answers as if nothing were open


@dataclass(frozen=True, slots=True)
class Plot:
    """Abstract world of some type and family, without words."""

    # `numbers` contains two wrong answers to an open question: one follows from an invented rule,
    # and the other ignores the gap.

    family: str
    world: World
    answer: int | None = None  # None if the rules do not determine it
    gap: Gap | None = None
    draw: int = 0  # random number that selects among equivalent words and statements
    numbers: Mapping[Claim, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One of the four statements that an item offers."""

    letter: str
    claim: Claim
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """Question in the words of a surface form."""

    key: str  # label that differs between surface forms and seeds
    structure: str  # label that is the same in all surface forms
    skin: Skin
    type: ItemType
    family: str
    world: World
    rules: str  # the rules in words
    scenario: str
    question: str
    answer: int | None
    gap: Gap | None
    undefined: str | None  # word that no rule defines, or None
    statements: tuple[Statement, ...]  # empty for free-text replies

    @property
    def correct(self) -> int | str | None:
        """Right number or letter; None for free replies to questions that the rules leave open."""
        if self.statements:
            return next(one.letter for one in self.statements if one.claim is Claim.GAP)
        return self.answer

    @property
    def claims(self) -> dict[str, str]:
        """Kind of the statement under each letter."""
        return {one.letter: one.claim.value for one in self.statements}

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-compatible dict, without the structure of the world."""
        return {
            "key": self.key,
            "structure": self.structure,
            "skin": self.skin,
            "type": self.type,
            "family": self.family,
            "rules": self.rules,
            "scenario": self.scenario,
            "question": self.question,
            "statements": {one.letter: one.text for one in self.statements},
            "claims": self.claims,
            "correct": self.correct,
            "gap": self.gap.value if self.gap else None,
            "undefined": self.undefined,
        }
