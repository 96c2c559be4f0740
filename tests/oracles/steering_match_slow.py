"""Matching by loops over targets, strengths and questions: slow and obvious."""

import math


def agreement(target, answers):
    """Share of questions, answered by both, to which the answers are the same."""
    pairs = [(a, b) for a, b in zip(target, answers, strict=True) if a is not None]
    pairs = [(a, b) for a, b in pairs if b is not None]
    return sum(a == b for a, b in pairs) / len(pairs)


def kappa(target, answers):
    pairs = [
        (a, b) for a, b in zip(target, answers, strict=True) if a is not None and b is not None
    ]
    n = len(pairs)
    observed = sum(a == b for a, b in pairs) / n
    first, second = sum(a for a, _ in pairs) / n, sum(b for _, b in pairs) / n
    chance = first * second + (1 - first) * (1 - second)
    return (observed - chance) / (1 - chance) if 0 < first < 1 else math.nan


def log_likelihood(target, odds, slope):
    total = 0.0
    for y, x in zip(target, odds, strict=True):
        if y is not None and x is not None:
            signed = slope * x if y else -slope * x
            total -= math.log1p(math.exp(-signed)) if signed > -30 else -signed
    return total


def best_slope(target, odds):
    """Search slopes from 0 to 50 by golden section."""
    low, high = 0.0, 50.0
    ratio = (math.sqrt(5) - 1) / 2
    for _ in range(100):
        a, b = high - ratio * (high - low), low + ratio * (high - low)
        if log_likelihood(target, odds, a) > log_likelihood(target, odds, b):
            high = b
        else:
            low = a
    return (low + high) / 2


def nearest_zero(values, strengths):
    """Of the strengths with the highest value, the one nearest zero, the lower of two."""
    top = max(values)
    best = [s for s, v in zip(strengths, values, strict=True) if abs(v - top) < 1e-9]
    return min(best, key=lambda s: (round(abs(s), 12), s))


def middle(values, strengths):
    """Middle and ends of the widest run of strengths with the highest value."""
    top = max(value for value in values if not math.isnan(value))
    runs, current = [], []
    for s, v in zip(strengths, values, strict=True):
        if not math.isnan(v) and abs(v - top) < 1e-9:
            current.append(s)
        elif current:
            runs.append(current)
            current = []
    if current:
        runs.append(current)
    widest = max(run[-1] - run[0] for run in runs)
    wide = [run for run in runs if run[-1] - run[0] >= widest - 1e-12]
    run = min(wide, key=lambda r: abs(r[0] + r[-1]))
    return (run[0] + run[-1]) / 2, run[0], run[-1]


def r_squared(x, y):
    mx, my = sum(x) / len(x), sum(y) / len(y)
    cross = sum((a - mx) * (b - my) for a, b in zip(x, y, strict=True))
    return cross**2 / (sum((a - mx) ** 2 for a in x) * sum((b - my) ** 2 for b in y))


def held_out_hits(target, table, strengths, halves, measure=agreement):
    """Share of splits in which each question is answered right at the other half's strength."""
    n = len(target)
    hits = [0.0] * n
    for half in halves:
        for side in (True, False):
            chosen_on = [q for q in range(n) if bool(half[q]) == side]
            wanted = [target[q] for q in chosen_on]
            curve = [measure(wanted, [row[q] for q in chosen_on]) for row in table]
            if all(math.isnan(value) for value in curve):
                curve = [agreement(wanted, [row[q] for q in chosen_on]) for row in table]
            best, _, _ = middle(curve, strengths)
            place = min(range(len(strengths)), key=lambda k: abs(strengths[k] - best))
            for q in range(n):
                if bool(half[q]) != side:
                    hits[q] += (table[place][q] == target[q]) / len(halves)
    return hits
