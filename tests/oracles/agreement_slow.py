"""Slow, obvious twins of the coefficients of agreement: loops over pairs, definitions by letter.

A table is a list of units, each a list of ratings; None is missing.
"""

import itertools
import math

import numpy as np
from scipy import optimize, stats


def rated(table):
    """Ratings of the units that were rated at least twice."""
    kept = [[value for value in unit if value is not None] for unit in table]
    return [unit for unit in kept if len(unit) > 1]


def pairwise(table):
    """Mean over units of the share of pairs that coincide."""
    shares = [
        np.mean([a == b for a, b in itertools.combinations(unit, 2)]) for unit in rated(table)
    ]
    return float(np.mean(shares))


def identical(table):
    """Share of units whose ratings are all the same."""
    return float(np.mean([len(set(unit)) == 1 for unit in rated(table)]))


def mean_shares(table, categories):
    """Mean over units of the share of each category."""
    return [np.mean([unit.count(c) / len(unit) for unit in rated(table)]) for c in categories]


def fleiss(table, categories):
    """Fleiss' kappa."""
    chance = sum(share**2 for share in mean_shares(table, categories))
    return (pairwise(table) - chance) / (1 - chance)


def gwet(table, categories):
    """Gwet's AC1."""
    shares = mean_shares(table, categories)
    chance = sum(share * (1 - share) for share in shares) / (len(categories) - 1)
    return (pairwise(table) - chance) / (1 - chance)


def distance(metric, a, b, everything):
    """Krippendorff's squared distance of two values among all pairable values."""
    if metric == "nominal":
        return float(a != b)
    if metric == "interval":
        return float((a - b) ** 2)
    if metric == "ratio":
        return 0.0 if a == b else ((a - b) / (a + b)) ** 2
    low, high = min(a, b), max(a, b)
    between = sum(1 for value in everything if low <= value <= high)
    ends = (everything.count(a) + everything.count(b)) / 2
    return 0.0 if a == b else (between - ends) ** 2


def krippendorff(table, metric):
    """One minus observed over expected disagreement, pair by pair."""
    units = rated(table)
    everything = [value for unit in units for value in unit]
    n = len(everything)
    observed = sum(
        distance(metric, a, b, everything) / (len(unit) - 1)
        for unit in units
        for a, b in itertools.permutations(unit, 2)
    )
    expected = sum(
        distance(metric, a, b, everything) for a, b in itertools.permutations(everything, 2)
    )
    return 1 - (observed / n) / (expected / (n * (n - 1)))


def cohen(first, second, weights, categories):
    """Weighted kappa from observed and crossed pairs of ratings."""
    place = {category: i for i, category in enumerate(categories)}
    credit = [weights[place[a]][place[b]] for a, b in zip(first, second, strict=True)]
    crossed = [weights[place[a]][place[b]] for a in first for b in second]
    return (np.mean(credit) - np.mean(crossed)) / (1 - np.mean(crossed))


def cohen_variance(table, weights, step=1e-6):
    """Delta method with numerical derivatives of kappa with respect to the cells."""
    shares = np.asarray(table, float) / np.sum(table)

    def kappa(p):
        rows, columns = p.sum(axis=1), p.sum(axis=0)
        observed = (weights * p).sum() / p.sum()
        expected = (weights * np.outer(rows, columns)).sum() / p.sum() ** 2
        return (observed - expected) / (1 - expected)

    gradient = np.zeros_like(shares)
    for cell in np.ndindex(*shares.shape):
        up, down = shares.copy(), shares.copy()
        up[cell] += step
        down[cell] -= step
        gradient[cell] = (kappa(up) - kappa(down)) / (2 * step)
    mean = (shares * gradient).sum()
    return float((shares * (gradient - mean) ** 2).sum() / np.sum(table))


def effective_share(hits, sizes, clusters, level):
    """Share, and the rates that a score test with the effective sample size does not reject."""
    share = sum(hits) / sum(sizes)
    groups = sorted(set(clusters))
    residuals = [
        sum(h - share * m for h, m, g in zip(hits, sizes, clusters, strict=True) if g == group)
        for group in groups
    ]
    shares = [
        sum(m for m, g in zip(sizes, clusters, strict=True) if g == group) / sum(sizes)
        for group in groups
    ]
    square = sum(r * r / (1 - h) for r, h in zip(residuals, shares, strict=True))
    # Satterthwaite: the variance's estimate is a quadratic form in independent answers.
    a = np.eye(len(groups)) - np.outer(shares, np.ones(len(groups)))
    spread = a @ np.diag(shares) @ a.T @ np.diag(1 / (1 - np.array(shares)))
    df = np.trace(spread) ** 2 / np.trace(spread @ spread)
    n = share * (1 - share) * sum(sizes) ** 2 / square
    n = min(n, sum(sizes))
    z = stats.t.ppf(0.5 + level / 2, df)

    def excess(p):
        return (share - p) ** 2 - z * z * p * (1 - p) / n

    return share, (
        optimize.brentq(excess, 1e-12, share, xtol=1e-14),
        optimize.brentq(excess, share, 1 - 1e-12, xtol=1e-14),
    )


def rare_bounds(value, variance, units, level):
    """Coefficients whose disagreement, with the variance of a share, a t test does not reject."""
    d = 1 - value
    t = stats.t.ppf(0.5 + level / 2, units - 1)

    def excess(delta):
        return (d - delta) ** 2 - t * t * variance * delta * (2 - delta) / (d * (2 - d))

    low = optimize.brentq(excess, 0.0, d, xtol=1e-15)
    return 1 - optimize.brentq(excess, d, 2.0, xtol=1e-14), 1 - low


def majority(scores):
    """Share of questions passed in most runs; a tie counts one half."""
    points = []
    for unit in scores:
        known = [s for s in unit if s is not None]
        if known:
            mean = math.fsum(known) / len(known)
            points.append(1.0 if mean > 0.5 else 0.5 if mean == 0.5 else 0.0)
    return float(np.mean(points))
