"""`scan`: answers from where they lie into a folder, sorted by question, never all in memory.

Labels are numbered as they come; a cell is its two numbers and its code. Cells are dealt to files
of some thousands of questions each and sorted file by file (`psychollm.data.cells`), so that what
is in memory is a batch, a buffer and the labels.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, NoReturn
from uuid import uuid4
from weakref import finalize

import numpy as np

from psychollm._base.errors import CodeError, InputError, LabelError, OptionError, SparseError
from psychollm._base.replicate import progress_bar
from psychollm._base.result import Result
from psychollm._base.types import AnyArray, FloatArray, IntArray
from psychollm.data.batches import BATCH, Numbered, Rule, Source
from psychollm.data.cells import CellWriter, FolderCells, RepeatedCellError, is_better_sparse
from psychollm.data.engines import Batches, Chosen, coded_batches
from psychollm.data.labels import Labels, as_labels, listed
from psychollm.data.responses import Responses
from psychollm.data.sparse import SparseResponses, dense_arrays
from psychollm.data.table import MAX_CODE

_ABOUT, _BY_QUESTION, _BY_MODEL = "scan.psy", "by_question", "by_model"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScanLabels(Result):
    """What a folder of cells is a table of."""

    models: Labels
    questions: Labels
    coding: str
    highest: int  # code
    answers_per_model: IntArray  # (models,)
    sums: IntArray  # (models,) of codes


@dataclass(frozen=True, slots=True, eq=False, repr=False, weakref_slot=True)
class Scan:
    """Answers of any number in a folder: the cells of each question, and of each model.

    It is made by `scan` and travels as the path of its folder: a worker on this machine, or one
    that sees the same disk, reads the same cells.

    Attributes
    ----------
    folder : Path
        Where the cells are: three bytes for an answer, and as many again by model.
    models, questions : tuple
        Labels, in the order in which they first occur.
    coding : str
        "binary", "graded", or the rule that split what was stated.
    highest : int
        The highest code.

    Examples
    --------
    >>> import pandas as pd
    >>> import psychollm as psy
    >>> long = pd.DataFrame({"model": list("aab"), "question": [1, 2, 2], "value": [1, 0, 1]})
    >>> found = psy.data.scan(long)
    >>> found.by_question.read(1, 2).columns  # who answered question 2
    array([0, 1], dtype=uint16)
    >>> found.yes_rates
    array([0.5, 1. ])
    """

    folder: Path
    _held: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def open(cls, folder: str | PathLike[str]) -> Scan:
        """Return what `scan` left in a folder that was named.

        Raises
        ------
        InputError
            If the folder holds no finished scan.
        """
        path = _path(folder)
        if not (path / _ABOUT).is_file():
            msg = (
                f"{path} holds no finished scan: make one with scan(source, folder={str(path)!r})"
            )
            raise InputError(msg)
        return cls(path.resolve())

    def __reduce__(self) -> Any:
        return Scan.open, (self.folder,)

    def __getattr__(self, name: str) -> NoReturn:
        if name not in {"codes", "missing", "values"}:
            msg = f"{type(self).__name__} has no attribute {name!r}"
            raise AttributeError(msg)
        msg = (
            f"a table in memory is needed here, and this is a scan of {self.n_answers:,} answers: "
            "pass scan.responses(), or scan.responses().dense() where a dense one is needed"
        )
        raise SparseError(msg)

    def _once(self, name: str, make: Any) -> Any:
        if name not in self._held:
            self._held[name] = make()
        return self._held[name]

    @property
    def _labels(self) -> ScanLabels:
        found: ScanLabels = self._once(_ABOUT, lambda: ScanLabels.load(self.folder / _ABOUT))
        return found

    @property
    def models(self) -> Labels:
        """Labels of the models."""
        return self._labels.models

    @property
    def questions(self) -> Labels:
        """Labels of the questions."""
        return self._labels.questions

    @property
    def coding(self) -> str:
        """How the codes were made."""
        return self._labels.coding

    @property
    def highest(self) -> int:
        """The highest code."""
        return self._labels.highest

    @property
    def is_binary(self) -> bool:
        """Whether all codes are 0 or 1."""
        return self.highest <= 1

    @property
    def n_models(self) -> int:
        """Number of models."""
        return len(self.models)

    @property
    def n_questions(self) -> int:
        """Number of questions."""
        return len(self.questions)

    @property
    def n_answers(self) -> int:
        """Number of answers."""
        return int(self.answers_per_model.sum())

    @property
    def filled(self) -> float:
        """Share of the cells that hold an answer."""
        return self.n_answers / (self.n_models * self.n_questions)

    @property
    def answers_per_model(self) -> IntArray:
        """Number of questions that each model answered (models,)."""
        return self._labels.answers_per_model

    @property
    def answers_per_question(self) -> IntArray:
        """Number of models that answered each question (questions,)."""
        return np.diff(self.by_question.start)

    @property
    def yes_rates(self) -> FloatArray:
        """Share of yes among the answers of each model (models,); NaN where it gave none.

        Raises
        ------
        CodeError
            If the codes are graded.
        """
        self.check_binary("yes_rates")
        n = self.answers_per_model
        rates = np.full(n.shape, np.nan)
        np.divide(self._labels.sums, n, out=rates, where=n > 0)
        return rates

    def check_binary(self, what: str) -> None:
        """Refuse graded codes where `what` needs yes and no."""
        if not self.is_binary:
            msg = f"{what} needs yes/no answers, but the codes go up to {self.highest}"
            raise CodeError(msg)

    @property
    def is_sparse(self) -> bool:
        """Whether the table is kept by its answers."""
        return True

    @property
    def by_question(self) -> FolderCells:
        """The cells: rows are questions, columns are models."""
        table: FolderCells = self._once(
            _BY_QUESTION, lambda: FolderCells.open(self.folder / _BY_QUESTION)
        )
        return table

    @property
    def by_model(self) -> FolderCells:
        """The same cells: rows are models, columns are questions. Written when first asked for."""
        table: FolderCells = self._once(_BY_MODEL, self._transposed)
        return table

    def responses(self, *, sparse: bool | None = None) -> Responses:
        """Return the same answers as a table in memory.

        Parameters
        ----------
        sparse : bool, optional
            Whether only answers are kept; by default where a dense table would take more than
            1 GB and less than a third of it is filled.

        Examples
        --------
        >>> import pandas as pd
        >>> long = pd.DataFrame({"model": list("aab"), "question": [1, 2, 2], "value": [1, 0, 1]})
        >>> scan(long).responses().values
        array([[ 1.,  0.],
               [nan,  1.]])
        """
        if sparse is None:
            sparse = is_better_sparse(self.n_models, self.n_questions, self.n_answers)
        labels: dict[str, Any] = {"models": self.models, "questions": self.questions}
        if sparse:
            cells = self.by_question.read(0, self.n_questions)
            return SparseResponses.of_cells(cells, coding=self.coding, **labels)
        codes, missing = dense_arrays(self.by_question, self.n_models)
        return Responses.from_codes(codes, missing, coding=self.coding, **labels)

    def _transposed(self) -> FolderCells:
        final = self.folder / _BY_MODEL
        if not final.exists():
            # Several workers may ask at once: whoever is first to finish gives it its name.
            part = self.folder / f"{_BY_MODEL}.{uuid4().hex[:12]}"
            try:
                with _written(self.folder):
                    self.by_question.transposed(part)
                    part.rename(final)
            except InputError:
                if not final.exists():
                    raise
            finally:
                shutil.rmtree(part, ignore_errors=True)
        return FolderCells.open(final)

    def __repr__(self) -> str:
        n = self.n_answers
        return "\n".join(
            [
                f"Scan: {self.n_models:,} models x {self.n_questions:,} questions, {self.coding}",
                f"  answers    {n:,} ({100 * self.filled:.3g} % of the cells)",
                f"  models     {listed(self.models)}",
                f"  questions  {listed(self.questions)}",
                f"  folder     {self.folder}",
            ]
        )


def scan(
    source: Any,
    *,
    model: str = "model",
    question: str = "question",
    value: str = "value",
    codes: Mapping[Any, int] | None = None,
    threshold: float | None = None,
    strict: bool = True,
    table: str | None = None,
    query: str | None = None,
    folder: str | PathLike[str] | None = None,
    batch: int = BATCH,
    n_jobs: int | None = None,
    progress: bool = False,
) -> Scan:
    """Read answers that need not fit into memory, from where they lie, into a folder of cells.

    Parameters
    ----------
    source : path, table, or iterable of such
        A row for each answer: a Parquet file, a list of them or a folder of them (with its
        subfolders); a database file of DuckDB; a Table, RecordBatch, RecordBatchReader or Dataset
        of Arrow; a DataFrame of pandas or polars; a LazyFrame; a relation of DuckDB; a dataframe
        of Dask; or an iterable of tables, one block after the other. Filters and sums belong to
        the source: ``lazy.filter(...)``, ``duckdb.sql("SELECT ...")``.
    model, question, value : str
        Columns that hold the model, the question, and the answer: a whole number 0 to 15, true,
        false, or nothing, which is no answer. No other column is read.
    codes : mapping, optional
        What each value means, such as ``{"yes": 1, "no": 0}``.
    threshold, strict : optional
        If given, an answer is yes above it (or not below it).
    table, query : str, optional
        Of a database file: the table, if it has several, or what to select in SQL. The file is
        opened for reading only.
    folder : path, optional
        Where the cells are kept, and nothing else; `Scan.open` opens it again. By default they
        lie in a temporary folder (set ``TMPDIR`` to say where), which goes with the scan.
    batch : int
        Rows to read at a time.
    n_jobs : int or None
        Workers that read the row groups of Parquet files.
    progress : bool
        Whether to show a bar.

    Returns
    -------
    Scan
        The cells, sorted by question, and by model when that is first asked for.

    Raises
    ------
    LabelError
        If a model answers a question twice, a label is missing, or there is no such column.
    CodeError
        If an answer is no code, and there is no threshold.
    InputError
        If there is nothing to read, it cannot be read, or the folder cannot be written.
    OptionError
        If the folder holds something else, or a database has several tables and none is named.
    MissingPackageError
        If pyarrow, or for a database file duckdb, is not installed.

    Notes
    -----
    Memory: about 0.5 GB beside the labels and what an engine holds, however many the answers.
    Disk: eight bytes per answer while it reads, and three to five when it is done.

    Examples
    --------
    >>> import pandas as pd
    >>> import psychollm as psy
    >>> long = pd.DataFrame({"model": list("aab"), "question": [1, 2, 2], "value": [1, 0, 1]})
    >>> psy.data.scan(long).answers_per_question.tolist()
    [1, 2]

    A database, of which some rows count (``pip install duckdb``):

    >>> path = getfixture("tmp_path") / "answers.duckdb"
    >>> import duckdb
    >>> with duckdb.connect(str(path)) as database:
    ...     _ = database.sql("CREATE TABLE runs AS SELECT * FROM long")
    >>> found = psy.data.scan(path, query="SELECT * FROM runs WHERE model = 'a'")
    >>> found.models, found.questions
    (('a',), (1, 2))
    """
    rule = Rule(threshold, strict=strict, highest=MAX_CODE, codes=codes)
    columns = Source.of("models", (model, question), value, rule, batch)
    batches = coded_batches(source, columns, n_jobs=n_jobs, chosen=Chosen(table, query))
    with new_folder(folder) as home, CellWriter(home / _BY_QUESTION) as writer:
        _Reading(writer).read(batches, rule, progress=progress).save(home / _ABOUT)
    made = Scan.open(home)
    if folder is None:
        finalize(made, shutil.rmtree, made.folder, ignore_errors=True)
    return made


@contextmanager
def new_folder(folder: str | PathLike[str] | None) -> Iterator[Path]:
    """Yield a folder that holds nothing; after an error it holds nothing, or is gone if new."""
    path = Path(tempfile.mkdtemp(prefix="psychollm-scan-")) if folder is None else _path(folder)
    with _written(path):
        if (path / _ABOUT).exists():
            msg = f"folder {path} holds a scan: open it with Scan.open, or delete it"
            raise OptionError(msg)
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            msg = f"folder {path} is not empty: name one that is, or that does not exist"
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
    """Name the folder that cannot be written."""
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


class _Reading:
    """Batches so far: their labels, and what adds up."""

    def __init__(self, writer: CellWriter) -> None:
        self._writer = writer
        self._models, self._questions = Numbered(), Numbered()
        self._counts = np.zeros(
            (MAX_CODE + 1, 0), dtype=np.int64
        )  # answers of each code and model

    def read(self, batches: Batches, rule: Rule, *, progress: bool) -> ScanLabels:
        """Write all cells, and return what they are cells of."""
        bar = progress_bar(show=progress, total=batches.total, label="answers")
        with closing(batches.stream) as stream:
            for coded in stream:
                row, column = coded.numbered(self._models, self._questions)
                self._add(row, column, coded.code)
                bar.update(coded.code.size)
        bar.close()
        if not self._counts.any():
            msg = f"there is no answer in {batches.name}"
            raise InputError(msg)
        return self._finished(rule)

    def _add(self, row: AnyArray, column: AnyArray, code: AnyArray) -> None:
        answered = code >= 0
        if not answered.all():
            row, column, code = row[answered], column[answered], code[answered]
        self._writer.add(column, row, code)
        k, width = len(self._models.labels), MAX_CODE + 1
        added = np.bincount(row * width + code, minlength=k * width).reshape(k, width).T
        added[:, : self._counts.shape[1]] += self._counts
        self._counts = added

    def _finished(self, rule: Rule) -> ScanLabels:
        models, questions = self._models.labels, self._questions.labels
        try:
            self._writer.finish((len(questions), len(models)))
        except RepeatedCellError as error:
            msg = (
                f"model {models[error.column]!r} answers question {questions[error.row]!r} twice: "
                "aggregate first, with one row for each model and question"
            )
            raise LabelError(msg) from error
        codes = np.arange(MAX_CODE + 1)
        highest = int(np.flatnonzero(self._counts.any(axis=1))[-1])
        graded = rule.threshold is None and highest > 1
        return ScanLabels(
            models=as_labels("model", models, len(models)),
            questions=as_labels("question", questions, len(questions)),
            coding="graded" if graded else rule.coding,
            highest=highest,
            answers_per_model=self._counts.sum(axis=0),
            sums=codes @ self._counts,
        )
