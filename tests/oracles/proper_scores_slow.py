"""Slow, obvious twins of proper scores and their parts: loops over answers, laws by the letter."""

import math

import numpy as np
from scipy import optimize


def brier(confidence, correct):
    return sum((f - y) ** 2 for f, y in zip(confidence, correct, strict=True)) / len(correct)


def log_score(confidence, correct, clip):
    total = 0.0
    for f, y in zip(confidence, correct, strict=True):
        f = min(max(f, clip), 1 - clip)
        total -= math.log(f) if y == 1 else math.log(1 - f)
    return total / len(correct)


def isotonic(confidence, correct, weights=None):
    """Max over starts of the min over ends of the mean between, at each distinct confidence."""
    w = np.ones(len(correct)) if weights is None else np.asarray(weights, float)
    levels = sorted(set(confidence))
    y = [(sum(w[i] * correct[i] for i in range(len(w)) if confidence[i] == u)) for u in levels]
    n = [sum(w[i] for i in range(len(w)) if confidence[i] == u) for u in levels]

    def between(j, k):
        return sum(y[j : k + 1]) / sum(n[j : k + 1])

    fit = [
        max(min(between(j, k) for k in range(g, len(levels))) for j in range(g + 1))
        for g in range(len(levels))
    ]
    return np.array(levels), np.array(fit)


def corp(confidence, correct, score):
    """MCB, DSC and UNC with a score taking (confidences, outcomes)."""
    levels, fit = isotonic(confidence, correct)
    recalibrated = [fit[list(levels).index(f)] for f in confidence]
    mean = [sum(correct) / len(correct)] * len(correct)
    best = score(recalibrated, correct)
    return score(confidence, correct) - best, score(mean, correct) - best, score(mean, correct)


def murphy(confidence, correct, bins):
    """Reliability, resolution, uncertainty, and the same corrected; bins are labels per answer."""
    n, o = len(correct), sum(correct) / len(correct)
    rel = res = bias = 0.0
    for label in set(bins):
        here = [i for i in range(n) if bins[i] == label]
        f = sum(confidence[i] for i in here) / len(here)
        share = sum(correct[i] for i in here) / len(here)
        rel += len(here) / n * (f - share) ** 2
        res += len(here) / n * (share - o) ** 2
        if len(here) > 1:
            bias += len(here) / n * share * (1 - share) / (len(here) - 1)
    of_mean = o * (1 - o) / (n - 1)
    unc = o * (1 - o)
    return rel, res, unc, rel - bias, res - bias + of_mean, unc + of_mean


def gaps(confidence, correct, bins):
    """Sums of positive and of negative gaps of bins, weighted by their share of answers."""
    n, over, under = len(correct), 0.0, 0.0
    for label in set(bins):
        here = [i for i in range(n) if bins[i] == label]
        gap = sum(confidence[i] - correct[i] for i in here) / len(here)
        over += len(here) / n * max(gap, 0)
        under += len(here) / n * max(-gap, 0)
    return over, under


def spiegelhalter(confidence, correct):
    """How far the Brier score lies from its mean under calibration, in standard deviations."""
    n = len(correct)
    expected = sum(f * (1 - f) for f in confidence) / n
    variance = sum(f * (1 - f) * (((1 - f) ** 2 - f**2) ** 2) for f in confidence) / n**2
    return (brier(confidence, correct) - expected) / math.sqrt(variance)


def _negative_log_likelihood(a, b, x, y, penalty):
    eta = a + b * x
    value = -np.logaddexp(0.0, -np.where(y > 0, 1, -1) * eta).sum()
    if penalty:
        p = 1 / (1 + np.exp(-eta))
        design = np.column_stack([np.ones_like(x), x])[:, :penalty]
        value += 0.5 * np.linalg.slogdet(design.T @ (design * (p * (1 - p))[:, None]))[1]
    return -value


def cox(confidence, correct, clip, penalised=False):
    """Intercept, slope and log likelihood by a general optimiser."""
    x, y = logit(confidence, clip), np.asarray(correct, float)
    found = optimize.minimize(
        lambda t: _negative_log_likelihood(t[0], t[1], x, y, 2 if penalised else 0),
        [0.0, 1.0],
        method="Nelder-Mead",
        options={"xatol": 1e-10, "fatol": 1e-13, "maxiter": 10_000, "maxfev": 10_000},
    )
    return found.x[0], found.x[1], -found.fun


def in_the_large(confidence, correct, clip, penalised=False):
    """Intercept given a slope of one."""
    x, y = logit(confidence, clip), np.asarray(correct, float)
    found = optimize.minimize_scalar(
        lambda a: _negative_log_likelihood(a, 1.0, x, y, 1 if penalised else 0),
        bracket=(-1.0, 1.0),
        tol=1e-12,
    )
    return found.x


def profile(confidence, correct, clip, coefficient, fall, penalised=False):
    """Where the likelihood maximised over the other coefficient is `fall` below its top."""
    x, y = logit(confidence, clip), np.asarray(correct, float)
    penalty = 2 if penalised else 0
    *best, top = cox(confidence, correct, clip, penalised)

    def below(value):
        def loss(other):
            a, b = (value, other) if coefficient == 0 else (other, value)
            return _negative_log_likelihood(a, b, x, y, penalty)

        centre = best[1 - coefficient]
        found = optimize.minimize_scalar(loss, bracket=(centre - 0.5, centre + 0.5), tol=1e-11)
        return top + found.fun - fall

    here = best[coefficient]
    return tuple(
        optimize.brentq(below, here, _beyond(below, here, side), xtol=1e-9) for side in (-1, 1)
    )


def _beyond(below, here, side):
    step = 0.5
    while below(here + side * step) < 0:
        step *= 2
    return here + side * step


def logit(confidence, clip):
    f = np.clip(np.asarray(confidence, float), clip, 1 - clip)
    return np.log(f / (1 - f))


def reweighted_errors(confidence, correct, clip, *, slope=True, converged=None):
    """Standard errors (intercept, slope) by iteratively reweighted least squares.

    As R's glm and statsmodels do it: from (y + 1/2) / 2, until `converged` says so of two
    deviances; the errors reported are those of the weights before the last step. Without a slope
    the logit of confidence is an offset.
    """
    x, y = logit(confidence, clip), np.asarray(correct, float)
    design = np.column_stack([np.ones_like(x), x])[:, : 2 if slope else 1]
    offset = np.zeros_like(x) if slope else x
    converged = converged or (lambda old, new: abs(old - new) < 1e-13)
    p = (y + 0.5) / 2
    eta, deviance = np.log(p / (1 - p)), np.inf
    while True:
        weight = p * (1 - p)
        working = eta - offset + (y - p) / weight
        information = design.T @ (design * weight[:, None])
        beta = np.linalg.solve(information, design.T @ (weight * working))
        eta = design @ beta + offset
        p = 1 / (1 + np.exp(-eta))
        new = -2 * (y * np.log(p) + (1 - y) * np.log(1 - p)).sum()
        if converged(deviance, new):
            return np.sqrt(np.diag(np.linalg.inv(information)))
        deviance = new


def noise_of_bins(bins, correct, weights, clusters, *, score):
    """Mean and variance of what noise adds to a squared departure: sums, one answer at a time."""
    total, mean, variance = sum(weights), 0.0, 0.0
    for k in sorted(set(bins)):
        here = [i for i, of_bin in enumerate(bins) if of_bin == k]
        size = sum(weights[i] for i in here)
        hits = sum(weights[i] * correct[i] for i in here)
        likely = (hits + 1) / (size + 2)
        spread = likely * (1 - likely)
        of_share = 0.0
        for g in {clusters[i] for i in here}:
            inside = [i for i in here if clusters[i] == g]
            strays = sum(weights[i] * (correct[i] - hits / size) for i in inside)
            of_share += strays**2 / (1 - sum(weights[i] for i in inside) / size) / size**2
        if of_share == 0:
            of_share = spread / size
        if score == "log":
            of_share /= 2 * spread
        mean += size / total * of_share
        variance += 2 * (size / total * of_share) ** 2
    return mean, variance
