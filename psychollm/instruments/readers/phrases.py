"""Phrases of a scale within a text: the longest counts, and a modifier makes another phrase of it."""

import re
from collections.abc import Mapping

from psychollm.instruments.readers.clauses import WORD, Mention, Mode, Value, manner, sentences

_MODIFIER = re.compile(
    r"(?:\b(?:almost|nearly|extremely|quite|fairly|rather|somewhat|pretty|more|less|most|least|very"
    r"|highly|slightly|reasonably|moderately|really|so|too|hardly|barely|as|how|than|ziemlich|eher|assez"
    r"|plus|moins|bastante|más|menos|abbastanza|più|meno|mais|vrij|tamelijk|dość|довольно|весьма|oldukça"
    r")\s|un|non-?)$"
)
# "Likely not" denies; "likely not because ... but" is left open all the same.
_DENIED_AFTER = re.compile(r"\s(?:not|nicht|pas)\b")
_UNSPACED = "\u3000"  # from here on, scripts that do not set words apart


class Phrases:
    """Find the phrases of a scale."""

    def __init__(self, values: Mapping[str, Value]) -> None:
        self._values = {_key(phrase): value for phrase, value in values.items()}
        self._pattern = re.compile(
            "|".join(_pattern(phrase) for phrase in sorted(self._values, key=len, reverse=True))
        )

    def mentions(self, text: str) -> list[Mention]:
        """Return the phrases in a text."""
        lower = text.lower()
        found = []
        # A phrase may hold a word of denial ("never true") that denies no other phrase.
        others = self._pattern.sub(lambda phrase: " " * len(phrase.group()), lower)
        for sentence in sentences(re.sub(r"\n(?=[^\n])", " ", lower)):
            for one in self._pattern.finditer(lower, sentence.start, sentence.end):
                before = lower[max(one.start() - 16, 0) : one.start()]
                if before.endswith("a ") and one.group() == "certain":
                    continue  # "a certain amount"
                mode = manner(others, sentence, *one.span())
                if mode is Mode.SAID and _MODIFIER.search(before):
                    mode = Mode.RAISED
                if mode is Mode.SAID and _DENIED_AFTER.match(lower, one.end()):
                    mode = Mode.DENIED
                found.append(Mention(self._values[_key(one.group())], *one.span(), mode))
        return found


def _key(phrase: str) -> str:
    return " ".join(re.split(r"[\s_-]+", phrase.lower().strip()))


def _pattern(phrase: str) -> str:
    body = r"[\s_-]{1,3}".join(re.escape(word) for word in phrase.split(" "))
    return body if phrase >= _UNSPACED else rf"(?<![{WORD}'-]){body}(?![{WORD}'])"
