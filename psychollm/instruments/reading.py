"""Parsed replies: a coded answer or a failure category, without guessing.

The score classes of all instruments inherit from classes of this module, which provide a table
with one row per reply and counts of failures.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.errors import LabelError, ShapeError
from psychollm._base.result import Result
from psychollm.data.labels import listed
from psychollm.instruments.prompt import Prompt

if TYPE_CHECKING:
    import pandas as pd


class Outcome(StrEnum):
    """Outcome of one question administered to one model.

    Only a reply with the outcome `ANSWERED` has a value. In the table of responses, every other
    outcome is missing data with its own code; it never counts as "no".

    Examples
    --------
    >>> Outcome.REFUSED.value
    'refused'
    """

    ANSWERED = "answered"
    REFUSED = "refused"  # declines to answer
    AMBIGUOUS = "ambiguous"  # gives two different answers
    UNREADABLE = "unreadable"  # contains no answer of the requested form
    EMPTY = "empty"  # no text
    TRUNCATED = "truncated"  # truncated by the length limit before an answer
    FAILED = "failed"  # no reply was received


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One parsed reply.

    Examples
    --------
    >>> Reading(outcome=Outcome.ANSWERED, value=1, said="Yes").value
    1
    """

    outcome: Outcome
    value: float | str | None = None  # coded answer, or None
    said: str = ""  # words from which the value was parsed

    def __post_init__(self) -> None:
        if (self.value is None) == (self.outcome is Outcome.ANSWERED):
            msg = f"a parsed reply has a value if and only if its outcome is 'answered': {self!r}"
            raise ValueError(msg)

    def __reduce__(self) -> tuple[Any, ...]:
        # Half a million parsed replies may be sent between processes. This method makes pickling
        # three times as fast.
        return _reading, (self.outcome, self.value, self.said)

    @property
    def answered(self) -> bool:
        """Whether the reply has a value."""
        return self.outcome is Outcome.ANSWERED


def _reading(outcome: Outcome, value: float | str | None, said: str) -> Reading:
    return Reading(outcome=outcome, value=value, said=said)


# Parsed replies of one model, either by prompt key or one per prompt; None means that no reply was
# received.
ReadingsLike: TypeAlias = Mapping[str, Reading | None] | Sequence[Reading | None]


_FAILED = Reading(outcome=Outcome.FAILED)


def aligned(prompts: Sequence[Prompt], readings: ReadingsLike) -> list[Reading]:
    """Return one parsed reply per prompt, in prompt order; missing replies are `FAILED`."""
    if not isinstance(readings, Mapping):
        if len(readings) != len(prompts):
            msg = (
                f"readings holds {len(readings)} parsed replies for {len(prompts)} prompts: pass "
                "one for each, None for a failed call"
            )
            raise ShapeError(msg)
        return [_FAILED if reading is None else reading for reading in readings]
    unknown = sorted(set(readings) - {prompt.key for prompt in prompts})
    if unknown:
        msg = (
            f"readings has keys of no prompt: {listed(unknown)}; use the instrument of the prompts"
        )
        raise LabelError(msg)
    return [readings.get(prompt.key) or _FAILED for prompt in prompts]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scores(Result):
    """Base class of a model's scores, which provides a table with one row per reply."""

    def to_frame(self, model: Any = "model") -> "pd.DataFrame":
        """Return a long table with one row per reply, in the format that the studies accept.

        Parameters
        ----------
        model : hashable
            Label of the model.
        """
        frame = Result.to_frame(self)
        frame.insert(0, "model", [model] * len(frame))
        return frame


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PartScores(Scores):
    """Scores of questions that have several parts, for example a prediction and an answer."""

    outcomes: Mapping[str, tuple[Outcome, ...]]  # outcome of each question, by part

    def _axes(self) -> Axes:
        parts = [f"{name} outcome=outcomes.{name}" for name in self.outcomes]
        columns = self._AXES.columns if self._AXES else ()
        return Axes(None, *columns, *parts)

    def failures(self) -> dict[str, dict[str, int]]:
        """Return the number of unusable replies of each part, by kind of failure.

        Examples
        --------
        >>> from psychollm.instruments.self_prediction import score_readings
        >>> score_readings([], []).failures()
        {'answer': {}}
        """
        return {
            name: dict(Counter(str(one) for one in each if one is not Outcome.ANSWERED))
            for name, each in self.outcomes.items()
        }


def mean_known(values: Any) -> float:
    """Return the mean of the non-missing values; NaN if all values are missing."""
    return float(np.nanmean(values)) if np.isfinite(values).any() else float("nan")
