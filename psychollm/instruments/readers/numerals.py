"""Numbers in a text, with their positions and the manners in which they are mentioned.

Digits in times, ratios, dates, versions, ordinals, names ("GPT-4") and labels of rules, steps and
questions ("step 2") are ignored.

An equation asserts its result and not the terms before the equals sign.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from psychollm.instruments.readers.clauses import Mode, Sentence, manner, sentences
from psychollm.instruments.readers.lexicon import OR, leads_up
from psychollm.instruments.readers.number_words import (
    ANY,
    SCALES,
    may_count,
    number_in_words,
    numbers_in_words,
)

_LABEL = (
    "rules?|steps?|questions?|statements?|items?|cases?|sections?|chapters?|figures?|equations?"
    "|lines?|examples?|exercises?|problems?|tasks?|regel|schritt|frage|règle|étape|regla|paso|no"
)
_TOKEN = re.compile(
    rf"""(?ix)
    (?P<based>0(?:x[0-9a-f]+|b[01]+|o[0-7]+)(?!\w)|(?<![\w])[0-9]+_[0-9]{{1,2}}(?!\w))
  | (?P<skip> 0[bo][0-9]\w* |
        (?<![^\W\d_])(?<!this\ )(?<!that\ )(?:{_LABEL})\.?\s?[\#(]?[0-9]+(?![\w])
      | (?<!\w)[^\W\d_]\w{{0,30}}-[0-9]+(?:\.[0-9]+)*\b | (?<![A-Za-z_])[A-Za-z_]{{1,30}}[0-9]\w*
      | [0-9]+(?::[0-9]+)+ | [0-9]+(?:-[0-9]+){{2,}} | [0-9]+(?:/[0-9]+){{2,}}
      | [0-9]+(?:st|nd|rd|th|s)\b | (?:version|v)\s?[0-9]+(?:\.[0-9]+)+ | [0-9]{{4}}\s(?=(?:knowledge|training|cut-?off|data|update|release)\b) | (?<=\bthe\ )(?:1[0-9]|20)[0-9]{{2}}(?=\ [a-z]) | [0-9]+-(?:point|step|scale)\w*
      | (?![0-9]{{1,3}}(?:\.[0-9]{{3}})+(?!\.?[0-9]))[0-9]+(?:\.[0-9]+){{2,}}
    )
  | (?P<grouped>
        [1-9][0-9]{{0,2}}(?:,[0-9]{{3}})+(?:\.[0-9]+)?(?![0-9])
      | [1-9][0-9]?(?:,[0-9]{{2}})+,[0-9]{{3}}(?:\.[0-9]+)?(?![0-9])
      | [0-9]{{1,3}}(?:\.[0-9]{{3}}){{2,}}(?:,[0-9]+)?(?![0-9])
      | [0-9]{{1,3}}(?:\.[0-9]{{3}})+,[0-9]+(?![0-9])
      | [0-9]{{1,3}}(?:(?P<gap>[ '_])[0-9]{{3}})(?:(?P=gap)[0-9]{{3}})*(?:[.,][0-9]+)?(?![0-9])
    )
  | (?P<power>[0-9]+(?:[.,][0-9]+)?(?:e|\s?[×x*·]\s?10\s?\^\s?\{{?)[-+]?[0-9]{{1,3}}\}}?(?![\w]))
  | (?P<exponential>[0-9]{{1,9}}(?:\.[0-9]{{1,9}})?\s?(?:\^|\*\*)\s?[({{]?-?[0-9]{{1,2}}[)}}]?(?![\w.,/^]*[\w^]))
  | (?P<decimal>[0-9]+[.,][0-9]+|(?<![\w.])\.[0-9]+)
  | (?P<whole>[0-9]+)
    """
)
PERCENT = (
    r"\s?(?:%|percent|per cent|pct|prozent|pour ?cent|por ciento|per ?cento|por cento|procent\w*"
    r"|процент\w*|パーセント|퍼센트|(?:ب|في )الم[ئا]ئ?ة|درصد|শতাংশ|เปอร์เซ็นต์|phần trăm|persen|százalék|prosent\w*|відсотк\w+|τοις εκατό|प्रतिशत)"
)
_PERCENT = re.compile(PERCENT, re.IGNORECASE)
_BOUND_BEFORE = re.compile(
    r"(?i)(?:\b(?:almost|nearly|close to|not quite|just short of|fast|beinahe|knapp|presque|quasi|casi|quase|bijna|prawie|почти|(?:at|na) least|at (?:the )?(?:least|most|max\w*|min\w*)|(?:more|less|fewer|greater|higher|lower|larger|smaller|better|bigger) than(?: or equal to)?"
    r"|(?:just |well |slightly )?(?:over|under|above|below|beyond|past)|up to|upwards? of|north of|in excess of|(?:not )?exceed(?:s|ed|ing)?|(?:a )?(?:minimum|maximum|max|min)(?: of)?[:.]?"
    r"|(?:no|not) (?:more|less|fewer|later|earlier) than|mindestens|höchstens|maximal|minimal|(?:nicht )?(?:mehr|weniger|größer|kleiner|höher|niedriger) als|bis zu|(?<!gegen)über|unter"
    r"|plus d[e']|moins d[e']|au moins|au plus|au maximum|au minimum|jusqu'à|supérieure? à|inférieure? à"
    r"|(?:más|mas|menos) de|al menos|por lo menos|como (?:mínimo|máximo)|hasta|mayor (?:que|a)|menor (?:que|a)|pelo menos|(?:no|em) (?:máximo|mínimo)|mais de|menos de|até|maior que"
    r"|almeno|più di|meno di|al (?:massimo|minimo)|fino a|oltre|maggiore di|minore di|minstens|hoogstens|maximaal|minimaal|meer dan|minder dan"
    r"|ponad|więcej niż|mniej niż|co najmniej|najwyżej|powyżej|poniżej|более|менее|больше|меньше|свыше|до|минимум|максимум|не (?:менее|более)|en az|en fazla"
    r"|कम से कम|ज़्यादा से ज़्यादा|على (?:الأقل|الأكثر)|أكثر من|أقل من)\s*"
    r"|(?:不?(?:超过|多于|少于|大于|小于|低于|高于)|至少|至多|最多|最少|不到|少なくとも|최소|최대|将近|接近|거의)\s*|(?:(?<![-=])[<>≥≤]=?|=<)\s*[$€£]?)(?:(?:[0-9]{1,3}|one|an?)\s(?:in|out of|of|von|sur|de|en|su|em|op|van|z|из)\s(?:every\s)?)?$"
)
_BOUND_AFTER = re.compile(
    r"(?i)\s?(?:\+(?!\s?[0-9/])|-?plus\b(?!\s[0-9])|(?:or|and|oder|ou|o|en|of) (?:more|less|fewer|higher|lower|above|below|up|greater|over|under|mehr|weniger|plus|moins|más|menos|più|meno|mais|meer|minder)\b"
    r"|,?\s?(?:at (?:the )?(?:very )?(?:least|most|minimum|maximum)|max(?:imum)?|min(?:imum)?|tops)\b(?! [0-9])"
    r"|[个個人名点年歳円元%]?\s?(?:以上|以下|以内|未満|未满|超|多[个人名]|余|を(?:切|超|下回|上回))|(?:\s?[개명년원살세점%])?\s?(?:이상|이하|미만|초과)|\s?से (?:अधिक|ज़्यादा|कम))"
)
# Next to these signs or letters, a number is part of a formula: "√2", "2π", "3x".
_FORMULA_BEFORE = re.compile(
    r"(?i)(?:[√∛∜^±]|π\s?[/*×·^]?|(?<![a-z])(?:sqrt|cbrt|log|ln|exp|sin|cos|tan)(?:_[0-9]+)?|(?<![\w'])[b-zB-Z](?:_\w)?\s?[-+*/×·÷]|[0-9)]\s?[+×÷·*]|[0-9)]\s[-–]\s)[\s({]*$"
)
_FORMULA_AFTER = re.compile(
    r"\s?[π√∛^](?=\s?[\w(√π])|\s?π|\s?\*\*|[*×·]?\s?[√π]|\s?[-+*/×·÷]\s?[b-hj-z](?![\w'])|\s?[+×÷·*]\s?[($]*[0-9]|\s[-–]\s[0-9]|\s(?:[kM]|grand)(?![\w'])|-[A-Z][a-z]|\s(?:and|&) a (?:half|third|quarter)|\s?\(?±|\s?(?:割|할|成(?![功年人员員立本長长績绩分為为]))"
)
_GLUED = re.compile(
    r"(?![kMGT]B?(?![^\W\d_]))(?:[kdcmµμnMGT]?(?:m|g|l|L|s|Hz|W|Wh|V|A|J|Pa|N|B|b|bit|bps|cal)|kcal|in|ft|yd|mi|mph|kph|lbs?|oz|t|min|mins|h|hrs?|d|yrs?|C|F|K"
    r"|px|pt|ha|bn|tn|mn|mln|mil|mol|eV|°|USD|EUR|GBP|Jahre|ans|ms|fps|rpm|dB|ish|-ish|x(?=\s?[0-9])|s?pp)(?:[0-9²³/]|(?![^\W\d_]))"
)
_LATIN = re.compile(r"[A-Za-zÀ-ɏ]")
_COUNTS = re.compile(
    r"(?i)\s(?:times\s(?=[a-z])|(?:[a-z]+ ){0,2}?(?:numbers|values|hints|clues|sentences|details|questions|pieces|facts|premises|options|variables|unknowns|approaches|clarifications|conditions|statements|things|reasons|possibilities|interpretations|readings|caveats|assumptions|scenarios|issues|factors|answers|meanings)\b"
    r"|ways to (?:look|see|interpret|read|answer|approach|think)\b)"
)
_PRECISION = re.compile(r"(?i)[\s-](?:decimals?|digits?|significant)\b")
_IN_A_YEAR = re.compile(r"(?i)(?:^|[.!?]\s)in\s$")
# The date of a writer's latest information (a knowledge cutoff).
_AS_OF = re.compile(
    r"(?i)(?:\bas (?:of|at)|\b(?:knowledge|training|trained|data|information|update[ds]?|cut-?off|stand|figures|events|developments|anything|happened)\b[^.!?\n]{0,40}|\bstand|\ben date de|\bà partir de|\ba partir de|截至|根据)\s?(?:(?:the )?(?:early|late|mid|year|[A-Z][a-z]{2,8})[ -])?$"
)
_REACH = 48
_MAX_DIGITS = 18


@dataclass(frozen=True, slots=True)
class Numeral:
    """Number in a text."""

    value: float  # an int if written as a whole number
    start: int
    end: int
    mode: Mode = Mode.SAID
    written: str = ""
    percent: bool = False
    out_of: float | None = None  # denominator, or None
    doubtful: bool = False  # "1.234": thousands or a decimal
    heads: bool = False
    part: bool = False  # part of a formula or next to other letters: "√2", "3x"


def numerals(text: str, *, equations: bool = True, shares: bool = False) -> list[Numeral]:
    """Return the numbers in a text returned by `plain`, in order of appearance."""
    # With `equations`, "=" precedes a result; otherwise it precedes the label of a code ("1 =
    # never"). With `shares`, "3 of 4" is one number with a denominator; "3/4" always is.
    return list(_numerals(text, equations, shares))


@lru_cache(maxsize=16)  # several checks use the same reply
def _numerals(text: str, equations: bool, shares: bool) -> tuple[Numeral, ...]:  # noqa: FBT001
    enumerators = [one.end() for one in _ENUMERATOR.finditer(text)]
    listed = frozenset(enumerators if len(enumerators) > 1 else ())
    numbers: list[Numeral] = []
    operands: set[float] = set()
    results: list[Numeral] = []
    solved = _SUM_IN_WORDS.sub(_with_sign, _NEARLY_EQUAL.sub("=", text)) if equations else text
    for sentence in sentences(text):
        ones = [
            _in_manner(text, one, sentence)
            for one in _fractions(text, _plain(text, sentence), shares=shares)
            if one.end not in listed
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
    """Join digits and a following power of ten in words: "1.5 million"."""
    joined: list[Numeral] = []
    for one in ones:
        last = joined[-1] if joined else None
        beside = last is not None and last.written and text[last.end : one.start] == " "
        if last is not None and beside and text[one.start : one.end].lower() in SCALES:
            value = last.value * one.value
            whole = int(value) if value == int(value) else value
            joined[-1] = replace(last, value=whole, end=one.end, written="", doubtful=False)
        elif (
            last is not None
            and (unit := _EASTERN.get(text[last.end - 1]))
            and (last.end == one.start or (unit[1] and text[last.end : one.start] == " "))
        ):
            joined[-1] = replace(  # "1億2千万" is one number with two parts
                last,
                value=last.value + one.value,
                end=one.end,
                part=last.part or one.part or one.value >= unit[0] or len(one.written) == 1,
            )
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
    part = _FORMULA_BEFORE.search(text, max(start - 12, 0), start) is not None
    scale = _SCALE.match(text, token.end())
    if scale:
        power = next(
            10 ** int(name[1:].rstrip("_")) for name, word in scale.groupdict().items() if word
        )
        value = round(value * power, 6)
        value = int(value) if value == int(value) else value
        return Numeral(value, start, scale.end(), written="", part=part)
    part |= _FORMULA_AFTER.match(text, token.end()) is not None
    part |= bool(_LATIN.match(text, token.end()) and not _GLUED.match(text, token.end()))
    doubtful = re.fullmatch(r"[1-9][0-9]{0,2}\.[0-9]{3}", written) is not None
    percent = _PERCENT.match(text, token.end())
    end = percent.end() if percent else token.end()
    return Numeral(
        value,
        start,
        end,
        written="" if token["based"] or token["exponential"] else written,
        percent=percent is not None,
        doubtful=doubtful,
        part=part,
    )


_MINUS = re.compile(
    r"(?i)(?:^|[:,(]\s?|\b(?:is|was|be|about|around|to|of|at)\s)(?:minus|negative)\s$"
)
_SCALE = re.compile(
    r"\s?(?:(?P<e9>(?i:milliarden?|milliards?|miljard|miliardi|мил+иард\w*|mil millones|mrd\.?|bn|млрд\.?|miliard\w*|milyar|अरब)|(?<=[0-9])B)"
    r"|(?P<e6>(?i:millionen|millions|millón|millones|milioni|milione|milhões|milhão|miljoen|milion\w*|milyon|mio\.?|mln\.?|mn|миллион\w*|млн\.?)|(?<=[0-9])M)"
    r"|(?P<e3>(?i:tausend|tsd\.?|mille|mila|duizend|тысяч\w?|тыс\.?|mil|bin|tysi\w+|tys\.?|हज़ार|हजार|천(?!만)|千(?!万))|(?<=[0-9])[kK])|(?P<e2>百(?!万)))(?![^\W\d_人個个円元年名台件])"
    r"|\s?(?:(?P<e12>(?i:tn|трлн\.?)|(?<=[0-9])T)|(?P<e5>(?i:lakhs?|लाख))|(?P<e7>(?i:crores?|करोड़)))(?![^\W\d_])"
    r"|\s?(?:(?P<e6_>百万)|(?P<e7_>千万|천만)|(?P<e5_>十万)|(?P<e12_>兆|조)|(?P<e4>万|萬|만)|(?P<e8>亿|億|억))"
)


# Smaller units may follow these units ("5 ft 3 in"); the flag states whether a space may separate
# them.
_EASTERN = {
    **{
        one: (10**power, False)
        for one, power in zip("百千万萬億亿兆", (2, 3, 4, 4, 8, 8, 12), strict=True)
    },
    **{one: (10**power, True) for one, power in zip("백천만억조", (2, 3, 4, 8, 12), strict=True)},
}


def _is_operator(text: str, start: int) -> bool:
    """Return whether a minus follows a number and a space: "10 -4"."""
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
    if token["based"]:
        return _in_base(written.lower())
    if token["exponential"]:
        return _power(written)
    if token["whole"]:
        return int(written)
    value = float(re.sub(r"\s?[×x*·][^^]*\^\s?\{?", "e", written).strip("}").replace(",", "."))
    return int(value) if value.is_integer() and abs(value) < 10**15 else value


def _in_base(written: str) -> float:
    """Return "0x1f" or "1010_2" as a number; infinite if the base does not have these digits."""
    digits, _, base = written.partition("_")
    try:
        return int(digits, int(base or 0))
    except ValueError:
        return math.inf


def _power(written: str) -> float:
    base, _, exponent = written.replace("**", "^").partition("^")
    number = float(base) if "." in base else int(base)
    try:
        value = number ** int(exponent.strip(" (){}"))
    except (OverflowError, ZeroDivisionError):
        return math.inf
    return value if value < 10**_MAX_DIGITS else math.inf


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
            if shares and _WHOLE_FIRST.fullmatch(between):  # "7 üzerinden 3"
                joined[-1] = replace(one, start=last.start, out_of=last.value)
                continue
        joined.append(one)
    return joined


_WHOLE_FIRST = re.compile(
    r"(?i)\s?(?:में से|üzerinden|점 만점(?:에|으로)(?: (?:하면|치면|말하면))?|段階中の?|点満点中|(?:点満点|段階(?:評価)?)で(?:(?:言|い)(?:うと|えば)|表(?:すと|せば)|評価(?:すると|すれば))?|分满分|分制)\s?"
)
_OUT_OF = re.compile(
    r"(?i)\]?\s?(?:\(?out of(?: a possible)?|of|in|von|sur|de|su|van|z|из|من)\s?(?:the\s|an?\s|\[)?"
)


def _in_manner(text: str, one: Numeral, sentence: Sentence) -> Numeral:
    heads = not text[sentence.start : one.start].strip(" \"'([{$€£~≈=")
    mode = manner(text, sentence, one.start, one.end)
    if mode is not Mode.SAID:
        return replace(one, mode=mode, heads=heads)
    before = text[max(one.start - _REACH, 0) : one.start]
    led = bool(before.strip())
    if one.written.count(".") == 1 and text.startswith(("...", "…"), one.end):
        mode = Mode.RAISED  # the decimals of "0.333..." continue
    elif (
        one.part
        or _COUNTS.match(text, one.end)
        or (text[one.end : one.end + 1] == "," and _IN_A_YEAR.search(before))
        or (_is_year(one) and _AS_OF.search(before))
        or _IN_PASSING_AFTER.match(text, one.end)
        or (led and _ANNOUNCES.search(before))
    ):
        mode = Mode.RAISED
    elif (led and (_MAY_BE.search(before) or _BOUND_BEFORE.search(before))) or (
        _BOUND_AFTER.match(text, one.end)
    ):
        mode = Mode.OPEN
    return replace(one, mode=mode, heads=heads)


# Times, ages and measures as adjectives ("a 12-inch ruler") are not answers. Other words make a
# number a bound.
_IN_PASSING_AFTER = re.compile(
    r"(?i)-(?!ish|[0-9]|prozent|percent)[^\W\d_]{2,}|\s?(?:a\.m\.|p\.m\.|[ap]m\b|o'clock)|\s?-?odd\b|\s[a-z]+\sago\b|\s(?:and counting|up(?:wards?)?)(?![^.,;!?])"
    r"|\s(?:is|was|are|were)\s(?!(?:the|an?) (?:[a-z]+ ){0,2}(?:answer|number|result|total|count|sum|value|estimate|guess|figure)\b|exactly|correct|right|my|what|left|it\b|needed|remaining|in total|in all|there)"
)
_ANNOUNCES = re.compile(
    r"(?i)(?:\b(?:let me|let's|let us|(?:give|allow) (?:me|us))\s(?!say|go)|(?:^|[.!?]\s)(?:multiply|divide|add|subtract|solve|consider|suppose|here are|given)\b)[^.,;:=!?\n]*$"
)
_MAY_BE = re.compile(
    r"(?i)\b(?:could|might)\s(?:\w+ly\s|also\s|well\s|perhaps\s)?(?:be|have been)\s(?:about\s|around\s)?$"
)


def _is_year(one: Numeral) -> bool:
    return len(one.written) == 4 and one.written.isdigit() and 1500 < one.value < 2100


_TERM = r"[-−]?[0-9](?:[0-9.,]{0,30}[0-9])?"
_SUM_IN_WORDS = re.compile(
    rf"(?i)(?P<sum>(?:\b(?:add|subtract|multiply|divid|summ)ing\s{_TERM}\s(?:and|to|from|by|with)\s{_TERM}|(?<![\w.]){_TERM}(?:(?:\s(?:plus|minus|times|over|divided\ by|multiplied\ by|added\ to|x"
    rf"|[-+*×·/÷−])\s|\s?[+*×·÷]\s?){_TERM})+)\s)(?P<is>is\ equal\ to|equals|is|are|makes?|gives?|yields?|comes\ to)"
    rf"(?=\s(?:exactly\s|simply\s)?{_TERM})"
)
_ENUMERATOR = re.compile(r"(?m)^[ \t]*[0-9]{1,2}(?=[.)][ \t]+[\"'(]?[^\W\d_]{2})")
_NEARLY_EQUAL = re.compile(r"(?<=[\w)%] )≈|(?<=[\w)%])≈")
_SIDES = re.compile(r"[,;:\n]\s|\band\b(?=\s\w{1,12}\s?=)|\bor\b|\bso\b|\bhence\b|\btherefore\b")


# "2x = 10" and "x + 6 = 13" are equations to solve for x, but a single name before "=" is assigned
# a value.
_UNSOLVED = re.compile(
    r"[0-9)]\s?[b-hj-z](?![\w'])(?!\s?[0-9(])|(?<![\w'])[a-z](?:\s?[-+−^]|[23]\s*$)|[-+−]\s?[b-z](?![\w'])"
)
_LAST_SIDE = re.compile(r"[,;:.\n]|\b(?:so|and|then)\b")


def _with_sign(said: re.Match[str]) -> str:
    """Replace the verb after a sum by "=": "3 plus 4 is 7"."""
    return said["sum"] + "=".ljust(len(said["is"]))


def _solved(text: str, ones: list[Numeral]) -> tuple[list[Numeral], set[float], list[Numeral]]:
    """Keep the part of each equation after its last equals sign."""
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
        if _UNSOLVED.search(_LAST_SIDE.split(text[max(sign - _REACH, 0) : sign])[-1]):
            kept += [replace(one, mode=Mode.DENIED) for one in after]
            continue
        kept += after
        results += after
    return kept, terms, results


def _sign_before(text: str, one: Numeral) -> int:
    """Return the position of "x =" before a number, or -1."""
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


def number_alone(text: str, further: frozenset[str] = frozenset()) -> int | None:
    """Return the number that a text states in words, with optional lead-in and unit."""
    words = _IDLE_TAIL.sub("", text.strip(_AROUND)).strip(_AROUND).split()
    number = number_in_words(" ".join(words))
    if number is not None or not 1 < len(words) <= _FEW or not may_count(words):
        return number
    for first in range(len(words)):
        for last in range(len(words), max(first, len(words) - _UNIT_WORDS - 1), -1):
            said = " ".join(words[first:last])
            number = None if _IN_ENGLISH.search(said) else number_in_words(said)
            if number is not None and (last == len(words) or _unit(number, words[last:])):
                return number
        if not leads_up(words[first].lower().rstrip(","), further):
            break
    return None


_FEW, _UNIT_WORDS = 6, 2
_AROUND = " \t\"'()[]{}.,;:!*–-"
# Phrases after a comma that affirm an answer and add nothing: "sept, sans hésiter".
_IDLE_TAIL = re.compile(
    r"(?i)\s(?:en total|insgesamt|in totale|au total|всего|no total|in totaal|łącznie|in total|altogether)\W*$|,\s(?:ohne wenn und aber|sans hésit\w+|ohne (?:zu )?zögern|sin dudar(?:lo)?|sin duda|senza (?:esitare|esitazioni|dubbio)|sem (?:hesitar|dúvida)|zonder (?:te )?aarzel\w+|без (?:колебаний|сомнений)"
    r"|bez wahania|me semble(?:-t-il)?|il me semble|je (?:crois|pense|dirais)|(?:glaube|denke|meine|schätze) ich|würde ich sagen|(?:me )?parece|creo(?: yo)?|diría(?: yo)?|credo|direi|mi (?:pare|sembra)|acho(?: eu)?|diria(?: eu)?|denk ik|думаю|кажется|myślę|chyba|sanırım)$"
)
_IN_ENGLISH = re.compile(rf"(?i)\b(?:{ANY})\b")  # recognised at any position in the text
_NO_UNIT = re.compile(
    rf"(?i)(?<!\w)(?:{OR}|and|und|et|y|e|и|bis|mehr|weniger|plus|moins|más|menos|più|meno|mais|meer|minder|więcej|больше|sicuro|ça|gracias|grazie|mal|veces|fois|volte|vezes|раз)(?!\w)|[^\w\s]|[以多少]|이상|이하"
)


def _unit(number: int, words: list[str]) -> bool:
    """Return whether words after a number are its unit."""
    behind = " ".join(words)
    return 1 < number < 1000 and not (_NO_UNIT.search(behind) or may_count(words))
