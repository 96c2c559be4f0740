"""Predictions and grades of one model, and tables of several models for the studies."""

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

import numpy as np

from psychollm._base.checks import check_choice
from psychollm._base.errors import InputError, OptionError
from psychollm._base.types import FloatArray
from psychollm._base.wording import parameter
from psychollm.data.responses import Responses
from psychollm.instruments.grading import grade_by
from psychollm.instruments.prompt import Prompt
from psychollm.instruments.readers.percent import read_percent
from psychollm.instruments.readers.verbal import read_verbal
from psychollm.instruments.readers.yes_no import CAN_ANSWER, CANNOT_ANSWER, read_yes_no
from psychollm.instruments.reading import Outcome, Reading, ReadingsLike, aligned
from psychollm.instruments.self_prediction.result import SelfPredictionScores

NAME = "self_prediction"


def read_reply(prompt: Prompt, reply: str, *, finish_reason: str | None = None) -> Reading:
    """Parse a reply to a prompt of this instrument."""
    # The value of a prediction is 1 or 0, or the reported probability. The value of an answer is 1
    # if right and 0 if wrong; an answer that abstains is `REFUSED`. A judge's verdict is 1 or 0.
    if prompt.about["part"] == "answer":
        return _graded(prompt, reply, finish_reason)
    if prompt.reply == "percent":
        return read_percent(reply, finish_reason=finish_reason)
    if prompt.reply == "verbal":
        return read_verbal(reply, finish_reason=finish_reason)
    if prompt.about["part"] == "judge":
        return read_yes_no(reply, finish_reason=finish_reason)
    return read_yes_no(reply, yes=CAN_ANSWER, no=CANNOT_ANSWER, finish_reason=finish_reason)


def _graded(prompt: Prompt, reply: str, finish_reason: str | None) -> Reading:
    graded = grade_by(prompt.about, reply, finish_reason=finish_reason)
    if graded.outcome is Outcome.ANSWERED:
        return Reading(
            outcome=graded.outcome, value=float(bool(graded.correct)), said=reply.strip()
        )
    if graded.abstained and graded.correct:  # abstaining is right for an unanswerable question
        return Reading(outcome=Outcome.ANSWERED, value=1.0, said=reply.strip())
    return Reading(outcome=graded.outcome, said=reply.strip())


_SCALES = ("yes_no", "percent", "verbal")


def score_readings(prompts: Sequence[Prompt], readings: ReadingsLike) -> SelfPredictionScores:
    """Score the parsed replies of one model: one row per question and repeat."""
    # A judge's verdict takes precedence over the grade. An answer that abstains is wrong and also
    # counted as abstained; an unreadable or absent answer is missing data.
    pairs = list(zip(prompts, aligned(prompts, readings), strict=True))
    rows = {cell: k for k, cell in enumerate(dict.fromkeys((p.item, p.repeat) for p in prompts))}
    stated = {scale: np.full(len(rows), np.nan) for scale in _SCALES}
    outcomes = {scale: [Outcome.FAILED] * len(rows) for scale in (*_SCALES, "answer")}
    correct, abstained = np.full(len(rows), np.nan), np.zeros(len(rows), dtype=np.bool_)
    domains = [""] * len(rows)
    for prompt, reading in sorted(pairs, key=lambda pair: pair[0].about["part"] == "judge"):
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


def _value(reading: Reading) -> float:
    return float(reading.value) if reading.value is not None else float("nan")


def means_by_item(items: Sequence[str], values: FloatArray) -> dict[str, float]:
    """Return the mean of each item over repeats; NaN if all repeats are missing."""
    kept: dict[str, list[float]] = {item: [] for item in items}
    for item, value in zip(items, values, strict=True):
        if np.isfinite(value):
            kept[item].append(float(value))
    return {item: _mean(each) for item, each in kept.items()}


def _mean(values: Sequence[float]) -> float:
    if len(values) == 1:  # usual case, a hundred times faster than with NumPy
        return values[0]
    return float(np.mean(values)) if values else float("nan")


Repeats: TypeAlias = Literal["error", "first", "majority"]
Stated: TypeAlias = Literal["percent", "verbal"]


def confidence_and_correctness(
    scores: Mapping[str, SelfPredictionScores], *, repeats: Repeats = "error"
) -> tuple[Responses, Responses]:
    """Return tables (models, questions) of yes-no predictions and of correctness.

    Parameters
    ----------
    scores : mapping of str to SelfPredictionScores
        Scores by model.
    repeats : {"error", "first", "majority"}
        Treatment of repeats: raise an error, use the first repeat, or use the majority (ties are
        missing).

    Returns
    -------
    confidence, correctness : Responses
        Binary tables with the same labels. A question that a model did not receive is missing.

    Raises
    ------
    InputError
        If there are no scores, or no yes-no predictions.
    OptionError
        If there are repeats and `repeats` is "error".

    Examples
    --------
    >>> from psychollm.instruments.self_prediction import SelfPrediction
    >>> asked = SelfPrediction(questions=[{"question": "What is 2 + 2?", "answer": "4"}])
    >>> predict, answer = asked.prompts()
    >>> scores = asked.score([asked.read(predict, "Yes"), asked.read(answer, "5")])
    >>> confidence, correctness = confidence_and_correctness({"a model": scores})
    >>> confidence.codes, correctness.codes
    (array([[1]], dtype=int16), array([[0]], dtype=int16))
    """
    check_choice("repeats", repeats, Repeats)
    _check(scores, repeats)
    if not any("yes_no" in one.outcomes for one in scores.values()):
        msg = "scores hold no yes-no predictions: collect them with scales=('yes_no',)"
        raise InputError(msg)
    questions = _questions(scores)
    answers = [_row(one, one.said, questions, repeats) for one in scores.values()]
    correct = [_row(one, one.correct, questions, repeats) for one in scores.values()]
    models = list(scores)
    return (
        Responses(answers, models=models, questions=questions),
        Responses(correct, models=models, questions=questions),
    )


def stated_table(
    scores: Mapping[str, SelfPredictionScores], *, scale: Stated = "percent"
) -> FloatArray:
    """Return mean reported probabilities (models, questions) over repeats; NaN if missing.

    The result has the same rows and columns as the tables of `confidence_and_correctness`.

    Parameters
    ----------
    scores : mapping of str to SelfPredictionScores
        Scores by model.
    scale : {"percent", "verbal"}
        Scale of the predictions.

    Raises
    ------
    InputError
        If there are no scores, or no predictions on this scale.

    Examples
    --------
    >>> from psychollm.instruments.self_prediction import SelfPrediction
    >>> asked = SelfPrediction(questions=[{"question": "What is 2 + 2?", "answer": "4"}],
    ...                        scales=("percent",))
    >>> scores = asked.score([asked.read(asked.prompts()[0], "80 %"), None])
    >>> stated_table({"a model": scores})
    array([[0.8]])
    """
    check_choice("scale", scale, Stated)
    _check(scores, "first")
    if not any(scale in one.outcomes for one in scores.values()):
        msg = f"scores hold no predictions as {scale}: collect them with scales=({scale!r},)"
        raise InputError(msg)
    questions = _questions(scores)
    return np.array([_row(one, getattr(one, scale), questions, "mean") for one in scores.values()])


def _check(scores: Mapping[str, SelfPredictionScores], repeats: str) -> None:
    if not scores:
        msg = "scores is empty: pass the scores of at least one model"
        raise InputError(msg)
    for model, one in scores.items():
        if repeats == "error" and len(set(one.items)) < len(one.items):
            first, majority = parameter("repeats", "first"), parameter("repeats", "majority")
            msg = f"model {model!r} has repeats: pass {first} or {majority}"
            raise OptionError(msg)


def _questions(scores: Mapping[str, SelfPredictionScores]) -> list[str]:
    return list(dict.fromkeys(item for one in scores.values() for item in one.items))


def _row(
    one: SelfPredictionScores, values: FloatArray, questions: list[str], repeats: str
) -> list[float]:
    first = min(one.repeats, default=0)
    kept = [
        k
        for k, repeat in enumerate(one.repeats)
        if repeats not in ("error", "first") or repeat == first
    ]
    means = means_by_item([one.items[k] for k in kept], values[kept])
    if repeats != "mean":
        means = {item: _majority(value) for item, value in means.items()}
    return [means.get(question, float("nan")) for question in questions]


def _majority(share: float) -> float:
    return float("nan") if np.isnan(share) or share == 0.5 else float(share > 0.5)
