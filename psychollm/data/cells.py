"""Tables kept by their filled cells: row by row, in memory or in a folder.

A table of 10,000 models and a million questions has ten billion cells; where one in ten is filled,
a billion answers take 3 GB: the column of each (two bytes below 65,536 columns, else four) and its
code (one). Rows are read in ranges, so that whoever works row by row needs no more than one range
in memory, and several workers read side by side. The answers of one table may be kept twice, by
question and by model: `CellTable.transposed` makes the one from the other.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Protocol, cast
from weakref import finalize

import numpy as np

from psychollm._base.errors import InputError
from psychollm._base.types import AnyArray, IntArray
from psychollm.data.labels import Labels
from psychollm.kernels.cells import first_repeat, running_starts, stable_order

PART = 1 << 22  # cells that are read at once
BUCKET_ROWS = 4_096
BUFFERED = 1 << 24  # cells kept in memory before they are sorted in a folder


class RepeatedCellError(Exception):
    """A cell is filled twice; `row` and `column` say which."""

    def __init__(self, row: int, column: int) -> None:
        super().__init__(f"row {row}, column {column}")
        self.row, self.column = row, column


@dataclass(frozen=True, slots=True)
class Cells:
    """The filled cells of some rows: those of row r are ``start[r]`` to ``start[r + 1]``."""

    start: IntArray  # (rows + 1,)
    columns: AnyArray  # (n,) ascending in each row
    codes: AnyArray  # (n,) uint8


class CellTable(Protocol):
    """A table of which ranges of rows can be read."""

    @property
    def start(self) -> IntArray:
        """Where the cells of each row begin (rows + 1,)."""

    @property
    def n_columns(self) -> int:
        """Number of columns."""

    def read(self, low: int, high: int) -> Cells:
        """Return the cells of rows `low` to `high`."""


class CellSource(Protocol):
    """A table of responses that is kept by its cells."""

    @property
    def models(self) -> Labels:
        """Labels of the models."""

    @property
    def questions(self) -> Labels:
        """Labels of the questions."""

    @property
    def by_question(self) -> CellTable:
        """Questions in rows."""

    @property
    def by_model(self) -> CellTable:
        """Models in rows."""


def cells_of(responses: object) -> CellSource | None:
    """Return a table that is kept by its cells as such, and None for any other."""
    return cast("CellSource", responses) if hasattr(responses, "by_question") else None


def column_type(n_columns: int) -> type[np.unsignedinteger]:
    """Return the smallest type that numbers all columns."""
    return np.uint16 if n_columns <= 1 << 16 else np.uint32


def parts(table: CellTable, cells: int = PART) -> list[tuple[int, int]]:
    """Divide rows into ranges of about so many cells; they depend on the table alone."""
    start, n = table.start, table.start.size - 1
    ends = np.arange(cells, int(start[-1]) + cells, cells)
    bounds = np.unique(np.concatenate([[0], np.searchsorted(start, ends), [n]]))
    bounds = np.minimum(bounds, n)
    return [(int(a), int(b)) for a, b in pairwise(bounds) if b > a]


@dataclass(frozen=True, slots=True)
class MemoryCells:
    """Cells in memory."""

    cells: Cells
    n_columns: int

    @property
    def start(self) -> IntArray:
        """Where the cells of each row begin (rows + 1,)."""
        return self.cells.start

    @classmethod
    def of(
        cls, rows: AnyArray, columns: AnyArray, codes: AnyArray, shape: tuple[int, int]
    ) -> MemoryCells:
        """Sort cells by row, then by column."""
        return cls(sorted_cells(rows, columns, codes, shape), shape[1])

    def read(self, low: int, high: int) -> Cells:
        """Return the cells of rows `low` to `high`."""
        first, last = self.start[low], self.start[high]
        start = self.start[low : high + 1] - first
        return Cells(start, self.cells.columns[first:last], self.cells.codes[first:last])

    def transposed(self) -> MemoryCells:
        """Return the same cells by column."""
        shape = self.start.size - 1, self.n_columns
        rows = np.repeat(np.arange(shape[0]), np.diff(self.start))
        return MemoryCells.of(self.cells.columns, rows, self.cells.codes, shape[::-1])


def sorted_cells(
    rows: AnyArray, columns: AnyArray, codes: AnyArray, shape: tuple[int, int]
) -> Cells:
    """Sort cells by row, then by column; raise RepeatedCellError if one occurs twice."""
    order = np.arange(rows.size)
    for numbers, n in ((columns, shape[1]), (rows, shape[0])):
        place, after = np.empty(n + 1, dtype=np.int64), np.empty_like(order)
        running_starts(numbers, place)
        stable_order(numbers, place, order, after)
        order = after
    start = np.empty(shape[0] + 1, dtype=np.int64)
    running_starts(rows, start)
    sorted_columns = columns[order].astype(column_type(shape[1]))
    twice = first_repeat(start, sorted_columns)
    if twice >= 0:
        raise RepeatedCellError(int(rows[order[twice]]), int(sorted_columns[twice]))
    return Cells(start, sorted_columns, codes[order].astype(np.uint8))


@dataclass(frozen=True, slots=True)
class FolderCells:
    """Cells in a folder: ``start.npy``, and raw files of columns and codes."""

    # Read, not mapped: pages of a mapped file would count as memory of the process.
    folder: Path
    n_columns: int
    start: IntArray = field(repr=False)

    @classmethod
    def open(cls, folder: Path) -> FolderCells:
        """Return what a `CellWriter` has finished in a folder."""
        try:
            start = np.load(folder / "start.npy")
            n_columns = int((folder / "columns.txt").read_text())
        except OSError as error:
            msg = f"{folder} holds no finished table of cells: {error}"
            raise InputError(msg) from error
        return cls(folder, n_columns, start)

    def read(self, low: int, high: int) -> Cells:
        """Return the cells of rows `low` to `high`."""
        first, n = int(self.start[low]), int(self.start[high] - self.start[low])
        kind = np.dtype(column_type(self.n_columns))
        columns = np.fromfile(
            self.folder / "columns.bin", kind, count=n, offset=first * kind.itemsize
        )
        codes = np.fromfile(self.folder / "codes.bin", np.uint8, count=n, offset=first)
        return Cells(self.start[low : high + 1] - first, columns, codes)

    def transposed(self, folder: Path) -> FolderCells:
        """Write the same cells by column into another folder."""
        n_rows = self.start.size - 1
        per_row = max(1.0, float(self.start[-1]) / max(self.n_columns, 1))
        with CellWriter(folder, bucket_rows=max(1, int(BUFFERED / per_row))) as writer:
            for low, high in parts(self):
                cells = self.read(low, high)
                rows = np.repeat(np.arange(low, high), np.diff(cells.start))
                writer.add(cells.columns, rows, cells.codes)
            return writer.finish((self.n_columns, n_rows))


_RECORD = np.dtype([("row", np.uint32), ("column", np.uint32), ("code", np.uint8)])


class CellWriter:
    """Takes cells in any order and leaves them in a folder, sorted.

    Cells are dealt to files of `bucket_rows` rows each, and each of these is sorted by itself, so
    that a table of any size takes the memory of a file. A folder is made where none is named, and
    goes with the table.
    """

    def __init__(self, folder: Path | None = None, *, bucket_rows: int = BUCKET_ROWS) -> None:
        self.folder = folder or Path(tempfile.mkdtemp(prefix="psychollm-cells-"))
        if folder is None:
            finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True, exist_ok=True)
        self._buckets = self.folder / "unsorted"
        shutil.rmtree(self._buckets, ignore_errors=True)
        self._buckets.mkdir()
        self._bucket_rows = bucket_rows
        self._buffer: list[AnyArray] = []
        self._buffered = 0

    def __enter__(self) -> CellWriter:
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._buckets, ignore_errors=True)

    def add(self, rows: AnyArray, columns: AnyArray, codes: AnyArray) -> None:
        """Take cells."""
        records = np.empty(rows.size, dtype=_RECORD)
        records["row"], records["column"], records["code"] = rows, columns, codes
        self._buffer.append(records)
        self._buffered += rows.size
        if self._buffered >= BUFFERED:
            self._deal()

    def _deal(self) -> None:
        """Write what is buffered to the files of its rows."""
        if not self._buffer:
            return
        records = np.concatenate(self._buffer)
        self._buffer, self._buffered = [], 0
        bucket = records["row"] // np.uint32(self._bucket_rows)
        n = int(bucket.max()) + 1
        start, order = np.empty(n + 1, dtype=np.int64), np.empty(bucket.size, dtype=np.int64)
        running_starts(bucket, start)
        stable_order(bucket, start.copy(), np.arange(bucket.size), order)
        for k in np.flatnonzero(np.diff(start)):
            with (self._buckets / str(k)).open("ab") as file:
                records[order[start[k] : start[k + 1]]].tofile(file)

    def finish(self, shape: tuple[int, int]) -> FolderCells:
        """Sort all cells of a table of that shape; raise RepeatedCellError if one came twice."""
        self._deal()
        starts = [np.zeros(1, dtype=np.int64)]
        with (
            (self.folder / "columns.bin").open("wb") as columns,
            (self.folder / "codes.bin").open("wb") as codes,
        ):
            for cells in self._sorted(shape):
                starts.append(cells.start[1:] + starts[-1][-1])
                cells.columns.tofile(columns)
                cells.codes.tofile(codes)
        start = np.concatenate(starts)
        (self.folder / "columns.txt").write_text(f"{shape[1]}\n")
        np.save(self.folder / "start.npy", start)
        return FolderCells(self.folder, shape[1], start)

    def _sorted(self, shape: tuple[int, int]) -> Iterator[Cells]:
        """Yield the cells of each bucket, and drop its file."""
        for k, low in enumerate(range(0, shape[0], self._bucket_rows)):
            path, n = self._buckets / str(k), min(self._bucket_rows, shape[0] - low)
            records = np.fromfile(path, _RECORD) if path.exists() else np.empty(0, _RECORD)
            path.unlink(missing_ok=True)
            try:
                yield sorted_cells(
                    records["row"] - np.uint32(low), records["column"], records["code"],
                    (n, shape[1]),
                )  # fmt: skip
            except RepeatedCellError as error:
                raise RepeatedCellError(error.row + low, error.column) from None
