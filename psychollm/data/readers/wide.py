"""Detection of the label column and of the orientation of wide tables in any format."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from psychollm._base.entry import warn
from psychollm._base.errors import LabelError, ShapeError
from psychollm._base.frames import MODELS, QUESTIONS, is_called, is_unnamed
from psychollm._base.types import AnyArray
from psychollm._base.wording import parameter
from psychollm.data.labels import Table, as_labels
from psychollm.data.long import Columns, Layout, label_column
from psychollm.data.missing_codes import check_codes, check_columns
from psychollm.data.table import known_values


class RepeatedLabelError(LabelError):
    """Error for a label that occurs in two rows of a wide table."""


def wide_table(
    path: Path,
    header: Sequence[str],
    cells: AnyArray,
    columns: Columns,
    *,
    layout: Layout,
    read: Callable[[AnyArray], AnyArray],
    name_row: Callable[[int], str],
    guess: bool = True,
) -> Table:
    """Convert a wide file to models x questions; `read` converts its cells to values.

    With `guess`, the first column may contain answers instead of labels.
    """
    n = len(cells)
    at = label_column(header, columns.model)
    if at < 0:
        msg = (
            f"{path}, line 1: column {columns.model!r} does not exist; it should label the models"
        )
        raise LabelError(msg)
    kept = np.array(
        [k != at and (k > at or not is_unnamed(header[k])) for k in range(len(header))]
    )
    if not n or not kept.any():
        msg = (
            f"{path} holds {n} models and {kept.sum()} questions: at least one "
            "of each is needed (a wide file has a line per model, its label in the first column)"
        )
        raise ShapeError(msg)
    values = read(cells[:, kept])
    said = columns.model is not None or layout != "auto" or not guess
    if columns.labels and (said or _labels_rows(header, cells, at, values, read)):
        rows = _row_labels(path, cells[:, at].tolist(), header[at], name_row)
    else:
        rows = list(range(1, n + 1))
        kept[at] = True
        values = read(cells[:, kept])
        if columns.labels:
            _note(
                f"{path}: no column holds labels (column {header[at]!r} holds answers): rows "
                f"are numbered 1 to {n}"
            )
    names = tuple(header[k] for k in np.flatnonzero(kept).tolist())
    table = Table(
        values,
        as_labels("model", rows, len(rows)),
        as_labels("question", names, len(names)),
        lambda row, column: f"{path}, {name_row(row)}, column {names[column]!r}",
    )
    turned = _turned(path, "" if kept[at] else header[at], layout)
    table = table.transposed() if turned else table
    if not columns.words:
        values = known_values(table.values)
        check_codes(values, table.questions, columns.missing, table.place)
        check_columns(values, table.questions, columns.missing, str(path))
    return table


def _labels_rows(
    header: Sequence[str],
    cells: AnyArray,
    at: int,
    values: AnyArray,
    read: Callable[[AnyArray], AnyArray],
) -> bool:
    """Return whether a column labels the rows; False if it contains answers like other columns."""
    name = header[at]
    if at or is_unnamed(name) or is_called(name, (*MODELS, *QUESTIONS, "id")):
        return True
    own = read(cells[:, :1])[:, 0]
    if own.dtype == object:
        return True
    return len(set(cells[:, 0])) == len(cells) and not np.isin(own, values[values == values]).all()


def _row_labels(
    path: Path, found: list[Any], name: str, name_row: Callable[[int], str]
) -> list[Any]:
    first: dict[Any, int] = {}
    for row, label in enumerate(found):
        if label is None or label != label or not str(label).strip():
            msg = f"{path}, {name_row(row)}, column {name!r}: the model label is missing"
            raise LabelError(msg)
        if label in first:
            before = name_row(first[label]).removeprefix("line ")
            msg = (
                f"{path}, {name_row(row)}: model {label!r} already occurs in line {before}: "
                "rename it"
            )
            raise RepeatedLabelError(msg)
        first[label] = row
    return found


def _turned(path: Path, name: str, layout: Layout) -> bool:
    """Return whether rows are questions, according to `layout` or the name of the label column."""
    if layout != "auto":
        return layout == "transposed"
    if name.strip().lower() == "id":
        msg = (
            f"{path}: the first column is named {name!r}: what are the rows? pass "
            f"{parameter('layout', 'wide')} (models) or {parameter('layout', 'transposed')} "
            "(questions)"
        )
        raise LabelError(msg)
    if not is_called(name, QUESTIONS):
        return False
    _note(
        f"{path}: the first column is named {name!r}: rows are read as questions and columns "
        f"as models ({parameter('layout', 'wide')} reads rows as models)"
    )
    return True


def _note(text: str) -> None:
    warn(text)
