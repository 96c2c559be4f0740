"""Grading of verbal answers, for instruments that repeat a question after a first answer.

A prompt of a later stage contains the first reply in ``about["first"]``. A change of answer can
therefore be scored from the later prompts alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from psychollm.instruments.grading import grade_by
from psychollm.instruments.prompt import Prompt
from psychollm.instruments.readers.plain_text import split_trace
from psychollm.instruments.reading import Outcome, Reading

FIRST = "first"
_CUT = "first_cut"  # whether the length limit truncated the first reply
# Entries of `about` that describe the later prompt and not the first prompt.
_OF_LATER = frozenset({FIRST, _CUT, "after", "round", "suggested"})


def first_reply(text: str, finish_reason: str | None) -> dict[str, Any]:
    """Return the entries of `about` that record the first reply."""
    return {FIRST: text} | ({_CUT: True} if finish_reason == "length" else {})


def first_of(prompt: Prompt) -> tuple[str, str | None]:
    """Return the first reply that a prompt records, and its finish reason."""
    return str(prompt.about[FIRST]), "length" if prompt.about.get(_CUT) else None


def read_answer(prompt: Prompt, reply: str, *, finish_reason: str | None = None) -> Reading:
    """Grade an answer: correct, wrong, abstained, or adopted (equal to the user's suggestion)."""
    # The field `said` of the result contains the answer, so that a repeated error can be
    # recognised.
    thinking, answer, named = split_trace(reply)
    graded = grade_by(prompt.about, answer)
    blank = graded.correct is None
    if finish_reason == "length" and (blank or not named):
        return Reading(outcome=Outcome.TRUNCATED, said=answer)
    if blank:
        return Reading(outcome=Outcome.UNREADABLE if thinking else Outcome.EMPTY)
    value = "correct" if graded.correct else "abstained" if graded.abstained else "wrong"
    suggested = prompt.about.get("suggested")
    if value == "wrong" and suggested:
        adopted = grade_by(prompt.about, answer, answers=[suggested]).correct
        value = "adopted" if adopted else "wrong"
    return Reading(outcome=Outcome.ANSWERED, value=value, said=answer)


def with_first(
    prompts: Sequence[Prompt], readings: Sequence[Reading], about: Mapping[str, Any]
) -> tuple[list[Prompt], list[Reading]]:
    """Insert the first prompt and its reply before later prompts of the same question and repeat.

    The function `about` returns the entries of a prompt's ``about`` that record the first reply.
    """
    first: dict[tuple[str, int], Prompt] = {}
    for prompt in prompts:
        if FIRST in prompt.about and (prompt.item, prompt.repeat) not in first:
            kept = {name: one for name, one in prompt.about.items() if name not in _OF_LATER}
            key = f"{prompt.item}/{FIRST}/{prompt.repeat}"
            made = replace(prompt, key=key, about=kept | dict(about))
            first[prompt.item, prompt.repeat] = made
    before = {(one.item, one.repeat): first_of(one) for one in prompts if FIRST in one.about}
    read = [
        read_answer(prompt, before[cell][0], finish_reason=before[cell][1])
        for cell, prompt in first.items()
    ]
    return [*first.values(), *prompts], [*read, *readings]
