"""Align answers, minutes, families and dates."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from psychollm._base.checks import shown
from psychollm._base.errors import CodeError, ShapeError
from psychollm._base.frames import in_pandas
from psychollm._base.types import FloatArray, IntArray
from psychollm.data.dates import check_all_named, picked
from psychollm.data.labels import Labels, numbered, unit_labels
from psychollm.data.logs_result import ScoreLog, Unit, values_by
from psychollm.data.long import Columns, is_long_frame, long_columns
from psychollm.reliability.means.repeated_scores import answers_of, means_of


@dataclass(frozen=True, slots=True)
class Given:
    """Answers of models to tasks of known length."""

    solved: FloatArray  # (models, tasks) NaN if not attempted
    minutes: FloatArray  # (tasks,)
    families: IntArray | None  # (tasks,)
    models: Labels
    tasks: Labels
    left_out: Labels  # tasks without minutes


def given(solved: Any, minutes: Any, families: Any) -> Given:
    """Return the inputs, checked and aligned."""
    answers = answers_of(solved, "solved")
    values = means_of(answers, "solved")
    with np.errstate(invalid="ignore"):
        wrong = np.argwhere((values < 0.0) | (values > 1.0))
    if wrong.size:
        row, column = wrong[0]
        msg = (
            f"solved: model {answers.models[row]!r}, task {answers.questions[column]!r} has "
            f"{values[row, column]:g}: pass 1, 0, or the proportion of successful attempts"
        )
        raise CodeError(msg)
    minutes = column_of(solved, minutes, "minutes")
    families = column_of(solved, families, "families")
    long = numbers_of(minutes, answers.questions, argument="minutes", kind="task")
    refuse = np.flatnonzero(long <= 0.0)
    if refuse.size:
        task = answers.questions[int(refuse[0])]
        msg = (
            f"minutes: task {task!r} takes {long[refuse[0]]:g}: lengths must be positive; pass "
            "NaN if unknown"
        )
        raise CodeError(msg)
    codes = None
    if families is not None:
        named = picked(families, answers.questions)
        labels = unit_labels(named, answers.questions, argument="families", kind="task")
        codes = numbered(labels)[0]
    known = np.isfinite(long) & np.isfinite(values).any(axis=0)
    if np.unique(long[known]).size < 2:
        msg = (
            "minutes: the attempted tasks have fewer than two different lengths, but a horizon "
            "needs short and long tasks"
        )
        raise ShapeError(msg)
    if codes is not None:
        codes = np.unique(codes[known], return_inverse=True)[1].astype(np.int64)
        if codes.max() + 1 == codes.size:  # each task is its own family
            codes = None
    place = np.flatnonzero(known)
    return Given(
        solved=values[:, known],
        minutes=long[known],
        families=codes,
        models=answers.models,
        tasks=tuple(answers.questions[one] for one in place),
        left_out=tuple(
            answers.questions[one] for one in np.flatnonzero(~np.isfinite(long)).tolist()
        ),
    )


def column_of(solved: Any, value: Any, argument: str, *, of: Unit = "question") -> Any:
    """Return the column of a long table or log with a given name; return other values as is."""
    if not isinstance(value, str):
        return value
    if isinstance(solved, ScoreLog):
        return solved.labels(value, of=of)
    frame = in_pandas(solved)
    if not is_long_frame(frame):
        msg = (
            f"{argument}={value!r} names a column, but solved has no row per answer: pass one "
            f"value for each {of}"
        )
        raise ShapeError(msg)
    found = long_columns("solved", [*frame.columns], Columns())
    return values_by(frame, found.model if of == "model" else found.question[0], value)


def numbers_of(values: Any, units: Labels, *, argument: str, kind: str) -> FloatArray:
    """Return one number per unit, NaN if missing; numbers may be text."""
    values = picked(values, units)
    check_all_named(values, units, argument=argument, kind=kind)
    cells = unit_labels(values, units, argument=argument, kind=kind, optional=True)
    out = np.full(len(cells), np.nan)
    for place, cell in enumerate(cells):
        try:
            out[place] = np.nan if cell is None else float(cell)
        except (TypeError, ValueError) as error:
            msg = f"{argument}: {kind} {units[place]!r} has {shown(cell)}, which is not a number"
            raise CodeError(msg) from error
    if np.isinf(out).any():
        unit = units[int(np.isinf(out).argmax())]
        msg = f"{argument}: {kind} {unit!r} is infinite: pass NaN if it is unknown"
        raise CodeError(msg)
    return out
