"""What those who ask questions need of an item bank, which stands floors above them.

A session draws questions and takes their answers in any order; it estimates the score over the
whole bank from the longest beginning of the drawn order that is answered, so that questions which
are answered fast do not count before those drawn ahead of them.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from psychollm._base.record import plain_data
from psychollm._base.types import FloatArray


class ScoreEstimate(Protocol):
    """The score over the whole bank, of one model."""

    @property
    def value(self) -> FloatArray:
        """The score (1,)."""

    @property
    def interval(self) -> FloatArray:
        """Its lower and upper bound (1, 2)."""

    @property
    def level(self) -> float:
        """Coverage of the interval."""

    @property
    def flags(self) -> tuple[str, ...]:
        """What qualifies it (1,)."""

    @property
    def method(self) -> str:
        """What the interval is made by."""


class Session(Protocol):
    """Questions drawn one after another, and what became of them."""

    @property
    def done(self) -> bool:
        """Whether no further question is to be asked."""

    @property
    def why(self) -> str:
        """Why it is done."""

    def next(self, k: int = 1) -> tuple[Any, ...]:
        """Draw up to `k` further questions."""

    def record(self, question: Any, answer: float) -> None:
        """Take an answer from 0 to 1, or NaN for a question that has none."""

    def estimate(self) -> ScoreEstimate:
        """Return the score over the whole bank."""


class Bank(Protocol):
    """Questions whose answers by other models are known."""

    @property
    def questions(self) -> Sequence[Any]:
        """Their labels."""

    @property
    def digest(self) -> str:
        """A fingerprint of the bank."""

    def plan(self, half_width: float | None = None) -> Any:
        """Say how many questions a half-width takes (`needed`)."""

    def session(
        self, *, size: int | None = None, half_width: float | None = None, rng: Any = None
    ) -> Session:
        """Begin to ask a new model."""


def outcome(
    bank: Bank, session: Session, answers: Mapping[Any, float], why: str
) -> dict[str, Any]:
    """Return what a session found, as JSON can hold it."""
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
