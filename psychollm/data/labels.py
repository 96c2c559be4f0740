"""Labels of models and questions: normalised once, looked up by position, compared in words."""

from collections.abc import Hashable, Iterable, Sequence
from difflib import get_close_matches
from typing import Any, TypeAlias

import numpy as np

from psychollm._base.checks import check_unique
from psychollm._base.errors import LabelError, ShapeError
from psychollm._base.types import IntArray

Labels: TypeAlias = tuple[Hashable, ...]

_SHOWN = 3


def as_labels(kind: str, labels: Iterable[Any] | None, n: int) -> Labels:
    """Return `n` unique labels as a tuple; None gives the positions 0 to `n` - 1."""
    if labels is None:
        return tuple(range(n))
    if isinstance(labels, str):
        msg = f"{kind}s={labels!r} is one string: pass a list of {n} labels"
        raise LabelError(msg)
    # tolist() turns NumPy scalars into plain str and int.
    found = tuple(labels.tolist() if hasattr(labels, "tolist") else labels)
    if len(found) != n:
        msg = f"{kind}s holds {len(found)} labels for {n} {kind}s: pass one for each"
        raise ShapeError(msg)
    _check_labels(kind, found)
    return found


def _check_labels(kind: str, labels: Labels) -> None:
    """Refuse unhashable, missing and repeated labels; one set() for a million good ones."""
    try:
        unique = set(labels)
    except TypeError as error:
        msg = f"{kind} labels must be hashable (strings, numbers or tuples): {error}"
        raise LabelError(msg) from error
    if not {type(label) for label in labels} <= {str, int, tuple}:
        for position, label in enumerate(labels):
            if _is_missing(label):
                msg = f"the label of {kind} number {position + 1} is missing ({label!r}): name it"
                raise LabelError(msg)
    if len(unique) != len(labels):
        check_unique(kind, labels)


def _is_missing(label: Any) -> bool:
    """Tell None, NaN, NaT and pandas.NA from a label."""
    if label is None or type(label).__name__ in {"NAType", "NaTType"}:
        return True
    return isinstance(label, float) and label != label


def positions(kind: str, labels: Labels, wanted: Any) -> IntArray:
    """Return where the `wanted` labels stand, or where a boolean mask is true."""
    if isinstance(wanted, str):
        msg = f"{kind}s={wanted!r} is one string: pass a list, [{wanted!r}]"
        raise LabelError(msg)
    found = _where(kind, labels, wanted) if _is_mask(wanted) else _lookup(kind, labels, wanted)
    if not found.size:
        msg = f"no {kind}s are selected: at least one is needed"
        raise ShapeError(msg)
    return found


def _is_mask(wanted: Any) -> bool:
    return getattr(wanted, "dtype", None) == np.bool_


def _where(kind: str, labels: Labels, mask: Any) -> IntArray:
    array = np.asarray(mask)
    if array.shape != (len(labels),):
        msg = f"the mask of {kind}s has shape {array.shape}, but there are {len(labels)} {kind}s"
        raise ShapeError(msg)
    return np.asarray(np.flatnonzero(array), dtype=np.int64)


def _lookup(kind: str, labels: Labels, wanted: Iterable[Any]) -> IntArray:
    place = {label: position for position, label in enumerate(labels)}
    asked = tuple(wanted.tolist() if hasattr(wanted, "tolist") else wanted)
    unknown = [label for label in asked if label not in place]
    if unknown:
        msg = f"there is no {kind} {listed(unknown)}{_similar(unknown[0], labels)}"
        raise LabelError(msg)
    check_unique(kind, asked)
    return np.asarray([place[label] for label in asked], dtype=np.int64)


def _similar(label: Hashable, labels: Labels) -> str:
    close = get_close_matches(str(label), [str(known) for known in labels[:10_000]], n=3)
    known = close or [str(label) for label in labels[:_SHOWN]]
    return f": {'did you mean' if close else 'the first are'} {listed(known)}?"


def listed(labels: Sequence[Any]) -> str:
    """Join the first labels; say how many more there are."""
    text = ", ".join(repr(label) for label in labels[:_SHOWN])
    more = len(labels) - _SHOWN
    return text if more <= 0 else f"{text} and {more} more"


def reorder(
    kind: str, labels: Labels, like: Labels, *, of: str = "the two tables"
) -> IntArray | None:
    """Return the positions that put `labels` in the order of `like`; None if they are there."""
    if labels == like:
        return None
    place = {label: position for position, label in enumerate(labels)}
    absent = [label for label in like if label not in place]
    known = set(like)
    extra = [label for label in labels if label not in known]
    if absent or extra:
        msg = f"{of} do not hold the same {kind}s: {_sides(absent, extra)}; {_REMEDY}"
        raise LabelError(msg)
    return np.asarray([place[label] for label in like], dtype=np.int64)


def order_of(
    kind: str, labels: Labels | None, like: Labels, *, argument: str, counted: bool | None = None
) -> IntArray | None:
    """Return the positions that put labelled values in the order of `like`; None for as is."""
    # Values without labels, or counted from zero where the other side has names, go by position;
    # the caller checks that there are as many.
    if labels is None or labels == like:
        return None
    positional = tuple(range(len(like)))
    counted = like == positional if counted is None else counted
    if set(labels) == set(like) and len(labels) == len(like):
        if counted:
            msg = (
                f"{argument} has the labels {listed(labels)}, but the {kind}s have none, only "
                "positions: sort_index() puts it in their order, to_numpy() takes it as it stands"
            )
            raise LabelError(msg)
    elif len(labels) == len(like) and (counted or labels == positional):
        return None
    check_unique(kind, labels)
    return reorder(kind, labels, like, of=f"the table and {argument}")


_REMEDY = (
    "keep what both have with psychollm.data.align(first, second), "
    "or choose with .select(models=..., questions=...)"
)


def _sides(absent: Sequence[Any], extra: Sequence[Any]) -> str:
    parts = []
    if absent:
        parts.append(f"only the first has {listed(absent)}")
    if extra:
        parts.append(f"only the second has {listed(extra)}")
    return "; ".join(parts)
