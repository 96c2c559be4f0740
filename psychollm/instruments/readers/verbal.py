"""A likelihood in words.

`LIKELIHOOD` maps the seven expressions that Intelligence Community Directive 203 of the United
States (Office of the Director of National Intelligence, 2015) defines, in both of its columns, to
the middle of the range that it gives each: 1-5 %, 5-20 %, 20-45 %, 45-55 %, 55-80 %, 80-95 %,
95-99 %. "Impossible" and "certain" are added with their literal meaning, 0 and 1; common
translations count as what they translate.

`CONFIDENCE_LEVELS` maps five levels of confidence to equal steps. That is a convention: people and
models differ in what they mean by them. Any other mapping can be passed.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

from psychollm._base.errors import InputError
from psychollm.instruments.readers.clauses import Mention, Mode, Value, leads, of_error
from psychollm.instruments.readers.lexicon import VERBAL_LEADS
from psychollm.instruments.readers.phrases import Phrases
from psychollm.instruments.readers.verdict import Form, read
from psychollm.instruments.reading import Reading

LIKELIHOOD_BY_LANGUAGE: Mapping[str, Mapping[float, tuple[str, ...]]] = {
    "en": {
        0.0: ("impossible",),
        0.03: ("almost no chance", "remote", "remote chance", "almost certainly not"),
        0.125: ("very unlikely", "highly improbable", "very improbable"),
        0.325: ("unlikely", "improbable"),
        0.5: (
            "roughly even chance", "roughly even odds", "roughly even", "about even", "even odds",
            "even chance", "about even odds", "about even chance",
        ),
        0.675: ("likely", "probable"),
        0.875: ("very likely", "highly probable", "very probable"),
        0.97: ("almost certain", "almost certainly", "nearly certain"),
        1.0: ("certain",),
    },
    "de": {
        0.0: ("unmöglich",),
        0.125: ("sehr unwahrscheinlich",),
        0.325: ("unwahrscheinlich",),
        0.675: ("wahrscheinlich",),
        0.875: ("sehr wahrscheinlich",),
        0.97: ("fast sicher", "nahezu sicher"),
    },
    "fr": {
        0.125: ("très peu probable", "très improbable"),
        0.325: ("peu probable",),
        0.875: ("très probable",),
        0.97: ("presque certain", "quasi certain"),
    },
    "es": {
        0.0: ("imposible",),
        0.125: ("muy poco probable", "muy improbable"),
        0.325: ("poco probable",),
        0.875: ("muy probable",),
        0.97: ("casi seguro", "casi cierto"),
    },
    "it": {
        0.0: ("impossibile",),
        0.125: ("molto improbabile",),
        0.325: ("improbabile", "poco probabile"),
        0.675: ("probabile",),
        0.875: ("molto probabile",),
        0.97: ("quasi certo",),
    },
    "pt": {
        0.0: ("impossível",),
        0.125: ("muito improvável",),
        0.325: ("improvável", "pouco provável"),
        0.675: ("provável",),
        0.875: ("muito provável",),
        0.97: ("quase certo",),
    },
    "nl": {
        0.0: ("onmogelijk",),
        0.125: ("zeer onwaarschijnlijk",),
        0.325: ("onwaarschijnlijk",),
        0.675: ("waarschijnlijk",),
        0.875: ("zeer waarschijnlijk",),
        0.97: ("bijna zeker",),
    },
    "pl": {
        0.0: ("niemożliwe",),
        0.125: ("bardzo mało prawdopodobne",),
        0.325: ("mało prawdopodobne",),
        0.675: ("prawdopodobne",),
        0.875: ("bardzo prawdopodobne",),
        0.97: ("prawie pewne",),
    },
    "ru": {
        0.0: ("невозможно",),
        0.125: ("очень маловероятно",),
        0.325: ("маловероятно",),
        0.675: ("вероятно",),
        0.875: ("очень вероятно",),
        0.97: ("почти наверняка",),
    },
    "tr": {
        0.0: ("imkansız",),
        0.325: ("düşük olasılık", "olası değil"),
        0.675: ("muhtemelen", "olası"),
        0.875: ("büyük olasılıkla",),
        0.97: ("neredeyse kesin",),
    },
    "zh": {
        0.125: ("非常不可能", "极不可能"),
        0.325: ("不太可能",),
        0.675: ("可能",),
        0.875: ("很可能", "非常可能"),
        0.97: ("几乎肯定",),
    },
    "ja": {
        0.125: ("可能性が非常に低い",),
        0.325: ("可能性が低い",),
        0.675: ("可能性が高い",),
        0.875: ("可能性が非常に高い",),
        0.97: ("ほぼ確実",),
    },
    "ko": {
        0.125: ("가능성이 매우 낮음",),
        0.325: ("가능성이 낮음",),
        0.675: ("가능성이 높음",),
        0.875: ("가능성이 매우 높음",),
        0.97: ("거의 확실",),
    },
    "ar": {
        0.125: ("غير محتمل جدا",),
        0.325: ("غير محتمل",),
        0.675: ("محتمل",),
        0.875: ("محتمل جدا",),
        0.97: ("شبه مؤكد",),
    },
    "hi": {
        0.125: ("बहुत असंभावित",),
        0.325: ("असंभावित",),
        0.675: ("संभावित",),
        0.875: ("बहुत संभावित",),
        0.97: ("लगभग निश्चित",),
    },
}  # fmt: skip


LIKELIHOOD: Mapping[str, float] = {
    phrase: value
    for language in LIKELIHOOD_BY_LANGUAGE.values()
    for value, phrases in language.items()
    for phrase in phrases
}
CONFIDENCE_LEVELS: Mapping[str, float] = {
    "very low": 0.1, "very unconfident": 0.1, "very unsure": 0.1,
    "low": 0.3, "not very confident": 0.3, "unconfident": 0.3, "unsure": 0.3,
    "medium": 0.5, "moderate": 0.5, "moderately confident": 0.5, "somewhat confident": 0.5,
    "high": 0.7, "confident": 0.7, "sure": 0.7,
    "very high": 0.9, "very confident": 0.9, "very sure": 0.9, "highly confident": 0.9,
}  # fmt: skip


def read_verbal(
    reply: str,
    *,
    scale: Mapping[str, float] = LIKELIHOOD,
    finish_reason: str | None = None,
) -> Reading:
    """Read a likelihood in words.

    The longest phrase counts ("very likely", not "likely"); a phrase that is denied, or modified by
    a word that the scale does not hold ("quite likely"), is another phrase and is not read.

    Parameters
    ----------
    reply : str
        Whatever came back.
    scale : mapping of str to float
        Each phrase and its value.
    finish_reason : str, optional
        "length" if the reply was cut off.

    Raises
    ------
    InputError
        If the scale holds no phrases.

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


_OF_ANOTHER = re.compile(  # "certain parts", "high prices"
    r"(?i)\s(?!that|to|because|since|as|given|for|in|on|at|but|and|or|if|though|although|so|true|correct|right|false|yes|no|not"
    r"|it|this|i|he|she|they|we|you|the|here|confidence|certainty|probability|likelihood|chance|chances|about|of|overall|indeed|is"
    r"|now|again|considering|despite|due|based|by|with|would|event|outcome|level|sagen|zeggen|que|dass|che|qu)[a-z]+"
)
_TO_SAY = re.compile(
    r"(?i)\s(?:for me )?(?:to fail|against|(?:à|a|de|da|zu|te) (?:dire|dizer|decir|sagen|zeggen))\b|\s(?:for me )?to (?:say|tell|know|judge|predict|determine|answer|give|assess|estimate|be sure)\b"
)


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
            else replace(one, mode=Mode.RAISED)
            if one.mode is Mode.SAID
            and (_OF_ANOTHER.match(text, one.end) or not leads(text, one.start, VERBAL_LEADS))
            else one
            for one in self._phrases.mentions(text)
        ]

    def whole(self, text: str) -> frozenset[Value]:
        found = self.mentions(text)
        if any(one.mode is not Mode.SAID for one in found):
            return frozenset()
        rest = text
        for one in reversed(found):
            rest = rest[: one.start] + rest[one.end :]
        return frozenset() if any(one.isalnum() for one in rest) else _values(found)

    def opening(self, text: str) -> frozenset[Value]:
        found = self.mentions(text)
        if not found or text[: found[0].start].strip(" \t\n\"'(*"):
            return frozenset()
        after = text[found[0].end : found[0].end + 1]
        return _values(found[:1]) if after in {"", ",", ".", ";", ":", "!", "\n"} else frozenset()


def _values(found: list[Mention]) -> frozenset[Value]:
    return frozenset(one.value for one in found if one.mode is Mode.SAID)
