"""Who belongs to which group: one label for each unit, made into positions."""

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np

from psychollm._base.errors import LabelError, ShapeError
from psychollm._base.types import IntArray
from psychollm.data.labels import listed


def group_members(
    groups: Iterable[Any], n: int, *, unit: str, fewest: int = 2
) -> tuple[tuple[Hashable, ...], IntArray]:
    """Return the labels of the groups in order of occurrence, and each unit's group (n,).

    Parameters
    ----------
    groups : iterable of hashable
        One label for each unit.
    n : int
        Number of units.
    unit : str
        What the units are, for messages: "questions".
    fewest : int
        Least number of units in a group.

    Raises
    ------
    LabelError
        If there is not one label for each unit, a label is missing, or there is one group only.
    ShapeError
        If a group has fewer units than `fewest`.

    Examples
    --------
    >>> group_members(["b", "a", "b", "a"], 4, unit="questions")
    (('b', 'a'), array([0, 1, 0, 1]))
    """
    if isinstance(groups, str):
        msg = f"groups={groups!r} is one string: pass one label for each of the {n} {unit}"
        raise LabelError(msg)
    given = list(groups.tolist() if hasattr(groups, "tolist") else groups)
    if len(given) != n:
        msg = f"groups holds {len(given)} labels, but there are {n} {unit}: pass one for each"
        raise LabelError(msg)
    gaps = [i for i, label in enumerate(given) if label is None or label != label]
    if gaps:
        msg = f"groups[{gaps[0]}] is missing: leave those {unit} out, or name their group"
        raise LabelError(msg)
    try:
        names = tuple(dict.fromkeys(given))
    except TypeError as error:
        msg = f"groups must hold hashable labels (strings, numbers or tuples): {error}"
        raise LabelError(msg) from error
    if len(names) < 2:
        msg = f"groups holds one label only ({names[0]!r}): a comparison needs at least two groups"
        raise LabelError(msg)
    place = {name: g for g, name in enumerate(names)}
    member = np.array([place[label] for label in given], dtype=np.int64)
    small = [names[g] for g in np.flatnonzero(np.bincount(member) < fewest)]
    if small:
        msg = f"groups {listed(small)} have fewer than {fewest} {unit}: merge or leave them out"
        raise ShapeError(msg)
    return names, member
