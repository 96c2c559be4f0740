"""Slow, obvious twins of psychollm.kernels.irt_streamed: loops over cells and nodes."""

import math


def chance(a, d, theta):
    """P(yes)."""
    return 1 / (1 + math.exp(-(a * theta + d)))


def log_likelihoods(cells, items, nodes):
    """Log-likelihoods at the nodes of respondents; cells are (item, respondent, code)."""
    table = [[0.0] * len(own) for own in nodes]
    for j, i, code in cells:
        for q, theta in enumerate(nodes[i]):
            p = chance(*items[j], theta)
            table[i][q] += math.log(p if code else 1 - p)
    return table


def scores(cells, item, nodes, weights):
    """Gradient (2), information and variance of scores (2, 2) of one item, its cells given."""
    gradient = [0.0, 0.0]
    information = [[0.0, 0.0], [0.0, 0.0]]
    variance = [[0.0, 0.0], [0.0, 0.0]]
    for i, code in cells:
        mean, square = [0.0, 0.0], [[0.0, 0.0], [0.0, 0.0]]
        for theta, w in zip(nodes[i], weights[i], strict=True):
            p = chance(*item, theta)
            by = [theta, 1.0]
            for a in range(2):
                gradient[a] += w * (code - p) * by[a]
                mean[a] += w * (code - p) * by[a]
                for b in range(2):
                    information[a][b] += w * p * (1 - p) * by[a] * by[b]
                    square[a][b] += w * (code - p) ** 2 * by[a] * by[b]
        for a in range(2):
            for b in range(2):
                variance[a][b] += square[a][b] - mean[a] * mean[b]
    return gradient, information, variance
