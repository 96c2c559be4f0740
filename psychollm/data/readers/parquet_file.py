"""Reader of wide or long Parquet files, based on pyarrow."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psychollm._base.checks import plain_array
from psychollm._base.errors import InputError
from psychollm.data.labels import Table
from psychollm.data.long import Columns, Layout, is_long, long_columns, spread
from psychollm.data.parquet import open_parquet
from psychollm.data.readers.wide import wide_table

if TYPE_CHECKING:
    import pandas as pd


def read_parquet(path: Path, *, layout: Layout, columns: Columns) -> Table:
    """Read the required columns of a Parquet file as a labelled table."""
    import pandas as pd

    with open_parquet(path) as file:
        header = list(file.schema_arrow.names)
        if is_long(layout, header, columns):
            return _read_long(path, file, header, columns)
        frame = _frame(path, file.read())
        frame = frame if isinstance(frame.index, pd.RangeIndex) else frame.reset_index()
        cells = frame.to_numpy(object)
        return wide_table(
            path,
            list(map(str, frame.columns)),
            cells,
            columns,
            layout=layout,
            read=lambda found: columns.missing.masked(plain_array(found, str(path))),
            name_row=lambda row: f"row {row + 1}",
        )


def _frame(path: Path, table: Any) -> "pd.DataFrame":
    """Convert an Arrow table to pandas; raise `InputError` if its stored index is damaged."""
    try:
        frame: pd.DataFrame = table.to_pandas()
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        msg = f"{path} cannot be read as Parquet: {error}"
        raise InputError(msg) from error
    return frame


def _read_long(path: Path, file: Any, header: Sequence[str], columns: Columns) -> Table:
    found = long_columns(path, header, columns)
    frame = _frame(path, file.read(columns=found.names))
    frame = frame.reset_index()  # restores a column that pandas stored as the index
    if columns.missing:
        frame[found.value] = columns.missing.masked(plain_array(frame[found.value], str(path)))
    return spread(
        frame,
        model=found.model,
        question=found.question,
        value=found.value,
        duplicates=columns.duplicates,
        may_be_sparse=columns.may_be_sparse,
        name_row=lambda row: f"{path}, row {row + 1}",
        name_cell=lambda row: f"{path}, row {row + 1}, column {found.value!r}",
    )
