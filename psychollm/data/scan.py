"""Tables of responses of any size, stored on disk."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any, cast

import numpy as np

from psychollm._base.types import IntArray
from psychollm.data.batches import BATCH, Rule, Source
from psychollm.data.engines import Chosen, coded_batches
from psychollm.data.in_folder import InFolder, read_cells
from psychollm.data.labels import listed
from psychollm.data.responses import Responses
from psychollm.data.table import MAX_CODE


class Scan(Responses):
    """Responses of any size, whose filled cells are in a folder.

    The function `scan` creates a `Scan`. A scan is pickled as the path of its folder, so workers
    must have access to the same disk. `select`, `flip` and `transpose` return sparse tables in
    memory.

    Attributes
    ----------
    folder : Path
        Folder of the cells, with about three bytes per answer, or twice as many once the cells
        have also been stored by model.
    models, questions : tuple
        Labels, in order of first occurrence.
    coding : str
        "binary", "graded", or the rule that split stated confidence.
    highest : int
        The largest code.

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

    __slots__ = ()

    @classmethod
    def open(cls, folder: str | PathLike[str]) -> Scan:
        """Open the scan in a folder.

        Raises
        ------
        InputError
            If the folder does not contain a finished scan.
        """
        return cls._of_folder(InFolder.open(folder))

    @classmethod
    def _of_folder(cls, kept: InFolder) -> Scan:
        return cast("Scan", cls._of(kept, kept.about.labels))

    def __reduce__(self) -> Any:
        return Scan.open, (self.folder,)  # without the labels, which may be millions

    @property
    def folder(self) -> Path:
        """Folder that contains the cells."""
        return cast("InFolder", self._kept).folder

    @property
    def answers_per_question(self) -> IntArray:
        """Number of models that answered each question (questions,)."""
        return np.diff(self.by_question.start)

    def responses(self, *, sparse: bool | None = None) -> Responses:
        """Return the answers of the scan as a table in memory.

        Parameters
        ----------
        sparse : bool, optional
            Whether to store only the filled cells. By default, the table is sparse if a dense
            table would take more than 1 GB and less than a third of its cells are filled.

        Examples
        --------
        >>> import pandas as pd
        >>> long = pd.DataFrame({"model": list("aab"), "question": [1, 2, 2], "value": [1, 0, 1]})
        >>> scan(long).responses().values
        array([[ 1.,  0.],
               [nan,  1.]])
        """
        return self._in_memory(sparse=sparse)

    def __repr__(self) -> str:
        n, cells = self.n_answers, self.n_models * self.n_questions
        return "\n".join(
            [
                f"Scan: {self.n_models:,} models x {self.n_questions:,} questions, {self.coding}",
                f"  answers    {n:,} ({100 * n / cells:.3g} % of the cells)",
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
    """Read answers that may exceed memory, from any source, into a folder of cells.

    Parameters
    ----------
    source : path, table, or iterable of paths or tables
        Table with one row per answer. Possible sources are a Parquet file, a list of Parquet files
        or a folder that contains them (also in subfolders); a DuckDB database file; a Table,
        RecordBatch, RecordBatchReader or Dataset of Arrow; a DataFrame of pandas or polars; a
        LazyFrame; a relation of DuckDB; a dataframe of Dask; or an iterable of tables, which are
        read one after another. To filter or aggregate, use the source, for example
        ``lazy.filter(...)`` or ``duckdb.sql("SELECT ...")``.
    model, question, value : str
        Names of the columns. Values are whole numbers from 0 to 15, true or false, or null for a
        missing answer. All other columns are ignored.
    codes : mapping, optional
        Code of each value, such as ``{"yes": 1, "no": 0}``.
    threshold, strict : optional
        If given, answers above the threshold count as yes; with ``strict=False``, answers equal to
        the threshold also count as yes.
    table, query : str, optional
        Table of a database file, if the file has several tables, or an SQL query. The file is
        opened read-only.
    folder : path, optional
        Empty or new folder for the cells, which `Scan.open` can open again. By default, a
        temporary folder (below ``TMPDIR``), which is deleted with the scan.
    batch : int
        Number of rows to read at a time.
    n_jobs : int or None
        Number of workers that read the row groups of Parquet files.
    progress : bool
        Whether to show a progress bar.

    Returns
    -------
    Scan
        Cells sorted by question; cells sorted by model are written on first use.

    Raises
    ------
    LabelError
        If a model answers a question twice, if a label is missing, or if a column does not exist.
    CodeError
        If an answer is not a code and no threshold is given.
    InputError
        If there are no answers, if the source cannot be read, or if the folder cannot be written.
    OptionError
        If the folder is not empty, or if a database has several tables and neither `table` nor
        `query` is given.
    MissingPackageError
        If pyarrow or, for a database file, duckdb is not installed.

    Notes
    -----
    For any number of answers, reading needs about 0.5 GB of memory in addition to the labels and
    the data of the engine. Reading also needs eight bytes of disk space per answer; the result
    takes three to five bytes.

    Examples
    --------
    >>> import pandas as pd
    >>> import psychollm as psy
    >>> long = pd.DataFrame({"model": list("aab"), "question": [1, 2, 2], "value": [1, 0, 1]})
    >>> psy.data.scan(long).answers_per_question.tolist()
    [1, 2]

    Read a selection from a database (requires ``pip install duckdb``):

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
    return Scan._of_folder(read_cells(batches, rule, folder, progress=progress))
