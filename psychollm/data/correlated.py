"""Checks of the axis (models or questions) that is to be correlated."""

from typing import Any

from psychollm._base.checks import check_choice
from psychollm._base.entry import warn
from psychollm._base.errors import ShapeError, ValidityWarning
from psychollm._base.types import Axis

# A warning is given only with at least this ratio of rows to columns and this number of rows.
_FAR, _MANY_ROWS = 3, 20


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


def check_axis(table: Any, of: Axis, argument: str) -> None:
    """Warn if the rows are to be correlated but far outnumber the columns."""
    check_choice("of", of, Axis)
    rows, columns = len(table.models), len(table.questions)
    if of == "models" and rows >= _FAR * columns and rows >= _MANY_ROWS:
        msg = (
            f"{argument}: the {rows:,} rows are correlated over {columns:,} columns; pass "
            'of="questions" to correlate the columns'
        )
        warn(msg, ValidityWarning)
