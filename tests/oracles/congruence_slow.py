"""Slow twins of congruence: loops, and every permutation."""

from itertools import permutations
from math import sqrt


def congruence(x, y):
    rows = range(len(x))

    def phi(a, b):
        top = sum(x[i][a] * y[i][b] for i in rows)
        return top / sqrt(sum(x[i][a] ** 2 for i in rows) * sum(y[i][b] ** 2 for i in rows))

    return [[phi(a, b) for b in range(len(y[0]))] for a in range(len(x[0]))]


def best_order(matrix):
    """Return the order of columns with the largest sum of sizes, for a square matrix."""
    k = len(matrix)
    return max(permutations(range(k)), key=lambda p: sum(abs(matrix[i][p[i]]) for i in range(k)))
