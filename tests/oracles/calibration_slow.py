"""Slow, obvious twins of the calibration room: loops over questions, definitions by the letter."""

import itertools
import math

import numpy as np
from scipy import optimize, stats

from tests.oracles import normal


def cells(said, right):
    """tp, fp, fn, tn of one model; None or NaN where an answer is missing."""
    count = {(1, 1): 0, (1, 0): 0, (0, 1): 0, (0, 0): 0}
    for y, a in zip(said, right, strict=True):
        if not (math.isnan(y) or math.isnan(a)):
            count[int(y), int(a)] += 1
    return count[1, 1], count[1, 0], count[0, 1], count[0, 0]


def wilson(hits, n, level):
    """The rates that a score test does not reject, by bisection."""
    z = normal.ppf(0.5 + level / 2)
    rate = hits / n

    def excess(p):
        return (rate - p) ** 2 - z * z * p * (1 - p) / n

    low = 0.0 if hits == 0 else optimize.brentq(excess, 0.0, min(rate, 1 - 1e-9), xtol=1e-15)
    high = 1.0 if hits == n else optimize.brentq(excess, max(rate, 1e-9), 1.0, xtol=1e-15)
    return low, high


def f_beta(precision, recall, beta):
    """The weighted harmonic mean of precision and recall."""
    if precision == 0 or recall == 0:
        return 0.0
    return (1 + beta**2) / (1 / precision + beta**2 / recall)


def random_yes_f_beta(accuracy, rate, beta, n=400_000, seed=0):
    """F-beta of a yes given at random, by simulation."""
    rng = np.random.default_rng(seed)
    yes, right = rng.random(n) < rate, rng.random(n) < accuracy
    return f_beta(right[yes].mean(), yes[right].mean(), beta)


def area(scores, correct):
    """Share of pairs (correct, wrong) in which the correct one has the higher score."""
    points, pairs = 0.0, 0
    for high, low in itertools.product(scores[correct == 1], scores[correct == 0]):
        points += 1.0 if high > low else 0.5 if high == low else 0.0
        pairs += 1
    return points / pairs


def delong_se(scores, correct):
    """DeLong's standard error from the placement of each answer among those of the other kind."""
    up, down = scores[correct == 1], scores[correct == 0]
    among_wrong = [np.mean((down < x) + 0.5 * (down == x)) for x in up]
    among_right = [np.mean((up > x) + 0.5 * (up == x)) for x in down]
    return math.sqrt(
        np.var(among_wrong, ddof=1) / len(up) + np.var(among_right, ddof=1) / len(down)
    )


def holm(p_values):
    """Smallest level at which the sequential procedure rejects each hypothesis."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted, running = [0.0] * len(p_values), 0.0
    for step, i in enumerate(order):
        running = max(running, (len(p_values) - step) * p_values[i])
        adjusted[i] = min(1.0, running)
    return adjusted


def cut_by_chance(signal, rate, n=4000, seed=0):
    """Mean of yes over random orders of the ties, the top share `rate` saying yes."""
    rng = np.random.default_rng(seed)
    total = np.zeros(len(signal))
    for _ in range(n):
        order = np.lexsort((rng.random(len(signal)), -signal))
        wanted = rate * len(signal)
        whole = int(wanted)
        total[order[:whole]] += 1.0
        if whole < len(signal):
            total[order[whole]] += wanted - whole
    return total / n


def logistic(design, outcome, penalty=0.0):
    """Maximise the (penalised) likelihood with a general optimiser."""

    def loss(beta):
        eta = design @ beta
        value = -np.logaddexp(0.0, -np.where(outcome > 0, 1, -1) * eta).sum()
        p = 1 / (1 + np.exp(-eta))
        information = design.T @ (design * (p * (1 - p))[:, None])
        return -(value + penalty * np.linalg.slogdet(information)[1])

    start = np.zeros(design.shape[1])
    found = optimize.minimize(
        loss,
        start,
        method="Nelder-Mead",
        options={
            "xatol": 1e-10,
            "fatol": 1e-13,
            "maxiter": 20_000,
            "maxfev": 20_000,
        },
    )
    return found.x, -found.fun


def disagreements(said, right, expected=None):
    """Mean difference in correctness per ordered pair, and pooled over all disagreements."""
    k, n = said.shape
    sums, counts, total, foreseen, size = np.zeros((k, k)), np.zeros((k, k)), 0.0, 0.0, 0
    for q in range(n):
        for i, j in itertools.permutations(range(k), 2):
            known = not np.isnan([said[i, q], said[j, q], right[i, q], right[j, q]]).any()
            if known and said[i, q] == 1 and said[j, q] == 0:
                sums[i, j] += right[i, q] - right[j, q]
                counts[i, j] += 1
                total += right[i, q] - right[j, q]
                size += 1
                if expected is not None:
                    foreseen += expected[i, q] - expected[j, q]
    with np.errstate(invalid="ignore"):
        return sums / counts, counts, total / size, foreseen / size


def base_rate(right, present, i, j):
    """Mean difference in correctness over all questions that both have."""
    both = present[i] & present[j]
    return np.mean(right[i, both] - right[j, both])


def private_log_likelihood(yes, correct, others, parameters, nodes=241, lapses=None, own=(0, 0)):
    """Log likelihood of one model given the others' answers, question by question.

    `others` are (answers (models, questions), loadings, thresholds); `parameters` are c, d, the
    coefficients of the cubic a(f) in Hermite polynomials of unit variance, and rho. `lapses` are
    (yes, no) of each other model, `own` those of this one.
    """
    answers, loadings, thresholds = others
    lapses = [(0, 0)] * len(loadings) if lapses is None else lapses
    c, d, a0, a1, a2, a3, rho = parameters
    f = np.linspace(-7, 7, nodes)
    inner = np.clip(f, -3, 3)
    h = c + d * f
    k = (
        a0
        + a1 * f
        + a2 * (inner**2 - 1) / math.sqrt(2)
        + a3 * (inner**3 - 3 * inner) / math.sqrt(6)
    )
    joint = stats.multivariate_normal([0, 0], [[1, rho], [rho, 1]])
    both = np.array([joint.cdf([x, y]) for x, y in zip(h, k, strict=True)])
    up, right = normal.cdf(h), normal.cdf(k)
    both = own[0] * right + (1 - sum(own)) * both
    up = own[0] + (1 - sum(own)) * up
    cell = {(1, 1): both, (1, 0): up - both, (0, 1): right - both, (0, 0): 1 - up - right + both}
    total = 0.0
    for q in range(len(yes)):
        weight = np.exp(-0.5 * f**2)
        for answer, loading, threshold, (low, high) in zip(
            answers[:, q], loadings, thresholds, lapses, strict=True
        ):
            p = normal.cdf((loading * f - threshold) / math.sqrt(1 - loading**2))
            p = low + (1 - low - high) * p
            weight = weight * (1 if math.isnan(answer) else p if answer == 1 else 1 - p)
        total += math.log((weight @ cell[int(yes[q]), int(correct[q])]) / weight.sum())
    return total
