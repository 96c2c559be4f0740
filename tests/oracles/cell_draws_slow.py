"""Held-out and empty cells by whole numbers of any size, one cell at a time."""

import math

from tests.oracles import streams_slow

WORD = (1 << 64) - 1


def mixed(x):
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & WORD
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & WORD
    return x ^ (x >> 31)


def held_out(row, column, seed, share):
    key = mixed((seed + (row + 1) * 0x9E3779B97F4A7C15) & WORD)
    word = mixed((key + (column + 1) * 0x9E3779B97F4A7C15) & WORD)
    return (word >> 11) / 2**53 < share


def empty(row, filled, n_columns, seed, share):
    """Columns at which jumps of geometric length land, without the filled ones."""
    stream, landed, column = streams_slow.seeded(seed, row), [], -1
    while column < n_columns:
        jump = 0
        if share < 1:
            jump = math.floor(math.log(1 - streams_slow.uniform(stream)) / math.log1p(-share))
        column += 1 + jump
        landed.append(column)
    return [column for column in landed if column < n_columns and column not in set(filled)]
