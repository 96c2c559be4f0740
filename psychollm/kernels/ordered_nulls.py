"""Random tables of ordered answers, shuffled, drawn or resampled, and their correlations."""

import math

import numpy as np

from psychollm.kernels._jit import njit
from psychollm.kernels.loops import copy_rows, copy_values
from psychollm.kernels.polychoric import (
    correlate_ordered,
    count_table,
    margin_cuts,
)
from psychollm.kernels.random import below, normal


@njit
def shuffle_answers(state, codes, by_row, out):
    """Fill `out` with shuffled answers of each row (or column); missing answers stay in place."""
    k, n = codes.shape
    copy_rows(codes, out)
    lines, length = (k, n) if by_row else (n, k)
    places = np.empty(length, dtype=np.int64)
    for line in range(lines):
        count = 0
        for at in range(length):
            if (out[line, at] if by_row else out[at, line]) >= 0:
                places[count] = at
                count += 1
        for last in range(count - 1, 0, -1):
            a, b = places[last], places[below(state, last + 1)]
            if by_row:
                out[line, a], out[line, b] = out[line, b], out[line, a]
            else:
                out[a, line], out[b, line] = out[b, line], out[a, line]


@njit
def draw_answers(state, loadings, cuts, codes, out):
    """Fill `out` (k, n) with thresholded draws from a factor model; missing cells stay missing."""
    # `loadings` (k, m) are on orthogonal factors, `cuts` (k, C + 1) have infinite ends.
    k, m = loadings.shape
    unique = np.empty(k)
    for i in range(k):
        common = 0.0
        for j in range(m):
            common += loadings[i, j] * loadings[i, j]
        unique[i] = math.sqrt(max(1.0 - common, 0.0))
    factors = np.empty(m)
    for u in range(codes.shape[1]):
        for j in range(m):
            factors[j] = normal(state)
        for i in range(k):
            value = unique[i] * normal(state)
            for j in range(m):
                value += loadings[i, j] * factors[j]
            out[i, u] = -1
            if codes[i, u] >= 0:
                c = 0
                while c + 2 < cuts.shape[1] and value > cuts[i, c + 1]:
                    c += 1
                out[i, u] = c


@njit
def fill_margins(codes, cuts):
    """Fill the thresholds (k, C + 1) from all answers of each row."""
    counts = np.empty(cuts.shape[1] - 1)
    for i in range(codes.shape[0]):
        counts[:] = 0.0
        for u in range(codes.shape[1]):
            if codes[i, u] >= 0:
                counts[codes[i, u]] += 1.0
        margin_cuts(counts, cuts[i])


@njit
def correlate_answers(codes, rule, fixed, cuts, matrix):
    """Fill `matrix` (k, k) with polychoric correlations; undefined correlations become zero."""
    # `cuts` (k, C + 1) is filled with the cuts of all answers.
    size = cuts.shape[1]
    table, weights = np.empty((size - 1, size - 1)), np.empty(0)
    corners, t, u = np.empty((3, size, size)), np.empty(size), np.empty(size)
    fill_margins(codes, cuts)
    for i in range(codes.shape[0]):
        matrix[i, i] = 1.0
        for j in range(i):
            count_table(codes[i], codes[j], weights, table)
            copy_values(cuts[i], t)
            copy_values(cuts[j], u)
            rho, _, _, _, _ = correlate_ordered(table, t, u, rule, fixed, corners)
            matrix[i, j] = matrix[j, i] = rho if rho == rho else 0.0


@njit
def resample_answers(state, codes, out):
    """Fill `out` (k, n) with columns of `codes` drawn with replacement."""
    k, n = codes.shape
    for u in range(n):
        unit = below(state, n)
        for i in range(k):
            out[i, u] = codes[i, unit]
