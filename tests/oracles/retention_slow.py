"""Slow twins of rules that count factors."""

import itertools

import numpy as np


def average_partial(R, m):
    """Mean squared partial correlation given the first m principal components, by regression."""
    k = len(R)
    values, vectors = np.linalg.eigh(R)
    order = np.argsort(-values)
    total = 0.0
    for i in range(k):
        for j in range(k):
            if i == j:
                continue
            shared = [
                sum(values[c] * vectors[a, c] * vectors[b, c] for c in order[:m])
                for a, b in ((i, j), (i, i), (j, j))
            ]
            total += (R[i, j] - shared[0]) ** 2 / ((1 - shared[1]) * (1 - shared[2]))
    return total / (k * (k - 1))


def empirical_kaiser(values, n):
    k = len(values)
    bars = []
    for j in range(k):
        left = k - sum(values[:j])
        bars.append(max(1.0, left / (k - j) * (1 + (k / n) ** 0.5) ** 2))
    count = 0
    while count < k and values[count] > bars[count]:
        count += 1
    return bars, count


def on_upper_hull(x, y):
    """Points that rise above all before and lie below no chord of two others that rise."""
    rising = [i for i in range(len(x)) if all(y[i] > y[j] for j in range(i))]
    kept = list(rising)
    for a, b, c in itertools.combinations(rising, 3):
        chord = y[a] + (y[c] - y[a]) * (x[b] - x[a]) / (x[c] - x[a])
        if y[b] <= chord and b in kept:
            kept.remove(b)
    return kept
