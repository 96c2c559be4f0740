"""Generalizability theory cell by cell: sums of squares by loops, REML with whole matrices."""

from itertools import combinations, product

import numpy as np


def effects(n_facets):
    return [e for size in range(1, n_facets + 1) for e in combinations(range(n_facets), size)]


def mean_squares(scores):
    """Return mean squares of all effects, from marginal means by inclusion and exclusion."""
    k = scores.ndim
    found = []
    for effect in effects(k):
        total = 0.0
        for cell in product(*map(range, scores.shape)):
            deviation = 0.0
            for size in range(len(effect) + 1):
                for subset in combinations(effect, size):
                    index = tuple(cell[f] if f in subset else slice(None) for f in range(k))
                    deviation += (-1) ** (len(effect) - size) * np.mean(scores[index])
            total += deviation**2
        found.append(total / np.prod([scores.shape[f] - 1 for f in effect]))
    return np.array(found)


def expected_mean_squares(shape):
    k = len(shape)
    return np.array(
        [
            [
                np.prod([shape[f] for f in range(k) if f not in g]) if set(e) <= set(g) else 0.0
                for g in effects(k)
            ]
            for e in effects(k)
        ]
    )


def components(scores):
    return np.linalg.solve(expected_mean_squares(scores.shape), mean_squares(scores))


def covariance(scores, variances):
    """Return the covariance matrix of the scores that are present."""
    cells = [cell for cell in product(*map(range, scores.shape)) if np.isfinite(scores[cell])]
    matrix = np.zeros((len(cells), len(cells)))
    for variance, effect in zip(variances, effects(scores.ndim), strict=True):
        for a, first in enumerate(cells):
            for b, second in enumerate(cells):
                matrix[a, b] += variance * all(first[f] == second[f] for f in effect)
    return matrix, np.array([scores[cell] for cell in cells])


def deviance(scores, variances):
    """Return minus twice the restricted log likelihood, without its constant."""
    v, y = covariance(scores, variances)
    inverse = np.linalg.inv(v)
    ones = np.ones(y.size)
    weight = ones @ inverse @ ones
    residual = y - (ones @ inverse @ y) / weight
    return np.linalg.slogdet(v)[1] + np.log(weight) + residual @ inverse @ residual


def decision(components, n_items, n_runs):
    """Return E rho^2, Phi and the two error variances of a design models x items x runs."""
    p, i, r, pi, pr, ir, e = np.maximum(components, 0.0)
    relative = pi / n_items + pr / n_runs + e / (n_items * n_runs)
    absolute = relative + i / n_items + r / n_runs + ir / (n_items * n_runs)
    return p / (p + relative), p / (p + absolute), relative, absolute
