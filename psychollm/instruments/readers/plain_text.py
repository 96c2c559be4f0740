r"""Words of a reply, without reasoning text and markup.

The parser removes, in this order, the reasoning text of a reasoning model, control tokens,
typographic variants of characters, HTML, LaTeX and Markdown. A result that the writer marks
(`\boxed{...}`, `<answer>...</answer>`) is kept between `OPEN` and `CLOSE`. Every step of the
parser is one pass over the text.

Reasoning text is either in tags or separate from the reply; `with_reasoning` puts separate
reasoning text into tags, so that one text contains both. A model that was asked to reason first
writes its reasoning before a last line that begins with "Answer:".
"""

import html
import re
import unicodedata
from typing import NamedTuple

# Delimiters of a marked result: code points that texts do not use.
OPEN, CLOSE = "\ue000", "\ue001"

_CONTROL = re.compile(
    r"(?:<\|im_start\|>|<\|start_header_id\|>)assistant(?:<\|end_header_id\|>|\n)?|<start_of_turn>model\n?"
    r"|<\|[^|<>\n]{1,40}\|>|</?s>|<(?:eos|bos|pad|end_of_turn|start_of_turn|end)>|\[/?INST\]"
)
# Tokens that end a turn; any text after them belongs to the next speaker.
_TURN_ENDS = re.compile(
    r"<\|(?:im_end|eot_id|eom_id|endoftext|end_of_text|end_of_turn|end|return|eos)\|>|</s>|<end_of_turn>|<eos>"
)
_UNSEEN = re.compile(
    "[\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufe0e\ufe0f\ufeff\xad\u20e3\ue000\ue001"
    "\U0001f3fb-\U0001f3ff]"
)
_POWER = re.compile(r"(?:(?<=[0-9)])|(?<=\b[xyzn]))[⁻⁰¹²³⁴-⁹]+")
_BASE = re.compile("(?<=[0-9])[₀-₉]+")
# The note to which a footnote mark refers is at the start of a later line, or in brackets after a
# word.
_NOTE = re.compile(
    r"(?m)^[ \t]*(?P<mark>\[\^?[0-9a-z]{1,2}\]|\([0-9]\)|[¹²³⁴-⁹]|[*†‡§]{1,2}(?![*\w]*\*))(?::|[ \t]|(?=[a-z]))(?P<note>[^\n]*\S[^\n]*)$"
)
_CITED = re.compile(
    r"(?m)(?:(?<=[^\W_])|(?<=[^\W_][.,;!?]))(?:(?:\[\^?[0-9]{1,2}\])+(?!\()|[ ]\[\^?[0-9]{1,2}\][.\s]*$|[ ]\((?:see|cf\.|source|note)\b[^()\n]{0,80}\))"
)
_MARKED = re.compile(r"(\W*[A-Za-z]+)[¹²³⁴-⁹](\W*)")
# An en dash before digits is a minus sign if the text before it cannot begin a range or a product.
_MINUS = re.compile(r"(?:\A|(?<=[\s(=:*$€£]))[–‒](?=[$€£]?\.?[0-9])")
_HEADING = re.compile(r"(?m)^([ \t]*)【([^【】\n]{1,8})】[ \t]*(?=\S)")  # 【答案】B
_VULGAR = re.compile("([0-9]{0,9})([¼½¾⅐-⅞])")
_VARIANTS = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛ʼ´＇", "'"),
        **dict.fromkeys("“”„‟«»「」『』", '"'),
        **dict.fromkeys("−‐‑﹣", "-"),
        **dict.fromkeys("—―", "–"),
        "٫": ".",
        "٬": ",",
        "٪": "%",
        "🅰": "(A)",
        "🅱": "(B)",
        **dict.fromkeys("【〖〔《〈", "("),
        **dict.fromkeys("】〗〕》〉", ")"),
        "。": ". ",
        "।": ". ",
        "؟": "?",
        "،": ",",
        "、": ",",
        "؛": ";",
        "\r": "\n",
        "\x85": "\n",
        "\u2028": "\n",
    }
)
_TICKED = r"\[[xX✓✔]\]|\([xX✓✔•●]\)|[☑☒◉🔘]"
_BOX = re.compile(rf"(?P<ticked>{_TICKED})|\[\s\]|\(\s\)|[☐⬜⬛■◯○]")
_MAY_BE_TICKED = re.compile(r"[\[(|\x80-\U0010ffff]")  # occurs in boxes, ticks and tables
_CELL_TICKED = re.compile(r"[xX✅✔✓☑☒]|\[[xX]\]")
_CELL_EMPTY = re.compile(r"[\s-]*|[❌✗✘✖☐⬜]|\[\s?\]")
_ITEM_WORDS = 3  # largest number of words in an item of a ticked list
_SIGNS = re.compile(r"(?P<ticked>[✅✔✓])|[❌✗✘✖]")
_RESULT_TAG = re.compile(
    r"(?i)<(/?)(?:final[_ -]?)?(?:answer|response|result|output|rating|score|confidence"
    r"|probability|choice|option|prediction|solution|verdict|judge?ment|letter|number|label|conclusion|grade|mark|decision|selection|value|percent(?:age)?"
    r"|antwort|ergebnis|bewertung|urteil|r[ée]ponse|résultat|confiance|respuesta|resultado|confianza|risposta|risultato|confidenza|fiducia|giudizio|voto|resposta|confiança|nota|note"
    r"|antwoord|odpowiedź|wynik|ocena|ответ|результат|оценка|cevap|yanıt|sonuç|答案|回答|答え|结果|評価|评分|置信度|정답|답변|답|점수|확신도|الجواب|الإجابة|उत्तर|जवाब)>"
)
# Tags around reasoning text.
_ASIDE = re.compile(
    r"(?is)<(reasons?|explanation|justification|planning|plan|comment)>.{0,20000}?</\1>"
)
_DOUBLE = re.compile(r"\[\[([^\[\]\n]{1,40})\]\]")
_ROLE = re.compile(r"(?i)^(?:assistant|ai|bot|model)\s?:\s*(?=\S)")
_BREAK_TAG = re.compile(r"(?i)</?(?:br|p|div|li|ul|ol|tr|h[1-6])\s?/?>")
_TAG = re.compile(r"(?i)</?(?:b|i|u|em|strong|code|pre|span|sup|sub|td|th|table|tbody|html|body)>")
_FENCE = re.compile(r"```[\w+-]*[ \t]*\n|```")
_LATEX_NAME = re.compile(
    r"\\(?:text(?:bf|it|rm|tt|sf)?|math(?:rm|bf|it|sf|tt)|operatorname|mbox|displaystyle|left"
    r"|right|quad|qquad|,|;|!)(?![A-Za-z])"
)
_LATEX_FRACTION = re.compile(r"\\[dt]?frac\s?\{([^{}\n]{1,20})\}\s?\{([^{}\n]{1,20})\}")
_LATEX_MARKS = re.compile(r"\\[()\[\]]|(?<![A-Za-z$])(?:R|US|AU?|CA?|HK|NT|NZ|S)\$(?=\s?[0-9])|\$")
_LATEX_SIGNS = {r"\%": "%", "{,}": ","}
_LATEX_SIGN = re.compile(
    r"\\(times|cdot|approx|pi|sqrt|geq?|leq?|gt|lt|pm|infty|div|log|ln|neq?)(?![A-Za-z])"
)
_LATEX_AS = {
    "times": "×", "cdot": "×", "approx": "≈", "pi": "π", "sqrt": "√", "ge": "≥", "geq": "≥", "le": "≤", "leq": "≤", "gt": ">",
    "lt": "<", "pm": "±", "infty": "∞", "div": "÷", "log": "log ", "ln": "ln ", "ne": "≠", "neq": "≠",
}  # fmt: skip
_BRACES = re.compile(r"\\f?box(?:ed)?\s?\{|[{}]")
_STRUCK = re.compile(r"~~[^~\n]{1,400}~~")
_LINK = re.compile(r"\[([^\[\]\n]{1,200})\]\([^()\s]{1,300}\)")
_LINE_START = re.compile(
    r"(?m)^[ \t]*(?:(?:#{1,6}|>+(?!\s?[$€£]?\.?[0-9])|[-*+•‣◦▪–]|→|⇒|➜|➡|▶|->|=>|-->)(?:[ \t]+|(?=\ue000)))+"
)
_ARROW_START = re.compile(r"(?m)^[ \t]*(?:→|⇒|➜|➡|▶|->|=>|-->)[ \t]*")
_EMPHASIS = re.compile(r"([*_`~])\1*")
_MARKS_ONLY = re.compile(r"[\s*_`~#>|]*")
_MARKDOWN = re.compile(r"[][*_`~#>|=+→⇒➜➡▶•‣◦▪–-]")  # all characters that Markdown can begin with


class Plain(NamedTuple):
    """Words of a reply, without reasoning text and markup."""

    text: str
    thought: bool  # whether reasoning text was removed


def plain(reply: str) -> Plain:
    """Return the words of a reply without markup."""
    thoughts, said = _by_tags(reply)
    thought = bool(thoughts)
    if "<" in said or "[" in said:
        turns = (_CONTROL.sub(" ", turn) for turn in _TURN_ENDS.split(said))
        said = next((turn for turn in turns if turn.strip()), "")
    said = _characters(_without_footnotes(said))
    if _MAY_BE_TICKED.search(said):
        said = _without_unticked(said)
    if _MARKS_ONLY.fullmatch(said):
        return Plain("", thought)
    said = _without_markdown(_without_latex(_without_html(said)))
    return Plain(_ROLE.sub("", said.strip()), thought)


def _without_footnotes(text: str) -> str:
    """Return a text without footnotes and their marks."""
    for note in [*_NOTE.finditer(text)] if "\n" in text else ():
        refers = re.compile(rf"(?<=[^\s\-*])[ ]?{re.escape(note['mark'])}(?!\w)")
        above = refers.search(text, 0, note.start())
        if above and text[: above.start()].strip() and note.group() in text:
            text = refers.sub("", text[: text.index(note.group())], count=1)
    text = _MARKED.sub(r"\1\2", text) if _MARKED.fullmatch(text) else text
    return _CITED.sub("", text) if "[" in text or "(" in text else text


def _characters(text: str) -> str:
    """Normalise characters: NFKC, decimal digits of any script, quotes, dashes."""
    if text.isascii():
        return text.replace("\r", "\n")
    text = _UNSEEN.sub("", text)
    if text.isascii():
        return text.replace("\r", "\n")
    text = _POWER.sub(lambda power: "^" + power.group(), text)
    text = _BASE.sub(lambda base: "_" + base.group(), text)
    text = _MINUS.sub("-", _HEADING.sub(r"\1\2: ", text))
    text = _VULGAR.sub(
        lambda one: repr(round(int(one[1] or 0) + unicodedata.numeric(one[2]), 6)),
        text.translate(_VARIANTS),
    )
    text = unicodedata.normalize("NFKC", text).translate(_VARIANTS)
    if text.isascii():
        return text
    return "".join(
        str(unicodedata.decimal(one, "")) or one if one > "\x7f" else one for one in text
    )


def _without_unticked(text: str) -> str:
    """In a list with tick boxes or tick marks, mark ticked items and remove the others."""
    lines = _without_columns(text.split("\n"))
    signs = [_SIGNS.search(line) for line in lines]
    kinds = [bool(sign["ticked"]) for sign in signs if sign]
    bare = kinds == [True] and all(len(line.split()) <= _ITEM_WORDS for line in lines)
    listed = set(kinds) == {True, False}
    if bare and len(lines) > 1:
        lines = [line for line, sign in zip(lines, signs, strict=True) if sign]
    marks = _SIGNS if listed and len(lines) > 1 and len(_SIGNS.findall(text)) > 1 else _BOX
    return "\n".join(_ticked(line, marks) for line in lines)


def _without_columns(lines: list[str]) -> list[str]:
    """Mark the column heading above the only tick of a table with one row."""
    rows = [line for line in lines if line.count("|") > 2 and not _is_rule(line)]
    if len(rows) != 2:
        return lines
    head, row = ([cell.strip(" *_") for cell in line.split("|")] for line in rows)
    ticked = [i for i, cell in enumerate(row) if _CELL_TICKED.fullmatch(cell)]
    others = [cell for i, cell in enumerate(row) if i not in ticked and i < len(head) and head[i]]
    if len(ticked) != 1 or ticked[0] >= len(head) or not all(map(_CELL_EMPTY.fullmatch, others)):
        return lines
    said = f"{OPEN}{head[ticked[0]]}{CLOSE}"
    return [said if line == rows[1] else line for line in lines if line != rows[0]]


_ITEM = re.compile(r"\W*\w\W*")  # an item such as "B." before a tick sign


def _ticked(line: str, marks: re.Pattern[str]) -> str:
    """Keep the items of a line whose boxes are ticked, with boxes before or after the items."""
    boxes = list(marks.finditer(line))
    if not boxes:
        return line
    item = line[: boxes[0].start()].strip(" \t|*-")
    if marks is _SIGNS and len(boxes) == 1 and _ITEM.fullmatch(item):
        return f"{OPEN}{item}{CLOSE}" if boxes[0]["ticked"] else ""
    behind = not line[boxes[-1].end() :].strip(" \t|*") and line[: boxes[0].start()].strip(
        " \t|*-"
    )
    edges = [box.end() for box in boxes]
    spans = (
        zip([0, *edges], [box.start() for box in boxes], strict=False)
        if behind
        else zip(edges, [*(box.start() for box in boxes[1:]), len(line)], strict=True)
    )
    kept = [
        f"{OPEN}{line[start:end].strip(' |*-')}{CLOSE}"
        for box, (start, end) in zip(boxes, spans, strict=True)
        if box.groupdict()["ticked"]
    ]
    before = "" if behind else line[: boxes[0].start()].rstrip(" \t-*+|")
    return " ".join([before, *kept]).strip()


def _without_html(text: str) -> str:
    text = _DOUBLE.sub(rf"{OPEN}\1{CLOSE}", text) if "[[" in text else text
    if "<" not in text and "&" not in text:
        return text
    text = _ASIDE.sub("", text) if _ASIDE.sub("", text).strip() else text
    text = _RESULT_TAG.sub(lambda tag: CLOSE if tag[1] else OPEN, html.unescape(text))
    return _TAG.sub("", _BREAK_TAG.sub("\n", text))


def _without_latex(text: str) -> str:
    if "\\" in text:
        for sign, plain_sign in _LATEX_SIGNS.items():
            text = text.replace(sign, plain_sign)
        text = _LATEX_SIGN.sub(lambda sign: _LATEX_AS[sign[1]], text)
        text = _LATEX_NAME.sub("", _LATEX_FRACTION.sub(r"\1/\2", text))
        text = _boxes(text)
    elif "$" not in text:
        return text.replace("{,}", ",")
    return _LATEX_MARKS.sub("", text.replace("{,}", ","))


def _boxes(text: str) -> str:
    """Put boxed text between `OPEN` and `CLOSE`, respecting nested braces."""
    parts: list[str] = []
    boxed: list[bool] = []
    start = 0
    for brace in _BRACES.finditer(text):
        parts.append(text[start : brace.start()])
        start = brace.end()
        if brace.group() == "}":
            parts.append(CLOSE if boxed and boxed.pop() else "}")
            continue
        boxed.append(brace.group() != "{")
        parts.append(OPEN if boxed[-1] else "{")
    return "".join([*parts, text[start:]])


def _without_markdown(text: str) -> str:
    if _MARKDOWN.search(text) is None:
        return text.rstrip()
    if "```" in text:
        text = _FENCE.sub("\n", text)
    if "~~" in text:
        text = _STRUCK.sub(" ", text)
    lines = [line for line in text.rstrip().split("\n") if not _is_rule(line)]
    if lines and lines[-1].lstrip().startswith(
        "####"
    ):  # "####" marks the result of arithmetic word problems
        lines[-1] = OPEN + lines[-1].strip(" \t#") + CLOSE
    text = "\n".join(lines)
    if "](" in text:
        text = _LINK.sub(r"\1", text)
    text = _EMPHASIS.sub(_unless_within_a_word, text)
    text = _ARROW_START.sub("", _LINE_START.sub("", text))
    return text.replace("|", "  ")


def _is_rule(line: str) -> bool:
    """Return whether a line is a horizontal rule."""
    return (line.count("---") > 0 and not line.strip("|:-+ \t")) or (
        len(line.strip()) > 2 and not line.strip("*_= \t")
    )


def _unless_within_a_word(mark: re.Match[str]) -> str:
    """Remove signs of emphasis; keep multiplication stars, underscores in names, and bullets."""
    text, run = mark.string, mark.group()
    before = text[mark.start() - 1] if mark.start() else " "
    after = text[mark.end()] if mark.end() < len(text) else " "
    single = run in {"*", "_", "~"} or (before.isdigit() and after.isdigit())
    within = before.isalnum() and after.isalnum() and single
    apart = before.isspace() and after.isspace() and run in {"*", "_"}
    leads = run == "~" and after.isdigit()
    return run if within or apart or leads else ""


# These are the vendors' names of tags for reasoning text, with words that may surround them.
_THINKING = (
    r"(?:[a-z]{1,12}[:_ -])?(?:think(?:ing)?|thoughts?|reasoning|reflection|scratch_?pad|analysis"
    r"|monologue|rationale|deliberation|working_out|chain_of_thought|cot)(?:_(?:process|trace|steps|on))?"
)
_THOUGHT_TAG = re.compile(
    rf"(?i)<\|?(?P<end>(?:/|end_(?:of_)?)?)(?:(?:start|begin)_(?:of_)?)?{_THINKING}(?:\s[^<>\n]{{0,40}})?\|?>"
    r"|\[(?P<end_>/?)think(?:ing)?\]|◁(?P<end__>/?)think▷|<unused9(?:4>(?:thought)?|(?P<end___>5>))"
    r"|<\|channel>thought(?![a-z])|(?P<end____><channel\|>)"
)
_CHANNEL = re.compile(
    r"(?P<on><\|end\|>)?(?:<\|start\|>assistant)?"
    r"<\|channel\|>(?P<final>final)?[^<>\n]{0,40}<\|message\|>"
)
# The same names without special tokens, for servers that strip these.
_CHANNEL_WORDS = re.compile(r"(?s)\Aanalysis(?=[A-Z\s]).{0,100000}assistant\s?final")
_ANSWER = re.compile(
    r"(?im)^[ \t>#*_`-]*(?:(?:so|thus|therefore),?\s+)?(?:(?:the|my)\s+)?(?:final\s+)?answer"
    r"[ \t*_`]*(?::|is\b:?)"
)


class Trace(NamedTuple):
    """Reasoning text and the answer that follows it."""

    thinking: str
    answer: str
    named: bool  # whether the answer follows "Answer:"


def split_trace(reply: str) -> Trace:
    """Return the reasoning text and the answer of a reply."""
    # Reasoning text without a closing tag extends to the end, and the text before it is not an
    # answer. If there is only a closing tag, the opening tag was part of the prompt.
    thought, said = _by_tags(reply)
    marks = list(_ANSWER.finditer(said))
    if marks:
        thought.append(said[: marks[-1].start()])
        said = said[marks[-1].start() :]
    thinking = "\n".join(one.strip() for one in thought if one.strip())
    return Trace(thinking, said.strip(), bool(marks))


def without_thinking(reply: str) -> str:
    """Return a reply without reasoning text in tags."""
    return _by_tags(reply)[1].strip()


def with_reasoning(text: str, reasoning: str | None) -> str:
    """Return a reply preceded by its separate reasoning text in tags."""
    return f"<think>{reasoning}</think>{text}" if reasoning else text


def in_tags(reply: str) -> str:
    """Return a reply whose reasoning text is in the same tags for all models."""
    if not _MAY_THINK.search(reply):
        return reply
    reply = _CHANNEL.sub(
        lambda tag: "</think>" if tag["final"] else "\n" if tag["on"] else "<think>", reply
    )
    words = _CHANNEL_WORDS.match(reply)
    if words:
        reply = f"<think>{words.group()}</think>{reply[words.end() :]}"
    return _THOUGHT_TAG.sub(
        lambda tag: "</think>" if any(tag.groupdict().values()) else "<think>", reply
    )


_MAY_THINK = re.compile(r"[<◁]|(?i:\[/?think)|\Aanalysis")


def _by_tags(reply: str) -> tuple[list[str], str]:
    reply = in_tags(reply)
    if "<" not in reply:
        return [], reply
    thought: list[str] = []
    said: list[str] = []
    depth, start = 0, 0
    for tag in re.finditer("<(/?)think>", reply):
        closing, before = bool(tag[1]), reply[start : tag.start()]
        if closing and depth == 0:
            thought, said = [*thought, *said, before], []
        else:
            (thought if depth else said).append(before)
        depth = max(depth + (-1 if closing else 1), 0)
        start = tag.end()
    if depth:
        return [*thought, *said, reply[start:]], ""
    return thought, "".join([*said, reply[start:]])
