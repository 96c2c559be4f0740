"""Files of unknown content, whose type and JSON are read in bounded memory."""

import gzip
import re
import zlib
from codecs import EncodedFile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeAlias

from psychollm._base.csv_text import encoding_of
from psychollm._base.errors import InputError
from psychollm._base.untrusted_json import parse_json
from psychollm.data.long import Layout
from psychollm.data.missing_codes import Missing
from psychollm.data.parquet import open_parquet
from psychollm.data.readers.logs.archive import FREE, MAX_RATIO, Archive

Shape: TypeAlias = Literal["archive", "parquet", "document", "lines", "text"]

MAX_DOCUMENT = 1 << 30  # largest size in bytes of a JSON file, which is parsed as a whole
MAX_LINE = 1 << 28  # largest size in bytes of one line of a JSONL file


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The caller's options for reading logs; most of them concern tables."""

    keep: Sequence[str] = ()  # columns, or fields of questions, to keep with the scores
    columns: Mapping[str, str] = field(default_factory=dict)
    layout: Layout = "auto"
    labels: bool = True
    missing: Missing = field(default_factory=Missing)
    score_map: Mapping[str, float] = field(default_factory=dict)  # numeric values of words
    named: bool = False  # whether the caller names the model of these files


class Source:
    """A file whose properties are computed once."""

    def __init__(self, path: Path, reading: Reading | None = None) -> None:
        self.path = path
        self.reading = reading or Reading()
        self.keep = self.reading.keep

    def about(self, found: Any) -> dict[str, str]:
        """Return the fields of a row or sample that the caller wants to keep."""
        if not self.keep or not isinstance(found, Mapping):
            return {}
        held = {name: found[name] for name in self.keep if name in found}
        return {
            name: str(value)
            for name, value in held.items()
            if isinstance(value, str | int | float) and str(value).strip() and value == value
        }

    @property
    def _zipped(self) -> bool:
        return self.path.name.lower().endswith(".jsonl.gz")

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        """Open the file as decompressed bytes; UTF-16 text is converted to UTF-8."""
        opener: Any = gzip.open if self._zipped else open
        with opener(self.path, "rb") as file:
            encoding = encoding_of(file.read(2))
            file.seek(0)
            yield file if encoding != "utf-16" else EncodedFile(file, "utf-8", encoding)

    @contextmanager
    def _unpacked(self) -> Iterator[None]:
        """If decompression fails, raise an error that names the file."""
        try:
            yield
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            msg = f"{self.path} is not a complete gzip file: {error}"
            raise InputError(msg) from error

    @cached_property
    def shape(self) -> Shape:
        """Type of the file, detected from its content."""
        with self._unpacked(), self._opened() as file:
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
        alone = not rest.strip() and self.path.suffix != ".jsonl" and not self._zipped
        return "document" if alone or not _is_object(first) else "lines"

    @cached_property
    def document(self) -> Any:
        """Content of a JSON file."""
        size = self.path.stat().st_size
        if size > MAX_DOCUMENT:
            msg = (
                f"{self.path} has {size:,} bytes of JSON in one piece, but at most "
                f"{MAX_DOCUMENT:,} are read: write the log as .eval or JSONL"
            )
            raise InputError(msg)
        return parse(self.path.read_bytes(), str(self.path))

    @property
    def object(self) -> dict[str, Any]:
        """Content of a JSON file that contains an object; empty for any other file."""
        whole = self.document if self.shape == "document" else None
        return whole if isinstance(whole, dict) else {}

    def lines(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the number and the object of each non-empty line of a JSONL file."""
        packed = self.path.stat().st_size if self._zipped else None
        with self._unpacked(), self._opened() as file:
            number = size = 0
            while line := file.readline(MAX_LINE + 1):
                number += 1
                size += len(line)
                where = f"{self.path}, line {number}"
                if packed is not None and size > FREE and size > MAX_RATIO * packed:
                    msg = f"{self.path} is refused: over {MAX_RATIO} bytes per compressed byte"
                    raise InputError(msg)
                if len(line) > MAX_LINE:
                    msg = f"{where} has more than {MAX_LINE:,} bytes"
                    raise InputError(msg)
                if line.strip():
                    yield number, _mapping(parse(line, where), where)

    @cached_property
    def first(self) -> dict[str, Any]:
        """Object in the first line of a JSONL file."""
        return next(self.lines())[1]

    def archive(self) -> Archive:
        """Open the file as an archive."""
        return Archive(self.path)

    def parquet(self, dictionaries: Sequence[str] = ()) -> AbstractContextManager[Any]:
        """Open the file as Parquet, as `open_parquet` does."""
        return open_parquet(self.path, dictionaries=dictionaries)


def parse(data: bytes, where: str) -> Any:
    """Return the parsed JSON; unpaired surrogates, which cannot be encoded, become U+FFFD."""
    try:
        if encoding_of(data[:2]) == "utf-16":
            data = data.decode("utf-16").encode()
        return parse_json(_whole_characters(data))
    except UnicodeDecodeError as error:
        msg = f"{where} is not in UTF-8: {error}"
        raise InputError(msg) from error
    except ValueError as error:
        msg = f"{where} is not complete JSON ({error}): is it cut off?"
        raise InputError(msg) from error


_HALF = re.compile(
    rb"(?i)\\(?:\\|u(d[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2})|(u(?:d[89a-f][0-9a-f]{2})))"
)


def _whole_characters(data: bytes) -> bytes:
    """Replace the escape sequences of unpaired surrogates."""
    if b"\\ud" not in data and b"\\uD" not in data:
        return data
    return _HALF.sub(lambda found: b"\\ufffd" if found[2] else found[0], data)


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(parse_json(line), dict)
    except ValueError:
        return False


def _mapping(found: Any, where: str) -> dict[str, Any]:
    if not isinstance(found, dict):
        msg = f"{where} does not hold a JSON object"
        raise InputError(msg)
    return found
