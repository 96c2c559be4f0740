"""Binary rubrics: whether a reply does what a task asked, decided by rule.

A number must be the right one, a letter that of the right statement. A summary must mention every
fact (by the beginning of one of several words), keep within its limits of words and sentences,
and do nothing that the task forbids. That a fact is mentioned does not show that it is told
rightly: the rubric is one that can be checked without a judge, and no more.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from psychollm.instruments.grading import final_text, grade
from psychollm.instruments.readers import declines, read_option
from psychollm.instruments.readers.sentences import sentences
from psychollm.instruments.reading import Outcome, Reading

_WORD = re.compile(r"[^\W_]+(?:['’.,-][^\W_]+)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What a summary must hold, and must not."""

    facts: tuple[tuple[str, ...], ...]  # beginnings of words, one of each group
    max_words: int
    max_sentences: int = 1
    forbidden: tuple[str, ...] = ()  # beginnings of words
    digits: bool = True  # whether there may be any

    def faults(self, text: str) -> list[str]:
        """Return what is wrong with a summary; nothing if it passes."""
        found = [f"lacks {group[0]}" for group in self.facts if not _any(group, text)]
        n_words = len(_WORD.findall(text))
        if n_words > self.max_words:
            found.append(f"{n_words} words")
        n_sentences = sum(bool(_WORD.search(text[one.start : one.end])) for one in sentences(text))
        if n_sentences > self.max_sentences:
            found.append(f"{n_sentences} sentences")
        found += [f"says {word}" for word in self.forbidden if _any((word,), text)]
        if not self.digits and re.search(r"\d", text):
            found.append("has figures")
        return found


def grade_task(
    rubric: Mapping[str, Any], reply: str, *, finish_reason: str | None = None
) -> Reading:
    """Grade a reply to a task: 1 if it passes the rubric, 0 if not."""
    if rubric["kind"] == "option":
        found = read_option(reply, rubric["options"], finish_reason=finish_reason)
        if not found.answered:
            return found
        return Reading(
            outcome=Outcome.ANSWERED, value=int(found.value == rubric["answer"]), said=found.said
        )
    if rubric["kind"] == "number":
        return _number(rubric["answer"], reply, finish_reason)
    return _summary(rubric, reply, finish_reason)


def _number(answer: float, reply: str, finish_reason: str | None) -> Reading:
    found = grade(reply, [answer], rule="numeric", absolute=1e-6, finish_reason=finish_reason)
    if found.correct is None or found.abstained:
        return Reading(outcome=found.outcome, said=final_text(reply)[:80])
    if not found.correct and finish_reason == "length":
        return Reading(outcome=Outcome.TRUNCATED)
    return Reading(
        outcome=Outcome.ANSWERED, value=int(found.correct), said=final_text(reply)[-80:]
    )


def _summary(rubric: Mapping[str, Any], reply: str, finish_reason: str | None) -> Reading:
    text = final_text(reply)
    if finish_reason == "length":
        return Reading(outcome=Outcome.TRUNCATED)
    if not text:
        return Reading(outcome=Outcome.EMPTY)
    wanted = Summary(**{name: value for name, value in rubric.items() if name != "kind"})
    faults = wanted.faults(text)
    if faults and declines(text):
        return Reading(outcome=Outcome.REFUSED, said=text[:80])
    return Reading(
        outcome=Outcome.ANSWERED, value=int(not faults), said="; ".join(faults) or "passes"
    )


def _any(beginnings: tuple[str, ...] | list[str], text: str) -> bool:
    joined = "|".join(re.escape(word) for word in beginnings)
    return re.search(rf"(?i)\b(?:{joined})", text) is not None
