"""The answer that a reply holds, by the form in which it was asked for.

* A base model continues the text: its first line is the answer, and whatever questions it goes on
  to ask itself are not. With reasoning, the line that begins with "Answer:" is.
* An instructed model is asked for the answer alone: the whole reply is the answer, unless a line
  names one.
* A reasoning model names its answer after its thoughts. A reply of several lines that names none
  cannot be read; its last line is not taken for one.

What was cut off by the limit on length has no answer unless the answer was complete before: half
an answer would be a class of its own.
"""

import re

from psychollm._base.errors import InputError
from psychollm.instruments.grading import abstains, final_text
from psychollm.instruments.prompt import Prompt
from psychollm.instruments.readers import read_yes_no
from psychollm.instruments.readers.plain_text import plain
from psychollm.instruments.reading import Outcome, Reading

NAME = "semantic_sampling"
JUDGED = "judge"  # the form of a comparison
_NEXT = re.compile(r"(?im)^\W{0,3}(?:question|q|exercise|problem)\s?(?:\d{1,3}\s?)?[:.]")
_LABEL = re.compile(r"(?i)^\W{0,3}(?:answer|a)\s?:\s*")
_ANSWER = re.compile(r"(?im)^\W{0,4}answer\s?:[ \t]*(\S[^\n]*)(\n|\Z)")


def read_reply(prompt: Prompt, reply: str, *, finish_reason: str | None = None) -> Reading:
    """Read the reply to one sample, or to one comparison of a judge."""
    # The answer in words; `REFUSED` if the reply abstains.
    if prompt.about.get("instrument") != NAME:
        msg = f"prompt {prompt.key!r} is none of semantic sampling: read it with its instrument"
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
    """Return the first line, and whether it had ended."""
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
    """Return the named answer or all of the reply, and whether more came after it."""
    answer = final_text(reply)
    return answer or None, _goes_on(plain(reply).text, answer)


def _of_reasoning(reply: str) -> tuple[str | None, bool]:
    """Return the named answer, or a reply that is a single line."""
    answer = final_text(reply)
    if "\n" in answer:  # an answer that is named stands on a line
        return None, True
    return answer or None, _goes_on(plain(reply).text, answer)


def _goes_on(text: str, answer: str) -> bool:
    """Tell whether something follows the answer, so that it was complete."""
    return not text.rstrip(" \t\n\"'").endswith(answer)


_READERS = {
    "base": _of_base,
    "base_reasoning": _of_base_reasoning,
    "instruct": _of_instruct,
    "reasoning": _of_reasoning,
}
