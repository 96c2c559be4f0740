"""Slow, obvious twins of statistics of items with several answers: differences and enumeration."""

import itertools
import math

import numpy as np

from tests.oracles.irt_slow import NODES, WEIGHTS, polytomous_probabilities

STEP = 1e-4


def log_likelihood(row, items, theta, model):
    """Log-likelihood of one respondent's answers at an ability; None is missing."""
    total = 0.0
    for answer, item in zip(row, items, strict=True):
        if answer is not None:
            total += math.log(polytomous_probabilities(item, theta, model)[answer])
    return total


def first_and_second(function, theta):
    """First and second central difference."""
    up, here, down = function(theta + STEP), function(theta), function(theta - STEP)
    return (up - down) / (2 * STEP), (up - 2 * here + down) / STEP**2


def information_and_skew(items, theta, model, row=None):
    """Sums of P'^2 / P and P' P'' / P over the answers of the items that were answered."""
    information = skew = 0.0
    for place, item in enumerate(items):
        if row is not None and row[place] is None:
            continue
        for c, p in enumerate(polytomous_probabilities(item, theta, model)):
            first, second = first_and_second(
                lambda x, item=item, c=c: polytomous_probabilities(item, x, model)[c], theta
            )
            information += first**2 / p
            skew += first * second / p
    return information, skew


def posterior_mean(row, items, model):
    """Posterior mean of one respondent's ability."""
    weights = [
        w * math.exp(log_likelihood(row, items, x, model))
        for x, w in zip(NODES, WEIGHTS, strict=True)
    ]
    return sum(w * x for w, x in zip(weights, NODES, strict=True)) / sum(weights)


def answer_scores(item, model):
    """What each answer counts: its code, or its slope in the nominal model."""
    if model == "nominal":
        return [0.0, *item[: len(item) // 2]]
    answers = len(polytomous_probabilities(item, 0.0, model))
    return [float(c) for c in range(answers)]


def moments(item, theta, answer, model):
    """Residual, variance, fourth moment, surprise and its variance of one answer."""
    p = polytomous_probabilities(item, theta, model)
    s = answer_scores(item, model)
    mean = sum(x * y for x, y in zip(p, s, strict=True))
    log_mean = sum(x * math.log(x) for x in p)
    return (
        s[answer] - mean,
        sum(x * (y - mean) ** 2 for x, y in zip(p, s, strict=True)),
        sum(x * (y - mean) ** 4 for x, y in zip(p, s, strict=True)),
        math.log(p[answer]) - log_mean,
        sum(x * (math.log(x) - log_mean) ** 2 for x in p),
    )


def pattern_probabilities(items, model):
    """Marginal probability of every pattern of answers."""
    answers = len(polytomous_probabilities(items[0], 0.0, model))
    tables = [[polytomous_probabilities(item, x, model) for item in items] for x in NODES]
    found = {}
    for pattern in itertools.product(range(answers), repeat=len(items)):
        total = 0.0
        for w, table in zip(WEIGHTS, tables, strict=True):
            for answer, p in zip(pattern, table, strict=True):
                w *= p[answer]
            total += w
        found[pattern] = total
    return found


def answers_by_score(items, model, j):
    """Share of each answer to item j at each sum score, by enumeration."""
    patterns = pattern_probabilities(items, model)
    answers = max(max(pattern) for pattern in patterns) + 1
    top = len(items) * (answers - 1)
    table = np.zeros((top + 1, answers))
    for pattern, p in patterns.items():
        table[sum(pattern), pattern[j]] += p
    return table / table.sum(axis=1, keepdims=True)


def margins_of(pattern, statistic, answers):
    """Functions of one pattern whose means are the margins of a statistic."""
    shown = [[float(y == c) for c in range(1, answers)] for y in pattern]
    code = [[float(y)] for y in pattern]
    single = code if statistic == "m2_star" else shown
    pair = shown if statistic == "m2" else code
    found = [value for values in single for value in values]
    for i, j in itertools.combinations(range(len(pattern)), 2):
        found += [a * b for a in pair[i] for b in pair[j]]
    return found


def limited_information(rows, items, model, statistic):
    """M2 and its degrees of freedom from the probabilities of all patterns."""
    flat = np.asarray(items, dtype=float)
    answers = max(max(row) for row in rows) + 1
    patterns = list(itertools.product(range(answers), repeat=len(items)))
    functions = np.array([margins_of(pattern, statistic, answers) for pattern in patterns])

    def chances(parameters):
        table = pattern_probabilities(parameters.reshape(flat.shape).tolist(), model)
        return np.array([table[pattern] for pattern in patterns])

    df = functions.shape[1] - flat.size
    if df <= 0:  # nothing is left to test: what would be inverted below may be singular
        return np.nan, df
    p = chances(flat.ravel())
    mean = p @ functions
    covariance = (functions * p[:, None]).T @ functions - np.outer(mean, mean)
    slopes = []
    for k in range(flat.size):
        up, down = flat.ravel().copy(), flat.ravel().copy()
        up[k] += 1e-5
        down[k] -= 1e-5
        slopes.append((chances(up) - chances(down)) @ functions / 2e-5)
    delta = np.array(slopes).T
    observed = np.mean([margins_of(row, statistic, answers) for row in rows], axis=0)
    gap = observed - mean
    inverse = np.linalg.inv(covariance)
    middle = np.linalg.inv(delta.T @ inverse @ delta)
    weight = inverse - inverse @ delta @ middle @ delta.T @ inverse
    return len(rows) * gap @ weight @ gap, df
