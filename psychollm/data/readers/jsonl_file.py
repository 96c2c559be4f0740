"""Reader of JSON lines with an object per model (wide) or per answer (long)."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from psychollm._base.errors import ShapeError
from psychollm.data.labels import Table
from psychollm.data.long import Columns, Layout, is_long, long_columns, spread
from psychollm.data.readers.csv_file import meanings, texts_read
from psychollm.data.readers.logs.source import Source
from psychollm.data.readers.wide import wide_table


def read_jsonl(path: Path, *, layout: Layout, columns: Columns) -> Table:
    """Read JSON lines as a labelled table; labels are text, as in a CSV file."""
    import pandas as pd

    lines, rows = [], []
    for line, row in Source(path).lines():
        lines.append(line)
        rows.append(row)
    header = list(dict.fromkeys(name for row in rows for name in row))
    if not rows:
        msg = f"{path} is empty: it needs one object per line, for each model or answer"
        raise ShapeError(msg)
    if not is_long(layout, header, columns):
        texts = [
            ["" if row.get(name) is None else str(row[name]) for name in header] for row in rows
        ]
        return wide_table(
            path,
            header,
            np.array(texts, dtype=object),
            columns,
            layout=layout,
            read=lambda cells: texts_read(cells, columns),
            name_row=lambda row: f"line {lines[row]}",
            guess=False,
        )
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
    """Return labels as text; absent, null and empty labels are missing."""
    cells = (row.get(name) for row in rows)
    return [None if cell is None or not str(cell).strip() else str(cell) for cell in cells]


def _values(rows: Sequence[dict[str, Any]], name: str, columns: Columns) -> Any:
    """Return the values of a field, converted as in CSV files."""
    return meanings(
        ("" if cell is None else str(cell) for cell in (row.get(name) for row in rows)),
        columns.words,
        columns.missing,
    )
