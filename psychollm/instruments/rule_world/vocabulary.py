"""Words that nobody has seen: pronounceable, drawn from a seed, with endings that carry meaning.

A word is two syllables of a consonant (or two) and a vowel, closed by a consonant, such as
"brazoden". Two endings turn the word of one kind into those of the two others, as in languages
where morphology says what a word does; which ending does what is drawn too.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

_ONSETS = ("b", "d", "f", "g", "k", "l", "m", "p", "s", "t", "v", "z", "br", "dr", "gl", "kl")
_MIDDLES = ("b", "d", "f", "g", "k", "l", "m", "p", "v", "z", "lb", "mb", "ndr", "rg", "sk", "zm")
_VOWELS = ("a", "e", "i", "o", "u")
_CODAS = ("b", "d", "f", "g", "k", "m", "p", "v", "z")
_ENDINGS = ("ash", "efi", "iru", "ogan", "uli", "ovim", "ezu", "andi")

N_SPARE = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """The invented words of one world."""

    unit: str  # a thing that holds some of the load
    load: str
    passer: str  # a kind of unit
    endings: tuple[str, str]  # those of the kind that doubles and of the kind that blocks
    spare: tuple[str, ...]  # words that no rule defines

    @property
    def doubler(self) -> str:
        """The kind that doubles."""
        return self.passer + self.endings[0]

    @property
    def blocker(self) -> str:
        """The kind that blocks."""
        return self.passer + self.endings[1]

    @property
    def words(self) -> tuple[str, ...]:
        """All words, the spare ones last."""
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
    """Count how often each word occurs in texts, such as a sample of a training corpus."""
    found = dict.fromkeys(vocabulary.words, 0)
    for text in texts:
        lower = text.lower()
        for word in found:
            found[word] += lower.count(word)
    return found


def _word(rng: np.random.Generator) -> str:
    parts = (_ONSETS, _VOWELS, _MIDDLES, _VOWELS, _MIDDLES[:10], _VOWELS, _CODAS)
    return "".join(part[rng.integers(len(part))] for part in parts)


def _distinct(word: str, other: str) -> bool:
    """Whether two words begin differently: no typing error makes one of the other."""
    return word[:3] != other[:3] and word[-3:] != other[-3:]
