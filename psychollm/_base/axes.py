"""Declared axes of a result's arrays, for making labelled tables and datasets.

A result class declares the rows and columns of its table as follows::

    _AXES = Axes(
        {"model": "labels", "beta": "betas"},
        "value",
        "{bound}=interval",
        ("excess", lambda curve: curve.value - curve.all_yes),
        arrays={"model beta": "value all_yes", "model beta bound": "interval"},
    )

The mapping names, for each row axis, the attribute that contains its labels; with None, the rows
are numbered from 1. A table with several row axes has one row per combination of labels, or one
row per pair of labels if `pairs` is set. A column is

* ``name``: the attribute of the same name. An estimate gives the columns `name`, `name_lower` and
  `name_upper`. Reasons become text, and an attribute that is None has no column;
* ``name=path``: an attribute by its dotted path; a number in the path selects an entry of the last
  axis;
* ``name_{axis}=path``: an array with one more axis, which has one column per label of that axis.
  The labels of the axis ``bound`` are lower and upper; labels of other axes are given by `labels`
  or by the row axes. Empty braces number the columns from 1;
* ``*=path``: all columns of another result;
* ``(name, function)``: a function of the result; the name may contain an axis in braces.

`arrays` maps dimension names to the attributes that `to_xarray` returns with these dimensions.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from psychollm._base.errors import InputError
from psychollm._base.optional import require
from psychollm._base.types import AnyArray, IntArray
from psychollm._base.version import __version__

if TYPE_CHECKING:
    import pandas as pd


BOUNDS = ("lower", "upper")
Pairs: TypeAlias = Literal["lower", "upper", "both"]
Column: TypeAlias = "str | tuple[str, Callable[[Any], Any]] | Interleaved"
Variables: TypeAlias = Mapping[str, tuple[Iterable[str], AnyArray | None]]


@dataclass(frozen=True, slots=True)
class Interleaved:
    """Columns with the same additional axis, sorted by its labels and then by column."""

    columns: tuple["Column", ...]

    def __init__(self, *columns: "Column") -> None:
        object.__setattr__(self, "columns", columns)


def whole(name: str, path: str = "") -> "Column":
    """Return a column of counts, as floats because weights can make them fractional."""

    def counts(result: Any) -> AnyArray:
        values = np.asarray(_read(result, path or name))
        return values.astype(np.int64) if (values == np.round(values)).all() else values

    return name, counts


@dataclass(frozen=True, slots=True, init=False)
class Axes:
    """Rows and columns of a result's table, and dimensions of its arrays."""

    rows: Mapping[str, str | None]
    columns: tuple[Column, ...]
    pairs: Pairs | None  # triangle of a square matrix whose entries become rows
    # labels of further axes, or the name of the attribute with these labels
    labels: Mapping[str, str | tuple[Any, ...]]
    arrays: Mapping[str, str]  # maps dimensions to attributes; spaces separate several names

    def __init__(
        self,
        rows: Mapping[str, str | None] | None = None,
        *columns: Column,
        pairs: Pairs | None = None,
        labels: Mapping[str, str | tuple[Any, ...]] | None = None,
        arrays: Mapping[str, str] | None = None,
    ) -> None:
        object.__setattr__(self, "rows", rows or {})
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "pairs", pairs)
        object.__setattr__(self, "labels", labels or {})
        object.__setattr__(self, "arrays", arrays or {})

    def names(self, result: Any, axis: str) -> Any:
        """Return the labels of an axis, or None if the axis is numbered."""
        labels = {"bound": BOUNDS, **self.rows, **self.labels}[axis]
        return _read(result, labels) if isinstance(labels, str) else labels

    @property
    def variables(self) -> dict[str, tuple[str, ...]]:
        """Names of the dimensions of each attribute that `to_xarray` returns."""
        return {
            name: tuple(dims.split())
            for dims, names in self.arrays.items()
            for name in names.split()
        }


def frame_of(result: Any, axes: Axes | None) -> "pd.DataFrame":
    """Return the table of a result."""
    import pandas as pd

    if axes is None or not axes.columns:
        msg = f"{type(result).__name__} has no table: its fields are in to_dict()"
        raise InputError(msg)
    columns = {
        name: value for column in axes.columns for name, value in _expanded(result, axes, column)
    }
    if len(axes.rows) < 2:
        columns = {name: _flat(value) for name, value in columns.items()}
    sides = [axes.names(result, axis) for axis in axes.rows]
    shape = [
        np.shape(next(iter(columns.values())))[k] if side is None else len(side)
        for k, side in enumerate(sides)
    ]
    index = _positions(shape, axes.pairs)
    table = {
        axis: _taken(np.arange(1, size + 1) if side is None else side, rows)
        for axis, side, size, rows in zip(axes.rows, sides, shape, index, strict=True)
    }
    if len(shape) > 1:
        columns = {
            name: np.broadcast_to(np.asarray(value), shape)[index]
            for name, value in columns.items()
        }
    size = len(index[0]) if index else _length(columns.values())
    held, rows = table | columns, pd.RangeIndex(size)
    try:
        return pd.DataFrame(held, index=rows)
    # Arrow rejects lone surrogates, and pandas 3.0 cannot convert very large integers to floats.
    except (UnicodeEncodeError, OverflowError):
        return pd.DataFrame({k: pd.Series(v, rows, dtype=object) for k, v in held.items()})


def intervals_of(result: Any) -> dict[str, tuple[str, str]]:
    """Map each column of lower bounds to the columns of its upper bounds and estimates.

    The name of an estimate is included even if the table has no column for it. If the class
    declares no columns, bounds are recognised by their names: ``x_lower`` and ``x_upper`` are the
    bounds of ``x``.
    """
    axes = result._axes()
    if axes is None or not axes.columns:
        names = [str(name) for name in result.to_frame().columns]
        alone = "value" if "value" in names else ""
        stems = [name.removesuffix(BOUNDS[0]) for name in names if name.endswith(BOUNDS[0])]
        return {
            f"{stem}{BOUNDS[0]}": (f"{stem}{BOUNDS[1]}", stem.rstrip("_ ") or alone)
            for stem in stems
            if f"{stem}{BOUNDS[1]}" in names
        }
    bounds: dict[str, tuple[str, str]] = {}
    named: dict[str, str] = {}  # maps the path of an attribute to the name of its column
    for column in _each(axes.columns):
        name, value = _named(result, column)
        path = "" if isinstance(column, tuple) else column.partition("=")[2] or name
        if name == "*":
            bounds |= intervals_of(value)
        elif "{bound}" in name:
            lower, upper = (name.replace("{bound}", bound) for bound in BOUNDS)
            stem = name.replace("{bound}", "").strip("_ ")
            bounds[lower] = (upper, stem or named.get(path.removesuffix("interval") + "value", ""))
        elif _is_estimate(value):
            bounds[f"{name}_{BOUNDS[0]}"] = (f"{name}_{BOUNDS[1]}", name)
        named[path] = name
    return bounds


def _each(columns: Iterable[Column]) -> Iterator[str | tuple[str, Callable[[Any], Any]]]:
    for column in columns:
        if isinstance(column, Interleaved):
            yield from _each(column.columns)
        else:
            yield column


def _is_estimate(value: Any) -> bool:
    return hasattr(value, "interval") and hasattr(value, "value")


def _flat(value: Any) -> Any:
    return value.ravel() if isinstance(value, np.ndarray) else value


def _positions(shape: list[int], pairs: Pairs | None) -> tuple[IntArray, ...]:
    """Return the position of each row on each axis."""
    if pairs is None:
        return tuple(axis.ravel() for axis in np.indices(shape))
    if pairs == "both":
        return np.nonzero(~np.eye(shape[0], dtype=np.bool_))
    if pairs == "lower":
        return np.tril_indices(shape[0], -1)
    return np.triu_indices(shape[0], 1)


def _length(columns: Iterable[Any]) -> int:
    """Return the number of rows of a table without named axes: 1 if all columns are numbers."""
    sizes = (len(one) for one in columns if isinstance(one, Sized) and not isinstance(one, str))
    return next(sizes, 1)


def _taken(labels: Any, rows: IntArray) -> Any:
    return labels[rows] if isinstance(labels, np.ndarray) else [labels[row] for row in rows]


def _expanded(result: Any, axes: Axes, column: Column) -> Iterator[tuple[str, Any]]:
    """Yield the table columns that one column declaration creates."""
    if isinstance(column, Interleaved):
        blocks = [list(_expanded(result, axes, one)) for one in column.columns]
        for columns in zip(*blocks, strict=True):
            yield from columns
        return
    name, value = _named(result, column)
    if value is None:
        return
    if name == "*":
        frame = value.to_frame()
        yield from ((key, frame[key].array) for key in frame.columns)
    elif "{" in name:
        axis = name[name.index("{") + 1 : name.index("}")]
        parts = np.moveaxis(np.asarray(value), -1, 0)
        labels = axes.names(result, axis) if axis else range(1, len(parts) + 1)
        for label, part in zip(labels, parts, strict=True):
            yield name.replace(f"{{{axis}}}", str(label)), part
    elif _is_estimate(value):
        yield name, value.value
        yield from zip((f"{name}_{bound}" for bound in BOUNDS), value.interval.T, strict=True)
    else:
        yield name, _plain(value)


def _named(result: Any, column: str | tuple[str, Callable[[Any], Any]]) -> tuple[str, Any]:
    if isinstance(column, tuple):
        name, function = column
        return name, function(result)
    name, _, path = column.partition("=")
    return name, _read(result, path or name)


def _read(value: Any, path: str) -> Any:
    for name in path.split("."):
        if value is None:
            break
        if isinstance(value, Mapping):
            value = value[name]
        else:
            value = np.asarray(value)[..., int(name)] if name.isdigit() else getattr(value, name)
    return value


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [str(one) if isinstance(one, Enum) else one for one in value]
    return value


def dataset_of(result: Any, axes: Axes | None) -> Any:
    """Return the dataset of a result whose class names the dimensions of its arrays."""
    if axes is None or not axes.arrays:
        msg = (
            f"{type(result).__name__} has no arrays of more than two labelled dimensions: "
            "to_frame() and to_dict() hold all of it"
        )
        raise InputError(msg)
    variables = {
        name.lstrip("_"): (dims, getattr(result, name)) for name, dims in axes.variables.items()
    }
    used = {dim for dims in axes.variables.values() for dim in dims}
    named = {**axes.rows, **axes.labels}
    coords = {axis: axes.names(result, axis) for axis in named if axis in used}
    return dataset(variables, coords, of=result)


def dataset(variables: Variables, coords: Mapping[str, Any], *, of: Any) -> Any:
    """Return an xarray dataset; numbers and text become attributes, and None is omitted."""
    xarray = require("xarray", extra="io", purpose="to_xarray()")
    known = {name: (tuple(dims), array) for name, (dims, array) in variables.items()}
    kept = {name: pair for name, pair in known.items() if pair[1] is not None}
    used = {dim for dims, _ in kept.values() for dim in dims}
    labels = {"bound": BOUNDS, **coords}
    return xarray.Dataset(
        kept,
        coords={
            dim: (dim, _labels(one))
            for dim, one in labels.items()
            if dim in used and one is not None
        },
        attrs=_attributes(of),
    )


def _labels(labels: Any) -> AnyArray:
    """Return labels as a vector, with dtype object if labels are tuples or of mixed types."""
    listed = list(labels)
    for kind in (str, int, float):
        if all(type(one) is kind for one in listed) or isinstance(labels, np.ndarray):
            return np.asarray(labels)
    mixed = np.empty(len(listed), dtype=object)
    mixed[:] = listed
    return mixed


def _attributes(result: Any) -> dict[str, Any]:
    """Return those public fields of a result that netCDF attributes can hold."""
    fields = getattr(result, "__dataclass_fields__", {})
    public = {name: getattr(result, name) for name in fields if not name.startswith("_")}
    plain = {name: one for name, one in public.items() if type(one) in (str, int, float)}
    return {"result": type(result).__name__, "psychollm": __version__, **plain}
