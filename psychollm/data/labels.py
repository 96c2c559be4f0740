"""Labels of models and questions, tables with labels, and values aligned by labels.

Labels are normalised once. Values for each question, model or row are put in the order of the
table. Labelled values are matched by label; an array, a list, or a Series with a default index is
matched by position.
"""

import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, TypeAlias

import numpy as np

from psychollm._base.checks import (
    check_unique,
    float_array,
    is_missing,
    is_missing_value,
    plain_array,
    shown,
)
from psychollm._base.errors import LabelError, OptionError, ShapeError
from psychollm._base.frames import in_pandas
from psychollm._base.types import AnyArray, FloatArray, IntArray
from psychollm._base.wording import parameter

Labels: TypeAlias = tuple[Hashable, ...]

_PIVOT = (
    ". If each row is one answer, pass table.pivot(index='model', columns='question', "
    "values='score') with the names of its columns"
)
_SHOWN = 3
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Raw values with their labels, not yet checked or coded."""

    values: AnyArray  # (models, questions) plain numbers or objects, NaN if missing
    models: Labels
    questions: Labels
    origin: Callable[[int, int], str] | None = None  # returns the location of a cell in its file
    named: tuple[bool, bool] = (True, True)  # whether rows have labels, and whether columns do

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", plain_array(self.values, "values"))

    def transposed(self) -> "Table":
        """Return the table with models and questions exchanged."""
        origin = self.origin
        turned = None if origin is None else lambda row, column: origin(column, row)
        return Table(self.values.T, self.questions, self.models, turned, self.named[::-1])

    def place(self, row: int, column: int) -> str:
        """Describe a cell for messages, with its location in the file if known."""
        cell = f"model {self.models[row]!r}, question {self.questions[column]!r}"
        return cell if self.origin is None else f"{self.origin(row, column)} ({cell})"


def as_labels(kind: str, labels: Iterable[Any] | None, n: int) -> Labels:
    """Return `n` unique labels as a tuple; by default the positions 0 to `n` - 1."""
    if labels is None:
        return tuple(range(n))
    if isinstance(labels, str):
        msg = f"{kind}s={labels!r} is one string: pass a list of {n} labels"
        raise LabelError(msg)
    labels = in_pandas(labels)
    # tolist() converts all NumPy scalars except long doubles to plain Python types.
    names = tuple(labels.tolist() if hasattr(labels, "tolist") else labels)
    if any(isinstance(one, np.longdouble) for one in names):
        names = tuple(float(one) if isinstance(one, np.longdouble) else one for one in names)
    if len(names) != n:
        msg = f"{kind}s holds {len(names)} labels for {n} {kind}s: pass one for each"
        raise ShapeError(msg)
    _check_labels(kind, names)
    return names


def _check_labels(kind: str, labels: Labels) -> None:
    """Raise an error for unhashable, missing and repeated labels."""
    try:
        unique = set(labels)
    except TypeError as error:
        msg = f"{kind} labels must be hashable (strings, numbers or tuples): {error}"
        raise LabelError(msg) from error
    if not {type(label) for label in labels} <= {str, int, tuple}:
        for position, label in enumerate(labels):
            if is_missing_value(label):
                msg = f"the label of {kind} number {position + 1} is missing ({label!r}): name it"
                raise LabelError(msg)
    if len(unique) != len(labels):
        (check_rows if kind == "model" else check_unique)(kind, labels)
    check_letters(f"{kind} label", labels)


def check_rows(kind: str, labels: Labels) -> None:
    """Raise an error for repeated labels of rows, with a remedy if each row is one answer."""
    try:
        check_unique(kind, labels)
    except LabelError as error:
        msg = f"{error.text.marked}{_PIVOT}"
        raise LabelError(msg) from error


def check_letters(what: str, labels: Iterable[Any]) -> None:
    """Raise an error for text that cannot be encoded in a file."""
    texts = [label for label in labels if isinstance(label, str)]
    try:
        "".join(texts).encode()
    except UnicodeEncodeError as error:
        halved = next(one for one in texts if _SURROGATE.search(one))
        msg = f"{what} {halved!r} has a lone surrogate, which no file can store: rename it"
        raise LabelError(msg) from error


def positions(kind: str, labels: Labels, wanted: Any) -> IntArray:
    """Return the indices of the labels or of the boolean mask in `wanted`; None selects all."""
    if wanted is None:
        return np.arange(len(labels))
    if isinstance(wanted, str):
        msg = f"{kind}s={wanted!r} is one string: pass a list, [{wanted!r}]"
        raise LabelError(msg)
    wanted = in_pandas(wanted)
    masked = getattr(wanted, "dtype", None) == np.bool_
    rows = _where(kind, labels, wanted) if masked else _lookup(kind, labels, wanted)
    if not rows.size:
        msg = f"no {kind}s are selected: select at least one"
        raise ShapeError(msg)
    return rows


def _where(kind: str, labels: Labels, mask: Any) -> IntArray:
    array = np.asarray(mask)
    if array.shape != (len(labels),):
        msg = f"the mask of {kind}s has shape {array.shape}, but there are {len(labels)} {kind}s"
        raise ShapeError(msg)
    return np.asarray(np.flatnonzero(array), dtype=np.int64)


def _lookup(kind: str, labels: Labels, wanted: Iterable[Any]) -> IntArray:
    row = {label: position for position, label in enumerate(labels)}
    asked = wanted.tolist() if hasattr(wanted, "tolist") else wanted
    if not isinstance(asked, Iterable) or not all(isinstance(one, Hashable) for one in asked):
        msg = f"{kind}s={shown(asked)} are not labels: pass a list of labels"
        raise LabelError(msg)
    asked = tuple(asked)
    unknown = [label for label in asked if label not in row]
    if unknown:
        msg = f"{kind} {listed(unknown)} does not exist{_similar(unknown[0], labels)}"
        raise LabelError(msg)
    check_unique(kind, asked)
    return np.asarray([row[label] for label in asked], dtype=np.int64)


def _similar(label: Hashable, labels: Labels) -> str:
    close = get_close_matches(str(label), [str(known) for known in labels[:10_000]], n=3)
    if close:
        return f": did you mean {listed(close)}?"
    return f"; the first are {listed([str(label) for label in labels[:_SHOWN]])}"


def listed(labels: Sequence[Any]) -> str:
    """Return the first labels as text, followed by the number of further labels."""
    text = ", ".join(repr(label) for label in labels[:_SHOWN])
    more = len(labels) - _SHOWN
    return text if more <= 0 else f"{text} and {more} more"


def naming_advice(before: str = "PATH", after: str = "PATH") -> str:
    """Return the advice to name logs of one model that are to be compared."""
    return "name them: " + parameter(
        "",
        python=f"psy.read_scores({{'before': {before!r}, 'after': {after!r}}})",
        command=f"before={before} after={after}",
    )


def reorder(
    kind: str, labels: Labels, like: Labels, *, of: str = "the two tables"
) -> IntArray | None:
    """Return positions that put `labels` in the order of `like`, or None if already in order."""
    if labels == like:
        return None
    row = {label: position for position, label in enumerate(labels)}
    absent = [label for label in like if label not in row]
    known = set(like)
    extra = [label for label in labels if label not in known]
    if absent or extra:
        msg = f"{of} do not hold the same {kind}s: {_sides(absent, extra)}; {_REMEDY}"
        raise LabelError(msg)
    return np.asarray([row[label] for label in like], dtype=np.int64)


def order_of(
    kind: str, labels: Labels | None, like: Labels, *, argument: str, counted: bool | None = None
) -> IntArray | None:
    """Return positions that put labelled values in the order of `like`, or None if in order."""
    # Values without labels, and values with a default index if `like` has names, are matched by
    # position. The caller checks the number of values.
    if labels is None or labels == like:
        return None
    positional = tuple(range(len(like)))
    counted = like == positional if counted is None else counted
    if set(labels) == set(like) and len(labels) == len(like):
        if counted:
            msg = (
                f"{argument} has the labels {listed(labels)}, but the {kind}s have none, only "
                "positions: sort_index() sorts it by label, to_numpy() keeps its present order"
            )
            raise LabelError(msg)
    elif len(labels) == len(like) and (counted or labels == positional):
        return None
    check_unique(kind, labels)
    return reorder(kind, labels, like, of=f"the table and {argument}")


_REMEDY = (
    "keep the common ones with "
    + parameter("align", python="psychollm.data.align(first, second)")
    + ", or choose with "
    + parameter("models", python=".select(models=..., questions=...)")
)


def _sides(absent: Sequence[Any], extra: Sequence[Any]) -> str:
    parts = []
    if absent:
        parts.append(f"only the first has {listed(absent)}")
    if extra:
        parts.append(f"only the second has {listed(extra)}")
    return "; ".join(parts)


def unit_labels(
    labels: Any, units: Labels, *, argument: str, kind: str = "question", optional: bool = False
) -> list[Any]:
    """Return one label for each unit, such as the cluster of each question."""
    if isinstance(labels, str):
        msg = f"{argument}={labels!r} is one string: pass one label for each {kind}"
        raise ShapeError(msg)
    if isinstance(labels, Mapping):
        absent = [unit for unit in units if unit not in labels]
        if absent and not optional:
            msg = f"{argument} has no entry for {kind} {listed(absent)}: label all of them"
            raise LabelError(msg)
        labels = [labels.get(unit) for unit in units]
    ordered = in_order(labels, units, argument=argument, kind=kind)
    if isinstance(ordered, list | tuple):  # NumPy would split labels that are tuples
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
        msg = f"{argument}: {kind} {unit!r} has no label: label it, or leave the {kind} out"
        raise LabelError(msg)
    names = cells.tolist()
    try:
        set(names)
    except TypeError as error:
        msg = f"{argument} must hold hashable labels (strings, numbers or tuples): {error}"
        raise LabelError(msg) from error
    check_letters(argument, names)
    return list(names)


def numbered(labels: list[Any]) -> tuple[IntArray, tuple[Hashable, ...]]:
    """Return labels as numbers, in order of first appearance, and the distinct labels."""
    number: dict[Any, int] = {}
    codes = [number.setdefault(label, len(number)) for label in labels]
    return np.array(codes, dtype=np.int64), tuple(number)


def unit_codes(labels: Any, units: Labels, *, argument: str, kind: str = "question") -> IntArray:
    """Return each unit's label as a number, in order of first appearance."""
    whole = type(labels) is np.ndarray and labels.dtype.kind in "iu"
    if whole and labels.shape == (len(units),):  # integers need no checks for missing labels
        _, first, codes = np.unique(labels, return_index=True, return_inverse=True)
        rank = np.empty(first.size, dtype=np.int64)
        rank[np.argsort(first)] = np.arange(first.size)
        return rank[codes]
    return numbered(unit_labels(labels, units, argument=argument, kind=kind))[0]


def unit_numbers(
    values: Any, units: Labels, *, argument: str, kind: str = "question"
) -> FloatArray:
    """Return one number for each unit, such as the threshold of each model; NaN if missing."""
    array = float_array(in_order(values, units, argument=argument, kind=kind), argument)
    if array.shape != (len(units),):
        msg = (
            f"{argument} must hold one number for each of the {len(units)} {kind}s, got shape "
            f"{array.shape}"
        )
        raise ShapeError(msg)
    return array


def in_order(values: Any, units: Labels, *, argument: str, kind: str = "question") -> Any:
    """Put a Series in the order of the units; return unlabelled values unchanged."""
    order = order_of(kind, index_of(values), units, argument=argument)
    return values if order is None else plain_array(values, argument)[order]


def index_of(values: Any) -> Labels | None:
    """Return the labels of a Series or of a one-dimensional DataArray; None without labels."""
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


def asymptotes_of(models: Labels, lower: Any, upper: Any) -> FloatArray:
    """Check and return the lower and upper asymptotes (2, models), by default 0 and 1."""
    low, high = (
        np.full(len(models), default)
        if given is None
        else unit_numbers(given, models, argument=name, kind="model")
        for name, given, default in (("lower", lower, 0.0), ("upper", upper, 1.0))
    )
    wrong = (low < 0.0) | (high > 1.0) | (low >= high)
    if wrong.any():
        m = int(np.argmax(wrong))
        msg = (
            f"lower and upper of {models[m]!r} are {low[m]:g} and {high[m]:g}: they must satisfy "
            "0 <= lower < upper <= 1"
        )
        raise OptionError(msg)
    return np.stack([low, high])


def loadings_of_models(values: Any, models: Labels) -> FloatArray:
    """Check and return loadings of models on one factor, which are NaN or inside (-1, 1)."""
    loadings = unit_numbers(values, models, argument="loadings", kind="model")
    outside = np.flatnonzero(np.abs(loadings) >= 1.0)
    if outside.size:
        first = outside[0]
        msg = (
            f"loadings: model {models[first]!r} has {loadings[first]:g}, but a loading is a "
            "correlation and must lie between -1 and 1 (both excluded)"
        )
        raise OptionError(msg)
    return loadings
