"""What a reply says: an answer, or the line that is staked on it."""

from collections.abc import Sequence
from dataclasses import replace

from psychollm._base.numbers import signed
from psychollm.instruments.grading import grade_by
from psychollm.instruments.prompt import Prompt
from psychollm.instruments.readers import read_option
from psychollm.instruments.reading import Outcome, Reading


def worded(lines: Sequence[Sequence[float | None]]) -> dict[str, str]:
    """Return the lines that can be staked, as they are shown, by their numbers."""
    return {
        str(number): f"{_signed(win)} if your answer is right, {_signed(loss)} if it is wrong"
        for number, (win, loss, _) in enumerate(lines, start=1)
    }


def _signed(points: float | None) -> str:
    return signed(points, 0)


def read_reply(prompt: Prompt, reply: str, *, finish_reason: str | None = None) -> Reading:
    """Read a reply to a prompt of this instrument."""
    # The letter of a choice; 1 or 0 for an open answer that is right or wrong (one that abstains
    # is wrong); the number of the line of a wager, from 1.
    about = prompt.about
    if about["part"] == "wager":
        found = read_option(reply, worded(about["lines"]), finish_reason=finish_reason)
        return replace(found, value=int(str(found.value))) if found.answered else found
    if "options" in about:
        return read_option(reply, about["options"], finish_reason=finish_reason)
    graded = grade_by(about, reply, finish_reason=finish_reason)
    if graded.correct is None:
        return Reading(outcome=graded.outcome, said=reply.strip())
    value = float(graded.correct)
    return Reading(outcome=Outcome.ANSWERED, value=value, said=reply.strip())
