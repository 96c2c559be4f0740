"""Covariance of thresholds and polychoric correlations with Hessians from products of scores.

Muthen's (1984) two-step estimator as lavaan computes it: where the library takes expected second
derivatives, this takes sums of squared scores. Plain, slow, and nothing of the library in it.
"""

import numpy as np
from scipy.stats import multivariate_normal

from tests.oracles import normal


def joint(a, b, r):
    if a == -np.inf or b == -np.inf:
        return 0.0
    if a == np.inf:
        return normal.cdf(b)
    if b == np.inf:
        return normal.cdf(a)
    return multivariate_normal.cdf([a, b], cov=[[1, r], [r, 1]])


def density(a, b, r):
    if np.isinf(a) or np.isinf(b):
        return 0.0
    square = (a * a - 2 * r * a * b + b * b) / (1 - r * r)
    return np.exp(-square / 2) / (2 * np.pi * np.sqrt(1 - r * r))


def slope(a, b, r):
    """Return the derivative of the joint distribution by its first argument."""
    if np.isinf(a):
        return 0.0
    if np.isinf(b):
        return normal.pdf(a) if b > 0 else 0.0
    return normal.pdf(a) * normal.cdf((b - r * a) / np.sqrt(1 - r * r))


def cells(table):
    return table[1:, 1:] - table[:-1, 1:] - table[1:, :-1] + table[:-1, :-1]


def threshold_scores(codes, cuts):
    columns = []
    for answers, own in zip(codes, cuts, strict=True):
        p = np.diff(normal.cdf([-np.inf, *own, np.inf]))
        for c, cut in enumerate(own):
            d = normal.pdf(cut)
            columns.append((answers == c) * d / p[c] - (answers == c + 1) * d / p[c + 1])
    return np.stack(columns, axis=1)


def pair_scores(first, second, a, b, r):
    """Return scores of the correlation, and of the thresholds of both rows."""
    ends = [np.array([-np.inf, *cuts, np.inf]) for cuts in (a, b)]
    p = cells(np.array([[joint(x, y, r) for y in ends[1]] for x in ends[0]]))
    d = cells(np.array([[density(x, y, r) for y in ends[1]] for x in ends[0]]))
    out = []
    for c in range(1, len(ends[0]) - 1):
        E = np.zeros((len(ends[0]), len(ends[1])))
        E[c] = [slope(ends[0][c], y, r) for y in ends[1]]
        out.append((cells(E) / p)[first, second])
    for c in range(1, len(ends[1]) - 1):
        E = np.zeros((len(ends[0]), len(ends[1])))
        E[:, c] = [slope(ends[1][c], x, r) for x in ends[0]]
        out.append((cells(E) / p)[first, second])
    return (d / p)[first, second], np.stack(out, axis=1)


def covariance(codes, cuts, R):
    """Return the covariance matrix of all thresholds, row by row, and correlations."""
    k, t = len(codes), len(cuts[0])
    of_thresholds = threshold_scores(codes, cuts)
    rows, columns = np.tril_indices(k, -1)
    scores, cross = [], np.zeros((rows.size, k * t))
    for q, (i, j) in enumerate(zip(rows, columns, strict=True)):
        own, others = pair_scores(codes[i], codes[j], cuts[i], cuts[j], R[i, j])
        scores.append(own)
        for c in range(t):
            cross[q, i * t + c] = own @ others[:, c]
            cross[q, j * t + c] = own @ others[:, t + c]
    scores = np.stack(scores, axis=1)
    first = np.zeros((k * t, k * t))
    for i in range(k):
        own = slice(i * t, (i + 1) * t)
        first[own, own] = of_thresholds[:, own].T @ of_thresholds[:, own]
    second = np.sum(scores**2, axis=0)
    inverse = np.linalg.inv(first)
    bread = np.block(
        [
            [inverse, np.zeros((k * t, rows.size))],
            [-(cross @ inverse) / second[:, None], np.diag(1 / second)],
        ]
    )
    both = np.hstack([of_thresholds, scores])
    return bread @ (both.T @ both) @ bread.T
