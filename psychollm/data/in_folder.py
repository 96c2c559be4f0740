"""Folders of answers from any source, sorted by question without loading all answers.

Labels are numbered in order of occurrence, and a cell is stored as two numbers and a code. Cells
are written to files of a few thousand questions each, and the files are then sorted one at a time
(`psychollm.data.cells`). Only a batch, a buffer and the labels are in memory.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any
from uuid import uuid4
from weakref import finalize

import numpy as np

from psychollm._base.errors import InputError, OptionError
from psychollm._base.result import Result
from psychollm._base.types import IntArray
from psychollm.data.batches import Rule
from psychollm.data.cells import CellTable, CellWriter, FolderCells, RepeatedCellError
from psychollm.data.engines import Batches
from psychollm.data.kept import Sparse
from psychollm.data.labels import Labels, as_labels
from psychollm.data.pour import Batch, answered_twice, pour
from psychollm.data.table import MAX_CODE

_ABOUT, _BY_QUESTION, _BY_MODEL = "scan.psy", "by_question", "by_model"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScanLabels(Result):
    """Labels and totals of a folder of cells."""

    models: Labels
    questions: Labels
    coding: str
    highest: int  # largest code
    answers_per_model: IntArray  # (models,)
    sums: IntArray  # (models,) sum of each model's codes

    @property
    def labels(self) -> dict[str, Any]:
        """Labels of models and questions, and the coding."""
        return {"models": self.models, "questions": self.questions, "coding": self.coding}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, weakref_slot=True)
class InFolder(Sparse):
    """The filled cells that are stored in a folder.

    An `InFolder` is pickled as the path of its folder, so a worker must have access to the same
    disk.
    """

    folder: Path
    about: ScanLabels

    @classmethod
    def open(cls, folder: str | PathLike[str]) -> InFolder:
        """Return the cells that `read_cells` has written to a folder."""
        path = _path(folder)
        if not (path / _ABOUT).is_file():
            msg = (
                f"{path} does not hold a finished scan: create one with scan(source, "
                f"folder={str(path)!r})"
            )
            raise InputError(msg)
        path = path.resolve()
        cells = FolderCells.open(path / _BY_QUESTION)
        return cls(by_question=cells, folder=path, about=ScanLabels.load(path / _ABOUT))

    def __reduce__(self) -> Any:
        return InFolder.open, (self.folder,)

    @property
    def highest(self) -> int:
        """The largest code."""
        return self.about.highest

    @property
    def answered(self) -> IntArray:
        """Number of answers of each model."""
        return self.about.answers_per_model

    @property
    def sums(self) -> IntArray:
        """Sum of codes of each model."""
        return self.about.sums

    def _transposed(self) -> CellTable:
        final = self.folder / _BY_MODEL
        if not final.exists():
            # Several workers may write the same cells at the same time. The first worker to finish
            # renames its folder to the final name.
            part = self.folder / f"{_BY_MODEL}.{uuid4().hex[:12]}"
            try:
                with _written(self.folder):
                    FolderCells.open(self.folder / _BY_QUESTION).transposed(part)
                    part.rename(final)
            except InputError:
                if not final.exists():
                    raise
            finally:
                shutil.rmtree(part, ignore_errors=True)
        return FolderCells.open(final)


def read_cells(
    batches: Batches, rule: Rule, folder: str | PathLike[str] | None = None, *, progress: bool
) -> InFolder:
    """Write answers into a folder of cells, by default a temporary folder."""
    with new_folder(folder) as home, CellWriter(home / _BY_QUESTION) as writer:
        pour(batches, _Sorted(writer, rule), progress=progress).save(home / _ABOUT)
    made = InFolder.open(home)
    if folder is None:
        finalize(made, shutil.rmtree, made.folder, ignore_errors=True)
    return made


@contextmanager
def new_folder(folder: str | PathLike[str] | None) -> Iterator[Path]:
    """Yield an empty folder; after an error, the folder is emptied, or deleted if it was new."""
    path = Path(tempfile.mkdtemp(prefix="psychollm-scan-")) if folder is None else _path(folder)
    with _written(path):
        if (path / _ABOUT).exists():
            msg = f"folder {path} already holds a scan: open it with Scan.open, or delete it"
            raise OptionError(msg)
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            msg = f"folder {path} is not empty: use an empty or new one"
            raise OptionError(msg)
        kept = folder is not None and path.exists()
        path.mkdir(parents=True, exist_ok=True)
        try:
            yield path
        except BaseException:
            for one in path.iterdir() if kept else [path]:
                if one.is_dir():
                    shutil.rmtree(one, ignore_errors=True)
                else:
                    one.unlink()
            raise


@contextmanager
def _written(folder: Path) -> Iterator[None]:
    """If writing fails, raise an error that names the folder."""
    try:
        yield
    except OSError as error:
        msg = f"the folder {folder} cannot be written: {error}"
        raise InputError(msg) from error


def _path(folder: object) -> Path:
    if not isinstance(folder, str | PathLike):
        msg = f"folder={folder!r} must be a path"
        raise OptionError(msg)
    return Path(folder)


class _Sorted:
    """A writer of cells that counts answers by code and model."""

    def __init__(self, writer: CellWriter, rule: Rule) -> None:
        self._writer, self._rule = writer, rule
        self._counts = np.zeros((MAX_CODE + 1, 0), dtype=np.int64)  # (codes, models)

    @property
    def n_answers(self) -> int:
        """Number of answers written so far."""
        return int(self._counts.sum())

    def add(self, batch: Batch) -> None:
        """Write a batch."""
        row, column, code = batch.row, batch.column, batch.code
        answered = code >= 0
        if not answered.all():
            row, column, code = row[answered], column[answered], code[answered]
        self._writer.add(column, row, code)
        k, width = len(batch.rows), MAX_CODE + 1
        added = np.bincount(row * width + code, minlength=k * width).reshape(k, width).T
        added[:, : self._counts.shape[1]] += self._counts
        self._counts = added

    def finished(self, rows: list[Any], columns: list[Any]) -> ScanLabels:
        """Sort the written cells, and return the labels and totals."""
        try:
            self._writer.finish((len(columns), len(rows)))
        except RepeatedCellError as error:
            raise answered_twice(rows[error.column], columns[error.row]) from error
        highest = int(np.flatnonzero(self._counts.any(axis=1))[-1])
        graded = self._rule.threshold is None and highest > 1
        return ScanLabels(
            models=as_labels("model", rows, len(rows)),
            questions=as_labels("question", columns, len(columns)),
            coding="graded" if graded else self._rule.coding,
            highest=highest,
            answers_per_model=self._counts.sum(axis=0),
            sums=np.arange(MAX_CODE + 1) @ self._counts,
        )
