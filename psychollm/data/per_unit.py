"""One value for each question, model or row: put in their order, and none of them missing.

What has labels of its own goes by labels; what has none, an array, a list or a Series that counts
its rows, goes by position.
"""

from collections.abc import Hashable
from typing import Any

import numpy as np

from psychollm._base.arrays import float_array, is_missing, plain_array
from psychollm._base.errors import LabelError, ShapeError
from psychollm._base.types import FloatArray, IntArray
from psychollm.data.labels import Labels, listed, order_of


def unit_labels(
    labels: Any, units: Labels, *, argument: str, kind: str = "question", optional: bool = False
) -> list[Any]:
    """Return one label for each unit, such as the cluster of each question."""
    if isinstance(labels, str):
        msg = f"{argument}={labels!r} is one string: pass one label for each {kind}"
        raise ShapeError(msg)
    ordered = in_order(labels, units, argument=argument, kind=kind)
    if isinstance(ordered, list | tuple):  # of labels that may be tuples themselves
        cells = np.empty(len(ordered), dtype=object)
        cells[:] = ordered
    else:
        cells = plain_array(ordered, argument)
    if cells.shape != (len(units),):
        held = f"{cells.size} labels" if cells.ndim == 1 else f"shape {cells.shape}"
        msg = f"{argument} holds {held} for {len(units)} {kind}s: pass one for each"
        raise ShapeError(msg)
    cells = cells.astype(object)
    gaps = np.flatnonzero(is_missing(cells))
    if optional:
        cells[gaps] = None
    elif gaps.size:
        unit = units[int(gaps[0])]
        msg = f"{argument}: {kind} {unit!r} has no label: name it, or leave the {kind} out"
        raise LabelError(msg)
    found = cells.tolist()
    try:
        set(found)
    except TypeError as error:
        msg = f"{argument} must hold hashable labels (strings, numbers or tuples): {error}"
        raise LabelError(msg) from error
    return list(found)


def numbered(labels: list[Any]) -> tuple[IntArray, tuple[Hashable, ...]]:
    """Return the number of each label, in order of first appearance, and the distinct labels."""
    number: dict[Any, int] = {}
    codes = [number.setdefault(label, len(number)) for label in labels]
    return np.array(codes, dtype=np.int64), tuple(number)


def unit_numbers(
    values: Any, units: Labels, *, argument: str, kind: str = "question"
) -> FloatArray:
    """Return one number for each unit, NaN where missing, such as the threshold of each model."""
    array = float_array(in_order(values, units, argument=argument, kind=kind), argument)
    if array.shape != (len(units),):
        msg = (
            f"{argument} must hold one number for each of the {len(units)} {kind}s, got shape "
            f"{array.shape}"
        )
        raise ShapeError(msg)
    return array


def in_order(values: Any, units: Labels, *, argument: str, kind: str = "question") -> Any:
    """Put a Series in the order of the units; leave alone what has no labels."""
    order = order_of(kind, index_of(values), units, argument=argument)
    return values if order is None else plain_array(values, argument)[order]


def index_of(values: Any) -> Labels | None:
    """Return the labels of a Series or of a DataArray of one dimension; None if it has none."""
    if getattr(values, "ndim", 0) != 1:
        return None
    if hasattr(values, "iloc") and hasattr(values, "index"):
        return tuple(values.index.tolist())
    if hasattr(values, "dims") and values.dims[0] in values.coords:
        return tuple(values.coords[values.dims[0]].to_numpy().tolist())
    return None


def group_members(
    groups: Any, labels: Labels, *, unit: str, fewest: int = 2
) -> tuple[tuple[Hashable, ...], IntArray]:
    """Return the labels of the groups in order of occurrence, and each unit's group (n,)."""
    member, names = numbered(unit_labels(groups, labels, argument="groups", kind=unit[:-1]))
    if len(names) < 2:
        msg = f"groups holds one label only ({names[0]!r}): a comparison needs at least two groups"
        raise LabelError(msg)
    small = [names[g] for g in np.flatnonzero(np.bincount(member) < fewest)]
    if small:
        msg = f"groups {listed(small)} have fewer than {fewest} {unit}: merge or leave them out"
        raise ShapeError(msg)
    return names, member
