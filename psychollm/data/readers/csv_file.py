"""CSV files, plain or gzipped, wide or long.

A wide file has a line per model: its label, then an answer to each question; its header holds the
labels of the questions. A long file has a line per answer.

Text is converted here and not by pandas, which renames repeated columns, takes a model named
"None" for missing and completes lines that were cut off. A million answers take about a second;
for many more, write Parquet.
"""

import csv
import gzip
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from operator import itemgetter
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from psychollm._base.errors import InputError, LabelError, ShapeError
from psychollm._base.types import AnyArray
from psychollm.data.labels import as_labels
from psychollm.data.long import spread
from psychollm.data.readers.layout import (
    Columns,
    Layout,
    check_header,
    is_long,
    long_columns,
)
from psychollm.data.table import Table

MISSING_WORDS = frozenset({"", "na", "n/a", "nan", "none", "null", "<na>"})
_TRUTH = {"true": 1.0, "false": 0.0}


def read_csv(path: Path, *, layout: Layout, columns: Columns) -> Table:
    """Read a CSV file as a labelled table.

    Parameters
    ----------
    path : Path
        A file named ``.csv`` or ``.csv.gz``, in UTF-8.
    layout : {"auto", "wide", "long"}
        Arrangement of the file.
    columns : Columns
        What the caller said about its columns.

    Raises
    ------
    InputError
        If the file cannot be read as text, or a line has too few or too many cells.
    LabelError
        If a column or a label is missing or repeated.

    Examples
    --------
    >>> import pandas as pd
    >>> path = getfixture("tmp_path") / "a.csv"
    >>> pd.DataFrame({"model": ["m"], "q1": [1], "q2": [None]}).to_csv(path, index=False)
    >>> read_csv(path, layout="auto", columns=Columns()).values
    array([[ 1., nan]])
    """
    try:
        with _opened(path) as file:
            header = _header(path, file)
        if is_long(layout, header, columns):
            return _read_long(path, header, columns)
        return _read_wide(path, header, columns)
    except (UnicodeDecodeError, gzip.BadGzipFile, EOFError, csv.Error) as error:
        msg = f"{path} is not a CSV file in UTF-8: {error}"
        raise InputError(msg) from error


@contextmanager
def _opened(path: Path) -> Iterator[TextIO]:
    if path.suffix == ".gz":
        with gzip.open(path, "rt", encoding="utf-8-sig", newline="") as file:
            yield file
    else:
        with path.open(encoding="utf-8-sig", newline="") as file:
            yield file


def _header(path: Path, file: TextIO) -> list[str]:
    header = next(csv.reader(file), [])
    if not header:
        msg = f"{path} is empty: it needs a header and a line per model (or per answer)"
        raise ShapeError(msg)
    check_header(path, header)
    return header


def _rows(path: Path, header: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield the line and the cells of each row after the header; empty lines are skipped."""
    with _opened(path) as file:
        reader = csv.reader(file)
        next(reader)
        for row in reader:
            if not row:
                continue
            if len(row) != len(header):
                msg = (
                    f"{path}, line {reader.line_num}: {len(row)} cells, but the header has "
                    f"{len(header)} columns"
                )
                raise ShapeError(msg)
            yield reader.line_num, row


# Wide


def _read_wide(path: Path, header: Sequence[str], columns: Columns) -> Table:
    model = columns.model if columns.model is not None else header[0]
    if model not in header:
        msg = f"{path}, line 1: there is no column {model!r} with the labels of the models"
        raise LabelError(msg)
    at = header.index(model)
    labels, cells, lines = _wide_cells(path, header, at)
    questions = [*header[:at], *header[at + 1 :]]
    if not cells or not questions:
        msg = (
            f"{path} holds {len(cells)} models and {len(questions)} questions: at least one "
            "of each is needed (a wide file has a line per model, its label in the first column)"
        )
        raise ShapeError(msg)
    text = np.array(cells, dtype=object)
    return Table(
        parsed(text, columns.words),
        as_labels("model", labels, len(labels)),
        as_labels("question", questions, len(questions)),
        lambda row, column: f"{path}, line {lines[row]}, column {questions[column]!r}",
    )


def _wide_cells(
    path: Path, header: Sequence[str], at: int
) -> tuple[list[str], list[list[str]], list[int]]:
    """Return the models' labels, their cells, and the lines they stand in."""
    labels: list[str] = []
    cells: list[list[str]] = []
    lines: list[int] = []
    place: dict[str, int] = {}
    for line, row in _rows(path, header):
        label = row.pop(at)
        if not label.strip():
            msg = f"{path}, line {line}, column {header[at]!r}: no model is named"
            raise LabelError(msg)
        if label in place:
            first = lines[place[label]]
            msg = f"{path}, line {line}: model {label!r} stands in line {first} already: rename it"
            raise LabelError(msg)
        place[label] = len(labels)
        labels.append(label)
        cells.append(row)
        lines.append(line)
    return labels, cells, lines


def parsed(text: AnyArray, words: frozenset[Any] = frozenset()) -> AnyArray:
    """Turn cells of text into floats; keep text that has no number, and the given `words`.

    What is kept goes on to the step that codes answers: it knows what words mean, or names the
    first cell at fault.

    Examples
    --------
    >>> parsed(np.array([["1", "NA"]], dtype=object))
    array([[ 1., nan]])
    >>> parsed(np.array([["yes", ""]], dtype=object))
    array([['yes', nan]], dtype=object)
    """
    import pandas as pd

    place, distinct = pd.factorize(text.ravel())
    meanings = np.empty(len(distinct), dtype=object)
    meanings[:] = [word if word in words else _meaning(word) for word in distinct]
    if not any(isinstance(meaning, str) for meaning in meanings):
        meanings = meanings.astype(np.float64)
    return np.asarray(meanings[place].reshape(text.shape))


def _meaning(word: str) -> float | str:
    """Return the number that a cell holds, NaN if it is missing, the text itself otherwise."""
    plain = word.strip().lower()
    if plain in MISSING_WORDS:
        return np.nan
    if plain in _TRUTH:
        return _TRUTH[plain]
    try:
        return float(plain)
    except ValueError:
        return word


# Long


def _read_long(path: Path, header: Sequence[str], columns: Columns) -> Table:
    import pandas as pd

    found = long_columns(path, header, columns)
    pick = itemgetter(*(header.index(name) for name in found.names))
    lines = array("q")
    rows = []
    for line, row in _rows(path, header):
        lines.append(line)
        rows.append(pick(row))
    if not rows:
        msg = f"{path} is empty: it holds a header and no answers"
        raise ShapeError(msg)
    frame = pd.DataFrame(rows, columns=found.names, dtype=object)
    for name in (found.model, *found.question):
        frame[name] = frame[name].where(frame[name].str.strip() != "")
    frame[found.value] = parsed(frame[found.value].to_numpy(dtype=object), columns.words)
    return spread(
        frame,
        model=found.model,
        question=found.question,
        value=found.value,
        duplicates=columns.duplicates,
        name_row=lambda row: f"{path}, line {lines[row]}",
        name_cell=lambda row: f"{path}, line {lines[row]}, column {found.value!r}",
    )
