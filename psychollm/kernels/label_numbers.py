"""Integer labels, numbered in the order in which they first occur.

The hash table uses open addressing. Multiplication hashes a label to a slot (Knuth, 1998, section
6.4), and the following slots are probed one by one until the label or an empty slot is found.
"""

from typing import Any

import numpy as np

from psychollm._base.types import AnyArray, IntArray
from psychollm.kernels._jit import njit

_FACTOR = np.uint64(0x9E3779B97F4A7C15)


@njit
def slot_of(label: int, keys: IntArray, slots: AnyArray) -> Any:
    """Return the slot that holds a label, or the empty slot for it."""
    mask = np.uint64(keys.size - 1)
    at = ((np.uint64(label) * _FACTOR) >> np.uint64(20)) & mask
    while slots[at] >= 0 and keys[at] != label:
        at = (at + np.uint64(1)) & mask
    return at


@njit
def number_labels(
    labels: IntArray,
    first: int,
    known: IntArray,
    n_known: int,
    keys: IntArray,
    slots: AnyArray,
    numbers: AnyArray,
) -> tuple[int, int]:
    """Fill the number of each label, beginning with the label at index `first`.

    The function returns the index before which all labels are numbered, and the number of labels
    in `known`; numbering stops if `known` becomes full. The size of `keys` and `slots` (-1 where
    empty) is a power of two and at least twice the size of `known`.
    """
    for i in range(first, labels.size):
        at = slot_of(labels[i], keys, slots)
        if slots[at] < 0:
            if n_known == known.size:
                return i, n_known
            keys[at], slots[at] = labels[i], n_known
            known[n_known] = labels[i]
            n_known += 1
        numbers[i] = slots[at]
    return labels.size, n_known


@njit
def place_labels(known: IntArray, n_known: int, keys: IntArray, slots: AnyArray) -> None:
    """Insert known labels into an empty hash table."""
    for number in range(n_known):
        at = slot_of(known[number], keys, slots)
        keys[at], slots[at] = known[number], number
