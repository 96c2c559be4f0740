"""Slow twin of the pairwise likelihood: every cell from SciPy's multivariate normal."""

import numpy as np
from scipy import stats

from tests.oracles import normal


def cell_probabilities(tau_i, tau_j, rho):
    """P11, P10, P01, P00."""
    both_no = stats.multivariate_normal(cov=[[1, rho], [rho, 1]]).cdf([tau_i, tau_j])
    no_i, no_j = normal.cdf(tau_i), normal.cdf(tau_j)
    return np.array([1 - no_i - no_j + both_no, no_j - both_no, no_i - both_no, both_no])


def log_likelihood(answers, loadings):
    """Sum over pairs of n log P; answers (k, n) of 0, 1 and NaN, loadings (k, m)."""
    total = 0.0
    for i in range(len(answers)):
        for j in range(i):
            both = np.isfinite(answers[i]) & np.isfinite(answers[j])
            x, y = answers[i, both], answers[j, both]
            if len(x) == 0 or x.min() == x.max() or y.min() == y.max():
                continue
            tau_i, tau_j = normal.isf(x.mean()), normal.isf(y.mean())
            p = cell_probabilities(tau_i, tau_j, float(np.dot(loadings[i], loadings[j])))
            n = [np.sum((x == a) & (y == b)) for a, b in ((1, 1), (1, 0), (0, 1), (0, 0))]
            total += sum(count * np.log(q) for count, q in zip(n, p, strict=True) if count)
    return total
