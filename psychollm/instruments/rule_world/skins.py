"""Surface forms of a world: invented words, or the words of a familiar trade.

All surface forms describe the same worlds in the same sentences; only the words differ. A
difference in performance between the words of a trade and invented words is therefore due to the
model's knowledge of the trade.

An invented word, such as "brazoden", consists of syllables (one or two consonants and a vowel) and
a final consonant. Two endings turn the word for one kind of unit into the words for the two other
kinds, as in languages that mark function by morphology. The assignment of endings to kinds is also
random.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

import numpy as np

from psychollm._base.checks import check_choice
from psychollm.instruments.rule_world.oracle import Kind, Unit, World

_ONSETS = ("b", "d", "f", "g", "k", "l", "m", "p", "s", "t", "v", "z", "br", "dr", "gl", "kl")
_MIDDLES = ("b", "d", "f", "g", "k", "l", "m", "p", "v", "z", "lb", "mb", "ndr", "rg", "sk", "zm")
_VOWELS = ("a", "e", "i", "o", "u")
_CODAS = ("b", "d", "f", "g", "k", "m", "p", "v", "z")
_ENDINGS = ("ash", "efi", "iru", "ogan", "uli", "ovim", "ezu", "andi")

N_SPARE = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """Invented words of one world."""

    unit: str  # word for a container of the load
    load: str
    passer: str  # kind of unit that passes its load
    endings: tuple[str, str]  # endings of the words for doublers and blockers
    spare: tuple[str, ...]  # words that no rule defines

    @property
    def doubler(self) -> str:
        """Word for a unit that doubles the load it receives."""
        return self.passer + self.endings[0]

    @property
    def blocker(self) -> str:
        """Word for a unit that blocks the move of a load."""
        return self.passer + self.endings[1]

    @property
    def words(self) -> tuple[str, ...]:
        """All words, with the spare words at the end."""
        return (self.unit, self.load, self.passer, self.doubler, self.blocker, *self.spare)


@lru_cache(maxsize=256)
def draw_vocabulary(seed: int, number: int = 0) -> Vocabulary:
    """Draw the words of one world."""
    rng = np.random.default_rng([seed, number, 0x0D])
    words: list[str] = []
    while len(words) < 3 + N_SPARE:
        word = _word(rng)
        if all(_distinct(word, other) for other in words):
            words.append(word)
    first, second = rng.choice(len(_ENDINGS), size=2, replace=False)
    return Vocabulary(
        unit=words[0],
        load=words[1],
        passer=words[2],
        endings=(_ENDINGS[first], _ENDINGS[second]),
        spare=tuple(words[3:]),
    )


def occurrences(vocabulary: Vocabulary, texts: Iterable[str]) -> dict[str, int]:
    """Count the occurrences of each word in texts, such as a sample of a training corpus."""
    counts = dict.fromkeys(vocabulary.words, 0)
    for text in texts:
        lower = text.lower()
        for word in counts:
            counts[word] += lower.count(word)
    return counts


def _word(rng: np.random.Generator) -> str:
    parts = (_ONSETS, _VOWELS, _MIDDLES, _VOWELS, _MIDDLES[:10], _VOWELS, _CODAS)
    return "".join(part[rng.integers(len(part))] for part in parts)


def _distinct(word: str, other: str) -> bool:
    """Return whether two words differ at both ends, so that a typo cannot confuse them."""
    return word[:3] != other[:3] and word[-3:] != other[-3:]


Skin: TypeAlias = Literal["synthetic", "circuits", "plumbing"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lexicon:
    """Words with which a world is described."""

    unit: str
    load: str
    measure: str  # text between a number and the word for the load
    passer: str
    doubler: str
    blocker: str
    faces: str  # verb for facing a unit, in the third person
    set_off: str  # participle of the verb for setting off a unit
    kinds: tuple[str, ...]  # kinds of units that no rule defines
    quantities: tuple[str, ...]  # quantities that no rule defines

    @property
    def units(self) -> str:
        """Plural of `unit`."""
        return f"{self.unit}s"

    def amount(self, n: int) -> str:
        """Return a phrase for an amount of the load."""
        return f"{n} {self.measure}{self.load}"

    def word(self, kind: Kind) -> str:
        """Return the word for a kind that the rules define."""
        return {
            Kind.PASSER: self.passer,
            Kind.DOUBLER: self.doubler,
            Kind.BLOCKER: self.blocker,
        }[kind]


_CIRCUITS = Lexicon(
    unit="cell",
    load="charge",
    measure="units of ",
    passer="driver",
    doubler="gain",
    blocker="shielded",
    faces="leads to",
    set_off="switched on",
    kinds=("bridge", "shunt", "ballast", "pilot", "trimmer", "choke", "latch", "phased"),
    quantities=("slew", "bias", "ripple", "reluctance", "drift", "skew", "jitter", "hum"),
)
_PLUMBING = Lexicon(
    unit="tank",
    load="water",
    measure="litres of ",
    passer="feeder",
    doubler="booster",
    blocker="sealed",
    faces="drains towards",
    set_off="opened",
    kinds=("header", "buffer", "ballast", "sump", "siphon", "surge", "baffled", "lagged"),
    quantities=("scale", "silt", "sludge", "draught", "priming", "lather", "froth", "brine"),
)


def lexicon(skin: Skin, *, seed: int = 0, number: int = 0) -> Lexicon:
    """Return the words of a surface form."""
    check_choice("skin", skin, Skin)
    if skin != "synthetic":
        return _CIRCUITS if skin == "circuits" else _PLUMBING
    words = draw_vocabulary(seed, number)
    half = len(words.spare) // 2
    return Lexicon(
        unit=words.unit,
        load=words.load,
        measure="",
        passer=words.passer,
        doubler=words.doubler,
        blocker=words.blocker,
        faces="faces",
        set_off="roused",
        kinds=words.spare[:half],
        quantities=words.spare[half:],
    )


MARK = "Answer:"
_OPEN = (
    f'Use the rules alone. End with one line that begins with "{MARK}" and goes on with a whole '
    "number if the rules settle it, or else with the word or the event that leaves it open."
)
_CHOICE = (
    "Which one of these statements is right? Use the rules alone. End with one line that begins "
    f'with "{MARK}" and goes on with the letter of the statement.'
)


def scenario(world: World, words: Lexicon, undefined: str | None = None) -> str:
    """Return the description of a world and its steps."""
    lines = [_unit(unit, words, undefined) for unit in world.units]
    lines += [_step(i, step, words) for i, step in enumerate(world.steps, 1)]
    return "\n".join(lines)


def question(world: World, words: Lexicon, undefined: str | None = None) -> str:
    """Return the question about the final load of one unit."""
    what = words.load if world.asks_load else undefined
    return f"How much {what} does {world.asked} hold at the end?"


def closing(statements: tuple[tuple[str, str], ...] = ()) -> str:
    """Return the instruction on how to end the reply, preceded by the statements, if any."""
    if not statements:
        return _OPEN
    return "\n".join([*(f"{letter}. {text}" for letter, text in statements), _CHOICE])


def _unit(unit: Unit, words: Lexicon, undefined: str | None) -> str:
    kind = undefined if unit.kind is Kind.UNKNOWN else words.word(unit.kind)
    held = words.amount(unit.load) if unit.measured else f"{unit.load} {words.measure}{undefined}"
    start = f"{unit.label} is a {kind} {words.unit} that holds {held}."
    return f"{start} It {words.faces} {' and '.join(unit.faces)}." if unit.faces else start


def _step(number: int, step: tuple[str, ...], words: Lexicon) -> str:
    if len(step) == 1:
        return f"Step {number}: {step[0]} is {words.set_off}."
    return f"Step {number}: {' and '.join(step)} are {words.set_off} at the same moment."
