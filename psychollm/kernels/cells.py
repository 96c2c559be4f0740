"""Filled cells of a table in the order of its rows: two stable counting sorts, O(cells)."""

from psychollm._base.types import AnyArray, IntArray
from psychollm.kernels._jit import njit


@njit
def running_starts(numbers: AnyArray, start: IntArray) -> None:
    """Fill where the cells of each number begin (n + 1,)."""
    start[:] = 0
    for i in range(numbers.size):
        start[numbers[i] + 1] += 1
    for k in range(start.size - 1):
        start[k + 1] += start[k]


@njit
def stable_order(numbers: AnyArray, place: IntArray, before: IntArray, order: IntArray) -> None:
    """Fill the order of places by number; `place` (n + 1,), where each begins, is used up."""
    # Equal numbers stay in the order `before`.
    for i in range(before.size):
        at = before[i]
        k = numbers[at]
        order[place[k]] = at
        place[k] += 1


@njit
def first_repeat(start: IntArray, columns: AnyArray) -> int:
    """Return the place of a column that its row has twice, or -1; columns ascend in each row."""
    for row in range(start.size - 1):
        for c in range(start[row] + 1, start[row + 1]):
            if columns[c] == columns[c - 1]:
                return c
    return -1


@njit
def fill_dense(
    start: IntArray, columns: AnyArray, codes: AnyArray, table: AnyArray, missing: AnyArray
) -> None:
    """Put cells into a table (rows, columns) of zeros, and False into a mask of ones."""
    for row in range(start.size - 1):
        for c in range(start[row], start[row + 1]):
            table[row, columns[c]] = codes[c]
            missing[row, columns[c]] = False
