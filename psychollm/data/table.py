"""Any input as one labelled table: what every constructor of `Responses` starts from."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from psychollm._base.arrays import plain_array
from psychollm._base.errors import LabelError, ShapeError
from psychollm._base.types import AnyArray
from psychollm.data.coded import CodedTable
from psychollm.data.labels import Labels, as_labels, order_of
from psychollm.data.per_unit import index_of


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Raw values with their labels, not yet checked or coded."""

    values: AnyArray  # (models, questions) plain numbers or objects, NaN where missing
    models: Labels
    questions: Labels
    origin: Callable[[int, int], str] | None = None  # names the place of a cell in its file
    named: tuple[bool, bool] = (True, True)  # whether the data brought labels of rows, of columns

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", plain_array(self.values, "values"))

    def place(self, row: int, column: int) -> str:
        """Name one cell, and where it stands in its file if it came from one."""
        cell = f"model {self.models[row]!r}, question {self.questions[column]!r}"
        return cell if self.origin is None else f"{self.origin(row, column)} ({cell})"


def as_table(
    data: Any,
    *,
    models: Iterable[Any] | None = None,
    questions: Iterable[Any] | None = None,
    argument: str = "responses",
) -> Table:
    """Return any table as a labelled one; `models` and `questions` replace its own labels."""
    if isinstance(data, Table):
        return data
    values: AnyArray
    rows: Iterable[Any] | None = None
    columns: Iterable[Any] | None = None
    if isinstance(data, CodedTable):
        values, rows, columns = data.values, data.models, data.questions
    elif hasattr(data, "dims") and hasattr(data, "coords"):
        values, rows, columns = _xarray_values(data, argument)
    else:
        values = plain_array(data, argument)
        if hasattr(data, "iloc") and hasattr(data, "columns"):
            rows, columns = data.index, data.columns
    _check_shape(values, argument)
    rows = rows if models is None else models
    columns = columns if questions is None else questions
    return Table(
        values,
        as_labels("model", rows, values.shape[0]),
        as_labels("question", columns, values.shape[1]),
        named=(rows is not None, columns is not None),
    )


def one_model(data: Any, *, argument: str) -> Table:
    """Return a table as `as_table` does; a vector is one model."""
    labelled = any(hasattr(data, name) for name in ("columns", "dims", "models"))
    if labelled and getattr(data, "ndim", 2) != 1:
        return as_table(data, argument=argument)
    values = plain_array(data, argument)
    if values.ndim != 1:
        return as_table(values, argument=argument)
    return as_table(values[None], questions=index_of(data), argument=argument)


def values_like(table: Table, first: Any, *, argument: str) -> AnyArray:
    """Return the values of a table in the order of the first: labels by labels."""
    values, shape = table.values, (len(first.models), len(first.questions))
    named = getattr(first, "named", (True, True))
    kinds = (("model", table.models, first.models), ("question", table.questions, first.questions))
    for axis, (kind, labels, wanted) in enumerate(kinds):
        if not (table.named[axis] and named[axis]) and len(labels) != len(wanted):
            msg = (
                f"{argument} has {values.shape[0]} models x {values.shape[1]} questions, but "
                f"{shape[0]} x {shape[1]} are needed: one value per model and question (NaN where "
                "unknown)"
            )
            raise ShapeError(msg)
        own = labels if table.named[axis] else None
        order = order_of(kind, own, wanted, argument=argument, counted=not named[axis])
        values = values if order is None else values.take(order, axis=axis)
    return values


def _check_shape(values: AnyArray, argument: str) -> None:
    if values.ndim != 2:
        msg = (
            f"{argument} has {values.ndim} dimension(s), but a table of models (rows) by "
            "questions (columns) is needed: one model is a table of one row, values[None, :]"
        )
        raise ShapeError(msg)
    if 0 in values.shape:
        msg = (
            f"{argument} is empty ({values.shape[0]} models, {values.shape[1]} questions): "
            "at least one of each is needed"
        )
        raise ShapeError(msg)


# What dimensions of models and of questions are called.
_NAMES = (
    {"model", "models", "respondent", "respondents", "person", "persons", "llm", "llms"},
    {"question", "questions", "item", "items", "prompt", "prompts", "task", "tasks"},
)


def _xarray_values(array: Any, argument: str) -> tuple[AnyArray, Any, Any]:
    """Return values and labels, models first: the names of the dimensions say which they are."""
    if len(array.dims) != 2:
        msg = (
            f"{argument} has dimensions {tuple(array.dims)}: two are needed, models and questions"
        )
        raise ShapeError(msg)
    first, second = array.dims
    known = [[name in names for names in _NAMES] for name in (first, second)]
    forward, backward = known[0][0] or known[1][1], known[0][1] or known[1][0]
    if forward == backward and (first, second) != ("dim_0", "dim_1"):
        msg = (
            f"{argument} has dimensions {first!r} and {second!r}: which of them holds models? "
            f"Rename them: .rename({{{first!r}: 'model', {second!r}: 'question'}}), or "
            "the other way round"
        )
        raise LabelError(msg)
    if backward:
        first, second = second, first
    labels = [array[dim].to_numpy() if dim in array.coords else None for dim in (first, second)]
    return plain_array(array.transpose(first, second), argument), labels[0], labels[1]
