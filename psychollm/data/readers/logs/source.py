"""A file of unknown content: what it looks like, and its JSON, in bounded memory."""

import json
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeAlias

from psychollm._base.errors import InputError
from psychollm._base.optional import require
from psychollm.data.readers.logs.archive import Archive

Shape: TypeAlias = Literal["archive", "parquet", "document", "lines", "text"]

MAX_DOCUMENT = 1 << 30  # bytes of a JSON file, which is parsed in one piece
MAX_LINE = 1 << 28  # bytes of one line of a JSONL file
MAX_PARQUET = 1 << 33  # bytes that a Parquet file declares once unpacked
MAX_ROWS = 50_000_000  # rows that it declares: a hundred bytes may declare any number


class Source:
    r"""A file, looked into once.

    Parameters
    ----------
    path : Path
        A file that exists.

    Examples
    --------
    >>> path = getfixture("tmp_path") / "a.jsonl"
    >>> _ = path.write_text('{"a": 1}\n{"a": 2}\n')
    >>> Source(path).shape, [record for _, record in Source(path).lines()]
    ('lines', [{'a': 1}, {'a': 2}])
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def shape(self) -> Shape:
        """What kind of file this is, by its content."""
        with self.path.open("rb") as file:
            first = file.readline(MAX_LINE).removeprefix(b"\xef\xbb\xbf")
            while first and not first.strip():
                first = file.readline(MAX_LINE)
            rest = file.readline(MAX_LINE)
        if first.startswith(b"PK\x03\x04") or self.path.suffix == ".eval":
            return "archive"
        if first.startswith(b"PAR1"):
            return "parquet"
        if not first.lstrip().startswith((b"{", b"[")):
            return "text"
        alone = not rest.strip() and self.path.suffix != ".jsonl"
        return "document" if alone or not _is_object(first) else "lines"

    @cached_property
    def document(self) -> Any:
        """The content of a JSON file.

        Raises
        ------
        InputError
            If the file is no JSON, or too large to be parsed in one piece.
        """
        size = self.path.stat().st_size
        if size > MAX_DOCUMENT:
            msg = (
                f"{self.path} has {size:,} bytes of JSON in one piece, and {MAX_DOCUMENT:,} are "
                "the most: write the log as .eval or JSONL"
            )
            raise InputError(msg)
        return parse(self.path.read_bytes(), str(self.path))

    def lines(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the number and the object of each line of a JSONL file; empty ones are skipped.

        Raises
        ------
        InputError
            If a line is too long, or no JSON object: the file may have been cut off.
        """
        with self.path.open("rb") as file:
            number = 0
            while line := file.readline(MAX_LINE + 1):
                number += 1
                where = f"{self.path}, line {number}"
                if len(line) > MAX_LINE:
                    msg = f"{where} has more than {MAX_LINE:,} bytes"
                    raise InputError(msg)
                if line.strip():
                    yield number, _mapping(parse(line, where), where)

    @cached_property
    def first(self) -> dict[str, Any]:
        """The object of the first line of a JSONL file."""
        return next(self.lines())[1]

    def archive(self) -> Archive:
        """Open the file as an archive."""
        return Archive(self.path)

    def parquet(self) -> Any:
        """Open the file as Parquet.

        Raises
        ------
        MissingPackageError
            If pyarrow is not installed.
        InputError
            If it is damaged, or declares more than `MAX_PARQUET` bytes or `MAX_ROWS` rows.
        """
        arrow = require("pyarrow", extra="io", purpose="reading Parquet files")
        module = require("pyarrow.parquet", extra="io", purpose="reading Parquet files")
        try:
            file = module.ParquetFile(self.path)
        except (arrow.ArrowException, OSError) as error:
            msg = f"{self.path} is not a complete Parquet file: {error}"
            raise InputError(msg) from error
        if file.metadata.num_rows > MAX_ROWS:
            n = file.metadata.num_rows
            file.close()
            msg = (
                f"{self.path} declares {n:,} rows, and {MAX_ROWS:,} are the most: count a long "
                "table with psychollm.data.pair_counts_file.read_pair_counts"
            )
            raise InputError(msg)
        groups = (file.metadata.row_group(i) for i in range(file.metadata.num_row_groups))
        size = sum(group.total_byte_size for group in groups)
        if size > MAX_PARQUET:
            file.close()
            msg = f"{self.path} declares {size:,} bytes, and {MAX_PARQUET:,} are the most"
            raise InputError(msg)
        return file


def parse(data: bytes, where: str) -> Any:
    """Return what JSON holds.

    Raises
    ------
    InputError
        If it is no JSON in UTF-8; the place is named.

    Examples
    --------
    >>> parse(b'{"a": [1, NaN]}', "a.json")
    {'a': [1, nan]}
    """
    try:
        return json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        msg = f"{where} is not in UTF-8: {error}"
        raise InputError(msg) from error
    except (ValueError, RecursionError) as error:
        msg = f"{where} is not complete JSON ({error}): is it cut off?"
        raise InputError(msg) from error


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _mapping(found: Any, where: str) -> dict[str, Any]:
    if not isinstance(found, dict):
        msg = f"{where} holds no JSON object"
        raise InputError(msg)
    return found
