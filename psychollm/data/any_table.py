"""Conversion of any table of answers, wide or long, to the fields of `Responses`."""

from collections.abc import Mapping
from typing import Any

from psychollm._base.errors import OptionError
from psychollm._base.frames import in_pandas, long_table
from psychollm.data.confidence import Threshold, cut_points, describe_rule, split
from psychollm.data.labels import Table
from psychollm.data.long import Columns, is_long, spread_frame
from psychollm.data.table import as_table, encode, numbers


def read_any(data: Any, columns: Columns, argument: str) -> Table:
    """Convert any data to a table with labels; long tables become wide."""
    if data is None or isinstance(data, str | bytes) or hasattr(data, "__fspath__"):
        msg = (
            f"{argument}={data!r} is not a table of models x questions: pass Responses, a "
            "DataFrame, a DataArray or an array; files are read by read_responses(path)"
        )
        raise OptionError(msg)
    data = in_pandas(data)
    header = data.columns if hasattr(data, "iloc") and data.ndim == 2 else ()
    if is_long("auto", [*header], columns):
        return spread_frame(data, columns, argument=argument)
    if columns.model is not None:
        data = long_table(data, [columns.model], argument=argument, row="model")
        data = data.set_index(columns.model)
    return as_table(data, argument=argument)


def coded_fields(table: Table, codes: Mapping[Any, int] | None, argument: str) -> dict[str, Any]:
    """Return the fields of `Responses` for a table of codes, or of values mapped to codes."""
    coded, missing = encode(table, codes=codes, argument=argument)
    return {
        "codes": coded,
        "missing": missing,
        "models": table.models,
        "questions": table.questions,
        "coding": "binary" if coded.max() <= 1 else "graded",
    }


def split_fields(table: Table, threshold: Threshold, *, strict: bool) -> dict[str, Any]:
    """Return the fields of a table of reported confidence, split into yes and no."""
    values = numbers(table, argument="confidence")
    cuts = cut_points(values, table.models, threshold)
    coded, missing = split(values, table.models, cuts=cuts, strict=strict)
    return {
        "codes": coded,
        "missing": missing,
        "models": table.models,
        "questions": table.questions,
        "coding": describe_rule(threshold, strict=strict),
        "cuts": cuts,
    }
