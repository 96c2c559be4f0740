"""Parquet files, wide or long, through pyarrow."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psychollm._base.errors import InputError, LabelError
from psychollm.data.labels import as_labels
from psychollm.data.long import spread
from psychollm.data.readers.layout import Columns, Layout, is_long, long_columns
from psychollm.data.readers.parquet_open import open_parquet
from psychollm.data.table import Table, as_table

if TYPE_CHECKING:
    import pandas as pd


def read_parquet(path: Path, *, layout: Layout, columns: Columns) -> Table:
    """Read a Parquet file as a labelled table; only the columns needed are read."""
    with open_parquet(path) as file:
        header = list(file.schema_arrow.names)
        if is_long(layout, header, columns):
            return _read_long(path, file, header, columns)
        return _read_wide(path, _frame(path, file.read()), columns)


def _frame(path: Path, table: Any) -> "pd.DataFrame":
    """Return a table with the index that pandas noted beside it, which may be damaged."""
    try:
        frame: pd.DataFrame = table.to_pandas()
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        msg = f"{path} is not a Parquet file, or damaged: {error}"
        raise InputError(msg) from error
    return frame


def _read_long(path: Path, file: Any, header: Sequence[str], columns: Columns) -> Table:
    found = long_columns(path, header, columns)
    frame = _frame(path, file.read(columns=found.names))
    return spread(
        frame.reset_index(),  # a column that pandas stored as its index
        model=found.model,
        question=found.question,
        value=found.value,
        duplicates=columns.duplicates,
        name_row=lambda row: f"{path}, row {row + 1}",
        name_cell=lambda row: f"{path}, row {row + 1}, column {found.value!r}",
    )


def _read_wide(path: Path, frame: "pd.DataFrame", columns: Columns) -> Table:
    """Take the models' labels from the named column, the stored index, or the first column."""
    import pandas as pd

    stored = not isinstance(frame.index, pd.RangeIndex)
    if not stored or columns.model not in {None, frame.index.name}:
        model = columns.model if columns.model is not None else next(iter(frame.columns), "model")
        if model not in frame.columns:
            msg = f"{path}: there is no column {model!r} with the labels of the models"
            raise LabelError(msg)
        frame = frame.set_index(model)
    table = as_table(frame, argument=str(path))
    questions = as_labels("question", [str(name) for name in table.questions], len(frame.columns))
    return Table(
        table.values,
        table.models,
        questions,
        lambda row, column: f"{path}, row {row + 1}, column {questions[column]!r}",
    )
