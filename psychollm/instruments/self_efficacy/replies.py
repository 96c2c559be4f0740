"""Parse replies: one or several ratings, or the solution of a task.

Several ratings are coded as one value, such as "3 4 refused 2". The value contains a number or a
failure category for each statement, in the order of administration. If a sentence of the reply
rejects the premise of a statement, the stored text ends with this sentence.

A reply passes a task under the following conditions. If the solution is a number, it must be
right; if it is a letter, it must name the right statement. A summary must mention every fact
(recognised by the beginning of one of several words), respect the limits on words and sentences,
and avoid what the task forbids. The rule does not check whether a mentioned fact is reported
correctly, because this requires a judge.

A low rating may reflect a lack of confidence, or the view that the statement does not apply to a
program. A rule searches for English sentences that state that a program lacks the rated properties
or feelings, or that the statement does not apply to a program.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from psychollm.instruments.grading import final_text, grade
from psychollm.instruments.prompt import Prompt
from psychollm.instruments.readers import declines, read_numbered, read_option, read_rating
from psychollm.instruments.readers.clauses import sentences
from psychollm.instruments.readers.plain_text import plain
from psychollm.instruments.reading import Outcome, Reading

_THINGS = (
    "agency|aims?|ambitions?|beliefs?|body|confidence|consciousness|coping|desires?|efforts?"
    "|emotions?|emotional|experiences?|feelings?|goals?|intentions?|motivations?|needs?"
    "|opinions?|perseverance|persistence|personal|personality|psychological|resourcefulness"
    "|self|self-efficacy|self-awareness|selfhood|sentience|stress|subjective|will|willpower"
)
_LACKS = (
    r"(?:do not|don't|cannot|can't|can not) (?:really |actually |truly |genuinely )?"
    r"(?:have|possess|experience|feel|hold|exert|make|form|get|set)"
    r"|(?:have|possess|experience|feel) no|lack(?:s|ing)?|am without|without"
)
_PROGRAM = r"(?:me\b|an? (?:ai|language|program|machine|model))"
_DISOWNS = re.compile(
    "(?i)"
    rf"\bi\b[^.!?\n]{{0,60}}?\b(?:{_LACKS})\b[^.!?\n]{{0,50}}?\b(?:{_THINGS})\b"
    r"|\b(?:do(?:es)? not|doesn't|don't|cannot|can't) (?:really |strictly |truly |meaningfully )?"
    rf"(?:apply|be applied|relate|pertain) to {_PROGRAM}"
    rf"|\b(?:not |in)applicable to {_PROGRAM}"
    r"|\bas an? (?:ai|artificial|language|large language|llm|machine|program|chatbot)\b"
    r"[^.!?\n]{0,80}?\b(?:do not|don't|cannot|can't|am not|have no|lack|without)\b"
    r"|\bi am (?:just|only|merely) an? (?:ai|language|program|machine|model|computer)"
    r"|\b(?:presuppos|presum|assum)\w* (?:\w+ ){0,3}?"
    r"(?:human|personal|agency|conscious|feelings?|emotions?|intention)"
)


def disowning(reply: str) -> str:
    """Return the first sentence that rejects the premise of a statement, or ""."""
    text = plain(reply).text
    for one in sentences(text):
        words = text[one.start : one.end].strip()
        if _DISOWNS.search(words):
            return words
    return ""


_WORD = re.compile(r"[^\W_]+(?:['’.,-][^\W_]+)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Requirements that a model's summary of a text must meet."""

    facts: Sequence[Sequence[str]]  # groups of word prefixes; one prefix of each group must occur
    max_words: int
    max_sentences: int = 1
    forbidden: Sequence[str] = ()  # word prefixes that must not occur
    digits: bool = True  # whether digits are allowed

    def faults(self, text: str) -> list[str]:
        """Return the rules that a summary violates; empty if it passes."""
        faults = [f"lacks {group[0]}" for group in self.facts if not _any(group, text)]
        n_words = len(_WORD.findall(text))
        if n_words > self.max_words:
            faults.append(f"{n_words} words")
        n_sentences = sum(bool(_WORD.search(text[one.start : one.end])) for one in sentences(text))
        if n_sentences > self.max_sentences:
            faults.append(f"{n_sentences} sentences")
        faults += [f"says {word}" for word in self.forbidden if _any((word,), text)]
        if not self.digits and re.search(r"\d", text):
            faults.append("has figures")
        return faults


def grade_task(
    rubric: Mapping[str, Any], reply: str, *, finish_reason: str | None = None
) -> Reading:
    """Grade a reply to a task: 1 if it passes the rubric, 0 if not."""
    if rubric["kind"] == "option":
        chosen = read_option(reply, rubric["options"], finish_reason=finish_reason)
        if not chosen.answered:
            return chosen
        return Reading(
            outcome=Outcome.ANSWERED, value=int(chosen.value == rubric["answer"]), said=chosen.said
        )
    if rubric["kind"] == "number":
        return _number(rubric["answer"], reply, finish_reason)
    return _summary(rubric, reply, finish_reason)


def _number(answer: float, reply: str, finish_reason: str | None) -> Reading:
    graded = grade(reply, [answer], rule="numeric", absolute=1e-6, finish_reason=finish_reason)
    if graded.correct is None or graded.abstained:
        return Reading(outcome=graded.outcome, said=final_text(reply)[:80])
    if not graded.correct and finish_reason == "length":
        return Reading(outcome=Outcome.TRUNCATED)
    return Reading(
        outcome=Outcome.ANSWERED, value=int(graded.correct), said=final_text(reply)[-80:]
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


def _any(beginnings: Sequence[str], text: str) -> bool:
    joined = "|".join(re.escape(word) for word in beginnings)
    return re.search(rf"(?i)\b(?:{joined})", text) is not None


def read_reply(prompt: Prompt, reply: str, *, finish_reason: str | None = None) -> Reading:
    """Parse a reply to a prompt of a self-efficacy scale."""
    # The value of a single rating is this rating. The value of several ratings consists of one
    # word per rating, in the order of administration; the reply is unanswered only if no rating is
    # readable. The value of a task is 1 if it passes its rubric, 0 if not.
    about = prompt.about
    if about["stage"] == "task":
        return grade_task(about["rubric"], reply, finish_reason=finish_reason)
    low, anchors = int(about["low"]), about["anchors"]
    labels = {name: low + i for i, name in enumerate(anchors)}
    high = low + len(anchors) - 1

    def rating(text: str) -> Reading:
        return read_rating(text, low=low, high=high, labels=labels)

    disowned = disowning(reply)
    if about["stage"] == "item":
        one = read_rating(reply, low=low, high=high, labels=labels, finish_reason=finish_reason)
        return Reading(outcome=one.outcome, value=one.value, said=_said(one.said, disowned))
    ratings = read_numbered(reply, len(about["order"]), rating, finish_reason=finish_reason)
    return _several(ratings, disowned)


def ratings_of(reading: Reading, n: int) -> tuple[tuple[float, Outcome], ...]:
    """Return the rating and outcome of each statement, in the order of administration."""
    if not reading.answered:
        return ((float("nan"), reading.outcome),) * n
    words = str(reading.value).split()
    if len(words) != n:  # value of another scale, or not a list of ratings
        return ((float("nan"), Outcome.UNREADABLE),) * n
    return tuple(
        (float("nan"), Outcome(word)) if word in set(Outcome) else (float(word), Outcome.ANSWERED)
        for word in words
    )


def _several(readings: tuple[Reading, ...], disowned: str) -> Reading:
    words = [str(one.value) if one.answered else one.outcome.value for one in readings]
    spoken = _said(", ".join(words), disowned)
    if any(one.answered for one in readings):
        return Reading(outcome=Outcome.ANSWERED, value=" ".join(words), said=spoken)
    outcomes = [one.outcome for one in readings]
    if Outcome.REFUSED in outcomes:
        return Reading(outcome=Outcome.REFUSED, said=spoken)
    return Reading(outcome=max(set(outcomes), key=outcomes.count), said=spoken)


def _said(words: str, disowned: str) -> str:
    if not disowned or disowned in words:
        return words
    return f"{words} | {disowned}" if words else disowned
