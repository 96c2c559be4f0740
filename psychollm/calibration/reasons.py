"""Why a number is undefined, or what must be said beside it."""

from collections.abc import Sequence
from enum import StrEnum

import numpy as np

from psychollm._base.types import BoolArray, FloatArray


class Reason(StrEnum):
    """Why a value is NaN, or what qualifies it; `NONE` where nothing is to be said.

    The names are codes that do not change; the values are the words for tables and reports.

    Examples
    --------
    >>> Reason.NO_YES.name, str(Reason.NO_YES), bool(Reason.NONE)
    ('NO_YES', 'never says yes', False)
    """

    NONE = ""
    NO_ANSWERS = "no question has both a confidence and a correctness"
    TOO_FEW = "too few observations"
    AT_BOUND = "the estimate lies at its bound"
    NO_YES = "never says yes"
    NO_NO = "always says yes"
    NO_CORRECT = "never correct"
    NO_WRONG = "never wrong"
    NO_YES_NO_CORRECT = "never says yes and is never correct"
    CONSTANT = "the predictor is constant"
    PERFECT = "the predictor separates correct from wrong without an error"
    SEPARATED = "the answer predicts correctness without exception in one cell: penalised estimate"
    NO_SHARED_SCORE = "no shared score for these questions"
    NOT_CONVERGED = "the iteration did not converge"


def first_reason(*cases: tuple[BoolArray, Reason]) -> tuple[Reason, ...]:
    """Return for each model the first reason whose condition holds.

    Parameters
    ----------
    *cases : tuple of (bool array (models,), Reason)
        In order of precedence.

    Examples
    --------
    >>> first_reason((np.array([True, False]), Reason.NO_YES))
    (<Reason.NO_YES: 'never says yes'>, <Reason.NONE: ''>)
    """
    conditions = np.array([condition for condition, _ in cases], dtype=np.bool_)
    names = [reason for _, reason in cases]
    found = np.where(conditions.any(axis=0), conditions.argmax(axis=0), len(names))
    return tuple([*names, Reason.NONE][place] for place in found)


def undefined(reasons: Sequence[Reason]) -> BoolArray:
    """Return which models have a reason.

    Examples
    --------
    >>> undefined([Reason.NONE, Reason.CONSTANT])
    array([False,  True])
    """
    return np.array([bool(reason) for reason in reasons], dtype=np.bool_)


def untestable(yes: FloatArray, correct: FloatArray) -> Reason:
    """Return why nothing can be said about one model's answers and its correctness.

    Parameters
    ----------
    yes, correct : ndarray (questions,)
        1 where it said yes, or was correct, on the questions where both are known.

    Examples
    --------
    >>> untestable(np.array([1.0, 1.0]), np.array([1.0, 0.0]))
    <Reason.NO_NO: 'always says yes'>
    """
    if not yes.size:
        return Reason.NO_ANSWERS
    cases = (
        (not yes.any(), Reason.NO_YES),
        (bool(yes.all()), Reason.NO_NO),
        (not correct.any(), Reason.NO_CORRECT),
        (bool(correct.all()), Reason.NO_WRONG),
    )
    return next((reason for holds, reason in cases if holds), Reason.NONE)
