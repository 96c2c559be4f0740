"""What a reply says: a coded answer, or the name of what went wrong. Nothing is guessed.

Scores of instruments share what stands here: a table with a row per reply, and what went wrong.
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
    """What became of one question put to one model.

    Only `ANSWERED` has a value. Everything else is missing in the table of responses, under its
    own name, and never "no".

    Examples
    --------
    >>> Outcome.REFUSED.value
    'refused'
    """

    ANSWERED = "answered"
    REFUSED = "refused"  # declines to answer at all
    AMBIGUOUS = "ambiguous"  # says two different things
    UNREADABLE = "unreadable"  # says nothing of what was asked for
    EMPTY = "empty"  # no text
    TRUNCATED = "truncated"  # ended by the limit on its length before an answer
    FAILED = "failed"  # no reply was received


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One reply, read.

    Examples
    --------
    >>> Reading(outcome=Outcome.ANSWERED, value=1, said="Yes").value
    1
    """

    outcome: Outcome
    value: float | str | None = None  # the coded answer where there is one
    said: str = ""  # the words that it was read from

    def __post_init__(self) -> None:
        if (self.value is None) == (self.outcome is Outcome.ANSWERED):
            msg = f"a reading has a value if and only if it is an answer: {self!r}"
            raise ValueError(msg)

    def __reduce__(self) -> tuple[Any, ...]:
        # Between processes half a million travel: a call is a third of what `dataclass` takes.
        return _reading, (self.outcome, self.value, self.said)

    @property
    def answered(self) -> bool:
        """Whether there is a value."""
        return self.outcome is Outcome.ANSWERED


def _reading(outcome: Outcome, value: float | str | None, said: str) -> Reading:
    return Reading(outcome=outcome, value=value, said=said)


# Of one model: by the key of the prompt, or one for each prompt; None is a failed call.
ReadingsLike: TypeAlias = Mapping[str, Reading | None] | Sequence[Reading | None]


_FAILED = Reading(outcome=Outcome.FAILED)


def aligned(prompts: Sequence[Prompt], readings: ReadingsLike) -> list[Reading]:
    """Return one reading per prompt, in their order; failed where there is none."""
    if not isinstance(readings, Mapping):
        if len(readings) != len(prompts):
            msg = (
                f"readings holds {len(readings)} readings for {len(prompts)} prompts: pass one "
                "for each, None for a failed call"
            )
            raise ShapeError(msg)
        return [_FAILED if reading is None else reading for reading in readings]
    unknown = sorted(set(readings) - {prompt.key for prompt in prompts})
    if unknown:
        msg = f"readings has keys of no prompt: {listed(unknown)}; use the instrument that asked"
        raise LabelError(msg)
    return [readings.get(prompt.key) or _FAILED for prompt in prompts]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scores(Result):
    """Scores of one model, in a table with a row per reply."""

    def to_frame(self, model: Any = "model") -> "pd.DataFrame":
        """Return the long table, a row per reply, that studies take.

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
    """Scores of questions that are put in several parts, each with an outcome of its own."""

    outcomes: Mapping[str, tuple[Outcome, ...]]  # by part

    def _axes(self) -> Axes:
        parts = [f"{name} outcome=outcomes.{name}" for name in self.outcomes]
        columns = self._AXES.columns if self._AXES else ()
        return Axes(None, *columns, *parts)

    def failures(self) -> dict[str, dict[str, int]]:
        """Return how many replies of each part could not be used, by kind of failure.

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
    """Return the mean of what is not missing, NaN if all is."""
    return float(np.nanmean(values)) if np.isfinite(values).any() else float("nan")
