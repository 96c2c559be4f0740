r"""Logistic recalibration of stated confidence: maximum likelihood on tallies.

With x the logit of confidence, n_g answers at x_g and the two sums S_0 of correct answers and S_1
of x over correct answers,

.. math:: \ell(a, b) = a S_0 + b S_1 - \sum_g n_g \ln\left(1 + e^{a + b x_g}\right)
                       + \tfrac12 \ln\det I(a, b),                                        \quad (1)

where the last term, Firth's, is used only where correct and wrong answers are separated. Outcomes
enter through S_0 and S_1 alone, and the sum over g is an integral over the distribution of x; where
there are many distinct confidences, each of `_BINS` bins of x is replaced by the two nodes that have
its moments up to the third (Gauss quadrature). With bins 0.2 wide the coefficients of an ordinary fit
keep about eight digits, and a resample costs one pass over the answers and a few over the nodes.

References
----------
Cox, D. R. (1958). Two further applications of a model for binary regression. Biometrika, 45,
562-565.

Firth, D. (1993). Bias reduction of maximum likelihood estimates. Biometrika, 80, 27-38.
"""

import math

import numpy as np
from numpy.typing import NDArray

from psychollm.kernels._jit import njit

NO_PENALTY, PENALTY_INTERCEPT, PENALTY_LINE = 0, 1, 2
# What `classify` finds in a tally.
EMPTY, ONE_CLASS, ONE_VALUE, SEPARATED, ORDINARY = 0, 1, 2, 3, 4

# Gains of a Newton step, in units of (1): the error after it is of the order of its square.
_TOLERANCE = 1e-8
_TOLERANCE_PENALISED = 1e-18
_SHORT = 1e-4
_MAX_ITERATIONS = 100
_MAX_HALVINGS = 40
_NO_SPREAD = 1e-12
_LEAST_SPREAD = 1e-3


@njit
def _first(counts, start, end, step):
    """Return the first place from `start` in direction `step` with a positive count, or `end`."""
    g = start
    while g != end and not counts[g] > 0.0:
        g += step
    return g


@njit
def classify(correct, wrong):
    """Tell what can be estimated from one tally (groups,), in increasing order of confidence.

    Separated: some confidence has no wrong answer above it and no correct one below it, or the
    reverse.
    """
    end = correct.size
    first_c, first_w = _first(correct, 0, end, 1), _first(wrong, 0, end, 1)
    if first_c == end and first_w == end:
        return EMPTY
    if first_c == end or first_w == end:
        return ONE_CLASS
    last_c, last_w = _first(correct, end - 1, -1, -1), _first(wrong, end - 1, -1, -1)
    if min(first_c, first_w) == max(last_c, last_w):
        return ONE_VALUE
    if first_c >= last_w or first_w >= last_c:
        return SEPARATED
    return ORDINARY


@njit
def _sums(x, n, a, b, found):
    """Fill sums over g of: softplus(eta), p, p x, w, w x, w x^2, with w = p (1 - p)."""
    found[:] = 0.0
    for g in range(x.size):
        eta = a + b * x[g]
        e = math.exp(-abs(eta))
        p = 1.0 / (1.0 + e) if eta >= 0.0 else e / (1.0 + e)
        w = n[g] * e / ((1.0 + e) * (1.0 + e))
        found[0] += n[g] * (max(eta, 0.0) + math.log1p(e))
        found[1] += n[g] * p
        found[2] += n[g] * p * x[g]
        found[3] += w
        found[4] += w * x[g]
        found[5] += w * x[g] * x[g]


@njit
def _add_penalty(x, n, a, b, penalty, found, at):
    """Add Firth's term to the value and gradient of `at` (3,): value, d/da, d/db."""
    i00, i01, i11 = found[3], found[4], found[5]
    det = i00 * i11 - i01 * i01 if penalty == PENALTY_LINE else i00
    at[0] += 0.5 * math.log(det)
    for g in range(x.size):
        eta = a + b * x[g]
        e = math.exp(-abs(eta))
        w = n[g] * e / ((1.0 + e) * (1.0 + e))
        pull = -0.5 * math.tanh(0.5 * eta)  # 1/2 - p
        square = 1.0
        if penalty == PENALTY_LINE:
            square = i11 - 2.0 * i01 * x[g] + i00 * x[g] * x[g]
        at[1] += w * square / det * pull
        at[2] += w * square / det * pull * x[g]


@njit
def evaluate(x, n, s0, s1, theta, penalty, found, at):
    """Fill `at` (3,) with (1) and its gradient, and `found` with the sums of `_sums`."""
    _sums(x, n, theta[0], theta[1], found)
    at[0] = theta[0] * s0 + theta[1] * s1 - found[0]
    at[1] = s0 - found[1]
    at[2] = s1 - found[2]
    if penalty != NO_PENALTY:
        _add_penalty(x, n, theta[0], theta[1], penalty, found, at)


@njit
def _newton_step(found, at, free_a, free_b, step):
    """Fill `step` (2,) with the Newton step over the free coefficients; return its gain."""
    i00, i01, i11 = found[3], found[4], found[5]
    step[:] = 0.0
    if free_a and free_b:
        det = i00 * i11 - i01 * i01
        step[0] = (i11 * at[1] - i01 * at[2]) / det
        step[1] = (i00 * at[2] - i01 * at[1]) / det
    elif free_a:
        step[0] = at[1] / i00
    else:
        step[1] = at[2] / i11
    return step[0] * at[1] + step[1] * at[2]


@njit
def maximise(x, n, s0, s1, theta, free_a, free_b, penalty):
    """Move `theta` (2,) = (a, b) to the maximum of (1) over the free ones and return (1) there.

    Newton's method; a long step that lowers the objective is halved. Without the penalty it
    converges quadratically, so that the last step is taken without looking at where it leads;
    with it, the step leaves out the curvature of the penalty, and convergence is linear.
    """
    found, at, step = np.empty(6), np.empty(3), np.empty(2)
    tolerance = _TOLERANCE if penalty == NO_PENALTY else _TOLERANCE_PENALISED
    evaluate(x, n, s0, s1, theta, penalty, found, at)
    gain = _newton_step(found, at, free_a, free_b, step)
    for _ in range(_MAX_ITERATIONS):
        if not gain > tolerance:
            break
        start_a, start_b, start = theta[0], theta[1], at[0]
        for _ in range(_MAX_HALVINGS):
            theta[0], theta[1] = start_a + step[0], start_b + step[1]
            evaluate(x, n, s0, s1, theta, penalty, found, at)
            if at[0] >= start or gain < _SHORT:
                break
            step *= 0.5
        gain = _newton_step(found, at, free_a, free_b, step)
    if gain > 0.0:
        theta += step
        at[0] += 0.5 * gain
    return at[0]


@njit
def _node_pair(m0, m1, m2, m3, centre, x, n, k):
    """Write the nodes of one bin with moments m about its centre from place k; return the next."""
    if m0 <= 0.0:
        return k
    mean = m1 / m0
    variance = m2 / m0 - mean * mean
    if variance <= _NO_SPREAD:
        x[k], n[k] = centre + mean, m0
        return k + 1
    third = m3 / m0 - 3.0 * mean * m2 / m0 + 2.0 * mean * mean * mean
    half = 0.5 * third / variance
    radius = math.sqrt(half * half + variance)
    x[k], x[k + 1] = centre + mean + half - radius, centre + mean + half + radius
    n[k] = m0 * 0.5 * (radius + half) / radius
    n[k + 1] = m0 - n[k]
    return k + 2


@njit
def condense(x, correct, wrong, bins, centres, nodes, size, sums):
    """Fill `nodes` and `size` with two nodes per bin of x; return how many are in use.

    Bin k holds the groups from ``bins[k]`` to ``bins[k + 1] - 1`` around ``centres[k]``. `sums`
    (2,) receives S_0 and S_1.
    """
    k = 0
    sums[:] = 0.0
    for b in range(centres.size):
        m0, m1, m2, m3 = 0.0, 0.0, 0.0, 0.0
        for g in range(bins[b], bins[b + 1]):
            t = x[g] - centres[b]
            n = correct[g] + wrong[g]
            sums[0] += correct[g]
            sums[1] += correct[g] * x[g]
            m0 += n
            n *= t
            m1 += n
            n *= t
            m2 += n
            m3 += n * t
        k = _node_pair(m0, m1, m2, m3, centres[b], nodes, size, k)
    return k


@njit
def _line_start(x, n, s0, s1, theta):
    """Start at the line that two normal distributions of x with one variance would give."""
    total, sum_x, sum_xx = 0.0, 0.0, 0.0
    for k in range(x.size):
        total += n[k]
        sum_x += n[k] * x[k]
        sum_xx += n[k] * x[k] * x[k]
    up, down = s1 / s0, (sum_x - s1) / (total - s0)
    share = s0 / total
    spread = sum_xx / total - share * up * up - (1.0 - share) * down * down
    theta[1] = (up - down) / max(spread, _LEAST_SPREAD * (sum_xx / total + 1.0))
    theta[0] = math.log(s0 / (total - s0)) - 0.5 * theta[1] * (up + down)


@njit
def fit_line(nodes, size, sums, theta):
    """Fit intercept and slope to `theta` = (a, b), the ordinary case."""
    _line_start(nodes, size, sums[0], sums[1], theta)
    return maximise(nodes, size, sums[0], sums[1], theta, True, True, NO_PENALTY)


@njit
def fit_line_penalised(x, n, sums, theta):
    """Fit intercept and slope with Firth's penalty to `theta` = (a, b), the separated case."""
    theta[0], theta[1] = 0.0, 0.0
    return maximise(x, n, sums[0], sums[1], theta, True, True, PENALTY_LINE)


@njit
def fit_level(nodes, size, sums, kind, theta):
    """Fit the intercept given a slope of one to `theta` = (a, 1)."""
    theta[0], theta[1] = 0.0, 1.0
    penalty = PENALTY_INTERCEPT if kind == ONE_CLASS else NO_PENALTY
    return maximise(nodes, size, sums[0], sums[1], theta, True, False, penalty)


@njit
def recalibrations(
    x: NDArray[np.float64],
    bins: NDArray[np.int64],
    centres: NDArray[np.float64],
    correct: NDArray[np.float64],
    wrong: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Fill `out` (resamples, 3) with slope, intercept, and intercept given a slope of one.

    Slope and intercept are NaN where a resample holds one class or one confidence only, all three
    where it holds no answer. Estimates are Firth's where correct and wrong answers are separated.
    """
    nodes, size = np.empty(2 * centres.size), np.empty(2 * centres.size)
    sums, theta = np.empty(2), np.empty(2)
    for row in range(correct.shape[0]):
        out[row, :] = np.nan
        kind = classify(correct[row], wrong[row])
        if kind == EMPTY:
            continue
        used = condense(x, correct[row], wrong[row], bins, centres, nodes, size, sums)
        fit_level(nodes[:used], size[:used], sums, kind, theta)
        out[row, 2] = theta[0]
        if kind == SEPARATED:
            fit_line_penalised(x, correct[row] + wrong[row], sums, theta)
        elif kind == ORDINARY:
            fit_line(nodes[:used], size[:used], sums, theta)
        else:
            continue
        out[row, 0], out[row, 1] = theta[1], theta[0]
