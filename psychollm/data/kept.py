"""Storage of the answers of a table of responses: dense, or sparse (filled cells only).

In a sparse table, a filled cell takes three bytes (five with more than 65,536 models), and about
twice as many once the table is also stored by model. In a dense table, every cell takes three
bytes, filled or empty.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeAlias

import numpy as np

from psychollm._base.errors import SparseError
from psychollm._base.types import AnyArray, BoolArray, CodeArray, IntArray
from psychollm.data.cells import (
    DENSE_BYTES,
    Cells,
    CellTable,
    MemoryCells,
    block_size,
    dense_blocks,
    parts,
)


@dataclass(frozen=True, slots=True, eq=False)
class Dense:
    """Dense storage: every cell (models, questions), filled or empty."""

    codes: CodeArray  # 0 where missing
    missing: BoolArray

    def __post_init__(self) -> None:
        for name in ("codes", "missing"):  # compiled kernels require contiguous rows
            array = np.ascontiguousarray(getattr(self, name))
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    def check_dense(self, argument: str) -> None:
        """Do nothing, because the table is already dense."""

    @property
    def highest(self) -> int:
        """The largest code."""
        return int(self.codes.max())

    @property
    def answered(self) -> IntArray:
        """Number of answers of each model."""
        n = self.missing.shape[1] - self.missing.sum(axis=1)
        return np.asarray(n, dtype=np.int64)

    @property
    def sums(self) -> IntArray:
        """Sum of codes of each model."""
        return np.asarray(self.codes.sum(axis=1, dtype=np.int64))

    @property
    def by_question(self) -> MemoryCells:
        """The filled cells: rows are questions, columns are models."""
        models, questions, codes = self.numbered()
        return MemoryCells.of(questions, models, codes, self.codes.shape[::-1])

    @property
    def by_model(self) -> MemoryCells:
        """The filled cells: rows are models, columns are questions."""
        return MemoryCells.of(*self.numbered(), self.codes.shape)

    def numbered(self) -> tuple[IntArray, IntArray, IntArray]:
        """Return the model, the question and the code of each answer, model by model."""
        models, questions = np.nonzero(~self.missing)
        return models, questions, self.codes[models, questions].astype(np.int64)

    def first_above(self, code: int) -> tuple[int, int, int]:
        """Return model, question and code of the first answer with a code greater than `code`."""
        model, question = (int(first[0]) for first in (self.codes > code).nonzero())
        return model, question, int(self.codes[model, question])

    def taken(self, models: IntArray | None, questions: IntArray | None) -> Dense:
        """Return the table of some models or questions, in the order given."""
        codes, missing = self.codes, self.missing
        if models is not None:
            codes, missing = codes[models], missing[models]
        if questions is not None:
            codes, missing = codes[:, questions], missing[:, questions]
        return Dense(codes, missing)

    def flipped(self, models: IntArray) -> Dense:
        """Return the table with yes and no exchanged for some models."""
        codes = self.codes.copy()
        codes[models] = np.where(self.missing[models], 0, 1 - codes[models])
        return Dense(codes, self.missing)

    def transposed(self) -> Dense:
        """Return the table with models and questions exchanged."""
        return Dense(self.codes.T, self.missing.T)

    def dense(self) -> Dense:
        """Return this table."""
        return self

    def sparse(self) -> Sparse:
        """Return a sparse table."""
        return Sparse.of(self.by_question)

    def blocks(self, size: int | None) -> Iterator[tuple[CodeArray, BoolArray]]:
        """Yield codes and missing masks of successive blocks of questions."""
        step = size or block_size(len(self.codes))
        for low in range(0, self.codes.shape[1], step):
            yield self.codes[:, low : low + step], self.missing[:, low : low + step]


@dataclass(frozen=True, slots=True, eq=False)
class Sparse:
    """Sparse storage: the filled cells by question and by model, in memory or in a folder."""

    by_question: CellTable  # rows are questions, columns are models
    # at most one table, created on request
    _by_model: list[CellTable] = field(default_factory=list)

    @classmethod
    def of(cls, table: CellTable) -> Sparse:
        """Return a sparse table of cells; cells in memory are made read-only."""
        if isinstance(table, MemoryCells):
            for array in (table.start, table.cells.columns, table.cells.codes):
                array.flags.writeable = False
        return Sparse(table)

    def __reduce__(self) -> Any:
        return Sparse.of, (self.by_question,)

    @property
    def codes(self) -> CodeArray:
        """Raise `SparseError`, because only a dense table has an array of codes."""
        self.check_dense("responses")

    @property
    def missing(self) -> BoolArray:
        """Raise `SparseError`, because only a dense table has a mask."""
        self.check_dense("responses")

    def check_dense(self, argument: str) -> NoReturn:
        """Raise `SparseError`, because the table is not dense."""
        n, cells = int(self.by_question.start[-1]), self.n_models * self.n_questions
        msg = (
            f"{argument}: a dense table is needed, but this one is sparse: {self.n_models:,} "
            f"models x {self.n_questions:,} questions, {100 * n / cells:.3g} % of them filled. "
            f"Pass {argument}.dense(), which takes {_size(cells * DENSE_BYTES)}, or select fewer "
            "models or questions with .select(...).dense()"
        )
        raise SparseError(msg)

    @property
    def n_models(self) -> int:
        """Number of models."""
        return self.by_question.n_columns

    @property
    def n_questions(self) -> int:
        """Number of questions."""
        return self.by_question.start.size - 1

    @property
    def by_model(self) -> CellTable:
        """The cells with models as rows and questions as columns, computed on first use."""
        if not self._by_model:
            self._by_model.append(self._transposed())
        return self._by_model[0]

    def _transposed(self) -> CellTable:
        table = self.by_question
        assert isinstance(table, MemoryCells)  # noqa: S101 -- a folder overrides this method
        return table.transposed()

    def sparse(self) -> Sparse:
        """Return the sparse table with its cells in memory."""
        if isinstance(self.by_question, MemoryCells):
            return self
        return Sparse.of(MemoryCells(self.by_question.read(0, self.n_questions), self.n_models))

    def _each(self) -> Iterator[Cells]:
        """Yield the cells of successive ranges of questions."""
        for low, high in parts(self.by_question):
            yield self.by_question.read(low, high)

    def _numbered(self, kind: type[np.integer[Any]]) -> Iterator[tuple[AnyArray, Cells]]:
        """Yield the cells of successive ranges of questions, and the question of each cell."""
        low = 0
        for cells in self._each():
            rows = np.arange(low, low + cells.start.size - 1, dtype=kind)
            yield np.repeat(rows, np.diff(cells.start)), cells
            low += rows.size

    @property
    def highest(self) -> int:
        """The largest code."""
        return max((int(cells.codes.max(initial=0)) for cells in self._each()), default=0)

    @property
    def answered(self) -> IntArray:
        """Number of answers of each model."""
        n = np.zeros(self.n_models, dtype=np.int64)
        for cells in self._each():
            n += np.bincount(cells.columns, minlength=n.size)
        return n

    @property
    def sums(self) -> IntArray:
        """Sum of codes of each model."""
        found = np.zeros(self.n_models)
        for cells in self._each():
            found += np.bincount(cells.columns, cells.codes, minlength=found.size)
        return found.astype(np.int64)  # exact, because the sums are integers far below 2 ** 53

    def numbered(self) -> tuple[IntArray, IntArray, IntArray]:
        """Return the model, the question and the code of each answer, model by model."""
        cells = self.by_model.read(0, self.n_models)
        models = np.repeat(np.arange(self.n_models), np.diff(cells.start))
        return models, cells.columns.astype(np.int64), cells.codes.astype(np.int64)

    def first_above(self, code: int) -> tuple[int, int, int]:
        """Return model, question and code of the first answer above `code`, in question order."""
        return next(
            (int(cells.columns[at[0]]), int(questions[at[0]]), int(cells.codes[at[0]]))
            for questions, cells in self._numbered(np.int64)
            if (at := np.flatnonzero(cells.codes > code)).size
        )

    def taken(self, models: IntArray | None, questions: IntArray | None) -> Sparse:
        """Return the table of some models or questions, in the order given."""
        if models is None and questions is None:
            return self
        to_row, to_column = _places(questions, self.n_questions), _places(models, self.n_models)
        found = []
        for row, cells in self._numbered(np.uint32):
            column, codes = cells.columns, cells.codes
            if to_row is not None:
                row, column, codes = _moved(to_row, row, column, codes)
            if to_column is not None:
                column, row, codes = _moved(to_column, column, row, codes)
            found.append((row, column, codes))
        rows, columns, every = (np.concatenate(one) for one in zip(*found, strict=True))
        n, k = self.n_questions, self.n_models
        shape = n if questions is None else questions.size, k if models is None else models.size
        return Sparse.of(MemoryCells.of(rows, columns, every, shape))

    def flipped(self, models: IntArray) -> Sparse:
        """Return the table with yes and no exchanged for some models."""
        turn = np.zeros(self.n_models, dtype=np.uint8)
        turn[models] = 1
        cells = self.by_question.read(0, self.n_questions)
        codes = cells.codes ^ turn[cells.columns]
        return Sparse.of(MemoryCells(Cells(cells.start, cells.columns, codes), self.n_models))

    def transposed(self) -> Sparse:
        """Return the table with models and questions exchanged."""
        return Sparse.of(MemoryCells(self.by_model.read(0, self.n_models), self.n_questions))

    def dense(self) -> Dense:
        """Return a dense table."""
        codes = np.zeros((self.n_models, self.n_questions), dtype=np.int16)
        missing = np.ones(codes.shape, dtype=np.bool_)
        for questions, cells in self._numbered(np.int64):
            codes[cells.columns, questions] = cells.codes
            missing[cells.columns, questions] = False
        return Dense(codes, missing)

    def blocks(self, size: int | None) -> Iterator[tuple[CodeArray, BoolArray]]:
        """Yield codes and missing masks of blocks of questions; one block at a time is dense."""
        return dense_blocks(self.by_question, size)


def _size(n: float) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6)):
        if n >= size:
            return f"{n / size:.3g} {unit}"
    return f"{n / 1e3:.3g} kB"


def _places(chosen: IntArray | None, n: int) -> AnyArray | None:
    """Return the new index of each of n labels (-1 if dropped), or None if no index changes."""
    if chosen is None:
        return None
    places = np.full(n, -1, dtype=np.int32)
    places[chosen] = np.arange(chosen.size)
    return places


def _moved(places: AnyArray, at: AnyArray, *others: AnyArray) -> list[AnyArray]:
    """Return the kept cells, with the old indices `at` replaced by new indices."""
    at = places[at]
    kept = at >= 0
    return [at[kept], *(one[kept] for one in others)]


Kept: TypeAlias = Dense | Sparse
