"""One side of a logistic factor model by matrices, one row and one cell at a time."""

import math

import numpy as np


def parabola(y, mean, square, bound):
    """Return lambda and s of a cell: of the bound, or of the expected likelihood."""
    if bound:
        xi = math.sqrt(square)
        return (1.0 / (1.0 + math.exp(-xi)) - 0.5) / xi, y - 0.5
    shrunk = 1.0 / math.sqrt(1.0 + math.pi / 8.0 * (square - mean**2))
    p = 1.0 / (1.0 + math.exp(-shrunk * mean))
    curvature = shrunk * p * (1.0 - p)
    return curvature, y - p + curvature * mean


def sums(values, own, other, bound):
    """Return T and h of one row of answers, its own vector and those of the other side."""
    (w, around), (z, spread) = own, other
    total, pull = np.zeros((w.size, w.size)), np.zeros(w.size)
    for i in np.flatnonzero(np.isfinite(values)):
        second = np.outer(z[i], z[i]) + spread[i]
        square = np.trace(second @ (np.outer(w, w) + around))
        weight, slope = parabola(values[i], z[i] @ w, square, bound)
        total += weight * second
        pull += slope * z[i]
    return total, pull


def updated(values, precision, centre, known, own, other, bound):
    """Return the new posteriors of the rows, the first `known` entries of which are known."""
    means, covariances = own[0].copy(), own[1].copy()
    for j, row in enumerate(values):
        total, pull = sums(row, (own[0][j], own[1][j]), other, bound)
        free = slice(known, None)
        inverse = np.linalg.inv(precision + total[free, free])
        side = total[free, :known] @ own[0][j, :known]
        means[j, free] = inverse @ (precision @ centre[j] + pull[free] - side)
        covariances[j, free, free] = inverse
    return means, covariances


def log_likelihood(values, own, other):
    """Return that of all answers, under chances averaged over both sides."""
    total = 0.0
    for j, i in np.argwhere(np.isfinite(values)):
        second = np.outer(other[0][i], other[0][i]) + other[1][i]
        variance = np.trace(second @ (np.outer(own[0][j], own[0][j]) + own[1][j]))
        mean = own[0][j] @ other[0][i]
        variance -= mean**2
        p = 1.0 / (1.0 + math.exp(-mean / math.sqrt(1.0 + math.pi / 8.0 * variance)))
        total += values[j, i] * math.log(p) + (1.0 - values[j, i]) * math.log(1.0 - p)
    return total
