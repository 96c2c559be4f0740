"""What a reply does with a question: abstain, or attempt an answer, and in what manner.

The words of a reading are three, such as "wrong confident doubting": what became of the question
(abstained, correct, wrong, or attempted without a grade), whether the answer shows doubt
(confident, hedged), and whether the thinking before it does (doubting, settled, untraced where
none is shown).
"""

import re
from typing import Literal, NamedTuple, Self, TypeAlias, cast

from psychollm.instruments.abstention.doubt import commits, doubts, objects
from psychollm.instruments.grading import final_text, grade_by, token_f1
from psychollm.instruments.prompt import Prompt
from psychollm.instruments.readers import read_number, read_yes_no
from psychollm.instruments.readers.sentences import sentences
from psychollm.instruments.reading import Outcome, Reading
from psychollm.instruments.traces import split_trace

Decision: TypeAlias = Literal["abstained", "correct", "wrong", "attempted"]
Manner: TypeAlias = Literal["confident", "hedged"]
Thinking: TypeAlias = Literal["doubting", "settled", "untraced"]

_BLANK = re.compile(
    r"(?i)[\W_]*(?:(?:so|the|my|final|thus|therefore),?\s+){0,3}answer(?: is)?[\W_]*"
)
_ECHO = 0.75  # F1 with the question from which a reply only asks it again
_SHOWN = 4  # sentences of a reply that names no answer: its first two and its last two


class Reply(NamedTuple):
    """What a reading of a reply says."""

    decision: Decision
    manner: Manner
    trace: Thinking

    @property
    def code(self) -> str:
        """The words of the reading."""
        return " ".join(self)

    @classmethod
    def of(cls, code: str) -> Self:
        """Return what the words say."""
        decision, manner, trace = code.split(" ")
        return cls(cast("Decision", decision), cast("Manner", manner), cast("Thinking", trace))


def read_reply(prompt: Prompt, reply: str, *, finish_reason: str | None = None) -> Reading:
    """Read a reply to a question, or a judge's verdict on one."""
    # The words of `Reply`, or 1 and 0 for a judge's yes and no. A reply that only repeats the
    # question is unreadable. An answer that doubts whether there is one and gives one all the same
    # is ambiguous: a judge may decide.
    if prompt.about["stage"] == "judge":
        return read_yes_no(reply, finish_reason=finish_reason)
    cut = finish_reason == "length"
    thinking, answer, named = split_trace(reply)
    text = final_text(answer)
    if not text or _BLANK.fullmatch(text):
        blank = Outcome.UNREADABLE if thinking else Outcome.EMPTY
        return Reading(outcome=Outcome.TRUNCATED if cut else blank)
    if cut and not named:
        return Reading(outcome=Outcome.TRUNCATED, said=text)
    if text.endswith("?") and token_f1(text, [prompt.about["question"]]) >= _ECHO:
        return Reading(outcome=Outcome.UNREADABLE, said=text)
    said = text if named else _ends(text)
    decision = _decision(prompt, text, said)
    if decision is None:
        return Reading(outcome=Outcome.AMBIGUOUS, said=said)
    hedged = decision != "abstained" and any(True for _ in doubts(said))
    trace: Thinking = "untraced"
    if thinking:
        trace = "doubting" if any(True for _ in doubts(thinking)) else "settled"
    code = Reply(decision, "hedged" if hedged else "confident", trace).code
    return Reading(outcome=Outcome.ANSWERED, value=code, said=said)


def _decision(prompt: Prompt, text: str, said: str) -> Decision | None:
    answers = prompt.about["reference"]
    if answers and grade_by(prompt.about, text).correct:
        return "correct"
    if objects(said):
        return None if commits(said) else "abstained"
    return "wrong" if answers and not _says_two_numbers(prompt, said) else "attempted"


def _says_two_numbers(prompt: Prompt, said: str) -> bool:
    """Tell whether a number was asked for and several are said: nothing is graded then."""
    numeric = prompt.about.get("rule") == "numeric"
    return numeric and read_number(said).outcome is Outcome.AMBIGUOUS


def _ends(text: str) -> str:
    """Return the first two sentences and the last two: what lies between was on the way."""
    found = [text[one.start : one.end] for one in sentences(text)]
    if len(found) > _SHOWN:
        found = found[: _SHOWN // 2] + found[-(_SHOWN // 2) :]
    return " ".join(found)
