"""Raw values to codes: whole numbers 0 to 15 with a mask of what is missing, or a named error."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from psychollm._base.errors import CodeError
from psychollm._base.types import BoolArray, CodeArray, FloatArray
from psychollm.data.table import Table

MAX_CODE = 15


def numbers(table: Table, *, argument: str = "responses") -> FloatArray:
    """Return the values as finite floats, missing ones (None, NaN, pandas.NA, masked) as NaN.

    Raises
    ------
    CodeError
        At the first cell that holds text, infinity or anything but a number.

    Examples
    --------
    >>> from psychollm.data.table import as_table
    >>> numbers(as_table([[True, None]]))
    array([[ 1., nan]])
    """
    raw = table.values
    if raw.dtype.kind in "biuf":
        values = np.array(raw, dtype=np.float64)  # a copy: the mask is written into it
    else:
        values = _from_objects(table, argument)
    if isinstance(raw, np.ma.MaskedArray):
        values[np.ma.getmaskarray(raw)] = np.nan
    infinite = np.isinf(values)
    if infinite.any():
        _refuse(table, infinite, argument, "infinity: leave unknown answers missing (NaN)")
    return values


def _from_objects(table: Table, argument: str) -> FloatArray:
    """Convert objects cell by cell: slow, and only where the input is not numeric."""
    import pandas as pd

    cells = np.asarray(np.ma.getdata(table.values), dtype=object)
    absent = np.asarray(pd.isna(cells)) | np.ma.getmaskarray(table.values)
    good = absent | np.frompyfunc(_is_number, 1, 1)(cells).astype(np.bool_)
    if not good.all():
        _refuse(table, ~good, argument, f"not a number: {_advice(cells[~good][0])}")
    values = np.full(cells.shape, np.nan)
    values[~absent] = cells[~absent].astype(np.float64)
    return values


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number | np.bool_) and not isinstance(value, complex)


def _advice(value: Any) -> str:
    if isinstance(value, str):
        return (
            'answers in words need codes={"yes": 1, "no": 0}; '
            "labels belong in the index (DataFrame.set_index)"
        )
    return "use 0, 1 or other whole numbers"


def _refuse(table: Table, bad: BoolArray, argument: str, reason: str) -> None:
    row, column = (int(place) for place in np.argwhere(bad)[0])
    value = np.ma.getdata(table.values)[row, column]
    shown = value.item() if isinstance(value, np.generic) else value
    msg = f"{argument}: {table.place(row, column)} holds {shown!r}, which is {reason}"
    raise CodeError(msg)


def encode(
    table: Table, *, codes: Mapping[Any, int] | None = None, argument: str = "responses"
) -> tuple[CodeArray, BoolArray]:
    """Return codes (models, questions), 0 where missing, and the mask of what is missing.

    Parameters
    ----------
    table : Table
        Raw values: bool, whole numbers 0 to 15, or anything that `codes` translates.
    codes : mapping, optional
        What each raw value means, such as ``{"yes": 1, "no": 0}``; a value that is neither a key
        nor missing is an error.
    argument : str
        Name of the input in messages.

    Raises
    ------
    CodeError
        At the first cell that is not an admissible code: model, question and value are named.

    Examples
    --------
    >>> from psychollm.data.table import as_table
    >>> encode(as_table([["yes", "no", None]]), codes={"yes": 1, "no": 0})[0]
    array([[1, 0, 0]], dtype=int16)
    """
    source = table if codes is None else _translated(table, codes, argument)
    raw = np.asanyarray(source.values)
    if raw.dtype.kind in "biu" and not isinstance(raw, np.ma.MaskedArray):
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
    "split a stated confidence with Responses.from_confidence(values, threshold=...)"
)


def _translated(table: Table, codes: Mapping[Any, int], argument: str) -> Table:
    """Replace every value by what `codes` says it means."""
    import pandas as pd

    cells = np.ma.getdata(table.values).ravel()
    index, found = pd.factorize(np.asarray(cells, dtype=object), use_na_sentinel=True)
    meaning = np.full(len(found) + 1, np.nan)  # the last stands for missing (index -1)
    unknown = np.zeros(len(found) + 1, dtype=np.bool_)
    for position, value in enumerate(found):
        unknown[position] = value not in codes
        meaning[position] = codes.get(value, 0)
    mask = np.ma.getmaskarray(table.values)
    bad = unknown[index].reshape(mask.shape) & ~mask
    if bad.any():
        _refuse(table, bad, argument, f"not a key of codes={dict(codes)!r}: add it")
    values = meaning[index].reshape(mask.shape)
    values[mask] = np.nan
    return Table(values, table.models, table.questions, table.origin)
