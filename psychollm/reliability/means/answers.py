"""Scores as studies of them take them: logs, tables, or tables of several answers."""

from typing import Any

import numpy as np

from psychollm._base.errors import ShapeError
from psychollm._base.types import FloatArray
from psychollm.data.logs_result import ScoreLog
from psychollm.reliability.means.repeated_scores import RepeatedScores, repeated_scores


def answers_of(scores: Any) -> RepeatedScores:
    """Return whatever holds scores as models x questions x repeats."""
    if isinstance(scores, ScoreLog):
        return RepeatedScores.from_long(scores.frame, run="repeat")
    return repeated_scores(scores)


def means_of(answers: RepeatedScores) -> FloatArray:
    """Return the mean over repeats of each model and question, NaN where there is no score."""
    with np.errstate(invalid="ignore"):
        values = np.nansum(answers.values, axis=2) / answers.present.sum(axis=2)
    if not np.isfinite(values).any():
        msg = "scores holds no answer with a score: every value is missing"
        raise ShapeError(msg)
    return np.asarray(values, dtype=np.float64)
