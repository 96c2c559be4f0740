"""Slow, obvious twins of psychollm.irt.conditional: subsets of items, one by one."""

import itertools
import math


def symmetric(easiness, r):
    """Elementary symmetric function of exp(easiness) of order r, by enumeration of subsets."""
    return sum(math.exp(sum(chosen)) for chosen in itertools.combinations(easiness, r))


def log_likelihood(rows, easiness):
    """Conditional log-likelihood of rows of answers; None is missing."""
    total = 0.0
    for row in rows:
        seen = [j for j, answer in enumerate(row) if answer is not None]
        score = sum(row[j] for j in seen)
        total += sum(easiness[j] for j in seen if row[j])
        total -= math.log(symmetric([easiness[j] for j in seen], score))
    return total


def expected(easiness, r, j):
    """Chance of a yes to item j given a score of r on all items."""
    total = chosen = 0.0
    for pattern in itertools.product((0, 1), repeat=len(easiness)):
        if sum(pattern) == r:
            weight = math.exp(sum(e for e, yes in zip(easiness, pattern, strict=True) if yes))
            total += weight
            chosen += weight * pattern[j]
    return chosen / total


def expected_both(easiness, r, i, j):
    """Chance of a yes to both of two items given a score of r on all items."""
    total = chosen = 0.0
    for pattern in itertools.product((0, 1), repeat=len(easiness)):
        if sum(pattern) == r:
            weight = math.exp(sum(e for e, yes in zip(easiness, pattern, strict=True) if yes))
            total += weight
            chosen += weight * pattern[i] * pattern[j]
    return chosen / total


def joint_log_likelihood(rows, chosen, easiness):
    """Multinomial log-likelihood of Martin-Loef's alternative: scores of both sets are free."""
    other = [j for j in range(len(easiness)) if j not in chosen]
    total = 0.0
    cells = [(sum(row[j] for j in chosen), sum(row[j] for j in other)) for row in rows]
    for row, (r, s) in zip(rows, cells, strict=True):
        total += math.log(cells.count((r, s)) / len(rows))
        total += sum(easiness[j] for j in range(len(easiness)) if row[j])
        total -= math.log(symmetric([easiness[j] for j in chosen], r))
        total -= math.log(symmetric([easiness[j] for j in other], s))
    return total


def null_log_likelihood(rows, easiness):
    """Multinomial log-likelihood of one Rasch model with free probabilities of scores."""
    scores = [sum(row) for row in rows]
    total = log_likelihood(rows, easiness)
    return total + sum(math.log(scores.count(r) / len(rows)) for r in scores)
