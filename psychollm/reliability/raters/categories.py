"""Ratings of any kind as places among their categories."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from psychollm._base.checks import check_unique
from psychollm._base.errors import CodeError
from psychollm._base.types import AnyArray, IntArray
from psychollm.data.labels import Labels

Name = Callable[[Sequence[int]], str]


@dataclass(frozen=True, slots=True)
class Encoded:
    """Ratings as places among categories."""

    codes: IntArray  # (...) place, -1 where missing
    categories: Labels
    ordered: bool  # numbers, or categories that were passed in order


def encode_categories(
    cells: AnyArray, categories: Iterable[Hashable] | None, name: Name
) -> Encoded:
    """Return the place of each rating among its categories."""
    codes, found = _distinct(cells, name)
    if categories is None:
        numeric = all(isinstance(value, int | float) for value in found)
        order = sorted(range(len(found)), key=lambda i: _sort_key(found[i]))
        known = tuple(found[i] for i in order)
        return Encoded(_moved(codes, np.argsort(order)), known, numeric)
    given = tuple(_plain(category) for category in categories)
    check_unique("category", given)
    place = {category: i for i, category in enumerate(given)}
    for i, value in enumerate(found):
        if value not in place:
            where = name([int(at) for at in np.argwhere(codes == i)[0]])
            msg = f"ratings: {where} holds {value!r}, which is not in categories={given!r}: add it"
            raise CodeError(msg)
    target = np.array([place[value] for value in found], dtype=np.int64)
    return Encoded(_moved(codes, target), given, ordered=True)


def _moved(codes: IntArray, target: AnyArray) -> IntArray:
    """Replace each code by its target; what is missing stays so."""
    return np.asarray(np.append(target, -1).astype(np.int64)[codes], dtype=np.int64)


def _distinct(cells: AnyArray, name: Name) -> tuple[IntArray, list[Any]]:
    """Return the number of each cell's value among the distinct ones, -1 where missing."""
    import pandas as pd

    try:
        codes, found = pd.factorize(cells.ravel())
    except TypeError as error:
        msg = f"ratings must be numbers, words or other hashable values: {error}"
        raise CodeError(msg) from error
    shaped = codes.astype(np.int64).reshape(cells.shape)
    values = [_plain(value) for value in found]
    for i, value in enumerate(values):
        if isinstance(value, float) and np.isinf(value):
            where = name([int(at) for at in np.argwhere(shaped == i)[0]])
            msg = f"ratings: {where} holds infinity: leave unknown ratings missing (NaN)"
            raise CodeError(msg)
    return shaped, values


def _plain(value: Any) -> Any:
    """Turn NumPy scalars into Python's, and whole floats into whole numbers."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, bool):
        return int(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _sort_key(value: Any) -> tuple[str, Any]:
    """Numbers by size, words by alphabet, whatever else by what it looks like."""
    if isinstance(value, int | float):
        return "", value
    return type(value).__name__, value if isinstance(value, str) else repr(value)
