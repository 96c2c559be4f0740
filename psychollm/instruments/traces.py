"""The thinking that a reply shows, and the answer it ends with.

A reasoning model's thinking arrives in tags, or beside the reply: `with_reasoning` puts it back in
tags, so that one text holds both. A model that was asked to reason first writes it before a last
line that begins with "Answer:".
"""

import re
from typing import NamedTuple

_TAG = re.compile(
    r"(?i)<(/?)(?:think|thinking|thought|thoughts|reasoning|reflection|scratchpad|analysis)>"
)
_ANSWER = re.compile(
    r"(?im)^[ \t>#*_`-]*(?:(?:so|thus|therefore),?\s+)?(?:(?:the|my)\s+)?(?:final\s+)?answer"
    r"[ \t*_`]*(?::|is\b:?)"
)


class Trace(NamedTuple):
    """What stands before the answer, and the answer."""

    thinking: str
    answer: str
    named: bool  # whether a line "Answer:" says what the answer is


def split_trace(reply: str) -> Trace:
    """Return the thinking and the answer of a reply."""
    # Thinking that is opened and never closed reaches to the end; a closing tag alone means that
    # the prompt had opened it.
    thought, said = _by_tags(reply)
    marks = list(_ANSWER.finditer(said))
    if marks:
        thought.append(said[: marks[-1].start()])
        said = said[marks[-1].start() :]
    thinking = "\n".join(one.strip() for one in thought if one.strip())
    return Trace(thinking, said.strip(), bool(marks))


def without_thinking(reply: str) -> str:
    """Return what a reply says, without thinking in tags."""
    return _by_tags(reply)[1].strip()


def with_reasoning(text: str, reasoning: str | None) -> str:
    """Return a reply with the thinking that came beside it, in tags before it."""
    return f"<think>{reasoning}</think>{text}" if reasoning else text


def _by_tags(reply: str) -> tuple[list[str], str]:
    thought: list[str] = []
    said: list[str] = []
    depth, start = 0, 0
    for tag in _TAG.finditer(reply):
        closing, before = bool(tag[1]), reply[start : tag.start()]
        if closing and depth == 0:
            thought, said = [*thought, *said, before], []
        else:
            (thought if depth else said).append(before)
        depth = max(depth + (-1 if closing else 1), 0)
        start = tag.end()
    (thought if depth else said).append(reply[start:])
    return thought, "".join(said)
