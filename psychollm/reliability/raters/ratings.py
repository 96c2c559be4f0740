"""Repeated answers to the same questions, by several runs of a model or by several raters."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import (
    LARGEST,
    check_held,
    check_unique,
    is_missing,
    is_number,
    is_numeral,
    plain_array,
    shown,
)
from psychollm._base.errors import CodeError, OptionError
from psychollm._base.frames import in_pandas, long_table
from psychollm._base.result import Result
from psychollm._base.types import AnyArray, FloatArray, IntArray
from psychollm.data.labels import Labels, Table, positions
from psychollm.data.responses import ResponsesLike
from psychollm.data.table import as_table
from psychollm.reliability.means.repeated_scores import long_places, stacked_runs

if TYPE_CHECKING:
    import pandas as pd

Name = Callable[[Sequence[int]], str]


@dataclass(frozen=True, slots=True)
class Encoded:
    """Ratings as indices into categories."""

    codes: IntArray  # (...) index, -1 if missing
    categories: Labels
    ordered: bool  # whether categories are numbers or were specified in order


def encode_categories(
    cells: AnyArray, categories: Iterable[Hashable] | None, name: Name
) -> Encoded:
    """Return the ratings as indices into categories."""
    given = None if categories is None else tuple(_plain(category) for category in categories)
    codes, values = _distinct(cells, name, given or ())
    if given is None:
        numeric = all(isinstance(value, int | float) for value in values)
        order = sorted(range(len(values)), key=lambda i: _sort_key(values[i]))
        known = tuple(values[i] for i in order)
        return Encoded(_moved(codes, np.argsort(order)), known, numeric)
    check_unique("category", given)
    code = {category: i for i, category in enumerate(given)}
    for i, value in enumerate(values):
        if value not in code:
            where = name([int(at) for at in np.argwhere(codes == i)[0]])
            msg = f"ratings: {where} has {value!r}, which is not in categories={given!r}: add it"
            raise CodeError(msg)
    target = np.array([code[value] for value in values], dtype=np.int64)
    return Encoded(_moved(codes, target), given, ordered=True)


def _moved(codes: IntArray, target: AnyArray) -> IntArray:
    """Replace each code by its new code; missing codes stay missing."""
    return np.asarray(np.append(target, -1).astype(np.int64)[codes], dtype=np.int64)


def _unhashable(cells: AnyArray) -> tuple[int, ...]:
    """Return the index of the first cell whose value cannot be a category."""
    for place in np.ndindex(cells.shape):
        try:
            hash(cells[place])
        except TypeError:
            break
    return place


def _distinct(cells: AnyArray, name: Name, given: tuple[Any, ...]) -> tuple[IntArray, list[Any]]:
    """Return the index of each cell's value among the distinct values, -1 if missing."""
    # Empty text is a missing value, unless it is one of the given categories.
    import pandas as pd

    if cells.dtype == object:
        flat = [None if _is_blank(cell) and cell not in given else cell for cell in cells.flat]
        cells = np.fromiter(flat, object, cells.size).reshape(cells.shape)
    try:
        codes, distinct = pd.factorize(cells.ravel())
    except TypeError as error:
        msg = f"ratings: {name(_unhashable(cells))} holds no number or word: {error}"
        raise CodeError(msg) from error
    shaped = codes.astype(np.int64).reshape(cells.shape)
    values = [_plain(value) for value in distinct]
    for i, value in enumerate(values):
        if isinstance(value, float) and np.isinf(value):
            where = name([int(at) for at in np.argwhere(shaped == i)[0]])
            msg = f"ratings: {where} holds infinity: leave unknown ratings missing (NaN)"
            raise CodeError(msg)
    return shaped, values


def _check_runs(table: Table) -> None:
    """Raise an error if some columns contain words and other columns contain numbers."""
    # A table with one row per rating contains a column of labels and a column of ratings.
    if table.values.dtype != object:
        return
    missing = is_missing(table.values)
    numbers = is_number(table.values) & ~missing
    columns: dict[str, Any] = {}
    for j, label in enumerate(table.questions):
        rest = [one for one in table.values[~(missing | numbers)[:, j], j] if not _is_blank(one)]
        if not rest and numbers[:, j].any():
            columns.setdefault("numbers", label)
        elif rest and not numbers[:, j].any() and all(map(_is_word, rest)):
            columns.setdefault("words", label)
    if len(columns) == 2:
        msg = (
            f"ratings: column {columns['words']!r} contains words and column "
            f"{columns['numbers']!r} numbers: pass one column per run, or convert a table with a "
            "row per rating by Ratings.from_long"
        )
        raise CodeError(msg)


def _is_blank(value: Any) -> bool:
    return isinstance(value, str) and not value.strip()


def _is_word(value: Any) -> bool:
    return isinstance(value, str) and not is_numeral(value)


def _plain(value: Any) -> Any:
    """Convert NumPy scalars to Python scalars, and whole floats to integers."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, bool):
        return int(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _sort_key(value: Any) -> tuple[str, Any]:
    """Return a sort key: numbers by size, text alphabetically, other values by their ``repr``."""
    if isinstance(value, int | float):
        return "", value
    return type(value).__name__, value if isinstance(value, str) else repr(value)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ratings(Result):
    """Ratings of each question in each run, for one model or several.

    A run is any repetition of a judgement, for example by the same model, or with another judge,
    prompt or annotator. Use the ``from_...`` methods, which validate their input.

    Examples
    --------
    >>> twice = Ratings.from_table([["A", "A"], ["B", "C"], ["C", None]])
    >>> twice.categories, twice.codes[0].tolist()
    (('A', 'B', 'C'), [[0, 0], [1, 2], [2, -1]])
    """

    codes: IntArray  # (models, questions, runs) index into categories, -1 if missing
    categories: Labels  # (categories,) in increasing order
    ordered: bool  # whether categories are numbers or were specified in order
    models: Labels
    questions: Labels
    runs: Labels

    _AXES = Axes(
        labels={"model": "models", "question": "questions", "run": "runs"},
        arrays={"model question run": "codes"},
    )

    @classmethod
    def from_table(cls, table: Any, *, categories: Iterable[Hashable] | None = None) -> "Ratings":
        """Create ratings from a table of questions (units) by runs (raters).

        Parameters
        ----------
        table : DataFrame or array_like (questions, runs)
            Numbers or words, with one row per question and one column per run; None, NaN and
            masked values are missing.
        categories : iterable, optional
            All categories in increasing order; by default the sorted categories of the data.

        Raises
        ------
        ShapeError
            If the input is not a table.
        CodeError
            If a value is infinite, unhashable or not one of `categories`, or if some columns
            contain words and others contain numbers.

        Examples
        --------
        >>> Ratings.from_table([[1, 2], [2, 2]]).runs
        (0, 1)
        """
        known = as_table(table, argument="ratings")
        if categories is None:
            _check_runs(known)
        cells = known.values[None]
        return cls._made(cells, categories, (0,), known.models, known.questions)

    @classmethod
    def from_runs(
        cls,
        runs: Any,
        *,
        labels: Iterable[Any] | None = None,
        categories: Iterable[Hashable] | None = None,
    ) -> "Ratings":
        """Create ratings of several models from one table (models, questions) per run.

        Parameters
        ----------
        runs : sequence of Responses, DataFrame, DataArray or array_like (models, questions)
            One table per run, or an array (runs, models, questions). Labelled tables are reordered
            to match the first table. A vector contains the ratings of one model.
        labels : iterable, optional
            Names of the runs; by default 1, 2, 3, ...
        categories : iterable, optional
            All categories in increasing order; by default the sorted categories of the data.

        Raises
        ------
        ShapeError, LabelError
            If the runs differ in their models or questions.
        CodeError
            If a value is infinite, unhashable or not one of `categories`.

        Examples
        --------
        >>> Ratings.from_runs([[[1, 0, 1]], [[1, 1, 1]]]).codes.shape
        (1, 3, 2)
        """
        cells, axes = stacked_runs(runs, labels, argument="ratings")
        return cls._made(cells, categories, *axes)

    @classmethod
    def from_long(
        cls,
        frame: "pd.DataFrame",
        *,
        model: str | None = "model",
        question: str = "question",
        run: str = "run",
        value: str = "response",
        categories: Iterable[Hashable] | None = None,
    ) -> "Ratings":
        """Create ratings from a long table with one row per answer.

        Parameters
        ----------
        frame : DataFrame
            Table with one row per answer. Combinations of model, question and run without a row
            are missing. Labels keep the order of their first occurrence.
        model : str or None
            Column with the label of the model; None for a single model.
        question, run, value : str
            Columns with the question, the run and the answer.
        categories : iterable, optional
            All categories in increasing order; by default the sorted categories of the data.

        Raises
        ------
        LabelError
            If a column does not exist, a label is missing, or an answer occurs twice.
        ShapeError
            If the table has no rows.
        CodeError
            If a value is infinite, unhashable or not one of `categories`.

        Examples
        --------
        >>> import pandas as pd
        >>> long = pd.DataFrame({"item": [1, 1, 2], "run": [1, 2, 1], "response": ["A", "B", "A"]})
        >>> Ratings.from_long(long, model=None, question="item").codes.tolist()
        [[[0, 1], [0, -1]]]
        """
        names = [question, run] if model is None else [model, question, run]
        frame = long_table(frame, [*names, value], argument="the long table", row="answer")
        codes, labels = long_places(frame, names, value)
        if model is None:
            codes, labels = (np.zeros(len(frame), dtype=np.int64), *codes), ((0,), *labels)
        cells = np.full(tuple(map(len, labels)), np.nan, dtype=object)
        cells[codes] = plain_array(frame[value], value)
        return cls._made(cells, categories, *labels)

    @classmethod
    def _made(
        cls,
        cells: Any,
        categories: Iterable[Hashable] | None,
        models: Labels,
        questions: Labels,
        runs: Labels,
    ) -> "Ratings":
        def name(cell: Sequence[int]) -> str:
            i, j, k = cell
            return f"model {models[i]!r}, question {questions[j]!r}, run {runs[k]!r}"

        encoded: Encoded = encode_categories(cells, categories, name)
        return cls(
            codes=encoded.codes,
            categories=encoded.categories,
            ordered=encoded.ordered,
            models=models,
            questions=questions,
            runs=runs,
        )

    @property
    def scores(self) -> FloatArray:
        """Ratings as numbers (models, questions, runs); NaN where missing.

        Raises
        ------
        CodeError
            If a category is not a number.
        """
        values = np.append(category_values(self), np.nan)
        return np.asarray(values[self.codes])

    def select(
        self,
        *,
        models: Iterable[Any] | None = None,
        questions: Iterable[Any] | None = None,
        runs: Iterable[Any] | None = None,
    ) -> Self:
        """Return ratings of some models, questions or runs, in the given order.

        Parameters
        ----------
        models, questions, runs : sequence of labels or boolean array, optional
            Labels or mask of the entries to keep; None keeps all entries.

        Raises
        ------
        LabelError
            If a label is unknown or repeated.
        ShapeError
            If the selection is empty.

        Examples
        --------
        >>> Ratings.from_table([[1, 2], [2, 2]]).select(questions=[1]).codes
        array([[[1, 1]]])
        """
        rows, models = _kept("model", self.models, models)
        columns, questions = _kept("question", self.questions, questions)
        layers, runs = _kept("run", self.runs, runs)
        codes = self.codes[np.ix_(rows, columns, layers)]
        return replace(self, codes=codes, models=models, questions=questions, runs=runs)


# Functions accept `Ratings`, one table of ratings, or one table per run.
RatingsLike: TypeAlias = Ratings | ResponsesLike | Sequence[ResponsesLike]


def as_ratings(
    data: RatingsLike,
    argument: str = "ratings",
    *,
    categories: Iterable[Hashable] | None = None,
) -> Ratings:
    """Convert data of any type to ratings."""
    check_held(data, argument)
    if isinstance(data, Ratings):
        if categories is not None:
            msg = "categories belong to the Ratings: pass them to Ratings.from_... instead"
            raise OptionError(msg)
        return data
    if holds_runs(data):
        return Ratings.from_runs(data, categories=categories)
    return Ratings.from_table(data, categories=categories)


def category_values(ratings: Ratings) -> FloatArray:
    """Return the categories as numbers (categories,)."""
    for category in ratings.categories:
        if not isinstance(category, int | float) or abs(category) > LARGEST:
            msg = (
                f"category {shown(category)} is not a number up to {LARGEST:g}: pass numbers, or "
                "use the nominal metric (or the ordinal one, with categories= in increasing order)"
            )
            raise CodeError(msg)
    return np.array(ratings.categories, dtype=np.float64)


def unit_scores(ratings: Ratings) -> FloatArray:
    """Return ratings as scores inside [0, 1] (models, questions, runs), NaN where missing."""
    values = ratings.scores
    for category in ratings.categories:
        if not 0 <= category <= 1:  # type: ignore[operator]
            msg = f"scores contain {category!r}, but must be inside [0, 1]: 1 passed, 0 failed"
            raise CodeError(msg)
    return values


def _kept(kind: str, labels: Labels, wanted: Iterable[Any] | None) -> tuple[IntArray, Labels]:
    """Return the indices and labels of the entries to keep."""
    rows = positions(kind, labels, wanted)
    return rows, tuple(labels[i] for i in rows)


def holds_runs(data: Any) -> bool:
    """Return whether data are several runs (a sequence or a 3-D array) instead of one table."""
    if isinstance(data, np.ndarray):
        return data.ndim == 3
    if not isinstance(data, list | tuple) or not data:
        return False
    first = data[0]
    if isinstance(first, list | tuple):
        return True
    return getattr(in_pandas(first), "ndim", 0) in {1, 2} or hasattr(first, "codes")
