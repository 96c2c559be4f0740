"""Parquet files, wide or long, through pyarrow.

Files that nobody vouches for are opened within bounds: values that repeat take next to nothing in
a file, and few bytes may declare any number of them.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psychollm._base.checks import plain_array
from psychollm._base.errors import InputError
from psychollm._base.optional import require
from psychollm.data.labels import Table
from psychollm.data.long import Columns, Layout, is_long, long_columns, spread
from psychollm.data.readers.wide import wide_table

if TYPE_CHECKING:
    import pandas as pd


def read_parquet(path: Path, *, layout: Layout, columns: Columns) -> Table:
    """Read a Parquet file as a labelled table; only the columns needed are read."""
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
    """Return a table with the index that pandas noted beside it, which may be damaged."""
    try:
        frame: pd.DataFrame = table.to_pandas()
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        msg = f"{path} cannot be read as Parquet: {error}"
        raise InputError(msg) from error
    return frame


def _read_long(path: Path, file: Any, header: Sequence[str], columns: Columns) -> Table:
    found = long_columns(path, header, columns)
    frame = _frame(path, file.read(columns=found.names))
    frame = frame.reset_index()  # a column that pandas stored as its index
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


MAX_BYTES = 1 << 33  # that a file declares once unpacked
MAX_ROWS = 50_000_000
MAX_VALUES = 64  # per byte of the file; scores of right and wrong alone reach about 10
FREE = 1_000_000  # values that any file may hold


@contextmanager
def open_parquet(
    path: Path, *, dictionaries: Sequence[str] = (), bounded: bool = True
) -> Iterator[Any]:
    """Open a Parquet file; what is damaged in it is named, now or while it is read."""
    # Unbounded where a file is read batch by batch: then it may declare whatever it likes.
    arrow = require("pyarrow", extra="io", purpose="reading Parquet files")
    module = require("pyarrow.parquet", extra="io", purpose="reading Parquet files")
    try:
        with module.ParquetFile(path, read_dictionary=list(dictionaries) or None) as file:
            if bounded:
                _check(path, file)
            yield file
    except (arrow.ArrowException, OSError, UnicodeDecodeError) as error:
        msg = f"{path} cannot be read as Parquet: {error}"
        raise InputError(msg) from error


def _check(path: Path, file: Any) -> None:
    about = file.metadata
    if about.num_rows > MAX_ROWS:
        msg = (
            f"{path} declares {about.num_rows:,} rows, and {MAX_ROWS:,} are the most: count a "
            "long table with psychollm.data.pair_counts_blocks.read_pair_counts"
        )
        raise InputError(msg)
    size = path.stat().st_size
    # A row may hold any number of values in lists.
    groups = [about.row_group(i) for i in range(about.num_row_groups)]
    deep = [k for k in range(about.num_columns) if file.schema.column(k).max_repetition_level]
    n_nested = sum(group.column(k).num_values for group in groups for k in deep)
    n_values = max(about.num_rows * about.num_columns, n_nested)
    if n_values > max(FREE, MAX_VALUES * size):
        msg = (
            f"{path} is refused: it declares {n_values:,} values in {size:,} bytes, more than "
            "answers take; if it is right, write it as CSV"
        )
        raise InputError(msg)
    declared = sum(group.total_byte_size for group in groups)
    if declared > MAX_BYTES:
        msg = f"{path} declares {declared:,} bytes, and {MAX_BYTES:,} are the most"
        raise InputError(msg)
