"""JSON lines, wide or long: an object per model, or per answer."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from psychollm._base.errors import ShapeError
from psychollm.data.long import Columns, Layout, is_long, long_columns, spread
from psychollm.data.readers.csv_file import meanings
from psychollm.data.readers.logs.source import Source
from psychollm.data.readers.parquet_file import wide_table
from psychollm.data.table import Table


def read_jsonl(path: Path, *, layout: Layout, columns: Columns) -> Table:
    """Read JSON lines as a labelled table; labels are text, as in a CSV file."""
    import pandas as pd

    lines, rows = [], []
    for line, row in Source(path).lines():
        lines.append(line)
        rows.append(row)
    header = list(dict.fromkeys(name for row in rows for name in row))
    if not rows:
        msg = f"{path} is empty: it needs an object per line, for each model or answer"
        raise ShapeError(msg)
    if not is_long(layout, header, columns):
        model = columns.model if columns.model is not None else header[0]
        frame = pd.DataFrame(
            {
                name: _labels(rows, name) if name == model else _values(rows, name, columns)
                for name in header
            }
        )
        return wide_table(path, frame, columns, name_row=lambda row: f"line {lines[row]}")
    found = long_columns(path, header, columns)
    frame = pd.DataFrame({name: _labels(rows, name) for name in found.names})
    frame[found.value] = _values(rows, found.value, columns)
    return spread(
        frame,
        model=found.model,
        question=found.question,
        value=found.value,
        duplicates=columns.duplicates,
        may_be_sparse=columns.may_be_sparse,
        name_row=lambda row: f"{path}, line {lines[row]}",
        name_cell=lambda row: f"{path}, line {lines[row]}, column {found.value!r}",
    )


def _labels(rows: Sequence[dict[str, Any]], name: str) -> list[str | None]:
    """Return labels as text; what is absent, null or empty is missing."""
    cells = (row.get(name) for row in rows)
    return [None if cell is None or not str(cell).strip() else str(cell) for cell in cells]


def _values(rows: Sequence[dict[str, Any]], name: str, columns: Columns) -> Any:
    """Return numbers, and words that stand for some, as a CSV file has them."""
    return meanings(
        ("" if cell is None else str(cell) for cell in (row.get(name) for row in rows)),
        columns.words,
    )
