"""Function that opens Parquet files with pyarrow.

Untrusted files are opened with limits, because repeated values are compressed and a file of a few
bytes may declare any number of values.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from psychollm._base.errors import InputError
from psychollm._base.optional import require

MAX_BYTES = 1 << 33  # largest declared size after decompression
MAX_ROWS = 50_000_000
MAX_VALUES = 64  # largest number of values per byte of file; binary scores reach about 10
FREE = 1_000_000  # number of values allowed in a file of any size


@contextmanager
def open_parquet(
    path: Path, *, dictionaries: Sequence[str] = (), bounded: bool = True
) -> Iterator[Any]:
    """Open a Parquet file; errors due to damage, also during reading, name the file."""
    # No limits are needed for files that are read in batches.
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
            f"{path} declares {about.num_rows:,} rows, but at most {MAX_ROWS:,} are read: count a "
            "long table with psychollm.data.pair_counts_blocks.read_pair_counts"
        )
        raise InputError(msg)
    size = path.stat().st_size
    # Nested columns are counted separately, because a row may have any number of values.
    groups = [about.row_group(i) for i in range(about.num_row_groups)]
    deep = [k for k in range(about.num_columns) if file.schema.column(k).max_repetition_level]
    n_nested = sum(group.column(k).num_values for group in groups for k in deep)
    n_values = max(about.num_rows * about.num_columns, n_nested)
    if n_values > max(FREE, MAX_VALUES * size):
        msg = (
            f"{path} is refused: it declares {n_values:,} values in {size:,} bytes, more than "
            "is plausible; if it is right, write it as CSV"
        )
        raise InputError(msg)
    declared = sum(group.total_byte_size for group in groups)
    if declared > MAX_BYTES:
        msg = f"{path} declares {declared:,} bytes, but at most {MAX_BYTES:,} are read"
        raise InputError(msg)
