"""Long tables batch by batch: labels numbered as they come, and codes."""

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from psychollm._base.checks import check_choice, check_count, is_missing_value
from psychollm._base.errors import CodeError, LabelError, OptionError
from psychollm._base.optional import require
from psychollm._base.replicate import in_turn, workers
from psychollm._base.types import AnyArray, Axis, FloatArray, IntArray
from psychollm.data.labels import listed
from psychollm.data.readers.parquet_file import open_parquet
from psychollm.kernels.label_numbers import number_labels, place_labels
from psychollm.kernels.pair_counts import MISSING

BATCH = 1 << 20  # rows
LONGEST = 16  # batches in a piece of work
WAITING = 4  # pieces per worker whose answers may wait
_UNKNOWN = np.inf


@dataclass(frozen=True, slots=True)
class Rule:
    """What an answer means."""

    threshold: float | None
    strict: bool = field(kw_only=True)
    highest: int = field(default=1, kw_only=True)  # code without a threshold
    codes: Mapping[Any, int] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.threshold is not None and not isinstance(self.threshold, float | int | np.number):
            msg = (
                f"threshold={self.threshold!r} must be a number for answers read in batches: "
                "rules for each model, such as 'model_median', are for Responses(data, threshold=)"
            )
            raise OptionError(msg)
        if self.codes is not None and self.threshold is not None:
            msg = "codes= (what words mean) and threshold= (where to split) exclude each other"
            raise OptionError(msg)

    @property
    def coding(self) -> str:
        """What the codes of a binary table mean, in words."""
        if self.threshold is None:
            return "binary"
        return f"value {'>' if self.strict else '>='} {self.threshold:g}"

    def read(self, column: Any) -> AnyArray:
        """Return the codes of a column of Arrow."""
        if self.codes is None:
            return self.code(_numbers(column))
        if not hasattr(column, "dictionary"):
            column = column.dictionary_encode()
        meanings = [self._meaning(value) for value in column.dictionary.to_pylist()]
        used = column.indices.fill_null(len(meanings)).to_numpy(zero_copy_only=False)
        coded = np.array([*meanings, np.nan])[used]
        absent = np.flatnonzero(coded == _UNKNOWN)
        if absent.size:
            value = column.dictionary[int(used[absent[0]])].as_py()
            msg = f"holds {value!r}, not a key of codes={dict(self.codes)!r}: add it"
            raise CodeError(msg)
        return self.code(coded)

    def _meaning(self, value: Any) -> float:
        return np.nan if is_missing_value(value) else (self.codes or {}).get(value, _UNKNOWN)

    def code(self, values: FloatArray) -> AnyArray:
        """Return the code of each value, or MISSING (int8)."""
        missing = np.isnan(values)
        if self.threshold is None:
            coded = np.where(missing, MISSING, values)
            bad = ~(missing | ((coded >= 0) & (coded <= self.highest) & (coded == np.rint(coded))))
            if bad.any():
                msg = f"holds {values[int(np.flatnonzero(bad)[0])]:g}: {self._admitted}"
                raise CodeError(msg)
            return coded.astype(np.int8)
        yes = values > self.threshold if self.strict else values >= self.threshold
        return np.where(missing, np.int8(MISSING), yes.astype(np.int8))

    @property
    def _admitted(self) -> str:
        if self.highest == 1:
            return "answers are 1, 0 or null; split graded ones with threshold="
        return (
            f"answers are null or whole numbers 0 to {self.highest}; split stated confidence "
            "with threshold="
        )


class Numbered:
    """Labels numbered in the order in which they first occur."""

    def __init__(self) -> None:
        self.labels: list[Any] = []
        self._whole: _WholeNumbers | None = _WholeNumbers()  # None once there are other labels
        self._known: dict[Any, int] = {}
        self._last: Any = None  # the dictionary of the last batch, often that of the next one
        self._names: list[Any] = []
        self._translation: IntArray = np.empty(0, dtype=np.int64)

    def number(self, column: Any) -> AnyArray:
        """Return the number of each label of a batch, as `Coded` has them."""
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
        # A dictionary may hold labels that no row bears: only what occurs is numbered.
        new, first = np.unique(indices[numbers < 0], return_index=True)
        if not new.size:
            return numbers
        for name in new[np.argsort(first)]:
            self._translation[name] = self._known[self._names[name]] = len(self.labels)
            self.labels.append(self._names[name])
        return self._translation[indices]


class _WholeNumbers:
    """Labels that are whole numbers: they never become objects one by one."""

    def __init__(self) -> None:
        self._n = 0
        self._known: IntArray = np.empty(0, dtype=np.int64)
        self._room(1 << 10)

    def _room(self, n: int) -> None:
        """Make room for so many labels."""
        known = np.empty(n, dtype=np.int64)
        known[: self._n] = self._known[: self._n]
        self._known = known
        self._keys = np.empty(2 * n, dtype=np.int64)
        self._slots = np.full(2 * n, -1, dtype=np.int32)
        place_labels(known, self._n, self._keys, self._slots)

    def number(self, labels: IntArray) -> tuple[AnyArray, IntArray]:
        """Return the number of each label, and the labels that are new."""
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
class Source:
    """What to read of the files, and how."""

    names: tuple[str, ...]  # rows, columns, values
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
class Coded:
    """A batch: two columns of labels, encoded by a dictionary or whole numbers, and codes."""

    row: Any
    column: Any
    code: AnyArray  # what the rule returns: int8, MISSING where there is no answer
    where: str


def check_columns(names: Sequence[str], present: Sequence[str], what: object) -> None:
    """Refuse a source that lacks a column."""
    absent = [name for name in names if name not in present]
    if absent:
        msg = f"{what} has no column {absent[0]!r}: its columns are {listed(present)}"
        raise LabelError(msg)


def _pieces(path: Path, source: Source) -> Iterator[_Piece]:
    """Divide a file, without reading its rows."""
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
    """Return the number of rows of Parquet files, and their batches, whoever reads them."""
    pieces = [piece for path in paths for piece in _pieces(path, source)]
    return sum(piece.stop - piece.start for piece in pieces), _all_coded(pieces, source, n_jobs)


def _all_coded(pieces: Sequence[_Piece], source: Source, n_jobs: int | None) -> Generator[Coded]:
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


def _batches(piece: _Piece, *, source: Source) -> list[Coded]:
    return list(_coded(piece, source, threads=False))


def _coded(piece: _Piece, source: Source, *, threads: bool) -> Generator[Coded]:
    """Yield the batches of a piece."""
    names, start = list(source.names), piece.start + 1
    # Labels stay as numbers into a dictionary: nothing is spelt out a hundred million times.
    with open_parquet(piece.path, dictionaries=names[:2], bounded=False) as file:
        for rows in file.iter_batches(
            source.batch, row_groups=list(piece.groups), columns=names, use_threads=threads
        ):
            where = f"{piece.path}, rows {start:,} to {start + rows.num_rows - 1:,}"
            start += rows.num_rows
            yield coded_batch(rows.select(names), source.rule, where)


def coded_batch(rows: Any, rule: Rule, where: str) -> Coded:
    """Return a batch of Arrow, two columns of labels and those the rule takes, as a `Coded`."""
    row, column = (_encoded(rows.column(i), rows.schema.names[i], where) for i in (0, 1))
    try:
        code = rule.read(*rows.columns[2:])
    except (CodeError, ValueError, TypeError) as error:
        named = " and ".join(map(repr, rows.schema.names[2:]))
        msg = f"{where}, column{'s' * (rows.num_columns > 3)} {named} {error}"
        raise CodeError(msg) from error
    return Coded(row, column, code, where)


def _encoded(column: Any, name: str, where: str) -> Any:
    """Return labels as whole numbers, or encoded by a dictionary."""
    arrow = require("pyarrow", extra="io", purpose="reading long tables batch by batch")
    if column.null_count:
        msg = f"{where}: column {name!r} has {column.null_count:,} empty cells"
        raise LabelError(msg)
    kind, types = column.type, arrow.types
    if types.is_dictionary(kind) or (types.is_integer(kind) and not types.is_uint64(kind)):
        return column
    return column.dictionary_encode()


def _numbers(column: Any) -> FloatArray:
    arrow = require("pyarrow", extra="io", purpose="reading long tables batch by batch")
    if arrow.types.is_boolean(column.type):
        column = column.cast(arrow.int8())
    values: FloatArray = column.cast(arrow.float64()).to_numpy(zero_copy_only=False)
    return values
