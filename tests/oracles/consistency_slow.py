"""Slow, obvious twins of internal consistency, split halves, intraclass correlations and GRIM."""

import itertools
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
from scipy import stats


def covariance(values):
    """Covariances of columns, each from the rows that have both."""
    k = values.shape[1]
    found = np.empty((k, k))
    for i in range(k):
        for j in range(k):
            rows = [row for row in values if not (math.isnan(row[i]) or math.isnan(row[j]))]
            mean_i = sum(row[i] for row in rows) / len(rows)
            mean_j = sum(row[j] for row in rows) / len(rows)
            found[i, j] = sum((row[i] - mean_i) * (row[j] - mean_j) for row in rows)
            found[i, j] /= len(rows) - 1
    return found


def correlation(matrix):
    sd = np.sqrt(np.diag(matrix))
    return matrix / sd[:, None] / sd[None, :]


def alpha(matrix):
    k = len(matrix)
    total = sum(matrix[i, j] for i in range(k) for j in range(k))
    return k / (k - 1) * (1 - sum(matrix[i, i] for i in range(k)) / total)


def alpha_of_totals(values):
    """Alpha of complete scores, by the words of its definition."""
    k = values.shape[1]
    items = sum(values[:, j].var(ddof=1) for j in range(k))
    return k / (k - 1) * (1 - items / values.sum(axis=1).var(ddof=1))


def delta_se(matrix, n):
    """The standard error of alpha for normal items, by the delta method over all covariances."""
    k = len(matrix)
    places = [(i, j) for i in range(k) for j in range(i + 1)]

    def at(step, where):
        moved = matrix.copy()
        moved[where] += step
        if where[0] != where[1]:
            moved[where[1], where[0]] += step
        return alpha(moved)

    h = 1e-5
    slope = np.array([(at(h, where) - at(-h, where)) / (2 * h) for where in places])
    spread = np.array(
        [
            [matrix[i, m] * matrix[j, q] + matrix[i, q] * matrix[j, m] for m, q in places]
            for i, j in places
        ]
    )
    return math.sqrt(slope @ spread @ slope / n)


def feldt(value, n, k, level):
    df1, df2 = n - 1, (n - 1) * (k - 1)
    tail = (1 - level) / 2
    return (
        1 - (1 - value) * stats.f.ppf(1 - tail, df1, df2),
        1 - (1 - value) * stats.f.ppf(tail, df1, df2),
    )


def split_coefficients(matrix):
    """Guttman's coefficient of every split into halves, one of each pair of mirror images."""
    k = len(matrix)
    found = []
    for first in itertools.combinations(range(k), k // 2):
        second = [j for j in range(k) if j not in first]
        if k % 2 == 0 and 0 not in first:
            continue
        between = sum(matrix[i, j] for i in first for j in second)
        found.append(4 * between / matrix.sum())
    return found


def lambdas(matrix):
    k, total = len(matrix), matrix.sum()
    off = matrix - np.diag(np.diag(matrix))
    first = off.sum() / total
    unpredicted = 0.0
    for j in range(k):
        others = [i for i in range(k) if i != j]
        slope = np.linalg.solve(matrix[np.ix_(others, others)], matrix[others, j])
        unpredicted += matrix[j, j] - slope @ matrix[others, j]
    return [
        first,
        first + math.sqrt(k / (k - 1) * (off**2).sum()) / total,
        k / (k - 1) * first,
        max(split_coefficients(matrix)),
        first + 2 * math.sqrt(max((off[:, j] ** 2).sum() for j in range(k))) / total,
        1 - unpredicted / total,
    ]


def intraclass(x):
    """The six forms from sums of squares taken cell by cell."""
    n, k = x.shape
    grand = x.sum() / (n * k)
    between = sum(k * (x[i].mean() - grand) ** 2 for i in range(n)) / (n - 1)
    raters = sum(n * (x[:, j].mean() - grand) ** 2 for j in range(k)) / (k - 1)
    within = sum((x[i, j] - x[i].mean()) ** 2 for i in range(n) for j in range(k))
    within /= n * (k - 1)
    error = sum(
        (x[i, j] - x[i].mean() - x[:, j].mean() + grand) ** 2 for i in range(n) for j in range(k)
    ) / ((n - 1) * (k - 1))
    return [
        (between - within) / (between + (k - 1) * within),
        (between - error) / (between + (k - 1) * error + k * (raters - error) / n),
        (between - error) / (between + (k - 1) * error),
        (between - within) / between,
        (between - error) / (between + (raters - error) / n),
        (between - error) / between,
    ]


def reml_criterion(x, targets, raters, residual):
    """-2 restricted log likelihood of crossed random effects, from the full covariance matrix."""
    i, j = np.nonzero(~np.isnan(x))
    y = x[i, j]
    cov = residual * np.eye(y.size)
    cov += targets * (i[:, None] == i[None, :]) + raters * (j[:, None] == j[None, :])
    inverse = np.linalg.inv(cov)
    ones = np.ones(y.size)
    mean = (ones @ inverse @ y) / (ones @ inverse @ ones)
    return (
        np.linalg.slogdet(cov)[1]
        + math.log(ones @ inverse @ ones)
        + (y - mean) @ inverse @ (y - mean)
    )


def grim(text, n, scale):
    """Try every count whose rate could be near, in exact arithmetic."""
    rate = Fraction(Decimal(text)) / scale
    half = Fraction(1, 2) * Fraction(1, 10 ** max(0, -Decimal(text).as_tuple().exponent)) / scale
    return any(abs(Fraction(count, n) - rate) <= half for count in range(2 * n + 2))
