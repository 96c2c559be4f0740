"""Numbers in words: any English number, and numbers common in replies in other languages."""

import re
import unicodedata
from collections.abc import Sequence
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
SCALES = {
    "hundred": 100,
    "thousand": 1000,
    "million": 10**6,
    "billion": 10**9,
    "trillion": 10**12,
    "dozen": 12,
}
ANY = "|".join(sorted((*_ENGLISH, *SCALES), key=len, reverse=True))
_PHRASE = re.compile(
    rf"(?i)(?<![\w'-])(?:(?P<sign>minus|negative)\s+)?(?P<article>an?\s+(?=hundred|thousand|million|dozen))?"
    rf"(?:{ANY})(?:(?:\s|-|\sand\s|,\s)(?:{ANY}))*(?![\w'])(?!-point)"
)

_DIGIT = "|".join(_ENGLISH_UNITS.split("|")[:10])
_IN = re.compile(rf"(?i)\sand a half|\s(?:in|out of)\s(?:a\s)?(?:{ANY}|[0-9]+)(?![\w-])")
_HALF = re.compile(
    r"(?i)(?<![\w-])half an? (?P<scale>dozen|hundred|thousand|million|billion)(?!\w)"
)
_DECIMALS = re.compile(
    rf"(?i)\s(?:point\s(?P<digits>(?:{_DIGIT})(?:\s(?:{_DIGIT}))*)|and\sa\shalf(?:\s(?P<scale>thousand|million|billion|trillion)s?)?)(?![\w-])"
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
# "A third option" is not a fraction, and "half" is a fraction only after a number.
_FRACTION = re.compile(
    rf"(?i)(?<![\w-])(?<!and )(?P<top>{'|'.join(_TOPS)})[\s-](?P<bottom>{'|'.join(sorted(_BOTTOMS, key=len, reverse=True))})"
    r"(?=\s*(?:$|[^\w\s])|\s(?:of|chance|sure|certain|confident|probability|likely|sicher|sûr|seguro|von|de|di)(?!\w))(?!-\w)"
)
_EASTERN_FRACTION = re.compile(
    "(?P<bottom>[二两三四五六七八九十]{1,3})分之(?P<top>[一二两三四五六七八九十]{1,3})"
)

# Format, by language: zero to nineteen | the tens from twenty | further parts of numbers with
# their values, and conjunctions (&). A hyphen replaces the German word for zero, because programs
# write "null" for a missing answer.
_LISTS = """
de - eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn achtzehn neunzehn | zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig hundert | ein=1 eine=1 zwo=2 dreissig=30 tausend=1000 million=1000000 millionen=1000000 und=&
fr zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize dix-sept dix-huit dix-neuf | vingt trente quarante cinquante soixante - - - cent | une=1 vingts=20 septante=70 huitante=80 octante=80 nonante=90 cents=100 mille=1000 million=1000000 millions=1000000 et=&
es cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciséis diecisiete dieciocho diecinueve | veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa cien | un=1 una=1 dós=2 trés=3 séis=6 veinti=20 ciento=100 doscientos=200 doscientas=200 trescientos=300 cuatrocientos=400 quinientos=500 seiscientos=600 setecientos=700 ochocientos=800 novecientos=900 mil=1000 millón=1000000 millones=1000000 y=&
it zero uno due tre quattro cinque sei sette otto nove dieci undici dodici tredici quattordici quindici sedici diciassette diciotto diciannove | venti trenta quaranta cinquanta sessanta settanta ottanta novanta cento | un=1 una=1 tré=3 vent=20 trent=30 quarant=40 cinquant=50 sessant=60 settant=70 ottant=80 novant=90 cent=100 mille=1000 mila=1000 milione=1000000 milioni=1000000 e=&
pt zero um dois três quatro cinco seis sete oito nove dez onze doze treze catorze quinze dezesseis dezessete dezoito dezenove | vinte trinta quarenta cinquenta sessenta setenta oitenta noventa cem | uma=1 duas=2 quatorze=14 dezasseis=16 dezassete=17 dezanove=19 cento=100 duzentos=200 trezentos=300 quatrocentos=400 quinhentos=500 seiscentos=600 setecentos=700 oitocentos=800 novecentos=900 mil=1000 milhão=1000000 milhões=1000000 e=&
nl nul één twee drie vier vijf zes zeven acht negen tien elf twaalf dertien veertien vijftien zestien zeventien achttien negentien | twintig dertig veertig vijftig zestig zeventig tachtig negentig honderd | een=1 duizend=1000 miljoen=1000000 en=& ën=&
pl zero jeden dwa trzy cztery pięć sześć siedem osiem dziewięć dziesięć jedenaście dwanaście trzynaście czternaście piętnaście szesnaście siedemnaście osiemnaście dziewiętnaście | dwadzieścia trzydzieści czterdzieści pięćdziesiąt sześćdziesiąt siedemdziesiąt osiemdziesiąt dziewięćdziesiąt sto | jedna=1 dwie=2 dwieście=200 trzysta=300 czterysta=400 pięćset=500 sześćset=600 siedemset=700 osiemset=800 dziewięćset=900 tysiąc=1000 tysiące=1000 tysięcy=1000 dwójka=2 dwójkę=2 trójka=3 trójkę=3 czwórka=4 czwórkę=4 piątka=5 piątkę=5 szóstka=6 szóstkę=6 siódemka=7 siódemkę=7
ru ноль один два три четыре пять шесть семь восемь девять десять одиннадцать двенадцать тринадцать четырнадцать пятнадцать шестнадцать семнадцать восемнадцать девятнадцать | двадцать тридцать сорок пятьдесят шестьдесят семьдесят восемьдесят девяносто сто | нуль=0 одна=1 две=2 двести=200 триста=300 четыреста=400 пятьсот=500 шестьсот=600 семьсот=700 восемьсот=800 девятьсот=900 тысяча=1000 тысячи=1000 тысяч=1000 миллион=1000000 миллиона=1000000 миллионов=1000000 двойка=2 двойку=2 тройка=3 тройку=3 четвёрка=4 четвёрку=4 четверка=4 четверку=4 пятёрка=5 пятёрку=5 пятерка=5 пятерку=5 шестёрка=6 шестёрку=6 семёрка=7 семёрку=7
tr sıfır bir iki üç dört beş altı yedi sekiz dokuz on on_bir on_iki on_üç on_dört on_beş on_altı on_yedi on_sekiz on_dokuz | yirmi otuz kırk elli altmış yetmiş seksen doksan yüz | bin=1000 milyon=1000000
ko 영 하나 둘 셋 넷 다섯 여섯 일곱 여덟 아홉 열 열하나 열둘 열셋 열넷 열다섯 열여섯 열일곱 열여덟 열아홉 | 스물 서른 마흔 쉰 예순 일흔 여든 아흔 백 | 한=1 두=2 세=3 네=4
ar صفر واحد اثنان ثلاثة أربعة خمسة ستة سبعة ثمانية تسعة عشرة أحد_عشر اثنا_عشر ثلاثة_عشر أربعة_عشر خمسة_عشر ستة_عشر سبعة_عشر ثمانية_عشر تسعة_عشر | عشرون ثلاثون أربعون خمسون ستون سبعون ثمانون تسعون مائة | اثنين=2 اثنتان=2 عشر=10 عشرين=20 ثلاثين=30 أربعين=40 خمسين=50 ستين=60 سبعين=70 ثمانين=80 تسعين=90 مئة=100 مائتان=200 مئتان=200 ألف=1000 مليون=1000000 و=&
hi शून्य एक दो तीन चार पाँच छह सात आठ नौ दस ग्यारह बारह तेरह चौदह पंद्रह सोलह सत्रह अठारह उन्नीस | बीस तीस चालीस पचास साठ सत्तर अस्सी नब्बे सौ | पांच=5 छः=6 छे=6 इक्कीस=21 बाईस=22 तेईस=23 चौबीस=24 पच्चीस=25 छब्बीस=26 सत्ताईस=27 अट्ठाईस=28 उनतीस=29 इकतीस=31 बत्तीस=32 तैंतीस=33 चौंतीस=34 पैंतीस=35 छत्तीस=36 सैंतीस=37 अड़तीस=38 उनतालीस=39 इकतालीस=41 बयालीस=42 तैंतालीस=43 चौवालीस=44 पैंतालीस=45 छियालीस=46 सैंतालीस=47 अड़तालीस=48 उनचास=49 इक्यावन=51 बावन=52 तिरपन=53 चौवन=54 पचपन=55 छप्पन=56 सत्तावन=57 अट्ठावन=58 उनसठ=59 इकसठ=61 बासठ=62 तिरसठ=63 चौंसठ=64 पैंसठ=65 छियासठ=66 सड़सठ=67 अड़सठ=68 उनहत्तर=69 इकहत्तर=71 बहत्तर=72 तिहत्तर=73 चौहत्तर=74 पचहत्तर=75 छिहत्तर=76 सतहत्तर=77 अठहत्तर=78 उनासी=79 इक्यासी=81 बयासी=82 तिरासी=83 चौरासी=84 पचासी=85 छियासी=86 सत्तासी=87 अट्ठासी=88 नवासी=89 इक्यानवे=91 बानवे=92 तिरानवे=93 चौरानवे=94 पचानवे=95 छियानवे=96 सत्तानवे=97 अट्ठानवे=98 निन्यानवे=99 हज़ार=1000 हजार=1000 लाख=100000 करोड़=10000000
"""
# Some of these words also occur in other languages; others, such as "thousand", are not numbers by
# themselves.
_ELSEWHERE = "once on bin due elf cent cents vingts mila millions milioni milhões million"
_NO_NUMBERS = frozenset(_ELSEWHERE.split())
_UNIT_FIRST = frozenset({"de", "nl", "ar"})  # the unit precedes the tens: "fünf und zwanzig"
_THERE_ARE = re.compile(
    r"^(?:es|das) (?:sind|waren|ist|macht|ergibt) |^(?:cela|ça) fait |^c'est |^(?:la réponse|la respuesta|la risposta|a resposta) (?:est|es|è|é) |^er sind |^jest ich |^to |^es |^è |^é |их было |было |^il y (?:en )?a |^ce sont |^hay |^son |^там |^一?共?有|^总共有?|^(?:ci )?sono |^são |^há |^er zijn |^их |^это |^我?(?:会|想)?(?:选择?|給|给|打)"
)
_COUNTERS = re.compile(
    "(?<=.)(?:[個个只人名本张枚匹頭头杯分点條条天年岁歳日米块元円週周月つ]|公里|小时|分钟|です|개|명)+(?:(?<=[個个只名本张枚匹頭头杯條条])[\u4e00-\u9fff]{1,3})?$"
)
_IN_DIGITS = re.compile("[0-9]")
_LARGEST = 10**15  # larger numbers are not written in words
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
def _languages() -> dict[str, dict[str, int]]:
    """Return each language's number words and their values; conjunctions have the value -1."""
    tables: dict[str, dict[str, int]] = {}
    for line in unicodedata.normalize("NFKC", _LISTS).strip().splitlines():
        low, tens, more = line.split(" | ")
        language, *units = low.split()
        table = {word.replace("_", " "): n for n, word in enumerate(units)}
        table |= {word: 10 * n for n, word in enumerate(tens.split(), start=2)}
        pairs = (one.split("=") for one in more.split())
        table |= {word: -1 if value == "&" else int(value) for word, value in pairs}
        table.pop("-", None)
        tables[language] = table
    return tables


@lru_cache(maxsize=1)
def _beginnings() -> frozenset[str]:
    """Return the initial letters of number words."""
    return frozenset(word[:3] for table in _languages().values() for word in table)


def may_count(words: Sequence[str]) -> bool:
    """Return whether one of several words may be a number in one of fifteen languages."""
    starts = _beginnings()
    return any(word.lower()[:n] in starts for word in words for n in (3, 2, 1))


def english_numbers(text: str) -> list[tuple[int, int, int]]:
    """Return the numbers written in English words: value, start and end."""
    # "One" alone is more often a pronoun, so it counts only after "exactly", "only" or "just".
    numbers = []
    for phrase in _PHRASE.finditer(text):
        words = re.findall(r"[a-z]+", phrase.group().lower())
        alone = words == ["one"]
        before = text[max(phrase.start() - 10, 0) : phrase.start()].lower()
        if (
            alone
            and not re.search(rf"(?:exactly|only|just|(?:[0-9]|{ANY})\s(?:or|to|and))\s$", before)
            and not re.match(rf"\s(?:or|to)\s(?:[0-9]|{ANY})", text[phrase.end() :][:12].lower())
            and not _IN.match(text, phrase.end())
        ):
            continue
        for value in _compose(words):
            if value > _LARGEST:
                continue
            numbers.append((-value if phrase["sign"] else value, *phrase.span()))
    return numbers


def numbers_in_words(text: str) -> list[tuple[float, int | None, int, int]]:
    """Return numbers and fractions in words: value, denominator or None, start and end."""
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
    consumed = 0  # end of words that are decimals of an earlier number
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
        decimal: float = float(f"{abs(value)}.{digits}")
        consumed = rest.end()
        if rest["scale"]:
            decimal = int(decimal * SCALES[rest["scale"].lower()])
        numbers.append((-decimal if value < 0 else decimal, None, start, rest.end()))
    return numbers


def _compose(words: list[str]) -> list[int]:
    """Combine words into numbers: "two hundred and five" is one, "two and five" are two."""
    numbers: list[int] = []
    total, current, room = 0, 0, 0  # words with values below `room` belong to the same number
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
    """Return the number that a text states if it states nothing else (fifteen languages)."""
    text = " ".join(text.lower().split())
    if not text or len(text) > 60 or _IN_DIGITS.search(text):
        return None
    text = _THERE_ARE.sub("", text)
    if text == "one":
        return 1
    english = english_numbers(text)
    if len(english) == 1 and english[0][1:] == (0, len(text)):
        return english[0][0]
    for number in (_ROMAN.get(text), _eastern(text)):
        if number is not None:
            return number
    if not may_count(text.split()):
        return None
    found = {_composed(text, language) for language in _languages()} - {None}
    return found.pop() if len(found) == 1 else None


def _composed(text: str, language: str) -> int | None:
    """Return the number that the whole text forms in one language, or None."""
    table = _languages()[language]
    if text in table:
        return None if table[text] < 0 or text in _NO_NUMBERS else table[text]
    values: list[int] = []
    for word in re.split(r"[\s-]+", text):
        parts = _parts(word, language)
        if not parts:
            return None
        values += parts
    return None if values[0] < 0 or values[-1] < 0 else _evaluated(values, language)


@lru_cache(maxsize=256)
def _parts(word: str, language: str) -> tuple[int, ...]:
    """Return the values of the parts of a compound word; empty if it is not a number."""
    table = _languages()[language]
    if word in table:
        return (table[word],)
    for end in range(len(word) - 1, 0, -1):
        if word[:end] in table and (rest := _parts(word[end:], language)):
            return (table[word[:end]], *rest)
    return ()


def _evaluated(values: list[int], language: str) -> int | None:
    """Return the value of consecutive number words; None if a decimal place occurs twice."""
    total, current, least = 0, 0, _LARGEST
    before = -1
    for value in values:
        filled = current % 100
        if value < 0:
            pass
        elif value >= 1000:
            if value >= least:
                return None
            total, current, least = total + max(current, 1) * value, 0, value
        elif value == 100 and 0 < current < 10:
            current *= 100
        elif language == "fr" and value == 20 and before == 4 and filled == 4:
            current += 76
        elif (
            (value >= 100 and current == 0)
            or (value < 100 and filled == 0 and (current or value or not total))
            or (0 < value < 10 and filled % 10 == 0 and filled >= 20)
            or (10 <= value < 20 and language == "fr" and filled in {60, 80})
            or (20 <= value < 100 and language in _UNIT_FIRST and before < 0 < filled < 10)
            or (language == "ar" and value == 10 and 2 < filled < 10)
            or (language == "tr" and 0 < value < 10 and filled == 10)
            or (language == "ko" and 0 < value < 10 and filled == 10)
        ):
            current += value
        else:
            return None
        before = value
    return total + current


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
