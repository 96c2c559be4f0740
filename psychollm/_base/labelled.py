"""Results with more dimensions than a table: xarray datasets with named dimensions and labels.

A class says in ``_DIMS`` which of its arrays have which dimensions, and in ``_COORDS`` where the
labels of a dimension stand. A dimension called "bound" holds the lower and the upper bound of an
interval.
"""

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.errors import InputError
from psychollm._base.optional import require
from psychollm._base.types import AnyArray
from psychollm._base.version import __version__

if TYPE_CHECKING:
    from psychollm._base.result import Result

Variables = Mapping[str, tuple[Sequence[str], AnyArray | None]]
BOUNDS = ("lower", "upper")


def dataset_of(result: "Result") -> Any:
    """Return the dataset of a result whose class names the dimensions of its arrays.

    Raises
    ------
    InputError
        If the class names none.
    MissingPackageError
        If xarray is not installed.
    """
    dims: Mapping[str, tuple[str, ...]] = getattr(result, "_DIMS", {})
    if not dims:
        msg = (
            f"{type(result).__name__} has no arrays of more than two labelled dimensions: "
            "to_frame() and to_dict() hold all of it"
        )
        raise InputError(msg)
    held: Mapping[str, str] = getattr(result, "_COORDS", {})
    variables = {name.lstrip("_"): (dims[name], getattr(result, name)) for name in dims}
    coords = {dim: attrgetter(name)(result) for dim, name in held.items()}
    return dataset(variables, coords, of=result)


def dataset(variables: Variables, coords: Mapping[str, Any], *, of: "Result") -> Any:
    """Return an xarray dataset; what is None is left out, numbers and text become attributes.

    Parameters
    ----------
    variables : mapping of str to (dimensions, array)
        By name.
    coords : mapping of str to sequence
        Labels by dimension; dimensions without are numbered.
    of : Result
        Where they are from.

    Raises
    ------
    MissingPackageError
        If xarray is not installed.
    """
    xarray = require("xarray", extra="io", purpose="to_xarray()")
    known = {name: (tuple(dims), array) for name, (dims, array) in variables.items()}
    kept = {name: pair for name, pair in known.items() if pair[1] is not None}
    used = {dim for dims, _ in kept.values() for dim in dims}
    labels = {"bound": BOUNDS, **coords}
    return xarray.Dataset(
        kept,
        coords={dim: (dim, _labels(one)) for dim, one in labels.items() if dim in used},
        attrs=_attributes(of),
    )


def _labels(labels: Any) -> AnyArray:
    """Return labels as a one-dimensional array, of objects where they are mixed or tuples."""
    listed = list(labels)
    for kind in (str, int, float):
        if all(type(one) is kind for one in listed) or isinstance(labels, np.ndarray):
            return np.asarray(labels)
    found = np.empty(len(listed), dtype=object)
    found[:] = listed
    return found


def _attributes(result: "Result") -> dict[str, Any]:
    """Return what a file of netCDF can hold beside arrays."""
    fields = getattr(result, "__dataclass_fields__", {})
    said = {name: getattr(result, name) for name in fields if not name.startswith("_")}
    plain = {name: one for name, one in said.items() if type(one) in (str, int, float)}
    return {"result": type(result).__name__, "psychollm": __version__, **plain}
