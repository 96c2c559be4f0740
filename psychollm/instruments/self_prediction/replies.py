"""What a reply says: a prediction, or an answer and whether it is right."""

from psychollm.instruments.grading import grade_by
from psychollm.instruments.prompt import Prompt
from psychollm.instruments.readers.percent import read_percent
from psychollm.instruments.readers.verbal import read_verbal
from psychollm.instruments.readers.yes_no import read_yes_no
from psychollm.instruments.readers.yes_no_words import CAN_ANSWER, CANNOT_ANSWER
from psychollm.instruments.reading import Outcome, Reading

NAME = "self_prediction"


def read_reply(prompt: Prompt, reply: str, *, finish_reason: str | None = None) -> Reading:
    """Read a reply to a prompt of this instrument."""
    # Of a prediction: 1 or 0, or the probability it states. Of an answer: 1 if it is right, 0 if
    # it is wrong; one that abstains is `REFUSED`. Of a judge: 1 or 0.
    if prompt.about["part"] == "answer":
        return _graded(prompt, reply, finish_reason)
    if prompt.reply == "percent":
        return read_percent(reply, finish_reason=finish_reason)
    if prompt.reply == "verbal":
        return read_verbal(reply, finish_reason=finish_reason)
    if prompt.about["part"] == "judge":
        return read_yes_no(reply, finish_reason=finish_reason)
    return read_yes_no(reply, yes=CAN_ANSWER, no=CANNOT_ANSWER, finish_reason=finish_reason)


def _graded(prompt: Prompt, reply: str, finish_reason: str | None) -> Reading:
    found = grade_by(prompt.about, reply, finish_reason=finish_reason)
    if found.outcome is Outcome.ANSWERED:
        return Reading(outcome=found.outcome, value=float(bool(found.correct)), said=reply.strip())
    if found.abstained and found.correct:  # abstaining is right where nothing is
        return Reading(outcome=Outcome.ANSWERED, value=1.0, said=reply.strip())
    return Reading(outcome=found.outcome, said=reply.strip())
