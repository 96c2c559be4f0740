"""Parse numbers; the module also defines the base class of all numeric forms of answers."""

import re
from abc import abstractmethod
from collections.abc import Sequence
from typing import Literal

from psychollm._base.checks import check_choice
from psychollm.instruments.readers.clauses import (
    WORD,
    Mention,
    Mode,
    Value,
    clause_before,
    leads,
    of_one_manner,
    sentences,
)
from psychollm.instruments.readers.lexicon import OR, REASON
from psychollm.instruments.readers.numerals import Numeral, number_alone, numerals
from psychollm.instruments.readers.verdict import Form, read
from psychollm.instruments.reading import Reading

_EDGES = " \t\n\"'()[]{}$€£¥~≈=*.,;:!–"
_IS_NAMED = re.compile(r"^\W*[A-Za-z]\w{0,20}\s?[=≈]")  # a named result such as "x = 5"
_CURRENCY = re.compile(r"(?<!\w)(?:USD|EUR|GBP|CHF|JPY|CNY|INR|US|Rs\.?)\s?\$?\s?$")
_NAMED = 32  # largest number of characters between the name of a scale and its ends
_UNIT_WORDS = 3  # "5 coins", "5 of them", "7 kg in all"
_TAIL = re.compile(rf"[{WORD}°'%/]+")
_VERB = re.compile(r"(?i)\b(?:is|was|are|were|would|would've|seems?|remains?)\b")
_REASON = re.compile(
    rf"(?i)(?!\s*\(?(?:{OR}|and|to|maybe)(?!\w))"
    r"[ \t]*(?:[^\W\d]+[ \t]*){0,2}(?:[,;:–-][ \t]*)?(?:\((?:(?=[^()\n]{0,80}(?:[+×*=→]|[0-9] [^()\n]{0,40},[^()\n]{0,40}[0-9]))|(?:since|because|as|from|after|given|an?|the|with|for)\b)|because\b|since\b|as\b|weil\b|da\b"
    r"|parce que\b|car\b|porque\b|perché\b|omdat\b|bo\b|потому\b|çünkü\b|因为|なぜなら)"
)
_ASIDE = re.compile(rf"(?i)(?<=\S)\s?\([^()\n]*(?:\)|$)|{REASON}.*$")
_ONE = re.compile(
    r"(?i)\W*(?:exactly\s|just\s|only\s)?one(?:\s(?!of|more|half|third|quarter|moment|second|minute|way|thing|word)\w+)?\W*"
)
_ESTIMATES = re.compile(
    r"(?i)(?<![\w'])(?:guess\w*|estimat\w*|say|answer|about|around|roughly|approximately|probably|perhaps|maybe|likely|believe|think|go with|put|should be|must be|ungefähr|etwa|schätz\w*|vermut\w*|environ|dirais|diría|unos|circa"
    r"|direi|cerca|diria|ongeveer|schat|około|около|примерно|думаю)(?![\w'])|大概|大约|约|たぶん|약"
)
_ENDS = re.compile(r"[^.,;:!?\n]{0,30}(?:$|[.,;:!?\n])")
_OR = re.compile(rf"(?i),?\s(?:{OR})\s")


_STATES = re.compile(
    r"""(?ix)
    (?:^|=|\b(?:(?:it|which)\s[a-z]+|it's|that's|there's|stays?|reste|restent|war|waren|era|eran|erano|eram|était|étaient|quedan?|is|are|was|were|be|been|has|have|had|having|equals?|makes?|making|gives?|giving|gets?|got|yields?|produces?
      |leaves?|leaving|remains?|totals?|totalling|contains?|includes?|to|of|in|with|need|needs|takes?|costs?
      |weighs?|measures?|earns?|pays?|spends?|runs?|travels?|lives?|scores?|won|ate|finds?|found|counted?|counts|i count|see|obtain
      |obtains|receives?|holds?|sells?|sold|bought|ended|began|only|number|value|result|sum
      |shows?|appears?|occurs?|ist|sind|beträgt|hat|haben|gibt|macht|ergibt|es|est|sont|fait|a|son|hay|tiene|da|è|sono|ci|fa|ha|é|são|há
      |tem|zijn|er|heeft|jest|ma|to|mide[n]?|mesure|misura|mede|misst|liegt\sbei|beläuft\ssich\sauf|kommt\sauf|s'élève\sà|asciende\sa|ammonta\sa|totaliza|liczy|telt|zählt|cuenta\scon|compte|conta|wynosi|mierzy|имеет|насчитывает|составляет|هو|هي|يبلغ|تبلغ|عدده\w*|på|har|har\sdet|on|má|je|are|ni)\s)
    \s*(?:(?:her|him|them|noch|about|around|roughly|approximately|exactly|precisely|just|only|nearly|almost|some|an?|the|another|still|also
      |now|then|indeed|actually|simply|therefore|hence|estimated|rund|etwa|circa|ca|environ|unos|unas|cerca|de|di|ungefähr
      |genau|insgesamt|minus|negative|ein|eine|un|une|total|year)\s+)*\W*$
    """
)


# The pattern matches a measure with its value ("高さは3,776メートル"), but not a count ("高さは3つの要因で") or a
# year.
_MEASURES = re.compile(
    r"(?:高さ|長さ|深さ|重さ|面積|人口|人数|[^\s、,]の数|個数|年齢|距離|速度|気?温度?|値段|価格|合計|標高|身高|高度|长度|深度|面积|距离|总数|높이|길이|깊이|무게|면적|인구|거리|가격)\s?(?:は|是|为|約|约|은|는|이|가)(?:約|约|大约|およそ|\s약)?\s?$"
)
_THERE_ARE = re.compile(r"(?:[约大共计]有|共计?|约为|约是|等于|等於|达到?)\s?$")
_NO_MEASURE = re.compile(r"\s?(?:つ|[個个]の|年|月|日|[%位番号回倍]|위|가지|개|년|월)")


# The patterns match verbs that follow their number ("ایران ۳۱ استان دارد"), and a year at the end
# of a reply.
_VERB_BEHIND = re.compile(
    r"\s?(?![つ位番回倍章위가]|[個个]の)\S{0,12}(?:\s\S{1,14}){0,2}?\s?(?:دارد|است|بود|আছে|ছিল|है|हैं|थे|थी|था|あります|います|です|ある|いる|있습니다|있다|입니다|이다|vardır|var|உள்ளன|உள்ளது|ఉన్నాయి|ఉంది|આહે|છે|आहेत|आहे|ਹਨ|ہے|ہیں)\W*$"
)
_YEAR_BEFORE = re.compile(
    r"(?i)\S\s(?:im jahre?|en el año|l'an|en l'an|en l'année|nell'anno|no ano de|no ano|in the year|in het jaar|w roku|в|সালে|सन्|سال|tahun|năm)\s$"
)
_IN_YEAR = re.compile(r"(?i)\s(?:en|em|in|nel|в|w|op|anno|im)\s$")
_YEAR_BEHIND = re.compile(r"(?:\s?(?:году|г\.|年|yılında|में|সালে))?(?:\s\S{1,10}){0,2}\W*$")


_CONTRAST = re.compile(
    r"(?i),\s(?:(?:and|a|а|und|et|y|e|en)\s)?(?:not|non|nicht|pas|no|não|niet|nie|не)\s(?:[^\W\d_]+\s){0,2}[0-9]"
)


def _states_behind(text: str, one: Numeral) -> bool:
    """Return whether a one-sentence reply states its only number as the answer."""
    if "?" in text or len(sentences(text)) > 1 or one.percent or one.out_of is not None:
        return False
    if len(re.findall("[0-9]+(?:[.,' ][0-9]+)*", text)) > 1:
        return False
    before = text[: one.start]
    if re.fullmatch("1[0-9]{3}|20[0-9]{2}", one.written) and _YEAR_BEFORE.search(before):
        return _YEAR_BEHIND.match(text, one.end) is not None
    if re.fullmatch("1[0-9]{3}|20[0-9]{2}", one.written) and _IN_YEAR.search(before):
        return len(before.split()) > 4 and not text[one.end :].strip(" .!")
    return _VERB_BEHIND.match(text, one.end) is not None and not _OF_ITSELF.search(before)


# In a sentence of the model about itself ("I was released in 2023"), only a counted number can be
# the answer.
_OF_ITSELF = re.compile(
    r"(?i)^\W*(?:(?:and|so|well|but|then|as)\s)?(?:i|i'm|i've|my|me|we|our)(?!\w)(?!(?:'ve| have)? (?:count|get|got|obtain|f[io]und|see|saw|believe|think|guess"
    r"|calculat|comput|measur|estimat|reckon|arrive|end up))"
)


# Words that explain a point of a scale, as in '1 = "never"'.
MEANS = r"(?:=|–|is(?:\sfor)?|means|meaning|being|stands for|bedeutet|für|steht für|est|signifie|es|significa|è|é|betekent|oznacza|означает|veut dire|vuol dire|quer dizer|代表|表示|تعني|は)"
MEANING = r"(?:\"[^\"\n]{1,40}\"|[^\",;.()\d\n]{1,40}?)"
POINT_NAME = r"(?:\s\([^()\n]{1,40}\))?"
# Words before and after the ends of a scale.
_SCALE_BEFORE = re.compile(
    r"(?i)(?<![\w'])(?:(?:on|from|scale|of|an?|the|auf|einer|der|skala|von|sur|une|échelle|de|dans|en|una|la|escala|su|scala|da|numa|del|dal|na|uma|op|een|schaal|van|w|skali|od|по|шкале|от|se|على|مقياس|من)\s+|l'|[在从]\s?)+$"
)
_SCALE_AFTER = re.compile(
    r"(?:まで|까지)?\s?(?:[の的]|के|의)?\s?(?:尺度|量表|段階(?:評価)?|スケール|评分|分制|पैमाने|척도|ölçeğinde|arasında(?:ki)?)?\s?(?:では|で|上|中|里|पर|में|에서)?"
)
SCALE = re.compile(
    r"(?i)scale|skala|skali|échelle|escala|scala|schaal|шкал|ölçe|尺度|量表|スケール|पैमाने|척도|مقياس"
)


# Asides in brackets contain the measure in another unit, a source with its year, or the parts of a
# total.
_UNIT = r"(?:m|km|cm|mm|ft|feet|foot|mi|miles?|kg|g|lbs?|pounds?|°\s?[CF]|l|lit(?:er|re)s?|gal(?:lons)?|in|inches|yd|yards|acres|ha|hectares|sq\.? \w+|mph|km/h|knots|hours|h|min(?:utes)?|s|seconds|stone|oz|met(?:er|re)s?|K)"
_IN_UNITS = re.compile(rf"(?<=[0-9])(?P<unit>\s?{_UNIT})\s?\([0-9][0-9.,' ]*\s?{_UNIT}\)(?![\w])")
# Other asides divide a total or count it differently: "88 keys (52 white, 36 black)".
_COUNTED_ALSO = re.compile(
    r"(?i)(?<=[0-9] )(?P<named>[^\W\d_]{3,}) \((?!or\b|maybe|perhaps|oder|ou\b|o\b|not\b|actually|no\b|out of|of\b|von|sur|de\b)[0-9]+ [^\W\d_][^()\n]{0,60}\)"
)
_CONVERTED = re.compile(
    r"(?i)(?<=[^\W_])\s?\((?:≈|~|=|that's|that is|which is|equals|das sind|c'est|son|approx\.?|about|roughly|around|ca\.?|circa|or|i\.e\.|etwa|environ|unos|około|約|约)\s?[0-9][0-9.,' ]*\s?(?:[^\W\d_]|°)[^()\n]{0,20}\)"
)
_SOURCE = re.compile(
    r"(?i)\s?\((?:published|updated|released|dated|retrieved|accessed|veröffentlicht|publié\w*|publicad[oa])\b[^()\n]{0,60}\)|(?<=[^.!?\s]),?\s(?:d'après|selon|laut|according to|secondo|según|segundo|по данным|volgens|według)\s[^.!?\n]*[0-9][^.!?\n]*\.?\s*$|\s?\((?:(?:source|quelle|fuente|fonte|bron|źródło|источник|see|cf\.|as of|stand|stato|datos de|according to|selon|laut|secondo|según|segundo)\b[^()\n]{0,60}|(?:1[89]|20)[0-9]{2})\)(?=\W*$)"
)
_PARTS = re.compile(
    r"(?i)(?<=[^\W_]),?\s(?:of which|of whom|including|among them|di cui|davon|darunter|dont|de l[ao]s cuales|d[ao]s quais|waarvan|z czego|w tym|из них|в том числе|bunların)\s[^.!?\n]*[0-9][^.!?\n]*|,\s?(?:其中|うち|このうち|그중|이 중)[^.!?\n]*[0-9][^.!?\n]*"
)
_SUM = re.compile(
    r"(?P<whole>[0-9]+)(?P<named>(?: [^\W\d_]+){1,3}):\s(?P<parts>[^.:!?\n]*[0-9][^.:!?\n]*)"
)


def without_asides(text: str) -> str:
    """Return a text without asides that repeat its number or split it into parts."""
    text = _IN_UNITS.sub(r"\g<unit>", _SOURCE.sub("", _CONVERTED.sub("", text)))
    text = _COUNTED_ALSO.sub(r"\g<named>", _PARTS.sub("", text))
    whole = _SUM.search(text)
    if whole is not None:
        parts = [int(one) for one in re.findall("[0-9]+", whole["parts"])]
        total = int(whole["whole"])
        if sum(parts) == total or (len(parts) == 1 and parts[0] == total - 1):
            text = text[: whole.start("parts")].rstrip(": ") + text[whole.end() :]
    return text


def without_scale(text: str, ends: re.Pattern[str]) -> str:
    """Blank out a repeated description of the scale: its end points and the words that name it."""
    for one in ends.finditer(text):
        before = _SCALE_BEFORE.search(text, max(one.start() - _NAMED, 0), one.start())
        after = _SCALE_AFTER.match(text, one.end())
        start, end = before.start() if before else one.start(), after.end() if after else one.end()
        text = text[:start] + " " * (end - start) + text[end:]
    return text


_NEITHER = re.compile(
    r"(?i)(?<!\w)(?:ni|né|nem|weder|ani|ни|nie|nicht|kein\w*|pas|no|non|não|niet|geen|не|değil|ne|sans|senza|sin|ohne|sem|bez|без|zonder)(?!\w)"
)


def _stated_in_words(text: str) -> int | None:
    """Return the number in words at the end of a short statement: "Polska ma szesnaście ..."."""
    words = _HEAD.split(text, 1)[0].split()
    if not 2 < len(words) < 8 or "?" in text or numerals(text) or _NEITHER.search(text):
        return None
    for first in range(2, len(words)):
        if _STATES.search(" ".join(words[:first]) + " "):
            return number_alone(" ".join(words[first:]))
    return None


_HEAD = re.compile(
    r"(?<!\d)[,;(–](?!\d)(?!\s?(?:or|oder|ou|o|of|maybe|perhaps|vielleicht|no|not|but)(?!\w))"
)


class NumericForm(Form):
    """Form of an answer that is a number, in digits or in words."""

    runs_on = True
    opening_decides = True
    equations = True
    shares = False
    states = False  # whether any sentence may state the answer ("She has 5")
    leads: frozenset[str] = frozenset()  # further words that introduce a number
    off_scale_opposes = True  # whether a number outside the scale makes a second number ambiguous

    @abstractmethod
    def value(self, one: Numeral) -> Value | None:
        """Return the value of a number; None if it is outside the scale or has another form."""

    def unclear(self, one: Numeral) -> bool:
        """Return whether a number can be parsed in two ways."""
        return False

    def led_up_to(self, text: str, one: Numeral) -> bool:
        """Return whether a clause introduces a number as an answer and not in passing."""
        before = clause_before(text, one.start)
        measured = _MEASURES.search(before) and not _NO_MEASURE.match(text, one.end)
        states = self.states and (
            "=" in before
            or (_STATES.search(before) and not _OF_ITSELF.search(before))
            or _THERE_ARE.search(before)
            or (measured and not one.percent)
            or _CONTRAST.match(text, one.end)
            or _states_behind(text, one)
        )
        return bool(states) or leads(text, one.start, self.leads)

    def stands(self, text: str, one: Mention) -> bool:
        """Return whether a number in a refusal is nevertheless an estimate or a result."""
        before = clause_before(text, one.start)
        given = _ESTIMATES.search(before) or before.rstrip().endswith("=")
        return bool(given and _ENDS.match(text, one.end))

    def found(self, text: str) -> list[Numeral]:
        """Return the candidate numbers of a text."""
        return numerals(text, equations=self.equations, shares=self.shares)

    def mentions(self, text: str) -> Sequence[Mention]:
        """Return the mentions of numbers in a text, in order."""
        mentions = []
        for one in self.found(text):
            value = self.value(one)
            mode = one.mode
            if value is None and self.off_scale_opposes:
                value, mode = f"{one.value}/{one.out_of}", Mode.RAISED  # "3 to 5" of four points
            elif mode is Mode.SAID and self.unclear(one):
                mode = Mode.OPEN
            else:
                mode = mode.raised_if(not self.led_up_to(text, one))
            if value is not None:
                mentions.append(Mention(value, one.start, one.end, mode, one.heads))
        years = [one for one in mentions if _passing_year(text, one)]
        if any(one.mode is Mode.SAID and one not in years for one in mentions):
            mentions = [one for one in mentions if one not in years]
        return of_one_manner(text, mentions, _OR)

    def whole(self, text: str) -> frozenset[Value]:
        """Return the values of a text that consists only of an answer."""
        alone = number_alone(text, self.leads)
        if alone is None and self.states:
            alone = _stated_in_words(text)
        if alone is None and _ONE.fullmatch(text):
            alone = 1
        if alone is not None:
            return self._values([Numeral(alone, 0, len(text))])
        ones = self.found(text)
        if not ones or any(one.mode is not Mode.SAID for one in ones):
            return frozenset()
        lead = _CURRENCY.sub("", _IS_NAMED.sub("", text[: ones[0].start]))
        if lead.strip(_EDGES) or any(self.unclear(one) for one in ones):
            return frozenset()
        values = self._values(ones)
        words = len(_TAIL.findall(text[ones[0].end :])) - (len(ones) - 1)
        if _VERB.search(text, ones[0].end):
            return frozenset()  # the number is the subject: "0.05 was the threshold"
        return values if len(values) == 1 and words <= _UNIT_WORDS else frozenset()

    def opening(self, text: str) -> frozenset[Value]:
        """Return the values stated at the start of the reply's first sentence."""
        spans = sentences(text)
        first = text[: spans[0].end] if spans else text
        head = _HEAD.split(first, 1)[0]
        rest = first[len(head) + 1 :]
        if rest and not (_NEITHER.search(first) or self.found(first) or number_alone(rest)):
            said = number_alone(head, self.leads)
            if said is not None:
                return self._values([Numeral(said, 0, len(head))])
        # Other numbers in a reason or an aside do not count: "7, because 7 × 8 = 56".
        ones = self.found(_ASIDE.sub(lambda aside: " " * len(aside.group()), first))
        if not ones or not ones[0].heads or ones[0].mode is not Mode.SAID:
            return frozenset()
        if self.whole(first) and not self.found(text[len(first) :]):
            return self._values(ones[:1])
        if len(ones) > 1 or self.unclear(ones[0]) or not _REASON.match(first, ones[0].end):
            return frozenset()
        return self._values(ones[:1])

    def _values(self, ones: Sequence[Numeral]) -> frozenset[Value]:
        values = [self.value(one) for one in ones]
        if None in values:
            return frozenset()
        return frozenset(value for value in values if value is not None)


_IN = re.compile(
    r"(?i)\b(?:in|of|since|from|by|during|until|the|stand|stato|dati|datos|dados|données|stan)\s$"
)


def _passing_year(text: str, one: Mention) -> bool:
    """Return whether a number is only the year of a statement about another number."""
    year = re.fullmatch("1[5-9][0-9]{2}|20[0-9]{2}", text[one.start : one.end])
    return bool(year and _IN.search(text, max(one.start - 8, 0), one.start))


def read_integer(reply: str, *, finish_reason: str | None = None) -> Reading:
    """Parse a whole number.

    Thousands may be grouped by commas (including "1,50,000"), spaces, apostrophes, or two or more
    points. A number with a single point, such as "1.234", has two possible values and is
    ambiguous. Bounds and ranges are also ambiguous. Powers, abbreviated multiples ("12k") and
    other bases ("0b101") are evaluated. Parts of formulas ("2π", "3x") are ignored. A number at
    the end of a truncated reply may be incomplete and is not used.

    Parameters
    ----------
    reply : str
        The reply.
    finish_reason : str, optional
        Reason why the generation ended; "length" means that the reply was cut off.

    Examples
    --------
    >>> read_integer("10 - 4 = 6, so she has 6 coins.").value
    6
    >>> read_integer("5 or 6").outcome.value
    'ambiguous'
    """
    return read(reply, _Integer(), finish_reason)


class _Integer(NumericForm):
    states = True
    labels = ("sum", "number", "amount")

    def value(self, one: Numeral) -> Value | None:
        if one.out_of is not None or one.percent or one.value != int(one.value):
            return int(one.written.replace(".", "")) if one.doubtful else None
        return int(one.value)

    def unclear(self, one: Numeral) -> bool:
        return one.doubtful


DecimalMark = Literal[".", ","]
# The first pattern matches one point before three digits; the others recognise languages that
# group thousands by points.
_ONE_MARK = re.compile(r"(?<![0-9.,])[1-9][0-9]{0,2}[.,][0-9]{3}(?![0-9.,]*[0-9])")
_ENGLISH = re.compile(
    r"\b(?:[Tt]he|of|[Ii]s|[Ii]t|and|that|[Aa]re|[Aa]nswer|[Tt]his|[Tt]here|was|were|with|for|I|[Aa]pproximately|[Aa]bout|[Rr]esult|equals|has|have|would)\b"
)
_WRITES_COMMAS = re.compile(
    r"(?i)(?-i:[à-öø-žÀ-ÖØ-Þ\u0400-\u04ff])|(?<!\w)(?:das|es|ist|sind|waren|hat|haben|der|die|und|rund|etwa|circa|insgesamt|antwort|ergebnis|el|la|los|las|del|son|hay|una?|unos|respuesta|resultado|le|les|des|environ"
    r"|il|ci|di|sono|risposta|risultato|os|tem|cerca|resposta|het|zijn|er|van|een|ongeveer|antwoord|jest|wynik|bir|toplam|cevap|yakla)(?!\w)"
)
_COUNTED = re.compile(
    r"\s(?!(?:kilo|meter|metr|m[èe]tre|lit[re]|grad|prozent|procent|segund|sekund|second|stund|minut|tonn|tonel|gramm?|volt|watt|punkt|point|puntos|punti|jahr|mill|mile|inch|yard|feet|foot|pound|ounce|degree|percent|dollar|gallon|acre|unit|hora|heure)\w*)[^\W\d_]{4,}",
    re.IGNORECASE,
)


def _thousands(text: str) -> bool | None:
    """Return whether a point before three digits groups thousands; None if undecided."""
    if _ENGLISH.search(text):
        return False
    counted = any(_COUNTED.match(text, one.end()) for one in _ONE_MARK.finditer(text))
    if _WRITES_COMMAS.search(text):
        return True if counted else None
    return None if counted else False


def read_number(
    reply: str, *, decimal_mark: DecimalMark = ".", finish_reason: str | None = None
) -> Reading:
    """Parse a whole or decimal number, a fraction, or a percentage (80 for 80 %).

    Parameters
    ----------
    reply : str
        The reply.
    decimal_mark : {".", ","}
        Decimal mark of replies, used if a single mark precedes three digits: "1,234" is 1234 with
        ".", and 1.234 with ",". A mark before any other number of digits is always a decimal mark.
        With ".", "1.234" is parsed as 1234 only before a noun, in languages that group thousands
        by points ("1.234 Einwohner").
    finish_reason : str, optional
        Reason why the generation ended; "length" means that the reply was cut off.

    Examples
    --------
    >>> read_number("about 3.14").value, read_number("3/4").value
    (3.14, 0.75)
    >>> read_number("1.234", decimal_mark=",").value
    1234
    """
    check_choice("decimal_mark", decimal_mark, DecimalMark)
    return read(reply, _Number(decimal_mark), finish_reason)


class _Number(NumericForm):
    states = True
    labels = ("sum", "number", "amount", "value")

    def __init__(self, decimal_mark: DecimalMark) -> None:
        self._comma = decimal_mark == ","
        self._thousands: bool | None = False

    def prepared(self, text: str) -> str:
        """Remove asides; decide whether a single mark before three digits is a decimal mark."""
        if not self._comma and _ONE_MARK.search(text):
            self._thousands = _thousands(text)
        return without_asides(text)

    def unclear(self, one: Numeral) -> bool:
        return self._thousands is None and _ONE_MARK.fullmatch(one.written) is not None

    def value(self, one: Numeral) -> Value | None:
        if one.out_of is not None:
            return one.value / one.out_of if one.out_of else None
        sign = -1 if one.value < 0 else 1
        if (self._comma or self._thousands) and one.doubtful:
            return int(one.written.replace(".", "")) * sign
        if self._comma and one.written.count(",") == 1 and "." not in one.written:
            return float(one.written.replace(",", ".")) * sign
        return one.value
