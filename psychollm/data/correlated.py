"""Checks of the axis (models or questions) that is to be correlated."""

from typing import Any

from psychollm._base.checks import check_choice
from psychollm._base.entry import warn
from psychollm._base.errors import ShapeError, ValidityWarning
from psychollm._base.types import Axis

# A warning is given only with at least this ratio of rows to columns and this number of rows.
_FAR, _MANY_ROWS = 3, 20
_FACTORS = 10  # ratio of rows to columns from which factors of the rows are not counted


def check_correlatable(table: Any, of: Axis, argument: str) -> None:
    """Raise an error if a table or scan has only one model or question to correlate."""
    check_choice("of", of, Axis)
    labels = table.models if of == "models" else table.questions
    if len(labels) < 2:
        msg = (
            f"{argument} holds one {of[:-1]} only ({labels[0]!r}): a correlation of {of} needs "
            "at least two"
        )
        raise ShapeError(msg)
    check_axis(table, of, argument)


def is_tall(table: Any, of: Axis, times: float = _FAR) -> bool:
    """Return whether the rows are to be correlated but far outnumber the columns."""
    rows, columns = len(table.models), len(table.questions)
    return of == "models" and rows >= times * columns and rows >= _MANY_ROWS


def check_factor_axis(table: Any, of: Axis, argument: str) -> None:
    """Raise an error if factors of many rows are to be counted from few columns."""
    check_choice("of", of, Axis)
    if is_tall(table, of, _FACTORS):
        rows, columns = len(table.models), len(table.questions)
        msg = (
            f"{argument}: the factors of {rows:,} rows cannot be counted from {columns:,} "
            'columns: pass of="questions" to count the factors of the columns, or the transposed '
            "table if its rows are questions"
        )
        raise ShapeError(msg)


def check_axis(table: Any, of: Axis, argument: str) -> None:
    """Warn if the rows are to be correlated but far outnumber the columns."""
    check_choice("of", of, Axis)
    rows, columns = len(table.models), len(table.questions)
    if is_tall(table, of):
        msg = (
            f"{argument}: the {rows:,} rows are correlated over {columns:,} columns; pass "
            'of="questions" to correlate the columns'
        )
        warn(msg, ValidityWarning)
