"""Functions that read files of votes on pairs of models."""

import gzip
import json
import zlib
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psychollm._base.csv_text import delimiter_of
from psychollm._base.errors import InputError
from psychollm.data.engines import header_in
from psychollm.data.readers.csv_file import header_of, opened

if TYPE_CHECKING:
    import pandas as pd

_TABLES = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
_LINES = (".jsonl", ".jsonl.gz")


def is_path(votes: Any) -> bool:
    """Return whether votes are given as the path of a file."""
    return isinstance(votes, str | PathLike)


def header_of_rows(path: Path) -> list[str]:
    """Return the columns of a file that may have one row per vote or score; [] for other files."""
    name = path.name.lower()
    if not path.is_file():
        return []
    if name.endswith(_TABLES):
        return header_of(path)
    if name.endswith(_LINES):
        opener: Any = gzip.open if name.endswith(".gz") else open
        with opener(path, "rt", encoding="utf-8") as file:
            try:
                first = json.loads(file.readline(1 << 20))
            except (ValueError, OSError, EOFError, zlib.error):
                return []
        return list(first) if isinstance(first, dict) else []
    return header_in(path) or []


def read_votes(path: "str | PathLike[str]") -> "pd.DataFrame":
    """Read a table of votes from a CSV file, or from JSON or JSON lines.

    Raises
    ------
    InputError
        If the file does not exist, or has another format.
    """
    import pandas as pd

    path = Path(path)
    if not path.is_file():
        msg = f"{path}: no such file of votes"
        raise InputError(msg)
    name = path.name.lower()
    try:
        if name.endswith(_TABLES):
            with opened(path) as file:
                mark = delimiter_of(file.readline())
                file.seek(0)
                return pd.read_csv(file, sep=mark, decimal="." if mark == "," else ",")
        if name.endswith(_LINES):
            return pd.read_json(path, lines=True)
        if name.endswith(".json"):
            return pd.read_json(path)
    except (ValueError, OSError) as error:
        msg = f"{path} cannot be read as a table of votes: {error}"
        raise InputError(msg) from error
    msg = (
        f"{path} is not a CSV (or gzipped CSV), JSON, JSONL or Parquet file, nor a DuckDB "
        "database with one table: convert the votes to one of these"
    )
    raise InputError(msg)
