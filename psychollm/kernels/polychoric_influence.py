r"""Influence of single units on polychoric correlations, for standard errors and covariances.

With the notation of `kernels.polychoric`, a unit in cell (a, b) changes the estimate by

.. math:: \psi_{ab} = \frac1I \Big[\frac{P'_{ab}}{n P_{ab}}
          + \sum_c \frac{K_c (1[a < c] - F_c)}{\varphi(t_c)\, n_1}
          + \sum_d \frac{L_d (1[b < d] - H_d)}{\varphi(u_d)\, n_2}\Big],                  \quad (1)

with I the negative derivative of the mean score with respect to :math:`\rho`, K and L the
derivatives of the mean score with respect to the thresholds of the two margins, and F and H the
proportions below these thresholds. The influences are the exact derivatives of the estimate with
respect to the counts.

References
----------
Muthen, B. (1984). A general structural equation model with dichotomous, ordered categorical, and
continuous latent variable indicators. Psychometrika, 49(1), 115-132.
https://doi.org/10.1007/BF02294210
"""

import math

import numpy as np

from psychollm.kernels._jit import njit
from psychollm.kernels.loops import copy_values
from psychollm.kernels.normal import normal_cdf, normal_pdf
from psychollm.kernels.polychoric import (
    SMALLEST,
    cell,
    fill_corners,
    filled,
    margin_cuts,
    margins_of,
    used_answers,
    used_cuts,
)
from psychollm.kernels.tetrachoric import AT_BOUND, UNDEFINED


@njit
def _pull(shares, corners, cuts, rho, flip, pull):
    """Fill derivatives (C + 1,) of the mean score with respect to the thresholds of one margin."""
    # With `flip`, the cuts belong to the columns.
    t, u = cuts
    room = (1.0 - rho) * (1.0 + rho)
    spread = math.sqrt(room)
    pull[:] = 0.0
    for a in range(1, t.size - 1):
        if not math.isfinite(t[a]):
            continue
        height = normal_pdf(t[a])
        for b in range(u.size - 1):
            low, high = (u[b] - rho * t[a]) / spread, (u[b + 1] - rho * t[a]) / spread
            mass = height * (normal_cdf(high) - normal_cdf(low))
            bend = 0.0
            for end in range(2):
                v = u[b + end]
                if math.isfinite(v):
                    f = corners[1, b + end, a] if flip else corners[1, a, b + end]
                    slope = -f * (t[a] - rho * v) / room
                    bend += slope if end == 0 else -slope
            for side in range(2):  # the cell above the cut, then the cell below it
                i, j = (b, a - side) if flip else (a - side, b)
                if shares[i, j] > 0.0:
                    sign = 1.0 if side == 0 else -1.0
                    p = max(cell(corners, 0, i, j), SMALLEST)
                    ratio = cell(corners, 1, i, j) / p
                    pull[a] += shares[i, j] * sign * (bend + ratio * mass) / p


@njit
def _threshold_part(pull, cuts, n, part):
    """Fill each answer's influence (C,) through its margin's thresholds: a sum in equation (1)."""
    part[:] = 0.0
    for c in range(1, cuts.size - 1):
        if math.isfinite(cuts[c]) and pull[c] != 0.0:
            scale = pull[c] / (normal_pdf(cuts[c]) * n)
            below = normal_cdf(cuts[c])
            for a in range(part.size):
                part[a] += scale * ((1.0 if a < c else 0.0) - below)


@njit
def influence(table, cuts, rho, n, parts, corners):
    """Fill influences, equation (1), of units with one or both answers; return the information."""
    # `cuts` is (t, u), `parts` (joint (C, C), first (C,), second (C,)); `n` holds the numbers of
    # units of the pair and of each margin.
    t, u = cuts
    joint, first, second = parts
    fill_corners(t, u, rho, corners)
    size = table.shape[0]
    shares = np.zeros((size, size))
    total = table.sum()
    square = used_cuts(t) == 1 and used_cuts(u) == 1
    information = 0.0
    for a in range(size):
        for b in range(size):
            p = cell(corners, 0, a, b)
            # The model reproduces a two-by-two table, after any continuity correction.
            shares[a, b] = max(p, 0.0) if square else table[a, b] / total
            if shares[a, b] > 0.0:
                p = max(p, SMALLEST)
                ratio = cell(corners, 1, a, b) / p
                information += shares[a, b] * (ratio * ratio - cell(corners, 2, a, b) / p)
    pull = np.empty(size + 1)
    _pull(shares, corners, (t, u), rho, False, pull)
    _threshold_part(pull, t, n[1], first)
    _pull(shares, corners, (u, t), rho, True, pull)
    _threshold_part(pull, u, n[2], second)
    for a in range(size):
        for b in range(size):
            joint[a, b] = 0.0
            if shares[a, b] > 0.0:
                p = max(cell(corners, 0, a, b), SMALLEST)
                score = cell(corners, 1, a, b) / p / n[0]
                joint[a, b] = (score + first[a] + second[b]) / information
    first /= information
    second /= information
    return information


@njit
def influence_pairs(tables, margins, cuts, estimate, rules, out):
    """Fill influences of all pairs, and standard errors for estimated and known thresholds."""
    # `margins` (k, C) counts all answers of each row, and `cuts` belong to these counts;
    # `estimate` is (matrix, status), `rules` (rule, fixed); `out` is (joint (p, C, C), first (p,
    # C), second (p, C), estimated, held). The parts for units with one answer are zero unless
    # `fixed`.
    joint, first, second, estimated, held = out
    matrix, status = estimate
    rule, fixed = rules
    k, size = cuts.shape
    corners, table = np.empty((3, size, size)), np.empty((size - 1, size - 1))
    t, u, n = np.empty(size), np.empty(size), np.empty(3)
    pair = 0
    for i in range(k):
        estimated[i, i] = held[i, i] = math.nan if status[i, i] == UNDEFINED else 0.0
        for j in range(i):
            joint[pair], first[pair], second[pair] = math.nan, math.nan, math.nan
            estimated[i, j] = estimated[j, i] = held[i, j] = held[j, i] = math.nan
            if status[i, j] != UNDEFINED and status[i, j] != AT_BOUND:
                for c in range(size - 1):
                    copy_values(tables[pair, c], table[c])
                copy_values(cuts[i], t)
                copy_values(cuts[j], u)
                n[:] = table.sum()
                _prepare(table, t, u, rule, fixed)
                if fixed:
                    n[1], n[2] = margins[i].sum(), margins[j].sum()
                parts = joint[pair], first[pair], second[pair]
                information = influence(table, (t, u), matrix[i, j], n, parts, corners)
                if not fixed:
                    first[pair], second[pair] = 0.0, 0.0
                counts = (tables[pair], margins[i], margins[j])
                square = used_cuts(t) == 1 and used_cuts(u) == 1
                variance = _variance(counts, parts, n[0], corners, square)
                estimated[i, j] = estimated[j, i] = math.sqrt(variance)
                held[i, j] = held[j, i] = 1.0 / math.sqrt(n[0] * information)
            pair += 1


@njit
def _prepare(table, t, u, rule, fixed):
    """Fill the thresholds that were used to estimate a pair."""
    rows, columns = margins_of(table)
    if used_answers(rows) != 2 or used_answers(columns) != 2:
        filled(table, rule)
    if not fixed:
        rows, columns = margins_of(table)
        margin_cuts(rows, t)
        margin_cuts(columns, u)


@njit
def _variance(counts, parts, n, corners, square):
    """Return the sum of units' squared influences; `square` uses the model's expected counts."""
    table, first_margin, second_margin = counts
    joint, first, second = parts
    row, column = margins_of(table)
    total = 0.0
    for a in range(row.size):
        total += max(first_margin[a] - row[a], 0.0) * first[a] ** 2
        total += max(second_margin[a] - column[a], 0.0) * second[a] ** 2
        for b in range(row.size):
            count = n * max(cell(corners, 0, a, b), 0.0) if square else table[a, b]
            if count > 0.0:
                total += count * joint[a, b] ** 2
    return total


@njit
def fill_influences(codes, start, parts, cuts, sizes, with_cuts, out):
    """Fill `out` (units, columns) with the influences of the units from `start` on."""
    # `parts` is (joint, first, second). With `with_cuts` the columns of the cuts come first, row
    # by row and cut by cut; `sizes` (k,) are numbers of answers.
    joint, first, second = parts
    k = codes.shape[0]
    for v in range(out.shape[0]):
        unit, column = start + v, 0
        if with_cuts:
            for i in range(k):
                for c in range(1, cuts.shape[1] - 1):
                    if math.isfinite(cuts[i, c]) and cuts[i, c] != cuts[i, c - 1]:
                        moved = 0.0
                        if codes[i, unit] >= 0:
                            moved = 1.0 if codes[i, unit] < c else 0.0
                            moved = (moved - normal_cdf(cuts[i, c])) / normal_pdf(cuts[i, c])
                        out[v, column] = moved / sizes[i]
                        column += 1
        pair = 0
        for i in range(k):
            a = codes[i, unit]
            for j in range(i):
                b = codes[j, unit]
                value = 0.0
                if a >= 0 and b >= 0:
                    value = joint[pair, a, b]
                elif a >= 0:
                    value = first[pair, a]
                elif b >= 0:
                    value = second[pair, b]
                out[v, column] = value
                column += 1
                pair += 1
