"""Who belongs to which group: one label for each unit, made into positions."""

from collections.abc import Hashable
from typing import Any

import numpy as np

from psychollm._base.errors import LabelError, ShapeError
from psychollm._base.types import IntArray
from psychollm.data.labels import Labels, listed
from psychollm.data.per_unit import numbered, unit_labels


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
