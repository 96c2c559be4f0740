"""Held-out cells and sampled empty cells of a table, reproducible for any number of processes.

A hash of a cell's row and column decides whether the cell is held out. The hash is the finaliser
of splitmix64, applied twice. Empty cells of a row are sampled by geometric jumps, with a random
stream for each row. The time grows with the number of drawn and filled cells, not with the number
of columns.

References
----------
Steele, G. L., Lea, D., & Flood, C. H. (2014). Fast splittable pseudorandom number generators.
OOPSLA, 453-472. https://doi.org/10.1145/2660193.2660195
"""

import math

import numpy as np

from psychollm.kernels._jit import njit
from psychollm.kernels.random import (
    GOLDEN,
    MIX_1,
    MIX_2,
    TWO_POW_MINUS_53,
    U11,
    U27,
    U30,
    U31,
    seed_stream,
    uniform,
)


@njit
def _mixed(x):
    x = (x ^ (x >> U30)) * MIX_1
    x = (x ^ (x >> U27)) * MIX_2
    return x ^ (x >> U31)


@njit
def hold_out(start, columns, first, seed, share, held):
    """Mark a proportion of about `share` of the cells, in rows from `first` on, as held out."""
    one = np.uint64(1)
    for row in range(start.size - 1):
        key = _mixed(seed + (np.uint64(first + row) + one) * GOLDEN)
        for q in range(start[row], start[row + 1]):
            word = _mixed(key + (np.uint64(columns[q]) + one) * GOLDEN)
            held[q] = float(word >> U11) * TWO_POW_MINUS_53 < share


@njit
def draw_empty(cells, n_columns, first, seed, share, begin, out):
    """List each row's filled cells, then empty cells drawn with probability `share`.

    Parameters
    ----------
    cells : tuple of ndarray (rows + 1,), (filled,)
        Offsets of the filled cells of the rows from `first` on, and their columns in ascending
        order.
    n_columns, first : int
    seed : uint64
    share : float
    begin : ndarray (rows + 1,)
        Array that receives the offset of each row's cells.
    out : tuple of ndarray (cells,), (cells,)
        Arrays that receive the columns of the cells and an indicator (1 for filled cells, 0 for
        empty cells). If the arrays are empty, cells are counted but not stored.
    """
    start, columns = cells
    where, filled = out
    words = np.empty(2, dtype=np.uint64)
    n = 0
    begin[0] = 0
    for row in range(start.size - 1):
        last = start[row + 1]
        for q in range(start[row], last):
            if where.size:
                where[n], filled[n] = columns[q], 1.0
            n += 1
        words[0], words[1] = seed, np.uint64(first + row)
        state = seed_stream(words)
        q, column = start[row], -1
        while True:
            column += 1
            if share < 1.0:
                jump = math.log(1.0 - uniform(state)) / math.log1p(-share)
                column += int(min(jump, float(n_columns)))
            if column >= n_columns:
                break
            while q < last and columns[q] < column:
                q += 1
            if q < last and columns[q] == column:
                continue
            if where.size:
                where[n], filled[n] = column, 0.0
            n += 1
        begin[row + 1] = n
