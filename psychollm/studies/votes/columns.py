"""Find columns in tables of votes, and the differences of covariates."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.checks import float_array
from psychollm._base.errors import CodeError, LabelError, ShapeError
from psychollm._base.frames import in_pandas
from psychollm._base.types import FloatArray
from psychollm.data.labels import listed

if TYPE_CHECKING:
    import pandas as pd

_VARIED = 1e-9  # smallest standard deviation of a covariate, relative to its largest value


def column_of(frame: "pd.DataFrame | None", given: Any, argument: str) -> "pd.Series[Any]":
    """Return a column by name, or an array as a column."""
    import pandas as pd

    named = isinstance(given, str) or (
        np.ndim(given) == 0 and frame is not None and given in frame.columns
    )
    if named:
        if frame is None or given not in frame.columns:
            there = [] if frame is None else list(frame.columns)
            msg = f"{argument}={given!r} is not a column of votes: use one of {listed(there)}"
            raise LabelError(msg)
        column: pd.Series[Any] = frame[given]
        if column.ndim != 1:
            msg = f"column {given!r} of votes occurs several times: rename the others"
            raise LabelError(msg)
        return column
    values = in_pandas(given)
    if np.ndim(values) != 1:
        msg = f"{argument} must be a column name, or an array with one value per vote"
        raise ShapeError(msg)
    column = pd.Series(values).reset_index(drop=True)
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(object)
    if frame is not None and len(column) != len(frame):
        msg = f"{argument} has {len(column):,} values for {len(frame):,} votes: pass one per vote"
        raise ShapeError(msg)
    return column


def covariates_of(
    frame: "pd.DataFrame | None", covariates: Any, sides: tuple[Any, Any], n: int
) -> tuple[FloatArray, tuple[str, ...]]:
    """Return differences, left minus right (votes, covariates), and their names."""
    if isinstance(covariates, str):
        covariates = (covariates,)
    given = covariates if isinstance(covariates, Mapping) else dict.fromkeys(covariates)
    found = []
    for name, values in given.items():
        if values is None:
            found.append(_difference(frame, str(name), sides))
        elif isinstance(values, tuple) and len(values) == 2:
            one, other = (_numbers(frame, value, str(name)) for value in values)
            found.append(one - other)
        else:
            found.append(_numbers(frame, values, str(name)))
        if found[-1].size != n:
            msg = f"covariate {name!r} has {found[-1].size:,} values for {n:,} votes"
            raise ShapeError(msg)
    return (np.stack(found, axis=1) if found else np.zeros((n, 0))), tuple(map(str, given))


def check_varied(x: FloatArray, names: Sequence[str], *, side: bool) -> None:
    """Raise an error if a covariate is a linear combination of earlier covariates and `side`."""
    size = np.abs(x).max(axis=0, initial=0.0)
    scaled = x / np.where(size > 0.0, size, 1.0)
    if side:  # the effect of the side equals that of a constant covariate
        scaled = scaled - scaled.mean(axis=0)
    for j, name in enumerate(names):
        before = scaled[:, :j]
        rest = scaled[:, j] - before @ np.linalg.lstsq(before, scaled[:, j])[0]
        if np.sqrt(np.mean(rest**2)) < _VARIED:
            varies = np.ptp(scaled[:, j]) >= _VARIED
            what = f"a linear combination of {listed(names[:j])}" if varies else "always the same"
            msg = f"covariate {name!r} is {what}: its effect cannot be estimated; remove it"
            raise CodeError(msg)


def _difference(frame: "pd.DataFrame | None", name: str, sides: tuple[Any, Any]) -> FloatArray:
    header = [] if frame is None else list(frame.columns)
    ends = [tuple(map(str, sides)), ("left", "right"), ("a", "b"), ("1", "2")]
    ends += [("model_a", "model_b")]
    for one, other in ends:
        for pair in ((f"{name}_{one}", f"{name}_{other}"), (f"{one}_{name}", f"{other}_{name}")):
            if all(column in header for column in pair):
                first, second = (_numbers(frame, column, name) for column in pair)
                return first - second
    if name in header:
        return _numbers(frame, name, name)
    msg = (
        f"covariates: votes has no columns of {name!r} among {listed(header)}; name two columns "
        f"'{name}_left' and '{name}_right', or one '{name}' with their difference, or pass "
        f"{{{name!r}: ('column of the left', 'column of the right')}}"
    )
    raise LabelError(msg)


def _numbers(frame: "pd.DataFrame | None", given: Any, name: str) -> FloatArray:
    found = float_array(column_of(frame, given, f"covariate {name!r}"), f"covariate {name!r}")
    wrong = ~np.isfinite(found)
    if wrong.any():
        row = int(np.argmax(wrong))
        msg = (
            f"covariate {name!r}: row {row} has no number ({wrong.sum():,} such rows): remove "
            "these votes, or fill in a value"
        )
        raise CodeError(msg)
    return found
