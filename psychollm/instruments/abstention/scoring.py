"""What one model did with every question, by rule and by judge."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from psychollm._base.types import FloatArray
from psychollm.instruments.abstention.replies import Reply
from psychollm.instruments.abstention.result import AbstentionScores
from psychollm.instruments.prompt import Prompt
from psychollm.instruments.reading import Outcome, Reading, ReadingsLike, aligned

Row = tuple[str, str]  # the model that replied, as far as a judge was told, and the prompt's key
FAILED = Reading(outcome=Outcome.FAILED)
_GRADES = {"correct": 1.0, "wrong": 0.0}


def score_readings(prompts: Sequence[Prompt], readings: ReadingsLike) -> AbstentionScores:
    """Score the readings of one model."""
    # The prompts of a judge may be among those asked, or alone; then nothing is known by rule.
    found = dict(zip((one.key for one in prompts), aligned(prompts, readings), strict=True))
    rows = _rows(prompts)
    about = [prompt.about for prompt in rows.values()]
    asked = [one.about["stage"] == "ask" for one in rows.values()]
    replies = [
        found[prompt.key] if own else FAILED
        for prompt, own in zip(rows.values(), asked, strict=True)
    ]
    said = [Reply.of(str(one.value)) if one.answered else None for one in replies]
    judged = _judged(prompts, found, rows)

    def verdicts(asks: str, view: str) -> FloatArray:
        return np.array([judged.get((*row, asks, view), np.nan) for row in rows], dtype=float)

    return AbstentionScores(
        models=tuple(str(one.get("model", "")) for one in about),
        items=tuple(one.item for one in rows.values()),
        scenarios=_of(about, "scenario"),
        pairs=_of(about, "pair"),
        datasets=_of(about, "dataset"),
        runs=tuple(one.repeat + 1 for one in rows.values()),
        outcomes=tuple(one.outcome for one in replies),
        should_abstain=np.array([float(one["should_abstain"]) for one in about], dtype=float),
        abstained=_flags([one and one.decision == "abstained" for one in said]),
        correct=np.array(
            [_GRADES.get(one.decision, np.nan) if one else np.nan for one in said], dtype=float
        ),
        confident=_flags([one and one.manner == "confident" for one in said]),
        doubting=_flags([_doubting(one) for one in said]),
        abstained_judged=verdicts("abstains", "answer"),
        abstained_judged_whole=verdicts("abstains", "whole"),
        confident_judged=verdicts("confident", "answer"),
        confident_judged_whole=verdicts("confident", "whole"),
        doubting_judged=verdicts("uncertain", "trace"),
    )


def _rows(prompts: Sequence[Prompt]) -> dict[Row, Prompt]:
    """Return one prompt per reply: the one that asked, or, without it, one that judges."""
    rows = {("", one.key): one for one in prompts if one.about["stage"] == "ask"}
    for prompt in prompts:
        if prompt.about["stage"] == "judge":
            row = _judged_row(prompt)
            if row not in rows and ("", row[1]) not in rows:
                rows[row] = prompt
    return rows


def _judged_row(prompt: Prompt) -> Row:
    """Return the model and the prompt whose reply is judged; of further samples, theirs."""
    _, mark, sample = prompt.key.rpartition("#")
    return str(prompt.about.get("model", "")), f"{prompt.about['of']}{mark}{sample * bool(mark)}"


def _judged(
    prompts: Sequence[Prompt], found: Mapping[str, Reading], rows: Mapping[Row, Prompt]
) -> dict[tuple[str, str, str, str], float]:
    judged = {}
    for prompt in prompts:
        about, value = prompt.about, found[prompt.key].value
        if about["stage"] == "judge" and value is not None:
            model, key = _judged_row(prompt)
            row = (model, key) if (model, key) in rows else ("", key)
            judged[(*row, about["asks"], about["view"])] = float(value)
    return judged


def _of(about: Sequence[Mapping[str, Any]], name: str) -> tuple[str, ...]:
    return tuple(str(one.get(name, "")) for one in about)


def _doubting(said: Reply | None) -> bool | None:
    return None if said is None or said.trace == "untraced" else said.trace == "doubting"


def _flags(values: Sequence[bool | None]) -> FloatArray:
    return np.array([np.nan if one is None else float(one) for one in values], dtype=np.float64)
