"""Answers that a reply marks, for example by "answer:" or a box.

Markers have ranks; a lower rank takes precedence. Rank 0 marks an answer by the name of the
requested quantity ("confidence:"), which distinguishes the quantity from other answers in the
reply. Rank 1 marks the final result (a box, an answer tag, a JSON field, "final answer:",
"correction:"). Rank 2 names an answer ("answer:", "the answer is"). Rank 3 marks one of several
answers in a column or list.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from psychollm.instruments.readers.clauses import WORD, Mode, manner, of_error, sentences
from psychollm.instruments.readers.plain_text import CLOSE, OPEN
from psychollm.instruments.readers.refusals import declines

_FINAL = (
    "final answer|final_answer|final response|final verdict|final decision|final rating|final|"
    "correction|endgültige antwort|finale antwort|réponse finale|respuesta final|risposta finale|"
    "resposta final|eindantwoord|definitief antwoord|ostateczna odpowiedź|окончательный ответ|"
    "итоговый ответ|الجواب النهائي|nihai cevap|son cevap|الإجابة النهائية|अंतिम उत्तर"
)
# These scripts are written without spaces, so no word boundary follows a name.
_FINAL_UNSPACED = "最终答案|最終答案|最後の答え|最終的な答え|最終回答|최종 답변|최종 답"
_NAMED = (
    "answer|answers|ans|ans.|correct|conclusion|verdict|result|response|choice|decision|prediction|"
    "solution|output|total|count|correct option|correct choice|right choice|best option|"
    "selected option|option selected|selection|reply|judgment|judgement|"
    "wahl|choix|elección|scelta|escolha|keuze|wybór|выбор|antwort|lösung|ergebnis|réponse|résultat|respuesta|resultado|risposta|risultato|resposta|"
    "antwoord|uitkomst|odpowiedź|wynik|svar|svaret|jawaban|jawabannya|đáp án|câu trả lời|ответ|результат|cevap|yanıt|sonuç|الإجابة|الجواب|"
    "الإجابة الصحيحة|النتيجة|उत्तर|जवाब|सही उत्तर|परिणाम"
)
_NAMED_UNSPACED = "正确答案|结果|結果|결과|答案|回答|答え|正解|答|정답|답변|대답|답"
_COPULA = (
    r"(?:[:=≈]|–|-(?=\s)|=>|->|→|(?:is|would be|must be|should be|will be|was|are|ist|lautet|beträgt|wynosi|составляет|равн[аоы]?|bedraagt|luidt|est|es"
    r"|è|é|jest|brzmi|to|это|هو|هي|है|是|は|은|는|이|가)(?![\w'])\s?:?|是|为|は|은 |는 )"
)
_FIELD = re.compile(
    r"[\"'](?P<name>[^\W\d](?:[^\W\d]|[ -]){0,39})[\"']\s?:\s?"
    r"(?P<said>\"[^\"\n]{0,4000}(?:\"|$|\n)|'[^'\n]{0,4000}(?:'|$|\n)|\[[^\]\n]{0,400}\]"
    r"|[^,}\n]{0,400})"
)
_FIELD_NAME = re.compile(
    r"(?i)(?:.*_)?(?:answer|final|response|result|choice|option|letter|prediction|decision|verdict"
    r"|value|output|conclusion|correct|match|equivalent|same|agree|respuesta|réponse|reponse|antwort|risposta|resposta|antwoord|odpowiedź|ответ|cevap|yanıt|答案|回答|答え|정답|답변|الجواب|उत्तर)(?:_.*)?"
)
_ONE_FIELD = re.compile(r"[^{}\[\]\w]*\{\s*[\"'][^\"'\n]{1,60}[\"']\s?:[^,]{1,400}\}[^{}\w]*")
_APART = re.compile(f"{OPEN}([^{OPEN}{CLOSE}]*)(?:{CLOSE}|$)")
_LONGEST = 400  # largest number of characters of an answer
_MOST = 24  # number of most recent marks to keep, enough to detect differences
_DIALOGUE = re.compile(r"(?im)(?:^|\?[ \t]+)a\s?:[ \t]*(?=\S)")
_OTHER_LETTER = re.compile(r"(?im)^[b-e]\s?:")
_QUESTION_LINE = re.compile(r"(?im)^q\s?:")
_CONCLUDES = re.compile(
    r"(?i)(?:^|[,;:–]\s*)(?:and\s+)?(?:so|therefore|thus|hence|consequently|accordingly|overall|leaving|which (?:leaves|makes|gives)"
    r"|in conclusion|in summary|in total|altogether|finally|also|deshalb|daher|donc|por lo tanto"
    r"|por tanto|quindi|dunque|portanto|logo|dus|zatem|więc|следовательно|значит|dolayısıyla|因此|所以"
    r"|したがって|따라서|그러므로|إذن|لذلك|इसलिए|por isso|c'est pourquoi|por eso|perciò|daarom|dlatego|поэтому|то есть|that is|c'est-à-dire|es decir|cioè|ou seja|oftewel|czyli|in totale|en total|au total|insgesamt|no total|in totaal|łącznie|w sumie|totalizando|итого|в итоге|합계|合计|合計|总计)(?![\w'])(?:,?\s(?:quindi|donc|also|entonces|portanto|dus|więc)\b)?(?!\s+(?:is|are|does|do|did|many|much|that|far)\b)"
    r"[,:]?\s*|\s(?:ist|sind|beträgt|macht|lautet|est|sont|fait|es|son|è|sono|é|são|is|zijn|jest|wynosi) (?:also|somit|demnach|daher|donc|pues|por tanto|entonces|quindi|dunque|portanto|dus|więc|zatem)\s|(?:なので|ですから|だから|つまり|즉)[,]?\s?|(?:이므로|므로|이니까)\s|(?:^|[,;:]\s?)(?:也就是说?|即|因此|所以|故此?|综上(?:所述)?|したがって|よって|そのため|따라서|그러므로)[,:]?\s?"
)


# Words for the authors of the answers that a judge compares.
_OTHERS = re.compile(
    r"(?i)\b(?:reference|candidate|gold(?:en|[ -]standard)?|student(?:'s)?|model(?:'s)?|expected|target|given|predicted|ground[ -]truth|submitted|provided|proposed|user(?:'s)?|system(?:'s)?|assistant(?:'s)?|key)[ -]$|(?:参考|标准|考生|候选人?|学生|模型|候補者?|受験者|学習者|模範|基準)の?的?$"
)


_SIDES = re.compile(
    r"(?i)\b(?:reference|gold|ground[ -]truth|expected|key|target)\b[^:=;,.\n]{0,20}[:=;]"
)
_OTHER_SIDE = ("response", "prediction", "output", "reply")
_OTHERS_FIELD = re.compile(
    r"(?:reference|candidate|gold(?:en)?|student|model|expected|target|given|ground_?truth|correct_(?:answer|option|choice)|user)(?:_|\b)(?!.*(?:correct|match|equal)$)"
)


class Marked(NamedTuple):
    """Text after a marker, with the rank of the marker."""

    text: str
    rank: int


@lru_cache(maxsize=64)
def _names(labels: tuple[str, ...], *, plain: bool) -> re.Pattern[str]:
    """Return a pattern for names of answers; the pattern for `plain` text is faster."""
    # A text is plain if it contains only lower-case ASCII characters. Searching it is four times
    # as fast.
    own = sorted(labels, key=len, reverse=True)
    every: tuple[list[str], ...] = (own, _FINAL.split("|"), _NAMED.split("|"))
    if plain:  # lower() converts "YANIT" (Turkish "yanıt") to "yanit"
        lower = [[one.lower().replace("ı", "i") for one in names] for names in every]
        every = tuple([one for one in names if one.isascii()] for names in lower)
    spaced = [[one for one in names if one[0] < "\u3000"] for names in every]
    never = "(?!)"  # a pattern that never matches, used without labels
    own_, final, named = ("|".join(map(re.escape, names)) or never for names in spaced)
    # A test of the first letter quickly excludes most words.
    first = "".join(
        re.escape(one) for one in sorted({one[0] for names in spaced for one in names})
    )
    names = (
        rf"(?=[{first}])(?<![{WORD}'-])(?<!each )(?<!every )(?<!both )(?<!all )(?<!two )(?<!these )(?<!those )"
        rf"(?:(?P<final>{final})|(?P<own>{own_})|(?P<named>{named}))(?![{WORD}'-])"
    )
    if not plain:
        unspaced = "|".join(re.escape(one) for one in own if one[0] >= "\u3000") or never
        names += (
            rf"|(?P<final_>{_FINAL_UNSPACED})|(?P<own_>{unspaced})|(?P<named_>{_NAMED_UNSPACED})"
        )
    return re.compile(
        rf"{'' if plain else '(?i)'}(?:{names})[\"']?"
        rf"(?:\s?\([^()\n]{{0,40}}\)|\s?\[[^\[\]\n]{{0,40}}\])?"
        rf"(?:\s(?:to|of|for|auf|à|a|alla|op|na|на)\s[^.:\n?!]{{1,80}}?)?"
        rf"(?:\s?(?:{_COPULA}|\n)| {{3,}})\s*"
    )


def marked(
    text: str, labels: tuple[str, ...] = (), *, lead: bool = False, letters: bool = False
) -> list[Marked]:
    """Return the answers that a reply marks, in order."""
    # `labels` are names of the requested quantity; with `lead` they take precedence over general
    # names such as "answer". With `letters`, "A:" may name an option, so it marks an answer only
    # after "Q:".
    marks = [(span.start(), Marked(span[1], 1)) for span in _APART.finditer(text)]
    if ":" in text:
        marks += _fields(text, labels, lead=lead)
    # In other JSON fields, a word such as "answer" is part of the reasoning and does not mark an
    # answer.
    words = _FIELD.sub(lambda field: " " * len(field.group()), text) if '"' in text else text
    marks += _named(words, labels, lead=lead)
    for turn in _DIALOGUE.finditer(words) if ":" in text else ():
        said = _line(words, turn.end())
        asked = (not letters and _OTHER_LETTER.search(words) is None) or _QUESTION_LINE.search(
            text
        )
        if asked or re.fullmatch(r"\W*\w\W*", said):
            marks.append((turn.end(), Marked(said, 2)))
    return [mark for _, mark in sorted(marks)[-_MOST:]]


def _fields(text: str, labels: tuple[str, ...], *, lead: bool) -> list[tuple[int, Marked]]:
    """Return the fields of JSON or similar text that contain an answer."""
    alone = _ONE_FIELD.fullmatch(text) is not None
    marks = []
    for field in _FIELD.finditer(text):
        name = field["name"].strip().lower()
        own = name in labels
        if _OTHERS_FIELD.match(name):
            continue
        said = field["said"].strip().strip("\"'")
        if said not in {"null", "None"} and (own or alone or _FIELD_NAME.fullmatch(name)):
            marks.append((field.start(), Marked(said, 0 if own and lead else 1)))
    return marks


def _named(text: str, labels: tuple[str, ...], *, lead: bool) -> list[tuple[int, Marked]]:
    marks: list[tuple[int, Marked]] = []
    plain = text.isascii()
    compares = _SIDES.search(text) is not None
    names = list(_names(labels, plain=plain).finditer(text.lower() if plain else text))
    spans = sentences(text) if names else []
    at = 0
    for name in names:
        while spans[at].end < name.start():
            at += 1
        own_words = (
            manner(text, spans[at]._replace(asks=False), name.end(), name.end(), answers=True)
            is Mode.SAID
        )
        if _OTHERS.search(text, max(name.start() - 20, 0), name.start()):
            continue
        if compares and name.group().lower().startswith(_OTHER_SIDE):
            continue
        if declines(text[spans[at].start : name.end()]):
            continue
        if not own_words or of_error(name.group(), len(name.group()), 0):
            continue
        said = _line(text, name.end())
        kind = (name.lastgroup or "").rstrip("_")
        rank = 1 if kind == "final" else 0 if kind == "own" and lead else 2
        if not plain and kind == "own" and declines(name.group() + said) and not declines(said):
            said = name.group() + said  # 判断はできません
        if below := _below(text, name):
            marks += [(name.start(), Marked(one, _COLUMN)) for one in below if one]
        elif said:
            marks.append((name.start(), Marked(said, rank)))
    return marks


_COLUMN = 3  # rank of the values in a column or a list
_COLUMNS = re.compile(" {3,}")
_ITEM = re.compile(r"\W*[^:\n]{1,30}:[^:\n]*[0-9][^:\n]{0,20}")


def _below(text: str, name: re.Match[str]) -> list[str]:
    """Return the cells below a column heading, or the values of list items."""
    start = text.rfind("\n", 0, name.start()) + 1
    head, *rows = text[start : start + 2 * _LONGEST].split("\n")
    if not rows:
        return []
    columns = len(_COLUMNS.split(head.strip()))
    if columns > 1:
        before = head[: name.start() - start].strip()
        column = len(_COLUMNS.split(before)) if before else 0
        cells = [_COLUMNS.split(row.strip()) for row in rows]
        return [row[column] for row in cells if len(row) == columns]
    items = [row for row in rows if row.strip()]
    listed = "\n" in name.group() and len(items) > 1 and all(map(_ITEM.fullmatch, items[:2]))
    return [one.partition(":")[2] for one in items if _ITEM.fullmatch(one)] if listed else []


def _line(text: str, start: int) -> str:
    """Return the rest of a line, up to the maximum length of an answer."""
    return text[start : start + _LONGEST].partition("\n")[0].strip(f" \t{OPEN}{CLOSE}")


# In "So she was seventeen", the words before the value are dropped.
_SUBJECT = re.compile(
    r"(?i)^(?:he|she|it|they|sie|er|elle|il|ella|él|lei|lui|ela|ele|zij|hij|ona|on|она|он) (?:is|was|are|were|had|has|have|ist|war|était|est|avait|tenía|era|tinha|was|miała?|było|был[аои]?)(?=\s(?:[0-9]|[^\W\d_]+\W*$))\s"
)


def conclusion(text: str) -> str | None:
    """Return the conclusion of the last sentence; None if no conclusion is marked."""
    spans = sentences(text)
    if not spans or spans[-1].asks:
        return None
    last = text[spans[-1].start : spans[-1].end]
    words = list(_CONCLUDES.finditer(last))
    return _SUBJECT.sub("", last[words[-1].end() :]) or None if words else None
