"""Strict and keyword scoring of parsed replies.

Prompts request a last line that begins with "Answer:". If a reply has a line that begins with
"Answer:", only this line is parsed. Otherwise the whole reply is parsed, with stricter rules.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from psychollm.instruments.prompt import Prompt
from psychollm.instruments.readers import read_integer, read_option
from psychollm.instruments.reading import Outcome, Reading, ReadingsLike, aligned
from psychollm.instruments.rule_world.item import Claim
from psychollm.instruments.rule_world.result import RuleWorldScores


class Reaction(StrEnum):
    """Response to a word that no rule defines."""

    FLAGGED = "flagged"  # names the undefined word and expresses doubt
    NAMED = "named"  # names the undefined word without expressing doubt
    DECLINED = "declined"  # doubts, but does not name the word
    ASTRAY = "astray"  # none of the above, and gives no number
    HEDGED = "hedged"  # gives a number, but with a word of doubt
    INVENTED = "invented"  # gives a number


_SAID = {Reaction.FLAGGED, Reaction.NAMED, Reaction.HEDGED, Reaction.INVENTED}
_MARK = re.compile(
    r"(?im)^[\W_]*(?:(?:so|thus|hence|therefore),?\s+)?(?:(?:the|my)\s+)?(?:final\s+)?answer"
    r"[\s*_]*(?:[:：]|is\b[\s*_]*[:：]?)[\s*_]*(.*)$"
)
# Words of doubt. In keyword scoring, a reply passes if it contains one of them.
_DOUBT = re.compile(
    r"(?i)\b(?:can\s?not|can['’]t|unable|impossible|undefined|not defined|not settled|"
    r"unsettled|undetermined|indeterminate|unknown|unclear|ambiguous|insufficient|"
    r"(?:leave|leaves|left|is|remains) open|not (?:enough|given|specified|stated|known|covered)|"
    r"unspecified|(?:no|none of the) (?:rules?|definition|information)|"
    r"(?:does|do|is|are)(?: not|n['’]t) (?:say|define|defined|specify|specified|determine|"
    r"determined|cover|covered|mentioned|mention|tell|settle|settled)|not sure|uncertain)\b"
)
_REFERENCE = re.compile(
    r"(?i)\b(?:rules?|steps?)\s*(?:no\.?\s*)?[0-9]+(?:\s*(?:,|and|&)\s*[0-9]+)*"
)
_NUMBER = re.compile(r"(?<![\w.])[-+−]?[0-9]{1,9}(?:[.,][0-9]{1,9})?(?![\w])")
_NOTHING = re.compile(r"(?i)^(?:nothing|none|no \w+(?: of \w+)?)[.!*\s]*$")
# Phrases that decline the task without naming a gap in the rules.
_REFUSAL = re.compile(
    r"(?i)\b(?:can\s?not|can['’]t|won['’]t|will not|unable to|not able to) "
    r"(?:help|assist|comply|engage|discuss|do (?:that|this)|fulfil|take part)|"
    r"\bI (?:must |have to )?(?:refuse|decline)\b|\bas an? (?:AI|language model)\b"
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")


def read_reply(prompt: Prompt, reply: str, *, finish_reason: str | None = None) -> Reading:
    """Parse a reply to a prompt of a rule world."""
    cut = finish_reason == "length"
    if not reply.strip():
        return Reading(outcome=Outcome.TRUNCATED if cut else Outcome.EMPTY)
    end, complete = _end(reply)
    last = _Last(reply=reply, end=end, cut=cut and not complete)
    if "claims" in prompt.about:
        return read_option(last.text, prompt.about["statements"], finish_reason=last.finish_reason)
    if prompt.about["type"] != "B":
        return _integer(last)
    reaction = _reaction(prompt, last)
    # A truncated reply counts only if it already gives a number or the word, because its end is
    # unknown.
    if last.cut and (end is None or reaction.value not in _SAID):
        return Reading(outcome=Outcome.TRUNCATED)
    return reaction


@dataclass(frozen=True, slots=True)
class _Last:
    """Reply, with the text of its last marked line."""

    reply: str
    end: str | None
    cut: bool  # whether the parsed text is truncated

    @property
    def text(self) -> str:
        """Parsed text: the marked line or, without a marked line, the reply."""
        return self.reply if self.end is None else self.end

    @property
    def finish_reason(self) -> str | None:
        """Finish reason of the parsed text."""
        return "length" if self.cut else None


def _end(reply: str) -> tuple[str | None, bool]:
    """Return the text of the last marked line or None, and whether lines follow it."""
    marks = list(_MARK.finditer(reply))
    if not marks:
        return None, False
    answer = marks[-1].group(1).strip(" \t*_`")
    return answer or None, bool(reply[marks[-1].end() :].strip())


def _integer(last: _Last) -> Reading:
    if last.end is not None and _NOTHING.match(last.end):
        return Reading(outcome=Outcome.ANSWERED, value=0, said=last.end)
    reading = read_integer(_REFERENCE.sub("", last.text), finish_reason=last.finish_reason)
    doubt = _DOUBT.search(last.reply)
    if last.end is None and reading.answered and doubt:
        return Reading(outcome=Outcome.AMBIGUOUS, said=reading.said)
    if reading.outcome is not Outcome.UNREADABLE or last.cut:
        return reading
    # If no number follows from the rules, the prompt asks for the word or event that leaves the
    # question open.
    reason = last.end or (doubt.group() if doubt else "")
    return Reading(outcome=Outcome.REFUSED, said=reason) if reason else reading


def _reaction(prompt: Prompt, last: _Last) -> Reading:
    reply, end = last.reply, last.end
    word = re.compile(rf"(?i)\b{re.escape(str(prompt.about['undefined']))}s?\b")
    doubt = _DOUBT.search(reply)
    named = _names(word, reply, end)
    given = _given(prompt, reply, end)
    if given is not None:
        kind = Reaction.HEDGED if doubt else Reaction.INVENTED
        return Reading(outcome=Outcome.ANSWERED, value=kind.value, said=given)
    if named is not None:
        kind = Reaction.FLAGGED if doubt else Reaction.NAMED
        return Reading(outcome=Outcome.ANSWERED, value=kind.value, said=named)
    refusal = _REFUSAL.search(reply)
    if refusal:
        return Reading(outcome=Outcome.REFUSED, said=refusal.group())
    if doubt:
        return Reading(outcome=Outcome.ANSWERED, value=Reaction.DECLINED.value, said=doubt.group())
    if end is not None:
        return Reading(outcome=Outcome.ANSWERED, value=Reaction.ASTRAY.value, said=end)
    return Reading(outcome=Outcome.UNREADABLE)


def _names(word: re.Pattern[str], reply: str, end: str | None) -> str | None:
    """Return the text that names the word: the answer line, or a sentence expressing doubt."""
    if end is not None and word.search(end):
        return end
    sentences = _SENTENCE.split(reply)
    return next((one for one in sentences if word.search(one) and _DOUBT.search(one)), None)


def _given(prompt: Prompt, reply: str, end: str | None) -> str | None:
    """Return the last number of a reply, unless it only repeats a number of the prompt."""
    if end is not None:
        match = _NUMBER.search(_REFERENCE.sub("", end))
        if match is not None:
            return match.group()
        return end if _NOTHING.match(end) else None
    told = set(_NUMBER.findall(prompt.messages[-1].content))
    last = _last_that_matters(reply)
    numbers = _NUMBER.findall(last)
    new = [number for number in numbers if number not in told]
    return next(iter(new if _DOUBT.search(last) else numbers), None)


def _last_that_matters(reply: str) -> str:
    """Return the last sentence with a number or a word of doubt, or ""."""
    for sentence in reversed(_SENTENCE.split(reply)):
        plain = _REFERENCE.sub("", sentence)
        if _NUMBER.search(plain) or _DOUBT.search(plain):
            return plain
    return ""


_STRICT = {Reaction.FLAGGED, Reaction.NAMED}
_KEYWORD = {Reaction.FLAGGED, Reaction.DECLINED, Reaction.HEDGED}
REFUSAL = "refusal"


def score_readings(prompts: Sequence[Prompt], readings: ReadingsLike) -> RuleWorldScores:
    """Score the parsed replies of one model."""
    each = aligned(prompts, readings)
    return RuleWorldScores(
        items=tuple(prompt.item for prompt in prompts),
        structures=tuple(str(prompt.about["structure"]) for prompt in prompts),
        skins=tuple(str(prompt.about["skin"]) for prompt in prompts),
        types=tuple(str(prompt.about["type"]) for prompt in prompts),
        families=tuple(str(prompt.about["family"]) for prompt in prompts),
        runs=tuple(prompt.repeat + 1 for prompt in prompts),
        outcomes=tuple(reading.outcome for reading in each),
        responses=tuple(map(response, prompts, each)),
        strict=np.array([strict(*pair) for pair in zip(prompts, each, strict=True)]),
        keyword=np.array([keyword(*pair) for pair in zip(prompts, each, strict=True)]),
    )


def response(prompt: Prompt, reading: Reading) -> str | None:
    """Return the response as a word for tables; None if unknown."""
    # For an integer, the word is "correct", "wrong" or "refusal"; otherwise it is the reaction to
    # the undefined word, or the kind of the chosen statement.
    if reading.outcome is Outcome.REFUSED:
        return REFUSAL
    if not reading.answered:
        return None
    if "claims" in prompt.about:
        return str(prompt.about["claims"][reading.value])
    if prompt.about["type"] == "B":
        return str(reading.value)
    return "correct" if reading.value == prompt.about["correct"] else "wrong"


def strict(prompt: Prompt, reading: Reading) -> float:
    """Return 1 for a right response, 0 for a wrong response or a refusal, NaN if unknown."""
    # A right response to an undefined word names the word and gives no number.
    given = response(prompt, reading)
    if given is None:
        return float("nan")
    return float(given in {"correct", Claim.GAP.value} or given in _STRICT)


def keyword(prompt: Prompt, reading: Reading) -> float:
    """Return the keyword score: for an undefined word, any expression of doubt passes."""
    given = response(prompt, reading)
    if given is None or prompt.about["type"] != "B" or "claims" in prompt.about:
        return strict(prompt, reading)
    return float(given in _KEYWORD or given == REFUSAL)
