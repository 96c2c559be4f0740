"""Numbers in words: English of any length, other languages as far as replies use them."""

import re
from functools import lru_cache

_ENGLISH_UNITS = (
    "zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen"
    "|sixteen|seventeen|eighteen|nineteen"
)
_ENGLISH_TENS = "twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety"
_ENGLISH: dict[str, int] = {
    **{word: value for value, word in enumerate(_ENGLISH_UNITS.split("|"))},
    **{word: 10 * value for value, word in enumerate(_ENGLISH_TENS.split("|"), start=2)},
}
SCALES = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "dozen": 12}
_ANY = "|".join(sorted((*_ENGLISH, *SCALES), key=len, reverse=True))
_PHRASE = re.compile(
    rf"(?i)(?<![\w'-])(?:(?P<sign>minus|negative)\s+)?(?P<article>an?\s+(?=hundred|thousand|million|dozen))?"
    rf"(?:{_ANY})(?:(?:\s|-|\sand\s|,\s)(?:{_ANY}))*(?![\w'])(?!-point)"
)

_DIGIT = "|".join(_ENGLISH_UNITS.split("|")[:10])
_IN = re.compile(rf"(?i)\sand a half|\s(?:in|out of)\s(?:a\s)?(?:{_ANY}|[0-9]+)(?![\w-])")
_HALF = re.compile(
    r"(?i)(?<![\w-])half an? (?P<scale>dozen|hundred|thousand|million|billion)(?!\w)"
)
_DECIMALS = re.compile(
    rf"(?i)\s(?:point\s(?P<digits>(?:{_DIGIT})(?:\s(?:{_DIGIT}))*)|and\sa\shalf)(?![\w-])"
)
_TOPS = {
    **{word: value for value, word in enumerate(_ENGLISH_UNITS.split("|")[:11])},
    **dict.fromkeys(["a", "ein", "un", "uno", "um", "een"], 1),
    **dict.fromkeys(["zwei", "deux", "dos", "due", "dois", "twee", "две"], 2),
    **dict.fromkeys(["drei", "trois", "tres", "tre", "três", "drie", "три"], 3),
    **dict.fromkeys(["vier", "quatre", "cuatro", "quattro", "quatro", "четыре"], 4),
}
_BOTTOMS = {
    word: value
    for value, words in {
        2: "half halves",
        3: "third thirds drittel tiers tercio tercios terzi terços derde трети",
        4: "quarter quarters fourth fourths viertel quart quarts cuartos quarti quartos kwart четверти",
        5: "fifth fifths fünftel cinquièmes quintos quinti vijfde",
        6: "sixth sixths", 7: "seventh sevenths", 8: "eighth eighths", 9: "ninth ninths",
        10: "tenth tenths",
    }.items()
    for word in words.split()
}  # fmt: skip
# "A third option" is no fraction, nor is "half" of anything without a number before it.
_FRACTION = re.compile(
    rf"(?i)(?<![\w-])(?<!and )(?P<top>{'|'.join(_TOPS)})[\s-](?P<bottom>{'|'.join(sorted(_BOTTOMS, key=len, reverse=True))})"
    r"(?=\s*(?:$|[^\w\s])|\s(?:of|chance|sure|certain|confident|probability|likely|sicher|sûr|seguro|von|de|di)(?!\w))(?!-\w)"
)
_EASTERN_FRACTION = re.compile(
    "(?P<bottom>[二两三四五六七八九十]{1,3})分之(?P<top>[一二两三四五六七八九十]{1,3})"
)

# From nought to nineteen, then the tens from twenty to a hundred, by language. The German word for
# nought is left out ("-"): it is also how programs say that there is no answer.
_LISTS = """
- eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn achtzehn neunzehn | zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig hundert
zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize dix-sept dix-huit dix-neuf | vingt trente quarante cinquante soixante soixante-dix quatre-vingts quatre-vingt-dix cent
cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciséis diecisiete dieciocho diecinueve | veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa cien
zero uno due tre quattro cinque sei sette otto nove dieci undici dodici tredici quattordici quindici sedici diciassette diciotto diciannove | venti trenta quaranta cinquanta sessanta settanta ottanta novanta cento
zero um dois três quatro cinco seis sete oito nove dez onze doze treze catorze quinze dezesseis dezessete dezoito dezenove | vinte trinta quarenta cinquenta sessenta setenta oitenta noventa cem
nul een twee drie vier vijf zes zeven acht negen tien elf twaalf dertien veertien vijftien zestien zeventien achttien negentien | twintig dertig veertig vijftig zestig zeventig tachtig negentig honderd
zero jeden dwa trzy cztery pięć sześć siedem osiem dziewięć dziesięć jedenaście dwanaście trzynaście czternaście piętnaście szesnaście siedemnaście osiemnaście dziewiętnaście | dwadzieścia trzydzieści czterdzieści pięćdziesiąt sześćdziesiąt siedemdziesiąt osiemdziesiąt dziewięćdziesiąt sto
ноль один два три четыре пять шесть семь восемь девять десять одиннадцать двенадцать тринадцать четырнадцать пятнадцать шестнадцать семнадцать восемнадцать девятнадцать | двадцать тридцать сорок пятьдесят шестьдесят семьдесят восемьдесят девяносто сто
sıfır bir iki üç dört beş altı yedi sekiz dokuz on on_bir on_iki on_üç on_dört on_beş on_altı on_yedi on_sekiz on_dokuz | yirmi otuz kırk elli altmış yetmiş seksen doksan yüz
영 하나 둘 셋 넷 다섯 여섯 일곱 여덟 아홉 열 열하나 열둘 열셋 열넷 열다섯 열여섯 열일곱 열여덟 열아홉 | 스물 서른 마흔 쉰 예순 일흔 여든 아흔 백
صفر واحد اثنان ثلاثة أربعة خمسة ستة سبعة ثمانية تسعة عشرة أحد_عشر اثنا_عشر ثلاثة_عشر أربعة_عشر خمسة_عشر ستة_عشر سبعة_عشر ثمانية_عشر تسعة_عشر | عشرون ثلاثون أربعون خمسون ستون سبعون ثمانون تسعون مائة
शून्य एक दो तीन चार पाँच छह सात आठ नौ दस ग्यारह बारह तेरह चौदह पंद्रह सोलह सत्रह अठारह उन्नीस | बीस तीस चालीस पचास साठ सत्तर अस्सी नब्बे सौ
"""
_VARIANTS = {"पांच": 5, "duas": 2, "zwo": 2, "нуль": 0, "dreissig": 30, "اثنين": 2, "두": 2}
_THERE_ARE = re.compile(
    r"^(?:es|das) (?:sind|waren) |их было |было |^il y en a |^ce sont |^hay |^son |^(?:ci )?sono |^são |^há |^er zijn |^их |^это "
)
_COUNTERS = re.compile("(?<=.)(?:[個个只人名本张枚匹頭头杯分点條条]|です|개|명)+$")
_LARGEST = 10**15  # no one counts further in words
_LINKS = frozenset(["und", "en", "y", "e", "et", "i", "и", "ve"])
_EAST_DIGITS = {
    **{one: value for value, one in enumerate("零一二三四五六七八九")},
    **{one: value for value, one in enumerate("영일이삼사오육칠팔구")},
    "〇": 0,
    "两": 2,
    "兩": 2,
}
_EAST_SCALES = {"十": 10, "百": 100, "千": 1000, "万": 10**4, "萬": 10**4}
_EAST_SCALES |= {"십": 10, "백": 100, "천": 1000, "만": 10**4}
_ROMAN = {"ii": 2, "iii": 3, "iv": 4, "vi": 6, "vii": 7, "viii": 8, "ix": 9}


@lru_cache(maxsize=1)
def _foreign() -> dict[str, int]:
    table: dict[str, int] = {}
    for line in _LISTS.strip().splitlines():
        low, tens = line.split(" | ")
        table |= {word.replace("_", " "): n for n, word in enumerate(low.split()) if word != "-"}
        table |= {word: 10 * n for n, word in enumerate(tens.split(), start=2)}
    return {**table, **_VARIANTS}


def english_numbers(text: str) -> list[tuple[int, int, int]]:
    """Return the numbers that stand in English words: value, start and end."""
    # "One" by itself is more often a pronoun, so it counts only after "exactly", "only" or "just".
    numbers = []
    for phrase in _PHRASE.finditer(text):
        words = re.findall(r"[a-z]+", phrase.group().lower())
        alone = words == ["one"]
        before = text[max(phrase.start() - 10, 0) : phrase.start()].lower()
        if (
            alone
            and not re.search(r"(?:exactly|only|just)\s$", before)
            and not _IN.match(text, phrase.end())
        ):
            continue
        for value in _compose(words):
            if value > _LARGEST:
                continue
            numbers.append((-value if phrase["sign"] else value, *phrase.span()))
    return numbers


def numbers_in_words(text: str) -> list[tuple[float, int | None, int, int]]:
    """Return numbers and fractions in words: value, denominator if any, start and end."""
    fractions: list[tuple[float, int | None, int, int]] = [
        (_TOPS[one["top"].lower()], _BOTTOMS[one["bottom"].lower()], *one.span())
        for one in _FRACTION.finditer(text)
    ]
    fractions += [
        (top, bottom, *one.span())
        for one in _EASTERN_FRACTION.finditer(text)
        if (top := _eastern(one["top"])) is not None and (bottom := _eastern(one["bottom"]))
    ]
    fractions += [
        (SCALES[one["scale"].lower()] // 2, None, *one.span()) for one in _HALF.finditer(text)
    ]
    within = {i for *_, start, end in fractions for i in range(start, end)}
    numbers: list[tuple[float, int | None, int, int]] = [*fractions]
    consumed = 0  # by the decimals of another number
    for value, start, end in english_numbers(text):
        if start in within or start < consumed:
            continue
        rest = _DECIMALS.match(text, end)
        if rest is None:
            numbers.append((value, None, start, end))
            continue
        digits = "".join(
            str(_ENGLISH[word]) for word in (rest["digits"] or "five").lower().split()
        )
        decimal = float(f"{abs(value)}.{digits}")
        consumed = rest.end()
        numbers.append((-decimal if value < 0 else decimal, None, start, rest.end()))
    return numbers


def _compose(words: list[str]) -> list[int]:
    """Return the numbers that words form: "two hundred and five" is one, "two and five" are two."""
    numbers: list[int] = []
    total, current, room = 0, 0, 0  # a word below `room` belongs to the same number
    for word in words:
        if word in SCALES:
            room = SCALES[word]
            current = max(current, 1) * room
            if room >= 1000:
                total, current = total + current, 0
        elif word in _ENGLISH:
            value = _ENGLISH[word]
            if value >= room > 0:
                numbers.append(total + current)
                total, current = 0, 0
            current += value
            room = 10 if value >= 20 else 1
    return [*numbers, total + current]


def number_in_words(text: str) -> int | None:
    """Return the number that a text is, if it is nothing else; in any of fifteen languages."""
    text = _THERE_ARE.sub("", " ".join(text.lower().split()))
    if not text or len(text) > 60:
        return None
    if text == "one":
        return 1
    english = english_numbers(text)
    if len(english) == 1 and english[0][1:] == (0, len(text)):
        return english[0][0]
    for number in (_foreign().get(text), _ROMAN.get(text), _sum(text), _eastern(text)):
        if number is not None:
            return number
    return None


def _sum(text: str) -> int | None:
    """Return tens and units said one after the other, or joined as in German and Dutch."""
    table = _foreign()
    joined = re.fullmatch(r"(\w{2,9}?)(?:und|en|ën)(\w{5,9})", text)
    if joined:
        unit, ten = table.get({"ein": "eins"}.get(joined[1], joined[1])), table.get(joined[2])
        return unit + ten if unit is not None and ten is not None and unit < 10 <= ten else None
    parts = [table.get(word) for word in re.split(r"[\s-]+", text) if word not in _LINKS]
    known = [part for part in parts if part is not None]
    if len(known) != 2 or len(parts) != 2:
        return None
    ten, unit = known
    return ten + unit if ten % 10 == 0 and 0 < unit < 10 <= ten < 100 else None


def _eastern(text: str) -> int | None:
    """Return a number in Chinese characters or Sino-Korean syllables."""
    text = _COUNTERS.sub("", text)
    total, section, digit = 0, 0, -1
    for one in text:
        if one in _EAST_DIGITS and digit < 1:
            digit = _EAST_DIGITS[one]
        elif one in _EAST_SCALES:
            scale = _EAST_SCALES[one]
            counted = digit if digit >= 0 else 0 if scale == 10**4 else 1
            section, digit = section + (counted if scale == 10**4 else counted * scale), -1
            if scale == 10**4:
                total, section = total + max(section, 1) * scale, 0
        else:
            return None
    return total + section + max(digit, 0)
