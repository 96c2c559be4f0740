"""Raw values to codes: whole numbers 0 to 15 with a mask of what is missing, or a named error."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from psychollm._base.arrays import advice, is_missing, is_number, is_numeral, shown
from psychollm._base.errors import CodeError
from psychollm._base.types import BoolArray, CodeArray, FloatArray
from psychollm.data.table import Table

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


def _advice(value: Any) -> str:
    """Say what to do with a value that is no number, where words may be answers."""
    if isinstance(value, str) and not is_numeral(value):
        return (
            'answers in words need Responses.from_array(..., codes={"yes": 1, "no": 0}); '
            "labels belong in the index (DataFrame.set_index)"
        )
    return advice(value)


def _refuse(table: Table, bad: BoolArray, argument: str, reason: str) -> None:
    row, column = (int(place) for place in np.argwhere(bad)[0])
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
    "split a stated confidence with Responses.from_confidence(values, threshold=...)"
)


def _translated(table: Table, codes: Mapping[Any, int], argument: str) -> Table:
    """Replace every value by what `codes` says it means."""
    import pandas as pd

    shape = table.values.shape
    cells = table.values.astype(object).ravel()
    index, found = pd.factorize(cells, use_na_sentinel=True)
    meaning = np.full(len(found) + 1, np.nan)  # the last stands for missing (index -1)
    unknown = np.zeros(len(found) + 1, dtype=np.bool_)
    for position, value in enumerate(found):
        unknown[position] = value not in codes
        meaning[position] = codes.get(value, 0)
    bad = unknown[index].reshape(shape)
    if bad.any():
        _refuse(table, bad, argument, f"not a key of codes={dict(codes)!r}: add it")
    return Table(meaning[index].reshape(shape), table.models, table.questions, table.origin)
