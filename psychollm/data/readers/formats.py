"""Which reader reads which file."""

from collections.abc import Callable
from pathlib import Path

from psychollm._base.errors import InputError
from psychollm.data.readers.csv_file import read_csv
from psychollm.data.readers.parquet_file import read_parquet
from psychollm.data.table import Table

READERS: dict[str, Callable[..., Table]] = {
    ".csv": read_csv,
    ".csv.gz": read_csv,
    ".parquet": read_parquet,
}


def reader_of(path: Path) -> Callable[..., Table]:
    """Return the reader of a file that exists."""
    ending = next((end for end in READERS if path.name.lower().endswith(end)), None)
    if ending is None:
        msg = (
            f"{path}: only {', '.join(READERS)} are read; read it with pandas and pass the "
            "frame to Responses.from_frame or Responses.from_long"
        )
        raise InputError(msg)
    if not path.is_file():
        msg = f"{path}: there is no such file"
        raise InputError(msg)
    return READERS[ending]
