"""Printed and notebook representation of a result.

Both representations contain the name of the result and its verdict (or the first lines of its
summary). The first rows and columns of the table follow in reporting style. The last printed line
states how to see the rest of the table. A single estimate is printed in one line. Notebook HTML
keeps the colours of the notebook's theme and loads nothing from the network.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import chain, islice
from textwrap import wrap
from typing import Any

import numpy as np

from psychollm._base.axes import intervals_of
from psychollm._base.errors import InputError
from psychollm._base.numbers import ABSENT, extent, with_interval
from psychollm._base.record import Shown
from psychollm._base.tables import level_of, reporting_table
from psychollm._base.typeset import Table

WHOLE = 20  # largest number of rows of a table that is printed in full
ROWS = 12  # number of rows printed if the table is longer
ROWS_OF_PAGE = 6
COLUMNS_OF_PAGE = 9
SENTENCES = 6
WIDTH = 96
NOTES = 4
FEW = 4  # largest number of printed entries of an array or a tuple
MOST_COLUMNS = 300  # largest number of formatted columns of a table
_FLAG = re.compile(r" ?(flags?|reasons?)$")
_OF_ESTIMATE = {"SE", "p", "n", "flag", "reason"}
_UNNAMED = {"0", "all"}
_STYLE = """
.psychollm{font:13px/1.45 system-ui,sans-serif;max-width:72em;overflow-x:auto;color:inherit}
.psychollm p{margin:.15em 0;max-width:60em}
.psychollm .name{font-weight:600;font-size:14px;margin-bottom:.3em}
.psychollm table{border-collapse:collapse;margin:.5em 0 .3em;font-size:12.5px;border:0}
.psychollm th,.psychollm td{padding:.18em .9em .18em 0;text-align:left;white-space:nowrap;\
background:none;color:inherit;border:0;font-variant-numeric:tabular-nums}
.psychollm .r{text-align:right}
.psychollm thead th{font-weight:600;white-space:normal;max-width:9em;\
border-bottom:1px solid currentColor;vertical-align:bottom}
.psychollm tbody tr{background:none}
.psychollm tbody tr:last-child td{border-bottom:1px solid currentColor}
.psychollm .more{opacity:.7;font-size:12px}
.psychollm details{margin-top:.3em}
.psychollm summary{cursor:pointer;opacity:.7;font-size:12px}
.psychollm pre{font-size:12px;line-height:1.5;margin:.3em 0;background:none;color:inherit;\
border:0;padding:0;white-space:pre-wrap;max-width:112ch}
""".replace("\n", "")


def result_text(result: Shown) -> str:
    """Return the printed representation of a result, which fits one screen."""
    sentences, more = _sentences(result)
    view = _View.of(result, ROWS, WHOLE)
    if view is None:
        lines = sentences or [*_titled(result), *result_fields(result)]
        return "\n".join([*lines, *_ways(result, more, [])])
    if view.n_rows == 1 and not sentences:
        return "\n".join(_one_row(result, view.table))
    table, notes = view.table.split(_FLAG)
    table, hidden = table.narrowed(WIDTH)
    left = _left(view.n_rows - len(table.rows), hidden + view.n_columns)
    parts = [sentences or _titled(result), table.text(), _notes(table, notes)]
    return "\n".join([*chain.from_iterable(parts), *_ways(result, more, left)])


def result_repr(result: Shown) -> str:
    """Return the name of a result's class, followed by its summary or its fields."""
    name = type(result).__name__
    if hasattr(result, "summary") and not hasattr(result, "findings"):
        return f"{name}: {chr(10).join(result.summary().splitlines()[:SENTENCES])}"
    return "\n".join([name, *result_fields(result)])


def result_fields(result: Shown) -> list[str]:
    """Return a line for each public field of a result."""
    names = result._public()
    width = max(map(len, names), default=0)
    lines = (f"  {name:<{width}}  {_brief(getattr(result, name))}" for name in names)
    return [line if len(line) <= WIDTH else f"{line[: WIDTH - 3]}..." for line in lines]


def result_html(result: Shown) -> str:
    """Return a result as HTML for a notebook."""
    sentences, more = _sentences(result)
    view = _View.of(result, ROWS_OF_PAGE, ROWS_OF_PAGE)
    parts = [f'<p class="name">{escape(type(result).__name__)}</p>']
    if sentences:
        parts.append(f"<pre>{escape(chr(10).join([*sentences, *more]))}</pre>")
    listed = f"<pre>{escape(chr(10).join(result_fields(result)))}</pre>"
    if view is None:
        parts.append(listed)
    else:
        table, hidden = view.table.narrowed(10 * WIDTH, COLUMNS_OF_PAGE)
        left = _left(view.n_rows - len(table.rows), hidden + view.n_columns)
        parts.append(table.html())
        parts += [f'<p class="more">{" and ".join(left)} in to_frame()</p>'] if left else []
        parts.append(f"<details><summary>fields</summary>{listed}</details>")
    return f'<style>{_STYLE}</style><div class="psychollm">{"".join(parts)}</div>'


@dataclass(frozen=True, slots=True)
class _View:
    """The first rows of a result's table, without empty columns."""

    table: Table
    n_rows: int  # number of rows of the whole table
    n_columns: int  # number of columns that were not formatted

    @classmethod
    def of(cls, result: Shown, most: int, whole: int) -> "_View | None":
        try:
            frame = result.to_frame()
        except InputError:  # the result has no table
            return None
        if frame.empty:
            return None
        wide = frame.iloc[:, :MOST_COLUMNS].head(most if len(frame) > whole else len(frame))
        table = reporting_table(wide, level=level_of(result), intervals=intervals_of(result))
        return cls(table.without_gaps(), len(frame), frame.shape[1] - wide.shape[1])


def _sentences(result: Shown) -> tuple[list[str], list[str]]:
    """Return a study's verdict or the first lines of a summary, and a note on omitted lines."""
    if hasattr(result, "findings"):
        findings = result.findings()
        lines = "\n".join((findings.head, findings.verdict)).splitlines()
        left = len(findings) - 1
    elif hasattr(result, "summary"):
        lines = str(result.summary()).splitlines()
        left = 0
    else:
        return [], []
    lines = [line for line in lines if line.strip()]
    left += max(len(lines) - SENTENCES, 0)
    shown = [part for line in lines[:SENTENCES] for part in _wrapped(line)]
    return shown, [f".summary() has {left} more lines"] if left else []


def _titled(result: Shown) -> list[str]:
    return [part for line in result._title() for part in _wrapped(line)]


def _wrapped(line: str) -> list[str]:
    if len(line) <= WIDTH:
        return [line]
    indent = " " * (len(line) - len(line.lstrip()) + 2)
    return wrap(line, WIDTH, subsequent_indent=indent, break_on_hyphens=False)


def _one_row(result: Shown, table: Table) -> list[str]:
    """Return a one-row table as text: one line for an estimate, otherwise one line per number."""
    cells = dict(zip(table.headings, table.rows[0], strict=True))
    row, value = next(iter(cells)), next((one for one in cells if one.startswith("value [")), "")
    if not value or not {*cells} <= {row, value, *_OF_ESTIMATE}:
        width = max(map(len, cells))
        rows = (f"  {name:<{width}}  {cell}" for name, cell in cells.items())
        return [*_titled(result), *(part for line in rows for part in _wrapped(line))]
    label = "" if cells[row] in _UNNAMED or row == value else f", {cells[row]}:"
    name = getattr(result, "name", type(result).__name__)
    parts = [f"{name}{label} {cells[value]}"]
    parts += (
        [f"p {'' if cells['p'].startswith('<') else '= '}{cells['p']}"] if "p" in cells else []
    )
    parts += [f"n = {cells['n']}"] if "n" in cells else []
    parts += [cells[flag] for flag in ("flag", "reason") if flag in cells]
    parts += [result.method] if hasattr(result, "method") else []
    return _wrapped(", ".join(parts))


def _notes(table: Table, flags: Table) -> list[str]:
    """Return one line per reason in the flags, with the labels of the affected rows."""
    rows: dict[str, list[str]] = {}
    for k, heading in enumerate(flags.headings):
        about = _FLAG.sub("", heading)
        for cells, reasons in zip(table.rows, flags.rows, strict=True):
            if reasons[k] not in {"", ABSENT}:
                note = f"{about}: {reasons[k]}" if about else reasons[k]
                rows.setdefault(note, []).append(cells[0])
    notes = [
        note if len(labels) == len(table.rows) else f"{note}: {', '.join(labels)}"
        for note, labels in rows.items()
    ]
    return [part for note in notes[:NOTES] for part in _wrapped(f"* {note}")]


def _left(rows: int, columns: int) -> list[str]:
    pairs = ((rows, "row"), (columns, "column"))
    return [f"{n:,} more {what}{'s' * (n > 1)}" for n, what in pairs if n > 0]


def _ways(result: Shown, more: Sequence[str], left: Sequence[str]) -> list[str]:
    """Return the last printed line, which states the omitted parts and how to see them."""
    ways = [f"... {' and '.join(left)}; .to_frame() has all"] if left else []
    ways += more
    ways += [".plot() draws it"] if hasattr(result, "plot") else []
    ways += [".report(path) writes a page"] if hasattr(result, "report") else []
    return _wrapped(", ".join(ways)) if ways else []


def _brief(value: Any) -> str:
    """Return a value as text in one line."""
    if isinstance(value, np.ndarray):
        return _brief_array(value)
    if hasattr(value, "__dataclass_fields__") and hasattr(value, "to_frame"):
        return _brief_result(value)
    if isinstance(value, float):
        return _figures(value)
    if hasattr(value, "columns"):
        return f"table{value.shape}"
    if isinstance(value, dict):
        pairs = [f"{_brief(key)}: {_brief(one)}" for key, one in islice(value.items(), FEW)]
        return f"{{{', '.join(pairs)}{', ...' * (len(value) > FEW)}}}"
    if type(value) is tuple:
        if len(value) > FEW:
            return f"({_brief(value[0])}, ..., {_brief(value[-1])}) [{len(value)}]"
        return f"({', '.join(map(_brief, value))}{',' * (len(value) == 1)})"
    return " ".join(repr(value.item() if isinstance(value, np.generic) else value).split())


def _brief_result(result: Any) -> str:
    """Return a nested result as text: its value and interval, or its type."""
    value: Any = getattr(result, "value", None)
    bounds: Any = getattr(result, "interval", None)
    if isinstance(value, float | np.ndarray) and np.size(value) == 1 == np.size(bounds) // 2:
        return with_interval(float(np.ravel(value)[0]), np.ravel(bounds))
    title = result._title()[0]
    return (
        f"<{title}: {extent(np.ravel(value))}>" if isinstance(value, np.ndarray) else f"<{title}>"
    )


def _brief_array(array: Any) -> str:
    if array.dtype.kind in "fiu" and array.ndim == 1 and array.size <= FEW:
        return f"[{', '.join(map(_figures, array.tolist()))}]"
    known = array[np.isfinite(array)] if array.dtype.kind in "fiu" else array[:0]
    ends = f", {_figures(known.min())} to {_figures(known.max())}" if known.size else ""
    return f"array{array.shape} {array.dtype}{ends}"


def _figures(value: Any) -> str:
    return ABSENT if value != value else f"{value + 0:.4g}"  # adding 0 turns -0 into 0
