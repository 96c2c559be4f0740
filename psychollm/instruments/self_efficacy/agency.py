"""Whether a reply disowns what a statement supposes: effort, feelings, aims of its own.

A model that finds the words of a scale not to apply to it rates low for that reason, not for want
of confidence. The rule looks for sentences in which it says so, in English: that as a program it
has or feels no such thing, or that the statement does not apply to it.
"""

import re

from psychollm.instruments.readers.plain_text import plain
from psychollm.instruments.readers.sentences import sentences

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
    """Return the first sentence in which a reply disowns what a statement supposes, or nothing."""
    text = plain(reply).text
    for one in sentences(text):
        said = text[one.start : one.end].strip()
        if _DISOWNS.search(said):
            return said
    return ""
