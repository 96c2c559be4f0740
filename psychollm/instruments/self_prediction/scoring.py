"""Readings of one model, as its predictions and grades."""

from collections.abc import Sequence

import numpy as np

from psychollm._base.types import FloatArray
from psychollm.instruments.aligned import aligned
from psychollm.instruments.prompt import Prompt
from psychollm.instruments.reading import Outcome, Reading, ReadingsLike
from psychollm.instruments.self_prediction.result import SelfPredictionScores

_SCALES = ("yes_no", "percent", "verbal")


def score_readings(prompts: Sequence[Prompt], readings: ReadingsLike) -> SelfPredictionScores:
    """Score the readings of one model: a row per question and repeat."""
    # A judge's verdict outweighs the grading. An answer that abstains is wrong, and counted as
    # abstained, too; what could not be read, or never arrived, is missing.
    found = list(zip(prompts, aligned(prompts, readings), strict=True))
    rows = {place: k for k, place in enumerate(dict.fromkeys((p.item, p.repeat) for p in prompts))}
    stated = {scale: np.full(len(rows), np.nan) for scale in _SCALES}
    outcomes = {scale: [Outcome.FAILED] * len(rows) for scale in (*_SCALES, "answer")}
    correct, abstained = np.full(len(rows), np.nan), np.zeros(len(rows), dtype=np.bool_)
    domains = [""] * len(rows)
    for prompt, reading in sorted(found, key=_judges_last):
        row = rows[prompt.item, prompt.repeat]
        domains[row] = str(prompt.about.get("domain", ""))
        if prompt.about["part"] == "predict":
            stated[prompt.about["scale"]][row] = _value(reading)
            outcomes[prompt.about["scale"]][row] = reading.outcome
        elif prompt.about["part"] == "answer":
            abstained[row] = reading.outcome is Outcome.REFUSED
            correct[row] = 0.0 if abstained[row] else _value(reading)
            outcomes["answer"][row] = reading.outcome
        elif reading.answered:
            correct[row] = _value(reading)
    asked = {prompt.about.get("scale") for prompt in prompts}
    return SelfPredictionScores(
        items=tuple(item for item, _ in rows),
        repeats=tuple(repeat for _, repeat in rows),
        domains=tuple(domains),
        said=stated["yes_no"],
        percent=stated["percent"],
        verbal=stated["verbal"],
        correct=correct,
        abstained=abstained,
        outcomes={
            name: tuple(each)
            for name, each in outcomes.items()
            if name in asked or name == "answer"
        },
    )


def _judges_last(pair: tuple[Prompt, Reading]) -> bool:
    return bool(pair[0].about["part"] == "judge")


def _value(reading: Reading) -> float:
    return float(reading.value) if reading.value is not None else float("nan")


def means_by_item(items: Sequence[str], values: FloatArray) -> dict[str, float]:
    """Return the mean over repeats of each item, NaN where all are missing."""
    kept: dict[str, list[float]] = {item: [] for item in items}
    for item, value in zip(items, values, strict=True):
        if np.isfinite(value):
            kept[item].append(float(value))
    return {item: float(np.mean(each)) if each else float("nan") for item, each in kept.items()}
