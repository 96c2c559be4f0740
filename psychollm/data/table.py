"""Any input as one labelled table, and its values as numbers or codes.

Codes are whole numbers 0 to 15 with a mask of what is missing; every constructor of `Responses`
starts here.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from psychollm._base.checks import (
    advice,
    is_missing,
    is_missing_value,
    is_number,
    is_numeral,
    plain_array,
    shown,
)
from psychollm._base.errors import CodeError, LabelError, OptionError, ShapeError
from psychollm._base.frames import MODELS, QUESTIONS, is_called, labelled
from psychollm._base.types import AnyArray, BoolArray, CodeArray, FloatArray
from psychollm.data.labels import Labels, as_labels, index_of, order_of


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
    if isinstance(data, Table) and models is None and questions is None:
        return data
    data = labelled(data)
    values: AnyArray
    rows: Iterable[Any] | None = None
    columns: Iterable[Any] | None = None
    if isinstance(data, Table) or (hasattr(data, "codes") and hasattr(data, "questions")):
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
        getattr(data, "origin", None),
        named=(rows is not None, columns is not None),
    )


def one_model(data: Any, *, argument: str) -> Table:
    """Return a table as `as_table` does; a vector is one model."""
    data = labelled(data)
    named = any(hasattr(data, name) for name in ("columns", "dims", "models"))
    if named and getattr(data, "ndim", 2) != 1:
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


def _xarray_values(array: Any, argument: str) -> tuple[AnyArray, Any, Any]:
    """Return values and labels, models first: the names of the dimensions say which they are."""
    if len(array.dims) != 2:
        msg = (
            f"{argument} has dimensions {tuple(array.dims)}: two are needed, models and questions"
        )
        raise ShapeError(msg)
    first, second = array.dims
    known = [[is_called(name, names) for names in (MODELS, QUESTIONS)] for name in (first, second)]
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


def models_first(data: Any) -> Any:
    """Return a DataArray with the dimension of models first, and that of questions next."""
    # Where their names do not say which they are, dimensions go by position, as arrays do.
    dims = getattr(data, "dims", ())
    found = [[dim for dim in dims if is_called(dim, names)] for names in (MODELS, QUESTIONS)]
    if [len(one) for one in found] != [1, 1]:
        return data
    return data.transpose(found[0][0], found[1][0], ...)


MAX_CODE = 15


def numbers(table: Table, *, argument: str = "responses") -> FloatArray:
    """Return the values as finite floats, missing ones (None, NaN, pandas.NA, masked) as NaN."""
    if table.values.dtype.kind not in "biuf":
        good = is_number(table.values) | is_missing(table.values)
        value = table.values[~good][0]
        _refuse(table, ~good, argument, f"not a number: {_advice(value)}")
    values = np.array(table.values, dtype=np.float64)
    infinite = np.isinf(values)
    if infinite.any():
        _refuse(table, infinite, argument, "infinity: leave unknown answers missing (NaN)")
    return values


WORDS = 'codes={"yes": 1, "no": 0}'


def _advice(value: Any) -> str:
    """Say what to do with a value that is no number, where words may be answers."""
    if isinstance(value, str) and not is_numeral(value):
        return (
            f"answers in words need Responses(..., {WORDS}); "
            "labels belong in the index (DataFrame.set_index)"
        )
    return advice(value)


def _refuse(table: Table, bad: BoolArray, argument: str, reason: str) -> None:
    row, column = (int(i) for i in np.argwhere(bad)[0])
    value = shown(table.values[row, column])
    msg = f"{argument}: {table.place(row, column)} holds {value}, which is {reason}"
    raise CodeError(msg)


def encode(
    table: Table, *, codes: Mapping[Any, int] | None = None, argument: str = "responses"
) -> tuple[CodeArray, BoolArray]:
    """Return codes (models, questions), 0 where missing, and the mask of what is missing."""
    source = table if codes is None else _translated(table, codes, argument)
    raw = source.values
    if raw.dtype.kind in "biu":
        missing = np.zeros(raw.shape, dtype=np.bool_)
        low, high = (0, 1) if raw.dtype.kind == "b" else (raw.min(), raw.max())
        if low < 0 or high > MAX_CODE:
            _refuse(source, (raw < 0) | (raw > MAX_CODE), argument, _NOT_A_CODE)
        return raw.astype(np.int16), missing
    values = numbers(source, argument=argument)
    missing = np.isnan(values)
    values[missing] = 0.0
    bad = (values != np.floor(values)) | (values < 0) | (values > MAX_CODE)
    if bad.any():
        _refuse(source, bad, argument, _NOT_A_CODE)
    return values.astype(np.int16), missing


_NOT_A_CODE = (
    f"not a code: codes are whole numbers 0 (no) to {MAX_CODE}; "
    "split a stated confidence with Responses(values, threshold=...)"
)


def meanings(codes: Mapping[Any, int]) -> dict[Any, float]:
    """Return the number that each value means, NaN for none."""
    try:
        return {
            value: np.nan if is_missing_value(code) else float(code)
            for value, code in codes.items()
        }
    except (AttributeError, TypeError, ValueError) as error:
        msg = f"codes={codes!r} must name a number for each value: {WORDS}"
        raise OptionError(msg) from error


def _translated(table: Table, codes: Mapping[Any, int], argument: str) -> Table:
    """Replace every value by what `codes` says it means."""
    import pandas as pd

    shape, means = table.values.shape, meanings(codes)
    cells = table.values.astype(object).ravel()
    index, distinct = pd.factorize(cells, use_na_sentinel=True)
    meaning = np.full(len(distinct) + 1, np.nan)  # the last stands for missing (index -1)
    unknown = np.zeros(len(distinct) + 1, dtype=np.bool_)
    for position, value in enumerate(distinct):
        unknown[position] = value not in means
        meaning[position] = means.get(value, 0)
    bad = unknown[index].reshape(shape)
    if bad.any():
        _refuse(table, bad, argument, f"not a key of codes={dict(codes)!r}: add it")
    return Table(meaning[index].reshape(shape), table.models, table.questions, table.origin)
