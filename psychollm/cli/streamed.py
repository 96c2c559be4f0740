"""Streaming of long tables of any size, a few models at a time."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from psychollm._base.call import Call
from psychollm._base.errors import OptionError
from psychollm.cli.options import option

STREAMS = "long tables of any size"
LARGE = 10_000_000  # smallest number of rows of a Parquet file that is streamed
STREAMS_ARE = """
A long table may be larger than memory: a DuckDB database (the table with --table, or a selection
with --query), a folder of Parquet files, or a Parquet file. It is read once.
"""


@dataclass(frozen=True, kw_only=True)
class Choosing:
    """Options for reading a database."""

    table: str | None = option(
        "the table in a DuckDB database with several tables",
        "NAME",
        default=None,
        group=STREAMS,
    )
    query: str | None = option(
        "SQL query on a DuckDB database", "SQL", default=None, group=STREAMS
    )

    def chosen(self, columns: Mapping[str, str | None]) -> dict[str, Any]:
        """Return the arguments of a scan that are given on the command line."""
        named = {"table": self.table, "query": self.query, **columns}
        return {name: value for name, value in named.items() if value is not None}


def is_large(path: Path, *, long: bool) -> bool:
    """Return whether a file or folder is streamed.

    Databases are always streamed. Parquet files are streamed if options declare them `long`, if
    the path is a folder, or if the file is large.
    """
    from psychollm.data.engines import _is_database as is_database

    if is_database(path):
        return True
    if not long:
        return False
    if path.is_dir():
        return any(path.rglob("*.parquet"))
    return path.suffix == ".parquet" and path.is_file() and _rows(path) >= LARGE


def _rows(path: Path) -> int:
    from psychollm.data.parquet import open_parquet

    with open_parquet(path, bounded=False) as file:
        return int(file.metadata.num_rows)


def refuse(command: Any, names: Iterable[str], remedy: str) -> None:
    """Raise an error for options that do not apply to streamed tables."""
    defaults = {one.name: one.default for one in fields(command)}
    for name in names:
        if getattr(command, name) != defaults[name]:
            msg = f"--{name.replace('_', '-')} applies to tables in memory only: {remedy}"
            raise OptionError(msg)


def scan_of(command: Any, source: Path, *, value: str | None, threshold: Any = None) -> Call:
    """Return the Python call that scans one column of answers."""
    from psychollm.cli.notes import watched

    arguments = scan_arguments(command, value, threshold)
    aside = {"n_jobs": command.jobs, "progress": watched(quiet=command.quiet)}
    return Call("psy.data.scan", (source,), arguments, name="answers", aside=aside)


def scan_arguments(command: Any, value: str | None, threshold: Any = None) -> dict[str, Any]:
    """Return the arguments of `psychollm.data.scan` that are given on the command line."""
    columns = {"model": command.model_column, "question": one_column(command), "value": value}
    found: dict[str, Any] = command.chosen(columns)
    if threshold is not None:
        found["threshold"] = threshold
        if command.at_least:
            found["strict"] = False
    return found


def one_column(command: Any) -> str | None:
    """Return the column of question labels, or None if the user named none."""
    named: tuple[str, ...] = command.question_column
    if len(named) > 1:
        msg = "--question-column has several columns: combine them with --query"
        raise OptionError(msg)
    return named[0] if named else None
