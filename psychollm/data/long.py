"""Detection of the columns of long tables (one answer per row), and conversion to wide tables."""

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from psychollm._base.checks import check_choice, is_numeral
from psychollm._base.errors import InputError, LabelError, ShapeError
from psychollm._base.frames import (
    CHOICES,
    IDS,
    MODELS,
    QUESTIONS,
    RARER_CHOICES,
    RARER_SCORES,
    SCORES,
    in_pandas,
    is_called,
    is_unnamed,
    long_table,
)
from psychollm._base.types import AnyArray, BoolArray, IntArray
from psychollm._base.wording import parameter
from psychollm.data.cells import is_better_sparse
from psychollm.data.labels import Table, as_labels, listed
from psychollm.data.missing_codes import Missing
from psychollm.data.votes import OF_VOTES, are_votes

if TYPE_CHECKING:
    import pandas as pd

Layout: TypeAlias = Literal["auto", "wide", "long", "transposed"]
Duplicates: TypeAlias = Literal["error", "first", "last"]

FREE_CELLS = 50_000_000
_QUESTIONS = ("question", "item", "problem", "qid", *IDS)


@dataclass(frozen=True, slots=True)
class Columns:
    """The caller's specification of the columns of a file."""

    model: str | None = None
    question: str | Sequence[str] | None = None
    value: str | None = None
    duplicates: Duplicates = "error"
    words: Container[Any] = ()  # texts whose meaning the caller defines
    may_be_sparse: bool = False  # whether a large table may be returned as a SparseLong
    labels: bool = True  # whether a column of a wide table labels its rows
    missing: Missing = field(default_factory=Missing)


class SparseLong(Exception):  # noqa: N818 - not an error: it returns a large table to the caller
    """A long table (columns model, question and value) that should be kept sparse."""

    def __init__(self, frame: "pd.DataFrame") -> None:
        super().__init__("a large table with few answers")
        self.frame = frame


@dataclass(frozen=True, slots=True, kw_only=True)
class LongColumns:
    """The columns of a long file, as named by the caller or detected."""

    model: str
    question: tuple[str, ...]
    value: str

    @property
    def names(self) -> list[str]:
        """Names of all columns to read."""
        return [self.model, *self.question, self.value]


def is_long(layout: Layout, header: Sequence[str], columns: Columns) -> bool:
    """Return whether a file is long rather than wide."""
    # With layout "auto", a file is long if the caller names the question or the value, or if its
    # header has usual names of models and questions.
    if layout != "auto" or not columns.labels:
        return layout == "long"
    if columns.question is not None or columns.value is not None:
        return True
    if "model" in header and ("question" in header or "item" in header):
        return True
    return bool(_question_names(header) and _model_names(header) and _score_names(header))


def is_long_frame(data: Any) -> bool:
    """Return whether data are a pandas table whose columns indicate one row per answer."""
    tabular = hasattr(data, "iloc") and data.ndim == 2
    return tabular and is_long("auto", [*data.columns], Columns())


def pivot_of(data: Any) -> str:
    """Return advice for an error message if a wide table seems to have one row per answer."""
    # Such a table has numbered rows, one or more columns of labels that repeat, and numbers. The
    # rows of a frame may be a selection, so their numbers are not compared.
    kinds: dict[bool, list[Any]] = {True: [], False: []}
    table = data if isinstance(data, Table) else _unread(in_pandas(data))
    for name, cells in zip(table.questions, table.values.T, strict=True):
        texts = [isinstance(cell, str) and not is_numeral(cell) for cell in cells.tolist()]
        if all(texts) and len(set(cells.tolist())) < len(texts):
            kinds[True].append(name)
        elif not any(texts):
            kinds[False].append(name)
    labels, values = kinds[True], kinds[False]
    if table.models != tuple(range(len(table.models))) or not labels or not values:
        return ""
    index, column, *_ = (*labels, *values)
    return (
        f"if each row is one answer, pass table.pivot(index={index!r}, columns={column!r}, "
        f"values={values[-1]!r}) with the columns of models, questions and scores"
    )


def _unread(data: Any) -> Table:
    """Return the columns of a frame as a table with numbered rows; empty for other data."""
    if not (hasattr(data, "iloc") and data.ndim == 2):
        return Table(np.empty((0, 0)), (), ())
    return Table(data.to_numpy(dtype=object), tuple(range(len(data))), tuple(data.columns))


def _model_names(header: Sequence[Any]) -> list[Any]:
    """Return the columns that may label models; "id" only if there is a column of questions."""
    known = [name for name in header if is_called(name, MODELS)]
    exact = [name for name in known if str(name).lower() == "model"]
    return exact or known or (_ids(header) if _named_questions(header) else [])


def _question_names(header: Sequence[Any]) -> list[Any]:
    known = _named_questions(header)
    if known:
        return known
    if any(is_called(name, MODELS) for name in header):
        # In logs of agents, a task is a single question; elsewhere a task is usually a set of
        # questions.
        return _ids(header) or [name for name in header if is_called(name, ("task",))]
    # In the scores of one model, an id labels the question.
    return _ids(header) if _score_names(header) else []


def _named_questions(header: Sequence[Any]) -> list[Any]:
    known = [name for name in header if is_called(name, _QUESTIONS)]
    return known + [name for name in header if is_called(name, ("prompt_id",))]


def _ids(header: Sequence[Any]) -> list[Any]:
    return [name for name in header if str(name).lower() == "id"]


def _score_names(header: Sequence[Any]) -> list[Any]:
    """Return the column of scores with the most common name, or else all possible columns."""
    usual = [name for name in SCORES[:3] if name in header]
    known = usual[:1] or [name for name in header if is_called(name, SCORES)]
    return known or [name for name in header if is_called(name, RARER_SCORES)]


def known_columns(header: Sequence[Any]) -> dict[str, list[Any]]:
    """Return the columns whose names indicate that they may contain model, question and score."""
    return {
        "model": _model_names(header),
        "question": _question_names(header),
        "score": _score_names(header),
    }


def choice_columns(header: Sequence[Any]) -> list[Any]:
    """Return the columns whose names indicate that they may contain chosen options."""
    known = [name for name in header if is_called(name, CHOICES)]
    return known or [name for name in header if is_called(name, RARER_CHOICES)]


def label_column(header: Sequence[str], model: str | None) -> int:
    """Return the index of the column that labels the rows of a wide table."""
    named = [place for place, name in enumerate(header) if name.lower() == "model"]
    if model is not None:
        return header.index(model) if model in header else -1
    if len(named) == 1:
        return named[0]
    counted = len(header) > 2 and is_unnamed(header[0])
    return int(counted and is_called(header[1], (*MODELS, *QUESTIONS)))


def long_columns(place: Path | str, header: Sequence[str], columns: Columns) -> LongColumns:
    """Detect the columns that the caller did not name."""
    models = _model_names(header)
    if columns.model is None and len(models) > 1:
        remedy = f"pass {parameter('model')}"
        msg = f"{place}: which column labels the models, {_either(models)}? {remedy}"
        raise LabelError(msg)
    model = columns.model or (models[0] if models else "model")
    question = _question_columns(place, header, columns)
    rest = [name for name in header if name not in {model, *question}]
    scores = ["value"] if "value" in rest else _score_names(rest)
    if columns.value is None and len(rest) != 1 and len(scores) != 1:
        msg = (
            f"{place}: which column holds the answers? pass {parameter('value')}, one of "
            f"{', '.join(map(repr, (scores or rest)[:12]))}"
            if rest
            else f"{place}: no column is left for the answers besides {listed(header)}"
        )
        raise LabelError(msg)
    value = columns.value or (rest[0] if len(rest) == 1 else scores[0])
    found = LongColumns(model=model, question=question, value=value)
    at = f"{place}, line 1" if isinstance(place, Path) else place
    for name in found.names:
        if name not in header:
            msg = f"{at}: column {name!r} does not exist; the columns are {listed(header)}"
            raise LabelError(msg)
    return found


def _question_columns(
    place: Path | str, header: Sequence[str], columns: Columns
) -> tuple[str, ...]:
    if columns.question is None:
        known = [name for name in _question_names(header) if name != columns.model]
        if len(known) > 1:
            msg = (
                f"{place}: which column identifies the question, {_either(known)}? "
                f"the same text may belong to several questions: pass {parameter('question')}"
            )
            raise LabelError(msg)
        return (known[0] if known else "question",)
    return (columns.question,) if isinstance(columns.question, str) else tuple(columns.question)


def _either(names: Sequence[Any]) -> str:
    return " or ".join(map(repr, names))


def check_header(path: Path, header: Sequence[str]) -> None:
    """Raise an error if a column occurs twice, or if the separator of columns is wrong."""
    if are_votes(header):
        msg = f"{path}: {OF_VOTES}"
        raise InputError(msg)
    if len(header) == 1 and "|" in header[0]:
        msg = (
            f"{path}, line 1: only one column, {header[0]!r}: separate columns by commas, "
            "semicolons or tabs"
        )
        raise InputError(msg)
    seen: set[str] = set()
    for place, name in enumerate(header, start=1):
        if name in seen:
            msg = f"{path}, line 1: column {name!r} occurs twice (again as {place}): rename it"
            if all(map(is_numeral, header)):
                msg = f"{path}, line 1 holds numbers: insert a header line with column names"
            raise LabelError(msg)
        seen.add(name)


def spread(
    frame: "pd.DataFrame",
    *,
    model: str,
    question: str | Sequence[str],
    value: str,
    duplicates: Duplicates = "error",
    may_be_sparse: bool = False,
    name_row: Callable[[int], str] | None = None,
    name_cell: Callable[[int], str] | None = None,
) -> Table:
    """Convert a long table to models x questions, in order of occurrence."""
    check_choice("duplicates", duplicates, Duplicates)
    name = name_row or (lambda row: f"row {row + 1}")
    parts = [question] if isinstance(question, str) else list(question)
    frame = long_table(frame, [model, *parts, value], argument="the long table", row="answer")
    row, models = _factor(frame, [model], name)
    column, questions = _factor(frame, parts, name)
    cell = row * len(questions) + column

    def pair(first: int, second: int) -> str:
        cell = f"model {models[row[first]]!r}, question {questions[column[first]]!r}"
        return f"{name(first)} and {name(second)}: {cell}"

    check_cells(len(models), len(questions), len(frame))
    keep = _kept(cell, duplicates, pair)
    if may_be_sparse and is_better_sparse(len(models), len(questions), len(frame)):
        raise SparseLong(_numbered_frame((row, models), (column, questions), frame[value], keep))
    source = np.full(len(models) * len(questions), -1, dtype=np.int64)
    source[cell[keep]] = np.flatnonzero(keep)
    values = _values(frame[value], source).reshape(len(models), len(questions))
    return Table(
        values,
        as_labels("model", models, len(models)),
        as_labels("question", questions, len(questions)),
        None if name_cell is None else _origin(source.reshape(values.shape), name_cell),
    )


def spread_frame(data: Any, columns: Columns, *, argument: str) -> Table:
    """Convert a long DataFrame to models x questions, with columns named or detected."""
    frame = long_table(data, (), argument=argument, row="answer")
    if columns.value is None and argument in frame.columns:  # confidence and correctness
        columns = replace(columns, value=argument)
    found = long_columns(argument, list(frame.columns), columns)
    return spread(
        frame,
        model=found.model,
        question=found.question,
        value=found.value,
        duplicates=columns.duplicates,
    )


def check_cells(n_models: int, n_questions: int, n_answers: int) -> None:
    """Raise an error if a large table is almost empty, because its cells would exceed memory."""
    if n_models * n_questions > max(FREE_CELLS, 1000 * n_answers):
        msg = (
            f"{n_answers:,} answers of {n_models:,} models to {n_questions:,} questions: fewer "
            "than one cell in 1,000 has an answer; check the columns of models and questions; if "
            "they are right, use Responses.from_long(...), which stores only the answers"
        )
        raise ShapeError(msg)


def _numbered_frame(
    models: tuple[IntArray, list[Any]],
    questions: tuple[IntArray, list[Any]],
    values: "pd.Series[Any]",
    keep: BoolArray,
) -> "pd.DataFrame":
    """Return a long table whose labels are categories."""
    import pandas as pd

    labels = {
        name: pd.Categorical.from_codes(numbers, pd.Index(names, tupleize_cols=False))
        for name, (numbers, names) in (("model", models), ("question", questions))
    }
    # Rows that `keep` excludes are retained without an answer, so that the order of labels follows
    # from all rows.
    return pd.DataFrame({**labels, "value": values.reset_index(drop=True).where(keep)})


def _origin(source: IntArray, name: Callable[[int], str]) -> Callable[[int, int], str]:
    return lambda row, column: name(int(source[row, column]))


def _factor(
    frame: "pd.DataFrame", columns: Sequence[str], name: Callable[[int], str]
) -> tuple[IntArray, list[Any]]:
    """Return the code of each row's label, and the labels in order of first occurrence."""
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
    """Return a mask of rows that keeps one row per cell, or raise an error for repeated cells."""
    import pandas as pd

    index = pd.Index(cell)
    repeated = index.duplicated(keep="last" if duplicates == "last" else "first")
    if duplicates == "error" and repeated.any():
        second = int(np.flatnonzero(repeated)[0])
        first = int(np.flatnonzero(cell == cell[second])[0])
        msg = f"{pair(first, second)} is answered twice: aggregate first, or pass " + parameter(
            "duplicates", python='duplicates="first" or "last"', command="{} first or last"
        )
        raise LabelError(msg)
    return np.asarray(~repeated, dtype=np.bool_)


def _values(column: "pd.Series[Any]", source: IntArray) -> AnyArray:
    """Return each cell's value from its row of the long table; NaN for empty cells."""
    numeric = column.dtype.kind in "biuf"
    raw = column.to_numpy(np.float64, na_value=np.nan) if numeric else column.to_numpy(object)
    values = raw[source]
    values[source < 0] = np.nan
    return values
