"""Tables of responses of which most cells are empty, kept by their answers.

An answer takes three bytes (five in a table of more than 65,536 models), and once more by model
when that is first asked for; a cell of a dense table takes three, whether or not there is an
answer.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from html import escape
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from psychollm._base.errors import ShapeError, SparseError
from psychollm._base.types import BoolArray, CodeArray, FloatArray, IntArray
from psychollm.data.cells import DENSE_BYTES, Cells, CellTable, MemoryCells, dense_blocks, parts
from psychollm.data.labels import Labels, positions
from psychollm.data.responses import Responses

if TYPE_CHECKING:
    import pandas as pd

_LEFT_OUT = frozenset({"codes", "missing"})


def dense_arrays(by_question: CellTable, n_models: int) -> tuple[CodeArray, BoolArray]:
    """Return codes and missing (models, questions)."""
    n_questions = by_question.start.size - 1
    codes = np.zeros((n_models, n_questions), dtype=np.int16)
    missing = np.ones((n_models, n_questions), dtype=np.bool_)
    for low, high in parts(by_question):
        cells = by_question.read(low, high)
        questions = np.repeat(np.arange(low, high), np.diff(cells.start))
        codes[cells.columns, questions] = cells.codes
        missing[cells.columns, questions] = False
    return codes, missing


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False, init=False)
class SparseResponses(Responses):
    """`Responses` kept by their answers, with the same surface but for the dense arrays.

    Whatever needs `codes`, `missing` or `values` raises SparseError, which says how large they
    would be; `dense` makes a table that has them.

    Attributes
    ----------
    cells : Cells
        The answers: rows are questions, columns are models.
    models, questions, coding, cuts, flipped
        As in `Responses`.
    """

    codes: CodeArray = field(init=False)
    missing: BoolArray = field(init=False)
    cells: Cells
    _by_model: list[MemoryCells] = field(init=False)  # one, when it has been asked for

    @classmethod
    def of_cells(
        cls,
        cells: Cells,
        *,
        models: Labels,
        questions: Labels,
        coding: str = "binary",
        cuts: FloatArray | None = None,
        flipped: Labels = (),
    ) -> "SparseResponses":
        """Make a table of its parts, which are neither copied nor checked except for shapes."""
        made = object.__new__(cls)
        labels = {"models": models, "questions": questions, "coding": coding}
        for name, value in (labels | {"cells": cells, "cuts": cuts, "flipped": flipped}).items():
            object.__setattr__(made, name, value)
        object.__setattr__(made, "_by_model", [])
        if cells.start.size != len(questions) + 1:
            msg = f"cells of {cells.start.size - 1} questions, but {len(questions)} labels"
            raise ShapeError(msg)
        for array in (cells.start, cells.columns, cells.codes, cuts):
            if array is not None:
                array.flags.writeable = False
        return made

    @classmethod
    def _of_fields(cls, values: Mapping[str, Any]) -> "SparseResponses":
        return cls.of_cells(**values)

    def __reduce__(self) -> Any:
        return _restored, ({name: getattr(self, name) for name in self._public()},)

    def __str__(self) -> str:
        return repr(self)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"

    def _public(self) -> list[str]:
        names = [one.name for one in fields(self) if one.name not in _LEFT_OUT]
        return [name for name in names if not name.startswith("_")]

    def __getattr__(self, name: str) -> NoReturn:
        if name not in _LEFT_OUT:
            msg = f"{type(self).__name__} has no attribute {name!r}"
            raise AttributeError(msg)
        self._refuse()

    def _refuse(self) -> NoReturn:
        cells = self.n_models * self.n_questions
        msg = (
            f"a dense table is needed here, and these responses are sparse: {self.n_models:,} "
            f"models x {self.n_questions:,} questions, {100 * self.n_answers / cells:.3g} % of "
            f"them filled. Pass responses.dense(), which takes {_size(cells * DENSE_BYTES)}, or "
            "fewer models or questions with .select(...).dense()"
        )
        raise SparseError(msg)

    @property
    def is_sparse(self) -> bool:
        """Whether the table is kept by its answers."""
        return True

    @property
    def by_question(self) -> MemoryCells:
        """The answers: rows are questions, columns are models."""
        return MemoryCells(self.cells, self.n_models)

    @property
    def by_model(self) -> MemoryCells:
        """The answers: rows are models, columns are questions. Made when first asked for."""
        if not self._by_model:
            self._by_model.append(self.by_question.transposed())
        return self._by_model[0]

    @property
    def n_answers(self) -> int:
        """Number of answers."""
        return int(self.cells.codes.size)

    @property
    def highest(self) -> int:
        """The highest code."""
        return int(self.cells.codes.max(initial=0))

    @property
    def answered(self) -> IntArray:
        """Number of questions that each model answered (models,)."""
        return np.bincount(self.cells.columns, minlength=self.n_models)

    @property
    def values(self) -> FloatArray:
        """Codes as floats, which a sparse table does not have."""
        self._refuse()

    def _sums(self) -> IntArray:
        found = np.bincount(self.cells.columns, self.cells.codes, minlength=self.n_models)
        return found.astype(np.int64)  # whole numbers far below 2 ** 53

    def _first_above(self, code: int) -> tuple[int, int, int]:
        at = int(np.flatnonzero(self.cells.codes > code)[0])
        question = int(np.searchsorted(self.cells.start, at, side="right")) - 1
        return int(self.cells.columns[at]), question, int(self.cells.codes[at])

    def _rows(self) -> IntArray:
        """Return the question of each answer."""
        return np.repeat(np.arange(self.n_questions, dtype=np.uint32), np.diff(self.cells.start))

    def _taken(self, rows: IntArray | None, columns: IntArray | None) -> "Responses":
        if rows is None and columns is None:
            return self
        model, question, codes = self.cells.columns, self._rows(), self.cells.codes
        for chosen, n, is_question in ((rows, self.n_models, 0), (columns, self.n_questions, 1)):
            if chosen is None:
                continue
            number = np.full(n, -1, dtype=np.int64)
            number[chosen] = np.arange(chosen.size)
            moved = number[question if is_question else model]
            kept = moved >= 0
            other = (model if is_question else question)[kept]
            moved, codes = moved[kept], codes[kept]
            model, question = (other, moved) if is_question else (moved, other)
        models, questions, cuts, flipped = self._labels_taken(rows, columns)
        table = MemoryCells.of(question, model, codes, (len(questions), len(models)))
        return SparseResponses.of_cells(
            table.cells,
            models=models,
            questions=questions,
            coding=self.coding,
            cuts=cuts,
            flipped=flipped,
        )

    def flip(self, models: Iterable[Any] | None = None) -> "Responses":
        """Reverse yes and no for some models (all by default); `flipped` records them."""
        self._check_binary("flip")
        rows = positions("model", self.models, models)
        turn = np.zeros(self.n_models, dtype=np.uint8)
        turn[rows] = 1
        codes = self.cells.codes ^ turn[self.cells.columns]
        return SparseResponses.of_cells(
            Cells(self.cells.start, self.cells.columns, codes),
            models=self.models,
            questions=self.questions,
            coding=self.coding,
            cuts=self.cuts,
            flipped=self._flipped_with(rows),
        )

    def transpose(self) -> "Responses":
        """Exchange models and questions; the cuts, which belong to models, are left out."""
        return SparseResponses.of_cells(
            self.by_model.cells, models=self.questions, questions=self.models, coding=self.coding
        )

    def dense(self) -> Responses:
        """Return the same answers as a dense table, three bytes a cell."""
        codes, missing = dense_arrays(self.by_question, self.n_models)
        return Responses.from_codes(
            codes,
            missing,
            models=self.models,
            questions=self.questions,
            coding=self.coding,
            cuts=self.cuts,
            flipped=self.flipped,
        )

    def sparse(self) -> Responses:
        """Return this table."""
        return self

    def to_frame(self) -> "pd.DataFrame":
        """Return the long table of `to_long`: a wide one would be dense."""
        return self.to_long()

    def blocks(self, size: int | None = None) -> Iterator[tuple[CodeArray, BoolArray]]:
        """Yield codes and missing of some questions after the other, none but these dense."""
        return dense_blocks(self.by_question, size)

    def _cells_by_model(self) -> tuple[IntArray, IntArray, IntArray]:
        cells = self.by_model.cells
        rows = np.repeat(np.arange(self.n_models), np.diff(cells.start))
        return rows, cells.columns.astype(np.int64), cells.codes.astype(np.int64)


def _restored(values: Mapping[str, Any]) -> SparseResponses:
    return SparseResponses.of_cells(**values)


def _size(n: float) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6)):
        if n >= size:
            return f"{n / size:.3g} {unit}"
    return f"{n / 1e3:.3g} kB"
