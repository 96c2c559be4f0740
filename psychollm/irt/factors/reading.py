"""What the rounds read of a table: answers, those held out, and which cells are filled at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from psychollm._base.errors import InputError
from psychollm._base.types import AnyArray, BoolArray, FloatArray, IntArray
from psychollm.data.cells import CellSource, CellTable, cells_of, parts
from psychollm.data.responses import as_responses
from psychollm.kernels.cell_draws import draw_empty, hold_out

BLOCK = 1 << 20  # cells: small enough for several workers to share a million answers
HELD_OUT = 0.02


def as_source(data: Any) -> CellSource:
    """Return what is kept by its cells as it is, and any other table as its cells."""
    return cells_of(data) or cast("CellSource", as_responses(data).sparse())


@dataclass(frozen=True, slots=True)
class Filled:
    """The answers, as shares of the highest."""

    table: CellTable
    highest: int
    seed: int | None = None  # of the cells that are held out
    held: bool = False  # whether to read these, or the others

    @classmethod
    def of(cls, table: CellTable) -> Filled:
        """Look through a table for its highest answer.

        Raises
        ------
        InputError
            If there is no answer, or all are the lowest.
        """
        highest = max(
            (int(table.read(*bounds).codes.max(initial=0)) for bounds in parts(table)), default=0
        )
        if highest == 0:
            msg = (
                "responses hold no answer above 0, of which factors could be estimated: check how "
                "they are coded"
            )
            raise InputError(msg)
        return cls(table, highest)

    def __call__(self, low: int, high: int) -> tuple[IntArray, AnyArray, FloatArray]:
        """Return the answers to some questions."""
        cells = self.table.read(low, high)
        answers = cells.codes / float(self.highest)
        if self.seed is None:
            return cells.start, cells.columns, answers
        held: BoolArray = np.empty(answers.size, dtype=np.bool_)
        hold_out(cells.start, cells.columns, low, np.uint64(self.seed), HELD_OUT, held)
        kept = held if self.held else ~held
        start = np.concatenate([[0], np.cumsum(kept)])[cells.start]
        return start, cells.columns[kept], answers[kept]


@dataclass(frozen=True, slots=True)
class Asked:
    """Which cells are filled: 1 for those, 0 for empty ones drawn with probability `share`."""

    table: CellTable
    share: float
    seed: int

    @classmethod
    def of(cls, table: CellTable, seed: int) -> Asked:
        """Draw about as many empty cells as are filled.

        Raises
        ------
        InputError
            If no cell is empty.
        """
        filled = int(table.start[-1])
        empty = (table.start.size - 1) * table.n_columns - filled
        if not empty:
            msg = "gaps='modelled', but no cell is empty: leave out gaps"
            raise InputError(msg)
        return cls(table, min(1.0, filled / empty), seed)

    def __call__(self, low: int, high: int) -> tuple[IntArray, AnyArray, FloatArray]:
        """Return whether models were asked some questions."""
        cells = self.table.read(low, high)
        rows = (cells.start, cells.columns), self.table.n_columns, low, np.uint64(self.seed)
        begin = np.empty_like(cells.start)
        models, asked = np.empty(0, dtype=np.int64), np.empty(0)
        draw_empty(*rows, self.share, begin, (models, asked))  # counts
        models, asked = np.empty(int(begin[-1]), dtype=np.int64), np.empty(int(begin[-1]))
        draw_empty(*rows, self.share, begin, (models, asked))
        return begin, models, asked
