"""Dates of models and questions, converted to days."""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.checks import check_unique, shown
from psychollm._base.errors import LabelError
from psychollm._base.frames import in_pandas
from psychollm._base.types import FloatArray
from psychollm.data.labels import Labels, index_of, listed, unit_labels

if TYPE_CHECKING:
    import pandas as pd

_DAY = 86_400.0
_WITHOUT_ORDER = re.compile(r"\s*\d{1,2}[/.-]\d{1,2}[/.-]\d{2,4}\b")


def picked(values: Any, units: Labels, *, some: bool = False) -> Any:
    """Return the value of each unit by its label; if `some` is true, absent units get None."""
    # A Series may contain further units, whose values are ignored.
    values = in_pandas(values)
    if hasattr(values, "to_dict") and hasattr(values, "index") and getattr(values, "ndim", 0) == 1:
        labels = index_of(values)
        if labels is None or not set(labels) & set(units):
            return values
        check_unique("label", labels)
        values = dict(zip(labels, values.tolist(), strict=True))
    if isinstance(values, Mapping):
        return {unit: values.get(unit) for unit in units if some or unit in values}
    return values


def days_of(
    dates: Any, units: Labels, *, argument: str, kind: str, some: bool = False
) -> FloatArray:
    """Return the date of each unit in days since 1970-01-01, NaN if missing."""
    dates = picked(dates, units, some=some)
    check_all_named(dates, units, argument=argument, kind=kind)
    cells = unit_labels(dates, units, argument=argument, kind=kind, optional=True)
    return np.array(
        [
            _day(cell, f"{argument}: {kind} {unit!r}")
            for cell, unit in zip(cells, units, strict=True)
        ]
    )


def check_all_named(values: Any, units: Labels, *, argument: str, kind: str) -> None:
    """Raise an error if a mapping lacks a unit."""
    if isinstance(values, Mapping):
        absent = [unit for unit in units if unit not in values]
        if absent:
            msg = (
                f"{argument} has no entry for {kind} {listed(absent)}: add it, with NaN where the "
                "value is unknown"
            )
            raise LabelError(msg)


def days_in(dates: Sequence[Any], argument: str) -> FloatArray:
    """Return dates in days since 1970-01-01, NaN if missing; equal dates are parsed once."""
    known: dict[Any, float] = {}
    for row, cell in enumerate(dates):
        if cell not in known:
            known[cell] = _day(cell, f"{argument}: row {row}")
    return np.array([known[cell] for cell in dates])


def day_of(date: Any, argument: str) -> float:
    """Return a date in days since 1970-01-01."""
    return _day(date, f"{argument}:")


def dates_of(days: FloatArray) -> "pd.Series[Any]":
    """Convert days to dates, with NaT for missing days."""
    import pandas as pd

    return pd.Series(pd.to_datetime(np.round(days * _DAY), unit="s"))


def _day(cell: Any, where: str) -> float:
    import pandas as pd

    if cell is None or (isinstance(cell, str) and not cell.strip()):
        return float("nan")
    if isinstance(cell, str) and _WITHOUT_ORDER.match(cell):
        # pandas would read 01/06/2023 as a day in January and 16/06/2023 as a day in June.
        msg = f"{where} has {shown(cell)}: is the day or the month first? write 2024-05-13"
        raise LabelError(msg)
    try:
        date = cell.to_timestamp() if isinstance(cell, pd.Period) else cell
        # Numbers such as 2024 are rejected, because pandas would interpret them as nanoseconds.
        counted = isinstance(cell, bool | int | float | np.number)
        at = pd.Timestamp("a number" if counted else date)
    except (TypeError, ValueError) as error:
        msg = f"{where} has {shown(cell)}, which is not a date: write 2024-05-13"
        raise LabelError(msg) from error
    if pd.isna(at):
        return float("nan")
    at = at.tz_convert(None) if at.tzinfo is not None else at
    return float(at.timestamp()) / _DAY
