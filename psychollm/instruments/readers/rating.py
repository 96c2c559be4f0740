"""Parse a point of a rating scale, by its number or its label."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from psychollm._base.errors import InputError
from psychollm.instruments.readers.clauses import Mention, Mode, Value, leads
from psychollm.instruments.readers.lexicon import RATING_LEADS
from psychollm.instruments.readers.number import (
    MEANING,
    MEANS,
    POINT_NAME,
    NumericForm,
    without_scale,
)
from psychollm.instruments.readers.number_words import number_in_words
from psychollm.instruments.readers.numerals import Numeral, numerals
from psychollm.instruments.readers.verbal import Phrases
from psychollm.instruments.readers.verdict import read
from psychollm.instruments.reading import Reading

_TO = r"\s?(?:to|through|-|–|bis|à|al?|ao|tot|do|до|から|到|至|~|से|إلى|에서|ile)\s?"
# "Two numbers", "3 statements": a count, not a rating.
_COUNTED = re.compile(
    r"(?i)\s(?:numbers?|numerals?|ratings?|statements?|items?|questions?|words?"
    r"|sentences?|reasons?|times|options?|choices|answers|responses)\b"
)
# A written-out scale with one marked point: "1 2 [3] 4".
_PICKED = re.compile(r"(?<![\w.])(?:[0-9][ \t]+)*[(\[]([0-9])[)\]](?:[ \t]+[0-9](?![\w.]))+")
_OF_ALL = re.compile(
    r"(?i)(?<=\w)\s(?:su|von|sur|sobre|de|em|van(?: de)?|na|из)\s([^\W\d_]{3,})(?=\W*$)"
)
_STARS = re.compile(r"\s*([★⭐🌟]\s?)+(?:[☆✩]\s?)*\s*")


def read_rating(
    reply: str,
    *,
    low: int = 1,
    high: int = 4,
    labels: Mapping[str, int] | None = None,
    finish_reason: str | None = None,
) -> Reading:
    """Parse a point of a rating scale.

    A label counts as its number; if a reply gives a label and a number, they must agree. Numbers
    that are not points of the scale, such as "2.5" or "7/10", are unreadable.

    Parameters
    ----------
    reply : str
        The reply.
    low, high : int
        Lowest and highest points of the scale.
    labels : mapping of str to int, optional
        Labels of the points of the scale.
    finish_reason : str, optional
        Reason why the generation ended; "length" means that the reply was cut off.

    Raises
    ------
    InputError
        If the scale has fewer than two points, or a label belongs to a point outside the scale.

    Examples
    --------
    >>> read_rating("On a scale of 1 to 4, I'd say 3.").value
    3
    >>> read_rating("Often true", labels={"often true": 3, "never true": 1}).value
    3
    """
    if low >= high:
        msg = f"a scale from {low} to {high} has fewer than two points: low must be below high"
        raise InputError(msg)
    outside = {name: point for name, point in (labels or {}).items() if not low <= point <= high}
    if outside:
        msg = f"labels {outside} belong to points outside the scale from {low} to {high}"
        raise InputError(msg)
    return read(reply, _Rating(low, high, labels or {}), finish_reason)


class _Rating(NumericForm):
    labels = (
        "rating", "agreement", "점수", "分数", "点数", "nota", "minha nota", "self-rating", "overall rating", "score", "note", "bewertung", "valoración",
        "valutazione", "avaliação", "beoordeling", "ocena", "оценка", "puan", "评分", "評価", "평가",
        "التقييم", "voto", "punteggio", "puntuación", "pontuação", "cijfer", "балл", "betyg", "number of stars",
    )  # fmt: skip
    equations = False
    shares = True
    leads = RATING_LEADS

    def __init__(self, low: int, high: int, labels: Mapping[str, int]) -> None:
        self._low, self._high = low, high
        self.runs_on = high > 9
        self._phrases = Phrases(labels) if labels else None
        first = rf"(?<![\d.])(?:\b(?:el|le|la|die|il|o|de)\s)?{low}\s?{MEANS}\s?{MEANING}"
        last = rf"(?:(?:el|le|la|die|il|o|de)\s)?(?<![\d.]){high}\s?(?:{MEANS})?\s?{MEANING}"
        self._scale = re.compile(
            rf"(?i)(?:(?<![\w.])[\[(]?{low}{POINT_NAME}{_TO}|(?<![0-9.,]){low}(?:から|에서|到|至)){high}(?![a-z0-9]|[.,][0-9]|\s?%){POINT_NAME}[\])]?|(?<![0-9] )\bout of {high}\b(?=,)"
            rf"|(?<![0-9.,]){high}\s?(?:点満点|分满分|점 만점)(?:で|中|のうち|に|에서?)?|满分(?:是|为)?{high}分"
            rf"|(?:(?:\bif|\bsi|\bse|\bcomo|\bda|\bwenn)\s|\bwhere\s|\bwobei\s|\boù\s|\bdonde\s|\bdove\s|\bonde\s|\bwaarbij\s|\bgdzie\s|\bгде\s|\()?{first}(?:[,;]\s?|\s)(?:(?:and|und|et|y|e|en|i|a|и|а)\s|و)?{last}(?:です[ねが]?)?(?=[,;.)\n]|$)\)?"
        )

    def prepared(self, text: str) -> str:
        if (picked := _PICKED.search(text)) is not None and self._low <= int(
            picked[1]
        ) <= self._high:
            text = text[: picked.start()] + picked[1] + text[picked.end() :]
        if (scale := _OF_ALL.search(text)) and number_in_words(scale[1]) == self._high:
            text = text[: scale.start()] + text[scale.end() :]
        stars = _STARS.fullmatch(text)
        return str(sum(text.count(star) for star in "★⭐🌟")) if stars else text

    def value(self, one: Numeral) -> Value | None:
        if one.percent or one.out_of not in {None, self._high} or one.value != int(one.value):
            return None
        return int(one.value) if self._low <= one.value <= self._high else None

    def found(self, text: str) -> list[Numeral]:
        blank = without_scale(text, self._scale)
        given = numerals(blank, equations=False, shares=True)
        return [one for one in given if not one.percent and not _COUNTED.match(blank, one.end)]

    def mentions(self, text: str) -> Sequence[Mention]:
        mentions = [*super().mentions(text)]
        if self._phrases is not None:
            mentions += [
                replace(one, mode=one.mode.raised_if(not leads(text, one.start, RATING_LEADS)))
                for one in self._phrases.mentions(text)
            ]
        if not mentions and (ends := self._scale.search(text)):
            mentions = [Mention(self._low, *ends.span(), Mode.OPEN)]
        return sorted(mentions, key=lambda one: one.start)

    def whole(self, text: str) -> frozenset[Value]:
        named = self._phrases.mentions(text) if self._phrases is not None else []
        if not named:
            return super().whole(without_scale(text, self._scale))
        if any(one.mode is not Mode.SAID for one in named):
            return frozenset()
        numbers = [*super().mentions(text)]
        rest = text
        for one in sorted([*named, *numbers], key=lambda one: -one.start):
            rest = rest[: one.start] + rest[one.end :]
        if re.search(r"\w", rest):
            return frozenset()
        return frozenset(one.value for one in [*named, *numbers])
