"""Whole numbers as labels, numbered in the order in which they first occur.

A table of open addressing: a label hashes to a slot by multiplication (Knuth, 1998, section 6.4),
and the slots after it are tried one by one until it, or an empty one, is found.
"""

from typing import Any

import numpy as np

from psychollm._base.types import AnyArray, IntArray
from psychollm.kernels._jit import njit

_FACTOR = np.uint64(0x9E3779B97F4A7C15)


@njit
def slot_of(label: int, keys: IntArray, slots: AnyArray) -> Any:
    """Return the slot that holds a label, or the empty one where it belongs."""
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
    """Fill the number of each label from place `first` on.

    Returns the place before which all is done, and how many labels are `known` now; it stops where
    these are full. `keys` and `slots` (-1 where empty) have a power of two of places, at least
    twice as many as `known` has.
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
    """Put known labels into an empty table."""
    for number in range(n_known):
        at = slot_of(known[number], keys, slots)
        keys[at], slots[at] = known[number], number
