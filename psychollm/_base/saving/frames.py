"""Tables of pandas in a saved result.

A table is ``{"columns": index, "index": index, "data": [column, ...]}``. An index is
``{"range": [start, stop, step], "names": [name]}`` or ``{"levels": [column, ...], "names":
[...]}``. A column is ``[dtype, values]``: an array for NumPy's types, a list for objects, text and
the types of pandas with missing values (null), and ``["category", ordered, categories, codes]``.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.errors import InputError
from psychollm._base.saving.nodes import check_hashes

if TYPE_CHECKING:
    import pandas as pd

    from psychollm._base.saving.nodes import Reader, Writer

_WHOLE = tuple(f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64))
_WITH_GAPS = frozenset({"str", "string", "boolean", "Float32", "Float64", *_WHOLE})


def frame_node(frame: "pd.DataFrame", writer: "Writer", at: str) -> Any:
    """Return the node of a table."""
    data = [
        _column(frame.iloc[:, k], writer, f"{at}[{name!r}]")
        for k, name in enumerate(frame.columns)
    ]
    columns, index = (_index(axis, writer, at) for axis in (frame.columns, frame.index))
    return {"columns": columns, "index": index, "data": data}


def frame_of(node: Any, reader: "Reader") -> "pd.DataFrame":
    """Return the table of a node."""
    import pandas as pd

    index = _index_of(node["index"], reader)
    columns = {k: _column_of(one, reader) for k, one in enumerate(node["data"])}
    frame = pd.DataFrame({k: pd.Series(one, index=index) for k, one in columns.items()}, index)
    frame.columns = _index_of(node["columns"], reader)
    return frame


def _index(index: Any, writer: "Writer", at: str) -> Any:
    import pandas as pd

    names = [writer.node(name, at=f"{at}: a name of its index") for name in index.names]
    if isinstance(index, pd.RangeIndex):
        return {"range": [index.start, index.stop, index.step], "names": names}
    levels = [index.get_level_values(k) for k in range(index.nlevels)]
    said = f"{at}: its index"
    return {"levels": [_column(one, writer, said) for one in levels], "names": names}


def _index_of(node: Any, reader: "Reader") -> Any:
    import pandas as pd

    names = [reader.value(name) for name in node["names"]]
    if "range" in node:
        start, stop, step = node["range"]
        found = pd.RangeIndex(start, stop, step, name=names[0])
        len(found)  # raises where it is longer than anything can be
        return found
    levels = [_column_of(one, reader) for one in node["levels"]]
    if len(levels) > 1:
        return pd.MultiIndex.from_arrays(levels, names=names)
    return pd.Index(levels[0], name=names[0], tupleize_cols=False)


def _column(column: Any, writer: "Writer", at: str) -> Any:
    import pandas as pd

    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        codes = column.cat.codes if hasattr(column, "cat") else column.codes
        categories = _column(dtype.categories, writer, at)
        return ["category", dtype.ordered, categories, writer.node(np.array(codes), at=at)]
    if dtype == np.dtype(object):
        return ["object", [writer.node(value, at=at) for value in column]]
    if isinstance(dtype, np.dtype):
        return [dtype.str, writer.node(column.to_numpy(), at=at)]
    if dtype.name not in _WITH_GAPS:
        msg = f"{at} is of type {dtype.name}, which a file cannot hold"
        raise InputError(msg)
    gaps = column.isna()
    values = [None if gap else value for gap, value in zip(gaps, column, strict=True)]
    return [dtype.name, [writer.node(value, at=at) for value in values]]


def _column_of(node: Any, reader: "Reader") -> Any:
    import pandas as pd

    if node[0] == "category":
        _, ordered, categories, codes = node
        held = pd.Index(_column_of(categories, reader))
        return pd.Categorical.from_codes(reader.column(codes), held, ordered=ordered)
    name, values = node
    if isinstance(values, dict):
        return reader.column(values)
    listed = [reader.value(value) for value in values]
    check_hashes(listed)
    if name == "object":
        filled = np.empty(len(listed), dtype=object)
        filled[:] = listed
        return filled
    if name not in _WITH_GAPS:
        raise ValueError(name)
    # Text has a type of its own from pandas 3 on, and is objects before.
    dtype = pd.Series(["a"]).dtype if name == "str" else name
    return pd.Series(listed, dtype=dtype).array
