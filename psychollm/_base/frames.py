"""Conversion of tables and columns of other libraries to pandas.

Polars, Arrow and all other libraries that narwhals supports can be converted. Each column is
converted as pandas converts the list of its values. Tables of other libraries have no row labels,
so their first column contains the labels.
"""

import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.errors import InputError, LabelError, ShapeError
from psychollm._base.optional import require

if TYPE_CHECKING:
    import pandas as pd
    import polars

# Names of columns and dimensions for models, questions or scores. Plurals, capital letters, and
# names followed by "id" or "name" are recognised, too.
MODELS = (
    "model", "respondent", "person", "subject", "participant", "llm", "system", "examinee",
    "student", "user", "agent",
)  # fmt: skip
QUESTIONS = ("question", "item", "prompt", "task", "problem", "qid")
IDS = ("sample_id", "doc_id", "instance_id", "example_id")  # names of question columns
SCORES = (
    "score", "value", "correct", "response", "resp", "correctness", "accuracy", "acc", "outcome",
    "result", "rating", "grade", "exact_match", "passed", "success",
)  # fmt: skip
# Names of score columns that are recognised only in tables without a name in SCORES.
RARER_SCORES = ("verdict", "judge_verdict", "human", "human_label", "solved")
# Names of columns of chosen options, in two tiers, and of right options.
CHOICES = (
    "choice", "chosen", "chosen_option", "chosen_answer", "option", "pick", "picked", "selected",
    "selected_option", "prediction", "predicted", "pred", "model_answer",
)  # fmt: skip
RARER_CHOICES = ("answer", "response")
KEYS = (
    "key", "answer_key", "correct_answer", "correct_option", "gold", "gold_answer", "target",
    "ground_truth", "reference_answer",
)  # fmt: skip
_ENDING = re.compile(r"[\W_]*(id|name|label)s?$")
_UNNAMED = re.compile(r"|unnamed: \d+|row\W?names?|index")
_NAMES_OF_ROWS = {*MODELS, *QUESTIONS, "run", "rater", "strength", "label"}
_NUMBERS = {"integer", "floating", "mixed-integer-float", "boolean", "decimal", "empty"}
_SHOWN = 12
# Attributes of tables and columns; narwhals is imported only for objects that have one of them.
_MARKS = ("columns", "__arrow_c_array__", "__arrow_c_stream__", "__narwhals_series__")


def is_called(name: Any, names: Sequence[str]) -> bool:
    """Return whether a column or dimension has one of the names, singular or plural.

    Examples
    --------
    >>> is_called("Model Name", MODELS), is_called("item_id", QUESTIONS), is_called("", MODELS)
    (True, True, False)
    """
    if not isinstance(name, str):
        return False
    text = re.sub(r"[\W_]+", "_", name.strip().lower())
    scores = names in (SCORES, RARER_SCORES)
    forms = {text, text.removeprefix("is_"), text if scores else _ENDING.sub("", text)}
    return not forms.isdisjoint({*names, *(f"{one}s" for one in names)})


def is_unnamed(name: Any) -> bool:
    """Return whether a column is named like a row counter or an unnamed index."""
    return isinstance(name, str) and _UNNAMED.fullmatch(name.strip().lower()) is not None


def in_pandas(data: Any) -> Any:
    """Convert a table or column of another library to pandas; return other objects unchanged."""
    if not any(hasattr(type(data), mark) for mark in _MARKS) or _is_pandas(data):
        return data
    import narwhals as nw
    import pandas as pd

    native = nw.from_native(_whole(data), pass_through=True, allow_series=True)
    if isinstance(native, nw.LazyFrame):
        native = native.collect()
    if isinstance(native, nw.Series):
        return pd.Series(_cells(native), name=native.name)
    if not isinstance(native, nw.DataFrame):
        return data
    columns = [pd.Series(_cells(native[name])) for name in native.columns]
    frame = pd.DataFrame(dict(enumerate(columns)), index=pd.RangeIndex(len(native)))
    return frame.set_axis(native.columns, axis=1)


def _is_pandas(data: Any) -> bool:
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(data, pandas.DataFrame | pandas.Series)


def _whole(data: Any) -> Any:
    """Return an Arrow array or record batch as a column or table of one chunk.

    Raises
    ------
    LabelError
        If several columns of an Arrow table have the same name.
    """
    if not type(data).__module__.startswith("pyarrow"):
        return data
    import pyarrow as pa

    if isinstance(data, pa.RecordBatch):
        data = pa.Table.from_batches([data])
    names = getattr(data, "column_names", ())
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        msg = f"column labels must be unique, but {twice!r} occurs more than once: rename it"
        raise LabelError(msg)
    return pa.chunked_array([data]) if isinstance(data, pa.Array) else data


def _cells(column: Any) -> Any:
    """Return the values of a narwhals column: numbers as an array, other values as a list."""
    if column.dtype.is_numeric() and not column.null_count():
        return column.to_numpy()
    return column.to_list()


def labelled(data: Any) -> Any:
    """Convert a table to pandas and label its rows; return other objects as `in_pandas` does.

    If rows have only default numbers, a first column of distinct numbers with a name such as
    "model" or "question" becomes the row labels. The first column also becomes the labels when it
    contains text and all other columns contain numbers.
    """
    data = in_pandas(data)
    if not _is_pandas(data) or data.ndim != 2 or data.shape[1] < 2 or data.empty:
        return data
    # pandas cannot look up labels that are long doubles.
    if np.longdouble in (data.index.dtype, data.columns.dtype):
        rows, columns = (
            axis.astype(float) if axis.dtype == np.longdouble else axis for axis in data.axes
        )
        data = data.set_axis(rows).set_axis(columns, axis=1)
    index, first = data.index, data.columns[0]
    if index.name is not None or index.dtype.kind not in "iu" or not data.columns.is_unique:
        return data
    column = data.iloc[:, 0]
    # Repeated numbers are answers to a question, not labels, regardless of the name of their
    # column.
    distinct = column.is_unique or column.dtype.kind not in "biuf"
    named = distinct and (is_called(first, tuple(_NAMES_OF_ROWS)) or is_unnamed(first))
    if named or (is_counted(index) and _text_before_numbers(data)):
        return data.set_index(first)
    return data


def is_counted(index: Any) -> bool:
    """Return whether a pandas index only numbers the rows from zero."""
    return hasattr(index, "start") and (index.start, index.step) == (0, 1)


def _text_before_numbers(frame: "pd.DataFrame") -> bool:
    """Return whether the first column is text, and all others are numeric or empty."""
    kinds = (_kind(frame.iloc[:, k]) for k in range(frame.shape[1]))
    return next(kinds) == "string" and _NUMBERS.issuperset(kinds)


def _kind(column: "pd.Series[Any]") -> str:
    """Return the kind of values in a column, inferred from the values if the dtype is object."""
    from pandas.api.types import infer_dtype

    if column.dtype.kind in "biuf":
        return "floating"
    return infer_dtype(column.astype(object), skipna=True)


def long_table(data: Any, columns: Sequence[str], *, argument: str, row: str) -> "pd.DataFrame":
    """Convert a table to pandas, and check that it has the given columns and at least one row.

    The argument `row` is the noun that error messages use for the unit of a row.
    """
    frame = in_pandas(data)
    if not _is_pandas(frame) or frame.ndim != 2:
        msg = f"{argument} is a {type(data).__name__}: pass a DataFrame with a row for each {row}"
        raise InputError(msg)
    present = list(frame.columns)
    for name in columns:
        if name not in present:
            listed = ", ".join(repr(one) for one in present[:_SHOWN])
            needed = ", ".join(map(str, columns))
            msg = (
                f"{argument} has no column {name!r}: its columns are {listed}; needed are {needed}"
            )
            raise LabelError(msg)
    if not len(frame):
        msg = f"{argument} is empty: it needs a row for each {row}"
        raise ShapeError(msg)
    table: pd.DataFrame = frame.apply(_plain, axis=0)
    return table


def _plain(column: "pd.Series[Any]") -> "pd.Series[Any]":
    """Return a nullable or categorical pandas column as a column of NumPy's types."""
    if isinstance(column.dtype, np.dtype):
        return column
    gaps = column.isna().any()
    if column.dtype.kind in ("iuf" if gaps else "biuf"):
        cells = column.to_numpy(np.float64, na_value=np.nan) if gaps else column.to_numpy()
        return type(column)(cells, index=column.index, name=column.name)
    return column.astype(object).where(column.notna(), None)


def in_polars(frame: "pd.DataFrame") -> "polars.DataFrame":
    """Convert a pandas table to polars; row labels become the first column."""
    pl = require("polars", extra="", purpose="to_polars()")
    if not is_counted(frame.index):
        frame = frame.reset_index(names=frame.index.name or "label")
    columns = {str(name): frame.iloc[:, k] for k, name in enumerate(frame.columns)}
    table: polars.DataFrame = pl.DataFrame(
        [pl.Series(name, _values(column), strict=False) for name, column in columns.items()]
    )
    return table


def _values(column: "pd.Series[Any]") -> Any:
    """Return the values of a pandas column: numbers as an array, other values as a list."""
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "biuf":
        return column.to_numpy()
    cells = column.astype(object).where(column.notna(), None).tolist()
    if any(isinstance(cell, str) for cell in cells):  # a single text turns all cells into texts
        return [None if cell is None else str(cell) for cell in cells]
    return cells
