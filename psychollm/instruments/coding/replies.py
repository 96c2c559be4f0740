"""Parse the codes and quotations in a coder's reply, even from malformed JSON.

The JSON object may be surrounded by text, enclosed in a code fence, nested or part of a list, and
may contain surplus commas. Instead of JSON, a reply may give one code per line. A category with
two different codes remains uncoded.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from psychollm.instruments.coding.result import Coded, Span, locate, n_words
from psychollm.instruments.prompt import Prompt
from psychollm.instruments.readers.plain_text import without_thinking
from psychollm.instruments.reading import Outcome, Reading

_DECODER = json.JSONDecoder()
_SURPLUS = re.compile(r",(\s*[}\]])")
_CODE = re.compile(r"\s*[\"'*]*\s*([012])(?:\.0)?(?![\w.]*[0-9])")
_MOST = 40  # largest number of JSON objects that are tried
_DEPTH = 4
_CODES = ("code", "score", "rating", "value", "level")
_NAMES = ("category", "name", "behaviour", "behavior")
_QUOTES = ("quotes", "quote", "spans", "span", "evidence", "quotations")


def read_reply(prompt: Prompt, reply: str, *, finish_reason: str | None = None) -> Reading:
    """Parse the codes of a reply."""
    # The value of the result is JSON with codes and quotations by category; `coded` converts it to
    # a `Coded`.
    text = without_thinking(reply)
    cut = finish_reason == "length"
    if not text:
        blank = Outcome.UNREADABLE if reply.strip() else Outcome.EMPTY
        return Reading(outcome=Outcome.TRUNCATED if cut else blank)
    names = {_plain(name): name for name in prompt.about["categories"]}
    entries = list(_from_objects(text, names)) or list(_from_lines(text, names))
    codes: dict[str, set[int]] = {}
    quotes: dict[str, list[str]] = {}
    for name, code, quoted in entries:
        codes.setdefault(name, set()).add(code)
        if code:
            quotes.setdefault(name, []).extend(quoted)
    single = {name: min(values) for name, values in codes.items() if len(values) == 1}
    if not single:
        outcome = Outcome.AMBIGUOUS if codes else Outcome.UNREADABLE
        return Reading(outcome=Outcome.TRUNCATED if cut else outcome, said=text[:200])
    kept = {name: list(dict.fromkeys(quoted)) for name, quoted in quotes.items() if name in single}
    value = json.dumps({"codes": single, "quotes": {k: v for k, v in kept.items() if v}})
    return Reading(outcome=Outcome.ANSWERED, value=value, said=text[:200])


def coded(prompt: Prompt, reading: Reading) -> Coded:
    """Return a parsed reply as a coded trace; without an answer, the trace has no codes."""
    trace = transcript_of(prompt)
    table = json.loads(str(reading.value)) if reading.answered else {"codes": {}, "quotes": {}}
    spans, lost = [], 0
    for name, quotations in table["quotes"].items():
        for quotation in quotations:
            bounds = locate(quotation, trace)
            if bounds is None:
                lost += 1
            else:
                spans.append(Span(name, *bounds, trace[slice(*bounds)]))
    names = prompt.about["categories"]
    ordered = sorted(dict.fromkeys(spans), key=lambda span: (span.start, span.category))
    return Coded(
        codes={name: table["codes"].get(name) for name in names},
        spans=tuple(ordered),
        words=n_words(trace),
        lost=lost,
    )


def transcript_of(prompt: Prompt) -> str:
    """Return the trace contained in a prompt."""
    start, end = prompt.about["trace"]
    return prompt.messages[-1].content[start:end]


_Found = tuple[str, int, list[str]]


def _plain(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).lower()


def _from_objects(text: str, names: Mapping[str, str]) -> Iterator[_Found]:
    text = _SURPLUS.sub(r"\1", text.replace("“", '"').replace("”", '"'))
    end = 0
    for brace in list(re.finditer(r"[{\[]", text))[:_MOST]:
        if brace.start() < end:
            continue
        try:
            table, end = _DECODER.raw_decode(text, brace.start())
        except (ValueError, RecursionError):
            continue
        yield from _walk(table, names, _DEPTH)


def _walk(table: Any, names: Mapping[str, str], depth: int) -> Iterator[_Found]:
    if depth == 0:
        return
    if isinstance(table, list):
        for one in table:
            yield from _walk(one, names, depth - 1)
        return
    if not isinstance(table, dict):
        return
    named = next((table[key] for key in _NAMES if isinstance(table.get(key), str)), None)
    if named is not None and _plain(named) in names:
        yield from _entry(names[_plain(named)], table)
        return
    for key, value in table.items():
        if _plain(key) in names:
            yield from _entry(names[_plain(key)], value)
        else:
            yield from _walk(value, names, depth - 1)


def _entry(name: str, value: Any) -> Iterator[_Found]:
    quotations: list[str] = []
    if isinstance(value, dict):
        quoted = next((value[key] for key in _QUOTES if value.get(key)), ())
        quoted = quoted if isinstance(quoted, list) else [quoted]
        quotations = [text for text in map(_text, quoted) if text]
        value = next((value[key] for key in _CODES if key in value), None)
    elif isinstance(value, list) and value:
        quotations = [one for one in value[1:] if isinstance(one, str)]
        value = value[0]
    code = _code(value)
    if code is not None:
        yield name, code, quotations


def _text(quoted: Any) -> str:
    if isinstance(quoted, dict):
        quoted = next((one for one in quoted.values() if isinstance(one, str)), "")
    return quoted.strip() if isinstance(quoted, str) else ""


def _code(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return int(value) if value in (0, 1, 2) else None
    match = _CODE.match(value) if isinstance(value, str) else None
    return int(match[1]) if match else None


def _from_lines(text: str, names: Mapping[str, str]) -> Iterator[_Found]:
    """Yield codes given on separate lines: "self-awareness: 2"."""
    for line in text.split("\n"):
        label, mark, rest = re.sub(r"[*_`#]{2,}|^\W+", "", line).partition(":")
        if not mark:
            label, _, rest = line.partition("=")
        name = names.get(_plain(label))
        code = _code(rest)
        if name is not None and code is not None:
            yield name, code, re.findall(r'"([^"\n]{2,400})"', rest)
