"""Long tables (one row per answer) spread into models x questions."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from psychollm._base.checks import check_choice
from psychollm._base.errors import LabelError, ShapeError
from psychollm._base.types import AnyArray, BoolArray, IntArray
from psychollm.data.labels import as_labels
from psychollm.data.table import Table

if TYPE_CHECKING:
    import pandas as pd

FREE_CELLS = 50_000_000
Duplicates: TypeAlias = Literal["error", "first", "last"]


def spread(
    frame: "pd.DataFrame",
    *,
    model: str,
    question: str | Sequence[str],
    value: str,
    duplicates: Duplicates = "error",
    name_row: Callable[[int], str] | None = None,
    name_cell: Callable[[int], str] | None = None,
) -> Table:
    """Spread a long table into models x questions, in order of occurrence."""
    check_choice("duplicates", duplicates, Duplicates)
    name = name_row or (lambda row: f"row {row + 1}")
    parts = [question] if isinstance(question, str) else list(question)
    _check_columns(frame, [model, *parts, value])
    row, models = _factor(frame, [model], name)
    column, questions = _factor(frame, parts, name)
    cell = row * len(questions) + column

    def pair(first: int, second: int) -> str:
        cell = f"model {models[row[first]]!r}, question {questions[column[first]]!r}"
        return f"{name(first)} and {name(second)}: {cell}"

    check_cells(len(models), len(questions), len(frame))
    keep = _kept(cell, duplicates, pair)
    source = np.full(len(models) * len(questions), -1, dtype=np.int64)
    source[cell[keep]] = np.flatnonzero(keep)
    values = _values(frame[value], source).reshape(len(models), len(questions))
    return Table(
        values,
        as_labels("model", models, len(models)),
        as_labels("question", questions, len(questions)),
        None if name_cell is None else _origin(source.reshape(values.shape), name_cell),
    )


def check_cells(n_models: int, n_questions: int, n_answers: int) -> None:
    """Refuse a table that hardly holds an answer: its cells would take more than memory."""
    if n_models * n_questions > max(FREE_CELLS, 1000 * n_answers):
        msg = (
            f"{n_answers:,} answers of {n_models:,} models to {n_questions:,} questions: not one "
            "cell in a thousand has one; do the columns of models and questions hold what they "
            "should?"
        )
        raise ShapeError(msg)


def _origin(source: IntArray, name: Callable[[int], str]) -> Callable[[int, int], str]:
    return lambda row, column: name(int(source[row, column]))


def _check_columns(frame: "pd.DataFrame", wanted: Sequence[str]) -> None:
    present = list(frame.columns)
    for column in wanted:
        if column not in present:
            listed = ", ".join(repr(name) for name in present[:12])
            msg = f"the long table has no column {column!r}: its columns are {listed}"
            raise LabelError(msg)
    if not len(frame):
        msg = "the long table is empty: it needs a row for each answer"
        raise ShapeError(msg)


def _factor(
    frame: "pd.DataFrame", columns: Sequence[str], name: Callable[[int], str]
) -> tuple[IntArray, list[Any]]:
    """Return the code of each row and the labels, in order of first occurrence."""
    import pandas as pd

    codes, labels = _codes(frame[columns[0]], name)
    for column in columns[1:]:
        more, added = _codes(frame[column], name)
        codes, pairs = pd.factorize(codes * len(added) + more)
        labels = [f"{labels[pair // len(added)]}/{added[pair % len(added)]}" for pair in pairs]
    return codes, labels


def _codes(column: "pd.Series[Any]", name: Callable[[int], str]) -> tuple[IntArray, list[Any]]:
    import pandas as pd

    codes, labels = pd.factorize(column)
    absent = np.flatnonzero(codes < 0)
    if absent.size:
        msg = f"{name(int(absent[0]))} has no {column.name}: every answer needs one"
        raise LabelError(msg)
    return codes.astype(np.int64), labels.tolist()


def _kept(cell: IntArray, duplicates: Duplicates, pair: Callable[[int, int], str]) -> BoolArray:
    """Return which rows count; refuse or choose among rows for the same cell."""
    import pandas as pd

    index = pd.Index(cell)
    repeated = index.duplicated(keep="last" if duplicates == "last" else "first")
    if duplicates == "error" and repeated.any():
        second = int(np.flatnonzero(repeated)[0])
        first = int(np.flatnonzero(cell == cell[second])[0])
        msg = (
            f"{pair(first, second)} is answered twice: aggregate first, "
            'or pass duplicates="first" or "last"'
        )
        raise LabelError(msg)
    return np.asarray(~repeated, dtype=np.bool_)


def _values(column: "pd.Series[Any]", source: IntArray) -> AnyArray:
    """Take the value of each cell's row; NaN where there is none."""
    numeric = column.dtype.kind in "biuf"
    raw = column.to_numpy(np.float64, na_value=np.nan) if numeric else column.to_numpy(object)
    values = raw[source]
    values[source < 0] = np.nan
    return values
