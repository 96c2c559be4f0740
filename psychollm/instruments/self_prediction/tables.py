"""Scores of many models, as the tables that studies take."""

from collections.abc import Mapping
from typing import Literal, TypeAlias

import numpy as np

from psychollm._base.checks import check_choice
from psychollm._base.errors import InputError, OptionError
from psychollm._base.types import FloatArray
from psychollm.data.responses import Responses
from psychollm.instruments.self_prediction.result import SelfPredictionScores
from psychollm.instruments.self_prediction.scoring import means_by_item

Repeats: TypeAlias = Literal["error", "first", "majority"]
Stated: TypeAlias = Literal["percent", "verbal"]


def confidence_and_correctness(
    scores: Mapping[str, SelfPredictionScores], *, repeats: Repeats = "error"
) -> tuple[Responses, Responses]:
    """Return two tables, models x questions: who said yes, and who was right.

    Parameters
    ----------
    scores : mapping of str to SelfPredictionScores
        By model.
    repeats : {"error", "first", "majority"}
        What becomes of several repeats: an error, the first one, or what most say (missing where
        as many say yes as no).

    Returns
    -------
    confidence, correctness : Responses
        Binary tables with the same labels. A question that one model was not asked is missing.

    Raises
    ------
    InputError
        If there are no scores, or no predictions of yes and no.
    OptionError
        If there are repeats and nothing is said of them.

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
        msg = "scores hold no predictions of yes and no: ask with scales=('yes_no',)"
        raise InputError(msg)
    questions = _questions(scores)
    return tuple(  # type: ignore[return-value]
        Responses.from_array(
            [_row(one, getattr(one, name), questions, repeats) for one in scores.values()],
            models=list(scores),
            questions=questions,
        )
        for name in ("said", "correct")
    )


def stated_table(
    scores: Mapping[str, SelfPredictionScores], *, scale: Stated = "percent"
) -> FloatArray:
    """Return stated probabilities, models x questions; the mean over repeats, NaN where missing.

    Rows and columns are those of `confidence_and_correctness`.

    Parameters
    ----------
    scores : mapping of str to SelfPredictionScores
        By model.
    scale : {"percent", "verbal"}
        Which of the predictions.

    Raises
    ------
    InputError
        If there are no scores, or none on this scale.

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
        msg = f"scores hold no predictions as {scale}: ask with scales=({scale!r},)"
        raise InputError(msg)
    questions = _questions(scores)
    return np.array([_row(one, getattr(one, scale), questions, "mean") for one in scores.values()])


def _check(scores: Mapping[str, SelfPredictionScores], repeats: str) -> None:
    if not scores:
        msg = "scores: there are none; pass one per model"
        raise InputError(msg)
    for model, one in scores.items():
        if repeats == "error" and len(set(one.items)) < len(one.items):
            msg = f"model {model!r} has repeats: say repeats='first' or repeats='majority'"
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
