"""Slow twins of models that lapse: a pair's cell, and the score of a second factor."""

import numpy as np
from scipy import stats


def joint_yes(rates, lapses, correlation):
    """P(both say yes) of two models with given yes rates and lapses ((c, e), (c, e))."""
    cuts = [
        stats.norm.ppf((rate - c) / (1 - c - e))
        for rate, (c, e) in zip(rates, lapses, strict=True)
    ]
    both = stats.multivariate_normal([0, 0], [[1, correlation], [correlation, 1]]).cdf(cuts)
    (c1, e1), (c2, e2) = lapses
    w1, w2 = 1 - c1 - e1, 1 - c2 - e2
    one, two = stats.norm.cdf(cuts)
    return c1 * c2 + c1 * w2 * two + w1 * c2 * one + w1 * w2 * both


def log_likelihood(answers, parameters, second, nodes=201):
    """Log-likelihood of one question's answers with slopes `second` on a second factor."""
    grid = np.linspace(-6.5, 6.5, nodes)
    f, g = np.meshgrid(grid, grid, indexing="ij")
    weight = np.exp(-0.5 * (f**2 + g**2))
    weight /= weight.sum()
    for answer, (a, b, low, high), slope in zip(answers, parameters, second, strict=True):
        lower, upper = 1 / (1 + np.exp(-low)), 1 / (1 + np.exp(-high))
        yes = lower + (upper - lower) * stats.norm.cdf(a * f + b + slope * g)
        if not np.isnan(answer):
            weight = weight * (yes if answer else 1 - yes)
    return float(np.log(weight.sum()))


def second_factor_score(answers, parameters, i, j, step=0.02):
    """Mixed derivative of the log-likelihood by the second slopes of two models, at none."""
    total = 0.0
    for sign_i in (1, -1):
        for sign_j in (1, -1):
            second = np.zeros(len(parameters))
            second[i], second[j] = sign_i * step, sign_j * step
            total += sign_i * sign_j * log_likelihood(answers, parameters, second)
    return total / (4 * step**2)
