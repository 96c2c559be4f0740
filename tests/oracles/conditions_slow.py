"""Tests between conditions, by definition; the random intercept with whole matrices."""

from itertools import product

import numpy as np


def midranks(values):
    return [
        sum(other < value for other in values) + (sum(other == value for other in values) + 1) / 2
        for value in values
    ]


def kruskal(groups):
    """Return H, corrected for ties."""
    together = [value for group in groups for value in group]
    n, ranks = len(together), midranks(together)
    h, start = 0.0, 0
    for group in groups:
        part = ranks[start : start + len(group)]
        start += len(group)
        h += len(group) * (np.mean(part) - (n + 1) / 2) ** 2
    ties = [together.count(value) for value in set(together)]
    return 12 / (n * (n + 1)) * h / (1 - sum(t**3 - t for t in ties) / (n**3 - n))


def kendall(table):
    """Return W: variance of rank sums over the variance that full agreement would give."""
    ranks = np.array([midranks(list(row)) for row in table])
    agreed = ranks - ranks.mean()
    return (agreed.sum(axis=0) ** 2).sum() / (len(table) * (agreed**2).sum())


def signed_rank(gaps):
    """Return the exact two-sided p-value by all signs."""
    kept = [gap for gap in gaps if gap != 0]
    ranks = midranks([abs(gap) for gap in kept])
    observed = sum(rank for rank, gap in zip(ranks, kept, strict=True) if gap > 0)
    sums = [
        sum(rank for rank, sign in zip(ranks, signs, strict=True) if sign)
        for signs in product((0, 1), repeat=len(kept))
    ]
    below = sum(total <= observed for total in sums) / len(sums)
    above = sum(total >= observed for total in sums) / len(sums)
    return min(1.0, 2 * min(below, above))


def intercept_matrices(condition, group):
    x = np.eye(max(condition) + 1)[condition]
    z = np.eye(max(group) + 1)[group]
    return x, z @ z.T


def restricted_deviance(y, condition, group, between, residual):
    x, shared = intercept_matrices(condition, group)
    v = between * shared + residual * np.eye(y.size)
    inverse = np.linalg.inv(v)
    information = x.T @ inverse @ x
    beta = np.linalg.solve(information, x.T @ inverse @ y)
    off = y - x @ beta
    constant = (y.size - x.shape[1]) * np.log(2 * np.pi)
    return (
        np.linalg.slogdet(v)[1]
        + np.linalg.slogdet(information)[1]
        + off @ inverse @ off
        + constant
    )


def satterthwaite(y, condition, group, between, residual, contrast):
    """Return the degrees of freedom of a contrast, derivatives by central differences."""

    def variance(at):
        x, shared = intercept_matrices(condition, group)
        inverse = np.linalg.inv(at[0] * shared + at[1] * np.eye(y.size))
        return contrast @ np.linalg.inv(x.T @ inverse @ x) @ contrast

    def deviance(at):
        return restricted_deviance(y, condition, group, *at)

    at = np.array([between, residual])
    steps = 1e-3 * np.diag(at)
    slope = np.array([(variance(at + s) - variance(at - s)) for s in steps]) / (2e-3 * at)
    hessian = np.array(
        [
            [
                (
                    deviance(at + s + t)
                    - deviance(at + s - t)
                    - deviance(at - s + t)
                    + deviance(at - s - t)
                )
                / (4 * s.sum() * t.sum())
                for t in steps
            ]
            for s in steps
        ]
    )
    return 2 * variance(at) ** 2 / (slope @ (2 * np.linalg.inv(hessian)) @ slope)
