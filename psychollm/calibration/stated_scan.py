"""Stated confidence and correctness from tables larger than memory, read in one data pass.

Metrics of confidence and correctness need the answers of one model at a time. Answers are
therefore stored by model in a folder (`data.cells`), and a few models are read at a time. The
resulting `StatedAnswers` are the same as from a table in memory: questions have the same order, so
that resamples are the same. A cell stores the question, the index of the confidence level, and
correctness in four bytes.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.checks import check_count, check_fraction
from psychollm._base.errors import CodeError, ShapeError
from psychollm._base.types import AnyArray, FloatArray, IntArray
from psychollm._base.wording import parameter
from psychollm.calibration.stated import StatedAnswers, cluster_codes, question_weights
from psychollm.data.batches import BATCH, CellError, Source, _numbers
from psychollm.data.cells import CellWriter, FolderCells, RepeatedCellError, parts
from psychollm.data.engines import Chosen, coded_batches
from psychollm.data.in_folder import new_folder
from psychollm.data.labels import Labels, as_labels
from psychollm.data.pour import Batch, answered_twice, pour

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

LEVELS = 1024  # largest number of distinct confidences
MAX_QUESTIONS = (1 << 32) // (2 * LEVELS)
BLOCK_BYTES = 48_000_000  # size of one block of models in memory
DENSE_BYTES = 1_000_000_000
SMALL_MODELS, SMALL_BYTES = 100, 100_000_000
_CELL = 17  # bytes per cell in memory: two numbers and a flag
_BUCKET = 8  # number of models sorted together


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False, weakref_slot=True)
class StatedScan:
    """Stated confidence and correctness in a folder, by model; returned by `scan_stated`.

    Pass a `StatedScan` to `calibration_panel` instead of two tables.

    Attributes
    ----------
    models, questions : tuple
        Labels of the models and of the questions, in order of first occurrence.
    levels : ndarray
        Distinct confidences, in order of first occurrence.
    n : ndarray of shape (models,)
        Number of answers with both confidence and correctness.
    """

    models: Labels
    questions: Labels
    levels: FloatArray  # (levels,)
    weights: FloatArray  # (questions,) with mean one
    clusters: IntArray | None  # (questions,) numbered from zero
    _cells: FolderCells  # rows are models; columns are encoded by `_packed`

    @property
    def n(self) -> FloatArray:
        """Number of answers with both confidence and correctness (models,)."""
        return np.diff(self._cells.start).astype(np.float64)

    @property
    def weighted(self) -> bool:
        """Whether the questions' weights differ."""
        return bool((self.weights != 1.0).any())

    @property
    def is_small(self) -> bool:
        """Whether the scan is small enough for curves and comparisons of all pairs."""
        k = len(self.models)
        return k <= SMALL_MODELS and k * len(self.questions) * _CELL <= SMALL_BYTES

    def grouped(self, clusters: ArrayLike | None, weights: ArrayLike | None) -> StatedScan:
        """Return the same answers, with clusters and weights of the questions.

        Parameters
        ----------
        clusters : array_like (questions,), optional
            Cluster of each question.
        weights : array_like (questions,), optional
            Weight of each question.
        """
        return replace(
            self,
            weights=question_weights(weights, self.questions),
            clusters=None if clusters is None else cluster_codes(clusters, self.questions),
        )

    def blocks(self) -> list[tuple[int, int]]:
        """Divide the models into ranges of at most `BLOCK_BYTES` bytes, or of a single model."""
        size = max(1, BLOCK_BYTES // (_CELL * len(self.questions)))
        k = len(self.models)
        return [(low, min(low + size, k)) for low in range(0, k, size)]

    def answers(self, low: int, high: int) -> StatedAnswers:
        """Return the answers of models `low` to `high` as tables.

        Parameters
        ----------
        low, high : int
            Position of the first model, and position after the last model.
        """
        rows, question, code = _unpacked(self._cells, low, high)
        shape = (high - low, len(self.questions))
        confidence, correct = np.full(shape, np.nan), np.zeros(shape)
        present = np.zeros(shape, dtype=np.bool_)
        confidence[rows, question] = self.levels[code >> 1]
        correct[rows, question] = code & 1
        present[rows, question] = True
        return StatedAnswers(
            confidence=confidence,
            correct=correct,
            present=present,
            weights=self.weights,
            clusters=self.clusters,
            models=self.models[low:high],
            questions=self.questions,
        )

    def dense(self) -> StatedAnswers:
        """Return all answers as tables in memory.

        Raises
        ------
        ShapeError
            If the tables would exceed 1 GB.
        """
        k, n = len(self.models), len(self.questions)
        if k * n * _CELL > DENSE_BYTES:
            msg = (
                f"{k:,} models x {n:,} questions take {k * n * _CELL / 1e9:,.1f} GB as "
                "tables, "
                "which must fit into memory: read fewer models or questions"
            )
            raise ShapeError(msg)
        return self.answers(0, k)

    def __repr__(self) -> str:
        return (
            f"StatedScan: {len(self.models):,} models x {len(self.questions):,} questions, "
            f"{int(self.n.sum()):,} answers, {self.levels.size:,} distinct confidences"
        )


def scan_stated(
    source: Any,
    *,
    model: str = "model",
    question: str = "question",
    confidence: str = "confidence",
    correct: str = "correct",
    scale: float = 1.0,
    levels: int | None = None,
    table: str | None = None,
    query: str | None = None,
    folder: str | PathLike[str] | None = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> StatedScan:
    """Read confidence and correctness from a table that may exceed memory.

    Parameters
    ----------
    source : path, table, or iterable of such
        Long table with one row per answer: Parquet files, a DuckDB database, or tables of Arrow,
        pandas, polars, DuckDB or Dask.
    model, question : str
        Columns with the labels of models and of questions.
    confidence, correct : str
        Columns with the stated probability and with correctness (1, 0, true or false). Rows with a
        missing value are skipped.
    scale : float
        Largest possible confidence, such as 10 or 100; confidences are divided by this number.
    levels : int, optional
        Number of evenly spaced values from 0 to 1 to which confidence is rounded, such as 101 for
        whole per cent. By default values are not rounded, and at most 1,024 distinct values are
        allowed.
    table, query : str, optional
        Table of a database with several tables, or an SQL query that selects the rows.
    folder : path, optional
        Empty folder for the answers, which take five bytes each. By default a temporary folder is
        used and removed together with the result.
    n_jobs : int or None
        Number of workers that read row groups of Parquet files; -1 uses all processors.
    progress : bool
        Whether to show a progress bar.

    Returns
    -------
    StatedScan
        Confidence and correctness for `calibration_panel`.

    Raises
    ------
    CodeError
        If a confidence is outside [0, 1], correctness is not 0 or 1, or there are more than 1,024
        distinct confidences.
    LabelError
        If a model answers a question twice, a label is missing, or a column does not exist.
    InputError
        If the source has no answers or cannot be read, or the folder cannot be written.
    OptionError
        If the folder is not empty, or if a database has several tables and `table` is missing.
    MissingPackageError
        If pyarrow is not installed, or if a database file is read and duckdb is not installed.

    Examples
    --------
    >>> import pandas as pd
    >>> import psychollm as psy
    >>> long = pd.DataFrame({"model": list("aaabbb"), "question": [1, 2, 3] * 2,
    ...                      "confidence": [0.9, 0.2, 0.7, 0.5, 0.6, 0.5],
    ...                      "correct": [1, 0, 1] * 2})
    >>> stated = psy.calibration.scan_stated(long)
    >>> psy.calibration_panel(stated, metrics="brier", rng=0)["brier"].value.round(3)
    array([0.047, 0.287])
    """
    if levels is not None:
        levels = check_count("levels", levels, low=2)
    scale = check_fraction("scale", scale, high=np.inf)
    columns = Source((model, question, confidence, correct), BATCH, _Pair(scale, levels))  # type: ignore[arg-type]
    batches = coded_batches(source, columns, n_jobs=n_jobs, chosen=Chosen(table, query))
    with (
        nullcontext() if folder is None else new_folder(folder) as home,
        CellWriter(home, bucket_rows=_BUCKET) as writer,
    ):
        what = "answer with confidence and correctness"
        return pour(batches, _Stated(writer), progress=progress, of=what)


@dataclass(frozen=True, slots=True)
class _Pair:
    """Parser that checks the values of the two columns."""

    scale: float
    levels: int | None

    def read(self, *columns: Any) -> FloatArray:
        """Return both Arrow columns as numbers (2, n), NaN if either value is missing."""
        stated, correct = map(_numbers, columns)
        confidence = stated / self.scale
        with np.errstate(invalid="ignore"):
            outside = (confidence < 0.0) | (confidence > 1.0)
        if outside.any():
            row = int(np.argmax(outside))
            msg = (
                f"hold a confidence of {stated[row]:g}, which is not inside [0, {self.scale:g}]: "
                f"pass {parameter('scale')}"
            )
            raise CellError(row, msg)
        wrong = ~(np.isnan(correct) | (correct == 0.0) | (correct == 1.0))
        if wrong.any():
            row = int(np.argmax(wrong))
            msg = (
                f"hold {correct[row]:g} where an answer is correct (1) or wrong (0): "
                "fractional "
                "correctness needs tables in memory"
            )
            raise CellError(row, msg)
        if self.levels is not None:
            confidence = np.rint(confidence * (self.levels - 1)) / (self.levels - 1)
        return np.where(np.isnan(confidence) | np.isnan(correct), np.nan, (confidence, correct))


class _Stated:
    """Writer that stores cells by model and numbers the distinct confidences."""

    def __init__(self, writer: CellWriter) -> None:
        self.n_answers = 0
        self._levels: dict[float, int] = {}
        self._writer = writer

    def add(self, batch: Batch) -> None:
        """Write the answers of a batch."""
        if len(batch.columns) > MAX_QUESTIONS:
            msg = f"{batch.where}: there are more than {MAX_QUESTIONS:,} questions: read a part"
            raise ShapeError(msg)
        known = ~np.isnan(batch.code[0])
        values, place = np.unique(batch.code[0, known], return_inverse=True)
        numbers = np.array(
            [self._levels.setdefault(value, len(self._levels)) for value in values.tolist()],
            dtype=np.int64,
        )
        if len(self._levels) > LEVELS:
            msg = (
                f"{batch.where}: there are more than {LEVELS:,} distinct confidences: round them, "
                "levels=101 to whole per cent"
            )
            raise CodeError(msg)
        right = batch.code[1, known].astype(np.int64)
        cells = _packed(batch.column[known], numbers[place], right)
        self._writer.add(batch.row[known], cells, np.zeros(right.size, dtype=np.uint8))
        self.n_answers += right.size

    def finished(self, rows: list[Any], columns: list[Any]) -> StatedScan:
        """Sort the written records."""
        models = as_labels("model", rows, len(rows))
        questions = as_labels("question", columns, len(columns))
        try:
            cells = self._writer.finish((len(models), len(questions) * 2 * LEVELS))
            _check_once(cells)
        except RepeatedCellError as error:
            question = questions[error.column // (2 * LEVELS)]
            raise answered_twice(models[error.row], question) from error
        return StatedScan(
            models=models,
            questions=questions,
            levels=np.array(list(self._levels)),
            weights=np.ones(len(questions)),
            clusters=None,
            _cells=cells,
        )


def _packed(question: AnyArray, level: IntArray, right: IntArray) -> AnyArray:
    """Return question, level and correctness packed into the column number of a cell."""
    return question.astype(np.int64) * (2 * LEVELS) + 2 * level + right


def _unpacked(cells: FolderCells, low: int, high: int) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Return each answer's model (from 0), question, and 2 x level + correctness."""
    part = cells.read(low, high)
    rows = np.repeat(np.arange(high - low), np.diff(part.start))
    question, code = np.divmod(part.columns, np.uint32(2 * LEVELS))
    return rows, question, code


def _check_once(cells: FolderCells) -> None:
    """Raise `RepeatedCellError` if a model has two answers, even equal ones, to a question."""
    for low, high in parts(cells):
        rows, question, _ = _unpacked(cells, low, high)
        twice = np.flatnonzero((rows[1:] == rows[:-1]) & (question[1:] == question[:-1]))
        if twice.size:
            place = int(twice[0])
            column = int(question[place]) * 2 * LEVELS
            raise RepeatedCellError(int(rows[place]) + low, column)
