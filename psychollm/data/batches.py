"""Long tables read in batches of codes and labels; labels are numbered in order of occurrence."""

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from psychollm._base.checks import (
    check_choice,
    check_count,
    is_missing_value,
    is_numeral,
    shown,
)
from psychollm._base.errors import CodeError, LabelError, OptionError
from psychollm._base.optional import require
from psychollm._base.replicate import in_turn, workers
from psychollm._base.types import AnyArray, Axis, FloatArray, IntArray
from psychollm._base.wording import parameter
from psychollm.data.labels import listed
from psychollm.data.parquet import open_parquet
from psychollm.data.table import WORDS, meanings
from psychollm.kernels.codes import MISSING

BATCH = 1 << 20  # rows per batch
LONGEST = 16  # largest number of batches per work item
WAITING = 4  # largest number of results per worker that wait to be used, in work items
_UNKNOWN = np.inf
_LABELS = {"string", "large_string", "string_view", "bool", "null"}


class CellError(CodeError):
    """Error for an invalid cell of a batch; `coded_batch` adds the location of the cell."""

    def __init__(self, row: int, what: str) -> None:
        super().__init__(what)
        self.row = row


@dataclass(frozen=True, slots=True)
class Rule:
    """Rule for converting answers to codes."""

    threshold: float | None
    strict: bool = field(kw_only=True)
    highest: int = field(default=1, kw_only=True)  # largest code if there is no threshold
    codes: Mapping[Any, int] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        cut = 0 if self.threshold is None else self.threshold
        if not isinstance(cut, Real) or isinstance(cut, bool) or not abs(cut) < np.inf:
            msg = (
                f"{parameter('threshold', cut)} must be a finite number if answers are read in "
                "batches: rules for each model, such as 'model_median', are for "
                f"{parameter('threshold', python='Responses(data, threshold=)')}"
            )
            raise OptionError(msg)
        if not isinstance(self.strict, bool | np.bool_):
            msg = f"strict={self.strict!r} must be True or False"
            raise OptionError(msg)
        if self.codes is not None and self.threshold is not None:
            msg = (
                f"{parameter('codes')} (which maps words) and {parameter('threshold')} (which "
                "splits numbers) exclude each other"
            )
            raise OptionError(msg)
        meanings({} if self.codes is None else self.codes)

    @property
    def coding(self) -> str:
        """Description of the codes of a binary table."""
        if self.threshold is None:
            return "binary"
        return f"value {'>' if self.strict else '>='} {self.threshold:g}"

    def read(self, column: Any) -> AnyArray:
        """Return the codes of an Arrow column."""
        if self.codes is None:
            words = f", or {WORDS}" if self.highest > 1 and self.threshold is None else ""
            return self.code(_numbers(column, words))
        if not hasattr(column, "dictionary"):
            column = column.dictionary_encode()
        known = meanings(self.codes)
        means = [
            np.nan if is_missing_value(value) else known.get(value, _UNKNOWN)
            for value in column.dictionary.to_pylist()
        ]
        used = column.indices.fill_null(len(means)).to_numpy(zero_copy_only=False)
        coded = np.array([*means, np.nan])[used]
        absent = np.flatnonzero(coded == _UNKNOWN)
        if absent.size:
            value = column.dictionary[int(used[absent[0]])].as_py()
            msg = f"holds {value!r}, not a key of {parameter('codes', dict(self.codes))}: add it"
            raise CellError(int(absent[0]), msg)
        return self.code(coded)

    def code(self, values: FloatArray) -> AnyArray:
        """Return the code of each value as int8, with MISSING where there is no answer."""
        missing = np.isnan(values)
        if self.threshold is None:
            coded = np.where(missing, MISSING, values)
            bad = ~(missing | ((coded >= 0) & (coded <= self.highest) & (coded == np.rint(coded))))
            if bad.any():
                row = int(np.argmax(bad))
                msg = f"holds {values[row]:g}: {self._admitted}"
                raise CellError(row, msg)
            return coded.astype(np.int8)
        yes = values > self.threshold if self.strict else values >= self.threshold
        return np.where(missing, np.int8(MISSING), yes.astype(np.int8))

    @property
    def _admitted(self) -> str:
        if self.highest == 1:
            return f"answers are 1, 0 or null; split graded ones with {parameter('threshold')}"
        return (
            f"answers are null or whole numbers 0 to {self.highest}; split stated confidence "
            f"with {parameter('threshold')}"
        )


class Numbered:
    """Labels numbered in order of first occurrence."""

    def __init__(self) -> None:
        self.labels: list[Any] = []
        self._whole: _WholeNumbers | None = _WholeNumbers()  # None if other labels occurred
        self._known: dict[Any, int] = {}
        self._last: Any = None  # dictionary of the last batch, which the next batch often shares
        self._names: list[Any] = []
        self._translation: IntArray = np.empty(0, dtype=np.int64)

    def number(self, column: Any) -> AnyArray:
        """Return the number assigned to each label, for labels encoded as in `Coded`."""
        if self.labels and len(column):
            _check_alike(self.labels[0], column[0].as_py())
        if not hasattr(column, "dictionary"):
            if self._whole is not None:
                numbers, new = self._whole.number(column.to_numpy().astype(np.int64, copy=False))
                self.labels.extend(new.tolist())
                return numbers
            column = column.dictionary_encode()
        if self._whole is not None:
            self._whole, self._known = None, {label: k for k, label in enumerate(self.labels)}
        return self._translated(column)

    def _translated(self, column: Any) -> IntArray:
        indices: IntArray = column.indices.to_numpy(zero_copy_only=False)
        if self._last is None or not column.dictionary.equals(self._last):
            self._last = column.dictionary
            self._names = column.dictionary.to_pylist()
            known = [self._known.get(label, -1) for label in self._names]
            self._translation = np.array(known, dtype=np.int64)
        numbers = self._translation[indices]
        # Only labels that occur are numbered, because a dictionary may contain unused labels.
        new, first = np.unique(indices[numbers < 0], return_index=True)
        if not new.size:
            return numbers
        for name in new[np.argsort(first)]:
            self._translation[name] = self._known[self._names[name]] = len(self.labels)
            self.labels.append(self._names[name])
        return self._translation[indices]


def _check_alike(first: Any, label: Any) -> None:
    """Raise an error if labels differ in type; numbers of different types are allowed."""
    number = [isinstance(one, Real) and not isinstance(one, bool) for one in (first, label)]
    if type(first) is not type(label) and not all(number):
        msg = (
            f"the label {label!r} is of type {type(label).__name__}, and {first!r} before it of "
            f"type {type(first).__name__}: make all text or all numbers"
        )
        raise LabelError(msg)


class _WholeNumbers:
    """Labels that are whole numbers, stored without Python objects."""

    def __init__(self) -> None:
        self._n = 0
        self._known: IntArray = np.empty(0, dtype=np.int64)
        self._room(1 << 10)

    def _room(self, n: int) -> None:
        """Enlarge the storage to `n` labels."""
        from psychollm.kernels.label_numbers import place_labels

        known = np.empty(n, dtype=np.int64)
        known[: self._n] = self._known[: self._n]
        self._known = known
        self._keys = np.empty(2 * n, dtype=np.int64)
        self._slots = np.full(2 * n, -1, dtype=np.int32)
        place_labels(known, self._n, self._keys, self._slots)

    def number(self, labels: IntArray) -> tuple[AnyArray, IntArray]:
        """Return the number of each label, and the labels that are new."""
        from psychollm.kernels.label_numbers import number_labels

        numbers = np.empty(labels.size, dtype=np.int32)
        before, done = self._n, 0
        while True:
            done, self._n = number_labels(
                labels, done, self._known, self._n, self._keys, self._slots, numbers
            )
            if done == labels.size:
                return numbers, self._known[before : self._n]
            self._room(2 * self._n)


@dataclass(frozen=True, slots=True)
class Selection:
    """Columns to read, and the number of rows to read at a time."""

    names: tuple[str, ...]
    batch: int

    def __post_init__(self) -> None:
        for name in self.names:
            if self.names.count(name) > 1:
                msg = f"column {name!r} is named twice: name another"
                raise OptionError(msg)


@dataclass(frozen=True, slots=True)
class Source(Selection):
    """Names of the columns with row labels, column labels and values, and the coding rule."""

    rule: Rule

    @classmethod
    def of(
        cls, axis: Axis, names: tuple[str, str], value: str, rule: Rule, batch: int
    ) -> "Source":
        """Return the source with models or questions as rows, as given by `axis`."""
        check_choice("of", axis, Axis)
        rows, columns = names if axis == "models" else names[::-1]
        return cls((rows, columns, value), check_count("batch", batch), rule)


@dataclass(frozen=True, slots=True)
class _Piece:
    """Successive row groups of a file: at least one batch of rows, except at the file's end."""

    path: Path
    groups: tuple[int, ...]
    start: int  # first row
    stop: int


@dataclass(frozen=True, slots=True)
class Coded:
    """A batch of codes with two columns of labels, which are dictionary-encoded or integers."""

    row: Any
    column: Any
    code: AnyArray  # as coded by the rule: int8, MISSING if there is no answer
    where: str

    def numbered(self, rows: Numbered, columns: Numbered) -> tuple[AnyArray, AnyArray]:
        """Return the numbers of the row labels and of the column labels."""
        try:
            return rows.number(self.row), columns.number(self.column)
        except LabelError as error:
            msg = f"{self.where} cannot be read as columns: {error}"
            raise LabelError(msg) from error


def check_columns(names: Sequence[str], present: Sequence[str], what: object) -> None:
    """Raise an error if a source lacks a column or has two columns of the same name."""
    for name in names:
        if (n := present.count(name)) != 1:
            msg = f"{what} has {n or 'no'} column{'s' * (n > 1)} {name!r}: its columns are "
            raise LabelError(msg + listed(present))


def _pieces(path: Path, source: Source) -> Iterator[_Piece]:
    """Divide a file into pieces without reading its rows."""
    with open_parquet(path, bounded=False) as file:
        check_columns(source.names, file.schema_arrow.names, path)
        sizes = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
    start, stop, groups = 0, 0, []
    for group, size in enumerate(sizes):
        stop += size
        groups.append(group)
        if stop - start >= source.batch or group == len(sizes) - 1:
            yield _Piece(path, tuple(groups), start, stop)
            start, groups = stop, []


def coded_files(
    paths: Sequence[Path], source: Source, n_jobs: int | None
) -> tuple[int, Generator[Coded]]:
    """Return the number of rows of Parquet files, and the batches read by one or more workers."""
    pieces = [piece for path in paths for piece in _pieces(path, source)]
    return sum(piece.stop - piece.start for piece in pieces), _all_coded(pieces, source, n_jobs)


def _all_coded(pieces: Sequence[_Piece], source: Source, n_jobs: int | None) -> Generator[Coded]:
    """Yield batches, read by one or more workers, in the order of the files."""
    who = workers(n_jobs)
    longest = max((piece.stop - piece.start for piece in pieces), default=0)
    if who.serial or longest > LONGEST * source.batch:
        for piece in pieces:
            yield from _coded(piece, source, threads=True)
        return
    with closing(in_turn(partial(_batches, source=source), pieces, who, waiting=WAITING)) as read:
        for batches in read:
            yield from batches


def _batches(piece: _Piece, *, source: Source) -> list[Coded]:
    return list(_coded(piece, source, threads=False))


def _coded(piece: _Piece, source: Source, *, threads: bool) -> Generator[Coded]:
    """Yield the batches of one piece of a file."""
    names, start = list(source.names), piece.start + 1
    # Labels are read as dictionary indices, because creating a hundred million strings is slow.
    with open_parquet(piece.path, dictionaries=names[:2], bounded=False) as file:
        for rows in file.iter_batches(
            source.batch, row_groups=list(piece.groups), columns=names, use_threads=threads
        ):
            yield coded_batch(rows, source, piece.path, start)
            start += rows.num_rows


def coded_batch(rows: Any, source: Source, name: object, start: int) -> Coded:
    """Convert an Arrow batch that begins at row `start` to a `Coded` batch."""
    rows = rows.select(list(source.names))
    where = f"{name}, rows {start:,} to {start + rows.num_rows - 1:,}"
    row, column = (_encoded(rows.column(i), source.names[i], where, start) for i in (0, 1))
    try:
        code = source.rule.read(*rows.columns[2:])
    except (ValueError, TypeError, NotImplementedError) as error:
        at, what = where, f"cannot be read: {error}"
        if isinstance(error, CellError):
            at, what = f"{name}, row {start + error.row:,}", error.text.marked
        named = " and ".join(map(repr, source.names[2:]))
        msg = f"{at}, column{'s' * (rows.num_columns > 3)} {named} {what}"
        raise CodeError(msg) from error
    return Coded(row, column, code, where)


def _encoded(column: Any, name: str, where: str, start: int) -> Any:
    """Return a column of labels as integers, or encoded by a dictionary."""
    types = require("pyarrow.types", extra="io", purpose="reading long tables batch by batch")
    if column.null_count:
        first = start + column.is_null().index(True).as_py()
        msg = (
            f"{where}: column {name!r} has {column.null_count:,} empty cells, the first in row "
            f"{first:,}"
        )
        raise LabelError(msg)
    encoded = types.is_dictionary(column.type)
    kind = column.type.value_type if encoded else column.type
    whole = types.is_integer(kind)
    # Only labels of these types can be saved in the file of a result.
    if not (whole or types.is_floating(kind) or str(kind) in _LABELS):
        msg = f"{where}: column {name!r} holds labels of type {kind}: make them text or numbers"
        raise LabelError(msg)
    if encoded or (whole and not types.is_uint64(kind)):
        return column
    return column.dictionary_encode()


def _numbers(column: Any, words: str = "") -> FloatArray:
    arrow = require("pyarrow", extra="io", purpose="reading long tables batch by batch")
    if arrow.types.is_boolean(column.type):
        column = column.cast(arrow.int8())
    try:
        values: FloatArray = column.cast(arrow.float64()).to_numpy(zero_copy_only=False)
    except (ValueError, NotImplementedError) as error:
        for row, cell in enumerate(column.to_pylist()):
            if not (is_missing_value(cell) or (isinstance(cell, str) and is_numeral(cell))):
                msg = f"cannot hold {shown(cell)}, which is not a number: pass numbers{words}"
                raise CellError(row, msg) from error
        raise
    return values
