"""Answers in any order to rows of bits: a bit for yes and one for answered, per question.

A table of 1,000 models and 100,000 questions takes 25 MB in this form, however many bytes the
answers take in a file.
"""

import numpy as np

from psychollm._base.types import AnyArray, IntArray, WordArray
from psychollm.kernels._jit import njit

NO, YES, MISSING = 0, 1, 2


@njit
def fill_planes(
    row: IntArray,
    column: IntArray,
    value: AnyArray,
    yes: WordArray,
    answered: WordArray,
    repeated: IntArray,
) -> None:
    """Set the bits of a batch of answers."""
    # `row`, `column` and `value` (n,) say who answered which question, and NO, YES or MISSING;
    # `yes` and `answered` (rows, words) are the planes. What was answered before stays as it is,
    # and `repeated[0]`, if it is negative, becomes the place of the first such answer.
    one = np.uint64(1)
    for i in range(row.size):
        if value[i] == MISSING:
            continue
        word = column[i] >> 6
        bit = one << np.uint64(column[i] & 63)
        if answered[row[i], word] & bit:
            if repeated[0] < 0:
                repeated[0] = i
            continue
        answered[row[i], word] |= bit
        if value[i] == YES:
            yes[row[i], word] |= bit
