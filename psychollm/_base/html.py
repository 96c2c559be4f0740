"""What a notebook shows of a result: its name, its sentences, the first rows of its table.

Colours are those of the page, so that light and dark both read; nothing is fetched.
"""

from collections.abc import Iterator, Sequence
from html import escape
from itertools import islice
from typing import TYPE_CHECKING, Any

from psychollm._base.errors import InputError
from psychollm._base.tables import level_of, reporting_table
from psychollm._base.typeset import Table

if TYPE_CHECKING:
    import pandas as pd

    from psychollm._base.result import Result

ROWS = 6
COLUMNS = 9
SENTENCES = 6
WIDEST_CELL = 44
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


def result_html(result: "Result") -> str:
    """Return a result as HTML for a notebook."""
    parts = [f'<p class="name">{escape(type(result).__name__)}</p>', *_sentences(result)]
    frame = _frame(result)
    if frame is None or frame.empty:
        parts.append(f"<pre>{escape(_fields(result))}</pre>")
    else:
        parts += _rows(frame, level_of(result))
        said = escape(_fields(result))
        parts.append(f"<details><summary>fields</summary><pre>{said}</pre></details>")
    return f'<style>{_STYLE}</style><div class="psychollm">{"".join(parts)}</div>'


def _frame(result: "Result") -> "pd.DataFrame | None":
    try:
        return result.to_frame()
    except InputError:  # it has no table
        return None


def _sentences(result: "Result") -> Iterator[str]:
    """Yield the first lines of the summary, where there is one, as they are set."""
    make = getattr(result, "summary", None)
    lines = [] if make is None else [line for line in str(make()).splitlines() if line.strip()]
    if lines:
        said = escape("\n".join(lines[:SENTENCES]))
        yield f"<pre>{said}</pre>"
    if len(lines) > SENTENCES:
        yield f'<p class="more">{len(lines) - SENTENCES} more lines in summary()</p>'


def _fields(result: "Result") -> str:
    """Return the text of the result without its name, which stands above."""
    lines = repr(result).splitlines()
    return "\n".join(lines[1:] if lines[0] == type(result).__name__ and lines[1:] else lines)


def _rows(frame: "pd.DataFrame", level: float | None) -> Iterator[str]:
    wide = frame.iloc[:, : 3 * COLUMNS] if frame.shape[1] > 6 * COLUMNS else frame
    table = reporting_table(wide.head(ROWS), level=level)
    yield _html_table(table)
    left = []
    if len(frame) > ROWS:
        left.append(f"{len(frame) - ROWS:,} more rows")
    hidden = len(table.headings) - COLUMNS + frame.shape[1] - wide.shape[1]
    if hidden > 0:
        left.append(f"{hidden:,} more columns")
    if left:
        yield f'<p class="more">{" and ".join(left)} in to_frame()</p>'


def _html_table(table: Table) -> str:
    head = _cells("th", table.headings, table.numeric)
    rows = "".join(f"<tr>{_cells('td', row, table.numeric)}</tr>" for row in table.rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _cells(tag: str, cells: Sequence[str], numeric: Sequence[bool]) -> str:
    shown: Iterator[tuple[str, Any]] = islice(zip(cells, numeric, strict=True), COLUMNS)
    return "".join(
        f"<{tag} class={'r' if right else 'l'}>{escape(_shortened(cell))}</{tag}>"
        for cell, right in shown
    )


def _shortened(cell: str) -> str:
    return cell if len(cell) <= WIDEST_CELL else cell[: WIDEST_CELL - 1] + "…"
