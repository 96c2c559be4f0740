"""Any input as one labelled table: what every constructor of `Responses` starts from."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.errors import ShapeError
from psychollm._base.types import AnyArray
from psychollm.data.coded import CodedTable
from psychollm.data.labels import Labels, as_labels

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Raw values with their labels, not yet checked or coded."""

    values: AnyArray  # (models, questions), any dtype; may be a masked array
    models: Labels
    questions: Labels
    origin: Callable[[int, int], str] | None = None  # names the place of a cell in its file

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
    """Return Responses, a DataFrame, DataArray or array-like as a labelled table.

    Explicit `models` and `questions` replace the labels that the data brings.

    Raises
    ------
    ShapeError
        If the data is not a table of at least one model and one question.
    LabelError
        If labels are missing, duplicated or too few.

    Examples
    --------
    >>> as_table([[1, 0]], models=["m"]).models
    ('m',)
    """
    values: AnyArray
    rows: Iterable[Any] | None
    columns: Iterable[Any] | None
    if isinstance(data, CodedTable):
        values, rows, columns = data.values, data.models, data.questions
    elif hasattr(data, "iloc") and hasattr(data, "columns"):
        values, rows, columns = _frame_values(data), data.index, data.columns
    elif hasattr(data, "dims") and hasattr(data, "coords"):
        values, rows, columns = _xarray_values(data, argument)
    else:
        values, rows, columns = _array_values(data, argument), None, None
    _check_shape(values, argument)
    rows = rows if models is None else models
    columns = columns if questions is None else questions
    return Table(
        values,
        as_labels("model", rows, values.shape[0]),
        as_labels("question", columns, values.shape[1]),
    )


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


def _array_values(data: Any, argument: str) -> AnyArray:
    if isinstance(data, np.ndarray):  # masked arrays keep their mask
        return data
    try:
        array = np.asarray(data)
        # [1, "yes"] must not become ["1", "yes"]: the error would name the wrong cell.
        return np.asarray(data, dtype=object) if array.dtype.kind in "US" else array
    except ValueError as error:
        msg = f"{argument} has rows of different lengths: each model needs one value per question"
        raise ShapeError(msg) from error


def _frame_values(frame: "pd.DataFrame") -> AnyArray:
    """Return numbers where all columns are numbers (missing as NaN), else objects."""
    kinds = {dtype.kind for dtype in set(frame.dtypes)}
    if kinds <= set("biuf"):
        return frame.to_numpy(dtype=np.float64, na_value=np.nan)
    return frame.to_numpy(dtype=object)


def _xarray_values(array: Any, argument: str) -> tuple[AnyArray, Any, Any]:
    """Return values and labels; the first dimension holds models unless a name says otherwise."""
    if len(array.dims) != 2:
        msg = (
            f"{argument} has dimensions {tuple(array.dims)}: two are needed, models and questions"
        )
        raise ShapeError(msg)
    first, second = array.dims
    if first == "questions" or second == "models":
        first, second = second, first
    labels = [array[dim].to_numpy() if dim in array.coords else None for dim in (first, second)]
    return array.transpose(first, second).to_numpy(), labels[0], labels[1]
