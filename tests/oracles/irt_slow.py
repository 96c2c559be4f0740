"""Slow, obvious twins of psychollm.irt: loops over respondents and items."""

import itertools
import math
from collections import Counter

import numpy as np

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(61)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


def probability(parameters, theta, link="logit"):
    """P(yes) of one item: (a, d[, logit g[, logit u]])."""
    z = parameters[0] * theta + parameters[1]
    curve = 1 / (1 + math.exp(-z)) if link == "logit" else 0.5 * math.erfc(-z / math.sqrt(2))
    g = 1 / (1 + math.exp(-parameters[2])) if len(parameters) > 2 else 0.0
    u = 1 / (1 + math.exp(-parameters[3])) if len(parameters) > 3 else 1.0
    return g + (u - g) * curve


def row_likelihood(row, parameters, theta, link="logit"):
    """Probability of one respondent's answers; None and -1 are missing."""
    value = 1.0
    for answer, item in zip(row, parameters, strict=True):
        if answer in (0, 1):
            p = probability(item, theta, link)
            value *= p if answer == 1 else 1 - p
    return value


def log_likelihood(rows, parameters, link="logit"):
    """Marginal log-likelihood with abilities N(0, 1)."""
    yes = np.array([[probability(item, x, link) for x in NODES] for item in parameters])
    return _marginal(rows, [(1 - p, p) for p in yes])


def _marginal(rows, curves):
    """Marginal log-likelihood, given the probabilities of each item's answers at the nodes."""
    total = 0.0
    for row, times in Counter(map(tuple, rows)).items():
        weights = WEIGHTS
        for answer, curve in zip(row, curves, strict=True):
            weights = weights if answer is None else weights * curve[answer]
        total += times * math.log(weights.sum())
    return total


def posterior_moments(row, parameters, link="logit"):
    """Posterior mean and standard deviation of one respondent's ability."""
    weights = [
        w * row_likelihood(row, parameters, x, link) for x, w in zip(NODES, WEIGHTS, strict=True)
    ]
    total = sum(weights)
    mean = sum(w * x for w, x in zip(weights, NODES, strict=True)) / total
    square = sum(w * (x - mean) ** 2 for w, x in zip(weights, NODES, strict=True)) / total
    return mean, math.sqrt(square)


def numeric_information(function, point, step=1e-4):
    """Minus the matrix of second differences of a function of a flat vector."""
    size = len(point)
    matrix = np.empty((size, size))
    for i, j in itertools.combinations_with_replacement(range(size), 2):
        values = []
        for si, sj in itertools.product((1, -1), repeat=2):
            moved = np.array(point, dtype=float)
            moved[i] += si * step
            moved[j] += sj * step
            values.append(function(moved))
        matrix[i, j] = matrix[j, i] = -(values[0] - values[1] - values[2] + values[3]) / (
            4 * step * step
        )
    return matrix


def numeric_gradient(function, point, step=1e-5):
    """Central differences of a function of a flat vector."""
    slope = []
    for i in range(len(point)):
        up, down = np.array(point, dtype=float), np.array(point, dtype=float)
        up[i] += step
        down[i] -= step
        slope.append((function(up) - function(down)) / (2 * step))
    return np.array(slope)


def information(parameters, theta, link="logit", step=1e-5):
    """Information of one item about ability, by a difference of its curve."""
    slope = (
        probability(parameters, theta + step, link) - probability(parameters, theta - step, link)
    ) / (2 * step)
    p = probability(parameters, theta, link)
    return slope**2 / (p * (1 - p))


def sum_score_probabilities(curves):
    """Probabilities of every sum score by enumeration of all answer patterns."""
    total = np.zeros(len(curves) + 1)
    for pattern in itertools.product((0, 1), repeat=len(curves)):
        value = 1.0
        for answer, p in zip(pattern, curves, strict=True):
            value *= p if answer else 1 - p
        total[sum(pattern)] += value
    return total


def polytomous_probabilities(parameters, theta, model):
    """Probabilities of all answers to one item by the definition of its model."""
    if model == "graded":
        above = [1.0]
        above += [1 / (1 + math.exp(-(parameters[0] * theta + d))) for d in parameters[1:]]
        above.append(0.0)
        return [above[c] - above[c + 1] for c in range(len(above) - 1)]
    if model == "gpcm":
        eta = [0.0] + [parameters[0] * (c + 1) * theta + d for c, d in enumerate(parameters[1:])]
    else:
        half = len(parameters) // 2
        eta = [0.0] + [parameters[c] * theta + parameters[half + c] for c in range(half)]
    weights = [math.exp(x) for x in eta]
    return [w / sum(weights) for w in weights]


def polytomous_log_likelihood(rows, parameters, model):
    """Marginal log-likelihood of answers in several categories."""
    curves = [
        np.array([polytomous_probabilities(item, x, model) for x in NODES]).T
        for item in parameters
    ]
    return _marginal(rows, curves)
