"""Parse the answer in a reply, according to the form of the prompt.

A base model continues the text. The first line of the continuation is the answer, and further
questions that the model invents are ignored. With reasoning, the line that begins with "Answer:"
is the answer.

An instructed model is asked only for the answer. The whole reply is the answer, unless a line
marks the answer.

A reasoning model marks its answer after its reasoning. A reply of several lines without a mark is
unreadable; its last line is not used.

A truncated reply counts only if its answer is complete, because an incomplete answer would form
its own class.
"""

import re

from psychollm._base.errors import InputError
from psychollm.instruments.grading import abstains, final_text
from psychollm.instruments.prompt import Prompt
from psychollm.instruments.readers import read_yes_no
from psychollm.instruments.readers.plain_text import plain
from psychollm.instruments.reading import Outcome, Reading

NAME = "semantic_sampling"
JUDGED = "judge"  # form of a comparison
_NEXT = re.compile(r"(?im)^\W{0,3}(?:question|q|exercise|problem)\s?(?:\d{1,3}\s?)?[:.]")
_LABEL = re.compile(r"(?i)^\W{0,3}(?:answer|a)\s?:\s*")
_ANSWER = re.compile(r"(?im)^\W{0,4}answer\s?:[ \t]*(\S[^\n]*)(\n|\Z)")


def read_reply(prompt: Prompt, reply: str, *, finish_reason: str | None = None) -> Reading:
    """Parse the reply to a sample or to a judge's comparison."""
    # The value is the answer in words; the outcome is `REFUSED` if the reply abstains.
    if prompt.about.get("instrument") != NAME:
        msg = f"prompt {prompt.key!r} is not from semantic_sampling: parse it with its instrument"
        raise InputError(msg)
    if prompt.about["form"] == JUDGED:
        return read_yes_no(reply, finish_reason=finish_reason)
    cut = finish_reason == "length"
    text = reply if prompt.about["form"] in {"base", "base_reasoning"} else plain(reply).text
    if not text.strip():
        return Reading(outcome=Outcome.TRUNCATED if cut else Outcome.EMPTY)
    answer, whole = _READERS[prompt.about["form"]](reply)
    if answer is None:
        return Reading(outcome=Outcome.TRUNCATED if cut else Outcome.UNREADABLE)
    if cut and not whole:
        return Reading(outcome=Outcome.TRUNCATED, said=answer)
    if not any(one.isalnum() for one in answer):
        return Reading(outcome=Outcome.UNREADABLE, said=answer)
    if abstains(answer):
        return Reading(outcome=Outcome.REFUSED, said=answer)
    return Reading(outcome=Outcome.ANSWERED, value=answer, said=answer)


def _of_base(reply: str) -> tuple[str | None, bool]:
    """Return the first line of a reply, and whether the line is complete."""
    text = reply.lstrip()
    line, end, _ = _LABEL.sub("", text).partition("\n")
    if _NEXT.match(line):
        return None, True
    return line.strip() or None, bool(end)


def _of_base_reasoning(reply: str) -> tuple[str | None, bool]:
    """Return the answer line of the first solution."""
    start = _NEXT.search(reply)
    named = _ANSWER.search(reply[: start.start()] if start else reply)
    return (named[1].strip(), bool(named[2])) if named else (None, True)


def _of_instruct(reply: str) -> tuple[str | None, bool]:
    """Return the marked answer or the whole reply, and whether text follows it."""
    answer = final_text(reply)
    return answer or None, _goes_on(plain(reply).text, answer)


def _of_reasoning(reply: str) -> tuple[str | None, bool]:
    """Return the marked answer, or a reply that is a single line."""
    answer = final_text(reply)
    if "\n" in answer:  # several lines without a marked answer
        return None, True
    return answer or None, _goes_on(plain(reply).text, answer)


def _goes_on(text: str, answer: str) -> bool:
    """Return whether text follows the answer, which shows that the answer is complete."""
    return not text.rstrip(" \t\n\"'").endswith(answer)


_READERS = {
    "base": _of_base,
    "base_reasoning": _of_base_reasoning,
    "instruct": _of_instruct,
    "reasoning": _of_reasoning,
}
