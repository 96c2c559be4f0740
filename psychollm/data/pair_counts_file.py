"""Long Parquet files of any length to counts or to a table, batch by batch.

A file of a hundred million answers takes gigabytes as a frame and 25 MB as bits. So it is read in
batches, each answer sets two bits, and the counts are taken from the bits. Memory: one batch, and
``rows x columns / 4`` bytes.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from psychollm._base.checks import check_choice, check_count
from psychollm._base.errors import CodeError, InputError, LabelError, ShapeError
from psychollm._base.optional import require
from psychollm._base.progress import progress_bar
from psychollm._base.types import AnyArray, Axis, FloatArray, IntArray, WordArray
from psychollm.data.labels import as_labels, listed
from psychollm.data.pair_counts import MAX_ROWS, PairCounts
from psychollm.data.responses import Responses
from psychollm.kernels.bit_planes import MISSING, fill_planes
from psychollm.kernels.pair_counts import count_pairs, count_with_missing, unpack_rows

Paths = str | PathLike[str] | Iterable[str | PathLike[str]]
BATCH = 1 << 20  # rows


def read_pair_counts(
    paths: Paths,
    *,
    model: str = "model",
    question: str = "question",
    value: str = "value",
    of: Axis = "models",
    threshold: float | None = None,
    strict: bool = True,
    batch: int = BATCH,
    progress: bool = False,
) -> PairCounts:
    """Count pairs in long Parquet files that need not fit into memory.

    Parameters
    ----------
    paths : path or iterable of paths
        Parquet files with a row per answer, in any order.
    model, question, value : str
        Columns that hold the model, the question, and the answer: 1, 0, true, false, or null.
    of : {"models", "questions"}
        What is paired.
    threshold, strict : optional
        If given, an answer is yes above it (or not below it).
    batch : int
        Rows to read at a time.
    progress : bool
        Whether to show a bar.

    Returns
    -------
    PairCounts
        As `PairCounts.count` gives for the same table; labels are in the order in which they
        first occur.

    Raises
    ------
    MissingPackageError
        If pyarrow is not installed.
    InputError
        If a file is damaged, lacks a column or holds no answers.
    LabelError
        If a model answers a question twice, or a label is missing.
    CodeError
        If an answer is neither 0 nor 1, and there is no threshold.

    Examples
    --------
    >>> import pandas as pd
    >>> path = getfixture("tmp_path") / "a.parquet"
    >>> long = pd.DataFrame({"model": list("aabb"), "question": [1, 2, 1, 2]})
    >>> long.assign(value=[1, 0, 1, 1]).to_parquet(path)
    >>> read_pair_counts(path).joint.tolist()
    [[1.0, 1.0], [1.0, 2.0]]
    """
    check_choice("of", of, Axis)
    names = (model, question) if of == "models" else (question, model)
    rule = _Rule(threshold, strict=strict)
    bits = _read(paths, (*names, value), rule, batch=batch, progress=progress, most=MAX_ROWS)
    yes, answered, k = bits.yes, bits.answered, len(bits.rows.labels)
    joint = np.empty((k, k))
    if bits.n_answers == k * len(bits.columns.labels):
        count_pairs(yes, joint)
        own = np.repeat(np.diagonal(joint)[:, None], k, axis=1)
        both = np.full((k, k), float(len(bits.columns.labels)))
    else:
        own, both = np.empty((k, k)), np.empty((k, k))
        count_with_missing(yes, answered, joint, own, both)
    labels = as_labels(of[:-1], bits.rows.labels, k)
    return PairCounts(joint=joint, yes=own, n=both, squares=both.copy(), labels=labels, of=of)


def stream_responses(
    paths: Paths,
    *,
    model: str = "model",
    question: str = "question",
    value: str = "value",
    threshold: float | None = None,
    strict: bool = True,
    batch: int = BATCH,
    progress: bool = False,
) -> Responses:
    """Read long Parquet files as a table in little more memory than the table takes.

    Parameters and errors as in `read_pair_counts`; three bytes per cell, and one batch.

    Examples
    --------
    >>> import pandas as pd
    >>> path = getfixture("tmp_path") / "a.parquet"
    >>> long = pd.DataFrame({"model": list("aab"), "question": [1, 2, 1], "value": [1, 0, 1]})
    >>> long.to_parquet(path)
    >>> stream_responses(path).values.tolist()
    [[1.0, 0.0], [1.0, nan]]
    """
    rule = _Rule(threshold, strict=strict)
    bits = _read(paths, (model, question, value), rule, batch=batch, progress=progress, most=None)
    n = len(bits.columns.labels)
    return Responses(
        codes=unpack_rows(bits.yes, n).astype(np.int16),
        missing=~unpack_rows(bits.answered, n),
        models=as_labels("model", bits.rows.labels, len(bits.rows.labels)),
        questions=as_labels("question", bits.columns.labels, n),
        coding=rule.coding,
    )


@dataclass(frozen=True, slots=True)
class _Rule:
    """What is a yes."""

    threshold: float | None
    strict: bool = field(kw_only=True)

    @property
    def coding(self) -> str:
        if self.threshold is None:
            return "binary"
        return f"value {'>' if self.strict else '>='} {self.threshold:g}"

    def code(self, values: FloatArray) -> AnyArray:
        """Return 0, 1 or MISSING for each value.

        Raises
        ------
        CodeError
            If a value is neither 0 nor 1, and there is no threshold.
        """
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
        for place in new[np.argsort(first)]:
            self._translation[place] = self._known[self._names[place]] = len(self.labels)
            self.labels.append(self._names[place])
        return self._translation[indices]


class _Bits:
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


def _read(
    paths: Paths,
    names: tuple[str, str, str],
    rule: _Rule,
    *,
    batch: int,
    progress: bool,
    most: int | None,
) -> _Bits:
    """Return the bits of all files: rows by the first column, columns by the second."""
    files = [paths] if isinstance(paths, str | PathLike) else list(paths)
    size = check_count("batch", batch)
    bits = _Bits(most)
    for path in map(Path, files):
        start = 1
        for rows in _batches(path, names, size, progress=progress):
            _add(bits, rows, rule, f"{path}, rows {start:,} to {start + rows.num_rows - 1:,}")
            start += rows.num_rows
    if not bits.n_answers:
        msg = f"there is no answer in {listed([str(path) for path in files])}"
        raise InputError(msg)
    return bits


def _add(bits: _Bits, rows: Any, rule: _Rule, where: str) -> None:
    """Add a batch: two columns of labels, and one of values."""
    encoded = [_encoded(rows.column(place), rows.schema.names[place], where) for place in (0, 1)]
    try:
        code = rule.code(_numbers(rows.column(2)))
    except (CodeError, ValueError, TypeError) as error:
        msg = f"{where}, column {rows.schema.names[2]!r} {error}"
        raise CodeError(msg) from error
    row, column = bits.rows.number(encoded[0]), bits.columns.number(encoded[1])
    repeated = bits.add(row, column, code)
    if repeated >= 0:
        pair = bits.rows.labels[row[repeated]], bits.columns.labels[column[repeated]]
        msg = f"{where}: {pair[0]!r} and {pair[1]!r} have a second answer: aggregate first"
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
    found: FloatArray = column.cast(arrow.float64()).to_numpy(zero_copy_only=False)
    return found


def _batches(path: Path, names: Sequence[str], size: int, *, progress: bool) -> Iterator[Any]:
    """Yield batches with the columns in the order of `names`."""
    arrow = require("pyarrow", extra="io", purpose="reading Parquet files")
    parquet = require("pyarrow.parquet", extra="io", purpose="reading Parquet files")
    try:
        _check_columns(path, parquet.read_schema(path).names, names)
        # Labels stay as numbers into a dictionary: nothing is spelt out a hundred million times.
        with parquet.ParquetFile(path, read_dictionary=list(names[:2])) as file:
            bar = progress_bar(show=progress, total=file.metadata.num_rows, label=path.name)
            for rows in file.iter_batches(batch_size=size, columns=list(names)):
                yield rows.select(list(names))
                bar.update(rows.num_rows)
            bar.close()
    except (arrow.ArrowException, OSError) as error:
        msg = f"{path} cannot be read as Parquet: {error}"
        raise InputError(msg) from error


def _check_columns(path: Path, present: Sequence[str], wanted: Sequence[str]) -> None:
    absent = [name for name in wanted if name not in present]
    if absent:
        msg = f"{path} has no column {absent[0]!r}: its columns are {listed(present)}"
        raise LabelError(msg)
