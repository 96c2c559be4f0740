"""Joint counts of binary rows, computed by AND and population count on 64-bit words.

A table of 1,000 models and 100,000 questions takes 25 MB, regardless of the size of its file: each
cell takes two bits, one for "yes" and one for "answered".
"""

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from psychollm._base.types import AnyArray, FloatArray, IntArray, WordArray
from psychollm.kernels._jit import njit
from psychollm.kernels.codes import MISSING, YES


@intrinsic
def popcount(typingctx: Any, word: Any = None) -> Any:
    """Count the set bits of a word, with the processor's instruction."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), codegen


def pack_rows(flags: AnyArray) -> WordArray:
    """Pack rows of booleans, shape (k, n), to words, shape (k, ceil(n / 64)); padding is zero."""
    k, n = flags.shape
    n_words = -(-n // 64)
    packed = np.packbits(flags, axis=1, bitorder="little")
    if packed.shape[1] == n_words * 8:
        return np.ascontiguousarray(packed).view(np.uint64)
    padded = np.zeros((k, n_words * 8), dtype=np.uint8)
    padded[:, : packed.shape[1]] = packed
    return padded.view(np.uint64)


@njit
def count_common(first: WordArray, second: WordArray) -> float:
    """Count the bits set in both rows, shape (w,) each."""
    total = np.uint64(0)
    for i in range(first.size):
        total += popcount(first[i] & second[i])
    return float(total)


@njit
def count_pairs(yes: WordArray, joint: FloatArray) -> None:
    """Fill `joint` (k, k) with the number of questions that both rows answered with yes."""
    for i in range(yes.shape[0]):
        for j in range(i + 1):
            shared = count_common(yes[i], yes[j])
            joint[i, j] = shared
            joint[j, i] = shared


@njit
def count_with_missing(yes, answered, joint, own, both):
    """Count the joint yes answers, yes answers and joint answers of each pair of rows."""
    # `own[i, j]` counts the yes answers of i on questions that i and j both answered.
    k = yes.shape[0]
    for i in range(k):
        for j in range(i + 1):
            joint[i, j] = count_common(yes[i], yes[j])
            joint[j, i] = joint[i, j]
            both[i, j] = count_common(answered[i], answered[j])
            both[j, i] = both[i, j]
            own[i, j] = count_common(yes[i], answered[j])
            own[j, i] = count_common(yes[j], answered[i])


@njit
def fill_planes(
    row: IntArray,
    column: IntArray,
    value: AnyArray,
    yes: WordArray,
    answered: WordArray,
    repeated: IntArray,
) -> None:
    """Set the bits that encode a batch of answers."""
    # `row`, `column` and `value` (n,) hold the model, the question, and NO, YES or MISSING; `yes`
    # and `answered` (rows, words) are the bit planes. Cells that already have an answer are left
    # unchanged; a negative `repeated[0]` is replaced by the index of the first answer to such a
    # cell.
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


@njit
def fill_bits(
    first: int,
    start: IntArray,
    columns: AnyArray,
    codes: AnyArray,
    yes: AnyArray,
    answered: AnyArray,
) -> None:
    """Set bits (models, words) for the filled cells of a block that starts at question `first`."""
    one = np.uint64(1)
    for row in range(start.size - 1):
        word = (first + row) >> 6
        bit = one << np.uint64((first + row) & 63)
        for c in range(start[row], start[row + 1]):
            answered[columns[c], word] |= bit
            if codes[c] == 1:
                yes[columns[c], word] |= bit
