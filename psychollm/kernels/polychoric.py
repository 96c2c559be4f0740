r"""Polychoric correlations of pairs of ordered answers.

Answers a and b result from cutting two standard normal variables at thresholds t and u. With
:math:`G(\rho) = P(X > t_a, Y > u_b)`, whose derivative with respect to :math:`\rho` is the density
:math:`\varphi_2` at these thresholds, cells have probability

.. math:: P_{ab} = G_{ab} - G_{a+1,b} - G_{a,b+1} + G_{a+1,b+1},                          \quad (1)

and the estimate is the root of the score :math:`\sum n_{ab} P'_{ab} / P_{ab}`, with thresholds
that were first estimated from the margins. Newton's method with the exact second derivative
searches over the angle :math:`\arcsin \rho` within a bracket. Two-by-two tables are solved by
`kernels.tetrachoric`.

`kernels.polychoric_influence` computes the influence of single units on the estimate.

References
----------
Olsson, U. (1979). Maximum likelihood estimation of the polychoric correlation coefficient.
Psychometrika, 44(4), 443-460. https://doi.org/10.1007/BF02296207
"""

import math

import numpy as np

from psychollm.kernels._jit import njit
from psychollm.kernels.bivariate import bvn_pdf, bvn_upper
from psychollm.kernels.loops import copy_values
from psychollm.kernels.normal import normal_upper, quantile_of_tails
from psychollm.kernels.tetrachoric import (
    ADJUSTED,
    AT_BOUND,
    FAR,
    INTERIOR,
    UNDEFINED,
    bvn_upper_fast,
    correlate_table,
    newton_in_bracket,
)

MAX_STEPS = 80
SMALLEST = 1e-300
NEAR_BOUND = 1e-7  # angles closer to their bound than this count as at the bound


@njit
def count_table(first, second, weights, table):
    """Fill `table` (C, C) with the number of units for each pair of answers; -1 is missing."""
    table[:] = 0.0
    weighted = weights.size > 0
    for u in range(first.size):
        a, b = first[u], second[u]
        if a >= 0 and b >= 0:
            table[a, b] += weights[u] if weighted else 1.0


@njit
def count_tables(codes, weights, tables):
    """Fill `tables` (p, C, C) for all pairs i > j of rows of codes (k, n), row by row."""
    pair = 0
    for i in range(codes.shape[0]):
        for j in range(i):
            count_table(codes[i], codes[j], weights, tables[pair])
            pair += 1


# Loops are used, because Numba takes seconds longer to compile `sum` over an axis.
@njit
def margins_of(table):
    """Return the number of units for each answer of the first and of the second variable (C,)."""
    size = table.shape[0]
    rows, columns = np.zeros(size), np.zeros(size)
    for a in range(size):
        for b in range(size):
            rows[a] += table[a, b]
            columns[b] += table[a, b]
    return rows, columns


@njit
def margin_cuts(counts, cuts):
    """Fill the thresholds (C + 1,) of a margin (C,), infinite at both ends; return the total."""
    total = counts.sum()
    below = 0.0
    cuts[0] = -math.inf
    for c in range(counts.size):
        below += counts[c]
        above = total - below
        cuts[c + 1] = quantile_of_tails(below / total, above / total) if above > 0.0 else math.inf
        if below <= 0.0:
            cuts[c + 1] = -math.inf
    return total


@njit
def _corner(t, u, rho):
    """Return P(X > t, Y > u) and its first two derivatives with respect to rho."""
    if t == math.inf or u == math.inf:
        return 0.0, 0.0, 0.0
    if t == -math.inf:
        return (1.0 if u == -math.inf else normal_upper(u)), 0.0, 0.0
    if u == -math.inf:
        return normal_upper(t), 0.0, 0.0
    if abs(t) <= FAR and abs(u) <= FAR:
        upper = bvn_upper_fast(t, u, normal_upper(t), normal_upper(u), rho)
    else:
        upper = bvn_upper(t, u, rho)
    room = (1.0 - rho) * (1.0 + rho)
    density = bvn_pdf(t, u, rho)
    bend = rho / room + ((1.0 + rho * rho) * t * u - rho * (t * t + u * u)) / (room * room)
    return upper, density, density * bend


@njit
def fill_corners(t, u, rho, corners):
    """Fill `corners` (3, C1 + 1, C2 + 1): upper probabilities and their first two derivatives."""
    for a in range(t.size):
        for b in range(u.size):
            corners[0, a, b], corners[1, a, b], corners[2, a, b] = _corner(t[a], u[b], rho)


@njit
def cell(corners, which, a, b):
    """Return the probability of one cell, equation (1), or one of its derivatives."""
    c = corners[which]
    return (c[a, b] - c[a + 1, b]) - (c[a, b + 1] - c[a + 1, b + 1])


@njit
def _score(table, t, u, rho, corners):
    """Return the score of rho and its derivative."""
    fill_corners(t, u, rho, corners)
    score, bend = 0.0, 0.0
    for a in range(table.shape[0]):
        for b in range(table.shape[1]):
            if table[a, b] > 0.0:
                p = max(cell(corners, 0, a, b), SMALLEST)
                ratio = cell(corners, 1, a, b) / p
                score += table[a, b] * ratio
                bend += table[a, b] * (cell(corners, 2, a, b) / p - ratio * ratio)
    return score, bend


@njit
def _start(table):
    """Return a starting angle, whose sine is 1.15 times the correlation of the codes."""
    n = sx = sy = sxx = syy = sxy = 0.0
    for a in range(table.shape[0]):
        for b in range(table.shape[1]):
            w = table[a, b]
            n += w
            sx += w * a
            sy += w * b
            sxx += w * a * a
            syy += w * b * b
            sxy += w * a * b
    spread = (n * sxx - sx * sx) * (n * syy - sy * sy)
    r = (n * sxy - sx * sy) / math.sqrt(spread) if spread > 0.0 else 0.0
    return math.asin(min(max(1.15 * r, -0.95), 0.95))


@njit
def solve_ordered(table, t, u, corners):
    """Maximise the likelihood of a table over rho, given the thresholds."""
    # Returns rho, 1 - |rho|, steps, the last step in rho, status.
    low, high = -0.5 * math.pi, 0.5 * math.pi
    w, steps, move = _start(table), 0, 0.0
    while steps < MAX_STEPS:
        score, bend = _score(table, t, u, math.sin(w), corners)
        w, low, high, move, last = newton_in_bracket(w, low, high, score, bend)
        steps += 1
        if last:
            break
        if high - low <= 1e-15 or abs(w) > 0.5 * math.pi - NEAR_BOUND:
            break
    if abs(w) > 0.5 * math.pi - 2.0 * NEAR_BOUND:
        return (1.0 if w > 0.0 else -1.0), 0.0, steps, 0.0, AT_BOUND
    half = math.sin(0.25 * math.pi - 0.5 * abs(w))
    return math.sin(w), 2.0 * half * half, steps, move * math.cos(w), INTERIOR


@njit
def used_answers(counts):
    """Return the number of distinct answers that occur in a margin."""
    used = 0
    for c in range(counts.size):
        used += counts[c] > 0.0
    return used


@njit
def filled(table, rule):
    """Correct empty cells of a table larger than two by two; return whether the table changed."""
    changed = False
    if rule < 2:
        return changed
    rows, columns = margins_of(table)
    empty = False
    for a in range(table.shape[0]):
        for b in range(table.shape[1]):
            empty = empty or (table[a, b] <= 0.0 and rows[a] > 0.0 and columns[b] > 0.0)
    if not empty:
        return changed
    for a in range(table.shape[0]):
        for b in range(table.shape[1]):
            if rows[a] > 0.0 and columns[b] > 0.0 and (rule == 3 or table[a, b] <= 0.0):
                table[a, b] += 0.5
                changed = True
    return changed


@njit
def _two_by_two(table, t, u, rule, fixed):
    """Estimate rho by the tetrachoric solver if only two answers of each variable occur."""
    rows, columns = margins_of(table)
    a0, b0 = np.argmax(rows > 0.0), np.argmax(columns > 0.0)
    a1, b1 = rows.size - 1, columns.size - 1
    while rows[a1] <= 0.0:
        a1 -= 1
    while columns[b1] <= 0.0:
        b1 -= 1
    return correlate_table(
        table[a1, b1], table[a1, b0], table[a0, b1], table[a0, b0], (t[a1], u[b1]), rule, fixed
    )


@njit
def correlate_ordered(table, t, u, rule, fixed, corners):
    """Estimate one pair; return rho, 1 - |rho|, steps, residual, status."""
    # `table` (C, C) may be changed by the rule; with `fixed` the cuts t, u are kept, otherwise
    # they are filled from the table's margins.
    rows, columns = margins_of(table)
    many, other = used_answers(rows), used_answers(columns)
    if many < 2 or other < 2:
        return math.nan, math.nan, 0, math.nan, UNDEFINED
    if many == 2 and other == 2 and (not fixed or (used_cuts(t) == 1 and used_cuts(u) == 1)):
        if not fixed:
            margin_cuts(rows, t)
            margin_cuts(columns, u)
        return _two_by_two(table, t, u, rule, fixed)
    changed = filled(table, rule)
    if not fixed:
        rows, columns = margins_of(table)
        margin_cuts(rows, t)
        margin_cuts(columns, u)
    rho, rest, steps, left, status = solve_ordered(table, t, u, corners)
    if changed and status == INTERIOR:
        status = ADJUSTED
    return rho, rest, steps, left, status


@njit
def used_cuts(cuts):
    """Return the number of distinct finite thresholds."""
    used = 0
    for c in range(1, cuts.size):
        used += math.isfinite(cuts[c]) and cuts[c] != cuts[c - 1]
    return used


@njit
def correlate_ordered_pairs(tables, cuts, rule, fixed, out):
    """Estimate all pairs from tables (p, C, C) and thresholds of all answers (k, C + 1)."""
    # `out` is (matrix, complement, residual, iterations, status), as in `correlate_pairs`.
    matrix, complement, residual, iterations, status = out
    k, size = cuts.shape
    corners, table = np.empty((3, size, size)), np.empty((size - 1, size - 1))
    t, u = np.empty(size), np.empty(size)
    pair = 0
    for i in range(k):
        constant = used_cuts(cuts[i]) == 0
        matrix[i, i] = math.nan if constant else 1.0
        complement[i, i], residual[i, i], iterations[i, i] = 0.0, 0.0, 0
        status[i, i] = UNDEFINED if constant else INTERIOR
        for j in range(i):
            for c in range(size - 1):
                copy_values(tables[pair, c], table[c])
            copy_values(cuts[i], t)
            copy_values(cuts[j], u)
            rho, rest, steps, left, how = correlate_ordered(table, t, u, rule, fixed, corners)
            matrix[i, j] = matrix[j, i] = rho
            complement[i, j] = complement[j, i] = rest
            residual[i, j] = residual[j, i] = left
            iterations[i, j] = iterations[j, i] = steps
            status[i, j] = status[j, i] = how
            pair += 1
