"""The table of responses, which contains the answer of each model to each question."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Union

import numpy as np

from psychollm._base.checks import check_choice
from psychollm._base.errors import CodeError, ShapeError
from psychollm._base.frames import long_table
from psychollm._base.result import Result
from psychollm._base.types import Axis, BoolArray, CodeArray, FloatArray, IntArray
from psychollm._base.wording import parameter
from psychollm.data.any_table import coded_fields, read_any, split_fields
from psychollm.data.batches import BATCH, Rule, Source
from psychollm.data.cells import Cells, CellTable, MemoryCells, is_better_sparse
from psychollm.data.confidence import Threshold
from psychollm.data.correlated import check_correlatable
from psychollm.data.engines import coded_batches
from psychollm.data.in_folder import read_cells
from psychollm.data.kept import Dense, Kept, Sparse
from psychollm.data.labels import Labels, Table, positions, reorder
from psychollm.data.long import Columns, Duplicates
from psychollm.data.missing_codes import Missing, MissingValues
from psychollm.data.table import MAX_CODE, as_table, values_like

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False, init=False)
class Responses(Result):
    """Table with the answer of each model to each question.

    Rows are models, columns are questions. Codes are small whole numbers: 1 = yes and 0 = no in a
    binary table, 0 to 15 in a graded table. A mask marks missing answers.

    Parameters
    ----------
    data : array-like, DataFrame, DataArray or Responses (models, questions)
        Table of 0/1, bool, graded codes 0 to 15, or values that `codes` or `threshold` convert.
        None, NaN, pandas.NA and masked values are missing. Labels are the index and columns of a
        DataFrame, or its first column. The dimension names of a DataArray (``model``,
        ``respondents``, ..., ``question``, ``items``, ...) determine its orientation. A long table
        has one row per answer. A table is treated as a long table if `question` or `value` is
        given, or if its columns have recognised names, such as "model" and "question". Pairs of
        model and question that do not occur are missing answers, and labels keep their order of
        first occurrence.
    models, questions : iterable, optional
        Unique labels that replace the labels of the data; by default the positions 0, 1, 2, ...
    codes : mapping, optional
        Code of each value, such as ``{"yes": 1, "no": 0}``; required for text.
    missing_values : iterable, optional
        Values that represent a missing answer, such as ``[9, -99]``.
    threshold : float, {"model_median", "model_mean", "model_balanced"}, mapping or array, optional
        Threshold that splits reported confidence, on any scale, into yes and no: one threshold for
        all models, a rule applied to each model's own reports, or one threshold per model.
        ``"model_balanced"`` is the midpoint between two reported values that gives the yes rate
        nearest to one half. The balanced midpoint is never equal to a report, whereas many reports
        may equal the median. `coding` and `cuts` record the rule.
    strict : bool
        Whether yes means ``value > threshold`` (default) or ``value >= threshold``.
    model, question, value : str, optional
        Columns of the model labels, the question labels (several columns are joined), and the
        answers. By default, columns with recognised names, such as "model", "question" or "item",
        and "value", are used.
    duplicates : {"error", "first", "last"}
        How to treat repeated answers of a model to a question in a long table.

    Attributes
    ----------
    codes : int16 array (models, questions)
        Codes, 0 if missing; all arrays are read-only.
    missing : bool array (models, questions)
        Mask that is True where there is no answer.
    models, questions : tuple
        Unique labels.
    coding : str
        Origin of the codes: "binary", "graded", "stated confidence > 0.5", ...
    cuts : float array (models,) or None
        Threshold of each model, if reported confidence was split.
    flipped : tuple
        Models whose coding `flip` has reversed.

    Raises
    ------
    ShapeError
        If the array is empty or not two-dimensional, or if the number of labels is wrong.
    LabelError
        If labels are missing or duplicated, if a column does not exist, if a model answers a
        question twice, or if the dimension names do not identify the models.
    CodeError
        If a value is not a code or, with `threshold`, is not a finite number. The message names
        the model and question of the first invalid value.
    OptionError
        If a rule does not exist, or if `data` is not a table.

    Warns
    -----
    ValidityWarning
        If a threshold is outside the range of its model's reports.

    Examples
    --------
    >>> import psychollm as psy
    >>> answers = psy.Responses([[1, 0, 1], [1, 1, None]], models=["a", "b"])
    >>> answers.yes_rates
    array([0.66666667, 1.        ])
    >>> answers
    Responses: 2 models x 3 questions, binary
      missing    1 of 6 (16.7 %)
      yes rates  0.667 to 1
      models     'a', 'b'
      questions  0, 1, 2

    The data may also be words, stated confidence, or a long table:

    >>> psy.Responses([["yes", "no"]], codes={"yes": 1, "no": 0}).codes
    array([[1, 0]], dtype=int16)
    >>> split = psy.Responses([[0.2, 0.7, 0.9]], threshold="model_median")
    >>> split.coding, split.codes.tolist(), split.cuts.tolist()
    ('stated confidence > model median', [[0, 0, 1]], [0.7])
    >>> import pandas as pd
    >>> long = pd.DataFrame({"model": ["a", "a"], "id": [1, 2], "sure": [90, 20]})
    >>> psy.Responses(long, question="id", value="sure", threshold=50).codes
    array([[1, 0]], dtype=int16)
    """

    models: Labels  # (models,)
    questions: Labels  # (questions,)
    coding: str = "binary"
    cuts: FloatArray | None = None  # (models,)
    flipped: Labels = ()
    _kept: Kept

    _SAVED = ("codes", "missing", "cells", "models", "questions", "coding", "cuts", "flipped")

    def __init__(
        self,
        data: Any,
        *,
        models: Iterable[Any] | None = None,
        questions: Iterable[Any] | None = None,
        codes: Mapping[Any, int] | None = None,
        missing_values: MissingValues = None,
        threshold: Threshold | None = None,
        strict: bool = True,
        model: str | None = None,
        question: str | Sequence[str] | None = None,
        value: str | None = None,
        duplicates: Duplicates = "error",
    ) -> None:
        argument = "responses" if threshold is None else "confidence"
        columns = Columns(model, question, value, duplicates)
        table = as_table(read_any(data, columns, argument), models=models, questions=questions)
        missing = Missing(missing_values)
        if missing:
            table = replace(table, values=missing.masked(table.values))
        fields = (
            coded_fields(table, codes, argument)
            if threshold is None
            else split_fields(table, threshold, strict=strict)
        )
        if isinstance(data, Responses) and codes is None and threshold is None:
            fields |= {"coding": data.coding, "cuts": data.cuts}
            fields["flipped"] = tuple(table.models[data.models.index(one)] for one in data.flipped)
        self._fill(Dense(fields.pop("codes"), fields.pop("missing")), fields)

    @classmethod
    def from_long(
        cls,
        data: Any,
        *,
        model: str = "model",
        question: str = "question",
        value: str = "value",
        codes: Mapping[Any, int] | None = None,
        threshold: float | None = None,
        strict: bool = True,
        duplicates: Duplicates = "error",
        sparse: bool | None = None,
    ) -> "Responses":
        """Convert a long table, which stays sparse if most cells are empty.

        Parameters
        ----------
        data : path, table, or iterable of paths or tables
            Table with one row per answer, in any form that `psychollm.data.scan` reads, such as a
            Parquet file, a DataFrame, or a table of Arrow, polars, DuckDB or Dask.
        model, question, value : str, optional
            Columns of the model, the question and the answer. By default, columns with recognised
            names, such as "model", "question" or "item", and "value", are used.
        codes : mapping, optional
            Code of each value, such as ``{"yes": 1, "no": 0}``; required for text.
        threshold : float, optional
            If given, answers above the threshold count as yes; with ``strict=False``, answers
            equal to the threshold also count as yes.
        strict : bool
            Whether yes means ``value > threshold`` (default) or ``value >= threshold``.
        duplicates : {"error", "first", "last"}
            How to treat repeated answers to a question; "first" and "last" load all rows into
            memory.
        sparse : bool, optional
            Whether to store only the answers, at three bytes each. By default, a table is sparse
            if a dense table, at three bytes per cell, would exceed 1 GB and less than a third of
            its cells are filled.

        Returns
        -------
        Responses
            Table of responses; its attribute ``is_sparse`` is True if the table is sparse.
            Functions based on pair counts accept a sparse table; their memory and time depend on
            the number of answers, not on the number of cells. Functions that do not use pair
            counts require a table converted by `dense`.

        Raises
        ------
        InputError
            If there are no answers, or if the source cannot be read.

        Examples
        --------
        >>> import pandas as pd
        >>> long = pd.DataFrame({"model": list("aab"), "question": [1, 2, 1], "value": [1, 0, 1]})
        >>> Responses.from_long(long, sparse=True)
        Responses (sparse): 2 models x 2 questions, binary
          missing    1 of 4 (25.0 %)
          yes rates  0.5 to 1
          models     'a', 'b'
          questions  1, 2
        """
        check_choice("duplicates", duplicates, Duplicates)
        if duplicates != "error":
            names = [model, question, value]
            frame = long_table(data, names, argument="data", row="answer")
            repeated = frame.duplicated([model, question], keep=duplicates)
            data = frame.assign(**{value: frame[value].where(~repeated)})
        rule = Rule(threshold, strict=strict, highest=MAX_CODE, codes=codes)
        columns = Source.of("models", (model, question), value, rule, BATCH)
        found = read_cells(coded_batches(data, columns), rule, progress=False)
        return Responses._of(found, found.about.labels)._in_memory(sparse=sparse)

    @classmethod
    def from_codes(
        cls,
        codes: CodeArray,
        missing: BoolArray,
        *,
        models: Labels,
        questions: Labels,
        coding: str = "binary",
        cuts: FloatArray | None = None,
        flipped: Labels = (),
    ) -> "Responses":
        """Build a table from its parts, which are not copied; only their shapes are checked.

        Parameters
        ----------
        codes, missing, models, questions, coding, cuts, flipped
            Attributes of the table, as described for `Responses`; arrays are made read-only.

        Raises
        ------
        ShapeError
            If the shapes do not match.

        Examples
        --------
        >>> codes = np.array([[1, 0]], dtype=np.int16)
        >>> Responses.from_codes(codes, codes > 1, models=("a",), questions=("x", "y")).yes_rates
        array([0.5])
        """
        shape = (len(models), len(questions))
        if codes.shape != shape or missing.shape != shape:
            msg = (
                f"codes {codes.shape} and missing {missing.shape} must have the shape "
                f"(models, questions) = {shape}"
            )
            raise ShapeError(msg)
        labels = {"models": models, "questions": questions, "coding": coding}
        return cls._of(Dense(codes, missing), {**labels, "cuts": cuts, "flipped": flipped})

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
    ) -> "Responses":
        """Build a sparse table from cells with questions as rows; the arguments are not copied."""
        if cells.start.size != len(questions) + 1:
            msg = f"cells of {cells.start.size - 1} questions, but {len(questions)} labels"
            raise ShapeError(msg)
        labels = {"models": models, "questions": questions, "coding": coding}
        kept = Sparse.of(MemoryCells(cells, len(models)))
        return cls._of(kept, {**labels, "cuts": cuts, "flipped": flipped})

    @classmethod
    def _of(cls, kept: Kept, labels: Mapping[str, Any]) -> "Responses":
        made = object.__new__(cls)
        made._fill(kept, labels)
        return made

    def _fill(self, kept: Kept, labels: Mapping[str, Any]) -> None:
        """Set the fields of a new table; omitted fields get their defaults."""
        for name, value in {"cuts": None, "flipped": (), "_kept": kept, **labels}.items():
            object.__setattr__(self, name, value)
        Result.__post_init__(self)

    def _with(self, kept: Kept, labels: Mapping[str, Any]) -> "Responses":
        """Return a copy of the table with other answers and with some fields replaced."""
        names = ("models", "questions", "coding", "cuts", "flipped")
        return Responses._of(kept, {name: getattr(self, name) for name in names} | {**labels})

    @classmethod
    def _of_fields(cls, values: Mapping[str, Any]) -> "Responses":
        return (Responses.of_cells if "cells" in values else Responses.from_codes)(**values)

    def _public(self) -> list[str]:
        left_out = {"codes", "missing"} if self.is_sparse else {"cells"}
        return [name for name in self._SAVED if name not in left_out]

    @property
    def codes(self) -> CodeArray:
        """Codes (models, questions), 0 if missing."""
        return self._kept.codes

    @property
    def missing(self) -> BoolArray:
        """Mask of missing answers (models, questions)."""
        return self._kept.missing

    @property
    def cells(self) -> Cells:
        """The filled cells, in memory: rows are questions, columns are models."""
        return self._kept.sparse().by_question.read(0, self.n_questions)

    @property
    def n_models(self) -> int:
        """Number of models."""
        return len(self.models)

    @property
    def n_questions(self) -> int:
        """Number of questions."""
        return len(self.questions)

    @property
    def is_sparse(self) -> bool:
        """Whether the table stores only cells with an answer (see `from_long`)."""
        return isinstance(self._kept, Sparse)

    @property
    def highest(self) -> int:
        """The largest code."""
        return self._kept.highest

    @property
    def by_question(self) -> CellTable:
        """The filled cells: rows are questions, columns are models."""
        return self._kept.by_question

    @property
    def by_model(self) -> CellTable:
        """The filled cells: rows are models, columns are questions."""
        return self._kept.by_model

    @property
    def is_binary(self) -> bool:
        """Whether all codes are 0 or 1."""
        return self.highest <= 1

    @property
    def n_answers(self) -> int:
        """Number of answers."""
        return int(self.answered.sum())

    @property
    def answered(self) -> IntArray:
        """Number of questions that each model answered (models,)."""
        return self._kept.answered

    @property
    def yes_rates(self) -> FloatArray:
        """Proportion of yes among the answers of each model (models,); NaN without answers.

        Raises
        ------
        CodeError
            If the codes are graded.
        """
        self._check_binary("yes_rates")
        n = self.answered
        rates = np.full(n.shape, np.nan)
        np.divide(self._kept.sums, n, out=rates, where=n > 0)
        return rates

    @property
    def values(self) -> FloatArray:
        """Codes as floats (models, questions), NaN if missing."""
        return np.where(self.missing, np.nan, self.codes.astype(np.float64))

    def select(
        self,
        *,
        models: Iterable[Any] | None = None,
        questions: Iterable[Any] | None = None,
    ) -> "Responses":
        """Return the table of some models or questions, in the order given.

        Parameters
        ----------
        models, questions : sequence of labels or boolean array, optional
            Models and questions to keep; None keeps all.

        Raises
        ------
        LabelError
            If a label is unknown or repeated.
        ShapeError
            If the selection is empty.

        Examples
        --------
        >>> table = Responses([[1, 0], [0, 1]], models=["a", "b"])
        >>> table.select(models=["b"]).codes
        array([[0, 1]], dtype=int16)
        """
        rows = None if models is None else positions("model", self.models, models)
        columns = None if questions is None else positions("question", self.questions, questions)
        return self._taken(rows, columns)

    def _taken(self, rows: IntArray | None, columns: IntArray | None) -> "Responses":
        labels: dict[str, Any] = {}
        if rows is not None:
            labels["models"] = tuple(self.models[row] for row in rows)
            labels["cuts"] = None if self.cuts is None else self.cuts[rows]
            labels["flipped"] = tuple(one for one in self.flipped if one in labels["models"])
        if columns is not None:
            labels["questions"] = tuple(self.questions[column] for column in columns)
        return self._with(self._kept.taken(rows, columns), labels)

    def flip(self, models: Iterable[Any] | None = None) -> "Responses":
        """Reverse yes and no for some models (all by default); `flipped` records these models.

        Raises
        ------
        LabelError
            If a label is unknown.
        CodeError
            If the codes are graded.

        Examples
        --------
        >>> Responses([[1, 0], [0, 0]]).flip([1]).codes
        array([[1, 0],
               [1, 1]], dtype=int16)
        """
        self._check_binary("flip")
        rows = positions("model", self.models, models)
        turned = {self.models[row] for row in rows} ^ set(self.flipped)
        flipped = tuple(model for model in self.models if model in turned)
        return self._with(self._kept.flipped(rows), {"flipped": flipped})

    def align(self, other: "Responses") -> "Responses":
        """Return `other` with its models and questions in the order of this table.

        Raises
        ------
        LabelError
            If the models or questions of the tables differ; the message names the first
            differences in each table.

        Examples
        --------
        >>> first = Responses([[1], [0]], models=["a", "b"])
        >>> second = Responses([[0], [1]], models=["b", "a"])
        >>> first.align(second).models
        ('a', 'b')
        """
        return other.ordered(self.models, self.questions)

    def ordered(self, models: Labels, questions: Labels) -> "Responses":
        """Return this table with its models and questions in the order given.

        Raises
        ------
        LabelError
            If this table has other models or questions; the message names the first differences.

        Examples
        --------
        >>> table = Responses([[1, 0]], models=["a"], questions=["y", "x"])
        >>> table.ordered(("a",), ("x", "y")).codes
        array([[0, 1]], dtype=int16)
        """
        rows = reorder("model", self.models, like=models)
        columns = reorder("question", self.questions, like=questions)
        return self._taken(rows, columns)

    def transpose(self) -> "Responses":
        """Return the table with models and questions exchanged, without the models' thresholds.

        Examples
        --------
        >>> Responses([[1, 0]], models=["a"]).transpose().questions
        ('a',)
        """
        labels = {"models": self.questions, "questions": self.models, "coding": self.coding}
        return Responses._of(self._kept.transposed(), labels)

    def dense(self) -> "Responses":
        """Return a dense table, at three bytes per cell."""
        return self if isinstance(self._kept, Dense) else self._with(self._kept.dense(), {})

    def sparse(self) -> "Responses":
        """Return a sparse table, which stores only the answers.

        Examples
        --------
        >>> table = Responses([[1, None, None], [None, None, 0]], models=["a", "b"]).sparse()
        >>> table.answered, table.dense().values.tolist()
        (array([1, 1]), [[1.0, nan, nan], [nan, nan, 0.0]])
        """
        kept = self._kept.sparse()
        return self if kept is self._kept else self._with(kept, {})

    def _in_memory(self, *, sparse: bool | None) -> "Responses":
        if sparse is None:
            sparse = is_better_sparse(self.n_models, self.n_questions, self.n_answers)
        return self.sparse() if sparse else self.dense()

    def blocks(self, size: int | None = None) -> Iterator[tuple[CodeArray, BoolArray]]:
        """Yield codes and mask of missing answers for successive blocks of questions.

        Sparse tables are also accepted, because only one block at a time is dense.

        Parameters
        ----------
        size : int, optional
            Questions per block; by default about 200 MB of cells.

        Examples
        --------
        >>> table = Responses([[1, None, 0]]).sparse()
        >>> [codes.tolist() for codes, _ in table.blocks(2)]
        [[[1, 0]], [[0]]]
        """
        return self._kept.blocks(size)

    def to_frame(self) -> "pd.DataFrame":
        """Return a DataFrame (models x questions) of integers, or of floats if any are missing.

        For a sparse table, return the long table of `to_long`, because a wide table would be
        dense.

        Examples
        --------
        >>> Responses([[1, None]], models=["a"]).to_frame().loc["a"].tolist()
        [1.0, nan]
        """
        import pandas as pd

        if self.is_sparse:
            return self.to_long()
        values = self.values if self.missing.any() else self.codes.astype(np.int64)
        index = pd.Index(self.models, name="model", tupleize_cols=False)
        columns = pd.Index(self.questions, name="question", tupleize_cols=False)
        return pd.DataFrame(values, index=index, columns=columns)

    def to_long(self) -> "pd.DataFrame":
        """Return a long DataFrame with columns model, question and value, one row per answer.

        Examples
        --------
        >>> Responses([[1, None]], models=["a"]).to_long()
          model  question  value
        0     a         0      1
        """
        import pandas as pd

        rows, columns, codes = self._kept.numbered()
        return pd.DataFrame(
            {
                "model": pd.Index(self.models, tupleize_cols=False).take(rows),
                "question": pd.Index(self.questions, tupleize_cols=False).take(columns),
                "value": codes,
            }
        )

    def _check_binary(self, what: str) -> None:
        if not self.is_binary:
            msg = f"{what} needs binary answers, but the codes go up to {self.highest}"
            raise CodeError(msg)

    def __str__(self) -> str:
        return repr(self) if self.is_sparse else Result.__str__(self)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>" if self.is_sparse else Result._repr_html_(self)

    def __repr__(self) -> str:
        size = self.n_models * self.n_questions
        absent = size - self.n_answers
        kept = " (sparse)" if self.is_sparse else ""
        shape = f"{self.n_models:,} models x {self.n_questions:,} questions"
        lines = [
            f"Responses{kept}: {shape}, {self.coding}",
            f"  missing    {absent:,} of {size:,} ({100 * absent / size:.1f} %)",
        ]
        if self.is_binary and absent < size:
            rates = self.yes_rates
            lines.append(f"  yes rates  {np.nanmin(rates):.3g} to {np.nanmax(rates):.3g}")
        if self.flipped:
            lines.append(f"  flipped    {_listed(self.flipped)}")
        both = (f"  models     {_listed(self.models)}", f"  questions  {_listed(self.questions)}")
        return "\n".join([*lines, *both])


Needs: TypeAlias = Literal["dense", "cells"]
ResponsesLike: TypeAlias = Union[Responses, "pd.DataFrame", "ArrayLike", Any]


def as_responses(
    data: ResponsesLike,
    *,
    argument: str = "responses",
    like: Responses | Table | None = None,
    binary: bool = False,
    of: Axis | None = None,
    needs: Needs = "dense",
) -> Responses:
    """Convert `data` to `Responses`, as all public functions do with their arguments.

    Parameters
    ----------
    data : Responses, DataFrame, DataArray or array-like (models, questions)
        Responses are returned unchanged.
    argument : str
        Name of the argument, for messages.
    like : Responses or Table, optional
        Table whose order of models and questions is adopted. Labelled data are matched by label,
        unlabelled data by position.
    binary : bool
        Whether only binary answers are allowed.
    of : {"models", "questions"}, optional
        Axis to be correlated, which needs at least two labels.
    needs : {"dense", "cells"}
        "dense" if the caller needs `codes` and `missing`; "cells" if filled cells suffice, so that
        sparse tables and scans are accepted.

    Raises
    ------
    InputError
        If the data are not a table of responses.
    LabelError
        If `like` has different models or questions.
    CodeError
        If answers are graded but must be binary.
    ShapeError
        If the axis to be correlated has only one label.
    SparseError
        If the caller needs a dense table, but the table is sparse.

    Examples
    --------
    >>> as_responses([[1, 0], [0, 0]]).n_models
    2
    """
    check_choice("needs", needs, Needs)
    if isinstance(data, Responses):
        if needs == "dense":
            data._kept.check_dense(argument)
        table = data if like is None else data.ordered(like.models, like.questions)
    else:
        found = read_any(data, Columns(), argument)
        if like is not None:
            values = values_like(found, like, argument=argument)
            found = Table(values, like.models, like.questions)
        table = Responses.from_codes(**coded_fields(found, None, argument))
    if of is not None:
        check_correlatable(table, of, argument)
    if binary and not table.is_binary:
        row, column, code = table._kept.first_above(1)
        msg = (
            f"{argument}: model {table.models[row]!r}, question {table.questions[column]!r} has "
            f"code {code}, but yes/no answers (1/0) are needed: split graded "
            f"answers with {parameter('threshold', python='Responses(..., threshold=...)')}"
        )
        raise CodeError(msg)
    return table


def turned(data: Any, of: Axis, argument: str) -> Any:
    """Return a table with the units to be correlated (models or questions) in its rows."""
    check_choice("of", of, Axis)
    if of == "models":
        return data
    return as_responses(data, argument=argument, needs="cells").transpose()


def _listed(labels: Labels) -> str:
    shown = ", ".join(repr(label) for label in labels[:4])
    return shown if len(labels) <= 4 else f"{shown}, ... {labels[-1]!r}"
