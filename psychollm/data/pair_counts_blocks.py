"""Pair counts of tables that exceed memory, computed from blocks or from batches of rows.

Pair counts of models are additive over questions. Therefore, a table that exceeds the memory of
one machine is stored in blocks, each with all answers to its questions, for example one file per
benchmark. A worker reads and counts a block and returns three matrices. A question in two blocks
raises an error, because pairs of answers in different blocks would be lost.

A long file of a hundred million answers takes gigabytes as a DataFrame and 25 MB as bits. The file
is read in batches, each answer sets two bits, and the bits are counted. The required memory is one
batch plus ``rows x columns / 4`` bytes. Several workers read row groups in parallel, but bits are
set in the order of the file, so counts, labels and errors do not depend on the number of workers.
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
from psychollm._base.types import AnyArray, Axis, FloatArray, WordArray
from psychollm.data.batches import BATCH, Rule, Source
from psychollm.data.engines import coded_batches
from psychollm.data.labels import Labels, as_labels
from psychollm.data.pair_counts import MAX_ROWS, PairCounts, plane_counts
from psychollm.data.pour import Batch, pour
from psychollm.data.responses import Responses, as_responses
from psychollm.data.scan import scan
from psychollm.kernels.codes import MISSING
from psychollm.kernels.pair_counts import fill_planes

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class Planes:
    """A binary table as two bit planes, packed (rows, words) each, with its labels."""

    yes: WordArray
    answered: WordArray  # (0, 0) if the table is complete
    rows: Labels
    columns: Labels

    def counts(self) -> tuple[FloatArray, ...]:
        """Return `joint`, `yes` and `n` of `PairCounts` for all pairs of rows, (k, k) each."""
        return plane_counts(self.yes, self.answered, len(self.columns))


class Bits:
    """Two bit planes that grow with the number of labels."""

    def __init__(self, most: int) -> None:
        self.n_answers = 0
        self._most = most
        self._planes: WordArray = np.zeros((2, 0, 0), dtype=np.uint64)  # yes, answered

    def add(self, batch: Batch) -> None:
        """Set the bits of a batch."""
        self._grow(len(batch.rows), -(-len(batch.columns) // 64))
        repeated = np.full(1, -1, dtype=np.int64)
        fill_planes(batch.row, batch.column, batch.code, *self._planes, repeated)
        if (at := repeated[0]) >= 0:
            pair = batch.rows[batch.row[at]], batch.columns[batch.column[at]]
            msg = (
                f"{batch.where}: {pair[0]!r} and {pair[1]!r} have a second answer: aggregate first"
            )
            raise LabelError(msg)
        self.n_answers += int(np.count_nonzero(batch.code != MISSING))

    def _grow(self, k: int, words: int) -> None:
        if k > self._most:
            msg = f"more than {self._most:,} rows to pair: are rows and columns exchanged?"
            raise ShapeError(msg)
        old = self._planes.shape[1:]
        if k > old[0] or words > old[1]:
            grown = [n if n <= m else max(n, 2 * m) for n, m in zip((k, words), old, strict=True)]
            planes = np.zeros((2, *np.maximum(grown, old)), dtype=np.uint64)
            planes[:, : old[0], : old[1]] = self._planes
            self._planes = planes

    def finished(self, rows: list[Any], columns: list[Any]) -> Planes:
        """Return the bit planes without unused space."""
        words = -(-len(columns) // 64)
        yes, answered = (
            np.ascontiguousarray(plane[: len(rows), :words]) for plane in self._planes
        )
        if self.n_answers == len(rows) * len(columns):
            answered = np.zeros((0, 0), dtype=np.uint64)
        return Planes(yes, answered, tuple(rows), tuple(columns))


def read_bits(data: Any, source: Source, *, n_jobs: int | None, progress: bool) -> Planes:
    """Return a long table as bit planes, with the labels of the first column as rows."""
    return pour(coded_batches(data, source, n_jobs=n_jobs), Bits(MAX_ROWS), progress=progress)


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
    """Compute pair counts of blocks in parallel, on this machine or a cluster, and sum the counts.

    Parameters
    ----------
    blocks : iterable of path, Responses or DataFrame
        Long Parquet files, or tables with models in rows. A model may be in any number of blocks,
        in any order, but all answers to a question must be in one block (with ``of="questions"``,
        all answers of a model). Workers read files themselves, whereas tables are sent to the
        workers.
    model, question, value : str
        Columns of the model, the question, and the answer (1, 0, true, false, or null).
    of : {"models", "questions"}
        Whether models or questions are paired.
    threshold, strict : optional
        If given, answers above the threshold count as yes; with ``strict=False``, answers equal to
        the threshold also count as yes.
    batch : int
        Number of rows to read at a time.
    n_jobs : int or None
        Number of workers; each needs memory for the bits and counts of one block.
    progress : bool
        Whether to show a progress bar.

    Returns
    -------
    PairCounts
        Pair counts of all blocks, which do not depend on the division into blocks. Labels are in
        the order of first occurrence.

    Raises
    ------
    LabelError
        If a question is in two blocks, or if a model answers a question twice.
    InputError
        If there are no blocks, or if a block cannot be read.

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
    """Pair counts of one block."""

    labels: Labels  # k
    units: Labels  # labels of the units over which answers are counted
    arrays: tuple[AnyArray, AnyArray, AnyArray]  # (k, k): joint, yes, n


def _counted(block: Block, *, source: Source, of: Axis) -> _Counted:
    """Return the counts of a block as 32-bit integers, which halve the number of bytes to send."""
    if isinstance(block, str | PathLike):
        planes = read_bits(block, source, n_jobs=1, progress=False)
        labels, units, arrays = planes.rows, planes.columns, planes.counts()
    else:
        table = as_responses(block, needs="cells")
        counts = PairCounts.count(table, of=of)
        labels, units = counts.labels, table.questions if of == "models" else table.models
        arrays = (counts.joint, counts.yes, counts.n)
    joint, yes, n = (array.astype(np.uint32) for array in arrays)
    return _Counted(labels, units, (joint, yes, n))


class _Total:
    """Sum of the pair counts of all blocks so far."""

    def __init__(self, of: Axis) -> None:
        self.names: list[str] = []  # names of the blocks for messages
        self._of = of
        self._place: dict[Hashable, int] = {}
        self._block: dict[Hashable, int] = {}  # index of the block of each unit
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
        """Return the sums of the pair counts."""
        if not self.names:
            msg = "blocks is empty: pass at least one file or table"
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
    """Compute the pair counts of a long table that may exceed memory.

    Parameters
    ----------
    paths : path, table, or iterable of paths or tables
        Parquet files with one row per answer, in any order, or another source that `scan` reads:
        tables of Arrow, polars, DuckDB or Dask.
    model, question, value : str
        Columns of the model, the question, and the answer (1, 0, true, false, or null).
    of : {"models", "questions"}
        Whether models or questions are paired.
    threshold, strict : optional
        If given, answers above the threshold count as yes; with ``strict=False``, answers equal to
        the threshold also count as yes.
    batch : int
        Number of rows to read at a time.
    n_jobs : int or None
        Number of workers that read row groups; each needs memory for a few batches. A row group
        longer than 16 batches is read by one worker.
    progress : bool
        Whether to show a progress bar.

    Returns
    -------
    PairCounts
        Pair counts of the table, with labels in the order of first occurrence.

    Raises
    ------
    MissingPackageError
        If pyarrow is not installed.
    InputError
        If a file is damaged, lacks a column or contains no answers.
    LabelError
        If a model answers a question twice, or if a label is missing.
    CodeError
        If an answer is neither 0 nor 1 and no threshold is given.

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
    planes = read_bits(paths, source, n_jobs=n_jobs, progress=progress)
    joint, own, both = planes.counts()
    labels = as_labels(of[:-1], planes.rows, len(joint))
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
    """Read long Parquet files as a table, using little more memory than the table itself.

    The result equals ``scan(...).responses()`` and takes three bytes per cell. If the table would
    exceed 1 GB and less than a third of the cells are filled, the result is a sparse table, which
    takes three bytes per answer.

    Parameters
    ----------
    paths : path, table, or iterable of paths or tables
        Parquet files with one row per answer, in any order, or another source that `scan` reads.
    model, question, value : str
        Columns of the model, the question, and the answer (1, 0, true, false, or null).
    threshold, strict : optional
        If given, answers above the threshold count as yes; with ``strict=False``, answers equal to
        the threshold also count as yes.
    batch : int
        Number of rows to read at a time.
    n_jobs : int or None
        Number of workers that read row groups of Parquet files.
    progress : bool
        Whether to show a progress bar.

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
