"""Slow twins of omega: sums written out, and the two halves of Green and Yang's ratio by drawing.

Bivariate normal probabilities come from SciPy's own integration.
"""

import math

import numpy as np
from scipy.stats import multivariate_normal


def omega(R, general, groups, uniquenesses):
    """Omega hierarchical, total, asymptotic, ECV, share of group factors, alpha, lambda 6."""
    k, m = len(R), len(groups[0])
    variance = sum(R[i][j] for i in range(k) for j in range(k))
    unique = sum(uniquenesses)
    g2 = sum(general) ** 2
    squares = sum(g * g for g in general)
    rest = sum(groups[i][j] ** 2 for i in range(k) for j in range(m))
    inverse = np.linalg.inv(np.asarray(R))
    smc = [1 - 1 / inverse[i, i] for i in range(k)]
    return [
        g2 / variance,
        (variance - unique) / variance,
        g2 / (variance - unique),
        squares / (squares + rest),
        sum(sum(groups[i][j] for i in members(groups, j)) ** 2 for j in range(m)) / variance,
        k / (k - 1) * (1 - k / variance),
        1 - sum(1 - s for s in smc) / variance,
    ]


def members(groups, factor):
    """Items that load highest on a group factor."""
    k, m = len(groups), len(groups[0])
    return [i for i in range(k) if max(range(m), key=lambda j: abs(groups[i][j])) == factor]


def subscale(R, general, groups, factor):
    """Omega of a subscale, and its parts due to the general and the group factor."""
    own = members(groups, factor)
    variance = sum(R[i][j] for i in own for j in own)
    g = sum(general[i] for i in own) ** 2 / variance
    f = sum(groups[i][factor] for i in own) ** 2 / variance
    return [g + f, g, f]


def upper(x):
    return 0.5 * math.erfc(x / math.sqrt(2))


def both_upper(a, b, r):
    if r >= 1:
        return upper(max(a, b))
    if r <= -1:
        return max(0.0, upper(a) - upper(-b))
    return multivariate_normal.cdf([-a, -b], cov=[[1, r], [r, 1]])


def score_covariance(cuts_i, cuts_j, r):
    return sum(both_upper(a, b, r) - upper(a) * upper(b) for a in cuts_i for b in cuts_j)


def green_yang(loadings, cuts, latent=None):
    """Categorical omega; `latent` holds observed correlations, implied ones otherwise."""
    k = len(loadings)

    def implied(i, j):
        return loadings[i] * loadings[j]

    def observed(i, j):
        if i == j:
            return 1.0
        return implied(i, j) if latent is None else latent[i][j]

    pairs = [(i, j) for i in range(k) for j in range(k)]
    top = sum(score_covariance(cuts[i], cuts[j], implied(i, j)) for i, j in pairs)
    return top / sum(score_covariance(cuts[i], cuts[j], observed(i, j)) for i, j in pairs)


def parallel_forms(loadings, cuts, n, seed):
    """Correlate total scores of two forms that share the factor and nothing else."""
    rng = np.random.default_rng(seed)
    L = np.asarray(loadings)
    factor = rng.normal(size=(n, 1))
    totals = []
    for _ in range(2):
        y = factor * L + np.sqrt(1 - L**2) * rng.normal(size=(n, L.size))
        totals.append(sum((y[:, [i]] > np.asarray(cuts[i])).sum(1) for i in range(L.size)))
    return np.corrcoef(*totals)[0, 1]
