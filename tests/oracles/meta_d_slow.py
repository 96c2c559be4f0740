"""Slow, obvious twins of meta-d' and meta-information: definitions by the letter."""

import itertools
import math

import numpy as np
from scipy import integrate, optimize, special

from tests.oracles import normal


def type_1(table):
    """d' and c of one table (classes, responses, ratings)."""
    hit = table[1, 1].sum() / table[1].sum()
    alarm = table[0, 1].sum() / table[0].sum()
    z_hit, z_alarm = normal.ppf(hit), normal.ppf(alarm)
    return z_hit - z_alarm, -(z_hit + z_alarm) / 2


def log_likelihood(table, m, k, below, above):
    """Ratings given class and response; criteria increase along the axis of evidence."""
    total = 0.0
    n_ratings = table.shape[2]
    for stimulus, mean in ((0, -m / 2), (1, m / 2)):
        bounds = {0: [-np.inf, *below, k], 1: [k, *above, np.inf]}
        for response in (0, 1):
            whole = special.ndtr(k - mean if response == 0 else mean - k)
            for j in range(n_ratings):
                low, high = bounds[response][j] - mean, bounds[response][j + 1] - mean
                p = (special.ndtr(high) - special.ndtr(low)) / whole
                rating = n_ratings - 1 - j if response == 0 else j
                n = table[stimulus, response, rating]
                if n > 0:
                    total += n * math.log(p) if p > 0 else -np.inf
    return total


def criteria(gaps, k):
    """Criteria of both responses from the logarithms of their gaps."""
    half = len(gaps) // 2
    below = k - np.cumsum(np.exp(gaps[:half]))[::-1]
    return below, k + np.cumsum(np.exp(gaps[half:]))


def fit(table, *, scaled=True, starts=(0.3, 1.5)):
    """meta-d', criteria and log likelihood by a general optimiser from several starts."""
    d, c = type_1(table)

    def loss(x):
        k = c * x[0] / d if scaled else c
        value = -log_likelihood(table, x[0], k, *criteria(x[1:], k))
        return value if np.isfinite(value) else 1e10

    best = None
    for m in starts:
        x = np.r_[m, np.full(2 * (table.shape[2] - 1), math.log(0.4))]
        for method in ("Nelder-Mead", "BFGS", "Nelder-Mead"):
            options = {"maxiter": 20_000, "maxfev": 20_000} if method == "Nelder-Mead" else {}
            x = optimize.minimize(loss, x, method=method, options=options).x
        if best is None or loss(x) < loss(best):
            best = x
    k = c * best[0] / d if scaled else c
    below, above = criteria(best[1:], k)
    return best[0], below, above, -loss(best)


def group_log_likelihood(table, log_m):
    """The largest likelihood of one table at a given log M, the criterion fixed."""
    d, c = type_1(table)

    def loss(x):
        chance = normal.sf(x[1] - np.array([-0.5, 0.5]) * x[0])
        first = (table[:, 1].sum(axis=1) * np.log(chance)).sum()
        first += (table[:, 0].sum(axis=1) * np.log1p(-chance)).sum()
        m = math.exp(log_m) * x[0]
        value = -first - log_likelihood(table, m, x[1], *criteria(x[2:], x[1]))
        return value if np.isfinite(value) else 1e10

    x = np.r_[d, c, np.full(2 * (table.shape[2] - 1), math.log(0.4))]
    for method in ("Nelder-Mead", "BFGS", "Nelder-Mead"):
        options = {"maxiter": 20_000, "maxfev": 20_000} if method == "Nelder-Mead" else {}
        x = optimize.minimize(loss, x, method=method, options=options).x
    return -loss(x)


def entropy(counts):
    """Bits."""
    total = sum(counts)
    return -sum(n / total * math.log2(n / total) for n in counts if n > 0)


def information(labels, groups):
    """Mutual information of two lists of labels, in bits."""
    pairs = list(zip(labels, groups, strict=True))
    h = [entropy([seq.count(value) for value in set(seq)]) for seq in (labels, groups, pairs)]
    return h[0] + h[1] - h[2]


def mean_information(labels, groups):
    """Mean over all orders of the labels: every choice of places for the ones."""
    choices = itertools.combinations(range(len(labels)), sum(labels))
    orders = [[int(i in places) for i in range(len(labels))] for places in choices]
    return sum(information(order, groups) for order in orders) / len(orders)


def gaussian_meta_information(d):
    """Entropy of being right minus what is left of it once the evidence is known."""

    def left(x):
        right = normal.pdf(x - d / 2) / (normal.pdf(x - d / 2) + normal.pdf(x + d / 2))
        if right in (0.0, 1.0):
            return 0.0
        density = 0.5 * (normal.pdf(x - d / 2) + normal.pdf(x + d / 2))
        return density * entropy([right, 1 - right])

    a = normal.cdf(d / 2)
    uncertain = integrate.quad(left, -12, 12, limit=400, epsabs=1e-12)[0]
    return entropy([a, 1 - a]) - uncertain
