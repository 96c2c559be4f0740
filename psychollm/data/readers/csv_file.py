"""Reader of wide or long CSV files, plain or gzipped, separated by commas, semicolons or tabs.

A wide file has a line per model, with the model's label and answers to all questions. The header
contains the labels of the questions. A long file has a line per answer.

This module parses text itself, because pandas renames repeated columns, treats a model named
"None" as missing, and completes truncated lines. Reading a million answers takes about a second;
for many more answers, use Parquet. With separators other than commas, numbers may have a decimal
comma.
"""

import csv
import gzip
import re
import zlib
from array import array
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np

from psychollm._base.csv_text import delimiter_of, encoding_of
from psychollm._base.errors import InputError, ShapeError
from psychollm._base.types import AnyArray, IntArray
from psychollm.data.labels import Table
from psychollm.data.long import (
    Columns,
    Layout,
    LongColumns,
    check_header,
    is_long,
    long_columns,
    spread,
)
from psychollm.data.missing_codes import Missing
from psychollm.data.readers.logs.archive import FREE, MAX_RATIO
from psychollm.data.readers.wide import wide_table

if TYPE_CHECKING:
    import pandas as pd

MAX_LINE = 1 << 28  # largest number of characters of one line
MISSING_WORDS = frozenset({"", "na", "n/a", "nan", "none", "null", "<na>"})
_TRUTH = {"true": 1.0, "false": 0.0}


def read_csv(path: Path, *, layout: Layout, columns: Columns) -> Table:
    """Read a CSV file as a labelled table."""
    header = header_of(path)
    if not header:
        msg = f"{path} is empty: it needs a header and a line per model (or per answer)"
        raise ShapeError(msg)
    check_header(path, header)
    if is_long(layout, header, columns):
        return _read_long(path, header, columns)
    return _read_wide(path, header, columns, layout)


@contextmanager
def opened(path: Path) -> Iterator[TextIO]:
    """Open a CSV file as text; decompress it if needed, and detect its encoding."""
    opener: Any = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rb") as raw:
            encoding = encoding_of(raw.read(2))
        with opener(path, "rt", encoding=encoding, newline="") as file:
            yield file
    except (UnicodeError, OSError, EOFError, zlib.error, csv.Error) as error:
        msg = f"{path} is not a CSV file in UTF-8 or UTF-16: {error}"
        raise InputError(msg) from error


def bounded_lines(file: TextIO, path: Path) -> Iterator[str]:
    """Yield lines of limited length, because a few compressed bytes may expand beyond memory."""
    packed = path.stat().st_size if path.suffix == ".gz" else None
    size = 0
    while line := file.readline(MAX_LINE):
        size += len(line)
        if len(line) == MAX_LINE:
            msg = f"{path} holds a line of more than {MAX_LINE:,} characters"
            raise InputError(msg)
        if packed is not None and size > FREE and size > MAX_RATIO * packed:
            msg = f"{path} is refused: more than {MAX_RATIO} characters per compressed byte"
            raise InputError(msg)
        yield line


def header_of(path: Path) -> list[str]:
    """Return the names of the columns."""
    return next(_rows_of(path), (0, []))[1]


def rows_of(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield line number and cells of each row after the header; empty lines are skipped."""
    rows = _rows_of(path)
    _, header = next(rows)
    for line, row in rows:
        if not row:
            continue
        if len(row) != len(header):
            msg = (
                f"{path}, line {line}: {len(row)} cells, but the header has {len(header)} columns"
            )
            raise ShapeError(msg)
        yield line, row


def _rows_of(path: Path) -> Iterator[tuple[int, list[str]]]:
    with opened(path) as file:
        lines = bounded_lines(file, path)
        first = next(lines, "")
        mark = delimiter_of(first)
        reader = csv.reader(chain([first], lines), delimiter=mark)
        for row in reader:
            yield reader.line_num, row if mark == "," else [_with_point(one, mark) for one in row]


_DECIMAL_COMMA = re.compile(r"\s*[+-]?\d*,\d+(e[+-]?\d+)?\s*", re.IGNORECASE)


_THOUSANDS = re.compile(r"\s*[+-]?[1-9]\d{0,2},\d{3}\s*")


def _with_point(cell: str, mark: str) -> str:
    """Replace the decimal comma of a number by a point; return any other cell unchanged."""
    if "," not in cell or not _DECIMAL_COMMA.fullmatch(cell):
        return cell
    # If semicolons separate columns, a comma is a decimal comma. If tabs separate columns, "1,234"
    # may also mean 1234, so it is returned unchanged and rejected later.
    return cell if mark == "\t" and _THOUSANDS.fullmatch(cell) else cell.replace(",", ".")


def _read_wide(path: Path, header: Sequence[str], columns: Columns, layout: Layout) -> Table:
    rows = list(rows_of(path))
    lines = [line for line, _ in rows]
    cells = np.empty((len(rows), len(header)), dtype=object)
    for place, (_, row) in enumerate(rows):
        cells[place] = row

    return wide_table(
        path,
        header,
        cells,
        columns,
        layout=layout,
        read=lambda texts: texts_read(texts, columns),
        name_row=lambda row: f"line {lines[row]}",
    )


def texts_read(texts: AnyArray, columns: Columns) -> AnyArray:
    """Return the values of text cells."""
    import pandas as pd

    at, distinct = pd.factorize(texts.ravel())
    return meanings(distinct, columns.words, columns.missing)[at].reshape(texts.shape)


def meanings(
    texts: Iterable[str], words: Container[Any] = (), missing: Missing | None = None
) -> AnyArray:
    """Convert texts to numbers, except the given `words` and texts that are not numbers."""
    # The remaining texts are converted to codes later, or raise an error that names their cell.
    gone = missing or Missing()
    found = [
        text if text in words else np.nan if gone.holds(text) else _meaning(text) for text in texts
    ]
    kind = object if any(isinstance(value, str) for value in found) else np.float64
    return np.array(found, dtype=kind)


def _meaning(word: str) -> float | str:
    """Return a cell as a number, NaN if it is missing, or unchanged if it is other text."""
    plain = word.strip().lower()
    if plain in MISSING_WORDS:
        return np.nan
    if plain in _TRUTH:
        return _TRUTH[plain]
    try:
        return float(plain) if plain.isascii() and "_" not in plain else word
    except ValueError:
        return word


def _read_long(path: Path, header: Sequence[str], columns: Columns) -> Table:
    found = long_columns(path, header, columns)
    frame, lines = _long_frame(path, header, found, columns)
    return spread(
        frame,
        model=found.model,
        question=found.question,
        value=found.value,
        duplicates=columns.duplicates,
        may_be_sparse=columns.may_be_sparse,
        name_row=lambda row: f"{path}, line {lines[row]}",
        name_cell=lambda row: f"{path}, line {lines[row]}, column {found.value!r}",
    )


def _long_frame(
    path: Path, header: Sequence[str], found: LongColumns, columns: Columns
) -> tuple["pd.DataFrame", "array[int]"]:
    """Return the required columns and the line number of each row; store distinct texts once."""
    import pandas as pd

    at = [header.index(name) for name in found.names]
    texts: list[dict[str, int]] = [{} for _ in at]
    codes = [array("q") for _ in at]
    lines = array("q")
    for line, row in rows_of(path):
        lines.append(line)
        for place, text, code in zip(at, texts, codes, strict=True):
            cell = row[place]
            code.append(text.setdefault(cell, len(text)))
    if not lines:
        msg = f"{path} holds a header but no answers"
        raise ShapeError(msg)
    frame = pd.DataFrame(
        {
            name: _labels(text, np.frombuffer(code, dtype=np.int64))
            for name, text, code in zip(found.names[:-1], texts, codes, strict=False)
        }
    )
    means = meanings(texts[-1], columns.words, columns.missing)
    frame[found.value] = means[np.frombuffer(codes[-1], dtype=np.int64)]
    return frame, lines


def _labels(texts: Iterable[str], codes: IntArray) -> "pd.Categorical[str]":
    """Return labels as categories; empty labels are missing."""
    import pandas as pd

    names = list(texts)
    blank = np.array([not name.strip() for name in names])
    place = np.asarray(np.where(blank[codes], -1, codes), dtype=np.int64)
    labels: pd.Categorical[str] = pd.Categorical.from_codes(place, categories=pd.Index(names))
    return labels
