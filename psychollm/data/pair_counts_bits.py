"""Rows of long tables to planes of bits, batch by batch, by one worker or several."""

from contextlib import closing
from typing import Any

import numpy as np

from psychollm._base.errors import InputError, LabelError, ShapeError
from psychollm._base.replicate import progress_bar
from psychollm._base.types import AnyArray, FloatArray, IntArray, WordArray
from psychollm.data.batches import Coded, Numbered, Source
from psychollm.data.engines import coded_batches
from psychollm.kernels.pair_counts import MISSING, count_pairs, count_with_missing, fill_planes


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
