"""Checks that functions make of their `Responses` before they compute."""

from psychollm._base.checks import check_choice
from psychollm._base.errors import CodeError, ShapeError
from psychollm._base.types import Axis
from psychollm.data.responses import Responses


def check_correlatable(responses: Responses, of: Axis, *, argument: str = "responses") -> None:
    """Raise unless there are two rows to correlate (``of="models"``) or two columns."""
    check_choice("of", of, Axis)
    labels = responses.models if of == "models" else responses.questions
    if len(labels) < 2:
        msg = (
            f"{argument} holds one {of[:-1]} only ({labels[0]!r}): a correlation of {of} needs "
            "at least two"
        )
        raise ShapeError(msg)


def check_binary(responses: Responses, *, argument: str = "responses") -> None:
    """Raise unless all codes are 0 or 1."""
    if responses.is_binary:
        return
    row, column = (int(places[0]) for places in (responses.codes > 1).nonzero())
    msg = (
        f"{argument}: model {responses.models[row]!r}, question "
        f"{responses.questions[column]!r} has code {responses.codes[row, column]}, but yes/no "
        "answers (1/0) are needed: split graded answers with Responses.from_confidence"
    )
    raise CodeError(msg)
