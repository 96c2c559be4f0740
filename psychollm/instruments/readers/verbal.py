"""Parse a likelihood in words.

`LIKELIHOOD` maps seven expressions to probabilities. The expressions, in two wordings, and their
ranges are from the United States Intelligence Community Directive 203 (Office of the Director of
National Intelligence, 2015): 1-5 %, 5-20 %, 20-45 %, 45-55 %, 55-80 %, 80-95 %, 95-99 %. The
probabilities are the midpoints of the ranges. "Impossible" and "certain" are added with the values
0 and 1. Common translations have the same value as the English expression.

`CONFIDENCE_LEVELS` maps five levels of confidence to equal steps. Equal steps are a convention,
because people and models differ in their use of words for confidence. Any other mapping from
phrases to values can be passed.

If phrases of a scale overlap, the longest phrase counts. A phrase with a modifier is a different
phrase.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

from psychollm._base.errors import InputError
from psychollm.instruments.readers.clauses import (
    WORD,
    Mention,
    Mode,
    Value,
    leads,
    manner,
    of_error,
    sentences,
)
from psychollm.instruments.readers.lexicon import VERBAL_LEADS
from psychollm.instruments.readers.verdict import Form, read
from psychollm.instruments.reading import Reading

_MODIFIER = re.compile(
    r"(?:\b(?:(?!definite|certain|absolute|clear|honest|probab|like|simp|tru|sure|real|general|overal)[a-z]+ly|almost|nearly|extremely|quite|fairly|rather|somewhat|pretty|more|less|most|least|very"
    r"|highly|slightly|reasonably|moderately|really|so|too|hardly|barely|how|than|ziemlich|eher|assez"
    r"|plus|moins|bastante|más|menos|abbastanza|più|meno|mais|vrij|tamelijk|dość|довольно|весьма|oldukça"
    r")\s|un|non-?)$"
)
# "Likely not" denies the value; "likely not because ... but" leaves it open.
_DENIED_AFTER = re.compile(
    r"\s(?:(?:not|nicht|pas|as|somewhat|[a-z]*(?:strong|complete|total|slight|part|full|whole-?hearted|most)ly)\b)"
)
_UNSPACED = "\u3000"  # first code point of scripts without spaces


class Phrases:
    """Searchable phrases of a scale, with their values."""

    def __init__(self, values: Mapping[str, Value]) -> None:
        self._values = {_key(phrase): value for phrase, value in values.items()}
        self._pattern = re.compile(
            "|".join(_pattern(phrase) for phrase in sorted(self._values, key=len, reverse=True))
        )

    def mentions(self, text: str) -> list[Mention]:
        """Return the phrases in a text."""
        lower = text.lower()
        mentions = []
        # A negation inside a phrase ("never true") does not deny another phrase.
        others = self._pattern.sub(lambda phrase: " " * len(phrase.group()), lower)
        for sentence in sentences(re.sub(r"\n(?=[^\n])", " ", lower)):
            for one in self._pattern.finditer(lower, sentence.start, sentence.end):
                before = lower[max(one.start() - 16, 0) : one.start()]
                if before.endswith("a ") and one.group() == "certain":
                    continue  # no likelihood, as in "a certain amount"
                mode = manner(others, sentence, *one.span())
                mode = mode.raised_if(_MODIFIER.search(before) is not None)
                if mode is Mode.SAID and _DENIED_AFTER.match(lower, one.end()):
                    mode = Mode.DENIED
                mentions.append(Mention(self._values[_key(one.group())], *one.span(), mode))
        return mentions


def _key(phrase: str) -> str:
    return " ".join(re.split(r"[\s_-]+", phrase.lower().strip()))


def _pattern(phrase: str) -> str:
    body = r"[\s_-]{1,3}".join(re.escape(word) for word in phrase.split(" "))
    return body if phrase >= _UNSPACED else rf"(?<![{WORD}'-]){body}(?![{WORD}'])"


_LIKELIHOOD = """
0: impossible|unmöglich|imposible|impossibile|impossível|onmogelijk|niemożliwe|невозможно|imkansız
0.03: almost no chance|remote|remote chance|almost certainly not
0.125: very unlikely|highly improbable|very improbable|sehr unwahrscheinlich|très peu probable|très improbable|muy poco probable|muy improbable|molto improbabile|muito improvável|zeer onwaarschijnlijk|bardzo mało prawdopodobne|очень маловероятно|非常不可能|极不可能|可能性が非常に低い|가능성이 매우 낮음|غير محتمل جدا|बहुत असंभावित
0.325: unlikely|improbable|unwahrscheinlich|peu probable|poco probable|improbabile|poco probabile|improvável|pouco provável|onwaarschijnlijk|mało prawdopodobne|маловероятно|düşük olasılık|olası değil|不太可能|可能性が低い|가능성이 낮음|غير محتمل|असंभावित
0.5: roughly even chance|roughly even odds|roughly even|about even|even odds|even chance|about even odds|about even chance
0.675: likely|probable|wahrscheinlich|probabile|provável|waarschijnlijk|prawdopodobne|вероятно|muhtemelen|olası|可能|可能性が高い|가능성이 높음|محتمل|संभावित
0.875: very likely|highly probable|very probable|sehr wahrscheinlich|très probable|muy probable|molto probabile|muito provável|zeer waarschijnlijk|bardzo prawdopodobne|очень вероятно|büyük olasılıkla|很可能|非常可能|可能性が非常に高い|가능성이 매우 높음|محتمل جدا|बहुत संभावित
0.97: almost certain|almost certainly|nearly certain|fast sicher|nahezu sicher|presque certain|quasi certain|casi seguro|casi cierto|quasi certo|quase certo|bijna zeker|prawie pewne|почти наверняка|neredeyse kesin|几乎肯定|ほぼ確実|거의 확실|شبه مؤكد|लगभग निश्चित
1: certain
"""
_LEVELS = """
0.1: very low|very unconfident|very unsure
0.3: low|not very confident|unconfident|unsure
0.5: medium|moderate|moderately confident|somewhat confident
0.7: high|confident|sure
0.9: very high|very confident|very sure|highly confident
"""


def _scale(table: str) -> dict[str, float]:
    """Return the value of each phrase, from a table with one value and its phrases per line."""
    rows = (line.split(": ") for line in table.strip().splitlines())
    return {phrase: float(value) for value, phrases in rows for phrase in phrases.split("|")}


LIKELIHOOD: Mapping[str, float] = _scale(_LIKELIHOOD)
CONFIDENCE_LEVELS: Mapping[str, float] = _scale(_LEVELS)


def read_verbal(
    reply: str,
    *,
    scale: Mapping[str, float] = LIKELIHOOD,
    finish_reason: str | None = None,
) -> Reading:
    """Parse a likelihood in words.

    The longest phrase counts ("very likely", not "likely"). A denied phrase is a different phrase
    and is ignored. A phrase with a modifier that is not on the scale ("quite likely") is also
    ignored.

    Parameters
    ----------
    reply : str
        The reply.
    scale : mapping of str to float
        Mapping from each phrase to its value.
    finish_reason : str, optional
        Reason why the generation ended; "length" means that the reply was cut off.

    Raises
    ------
    InputError
        If the scale contains no phrases.

    Examples
    --------
    >>> read_verbal("It is very likely.").value
    0.875
    >>> read_verbal("Confidence: high", scale=CONFIDENCE_LEVELS).value
    0.7
    """
    if not scale or not all(phrase.strip() for phrase in scale):
        msg = "scale must map at least one phrase, and no empty one, to a number"
        raise InputError(msg)
    return read(reply, _Verbal(_phrases(tuple(scale.items()))), finish_reason)


@lru_cache(maxsize=16)
def _phrases(items: tuple[tuple[str, float], ...]) -> Phrases:
    return Phrases(dict(items))


_OF_ANOTHER = re.compile(  # phrases without likelihood: "certain parts", "high prices"
    r"(?i)\s(?!that|to|because|since|as|given|for|in|on|at|but|and|or|if|though|although|so|true|correct|right|false|yes|no|not"
    r"|it|this|i|he|she|they|we|the|here|confidence|certainty|probability|likelihood|chance|chances|about|of|overall|indeed|is"
    r"|now|again|considering|despite|due|based|by|with|would|event|outcome|level|sagen|zeggen|que|dass|che|qu)[a-z]+"
)
_TO_SAY = re.compile(
    r"(?i)\s(?:for me )?(?:to fail|against|(?:à|a|de|da|zu|te) (?:dire|dizer|decir|sagen|zeggen))\b|\s(?:for me )?to (?:say|tell|know|judge|predict|determine|answer|give|assess|estimate|be sure)\b"
)


def _in_passing(text: str, one: Mention) -> bool:
    return bool(_OF_ANOTHER.match(text, one.end)) or not leads(text, one.start, VERBAL_LEADS)


class _Verbal(Form):
    labels = (
        "confidence", "confidence level", "likelihood", "probability", "certainty", "assessment",
        "wahrscheinlichkeit", "probabilité", "probabilidad", "probabilità", "probabilidade",
        "вероятность", "置信度", "可能性",
    )  # fmt: skip
    labels_lead = True

    def __init__(self, phrases: Phrases) -> None:
        self._phrases = phrases

    def mentions(self, text: str) -> list[Mention]:
        return [
            replace(one, mode=Mode.DENIED)
            if of_error(text, one.start, one.end) or _TO_SAY.match(text, one.end)
            else replace(one, mode=one.mode.raised_if(_in_passing(text, one)))
            for one in self._phrases.mentions(text)
        ]

    def whole(self, text: str) -> frozenset[Value]:
        mentions = self.mentions(text)
        if any(one.mode is not Mode.SAID for one in mentions):
            return frozenset()
        rest = text
        for one in reversed(mentions):
            rest = rest[: one.start] + rest[one.end :]
        return frozenset() if any(one.isalnum() for one in rest) else _values(mentions)

    def opening(self, text: str) -> frozenset[Value]:
        mentions = self.mentions(text)
        if not mentions or text[: mentions[0].start].strip(" \t\n\"'(*"):
            return frozenset()
        after = text[mentions[0].end : mentions[0].end + 1]
        return (
            _values(mentions[:1]) if after in {"", ",", ".", ";", ":", "!", "\n"} else frozenset()
        )


def _values(found: list[Mention]) -> frozenset[Value]:
    return frozenset(one.value for one in found if one.mode is Mode.SAID)
