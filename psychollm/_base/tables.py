"""Tables in reporting style, made from the frame of a result.

Five rules convert a frame to a table in reporting style:

* the bounds of an interval follow their estimate, ``0.83 [0.79, 0.87]``, or have a column of their
  own, ``[0.79, 0.87]``, if the table has no estimate;
* p-values have three decimals without the leading zero, and small p-values are ``< .001``;
* Boolean values, and 1 and 0 in the column `flagged`, are printed as "yes" and "no";
* other numbers have `digits` decimals. In columns of standard errors, or of numbers that would
  round to zero, the largest number has `digits` significant digits. Columns of whole numbers with
  at least one number above 1 are counts and have no decimals;
* undefined values are printed as an en dash; their reasons have a separate column, which is
  omitted if empty.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import floor, isfinite, log10
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from psychollm._base.axes import intervals_of
from psychollm._base.errors import InputError, OptionError
from psychollm._base.numbers import ABSENT, interval, number, p_value, percent
from psychollm._base.record import Shown
from psychollm._base.typeset import Table

if TYPE_CHECKING:
    import pandas as pd

# Maps the column of lower bounds to the columns of upper bounds and of estimates.
Intervals: TypeAlias = Mapping[str, tuple[str, str]]

_MOST_DECIMALS = 8
_NOTHING = 1e-6  # smaller numbers are treated as rounding errors
_COUNT = re.compile(r"n|df\d*|count|n_.*")
_WORDS = {name: name.upper() for name in ("se", "sd", "auroc", "ece", "rmsea", "irt")}
_P = re.compile(r"(^|_)p(_|$)")
_SE = re.compile(r"(^|_)se(_|$)")
_EMPTY = {"", "None", "none"}


def reporting_table(
    frame: "pd.DataFrame",
    *,
    digits: int = 2,
    columns: Sequence[str] | None = None,
    level: float | None = None,
    intervals: Intervals | None = None,
) -> Table:
    """Return a frame in reporting style; `intervals` come from `axes.intervals_of`."""
    if (
        isinstance(digits, bool)
        or not isinstance(digits, int | np.integer)
        or not 0 <= digits <= 8
    ):
        msg = f"digits={digits!r} must be a whole number from 0 to {_MOST_DECIMALS}"
        raise OptionError(msg)
    named = _with_index(frame)
    cells = _columns(named, int(digits), level, intervals or {})
    if columns is not None:
        cells = _chosen(cells, columns)
    elif len(frame):
        cells = {name: one for name, one in cells.items() if not _silent(name, one)}
    headings = tuple(one.heading for one in cells.values())
    rows = tuple(zip(*(one.cells for one in cells.values()), strict=True))
    return Table(headings, tuple(one.numeric for one in cells.values()), rows)


@dataclass(frozen=True, slots=True)
class _Column:
    heading: str
    cells: tuple[str, ...]
    numeric: bool = True


def _with_index(frame: "pd.DataFrame") -> "pd.DataFrame":
    """Return the frame with row labels as its first columns."""
    import pandas as pd

    named = frame.copy(deep=False)
    named.columns = pd.Index([str(name) for name in frame.columns], dtype=object)
    if isinstance(frame.index, pd.RangeIndex):
        return named
    for k, name in enumerate(frame.index.names):
        heading = "" if name is None else str(name)
        labels = list(frame.index.get_level_values(k))
        named.insert(k, heading, labels, allow_duplicates=True)
    return named


def _columns(
    frame: "pd.DataFrame", digits: int, level: float | None, intervals: Intervals
) -> dict[str, _Column]:
    names = list(frame.columns)
    bounds = {lower: pair for lower, pair in intervals.items() if lower in names}
    uppers = {upper for upper, _ in bounds.values()}
    of_estimate = {stem: (lower, upper) for lower, (upper, stem) in bounds.items()}
    coverage = f"{percent(level)}" if level is not None else ""
    table: dict[str, _Column] = {}
    for k, name in enumerate(names):
        if name in uppers or (name in bounds and bounds[name][1] in names):
            continue
        values = frame.iloc[:, k].tolist()
        if name in bounds:
            upper, stem = bounds[name]
            spans = _spans((values, frame[upper].tolist()), digits, ())
            heading = _heading(stem) or f"{coverage} interval".strip()
            table[stem or "interval"] = _Column(heading, spans)
        elif name in of_estimate:
            ends = [frame[bound].tolist() for bound in of_estimate[name]]
            decimals = digits_of((*values, *ends[0], *ends[1]), digits)
            cells = tuple(map(_beside, _numbers(values, decimals), _spans(ends, digits, values)))
            table[name] = _Column(f"{_heading(name)} [{coverage or 'interval'}]", cells)
        else:
            table[name] = _plain_column(name, values, digits)
    return table


def _plain_column(name: str, values: Sequence[Any], digits: int) -> _Column:
    numeric = all(_is_number(value) for value in values) and not all(map(_is_yes_no, values))
    if numeric and is_p_value(name):
        return _Column(_heading(name), tuple(map(p_value, values)))
    if numeric and name == "flagged":
        # the frame contains 1 and 0 instead of True and False, because NaN means "not tested"
        words = tuple(_text(bool(v) if isfinite(v) else None, digits) for v in values)
        return _Column(_heading(name), words, numeric=False)
    if numeric:
        count = _COUNT.fullmatch(name) is not None and _whole([float(value) for value in values])
        figures = _SE.search(name) is not None
        decimals = 0 if count else digits_of(values, digits, figures=figures)
        return _Column(_heading(name), _numbers(values, decimals))
    return _Column(_heading(name), tuple(_text(value, digits) for value in values), numeric=False)


def is_p_value(name: str) -> bool:
    """Return whether a column with the given name contains p-values."""
    if name in {"adjusted", "single_step", "step_down", "uniform", "nonuniform"}:
        return True
    return _P.search(name) is not None and not name.endswith("_se")


def digits_of(values: Sequence[Any], digits: int, *, figures: bool = False) -> int:
    """Return the number of decimals of a column: 0 for counts, more if all numbers are small."""
    # With `figures`, .014 keeps two significant digits, because .01 is too coarse for a standard
    # error.
    known = [abs(float(value)) for value in values if isfinite(value)]
    largest = max(known, default=0.0)
    if all(isinstance(value, int) for value in values) or (largest > 1.0 and _whole(known)):
        return 0
    if largest < _NOTHING or (largest >= 0.1**digits and not figures):
        return digits
    return max(digits, min(digits - 1 - floor(log10(largest)), _MOST_DECIMALS))


def _whole(values: Sequence[float]) -> bool:
    return all(value.is_integer() for value in values if isfinite(value))


def _numbers(values: Sequence[Any], decimals: int) -> tuple[str, ...]:
    return tuple(number(value, decimals) for value in values)


def _spans(pair: Sequence[Sequence[Any]], digits: int, values: Sequence[Any]) -> tuple[str, ...]:
    decimals = digits_of((*values, *pair[0], *pair[1]), digits)
    return tuple(interval(pair, decimals) for pair in zip(*pair, strict=True))


def _beside(value: str, span: str) -> str:
    return value if span == ABSENT else f"{value} {span}"


def _heading(name: str) -> str:
    words = name.replace("p_value", "p").replace("_", " ").split(" ")
    return " ".join(_WORDS.get(word, word) for word in words)


def _text(value: Any, digits: int) -> str:
    if _is_yes_no(value):
        return "yes" if value else "no"
    if _is_number(value):
        return number(value, digits_of([value], digits))
    return ABSENT if value is None else str(value)


def _is_number(value: Any) -> bool:
    held = isinstance(value, int | float | np.integer | np.floating)
    # Larger integers may overflow a float.
    return held and (type(value) is not int or abs(value) < 2**1023)


def _is_yes_no(value: Any) -> bool:
    return isinstance(value, bool | np.bool_)


def _silent(name: str, column: _Column) -> bool:
    """Return whether a column of reasons is empty."""
    reasons = re.search(r"(^|_)(flag|flags|reason|reasons)$", name) is not None
    return reasons and all(cell in _EMPTY for cell in column.cells)


def _chosen(table: dict[str, _Column], columns: Sequence[str]) -> dict[str, _Column]:
    unknown = [name for name in columns if name not in table]
    if isinstance(columns, str) or unknown:
        wrong = columns if isinstance(columns, str) else unknown[0]
        msg = f"columns has {wrong!r}: pass a list of {', '.join(map(repr, table))}"
        raise OptionError(msg)
    return {name: table[name] for name in columns}


def level_of(result: Any) -> float | None:
    """Return the confidence level of the intervals of a result or of its estimates."""
    return _level_in(result, depth=4)


def _level_in(value: Any, depth: int) -> float | None:
    level = getattr(value, "level", None)
    if isinstance(level, float) and 0.0 < level < 1.0:
        return level
    held = _held(value) if depth else []
    return next((inner for one in held if (inner := _level_in(one, depth - 1))), None)


def _held(value: Any) -> list[Any]:
    if isinstance(value, dict | tuple):
        return list(value.values() if isinstance(value, dict) else value)[:1]
    known = getattr(value, "__dataclass_fields__", {}).values()
    return [getattr(value, one.name) for one in known if one.init]


def table_of(result: Shown, *, digits: int = 2, columns: Sequence[str] | None = None) -> Table:
    """Return the table of a result in reporting style."""
    frame = result.to_frame()
    if frame.shape[1] == 0:
        msg = f"the table of this {type(result).__name__} is empty"
        raise InputError(msg)
    return reporting_table(
        frame,
        digits=digits,
        columns=columns,
        level=level_of(result),
        intervals=intervals_of(result),
    )
