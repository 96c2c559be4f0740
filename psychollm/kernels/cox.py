r"""Logistic recalibration of confidence by maximum likelihood, from counts of answers.

Let x be the logit of confidence, n_g the number of answers at x_g, S_0 the number of correct
answers and S_1 the sum of x over the correct answers. The log likelihood is

.. math:: \ell(a, b) = a S_0 + b S_1 - \sum_g n_g \ln\left(1 + e^{a + b x_g}\right)
                       + \tfrac12 \ln\det I(a, b),                                        \quad (1)

where the last term is Firth's penalty, which is used only if correct and wrong answers are
separated. Outcomes enter only through S_0 and S_1, and the sum over g is an integral over the
distribution of x. If there are many distinct confidences, x is divided into narrow bins. Each bin
is replaced by two nodes with the same moments up to the third (Gauss quadrature). A resample then
takes one pass over the answers and a few passes over the nodes.

A confidence bound of a coefficient is the value v at which the likelihood, maximised over the
other coefficient, has decreased so far that

.. math:: \sqrt{2 \left(\ell(\hat a, \hat b) - \max \ell(\cdot, v)\right)} = z,           \quad (2)

with z the normal quantile. The root of the deviance is nearly linear in v, so that the secant
method needs few evaluations; a bracket prevents divergence. If the penalised likelihood was
maximised, bounds are computed from this likelihood in the same way (Heinze & Schemper 2002).

References
----------
Cox, D. R. (1958). Two further applications of a model for binary regression. Biometrika, 45,
562-565.

Firth, D. (1993). Bias reduction of maximum likelihood estimates. Biometrika, 80, 27-38.

Heinze, G., & Schemper, M. (2002). A solution to the problem of separation in logistic regression.
Statistics in Medicine, 21, 2409-2419. https://doi.org/10.1002/sim.1047
"""

import math

import numpy as np

from psychollm._base.types import FloatArray, IntArray
from psychollm.kernels._jit import njit

# The sets of free coefficients are, in this order: both, the intercept only, the slope only, none.
LINE, INTERCEPT, SLOPE, FIXED = 0, 1, 2, 3
# The three penalties apply, in this order, to no coefficient, to the intercept only, and to both
# coefficients.
NO_PENALTY, PENALTY_INTERCEPT, PENALTY_LINE = 0, 1, 2
# `classify` returns one of the following values.
EMPTY, ONE_CLASS, ONE_VALUE, SEPARATED, ORDINARY = 0, 1, 2, 3, 4

# Newton's method stops when the gain of a step, in units of (1), is below the tolerance. The error
# after the step is of the order of the squared gain.
_TOLERANCE = 1e-9
_TOLERANCE_PENALISED = 1e-18
_SHORT = 1e-4
_LONGEST = 4.0  # longest step of an intercept; Newton steps overshoot at extreme probabilities
_MAX_ITERATIONS = 100
_MAX_HALVINGS = 40
_NO_SPREAD = 1e-12
_LEAST_SPREAD = 1e-3


@njit
def _first(counts, start, end, step):
    """Return the first index from `start` in direction `step` with a positive count, or `end`."""
    g = start
    while g != end and not counts[g] > 0.0:
        g += step
    return g


@njit
def classify(correct, wrong):
    """Return the kind of a tally, such as `SEPARATED`; its groups are sorted by confidence."""
    # A tally is separated if some confidence has no wrong answer above it and no correct one below
    # it, or vice versa.
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
def _sums(x, n, a, b, totals):
    """Fill sums over g of softplus(eta), p, p x, w, w x and w x^2, with w = p (1 - p)."""
    totals[:] = 0.0
    for g in range(x.size):
        eta = a + b * x[g]
        e = math.exp(-abs(eta))
        p = 1.0 / (1.0 + e) if eta >= 0.0 else e / (1.0 + e)
        w = n[g] * e / ((1.0 + e) * (1.0 + e))
        totals[0] += n[g] * (max(eta, 0.0) + math.log1p(e))
        totals[1] += n[g] * p
        totals[2] += n[g] * p * x[g]
        totals[3] += w
        totals[4] += w * x[g]
        totals[5] += w * x[g] * x[g]


@njit
def _add_penalty(x, n, a, b, penalty, totals, at):
    """Add Firth's term to the value and the gradient (d/da, d/db) in `at` (3,)."""
    i00, i01, i11 = totals[3], totals[4], totals[5]
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
def evaluate(data, theta, penalty, totals, at):
    """Fill `at` (3,) with equation (1) and its gradient, and `totals` (6,) by `_sums`."""
    # `data` are x, n and (S_0, S_1).
    x, n, sums = data
    _sums(x, n, theta[0], theta[1], totals)
    at[0] = theta[0] * sums[0] + theta[1] * sums[1] - totals[0]
    at[1] = sums[0] - totals[1]
    at[2] = sums[1] - totals[2]
    if penalty != NO_PENALTY:
        _add_penalty(x, n, theta[0], theta[1], penalty, totals, at)


@njit
def _newton_step(totals, at, free, step):
    """Fill `step` (2,) with the Newton step over the free coefficients; return its gain."""
    i00, i01, i11 = totals[3], totals[4], totals[5]
    step[:] = 0.0
    if free == LINE:
        det = i00 * i11 - i01 * i01
        step[0] = (i11 * at[1] - i01 * at[2]) / det
        step[1] = (i00 * at[2] - i01 * at[1]) / det
    elif free == INTERCEPT:
        step[0] = min(max(at[1] / i00, -_LONGEST), _LONGEST)
    elif free == SLOPE:
        step[1] = at[2] / i11
    return step[0] * at[1] + step[1] * at[2]


@njit
def maximise(data, theta, free, penalty):
    """Maximise equation (1) over `theta` (2,) = (a, b) in place, and return the maximum."""
    # The maximum is found by Newton's method; a long step that lowers the objective is halved.
    # Without the penalty, the method converges quadratically, so the objective is not evaluated
    # again after the last step. With the penalty, the step ignores the penalty's curvature, and
    # convergence is linear.
    totals, at, step = np.empty(6), np.empty(3), np.empty(2)
    tolerance = _TOLERANCE if penalty == NO_PENALTY else _TOLERANCE_PENALISED
    evaluate(data, theta, penalty, totals, at)
    gain = _newton_step(totals, at, free, step)
    for _ in range(_MAX_ITERATIONS):
        if not gain > tolerance:
            break
        start_a, start_b, start = theta[0], theta[1], at[0]
        for _ in range(_MAX_HALVINGS):
            theta[0], theta[1] = start_a + step[0], start_b + step[1]
            evaluate(data, theta, penalty, totals, at)
            if at[0] >= start or gain < _SHORT:
                break
            step *= 0.5
        gain = _newton_step(totals, at, free, step)
    if gain > 0.0:
        theta += step
        at[0] += 0.5 * gain
    return at[0]


@njit
def _put_nodes(moments, centre, nodes, k):
    """Write a bin's nodes at index k, given moments about its centre; return the next index."""
    m0, m1, m2, m3 = moments
    if m0 <= 0.0:
        return k
    mean = m1 / m0
    variance = m2 / m0 - mean * mean
    if variance <= _NO_SPREAD:
        nodes[0, k], nodes[1, k] = centre + mean, m0
        return k + 1
    third = m3 / m0 - 3.0 * mean * m2 / m0 + 2.0 * mean * mean * mean
    half = 0.5 * third / variance
    radius = math.sqrt(half * half + variance)
    nodes[0, k] = centre + mean + half - radius
    nodes[0, k + 1] = centre + mean + half + radius
    nodes[1, k] = m0 * 0.5 * (radius + half) / radius
    nodes[1, k + 1] = m0 - nodes[1, k]
    return k + 2


@njit
def condense(x, correct, wrong, bins, centres, nodes, sums):
    """Replace each bin by up to two nodes, fill `nodes` (2, .), and return how many are used."""
    # Bin k holds the groups from `bins[k]` to `bins[k + 1] - 1` around `centres[k]`. `sums` (2,)
    # receives S_0 and S_1.
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
        k = _put_nodes((m0, m1, m2, m3), centres[b], nodes, k)
    return k


@njit
def _start_line(data, theta):
    """Set `theta` to the line that is exact if x is normal with equal variance in both classes."""
    x, n, (hits, hits_x) = data[0], data[1], (data[2][0], data[2][1])
    total, sum_x, sum_xx = 0.0, 0.0, 0.0
    for k in range(x.size):
        total += n[k]
        sum_x += n[k] * x[k]
        sum_xx += n[k] * x[k] * x[k]
    up, down = hits_x / hits, (sum_x - hits_x) / (total - hits)
    share = hits / total
    spread = sum_xx / total - share * up * up - (1.0 - share) * down * down
    theta[1] = (up - down) / max(spread, _LEAST_SPREAD * (sum_xx / total + 1.0))
    theta[0] = math.log(hits / (total - hits)) - 0.5 * theta[1] * (up + down)


@njit
def fit_line(data, kind, theta):
    """Fill `theta` = (a, b) with intercept and slope; `kind` must be ordinary or separated."""
    if kind == SEPARATED:
        theta[0], theta[1] = 0.0, 0.0
        return maximise(data, theta, LINE, PENALTY_LINE)
    _start_line(data, theta)
    return maximise(data, theta, LINE, NO_PENALTY)


@njit
def fit_level(data, kind, theta):
    """Fill `theta` = (a, 1) with the intercept given a slope of one; `kind` must not be empty."""
    theta[0], theta[1] = 0.0, 1.0
    return maximise(data, theta, INTERCEPT, PENALTY_INTERCEPT if kind == ONE_CLASS else NO_PENALTY)


@njit
def recalibrations(
    x: FloatArray,
    bins: IntArray,
    centres: FloatArray,
    correct: FloatArray,
    wrong: FloatArray,
    out: FloatArray,
) -> None:
    """Fill `out` (resamples, 3) with slope, intercept, and intercept given a slope of one."""
    # Slope and intercept are NaN where a resample has only one class or one confidence; all three
    # are NaN where it has no answers. Where correct and wrong answers are separated, Firth's
    # estimates are used, and the line is fitted to all groups instead of nodes.
    nodes, sums, theta = np.empty((2, 2 * centres.size)), np.empty(2), np.empty(2)
    for row in range(correct.shape[0]):
        out[row, :] = np.nan
        kind = classify(correct[row], wrong[row])
        if kind == EMPTY:
            continue
        used = condense(x, correct[row], wrong[row], bins, centres, nodes, sums)
        data = (nodes[0, :used], nodes[1, :used], sums)
        fit_level(data, kind, theta)
        out[row, 2] = theta[0]
        if kind == SEPARATED:
            fit_line((x, correct[row] + wrong[row], sums), kind, theta)
        elif kind == ORDINARY:
            fit_line(data, kind, theta)
        else:
            continue
        out[row, 0], out[row, 1] = theta[1], theta[0]


_MAX_STEPS = 60
_ROOT_TOLERANCE = 1e-9


@njit
def _bound(data, best, top, which, others, penalty, reach):
    """Return the bound of coefficient `which`, equation (2), maximised over `others`."""
    # `reach` is a pair: the signed distance from the estimate to the bound (computed as if the
    # profile were a parabola), and z.
    step, z = reach
    theta = best.copy()
    near, near_root = 0.0, 0.0  # distance at which the root of the deviance is below z
    far = math.inf  # distance at which the root of the deviance is above z
    move = step
    for _ in range(_MAX_STEPS):
        theta[which] = best[which] + move
        fall = top - maximise(data, theta, others, penalty)
        root = math.sqrt(max(2.0 * fall, 0.0))
        if abs(root - z) < _ROOT_TOLERANCE:
            break
        slope = (root - near_root) / (move - near)
        if root > z:
            far = move
        else:
            near, near_root = move, root
        guess = move + (z - root) / slope
        if not abs(near) < abs(guess) < abs(far):
            guess = 2.0 * near + step if math.isinf(far) else 0.5 * (near + far)
        move = guess
    return best[which] + move


@njit
def _bounds(data, best, top, which, others, penalty, row):
    """Fill both bounds in `row` (value, standard error, bounds); on input, `row[2]` is z."""
    z = row[2]
    row[2] = _bound(data, best, top, which, others, penalty, (-z * row[1], z))
    row[3] = _bound(data, best, top, which, others, penalty, (z * row[1], z))


@njit
def _level(data, kind, row):
    """Fill `row` with the estimate and bounds of the intercept for a slope fixed at one."""
    theta, totals = np.empty(2), np.empty(6)
    top = fit_level(data, kind, theta)
    evaluate(data, theta, NO_PENALTY, totals, np.empty(3))
    row[0], row[1] = theta[0], 1.0 / math.sqrt(totals[3])
    penalty = PENALTY_INTERCEPT if kind == ONE_CLASS else NO_PENALTY
    _bounds(data, theta, top, 0, FIXED, penalty, row)


@njit
def _line(data, kind, slope, intercept):
    """Fill slope and intercept; return the likelihood ratio statistic for intercept 0, slope 1."""
    theta, totals, at = np.empty(2), np.empty(6), np.empty(3)
    penalty = PENALTY_LINE if kind == SEPARATED else NO_PENALTY
    top = fit_line(data, kind, theta)
    evaluate(data, theta, NO_PENALTY, totals, at)
    det = totals[3] * totals[5] - totals[4] * totals[4]
    intercept[0], intercept[1] = theta[0], math.sqrt(totals[5] / det)
    slope[0], slope[1] = theta[1], math.sqrt(totals[3] / det)
    _bounds(data, theta, top, 0, SLOPE, penalty, intercept)
    _bounds(data, theta, top, 1, INTERCEPT, penalty, slope)
    evaluate(data, np.array([0.0, 1.0]), penalty, totals, at)
    return 2.0 * (top - at[0])


@njit
def recalibration_inference(
    x: FloatArray,
    correct: FloatArray,
    wrong: FloatArray,
    z: float,
    out: FloatArray,
    deviance: FloatArray,
) -> None:
    """Fill `out` (3, 4): value, standard error, lower and upper bound at the normal quantile z."""
    # The rows are slope, intercept, and intercept given a slope of one; `deviance` (1,) is twice
    # the increase of the log likelihood from (0, 1) to the fitted line. Undefined values are NaN.
    out[:] = np.nan
    deviance[0] = np.nan
    kind = classify(correct, wrong)
    if kind == EMPTY:
        return
    out[:, 2] = z
    data = (x, correct + wrong, np.array([correct.sum(), (correct * x).sum()]))
    _level(data, kind, out[2])
    if kind in (SEPARATED, ORDINARY):
        deviance[0] = _line(data, kind, out[0], out[1])
    else:
        out[:2] = np.nan
