"""The 2PL on several abilities: a product of Gauss-Hermite rules and a general optimiser.

One respondent and one node at a time; nodes are the same for all respondents. The maximum is the
root, by `scipy.optimize`, of derivatives by complex steps: exact to the last digit.
"""

import itertools

import numpy as np
from scipy.optimize import root
from scipy.special import expit, log_expit, log_ndtr, ndtr


def nodes_of(dimensions, number=41):
    """Return nodes (Q, m) and weights (Q,) under independent standard normal abilities."""
    one, weights = np.polynomial.hermite_e.hermegauss(number)
    weights = weights / weights.sum()
    places = list(itertools.product(range(number), repeat=dimensions))
    return (
        np.array([[one[i] for i in place] for place in places]),
        np.array([np.prod([weights[i] for i in place]) for place in places]),
    )


def log_likelihoods(answers, slopes, intercepts, correlation, rule, link="logit"):
    """Return the marginal log-likelihood of each respondent; NaN answers are left out."""
    nodes, weights = rule
    abilities = nodes @ np.linalg.cholesky(correlation).T
    found = []
    log_curve = log_expit if link == "logit" else log_ndtr
    for row in answers:
        total = np.log(np.maximum(weights, 1e-320))
        for answer, a, d in zip(row, slopes, intercepts, strict=True):
            if not np.isnan(answer):
                z = abilities @ a + d
                total = total + log_curve(z if answer == 1 else -z)
        top = total.max()
        found.append(top + np.log(np.exp(total - top).sum()))
    return np.array(found)


def posterior_moments(row, slopes, intercepts, correlation, rule, link="logit"):
    """Return posterior mean (m,) and covariance (m, m) of one respondent."""
    nodes, weights = rule
    abilities = nodes @ np.linalg.cholesky(correlation).T
    density = weights.copy()
    curve = expit if link == "logit" else ndtr
    for answer, a, d in zip(row, slopes, intercepts, strict=True):
        if not np.isnan(answer):
            p = curve(abilities @ a + d)
            density = density * (p if answer == 1 else 1.0 - p)
    density = density / density.sum()
    mean = density @ abilities
    gap = abilities - mean
    return mean, gap.T @ (gap * density[:, None])


def maximum(answers, loads, start, rule, *, correlated=True):
    """Return slopes, intercepts and correlation at the root of the exact gradient (two abilities).

    Real differences of log-likelihoods would leave 1e-6 of the parameters undetermined.
    """
    nodes, weights = rule
    items, m = loads.shape
    rows, counts = np.unique(answers, axis=0, return_counts=True)

    def value(x):
        slopes = np.zeros((items, m), dtype=x.dtype)
        slopes[loads] = x[: loads.sum()]
        intercepts = x[loads.sum() : loads.sum() + items]
        rho = x[-1] if correlated else 0.0
        second = rho * nodes[:, 0] + np.sqrt(1.0 - rho * rho) * nodes[:, 1]
        z = slopes @ np.stack([nodes[:, 0] + 0.0 * second, second]) + intercepts[:, None]
        p = 1.0 / (1.0 + np.exp(-z))
        total = 0.0
        for row, count in zip(rows, counts, strict=True):
            product = np.prod(np.where((row == 1)[:, None], p, 1.0 - p), axis=0)
            total = total + count * np.log(product @ weights)
        return total

    def gradient(x):
        found = np.empty(x.size)
        for place in range(x.size):
            moved = x.astype(complex)
            moved[place] += 1e-30j
            found[place] = value(moved).imag / 1e-30
        return found

    found = root(gradient, start, tol=1e-12).x
    return found, float(value(found.astype(complex)).real)
