"""Rows of long Parquet files to planes of bits, batch by batch, by one worker or several."""

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from psychollm._base.checks import check_choice, check_count
from psychollm._base.errors import (
    CodeError,
    InputError,
    LabelError,
    ShapeError,
)
from psychollm._base.optional import require
from psychollm._base.replicate import in_turn, progress_bar, workers
from psychollm._base.types import AnyArray, Axis, FloatArray, IntArray, WordArray
from psychollm.data.labels import listed
from psychollm.data.readers.parquet_file import open_parquet
from psychollm.kernels.pair_counts import MISSING, count_pairs, count_with_missing, fill_planes

Paths = str | PathLike[str] | Iterable[str | PathLike[str]]
BATCH = 1 << 20  # rows
LONGEST = 16  # batches in a piece of work
WAITING = 4  # pieces per worker whose answers may wait


@dataclass(frozen=True, slots=True)
class Rule:
    """What is a yes."""

    threshold: float | None
    strict: bool = field(kw_only=True)

    @property
    def coding(self) -> str:
        """What the codes mean, in words."""
        if self.threshold is None:
            return "binary"
        return f"value {'>' if self.strict else '>='} {self.threshold:g}"

    def code(self, values: FloatArray) -> AnyArray:
        """Return 0, 1 or MISSING for each value."""
        missing = np.isnan(values)
        if self.threshold is not None:
            yes = values > self.threshold if self.strict else values >= self.threshold
        else:
            yes = values == 1.0
            bad = ~(missing | yes | (values == 0.0))
            if bad.any():
                at = int(np.flatnonzero(bad)[0])
                msg = f"holds {values[at]:g}: answers are 1, 0 or null; split graded ones with "
                raise CodeError(msg + "threshold=")
        return np.where(missing, np.int8(MISSING), yes.astype(np.int8))


class _Codes:
    """Labels numbered in the order in which they first occur."""

    def __init__(self) -> None:
        self.labels: list[Any] = []
        self._known: dict[Any, int] = {}
        self._last: Any = None  # the dictionary of the last batch, often that of the next one
        self._names: list[Any] = []
        self._translation: IntArray = np.empty(0, dtype=np.int64)

    def number(self, column: Any) -> IntArray:
        """Return the number of each label of a batch, which is dictionary-encoded."""
        indices: IntArray = column.indices.to_numpy(zero_copy_only=False)
        if self._last is None or not column.dictionary.equals(self._last):
            self._last = column.dictionary
            self._names = column.dictionary.to_pylist()
            known = [self._known.get(label, -1) for label in self._names]
            self._translation = np.array(known, dtype=np.int64)
        numbers = self._translation[indices]
        # A dictionary may hold labels that no row bears: only what occurs is numbered.
        new, first = np.unique(indices[numbers < 0], return_index=True)
        if not new.size:
            return numbers
        for name in new[np.argsort(first)]:
            self._translation[name] = self._known[self._names[name]] = len(self.labels)
            self.labels.append(self._names[name])
        return self._translation[indices]


class Bits:
    """Two planes of bits that grow as labels come."""

    def __init__(self, most: int | None) -> None:
        self.rows, self.columns = _Codes(), _Codes()
        self.n_answers = 0
        self._most = most
        self._yes: WordArray = np.zeros((0, 0), dtype=np.uint64)
        self._answered: WordArray = np.zeros((0, 0), dtype=np.uint64)

    @property
    def yes(self) -> WordArray:
        """Shape (rows, words)."""
        return self._trimmed(self._yes)

    @property
    def answered(self) -> WordArray:
        """Shape (rows, words)."""
        return self._trimmed(self._answered)

    def _trimmed(self, plane: WordArray) -> WordArray:
        words = -(-len(self.columns.labels) // 64)
        return np.ascontiguousarray(plane[: len(self.rows.labels), :words])

    def add(self, row: IntArray, column: IntArray, code: AnyArray) -> int:
        """Set the bits of a batch; return the place of a repeated answer, or -1."""
        self._grow(len(self.rows.labels), -(-len(self.columns.labels) // 64))
        repeated = np.full(1, -1, dtype=np.int64)
        fill_planes(row, column, code, self._yes, self._answered, repeated)
        self.n_answers += int(np.count_nonzero(code != MISSING))
        return int(repeated[0])

    def _grow(self, k: int, words: int) -> None:
        if self._most is not None and k > self._most:
            msg = f"there are more than {self._most:,} rows to pair: are rows and columns swapped?"
            raise ShapeError(msg)
        old = self._yes.shape
        if k <= old[0] and words <= old[1]:
            return
        shape = tuple(
            size if size <= before else max(size, 2 * before)
            for size, before in zip((k, words), old, strict=True)
        )
        shape = (max(shape[0], old[0]), max(shape[1], old[1]))
        planes = np.zeros((2, *shape), dtype=np.uint64)
        planes[0, : old[0], : old[1]] = self._yes
        planes[1, : old[0], : old[1]] = self._answered
        self._yes, self._answered = planes[0], planes[1]


def count_bits(bits: Bits) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return counts of pairs of rows, each (k, k): both yes, yes where both answered, both."""
    k, units = len(bits.rows.labels), len(bits.columns.labels)
    joint = np.empty((k, k))
    if bits.n_answers == k * units:
        count_pairs(bits.yes, joint)
        own = np.repeat(np.diagonal(joint)[:, None], k, axis=1)
        return joint, own, np.full((k, k), float(units))
    own, both = np.empty((k, k)), np.empty((k, k))
    count_with_missing(bits.yes, bits.answered, joint, own, both)
    return joint, own, both


@dataclass(frozen=True, slots=True)
class Source:
    """What to read of the files, and how."""

    names: tuple[str, str, str]  # rows, columns, values
    rule: Rule
    batch: int

    @classmethod
    def of(
        cls, axis: Axis, names: tuple[str, str], value: str, rule: Rule, batch: int
    ) -> "Source":
        """Return what to read where models, or questions, are paired."""
        check_choice("of", axis, Axis)
        rows, columns = names if axis == "models" else names[::-1]
        return cls((rows, columns, value), rule, check_count("batch", batch))


@dataclass(frozen=True, slots=True)
class _Piece:
    """Row groups of a file, at least a batch of rows but for the last."""

    path: Path
    groups: tuple[int, ...]
    start: int  # first row
    stop: int


@dataclass(frozen=True, slots=True)
class _Coded:
    """A batch: two columns of labels, dictionary-encoded, and 0, 1 or MISSING."""

    row: Any
    column: Any
    code: AnyArray  # int8
    where: str


def read_bits(
    paths: Paths, source: Source, *, most: int | None, n_jobs: int | None, progress: bool
) -> Bits:
    """Return the bits of all files: rows by the first column, columns by the second."""
    files = [paths] if isinstance(paths, str | PathLike) else list(paths)
    bits = Bits(most)
    pieces = [piece for path in map(Path, files) for piece in _pieces(path, source)]
    total = sum(piece.stop - piece.start for piece in pieces)
    bar = progress_bar(show=progress, total=total, label="answers")
    with closing(_all_coded(pieces, source, n_jobs)) as batches:
        for coded in batches:
            _add(bits, coded)
            bar.update(coded.code.size)
    bar.close()
    if not bits.n_answers:
        msg = f"there is no answer in {listed([str(path) for path in files])}"
        raise InputError(msg)
    return bits


def _pieces(path: Path, source: Source) -> Iterator[_Piece]:
    """Divide a file, without reading its rows."""
    with open_parquet(path, bounded=False) as file:
        present = file.schema_arrow.names
        absent = [name for name in source.names if name not in present]
        if absent:
            msg = f"{path} has no column {absent[0]!r}: its columns are {listed(present)}"
            raise LabelError(msg)
        sizes = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
    start, stop, groups = 0, 0, []
    for group, size in enumerate(sizes):
        stop += size
        groups.append(group)
        if stop - start >= source.batch or group == len(sizes) - 1:
            yield _Piece(path, tuple(groups), start, stop)
            start, groups = stop, []


def _all_coded(pieces: Sequence[_Piece], source: Source, n_jobs: int | None) -> Generator[_Coded]:
    """Yield batches in the order of the files, whoever reads them."""
    who = workers(n_jobs)
    longest = max((piece.stop - piece.start for piece in pieces), default=0)
    if who.serial or longest > LONGEST * source.batch:
        for piece in pieces:
            yield from _coded(piece, source, threads=True)
        return
    with closing(in_turn(partial(_batches, source=source), pieces, who, waiting=WAITING)) as read:
        for batches in read:
            yield from batches


def _batches(piece: _Piece, *, source: Source) -> list[_Coded]:
    return list(_coded(piece, source, threads=False))


def _coded(piece: _Piece, source: Source, *, threads: bool) -> Generator[_Coded]:
    """Yield the batches of a piece."""
    names, start = list(source.names), piece.start + 1
    # Labels stay as numbers into a dictionary: nothing is spelt out a hundred million times.
    with open_parquet(piece.path, dictionaries=names[:2], bounded=False) as file:
        for rows in file.iter_batches(
            source.batch, row_groups=list(piece.groups), columns=names, use_threads=threads
        ):
            where = f"{piece.path}, rows {start:,} to {start + rows.num_rows - 1:,}"
            start += rows.num_rows
            yield _coded_batch(rows.select(names), source.rule, where)


def _coded_batch(rows: Any, rule: Rule, where: str) -> _Coded:
    row, column = (_encoded(rows.column(i), rows.schema.names[i], where) for i in (0, 1))
    try:
        code = rule.code(_numbers(rows.column(2)))
    except (CodeError, ValueError, TypeError) as error:
        msg = f"{where}, column {rows.schema.names[2]!r} {error}"
        raise CodeError(msg) from error
    return _Coded(row, column, code, where)


def _add(bits: Bits, coded: _Coded) -> None:
    """Add a batch."""
    row, column = bits.rows.number(coded.row), bits.columns.number(coded.column)
    repeated = bits.add(row, column, coded.code)
    if repeated >= 0:
        pair = bits.rows.labels[row[repeated]], bits.columns.labels[column[repeated]]
        msg = f"{coded.where}: {pair[0]!r} and {pair[1]!r} have a second answer: aggregate first"
        raise LabelError(msg)


def _encoded(column: Any, name: str, where: str) -> Any:
    arrow = require("pyarrow", extra="io", purpose="reading Parquet files")
    if column.null_count:
        msg = f"{where}: column {name!r} has {column.null_count:,} empty cells"
        raise LabelError(msg)
    if arrow.types.is_dictionary(column.type):
        return column
    return column.dictionary_encode()


def _numbers(column: Any) -> FloatArray:
    arrow = require("pyarrow", extra="io", purpose="reading Parquet files")
    if arrow.types.is_boolean(column.type):
        column = column.cast(arrow.int8())
    values: FloatArray = column.cast(arrow.float64()).to_numpy(zero_copy_only=False)
    return values
