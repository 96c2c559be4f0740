"""Protocols of an item bank, for lower-layer code that sends the bank's questions to models.

A session draws questions, and accepts the answers in any order. The session estimates the score
over the whole bank from the questions drawn before the first unanswered question. Using all
answers would overrepresent questions that are answered quickly.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from psychollm._base.record import plain_data
from psychollm._base.types import FloatArray


class ScoreEstimate(Protocol):
    """One model's score over the whole bank."""

    @property
    def value(self) -> FloatArray:
        """The score (1,)."""

    @property
    def interval(self) -> FloatArray:
        """Lower and upper bound of the score, an array of shape (1, 2)."""

    @property
    def level(self) -> float:
        """Coverage of the interval of the score."""

    @property
    def flags(self) -> tuple[str, ...]:
        """Flag of the score, such as the reason why it is undefined, as an array of shape (1,)."""

    @property
    def method(self) -> str:
        """Name of the method that computes the interval of the score."""


class Session(Protocol):
    """Session of an item bank; it draws questions one after another and records answers."""

    @property
    def done(self) -> bool:
        """Whether the session is finished."""

    @property
    def why(self) -> str:
        """Reason why the session is finished."""

    def next(self, k: int = 1) -> tuple[Any, ...]:
        """Draw up to `k` further questions."""

    def record(self, question: Any, answer: float) -> None:
        """Record the score of an answer, from 0 to 1, or NaN for a question without an answer."""

    def estimate(self) -> ScoreEstimate:
        """Return the score over the whole bank."""


class Bank(Protocol):
    """Item bank: a set of questions that other models have already answered."""

    @property
    def questions(self) -> Sequence[Any]:
        """Labels of the questions."""

    @property
    def digest(self) -> str:
        """Hash of the bank's contents."""

    def plan(self, half_width: float | None = None) -> Any:
        """Return a plan with the number of questions for a given margin of error (`needed`)."""

    def session(
        self, *, size: int | None = None, half_width: float | None = None, rng: Any = None
    ) -> Session:
        """Begin a session with a new model."""


def outcome(
    bank: Bank, session: Session, answers: Mapping[Any, float], why: str
) -> dict[str, Any]:
    """Return the results of a session as JSON-compatible data."""
    found = session.estimate()
    (low, high), answered = found.interval[0], np.isfinite([*answers.values()])
    told = {
        "score": found.value[0],
        "lower": low,
        "upper": high,
        "level": found.level,
        "asked": len(answers),
        "unanswered": int(np.sum(~answered)),
        "questions": len(bank.questions),
        "stopped": why,
        "flag": str(found.flags[0]),
        "method": found.method,
        "bank": bank.digest,
    }
    return {name: plain_data(one) for name, one in told.items()}
