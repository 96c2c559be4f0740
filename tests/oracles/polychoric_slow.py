"""Slow twins of polychoric and polyserial correlations: integrals, searches, jackknives."""

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.stats import multivariate_normal

from tests.oracles import normal


def table_of(first, second):
    """Counts of each pair of answers, ranked; pairs with NaN left out."""
    both = ~(np.isnan(first) | np.isnan(second))
    x, y = first[both], second[both]
    rows, columns = np.unique(x), np.unique(y)
    return np.array([[np.sum((x == a) & (y == b)) for b in columns] for a in rows], dtype=float)


def cuts(counts):
    shares = np.cumsum(counts)[:-1] / np.sum(counts)
    return np.concatenate([[-8.0], normal.ppf(shares), [8.0]])


def cell_probabilities(t, u, rho):
    cdf = np.array(
        [[multivariate_normal.cdf([a, b], cov=[[1, rho], [rho, 1]]) for b in u] for a in t]
    )
    return np.diff(np.diff(cdf, axis=0), axis=1)


def polychoric(table, t=None, u=None):
    """Two-step estimate by golden-section search of the likelihood."""
    t = cuts(table.sum(1)) if t is None else t
    u = cuts(table.sum(0)) if u is None else u

    def loss(angle):
        p = np.maximum(cell_probabilities(t, u, np.sin(angle)), 1e-300)
        return -float(np.sum(table * np.log(p)))

    return float(
        np.sin(
            minimize_scalar(loss, bounds=(-1.5, 1.5), method="bounded", options={"xatol": 1e-9}).x
        )
    )


def influences(table, h=1e-3):
    """Derivative of the estimate by the count of each cell, by differences."""
    out = np.zeros_like(table)
    for cell in np.ndindex(table.shape):
        up, down = table.copy(), table.copy()
        step = h * max(table[cell], 1.0)
        up[cell] += step
        down[cell] -= step
        out[cell] = (polychoric(up) - polychoric(down)) / (2 * step)
    return out


def polyserial(z, codes):
    _, ranks = np.unique(codes, return_inverse=True)
    t = cuts(np.bincount(ranks))
    x = (z - z.mean()) / z.std()

    def loss(angle):
        rho = np.sin(angle)
        spread = np.sqrt(1 - rho**2)
        p = normal.cdf((t[ranks + 1] - rho * x) / spread) - normal.cdf(
            (t[ranks] - rho * x) / spread
        )
        return -float(np.sum(np.log(np.maximum(p, 1e-300))))

    return float(
        np.sin(
            minimize_scalar(loss, bounds=(-1.5, 1.5), method="bounded", options={"xatol": 1e-10}).x
        )
    )


def jackknife(statistic, *columns):
    """Standard error from leaving out units one by one."""
    n = len(columns[0])
    left = np.array([statistic(*(np.delete(c, i) for c in columns)) for i in range(n)])
    return float(np.sqrt((n - 1) / n * np.sum((left - left.mean()) ** 2)))
