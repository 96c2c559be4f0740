"""Numbers in a text: where they stand, and in what manner.

Digits that are no number of their own are passed over: times and ratios, dates, versions,
ordinals, parts of names ("GPT-4"), the numbers of rules, steps and questions.

Where a text holds an equation, its result is said and the terms that lead to it are not.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from psychollm.instruments.readers.clauses import Mode, Sentence, manner, sentences
from psychollm.instruments.readers.number_words import SCALES, number_in_words, numbers_in_words

_LABEL = (
    "rules?|steps?|questions?|statements?|items?|cases?|sections?|chapters?|figures?|equations?"
    "|lines?|examples?|exercises?|problems?|tasks?|regel|schritt|frage|règle|étape|regla|paso|no"
)
_TOKEN = re.compile(
    rf"""(?ix)
    (?P<skip>
        (?<![^\W\d_])(?<!this\ )(?<!that\ )(?:{_LABEL})\.?\s?\#?[0-9]+(?![\w])
      | (?<!\w)[^\W\d_]\w{{0,30}}-[0-9]+(?:\.[0-9]+)*\b | (?<![A-Za-z_])[A-Za-z_]{{1,30}}[0-9]\w*
      | [0-9]+(?::[0-9]+)+ | [0-9]+(?:-[0-9]+){{2,}} | [0-9]+(?:/[0-9]+){{2,}}
      | [0-9]+(?:st|nd|rd|th|s)\b | (?:version|v)\s?[0-9]+(?:\.[0-9]+)+ | [0-9]{{4}}\s(?=(?:knowledge|training)\b) | (?<=\bthe\ )(?:1[0-9]|20)[0-9]{{2}}(?=\ [a-z]) | [0-9]+-(?:point|step|scale)\w*
      | (?![0-9]{{1,3}}(?:\.[0-9]{{3}})+(?!\.?[0-9]))[0-9]+(?:\.[0-9]+){{2,}}
    )
  | (?P<grouped>
        [1-9][0-9]{{0,2}}(?:,[0-9]{{3}})+(?:\.[0-9]+)?(?![0-9])
      | [0-9]{{1,3}}(?:\.[0-9]{{3}}){{2,}}(?:,[0-9]+)?(?![0-9])
      | [0-9]{{1,3}}(?:\.[0-9]{{3}})+,[0-9]+(?![0-9])
      | [0-9]{{1,3}}(?:(?P<gap>[ '_])[0-9]{{3}})(?:(?P=gap)[0-9]{{3}})*(?:[.,][0-9]+)?(?![0-9])
    )
  | (?P<power>[0-9]+(?:\.[0-9]+)?(?:e|\s?[×x*·]\s?10\s?\^\s?\{{?)[-+]?[0-9]{{1,3}}\}}?(?![\w]))
  | (?P<decimal>[0-9]+[.,][0-9]+|(?<![\w.])\.[0-9]+)
  | (?P<whole>[0-9]+)
    """
)
PERCENT = (
    r"\s?(?:%|percent|per cent|pct|prozent|pour ?cent|por ciento|per ?cento|por cento|procent\w*"
    r"|процент\w*|パーセント|퍼센트|بالمئة|بالمائة|प्रतिशत)"
)
_PERCENT = re.compile(PERCENT, re.IGNORECASE)
_BOUND_BEFORE = re.compile(
    r"(?i)(?:\b(?:at least|at most|more than|less than|fewer than|greater than|higher than|lower than"
    r"|over|under|above|below|up to|no more than|no less than|no fewer than|minimum|maximum"
    r"|mindestens|höchstens|mehr als|weniger als|plus de|moins de|au moins|más de|menos de"
    r"|almeno|più di|meno di|mais de|minstens|meer dan|minder dan)\s*|(?<![-=])[<>≥≤]=?\s*)$"
)
_BOUND_AFTER = re.compile(
    r"(?i)\s?(?:\+(?!\s?[0-9/])|(?:or|and) (?:more|less|fewer|higher|lower|above|below|up|greater)\b)"
)
_COUNTS = re.compile(
    r"(?i)\s(?:things|reasons|possibilities|interpretations|readings|caveats|assumptions|scenarios|issues|factors"
    r"|ways to (?:look|see|interpret|read|answer|approach|think))\b"
)
_PRECISION = re.compile(r"(?i)[\s-](?:decimals?|digits?|significant)\b")
_IN_A_YEAR = re.compile(r"(?i)(?:^|[.!?]\s)in\s$")
_REACH = 24
_MAX_DIGITS = 18


@dataclass(frozen=True, slots=True)
class Numeral:
    """One number of a text."""

    value: float  # int where it is written as one
    start: int
    end: int
    mode: Mode = Mode.SAID
    written: str = ""
    percent: bool = False
    out_of: float | None = None  # the denominator, where there is one
    doubtful: bool = False  # "1.234": thousands or a decimal
    heads: bool = False


def numerals(text: str, *, equations: bool = True, shares: bool = False) -> list[Numeral]:
    """Return the numbers of a text from `plain`, in their order."""
    # With `equations`, "=" leads to a result, otherwise to the meaning of a code; with `shares`,
    # "3 of 4" is one number with its denominator, as "3/4" always is.
    return list(_numerals(text, equations, shares))


@lru_cache(maxsize=16)  # one reply is looked at from several sides
def _numerals(text: str, equations: bool, shares: bool) -> tuple[Numeral, ...]:  # noqa: FBT001
    numbers: list[Numeral] = []
    operands: set[float] = set()
    results: list[Numeral] = []
    solved = _SUM_IN_WORDS.sub(_with_sign, text) if equations else text
    for sentence in sentences(text):
        ones = [
            _in_manner(text, one, sentence)
            for one in _fractions(text, _plain(text, sentence), shares=shares)
        ]
        if equations and "=" in solved[sentence.start : sentence.end]:
            ones, terms, ends = _solved(solved, ones)
            operands |= terms
            results += ends
        numbers += ones
    if not results:
        return tuple(numbers)
    kept = {id(one) for one in results}
    return tuple(one for one in numbers if id(one) in kept or one.value not in operands)


def _plain(text: str, sentence: Sentence) -> list[Numeral]:
    """Return the numbers of a sentence, in digits and in English words."""
    numbers = [
        one
        for token in _TOKEN.finditer(text, sentence.start, sentence.end)
        if not token["skip"] and (one := _numeral(text, token)) is not None
    ]
    words = numbers_in_words(text[sentence.start : sentence.end])
    numbers += [
        Numeral(value, sentence.start + start, sentence.start + end, out_of=out_of)
        for value, out_of, start, end in words
    ]
    scaled = _scaled(text, sorted(numbers, key=lambda one: one.start))
    return [one for one in scaled if not _PRECISION.match(text, one.end)]


def _scaled(text: str, ones: list[Numeral]) -> list[Numeral]:
    """Join digits and the scale that follows them in words: "1.5 million"."""
    joined: list[Numeral] = []
    for one in ones:
        last = joined[-1] if joined else None
        beside = last is not None and last.written and text[last.end : one.start] == " "
        if last is not None and beside and text[one.start : one.end].lower() in SCALES:
            value = last.value * one.value
            whole = int(value) if value == int(value) else value
            joined[-1] = replace(last, value=whole, end=one.end, written="", doubtful=False)
        else:
            joined.append(one)
    return joined


def _numeral(text: str, token: re.Match[str]) -> Numeral | None:
    written = token.group()
    before = text[token.start() - 1] if token.start() else " "
    after = text[token.end() : token.end() + 2]
    dots = before == "." and not text.endswith("..", 0, token.start())
    if (before.isalpha() and before.isascii()) or dots:
        return None
    if len(written) > _MAX_DIGITS or re.match(r"[.,][0-9]", after[:2]):
        return None
    start = token.start()
    if before in "-+" and not (
        start > 1 and (text[start - 2].isalnum() or text[start - 2] in ")%")
    ):
        start -= 1
    value = _value(token)
    if math.isinf(value):
        return None
    if (
        start < token.start() and before == "-" and not _is_operator(text, start)
    ) or _MINUS.search(text[max(start - 16, 0) : start]):
        value = -value
    scale = _SCALE.match(text, token.end())
    if scale:
        power = next(10 ** int(name[1:]) for name, word in scale.groupdict().items() if word)
        value = round(value * power)
        return Numeral(value, start, scale.end(), written="")
    doubtful = re.fullmatch(r"[1-9][0-9]{0,2}\.[0-9]{3}", written) is not None
    percent = _PERCENT.match(text, token.end())
    end = percent.end() if percent else token.end()
    return Numeral(
        value, start, end, written=written, percent=percent is not None, doubtful=doubtful
    )


_MINUS = re.compile(
    r"(?i)(?:^|[:,(]\s?|\b(?:is|was|be|about|around|to|of|at)\s)(?:minus|negative)\s$"
)
_SCALE = re.compile(
    r"(?i)\s?(?:(?P<e9>milliarden?|milliards?|miljard|miliardi|мил+иард\w*|mil millones)|(?P<e6>millionen|millions|millones|milioni|milhões|miljoen|mio"
    r"|миллион\w*)|(?P<e3>tausend|mille|mila|duizend|тысяч\w?|mil)|(?P<e4>万|萬)|(?P<e8>亿|億))(?!\w)"
)


def _is_operator(text: str, start: int) -> bool:
    """Tell whether a minus stands after a number and a space: "10 -4"."""
    return re.search(r"[0-9)]\s$", text[max(start - 3, 0) : start]) is not None


def _value(token: re.Match[str]) -> float:
    written = token.group()
    if token["grouped"]:
        points, commas = written.count("."), written.count(",")
        fraction = (
            "." if commas and (points == 1) and written.rfind(".") > written.rfind(",") else ""
        )
        if not fraction and commas == 1 and (points or token["gap"]):
            fraction = ","
        if not fraction and token["gap"] and points == 1:
            fraction = "."
        whole, _, rest = written.partition(fraction) if fraction else (written, "", "")
        digits = int(re.sub(r"\D", "", whole))
        return float(f"{digits}.{rest}") if rest.strip("0") else digits
    if token["whole"]:
        return int(written)
    value = float(re.sub(r"\s?[×x*·][^^]*\^\s?\{?", "e", written).strip("}").replace(",", "."))
    return int(value) if value.is_integer() and abs(value) < 10**15 else value


def _fractions(text: str, ones: list[Numeral], *, shares: bool) -> list[Numeral]:
    """Join numerator and denominator: "8/10", "8 out of 10", "3 of 4"."""
    joined: list[Numeral] = []
    for one in ones:
        last = joined[-1] if joined else None
        if last is not None and last.out_of is None and not last.percent:
            between = text[last.end : one.start]
            if between.strip() == "/" or (shares and _OUT_OF.fullmatch(between)):
                joined[-1] = replace(last, end=one.end, out_of=one.value, percent=one.percent)
                whole = joined[-2] if len(joined) > 1 else None
                if whole and whole.written.isdigit() and text[whole.end : last.start] == " ":
                    top = whole.value * one.value + last.value  # "3 1/2"
                    joined[-2:] = [replace(joined[-1], value=top, start=whole.start)]
                continue
        joined.append(one)
    return joined


_OUT_OF = re.compile(
    r"(?i)\]?\s?(?:\(?out of(?: a possible)?|of|in|von|sur|de|su|van|z|из|üzerinden)\s?(?:the\s|an?\s|\[)?"
)


def _in_manner(text: str, one: Numeral, sentence: Sentence) -> Numeral:
    heads = not text[sentence.start : one.start].strip(" \"'([{$€£~≈=")
    mode = manner(text, sentence, one.start, one.end)
    if mode is not Mode.SAID:
        return replace(one, mode=mode, heads=heads)
    before = text[max(one.start - _REACH, 0) : one.start]
    if one.written.count(".") == 1 and text.startswith(("...", "…"), one.end):
        mode = Mode.RAISED  # "0.333..." goes on
    elif _COUNTS.match(text, one.end) or (
        text[one.end : one.end + 1] == "," and _IN_A_YEAR.search(before)
    ):
        mode = Mode.RAISED
    elif _BOUND_BEFORE.search(before) or _BOUND_AFTER.match(text, one.end):
        mode = Mode.OPEN
    return replace(one, mode=mode, heads=heads)


_TERM = r"[-−]?[0-9](?:[0-9.,]{0,30}[0-9])?"
_SUM_IN_WORDS = re.compile(
    rf"(?i)(?P<sum>(?:\b(?:add|subtract|multiply|divid|summ)ing\s{_TERM}\s(?:and|to|from|by|with)\s{_TERM}|(?<![\w.]){_TERM}(?:(?:\s(?:plus|minus|times|over|divided\ by|multiplied\ by|added\ to|x"
    rf"|[-+*×·/÷−])\s|\s?[+*×·÷]\s?){_TERM})+)\s)(?P<is>is\ equal\ to|equals|is|are|makes?|gives?|yields?|comes\ to)"
    rf"(?=\s(?:exactly\s|simply\s)?{_TERM})"
)
_SIDES = re.compile(r"[,;:\n]\s|\bor\b|\bso\b|\bhence\b|\btherefore\b")


def _with_sign(said: re.Match[str]) -> str:
    """Write "=" where words say so after a sum: "3 plus 4 is 7"."""
    return said["sum"] + "=".ljust(len(said["is"]))


def _solved(text: str, ones: list[Numeral]) -> tuple[list[Numeral], set[float], list[Numeral]]:
    """Keep of each equation what follows its last sign of equality."""
    kept: list[Numeral] = []
    terms: set[float] = set()
    results: list[Numeral] = []
    for clause in _clauses(text, ones):
        signs = [text.find("=", clause[0].start, clause[-1].start)]
        while signs[-1] >= 0:
            signs.append(text.find("=", signs[-1] + 1, clause[-1].start))
        sign = signs[-2] if len(signs) > 1 else _sign_before(text, clause[0])
        after = [one for one in clause if one.start > sign]
        if sign < 0:
            kept += clause
            continue
        terms |= {one.value for one in clause if one.start < sign}
        kept += after
        results += after
    return kept, terms, results


def _sign_before(text: str, one: Numeral) -> int:
    """Return where "x =" stands before a number, -1 if it does not."""
    before = text[max(one.start - 6, 0) : one.start]
    return one.start - 1 if re.search(r"=\s*$", before) else -1


def _clauses(text: str, ones: list[Numeral]) -> Iterator[list[Numeral]]:
    clause: list[Numeral] = []
    for one in ones:
        if clause and _SIDES.search(text[clause[-1].end : one.start]):
            yield clause
            clause = []
        clause.append(one)
    if clause:
        yield clause


def number_alone(text: str) -> int | None:
    """Return the number in words that a text is, without marks around it."""
    return number_in_words(text.strip(" \t\"'()[]{}.,;:!*"))
