"""Sparse tables, which store filled cells row by row, in memory or in a folder.

A table of 10,000 models and a million questions has ten billion cells. If one cell in ten is
filled, the billion answers take 3 GB. An answer takes two bytes for its column (four with more
than 65,536 columns) and one byte for its code. Rows are read in ranges, so that row-wise
computations need only one range in memory, and several workers can read in parallel. A table may
be stored twice, with questions and with models as rows; the method `transposed` converts between
the two forms.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Protocol
from weakref import finalize

import numpy as np

from psychollm._base.errors import CodeError, InputError, ShapeError
from psychollm._base.types import AnyArray, IntArray, WordArray

PART = 1 << 22  # number of cells that are read at a time
BUCKET_ROWS = 4_096
BUFFERED = 1 << 23  # number of cells in memory before they are distributed to files


DENSE_BYTES = 3  # bytes per cell of a dense table, filled or empty
LARGE = 1_000_000_000  # bytes; a larger dense table may be kept sparse


def is_better_sparse(n_models: int, n_questions: int, n_answers: int) -> bool:
    """Return whether a table should be sparse: above 1 GB if dense, less than a third filled."""
    cells = n_models * n_questions
    return cells * DENSE_BYTES > LARGE and n_answers * 3 < cells


class RepeatedCellError(Exception):
    """Error for a cell, at `row` and `column`, that is filled twice."""

    def __init__(self, row: int, column: int) -> None:
        super().__init__(f"row {row}, column {column}")
        self.row, self.column = row, column


@dataclass(frozen=True, slots=True)
class Cells:
    """The filled cells of some rows; row r has the cells ``start[r]`` to ``start[r + 1] - 1``."""

    start: IntArray  # (rows + 1,)
    columns: AnyArray  # (n,) ascending in each row
    codes: AnyArray  # (n,) uint8


class CellTable(Protocol):
    """A table whose rows can be read in ranges."""

    @property
    def start(self) -> IntArray:
        """Index of the first cell of each row, followed by the number of cells (rows + 1,)."""

    @property
    def n_columns(self) -> int:
        """Number of columns."""

    def read(self, low: int, high: int, *, lasting: bool = True) -> Cells:
        """Return the cells of some rows; the next call may overwrite them unless `lasting`."""


def column_type(n_columns: int) -> type[np.unsignedinteger]:
    """Return the smallest integer type that can number all columns."""
    return np.uint16 if n_columns <= 1 << 16 else np.uint32


def parts(table: CellTable, cells: int = PART) -> list[tuple[int, int]]:
    """Divide rows into ranges of about `cells` cells, regardless of the number of workers."""
    start, n = table.start, table.start.size - 1
    ends = np.arange(cells, int(start[-1]) + cells, cells)
    bounds = np.unique(np.concatenate([[0], np.searchsorted(start, ends), [n]]))
    bounds = np.minimum(bounds, n)
    return [(int(a), int(b)) for a, b in pairwise(bounds) if b > a]


BLOCK = 1 << 26  # cells of a dense block, including empty ones


def block_size(k: int) -> int:
    """Return how many columns of k cells fit into a dense block, as a multiple of 64."""
    return max(64, BLOCK // k // 64 * 64)


def dense_blocks(table: CellTable, size: int | None = None) -> Iterator[tuple[AnyArray, AnyArray]]:
    """Yield codes and the mask of missing cells (columns, rows) for successive blocks of rows."""
    n, k = table.start.size - 1, table.n_columns
    step = size or block_size(k)
    for low in range(0, n, step):
        high = min(n, low + step)
        cells = table.read(low, high)
        codes, missing = np.zeros((high - low, k), np.int16), np.ones((high - low, k), np.bool_)
        rows = np.repeat(np.arange(high - low), np.diff(cells.start))
        codes[rows, cells.columns], missing[rows, cells.columns] = cells.codes, False
        yield codes.T, missing.T


@dataclass(frozen=True, slots=True)
class MemoryCells:
    """Cells in memory."""

    cells: Cells
    n_columns: int

    @property
    def start(self) -> IntArray:
        """Index of the first cell of each row, followed by the number of cells (rows + 1,)."""
        return self.cells.start

    @classmethod
    def of(
        cls, rows: AnyArray, columns: AnyArray, codes: AnyArray, shape: tuple[int, int]
    ) -> MemoryCells:
        """Sort cells by row, then by column."""
        return cls(sorted_cells(rows, columns, codes, shape), shape[1])

    def read(self, low: int, high: int, *, lasting: bool = True) -> Cells:
        """Return the cells of rows `low` to `high`."""
        first, last = self.start[low], self.start[high]
        start = self.start[low : high + 1] - first
        return Cells(start, self.cells.columns[first:last], self.cells.codes[first:last])

    def transposed(self) -> MemoryCells:
        """Return the same cells, sorted by column."""
        shape = self.start.size - 1, self.n_columns
        rows = np.repeat(np.arange(shape[0], dtype=np.uint32), np.diff(self.start))
        return MemoryCells.of(self.cells.columns, rows, self.cells.codes, shape[::-1])


def sorted_cells(
    rows: AnyArray, columns: AnyArray, codes: AnyArray, shape: tuple[int, int]
) -> Cells:
    """Sort cells by row, then by column; raise RepeatedCellError if a cell occurs twice."""
    _check_size(shape)
    return _unpacked(_packed(rows, columns, codes), shape)


# A cell is packed into one integer: 28 bits for the row, 32 for the column and 4 for the code.
# Sorting the integers thus sorts by row, then by column.
_ROW, _COLUMN = np.uint64(36), np.uint64(4)
MAX_ROWS = 1 << 28


def _check_size(shape: tuple[int, int]) -> None:
    if max(shape) > MAX_ROWS:
        msg = f"a table of {shape[0]:,} x {shape[1]:,} cells: at most {MAX_ROWS:,} of each"
        raise ShapeError(msg)


def _packed(rows: AnyArray, columns: AnyArray, codes: AnyArray) -> WordArray:
    """Pack each cell into one integer."""
    if codes.size and codes.max() > 15:
        msg = f"code {codes.max()} cannot be stored: codes are whole numbers from 0 to 15"
        raise CodeError(msg)
    packed = rows.astype(np.uint64)
    packed <<= _ROW
    packed |= columns.astype(np.uint64) << _COLUMN
    packed |= codes.astype(np.uint64)
    return packed


def _unpacked(packed: WordArray, shape: tuple[int, int]) -> Cells:
    """Sort packed cells in place, and return them as the cells of a table."""
    packed.sort()
    start = np.searchsorted(packed, np.arange(shape[0] + 1, dtype=np.uint64) << _ROW)
    codes = (packed & np.uint64(15)).astype(np.uint8)
    packed >>= _COLUMN
    twice = np.flatnonzero(packed[1:] == packed[:-1])
    if twice.size:
        row, column = divmod(int(packed[twice[0]]), 1 << 32)
        raise RepeatedCellError(row, column)
    columns = packed.astype(np.uint32).astype(column_type(shape[1]), copy=False)
    return Cells(start.astype(np.int64, copy=False), columns, codes)


class _Room(threading.local):
    """Memory that a thread reuses, because allocating new pages takes as long as reading."""

    def of(self, name: str, n: int, kind: type[np.unsignedinteger]) -> AnyArray:
        """Return an uninitialised array of n numbers."""
        kept, size = getattr(self, name, np.empty(0, np.uint8)), n * np.dtype(kind).itemsize
        if kept.size < size:
            kept = np.empty(size + size // 8, np.uint8)
            setattr(self, name, kept)
        return kept[:size].view(kind)


_ROOM = _Room()


@dataclass(frozen=True, slots=True, weakref_slot=True)
class FolderCells:
    """Cells in a folder, which contains ``start.npy`` and raw files of columns and codes."""

    # The files are not memory-mapped, because mapped pages would count towards the memory of the
    # process.
    folder: Path
    n_columns: int
    start: IntArray = field(repr=False)

    @classmethod
    def open(cls, folder: Path) -> FolderCells:
        """Return the table that a `CellWriter` has written to a folder."""
        try:
            start = np.load(folder / "start.npy")
            n_columns = int((folder / "columns.txt").read_text())
        except OSError as error:
            msg = f"{folder} does not hold a finished table of cells: {error}"
            raise InputError(msg) from error
        return cls(folder, n_columns, start)

    def __reduce__(self) -> tuple[Callable[[Path], FolderCells], tuple[Path]]:
        # `start` takes megabytes of memory, so workers read it from the folder instead of
        # receiving it with every call.
        return FolderCells.open, (self.folder,)

    def read(self, low: int, high: int, *, lasting: bool = True) -> Cells:
        """Return the cells of some rows; the next call may overwrite them unless `lasting`."""
        first, n = int(self.start[low]), int(self.start[high] - self.start[low])
        found = []
        for name, kind in (("columns", column_type(self.n_columns)), ("codes", np.uint8)):
            room = np.empty(n, kind) if lasting else _ROOM.of(name, n, kind)
            with (self.folder / f"{name}.bin").open("rb") as file:
                file.seek(first * room.itemsize)
                if file.readinto(room.data) < room.nbytes:
                    msg = f"{self.folder / name}.bin ends too early: create the folder again"
                    raise InputError(msg)
            found.append(room)
        return Cells(self.start[low : high + 1] - first, *found)

    def transposed(self, folder: Path) -> FolderCells:
        """Write the same cells, sorted by column, into another folder."""
        n_rows = self.start.size - 1
        per_row = max(1.0, float(self.start[-1]) / max(self.n_columns, 1))
        with CellWriter(folder, bucket_rows=max(1, int(BUFFERED / per_row))) as writer:
            for low, high in parts(self):
                cells = self.read(low, high)
                rows = np.repeat(np.arange(low, high), np.diff(cells.start))
                writer.add(cells.columns, rows, cells.codes)
            return writer.finish((self.n_columns, n_rows))


class CellWriter:
    """Writer that accepts cells in any order and stores them, sorted, in a folder.

    Cells are distributed to files of `bucket_rows` rows each, which are sorted separately; a file
    that is too large is divided again. Writing a table of any size therefore needs only the memory
    of a buffer. Without a `folder`, a temporary folder is created, which is deleted with the
    table.
    """

    def __init__(self, folder: Path | None = None, *, bucket_rows: int = BUCKET_ROWS) -> None:
        self._named = folder is not None
        self.folder = folder or Path(tempfile.mkdtemp(prefix="psychollm-cells-"))
        self.folder.mkdir(parents=True, exist_ok=True)
        self._buckets = self.folder / "unsorted"
        self._buckets.mkdir()
        self._bucket_rows = bucket_rows
        self._buffer: WordArray = np.empty(BUFFERED, dtype=np.uint64)
        self._buffered = 0

    def __enter__(self) -> CellWriter:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        shutil.rmtree(self._buckets, ignore_errors=True)
        if kind is not None and not self._named:
            shutil.rmtree(self.folder, ignore_errors=True)

    def add(self, rows: AnyArray, columns: AnyArray, codes: AnyArray) -> None:
        """Add cells to the buffer."""
        self._take(_packed(rows, columns, codes))

    def _take(self, packed: WordArray) -> None:
        while packed.size:
            n = min(packed.size, BUFFERED - self._buffered)
            self._buffer[self._buffered : self._buffered + n] = packed[:n]
            self._buffered += n
            packed = packed[n:]
            if self._buffered == BUFFERED:
                self._deal()

    def _deal(self) -> None:
        """Write the buffered cells to the files of their rows."""
        if not self._buffered:
            return
        packed = self._buffer[: self._buffered]
        packed.sort()
        low, high = (int(packed[at] >> _ROW) // self._bucket_rows for at in (0, -1))
        first = np.arange(low, high + 2, dtype=np.uint64) * np.uint64(self._bucket_rows)
        start = np.searchsorted(packed, first << _ROW)
        for k in np.flatnonzero(np.diff(start)):
            with (self._buckets / str(low + k)).open("ab") as file:
                packed[start[k] : start[k + 1]].tofile(file)
        self._buffered = 0

    def finish(self, shape: tuple[int, int]) -> FolderCells:
        """Sort all cells of a table of a given shape; raise RepeatedCellError for a duplicate."""
        _check_size(shape)
        self._deal()
        self._buffer = self._buffer[:0].copy()
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
        table = FolderCells(self.folder, shape[1], start)
        if not self._named:
            finalize(table, shutil.rmtree, self.folder, ignore_errors=True)
        return table

    def _sorted(self, shape: tuple[int, int]) -> Iterator[Cells]:
        """Yield the cells of each bucket, and delete its file."""
        for k, low in enumerate(range(0, shape[0], self._bucket_rows)):
            path, n = self._buckets / str(k), min(self._bucket_rows, shape[0] - low)
            try:
                if n > 1 and path.exists() and path.stat().st_size > 16 * BUFFERED:
                    yield from self._divided(path, low, (n, shape[1]))
                else:
                    packed = np.fromfile(path, np.uint64) if path.exists() else self._buffer[:0]
                    yield _unpacked(packed - (np.uint64(low) << _ROW), (n, shape[1]))
            except RepeatedCellError as error:
                raise RepeatedCellError(error.row + low, error.column) from None
            path.unlink(missing_ok=True)

    def _divided(self, path: Path, low: int, shape: tuple[int, int]) -> Iterator[Cells]:
        """Yield the cells of a bucket, divided into buckets of fewer rows."""
        rows = max(1, shape[0] * 8 * BUFFERED // path.stat().st_size)
        with CellWriter(path.with_name(f"{path.name}-divided"), bucket_rows=rows) as writer:
            with path.open("rb") as file:
                while (packed := np.fromfile(file, np.uint64, count=BUFFERED)).size:
                    writer._take(packed - (np.uint64(low) << _ROW))
            path.unlink()
            writer._deal()
            yield from writer._sorted(shape)
