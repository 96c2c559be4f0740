"""What one model did with every question, by rule and by judge."""

from collections.abc import Mapping, Sequence

import numpy as np

from psychollm._base.errors import LabelError
from psychollm._base.types import FloatArray
from psychollm.instruments.abstention.replies import Reply
from psychollm.instruments.abstention.result import AbstentionScores
from psychollm.instruments.in_order import in_order
from psychollm.instruments.prompt import Prompt
from psychollm.instruments.reading import Reading

_GRADES = {"correct": 1.0, "wrong": 0.0}


def score_readings(
    prompts: Sequence[Prompt], readings: Mapping[str, Reading] | Sequence[Reading | None]
) -> AbstentionScores:
    """Score the readings of one model.

    Parameters
    ----------
    prompts : sequence of Prompt
        What was asked, and what a judge was asked of it, if there was one.
    readings : mapping or sequence
        As in `Abstention.score`.

    Raises
    ------
    ShapeError
        If a sequence has another length.
    LabelError
        If a key belongs to no prompt, or a judge was asked of a prompt that is not there.

    Examples
    --------
    >>> score_readings([], {}).abstained
    array([], dtype=float64)
    """
    found = dict(zip((one.key for one in prompts), in_order(prompts, readings), strict=True))
    asked = [one for one in prompts if one.about["stage"] == "ask"]
    replies = [found[one.key] for one in asked]
    said = [Reply.of(str(one.value)) if one.answered else None for one in replies]
    judged = _judged(prompts, found, {one.key for one in asked})

    def verdicts(asks: str, view: str) -> FloatArray:
        return np.array([judged.get((one.key, asks, view), np.nan) for one in asked], dtype=float)

    return AbstentionScores(
        items=tuple(one.item for one in asked),
        scenarios=_of(asked, "scenario"),
        pairs=_of(asked, "pair"),
        datasets=_of(asked, "dataset"),
        runs=tuple(one.repeat + 1 for one in asked),
        outcomes=tuple(one.outcome for one in replies),
        should_abstain=np.array([float(one.about["should_abstain"]) for one in asked]),
        abstained=_flags([one and one.decision == "abstained" for one in said]),
        correct=np.array([_GRADES.get(one.decision, np.nan) if one else np.nan for one in said]),
        confident=_flags([one and one.manner == "confident" for one in said]),
        doubting=_flags([_doubting(one) for one in said]),
        abstained_judged=verdicts("abstains", "answer"),
        abstained_judged_whole=verdicts("abstains", "whole"),
        confident_judged=verdicts("confident", "answer"),
        confident_judged_whole=verdicts("confident", "whole"),
        doubting_judged=verdicts("uncertain", "trace"),
    )


def _judged(
    prompts: Sequence[Prompt], found: Mapping[str, Reading], asked: set[str]
) -> dict[tuple[str, str, str], float]:
    judged = {}
    for prompt in prompts:
        about = prompt.about
        if about["stage"] != "judge":
            continue
        if about["of"] not in asked:
            msg = f"prompt {prompt.key!r} judges {about['of']!r}, which is not there: pass both"
            raise LabelError(msg)
        value = found[prompt.key].value
        if value is not None:
            judged[about["of"], about["asks"], about["view"]] = float(value)
    return judged


def _of(asked: Sequence[Prompt], name: str) -> tuple[str, ...]:
    return tuple(str(one.about.get(name, "")) for one in asked)


def _doubting(said: Reply | None) -> bool | None:
    return None if said is None or said.trace == "untraced" else said.trace == "doubting"


def _flags(values: Sequence[bool | None]) -> FloatArray:
    return np.array([np.nan if one is None else float(one) for one in values], dtype=np.float64)
