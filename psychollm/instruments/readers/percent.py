"""Parse a confidence: a percentage, a proportion, or a number on the requested scale."""

import re
from dataclasses import replace
from typing import Literal

from psychollm._base.checks import check_choice
from psychollm.instruments.readers.clauses import (
    WORD,
    Mention,
    Mode,
    Value,
    clause_before,
    leads,
    of_error,
)
from psychollm.instruments.readers.lexicon import PERCENT_LEADS
from psychollm.instruments.readers.markers import Marked
from psychollm.instruments.readers.number import (
    MEANING,
    MEANS,
    POINT_NAME,
    SCALE,
    NumericForm,
    without_scale,
)
from psychollm.instruments.readers.number_words import number_in_words
from psychollm.instruments.readers.numerals import PERCENT, Numeral
from psychollm.instruments.readers.verdict import read
from psychollm.instruments.reading import Reading

_NEARLY = re.compile(r"(?i)\b(?:nearly|almost|close to|not quite)\s$")  # means less than 100 %
_SURE = re.compile(r"(?i)\s(?:sure|certain|confident|convinced|positive)\b")
_FIRST_PERSON = re.compile(r"(?i)(?<![\w'])(?:i|i'm|i'd|we|me|am)(?![\w'])")
_CLAUSE = re.compile(r"[,;:.!?\n()–]")
_REACH = 24
_JOINT = r"\s?(?:-|–|~|〜|to|or|and|bis|à|a|do|до|oder|ou|o|или|±|\+/-)\s?"
_NEXT = re.compile(rf"(?i){_JOINT}[0-9.,]{{1,8}}{PERCENT}")
_LAST = re.compile(rf"(?i)[0-9]{PERCENT}{_JOINT}$")

Scale = Literal["0-100", "0-1"]

_SHARE = re.compile(
    r"(?i)\s(?:of (?!certain|confiden)(?:the |all |these |my )?[a-z]"
    r"|(?:av|dari|của)\s|(?:chance|probability|risk) of (?!being|getting|having|it|this|that|me|my|success|an?|the)[a-z])"
)
_ALL = re.compile(
    r"(?i)(?<!\w)(?:cien por cien(?:to)?|cento per cento|cem por cento|cent pour cent|hundertprozentig|honderd procent|sto procent|на все сто(?: процентов)?|hundra procent)(?!\w)"
)
# The pattern matches a remainder that expresses doubt: "the remaining 15 %".
_REST_BEFORE = re.compile(
    r"(?i)(?:\b(?:remaining|other|rest of the|restlichen|übrigen|verbleibenden|resterende|otro|altro|pozostałe|оставшиеся|остальные)\s$|[1-9][0-9]?\s?%[^%]{0,60}\b(?:aunque|obwohl|anche se|bien que|embora)\b[^%]{0,20}$)"
)
_REST_AFTER = re.compile(
    r"(?i)\s(?:(?:is|are)\s)?(?:remaining|left(?: over)?|restants?|qui restent|restantes?|restanti|rest(?!\w)|übrig|de dud[ae]|di dubbio|de dúvida|doute|Zweifel|doubts?|of doubt|twijfel|wątpliwości|сомнени\w+)(?!\w)"
)
_EVEN = re.compile(r"(?i)(?<![\w.])(?:50\s?[-/:]\s?50|fifty[\s-]fifty)(?![\w.])")
_SIGN_FIRST = re.compile(
    r"(?<![\w%])(?:%|yüzde |asilimia )\s?([0-9]+(?:[.,][0-9]+)?)(?![\w%])", re.IGNORECASE
)
# The pattern matches the margin of error of an estimate.
_INTERVAL = re.compile(
    r"(?i)\s?[(\[,;]\s?(?:(?:an? )?[0-9]{2}\s?%\s?(?:ci|confidence interval|credible interval|hdi)|ci|range|interval|from|between)\b[^()\[\]\n]{0,40}[)\]]"
)
_SUBJECT = re.compile(
    r"(?i)\s(?:do|does|did|are|were|have|has|had|agree[ds]?|disagree[ds]?|voted|said|say|think|believe|chose|reported|use[ds]?|live|get|got|fail(?:ed)?|pass(?:ed)?|died?|survive[ds]?)\b"
)
_IN_WORDS = re.compile(
    rf"(?i)(?<![{WORD}])(?P<words>(?:[{WORD}]{{1,24}}[\s-]){{0,3}}[{WORD}]{{1,40}}?)(?P<sign>{PERCENT})(?![{WORD}])"
)
# These words may follow a percentage that is a confidence. Before any other noun, it is a
# proportion of something ("80 % of people").
_FOLLOWS = re.compile(
    r"(?i)\s(?!(?:sure|certain\w*|confiden\w*|convinced|positive|chances?|probab\w*|likel\w*|odds|that|this|it|its|i|my|of|because|since|as|with|given|based|in|on|for|at|and|but|or|to|from|by|if|though|although|so|now|here|is|was|would"
    r"|overall|accura\w*|correct\w*|right|true|yes|no|maybe|roughly|approximately|about|give|level|belief|credence|seems?|sounds?|feels?|up|down|due|after|considering|assuming|not|then|rather|actually|final|who|which|possib\w*|the|a|an|we|you|there|very|quite|pretty|or-so|instead|today|again|given)\b)"
    r"(?:growth|increase|decrease|rise|drop|decline|discount|tax|interest|rate|share|reduction|alcohol|gain|loss|return|margin|solution|[a-z]+(?:ers|ents|ists|tion|ment|rate|ople))\b"
)
_UNITS = re.compile(
    r"(?i)\s(?:degrees?|seconds?|minutes?|hours?|days?|weeks?|months?|years?|stars?|points? lead|people|times|meters?|metres?|km|kg|miles|dollars?|euros?|steps?|words?|items?|questions?)\b"
)
_LEVEL = re.compile(
    r"(?i)\b(?:level|step|rule|question|option|version|chapter|page|figure|table|no\.)\s#?$"
)
_EASTERN = re.compile("百分之([〇零一二三四五六七八九十百]{1,6})")
# Tenths: 八成, 9割, 8割5分; "七八成" is ambiguous.
_TENTHS = re.compile(
    "(?P<tenths>[0-9]|10|[〇零一二三四五六七八九十两]{1,2})(?:[割成](?![功为為員员立本果熟長长績绩分])|할(?![\\w]))(?:(?P<half>半)|(?P<more>[0-9](?=分)|[一二三四五六七八九])分?)?"
)
_TO = r"\s?(?:to|-|–|and|bis|à|a|do|до|到|至|tot|から|से|إلى|에서|ile)\s?"
_ENDS = {
    "0-100": re.compile(
        rf"(?<![\w.])[\[(]?0\s?%?{POINT_NAME}{_TO}100\s?%?(?![\w.][0-9]){POINT_NAME}[\])]?"
        rf"|(?<![\w.])\(0\s?%?\s?{MEANS}\s?{MEANING}[,;]\s?100\s?%?\s?{MEANS}\s?{MEANING}\)"
    ),
    "0-1": re.compile(rf"(?<![\w.])[\[(]?0(?:\.0)?{_TO}1(?:\.0)?(?![\w]|\.[0-9])[\])]?"),
}


def read_percent(
    reply: str, *, scale: Scale = "0-100", finish_reason: str | None = None
) -> Reading:
    """Parse a confidence as a proportion from 0 to 1.

    "80%", "8/10" and "8 out of 10" are 0.8 on either scale. A number without a percent sign is a
    point on the requested scale: 1 means 0.01 on "0-100" and 1 on "0-1". On "0-100", a decimal up
    to 1 ("0.95") may be a percentage or a proportion and is ambiguous. Numbers outside the scale
    are unreadable. If a reply contains percentages, numbers without a percent sign are not
    confidences.

    Parameters
    ----------
    reply : str
        The reply.
    scale : {"0-100", "0-1"}
        Requested scale.
    finish_reason : str, optional
        Reason why the generation ended; "length" means that the reply was cut off.

    Examples
    --------
    >>> read_percent("I am 80% sure.").value, read_percent("0.8", scale="0-1").value
    (0.8, 0.8)
    >>> read_percent("0.8").outcome.value, read_percent("70-80%").outcome.value
    ('ambiguous', 'ambiguous')
    """
    check_choice("scale", scale, Scale)
    return read(reply, _Percent(scale), finish_reason)


# Words for the quantity that a proportion measures.
_MEASURE = re.compile(
    r"(?i)\b(?:confiden\w*|certain\w*|sure|probab\w*|chances?|likel\w*|odds|believe|sicher\w*|wahrscheinl\w*|sûre?|confian\w+|segur\w+"
    r"|certez\w+|sicur\w+|fiducia|zeker\w*)"
)


def _of_ten(said: re.Match[str]) -> str:
    """Convert a confidence stated in tenths to a percentage."""
    tenths, *more = [
        int(one) if one.isdigit() and one.isascii() else number_in_words(one)
        for one in (said["tenths"], said["more"])
        if one
    ]
    if tenths is None or tenths > 10 or (len(said["tenths"]) > 1 and tenths != 10):
        return "-".join(f"{number_in_words(one)}0%" for one in said["tenths"])
    return f"{10 * tenths + (5 if said['half'] else more[0] or 0 if more else 0)}%"


def _digits(said: re.Match[str]) -> str:
    """Rewrite a number in words before a percent sign as digits."""
    words = said["words"]
    if any(one.isdigit() for one in words):
        return said.group()
    for start in [0, *(space.end() for space in re.finditer(r"\s", words))]:
        number = number_in_words(words[start:])
        if number is not None:
            return f"{words[:start]}{number}%"
    return said.group()


class _Percent(NumericForm):
    labels = (
        "confidence", "conf", "conf.", "confidence level", "confidence score", "my confidence", "probability",
        "likelihood", "certainty", "chance", "p", "p(correct)", "p(true)", "konfidenz", "sicherheit",
        "wahrscheinlichkeit", "confiance", "probabilité", "confianza", "probabilidad", "fiducia",
        "probabilità", "confiança", "probabilidade", "zekerheid", "pewność", "уверенность",
        "вероятность", "güven", "置信度", "概率", "確率", "확률", "自信度", "信心", "確信度", "확신도", "신뢰도", "الثقة",
    )  # fmt: skip
    labels_lead = True
    leads = PERCENT_LEADS
    shares = True
    off_scale_opposes = False  # numbers such as years are not confidences

    def __init__(self, scale: Scale) -> None:
        self._full = 100 if scale == "0-100" else 1
        self._ends = [_ENDS["0-100"], *([_ENDS[scale]] if scale == "0-1" else [])]
        self._signed = False

    def prepared(self, text: str) -> str:
        """Unify percent signs and phrases for even odds; record whether percentages occur."""
        text = _SIGN_FIRST.sub(
            r"\1%", _EVEN.sub("50%", _INTERVAL.sub(" ", _ALL.sub("100%", text)))
        )
        text = _IN_WORDS.sub(_digits, text)
        text = _EASTERN.sub(lambda said: f"{number_in_words(said[1])}%", text)
        text = _TENTHS.sub(_of_ten, text) if not text.isascii() else text
        for full, ends in (1, _ENDS["0-1"]), (100, _ENDS["0-100"]):
            if self._full != full and ends.search(text) and SCALE.search(text):
                self._full, self._ends = full, [ends]  # the reply names its scale
        self._signed = any(one.percent for one in super().found(text))
        return text

    def found(self, text: str) -> list[Numeral]:
        blank = text
        for ends in self._ends:
            blank = without_scale(blank, ends)
        return _own(blank, self._shares(blank))

    def own(self, marks: list[Marked], text: str) -> list[Marked]:
        """Remove an answer that is a percentage if the reply also gives a confidence."""
        ranks = {mark.rank for mark in marks}
        if ranks != {2} or not any(_is_own(text, one) for one in self.found(text) if one.percent):
            return marks
        return []

    def _shares(self, blank: str) -> list[Numeral]:
        return [
            replace(one, mode=Mode.DENIED)
            if _measures_another(blank, one)
            else replace(one, mode=Mode.OPEN)
            if self.value(one) == 1
            and _NEARLY.search(blank[max(one.start - _REACH, 0) : one.start])
            else one
            for one in super().found(blank)
            if not self._signed or self._has_form(one) or _beside_one(blank, one)
        ]

    def led_up_to(self, text: str, one: Numeral) -> bool:
        after = _CLAUSE.split(text[one.end : one.end + 2 * _REACH])[0]
        beside = clause_before(text, one.start) + after
        own = not _SURE.match(after) or _FIRST_PERSON.search(beside)
        return super().led_up_to(text, one) or bool(own and _MEASURE.search(beside))

    def _has_form(self, one: Numeral) -> bool:
        """Return whether a number has the form of a confidence, regardless of its value."""
        proportion = self._full == 1 and not isinstance(one.value, int) and 0 <= one.value <= 1
        return one.percent or one.out_of is not None or proportion

    def value(self, one: Numeral) -> Value | None:
        if one.out_of is not None:
            share = one.value / one.out_of if one.out_of >= 1 else -1.0
        else:
            share = one.value / (100 if one.percent else self._full)
        return round(share, 12) if 0 <= share <= 1 else None

    def unclear(self, one: Numeral) -> bool:
        decimal = not one.percent and one.out_of is None and bool(re.search(r"[.,]", one.written))
        return self._full > 1 and decimal and 0 < one.value <= 1

    def mentions(self, text: str) -> list[Mention]:
        mentions = [*super().mentions(text)]
        ends = [one.search(text) for one in self._ends]
        if not mentions and (found := next((one for one in ends if one), None)):
            return [Mention(0.0, *found.span(), Mode.OPEN)]
        return mentions


_OWN_AFTER = re.compile(
    r"(?i)\s(?:confidence|sure|certain|confident|convinced|positive|sicher|sûre?|segur[oa]|sicur[oa]|zeker|de (?:confiança|certeza|confianza|seguridad|confiance|certitude)|di (?:fiducia|certezza|sicurezza))\b"
)
_OWN_BEFORE = re.compile(
    r"(?i)\b(?:confiden(?:ce|t)|certainty|konfidenz|confiance|confianza|fiducia|confiança|zekerheid|уверенность|certitude|certeza|certezza|gewissheit|sicherheit|pewność)\b(?:, (?:elle|ella|ela|sie) (?:est|es|è|é|ist|liegt)\b)?[^.,;!?\n]{0,20}$|置信度.{0,6}$|確信度.{0,6}$"
)
_OF_A_FACT = re.compile(
    r"(?i)\s(?:of|that|in|on|for|chance|(?!sure|certain|confident)[a-z]{4,})\b"
)


def _own(text: str, ones: list[Numeral]) -> list[Numeral]:
    """Remove numbers in stated facts if another number is the writer's confidence."""
    signed = [one for one in ones if one.percent]
    if len(signed) == 2 and signed[0].value + signed[1].value == 100:
        last = signed[1]
        rest = _REST_BEFORE.search(text[: last.start]) or _REST_AFTER.match(text, last.end)
        ones = [replace(one, mode=Mode.DENIED) if rest and one is last else one for one in ones]
    own = [one.percent and _is_own(text, one) for one in ones]
    if not any(own) or all(own):
        return ones
    first = own.index(True)
    return [
        replace(one, mode=Mode.DENIED)
        if not mine
        and one.percent
        and one.mode is Mode.SAID
        and (_OF_A_FACT.match(text, one.end) or not leads(text, one.start, PERCENT_LEADS))
        and (
            i < first
            or not re.search(
                r"(?i)\b(?:or|to|maybe|perhaps|even|now|but|then)\W*$|[-–]\s?$", text[: one.start]
            )
        )
        else one
        for i, (one, mine) in enumerate(zip(ones, own, strict=True))
    ]


def _is_own(text: str, one: Numeral) -> bool:
    before = text[max(one.start - 2 * _REACH, 0) : one.start]
    after = _OWN_AFTER.match(text, one.end)
    return bool(_OWN_BEFORE.search(before)) or bool(
        after and (after.group().lower().endswith("confidence") or _FIRST_PERSON.search(before))
    )


def _measures_another(text: str, one: Numeral) -> bool:
    """Return whether a number is a probability of error, or a proportion of something else."""
    if not one.percent and one.out_of is None:
        before = text[max(one.start - _REACH, 0) : one.start]
        if _UNITS.match(text, one.end) or _LEVEL.search(before):
            return True
    return of_error(text, one.start, one.end) or (
        one.percent
        and (
            _SHARE.match(text, one.end)
            or _FOLLOWS.match(text, one.end)
            or _SUBJECT.match(text, one.end)
        )
        is not None
        and not _FIRST_PERSON.search(clause_before(text, one.start))
    )


def _beside_one(text: str, one: Numeral) -> bool:
    """Return whether a number and a percentage are alternatives: "70-80%", "80% or 0.9"."""
    before = text[max(one.start - _REACH, 0) : one.start]
    return _NEXT.match(text, one.end) is not None or _LAST.search(before) is not None
