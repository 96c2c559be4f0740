"""What one model made of its own answers, question by question and chain by chain."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from psychollm.instruments.aligned import aligned
from psychollm.instruments.grading import final_text, normalise
from psychollm.instruments.prompt import Prompt
from psychollm.instruments.readers import read_number
from psychollm.instruments.reading import Reading, ReadingsLike
from psychollm.instruments.revision.result import RevisionScores


def score_readings(
    prompts: Sequence[Prompt],
    readings: ReadingsLike,
    *,
    tokens: Mapping[str, float] | None = None,
) -> RevisionScores:
    """Score the readings of one model; `tokens` of each reply are what voting costs."""
    found = aligned(prompts, readings)
    spent = tokens or {}
    return RevisionScores(
        items=tuple(one.item for one in prompts),
        domains=tuple(str(one.about.get("domain", "")) for one in prompts),
        chains=tuple(one.repeat + 1 for one in prompts),
        stages=tuple(str(one.about["stage"]) for one in prompts),
        rounds=tuple(int(one.about.get("round", 0)) for one in prompts),
        outcomes=tuple(one.outcome for one in found),
        responses=tuple(str(one.value) if one.answered else None for one in found),
        answers=tuple(map(_answer, prompts, found)),
        correct=np.array([_correct(one.value) for one in found], dtype=np.float64),
        faulted=np.array([_faulted(one.value) for one in found], dtype=np.float64),
        tokens=np.array([spent.get(one.key, np.nan) for one in prompts], dtype=np.float64),
    )


def answer_key(said: str) -> str:
    """Return an answer as it is compared with others: a number, or normalised words."""
    text = final_text(said)
    number = read_number(text)
    return f"{float(str(number.value)):g}" if number.answered else normalise(text)


def _answer(prompt: Prompt, reading: Reading) -> str | None:
    if prompt.about["stage"] == "critique" or not reading.answered:
        return None
    return answer_key(reading.said)


def _correct(value: Any) -> float:
    if value not in {"correct", "wrong", "adopted", "abstained"}:
        return np.nan
    return float(value == "correct")


def _faulted(value: Any) -> float:
    return float(value == "faulted") if value in {"faulted", "cleared"} else np.nan
