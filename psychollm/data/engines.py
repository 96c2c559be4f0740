"""Long tables in Parquet, Arrow, pandas, polars, DuckDB and Dask, read in batches.

Every source is read as Arrow batches with three columns; one batch at a time is in memory. Parquet
files are divided into row groups, which several workers may read. Other sources are read
sequentially, and their own engines select the columns.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psychollm._base.errors import InputError, OptionError, PsychollmError
from psychollm._base.optional import require
from psychollm._base.replicate import check_jobs
from psychollm.data.batches import (
    BATCH,
    Coded,
    Selection,
    Source,
    check_columns,
    coded_batch,
    coded_files,
)
from psychollm.data.labels import listed
from psychollm.data.parquet import open_parquet

if TYPE_CHECKING:
    import pandas as pd

_DUCKDB = b"DUCK"  # bytes 8 to 11 of a database
_TEXTS = {"string", "large_string", "string_view"}


@dataclass(frozen=True, slots=True)
class Batches:
    """Batches of answers from a source."""

    total: int | None  # number of rows, if known
    stream: Generator[Coded]
    name: str


@dataclass(frozen=True, slots=True)
class Chosen:
    """The rows to read from a database: a table, or the result of a query."""

    table: str | None = None
    query: str | None = None

    def __post_init__(self) -> None:
        for name in ("table", "query"):
            given = getattr(self, name)
            if not isinstance(given, str | None):
                msg = f"{name}={given!r} must be text"
                raise OptionError(msg)
        if self.table is not None and self.query is not None:
            msg = f"table={self.table!r} and query= exclude each other: use the table in the query"
            raise OptionError(msg)

    def __bool__(self) -> bool:
        return self.table is not None or self.query is not None

    def relation(self, path: Path, connection: Any) -> Any:
        """Return a lazy relation of the chosen rows, by default of the only table."""
        if self.query is not None:
            rows = connection.sql(self.query)
            if rows is None:
                msg = f"query={self.query!r} selects no rows: SELECT them"
                raise OptionError(msg)
            return rows
        names = [row[0] for row in connection.sql("SHOW TABLES").fetchall()]
        if self.table is None and len(names) != 1:
            msg = f"{path}: which table holds the answers? pass table= or query="
            raise OptionError(f"{msg}; its tables are {listed(names)}" if names else msg)
        return connection.table(names[0] if self.table is None else self.table)


_ALL = Chosen()


def coded_batches(
    data: Any, source: Source, *, n_jobs: int | None = None, chosen: Chosen = _ALL
) -> Batches:
    """Return the batches of any source; `chosen` applies only to database files."""
    check_jobs(n_jobs)
    if _is_path(data):
        return _of_path(Path(data), source, n_jobs, chosen)
    if chosen:
        msg = "table= and query= are for database files: filter the source itself"
        raise OptionError(msg)
    if isinstance(data, list | tuple) and data and all(map(_is_path, data)):
        data = [Path(one) for one in data]
        if not any(path.is_dir() or _is_database(path) for path in data):
            return _of_files(data, source, n_jobs, listed([str(path) for path in data]))
    if _kind(data) is None and isinstance(data, Iterable) and not isinstance(data, Mapping):
        return Batches(None, _of_blocks(data, source, n_jobs), "these blocks")
    return _of_table(data, source, "the table")


def header_in(data: Any) -> list[str] | None:
    """Return the column names of a table that is read in batches; None for other data."""
    if _is_path(data):
        path = Path(data)
        if _is_database(path):
            duckdb = require("duckdb", extra="engines", purpose="reading a database of DuckDB")
            with duckdb.connect(str(path), read_only=True) as connection:
                tables = connection.sql("SHOW TABLES").fetchall()
                return list(connection.table(tables[0][0]).columns) if len(tables) == 1 else None
        if path.is_file() and path.name.lower().endswith(".parquet"):
            with open_parquet(path, bounded=False) as file:
                return list(file.schema_arrow.names)
        return None
    kind = _kind(data)
    if kind is _of_lazy:
        return list(data.collect_schema().names())
    if kind is _of_arrow:
        schema = data.schema if hasattr(data, "schema") else data.projected_schema
        return list(schema.names)
    return list(data.columns) if kind is _of_relation else None


def read_columns(data: Any, names: Sequence[str]) -> "pd.DataFrame":
    """Read columns batch by batch, and convert texts to categories.

    Only one batch of texts and one copy of each distinct text are in memory.

    Parameters
    ----------
    data : path or table
        A Parquet file, a DuckDB database with one table, or an Arrow, polars or DuckDB table.
    names : sequence of str
        Columns to read.

    Raises
    ------
    InputError
        If the source is damaged.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"model": ["a", "b", "a"], "text": ["long", "long", "long"]})
    >>> read_columns(table, ["model"])["model"].cat.codes.tolist()
    [0, 1, 0]
    """
    import pandas as pd

    arrow = require("pyarrow", extra="io", purpose="reading long tables batch by batch")
    source = Selection(tuple(names), BATCH)
    name = str(data) if _is_path(data) else f"the {type(data).__name__}"
    parts = []
    with closing(_read(_selected(data, source), name)) as batches:
        for batch in batches:
            part = arrow.Table.from_batches([batch]).select(list(names))
            for at, field in enumerate(part.schema):
                if str(field.type) in _TEXTS:
                    part = part.set_column(at, field.name, part.column(at).dictionary_encode())
            parts.append(part)
    if not parts:
        return pd.DataFrame(columns=list(names))
    whole: pd.DataFrame = arrow.concat_tables(parts).unify_dictionaries().to_pandas()
    return whole


def _selected(data: Any, source: Selection) -> Iterator[Any]:
    if not _is_path(data):
        yield from (_kind(data) or _of_stream)(data, source)
    elif _is_database(path := Path(data)):
        yield from _of_database(path, source, _ALL)
    else:
        with open_parquet(path, dictionaries=source.names) as file:
            yield from file.iter_batches(source.batch, columns=list(source.names))


def _is_path(data: Any) -> bool:
    return isinstance(data, str | PathLike)


def _of_path(path: Path, source: Source, n_jobs: int | None, chosen: Chosen) -> Batches:
    if _is_database(path):
        rows = _of_database(path, source, chosen)
        return Batches(None, _coded(rows, source, str(path)), str(path))
    if chosen:
        msg = f"{path} is not a DuckDB database file: table= and query= need one"
        raise OptionError(msg)
    if not path.is_dir():
        return _of_files([path], source, n_jobs, str(path))
    files = sorted(path.rglob("*.parquet"))
    if not files:
        msg = f"the folder {path} holds no *.parquet files"
        raise InputError(msg)
    return _of_files(files, source, n_jobs, f"the {len(files):,} files of {path}")


def _of_files(paths: list[Path], source: Source, n_jobs: int | None, name: str) -> Batches:
    total, stream = coded_files(paths, source, n_jobs)
    return Batches(total, stream, name)


def _of_blocks(blocks: Iterable[Any], source: Source, n_jobs: int | None) -> Generator[Coded]:
    """Yield the batches of successive blocks of a source."""
    for number, block in enumerate(_read(blocks, "these blocks"), start=1):
        if _is_path(block):
            yield from coded_batches(block, source, n_jobs=n_jobs).stream
        else:
            yield from _of_table(block, source, f"block {number}").stream


def _of_table(data: Any, source: Source, name: str) -> Batches:
    kind = _kind(data)
    if kind is None:
        msg = (
            f"{name} is a {type(data).__name__}: pass a Parquet file, a list or a folder of them, "
            "a DuckDB database file, a table of Arrow, pandas, polars, DuckDB or Dask with a "
            "row for each answer, or an iterable of such tables"
        )
        raise InputError(msg)
    total = len(data) if kind in (_of_pandas, _of_arrow) and hasattr(data, "__len__") else None
    return Batches(total, _coded(kind(data, source), source, name), name)


def _coded(batches: Iterator[Any], source: Source, name: str) -> Generator[Coded]:
    start = 1
    with closing(_read(batches, name)) as read:  # closes the database even after an error
        for whole in read:
            for at in range(0, whole.num_rows, source.batch):
                rows = whole.slice(at, source.batch)
                yield coded_batch(rows, source, name, start)
                start += rows.num_rows


def _read(source: Iterable[Any], name: str) -> Generator[Any]:
    """Yield the parts of a source; convert any error of its engine to an `InputError`."""
    try:
        yield from source
    except (PsychollmError, MemoryError):
        raise
    except Exception as error:  # engines have different types of errors
        msg = f"{name}: {str(error) or type(error).__name__}"
        raise InputError(msg) from error


Reader = Callable[[Any, Selection], Iterator[Any]]


def _kind(data: Any) -> Reader | None:
    """Return the reader for a known library's tables, without importing the library."""
    module, name = type(data).__module__.partition(".")[0], type(data).__name__
    if module == "pyarrow" and (hasattr(data, "schema") or hasattr(data, "projected_schema")):
        return _of_arrow
    if module == "pandas" and hasattr(data, "columns"):
        return _of_pandas
    if (
        module in {"dask", "dask_expr"}
        and hasattr(data, "partitions")
        and hasattr(data, "columns")
    ):
        return _of_dask
    if name == "LazyFrame" and module == "polars":
        return _of_lazy
    if name == "DuckDBPyRelation":
        return _of_relation
    return _of_stream if hasattr(data, "__arrow_c_stream__") else None


def _of_arrow(data: Any, source: Selection) -> Iterator[Any]:
    names = list(source.names)
    schema = data.schema if hasattr(data, "schema") else data.projected_schema
    check_columns(names, schema.names, f"the {type(data).__name__}")
    if hasattr(data, "read_next_batch"):
        yield from data
    elif hasattr(data, "scanner"):
        yield from data.scanner(columns=names, batch_size=source.batch).to_batches()
    elif hasattr(data, "to_batches"):
        yield from data.to_batches()
    else:
        yield data


def _of_pandas(data: Any, source: Selection) -> Iterator[Any]:
    arrow = require("pyarrow", extra="io", purpose="reading long tables batch by batch")
    names = list(source.names)
    check_columns(names, list(data.columns), "the DataFrame")
    columns = data[names]
    for at in range(0, len(columns), source.batch):
        part = columns.iloc[at : at + source.batch]
        try:
            yield from arrow.Table.from_pandas(part, preserve_index=False).to_batches()
        except arrow.ArrowException as error:
            msg = f"rows {at + 1:,} to {at + len(part):,} cannot be read as columns: {error}"
            raise InputError(msg) from error


def _of_dask(data: Any, source: Selection) -> Iterator[Any]:
    check_columns(source.names, list(data.columns), "the Dask dataframe")
    columns = data[list(source.names)]
    for k in range(data.npartitions):
        yield from _of_pandas(columns.partitions[k].compute(), source)


def _of_lazy(data: Any, source: Selection) -> Iterator[Any]:
    names = list(source.names)
    check_columns(names, data.collect_schema().names(), "the LazyFrame")
    chosen = data.select(names)
    if hasattr(chosen, "collect_batches"):
        for frame in chosen.collect_batches(chunk_size=source.batch, maintain_order=True):
            yield from _of_stream(frame, source)
    else:  # versions of polars before 1.34
        yield from _of_stream(chosen.collect(), source)


def _of_relation(data: Any, source: Selection) -> Iterator[Any]:
    require("pyarrow", extra="io", purpose="reading long tables batch by batch")
    check_columns(source.names, list(data.columns), "the relation")
    quoted = [name.replace('"', '""') for name in source.names]
    chosen = data.project(", ".join(f'"{name}"' for name in quoted))
    # hasattr() is not a valid test, because DuckDB 1.1 interprets an unknown attribute of a
    # relation as a column. dir() lists only real methods.
    later = "to_arrow_reader" in dir(chosen)
    yield from (chosen.to_arrow_reader if later else chosen.fetch_arrow_reader)(source.batch)


def _of_stream(data: Any, source: Selection) -> Iterator[Any]:
    arrow = require("pyarrow", extra="io", purpose="reading long tables batch by batch")
    reader = arrow.RecordBatchReader.from_stream(data)
    check_columns(source.names, reader.schema.names, f"the {type(data).__name__}")
    yield from reader


def _is_database(path: Path) -> bool:
    """Return whether the first bytes of a file identify a DuckDB database."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(12)[8:] == _DUCKDB


def _of_database(path: Path, source: Selection, chosen: Chosen) -> Iterator[Any]:
    duckdb = require("duckdb", extra="engines", purpose="reading a database file of DuckDB")
    with duckdb.connect(str(path), read_only=True) as connection:
        yield from _of_relation(chosen.relation(path, connection), source)
