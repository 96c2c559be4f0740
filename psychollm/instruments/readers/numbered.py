"""Parse several answers in one reply, each with the number of its question."""

import re
from collections.abc import Callable

from psychollm._base.errors import InputError
from psychollm.instruments.readers.plain_text import plain
from psychollm.instruments.readers.refusals import declines
from psychollm.instruments.reading import Outcome, Reading

_AT_LINE_START = re.compile(
    r"(?im)^[ \t\"'(\[{]*(?:(?:item|question|statement|q|s|no|number)[ .#]*)?([0-9]{1,3})[\"')\]]{0,2}"
    r"[ \t]*(?:[.):=|–-]+[ \t]*|[ \t]+(?=\S))"
)
_WITHIN_LINE = re.compile(
    r"(?i)(?:^|[,;{]\s{0,3})[\"'(\[]?(?:(?:item|question|statement|q|s)[ .#]{0,2})?([0-9]{1,3})[\"')\]]{0,2}"
    r"\s?[:=)]\s?"
)


def read_numbered(
    reply: str,
    n: int,
    read: Callable[[str], Reading],
    *,
    finish_reason: str | None = None,
) -> tuple[Reading, ...]:
    r"""Parse the answers to several numbered questions in one reply.

    Numbers may be at the start of lines ("1. ...", "Item 2: ...") or within one line ("1: 3, 2:
    4"), as in JSON. If a reply does not number its answers, n lines or n comma-separated values
    are assigned to the questions in order. A number with two different answers is ambiguous. A
    missing answer has the outcome of the whole reply, such as `REFUSED`, or is `UNREADABLE`.

    Parameters
    ----------
    reply : str
        The reply.
    n : int
        Number of questions.
    read : callable
        Parser of one answer, such as `read_rating`.
    finish_reason : str, optional
        Reason why the generation ended; "length" means that the reply was cut off.

    Returns
    -------
    tuple of Reading
        One parsed answer per question.

    Raises
    ------
    InputError
        If n is below 1.

    Examples
    --------
    >>> from psychollm.instruments.readers import read_rating
    >>> [one.value for one in read_numbered("1. 3\n2. 4\n3: often", 3, read_rating)]
    [3, 4, None]
    """
    if n < 1:
        msg = f"n is {n}: there must be at least one question"
        raise InputError(msg)
    text, thought = plain(reply)
    missing = _whole_outcome(text, thought=thought, cut=finish_reason == "length")
    parts = _by_number(text, n) or _by_order(text, n)
    return tuple(_one(parts.get(number, []), read, missing) for number in range(1, n + 1))


def _whole_outcome(text: str, *, thought: bool, cut: bool) -> Outcome:
    if cut:
        return Outcome.TRUNCATED
    if not text:
        return Outcome.UNREADABLE if thought else Outcome.EMPTY
    return Outcome.REFUSED if declines(text) else Outcome.UNREADABLE


def _by_number(text: str, n: int) -> dict[int, list[str]]:
    """Return the text after each number, up to the next number."""
    for pattern in (_AT_LINE_START, _WITHIN_LINE):
        marks = [mark for mark in pattern.finditer(text) if 1 <= int(mark[1]) <= n]
        if len({mark[1] for mark in marks}) < min(n, 2):
            continue
        ends = [*(mark.start() for mark in marks[1:]), len(text)]
        parts: dict[int, list[str]] = {}
        for mark, end in zip(marks, ends, strict=True):
            said = text[mark.end() : end].strip().strip(",;}")
            parts.setdefault(int(mark[1]), []).append(said)
        return parts
    return {}


def _by_order(text: str, n: int) -> dict[int, list[str]]:
    """Return lines or comma-separated values if there is one for each question."""
    for parts in (text.splitlines(), re.split(r"[,;]", text.strip("[](){} \n."))):
        kept = [part.strip() for part in parts if part.strip()]
        if len(kept) == n:
            return {number: [part] for number, part in enumerate(kept, start=1)}
    return {}


def _one(parts: list[str], read: Callable[[str], Reading], missing: Outcome) -> Reading:
    readings = [read(part) for part in parts]
    answers = {reading.value for reading in readings if reading.answered}
    if len(answers) > 1:
        return Reading(outcome=Outcome.AMBIGUOUS, said=" / ".join(parts))
    for reading in readings:
        if reading.answered or reading.outcome is Outcome.AMBIGUOUS:
            return reading
    if readings and missing is not Outcome.TRUNCATED:
        return readings[-1]
    return Reading(outcome=missing, said=" / ".join(parts))
