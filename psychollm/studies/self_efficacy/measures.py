"""Measures to correlate with ratings: by model, by condition, by level of difficulty."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.errors import CodeError, LabelError, ShapeError
from psychollm._base.frames import in_pandas
from psychollm.data.labels import listed

if TYPE_CHECKING:
    import pandas as pd

_CELL = ("model", "condition", "level")
_REMEDY = (
    "pass numbers by name and then by model, a Series with models in its index, or a DataFrame "
    "with the column model and one column for each measure"
)


def as_measures(measures: Any) -> dict[str, pd.DataFrame]:
    """Return each measure as rows of model, condition, level and value."""
    import pandas as pd

    measures = in_pandas(measures)
    if measures is None:
        return {}
    if isinstance(measures, pd.DataFrame):
        return _of_frame(measures)
    if isinstance(measures, pd.Series):
        return {str(measures.name or "measure"): _of_one(str(measures.name or ""), measures)}
    if not isinstance(measures, Mapping):
        msg = f"measures is a {type(measures).__name__}: {_REMEDY}"
        raise ShapeError(msg)
    return {str(name): _of_one(str(name), one) for name, one in measures.items()}


def _of_frame(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return rows by measure (column); models are in the index or in the column ``model``."""
    if "model" not in frame.columns and "model" in frame.index.names:
        frame = frame.reset_index()
    if "model" not in frame.columns:
        return {str(name): _of_one(str(name), frame[name]) for name in frame.columns}
    where = [name for name in _CELL if name in frame.columns]
    names = [name for name in frame.columns if name not in where]
    if not names:
        msg = f"measures has only the columns {listed(where)}: add one for each measure"
        raise LabelError(msg)
    return {str(name): _rows(str(name), frame[where], frame[name]) for name in names}


def _of_one(name: str, values: Any) -> pd.DataFrame:
    """Return the rows of a mapping or a Series."""
    import pandas as pd

    values = in_pandas(values)
    if isinstance(values, pd.DataFrame):
        found = _of_frame(values)
        if len(found) > 1:
            msg = f"measures[{name!r}] is a table of {len(found)} measures: pass the table itself"
            raise ShapeError(msg)
        return next(iter(found.values()))
    if isinstance(values, pd.Series):
        keys, numbers = values.index.tolist(), values
    elif isinstance(values, Mapping):
        keys, numbers = list(values), pd.Series(list(values.values()), dtype=object)
    else:
        msg = f"measures[{name!r}] is a {type(values).__name__}: {_REMEDY}"
        raise ShapeError(msg)
    tuples = [one if isinstance(one, tuple) else (one,) for one in keys]
    wrong = next((one for one in tuples if not 0 < len(one) <= len(_CELL)), None)
    if wrong is not None:
        msg = f"measures[{name!r}] has the key {wrong!r}: pass a model, (model, condition) or "
        msg += "(model, condition, level)"
        raise LabelError(msg)
    width = max((len(one) for one in tuples), default=1)
    where = pd.DataFrame(
        [(*one, *(None,) * (width - len(one))) for one in tuples],
        columns=list(_CELL[:width]),
        dtype=object,
    )
    return _rows(name, where, numbers)


def _rows(name: str, where: pd.DataFrame, values: pd.Series) -> pd.DataFrame:
    import pandas as pd

    try:
        numbers = pd.to_numeric(values).to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        msg = f"measures[{name!r}] has a value that is not a number: {error}"
        raise CodeError(msg) from error
    rows = where.reset_index(drop=True).astype(object).reindex(columns=list(_CELL))
    level = pd.to_numeric(rows["level"], errors="coerce").fillna(0.0).astype(np.float64)
    return rows.assign(level=level, value=numbers)
