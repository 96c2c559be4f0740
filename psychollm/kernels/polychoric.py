r"""The polychoric correlation of a table of two ordered answers, pair by pair.

Answers a and b are cut from standard normals at thresholds t and u. With
:math:`G(\rho) = P(X > t_a, Y > u_b)`, whose derivative by :math:`\rho` is the density
:math:`\varphi_2` there, cells have probability

.. math:: P_{ab} = G_{ab} - G_{a+1,b} - G_{a,b+1} + G_{a+1,b+1},                          \quad (1)

and the estimate is the root of the score :math:`\sum n_{ab} P'_{ab} / P_{ab}` at the thresholds of
the margins (two steps). Newton's method with the exact second derivative runs in the angle
:math:`\arcsin \rho` inside a bracket. Tables of two by two go to `kernels.tetrachoric`.

A unit in cell (a, b) moves the estimate by

.. math:: \psi_{ab} = \frac1I \Big[\frac{P'_{ab}}{n P_{ab}}
          + \sum_c \frac{K_c (1[a < c] - F_c)}{\varphi(t_c)\, n_1}
          + \sum_d \frac{L_d (1[b < d] - H_d)}{\varphi(u_d)\, n_2}\Big],                  \quad (2)

with I the negative derivative of the mean score by :math:`\rho`, K and L those by the thresholds
of the two margins, F and H the shares below them: exact derivatives of the estimate by the counts.

References
----------
Olsson, U. (1979). Maximum likelihood estimation of the polychoric correlation coefficient.
Psychometrika, 44(4), 443-460. https://doi.org/10.1007/BF02296207

Muthen, B. (1984). A general structural equation model with dichotomous, ordered categorical, and
continuous latent variable indicators. Psychometrika, 49(1), 115-132.
https://doi.org/10.1007/BF02294210
"""

import math

import numpy as np

from psychollm.kernels._jit import njit
from psychollm.kernels.bivariate import bvn_pdf, bvn_upper
from psychollm.kernels.normal import normal_cdf, normal_pdf, normal_upper, quantile_of_tails
from psychollm.kernels.tetrachoric import (
    ADJUSTED,
    AT_BOUND,
    FAR,
    INTERIOR,
    UNDEFINED,
    bvn_upper_fast,
    correlate_table,
)

MAX_STEPS = 80
SMALLEST = 1e-300
NEAR_BOUND = 1e-7  # of the angle


@njit
def count_table(first, second, weights, table):
    """Fill `table` (C, C) with the units that gave each pair of answers, -1 being none."""
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


@njit
def margin_cuts(counts, cuts):
    """Fill the cuts (C + 1,) of a margin (C,): infinite at both ends; return the total."""
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
    """P(X > t, Y > u), and its first two derivatives by rho."""
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
    """Fill `corners` (3, C1 + 1, C2 + 1): upper probabilities and their two derivatives."""
    for a in range(t.size):
        for b in range(u.size):
            corners[0, a, b], corners[1, a, b], corners[2, a, b] = _corner(t[a], u[b], rho)


@njit
def cell(corners, which, a, b):
    """Return (1) for one cell, of the probabilities or of a derivative."""
    c = corners[which]
    return (c[a, b] - c[a + 1, b]) - (c[a, b + 1] - c[a + 1, b + 1])


@njit
def _score(table, t, u, rho, corners):
    """Score of rho and its derivative."""
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
    """Angle of the product-moment correlation of the codes, a little stretched."""
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
    """Maximise the likelihood of a table over rho at given cuts.

    Returns rho, 1 - |rho|, steps, the last step in rho, status.
    """
    low, high = -0.5 * math.pi, 0.5 * math.pi
    w, steps, move = _start(table), 0, 0.0
    while steps < MAX_STEPS:
        rho, slope = math.sin(w), math.cos(w)
        score, bend = _score(table, t, u, rho, corners)
        if score > 0.0:
            low = w
        else:
            high = w
        bend = bend * slope * slope - score * rho
        move = -score * slope / bend if bend < 0.0 else math.copysign(math.inf, score)
        steps += 1
        if abs(move) <= 1e-9:  # Newton's step squares the error: this one was the last
            w += move
            break
        following = w + move
        if not low < following < high:
            following = 0.5 * (low + high)
            move = following - w
        w = following
        if high - low <= 1e-15 or abs(w) > 0.5 * math.pi - NEAR_BOUND:
            break
    if abs(w) > 0.5 * math.pi - 2.0 * NEAR_BOUND:
        return (1.0 if w > 0.0 else -1.0), 0.0, steps, 0.0, AT_BOUND
    half = math.sin(0.25 * math.pi - 0.5 * abs(w))
    return math.sin(w), 2.0 * half * half, steps, move * math.cos(w), INTERIOR


@njit
def used_answers(counts):
    """Return how many answers of a margin occur."""
    used = 0
    for c in range(counts.size):
        used += counts[c] > 0.0
    return used


@njit
def _filled(table, rule):
    """Apply the empty-cell rule to a table larger than two by two; say whether it changed."""
    changed = False
    if rule < 2:
        return changed
    rows, columns = table.sum(axis=1), table.sum(axis=0)
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
    """Send a table with two answers each to the tetrachoric solver."""
    rows, columns = table.sum(axis=1), table.sum(axis=0)
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
    """Estimate one pair: returns rho, 1 - |rho|, steps, residual, status.

    `table` (C, C) may be changed by the rule; with `fixed` the cuts t, u are kept, otherwise they
    are filled from the table's margins.
    """
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    many, other = used_answers(rows), used_answers(columns)
    if many < 2 or other < 2:
        return math.nan, math.nan, 0, math.nan, UNDEFINED
    if many == 2 and other == 2 and (not fixed or (used_cuts(t) == 1 and used_cuts(u) == 1)):
        if not fixed:
            margin_cuts(rows, t)
            margin_cuts(columns, u)
        return _two_by_two(table, t, u, rule, fixed)
    changed = _filled(table, rule)
    if not fixed:
        margin_cuts(table.sum(axis=1), t)
        margin_cuts(table.sum(axis=0), u)
    rho, rest, steps, left, status = solve_ordered(table, t, u, corners)
    if changed and status == INTERIOR:
        status = ADJUSTED
    return rho, rest, steps, left, status


@njit
def used_cuts(cuts):
    """Return how many distinct finite cuts there are."""
    used = 0
    for c in range(1, cuts.size):
        used += math.isfinite(cuts[c]) and cuts[c] != cuts[c - 1]
    return used


@njit
def correlate_ordered_pairs(tables, cuts, rule, fixed, out):
    """Estimate all pairs from tables (p, C, C) and cuts of all answers (k, C + 1).

    ``out`` is (matrix, complement, residual, iterations, status), as in `correlate_pairs`.
    """
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
            table[:], t[:], u[:] = tables[pair], cuts[i], cuts[j]
            rho, rest, steps, left, how = correlate_ordered(table, t, u, rule, fixed, corners)
            matrix[i, j] = matrix[j, i] = rho
            complement[i, j] = complement[j, i] = rest
            residual[i, j] = residual[j, i] = left
            iterations[i, j] = iterations[j, i] = steps
            status[i, j] = status[j, i] = how
            pair += 1


@njit
def _pull(shares, corners, cuts, rho, flip, pull):
    """Fill derivatives of the mean score by the cuts of one margin, (C + 1,).

    With `flip` the cuts are those of the columns.
    """
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
            for side in range(2):  # the cell above the cut, then the one below it
                i, j = (b, a - side) if flip else (a - side, b)
                if shares[i, j] > 0.0:
                    sign = 1.0 if side == 0 else -1.0
                    p = max(cell(corners, 0, i, j), SMALLEST)
                    ratio = cell(corners, 1, i, j) / p
                    pull[a] += shares[i, j] * sign * (bend + ratio * mass) / p


@njit
def _threshold_part(pull, cuts, n, part):
    """Fill what an answer adds through the cuts of its margin, (C,): the sums in (2)."""
    part[:] = 0.0
    for c in range(1, cuts.size - 1):
        if math.isfinite(cuts[c]) and pull[c] != 0.0:
            scale = pull[c] / (normal_pdf(cuts[c]) * n)
            below = normal_cdf(cuts[c])
            for a in range(part.size):
                part[a] += scale * ((1.0 if a < c else 0.0) - below)


@njit
def influence(table, t, u, rho, n, joint, first, second, corners):
    """Fill (2): `joint` (C, C) for who gave both answers, `first`, `second` (C,) for who gave one.

    ``n`` holds the units of the pair and of each margin. Returns the information I.
    """
    fill_corners(t, u, rho, corners)
    size = table.shape[0]
    shares = np.zeros((size, size))
    total = table.sum()
    square = used_cuts(t) == 1 and used_cuts(u) == 1
    information = 0.0
    for a in range(size):
        for b in range(size):
            p = cell(corners, 0, a, b)
            # A table of two by two is reproduced by the model, after any rule for empty cells.
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
    """Fill influences of all pairs, and their standard errors (k, k) of both kinds.

    ``margins`` (k, C) counts all answers of each row, ``cuts`` are theirs; ``estimate`` is
    (matrix, status), ``rules`` (rule, fixed); ``out`` is (joint (p, C, C), first (p, C), second
    (p, C), estimated, held). The parts of single answers are zero unless `fixed`.
    """
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
                table[:], t[:], u[:] = tables[pair], cuts[i], cuts[j]
                n[:] = table.sum()
                _prepare(table, t, u, rule, fixed)
                if fixed:
                    n[1], n[2] = margins[i].sum(), margins[j].sum()
                information = influence(
                    table, t, u, matrix[i, j], n, joint[pair], first[pair], second[pair], corners
                )
                if not fixed:
                    first[pair], second[pair] = 0.0, 0.0
                variance = _variance(
                    tables[pair], (margins[i], margins[j]), joint[pair], first[pair], second[pair]
                )
                if used_cuts(t) == 1 and used_cuts(u) == 1:
                    variance = _expected_variance(
                        corners,
                        n[0],
                        (margins[i], margins[j]),
                        tables[pair],
                        joint[pair],
                        first[pair],
                        second[pair],
                    )
                estimated[i, j] = estimated[j, i] = math.sqrt(variance)
                held[i, j] = held[j, i] = 1.0 / math.sqrt(n[0] * information)
            pair += 1


@njit
def _prepare(table, t, u, rule, fixed):
    """Give a pair the cuts that its estimate had."""
    two = used_answers(table.sum(axis=1)) == 2 and used_answers(table.sum(axis=0)) == 2
    if not two:
        _filled(table, rule)
    if not fixed:
        margin_cuts(table.sum(axis=1), t)
        margin_cuts(table.sum(axis=0), u)


@njit
def _variance(table, margins, joint, first, second):
    """Sum the squares of what each unit adds."""
    row, column = table.sum(axis=1), table.sum(axis=0)
    total = 0.0
    for a in range(row.size):
        total += max(margins[0][a] - row[a], 0.0) * first[a] ** 2
        total += max(margins[1][a] - column[a], 0.0) * second[a] ** 2
        for b in range(row.size):
            if table[a, b] > 0.0:
                total += table[a, b] * joint[a, b] ** 2
    return total


@njit
def _expected_variance(corners, n, margins, table, joint, first, second):
    """Sum the same with the model's counts, for a table of two by two."""
    row, column = table.sum(axis=1), table.sum(axis=0)
    total = 0.0
    for a in range(row.size):
        total += max(margins[0][a] - row[a], 0.0) * first[a] ** 2
        total += max(margins[1][a] - column[a], 0.0) * second[a] ** 2
        for b in range(row.size):
            p = cell(corners, 0, a, b)
            if p > 0.0:
                total += n * p * joint[a, b] ** 2
    return total


@njit
def fill_influences(codes, start, parts, cuts, sizes, with_cuts, out):
    """Fill what units start, start + 1, ... move the estimates by: `out` (units, columns).

    ``parts`` is (joint, first, second). With `with_cuts` the columns of the cuts come first, row
    by row and cut by cut; ``sizes`` (k,) are numbers of answers.
    """
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
