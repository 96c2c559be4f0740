"""Counts of blocks, each counted by itself, added up.

Counts of pairs of models add over questions. So a table too large for one machine is kept in
blocks, each with all answers to its questions: one file per benchmark, say. A worker reads a
block, counts it and returns three matrices; a question in two blocks would lose the pairs of
answers that stand in different ones, and is refused.

A long file of a hundred million answers takes gigabytes as a frame and 25 MB as bits. So it is
read in batches, each answer sets two bits, and the counts are taken from the bits. Memory: one
batch, and ``rows x columns / 4`` bytes. Several workers read row groups side by side, and the
answers are set in the order of the file: the same counts, the same labels, the same complaints.

Rows of long tables to planes of bits, batch by batch, by one worker or several.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from psychollm._base.errors import InputError, LabelError, ShapeError
from psychollm._base.replicate import in_turn, progress_bar, workers
from psychollm._base.types import AnyArray, Axis, FloatArray, IntArray, WordArray
from psychollm.data.batches import BATCH, Coded, Numbered, Rule, Source
from psychollm.data.engines import coded_batches
from psychollm.data.labels import Labels, as_labels
from psychollm.data.pair_counts import MAX_ROWS, PairCounts
from psychollm.data.responses import Responses, as_responses
from psychollm.data.scan import scan
from psychollm.kernels.pair_counts import MISSING, count_pairs, count_with_missing, fill_planes

if TYPE_CHECKING:
    import pandas as pd


class Bits:
    """Two planes of bits that grow as labels come."""

    def __init__(self, most: int | None) -> None:
        self.rows, self.columns = Numbered(), Numbered()
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


def read_bits(
    data: Any, source: Source, *, most: int | None, n_jobs: int | None, progress: bool
) -> Bits:
    """Return the bits of a long table: rows by the first column, columns by the second."""
    bits = Bits(most)
    batches = coded_batches(data, source, n_jobs=n_jobs)
    bar = progress_bar(show=progress, total=batches.total, label="answers")
    with closing(batches.stream) as stream:
        for coded in stream:
            _add(bits, coded)
            bar.update(coded.code.size)
    bar.close()
    if not bits.n_answers:
        msg = f"there is no answer in {batches.name}"
        raise InputError(msg)
    return bits


def _add(bits: Bits, coded: Coded) -> None:
    """Add a batch."""
    row, column = coded.numbered(bits.rows, bits.columns)
    repeated = bits.add(row, column, coded.code)
    if repeated >= 0:
        pair = bits.rows.labels[row[repeated]], bits.columns.labels[column[repeated]]
        msg = f"{coded.where}: {pair[0]!r} and {pair[1]!r} have a second answer: aggregate first"
        raise LabelError(msg)


Block: TypeAlias = "str | PathLike[str] | Responses | pd.DataFrame"


def count_blocks(
    blocks: Iterable[Block],
    *,
    model: str = "model",
    question: str = "question",
    value: str = "value",
    of: Axis = "models",
    threshold: float | None = None,
    strict: bool = True,
    batch: int = BATCH,
    n_jobs: int | None = None,
    progress: bool = False,
) -> PairCounts:
    """Count pairs block by block, side by side on this machine or on a cluster, and add them up.

    Parameters
    ----------
    blocks : iterable of path, Responses or DataFrame
        Long Parquet files, or tables with models in rows. Models may be in any number of blocks,
        in any order. The answers to a question stand in one block (with ``of="questions"``, the
        answers of a model). Paths are read where the work is done; tables travel there.
    model, question, value, threshold, strict, batch
        How files are read, as in `read_pair_counts`; tables hold 0, 1 and missing answers.
    of : {"models", "questions"}
        What is paired.
    n_jobs : int or None
        Workers. A worker holds one block, as bits, and its counts.
    progress : bool
        Whether to show a bar.

    Returns
    -------
    PairCounts
        As `read_pair_counts` gives for all of it, whatever the blocks and the workers; labels are
        in the order in which they first occur.

    Raises
    ------
    LabelError
        If a question is in two blocks, or a model answers it twice.
    InputError
        If there are no blocks, or one cannot be read.

    Examples
    --------
    >>> import psychollm as psy
    >>> first = psy.Responses([[1, 0], [1, 1]], models=["a", "b"], questions=[1, 2])
    >>> second = psy.Responses([[0], [1]], models=["c", "b"], questions=[3])
    >>> counts = count_blocks([first, second], of="models")
    >>> counts.labels, counts.n[1].tolist()
    (('a', 'b', 'c'), [2.0, 3.0, 1.0])
    """
    source = Source.of(of, (model, question), value, Rule(threshold, strict=strict), batch)
    total = _Total(of)
    given = blocks if isinstance(blocks, list | tuple) else list(blocks)
    bar = progress_bar(show=progress, total=len(given), label="blocks")
    count = partial(_counted, source=source, of=of)
    with closing(in_turn(count, given, workers(n_jobs), waiting=2)) as results:
        for block, counted in zip(given, results, strict=True):
            named = isinstance(block, str | PathLike)
            total.add(counted, fspath(block) if named else f"block {len(total.names) + 1}")
            bar.update(1)
    bar.close()
    return total.counts()


@dataclass(frozen=True, slots=True)
class _Counted:
    """What a block adds."""

    labels: Labels  # k
    units: Labels  # that were counted over
    arrays: tuple[AnyArray, AnyArray, AnyArray]  # (k, k): joint, yes, n


def _counted(block: Block, *, source: Source, of: Axis) -> _Counted:
    """Return the counts of a block in half the bytes: they are whole numbers, and they travel."""
    if isinstance(block, str | PathLike):
        bits = read_bits(block, source, most=MAX_ROWS, n_jobs=1, progress=False)
        labels, units = tuple(bits.rows.labels), tuple(bits.columns.labels)
        arrays = count_bits(bits)
    else:
        table = as_responses(block)
        counts = PairCounts.count(table, of=of)
        labels, units = counts.labels, table.questions if of == "models" else table.models
        arrays = (counts.joint, counts.yes, counts.n)
    joint, yes, n = (array.astype(np.uint32) for array in arrays)
    return _Counted(labels, units, (joint, yes, n))


class _Total:
    """Counts so far, of all rows so far."""

    def __init__(self, of: Axis) -> None:
        self.names: list[str] = []  # of blocks
        self._of = of
        self._place: dict[Hashable, int] = {}
        self._block: dict[Hashable, int] = {}  # of each unit
        self._arrays: Any = np.zeros((3, 0, 0))

    def add(self, counted: _Counted, name: str) -> None:
        """Add a block."""
        for unit in counted.units:
            before = self._block.setdefault(unit, len(self.names))
            if before != len(self.names):
                what = "question" if self._of == "models" else "model"
                msg = (
                    f"{what} {unit!r} is in {self.names[before]} and in {name}: pairs of answers "
                    f"in different blocks cannot be counted. Put all answers of a {what} into one "
                    "block, or count all files together with read_pair_counts"
                )
                raise LabelError(msg)
        self.names.append(name)
        at = [self._place.setdefault(label, len(self._place)) for label in counted.labels]
        self._grow(len(self._place))
        for mine, other in zip(self._arrays, counted.arrays, strict=True):
            mine[np.ix_(at, at)] += other

    def _grow(self, k: int) -> None:
        before = self._arrays.shape[1]
        if k > before:
            arrays = np.zeros((3, k, k))
            arrays[:, :before, :before] = self._arrays
            self._arrays = arrays

    def counts(self) -> PairCounts:
        """Return the sums."""
        if not self.names:
            msg = "there are no blocks to count: pass at least one file or table"
            raise InputError(msg)
        joint, yes, n = self._arrays
        labels = tuple(self._place)
        return PairCounts(joint=joint, yes=yes, n=n, squares=n.copy(), labels=labels, of=self._of)


def read_pair_counts(
    paths: Any,
    *,
    model: str = "model",
    question: str = "question",
    value: str = "value",
    of: Axis = "models",
    threshold: float | None = None,
    strict: bool = True,
    batch: int = BATCH,
    n_jobs: int | None = None,
    progress: bool = False,
) -> PairCounts:
    """Count pairs in a long table that need not fit into memory.

    Parameters
    ----------
    paths : path, table, or iterable of such
        Parquet files with a row per answer, in any order, or whatever else `scan` reads: tables
        of Arrow, polars, DuckDB or Dask.
    model, question, value : str
        Columns that hold the model, the question, and the answer: 1, 0, true, false, or null.
    of : {"models", "questions"}
        What is paired.
    threshold, strict : optional
        If given, an answer is yes above it (or not below it).
    batch : int
        Rows to read at a time.
    n_jobs : int or None
        Workers that read row groups; each holds a few batches. Files whose row groups are longer
        than 16 batches are read by one.
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
    >>> read_pair_counts(path, of="models").joint.tolist()
    [[1.0, 1.0], [1.0, 2.0]]
    """
    source = Source.of(of, (model, question), value, Rule(threshold, strict=strict), batch)
    bits = read_bits(paths, source, most=MAX_ROWS, n_jobs=n_jobs, progress=progress)
    joint, own, both = count_bits(bits)
    labels = as_labels(of[:-1], bits.rows.labels, len(joint))
    return PairCounts(joint=joint, yes=own, n=both, squares=both.copy(), labels=labels, of=of)


def stream_responses(
    paths: Any,
    *,
    model: str = "model",
    question: str = "question",
    value: str = "value",
    threshold: float | None = None,
    strict: bool = True,
    batch: int = BATCH,
    n_jobs: int | None = None,
    progress: bool = False,
) -> Responses:
    """Read long Parquet files as a table in little more memory than the table takes.

    What `scan` reads, and ``scan(...).responses()`` makes of it: three bytes a cell, or, where
    that is more than 1 GB and less than a third of it is filled, three bytes an answer.

    Parameters and errors as in `scan`.

    Examples
    --------
    >>> import pandas as pd
    >>> path = getfixture("tmp_path") / "a.parquet"
    >>> long = pd.DataFrame({"model": list("aab"), "question": [1, 2, 1], "value": [1, 0, 1]})
    >>> long.to_parquet(path)
    >>> stream_responses(path).values.tolist()
    [[1.0, 0.0], [1.0, nan]]
    """
    found = scan(
        paths,
        model=model,
        question=question,
        value=value,
        threshold=threshold,
        strict=strict,
        batch=batch,
        n_jobs=n_jobs,
        progress=progress,
    )
    return found.responses()
