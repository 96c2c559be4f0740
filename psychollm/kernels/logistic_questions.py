r"""Likelihoods of all models' answers to a question, with its difficulty integrated out.

In cell (m, q), k of n answers are correct; with a standard normal z its log likelihood is
:math:`f_{kn}(a_m + \sigma z)`. The function f is either :math:`k \eta - n \log(1 + e^\eta)`, or
tabulated on a regular grid. For table values, f and its first derivative are interpolated by cubic
Hermite polynomials, and minus the second derivative is interpolated linearly; beyond the table, f
is extrapolated linearly. With a point :math:`\hat z` near the mode of each question and

.. math:: F(z) = \sum_m f(a_m + \sigma z), \quad s = \bigl(1 - F''(\hat z)\bigr)^{-1/2}, \quad
          h = \bigl((0.83 / s)^2 + (1.2\, \sigma)^2\bigr)^{-1/2},                       \quad (1)

the trapezoid rule gives

.. math:: \log \int e^{F(z)} \varphi(z)\, dz \approx \log \frac{h}{\sqrt{2 \pi}}
          \sum_j e^{F(z_j) - z_j^2 / 2}, \qquad z_j = \hat z + j h,                      \quad (2)

where nodes extend to both sides until the integrand, which is log-concave, has fallen to 2e-6 of
its maximum. The error decreases exponentially with 1 / h once h is small compared with the width s
of the peak and with the distance :math:`\pi / \sigma` of the logistic function's poles from the
real axis. Nodes need not be centred on the mode. Newton's method therefore ends where its step
would be shorter than 0.2 s, and this point is the central node. A quadrature rule based only on
the peak fails if all answers are the same and :math:`\sigma` is large, because the integrand then
resembles one half of a normal density. Let :math:`\pi_j` be the weights of the nodes in equation
(2), and :math:`r_{jm}` the slopes of f at the nodes. A later matrix product uses the columns
:math:`\sqrt{\pi_j} (r_{jm} - \sum_i \pi_i r_{im})`.

Without a table of f, the odds of a cell are the product of :math:`e^{a_m}` and
:math:`e^{\sigma z}`, so no exponential is computed per cell.
"""

import math

import numpy as np

from psychollm.kernels._jit import njit

STEPS = 60
NEAR = 0.2  # largest distance of the central node from the mode, in units of s
PER_WIDTH, PER_LOGIT = 0.83, 1.2  # numbers of nodes per s and per logit; their squares are added
DROP = 13.0  # decrease of the log integrand beyond which it is negligible
# distance at which a normal log density has decreased by DROP; no integrand is wider
FAR = math.sqrt(2.0 * DROP)
ROOT = math.sqrt(2.0 * math.pi)
FULL = 1e120  # largest product before its logarithm is taken
LEVEL, ODDS, HITS, N, KIND, SLOPE, BEND = range(7)  # rows of the cells of a question
FARTHEST = 200.0  # largest level and largest shift in logits; odds of e^400 are finite


@njit
def question_integrals(level, cells, table, sd, z, first, out):
    """Integrate the likelihoods of questions from `first` on; add derivatives of log-likelihoods.

    Parameters
    ----------
    level : ndarray (models,)
    cells : tuple of ndarray (questions, models)
        Numbers of correct answers and of answers, and the row of the table for each cell
        (integers).
    table : tuple of ndarray (kinds, points, 3) and two floats
        The function f, its first derivative and minus its second derivative; the first point and
        the step of the grid. If the table is empty, f is computed as the logarithm of binomial
        probabilities.
    sd : float
    z : ndarray (questions,)
        Starting values of the modes, overwritten with better values.
    first : int
    out : tuple of ndarray (questions,), (models,), (models,), (rows, models)
        The first array is filled with the logarithms in equation (2), and the last array with the
        columns. The mean slopes are added to the second array, and the mean negative curvatures to
        the third.

    Returns
    -------
    tuple of int
        Index of the first question that was not integrated because too few rows were left, and
        number of rows used. One question uses at most 2 FAR / h + 2 rows.
    """
    value, score, weight, columns = out
    n_models = level.size
    share, mean, all_bends = np.empty(len(columns)), np.empty(n_models), np.empty(n_models)
    # All data on the cells of a question are stored in one array, because Numba counts the
    # references to each array that is passed on.
    own = np.empty((7, n_models))
    for m in range(n_models):
        own[LEVEL, m] = level[m]
        own[ODDS, m] = math.exp(min(max(level[m], -FARTHEST), FARTHEST))
    row = 0
    for q in range(first, z.size):
        for m in range(n_models):
            own[HITS, m], own[N, m], own[KIND, m] = cells[0][q, m], cells[1][q, m], cells[2][q, m]
        known = _constant_terms(own)
        centre, top, spread = _near_mode(own, table, known, sd, z[q])
        step = node_distance(spread, sd)
        if row + 2.0 * FAR / step + 2.0 > len(columns):
            return q, row
        start, total = row, 1.0
        share[row] = 1.0
        slope = -centre
        for m in range(n_models):
            columns[row, m] = mean[m] = own[SLOPE, m]
            all_bends[m] = own[BEND, m]
            slope += sd * own[SLOPE, m]
        z[q] = centre + min(max(spread * spread * slope, -1.0), 1.0)
        row += 1
        for side in (1.0, -1.0):
            j = 1.0
            while j * step <= FAR:
                at = centre + side * j * step
                log = _question(own, table, known, sd * at) - 0.5 * at * at
                share[row] = math.exp(log - top)
                total += share[row]
                for m in range(n_models):
                    columns[row, m] = own[SLOPE, m]
                    mean[m] += share[row] * own[SLOPE, m]
                    all_bends[m] += share[row] * own[BEND, m]
                j += 1.0
                if log < top - DROP:  # the column of this node is negligible
                    break
                row += 1
        value[q] = top + math.log(total * step / ROOT)
        for m in range(n_models):
            mean[m] /= total
            score[m] += mean[m]
            weight[m] += all_bends[m] / total
        for j in range(start, row):
            root = math.sqrt(share[j] / total)
            for m in range(n_models):
                columns[j, m] = root * (columns[j, m] - mean[m])
    return z.size, row


@njit
def node_distance(spread, sd):
    """Return h of equation (1)."""
    return 1.0 / math.hypot(PER_WIDTH / spread, PER_LOGIT * sd)


@njit
def _near_mode(own, table, known, sd, at):
    """Evaluate a question near its mode; return point, log integrand and s of equation (1)."""
    before, low, high, near = math.inf, -math.inf, math.inf, False
    for left in range(STEPS, 0, -1):
        log = _question(own, table, known, sd * at) - 0.5 * at * at
        slope, curvature = -at, 1.0
        for m in range(own.shape[1]):
            slope += sd * own[SLOPE, m]
            curvature += sd * sd * own[BEND, m]
        if near or left == 1:
            break
        if slope > 0.0:
            low = at
        else:
            high = at
        # If sd is large, the slope is nearly a step function, and Newton's method would oscillate.
        step = min(max(slope / curvature, -1.0), 1.0)
        if high - low < math.inf and not (abs(step) < 0.5 * before and low <= at + step <= high):
            step = 0.5 * (low + high) - at
        at += step
        before = abs(step)
        near = step * step * curvature < NEAR * NEAR
    return at, log, 1.0 / math.sqrt(curvature)


@njit
def _question(own, table, known, shift):
    """Fill slopes and curvatures of one question's cells; return the sum of f."""
    if table[0].shape[0] > 0:
        return _tabulated(own, table, shift)
    shift = min(max(shift, -FARTHEST), FARTHEST)
    return known[0] + known[1] * shift - _plain(own, math.exp(shift), known[2])


@njit
def _constant_terms(own):
    """Return the sum of k a, the sum of k, and the largest n."""
    total, hits, most = 0.0, 0.0, 0.0
    for m in range(own.shape[1]):
        total += own[HITS, m] * own[LEVEL, m]
        hits += own[HITS, m]
        most = max(most, own[N, m])
    return total, hits, most


@njit
def _plain(own, factor, most):
    """Fill slopes and curvatures; return the sum of n log(1 + e^eta)."""
    total, size = math.inf, own.shape[1]
    if most <= 1.0:  # take one logarithm for the product of many cells
        for m in range(size):
            own[BEND, m] = 1.0 + own[N, m] * own[ODDS, m] * factor
        total, product = 0.0, 1.0
        for m in range(0, size, 4):
            if m + 4 <= size:
                product *= (own[BEND, m] * own[BEND, m + 1]) * (
                    own[BEND, m + 2] * own[BEND, m + 3]
                )
            else:
                for rest in range(m, size):
                    product *= own[BEND, rest]
            if product > FULL:
                total += math.log(product)
                product = 1.0
        total += math.log(product)
    if total == math.inf:  # several answers to a cell, or an overflow
        total = 0.0
        for m in range(size):
            total += own[N, m] * math.log1p(own[ODDS, m] * factor)
    for m in range(size):
        wrong = 1.0 / (1.0 + own[ODDS, m] * factor)
        right = 1.0 - wrong
        own[SLOPE, m] = own[HITS, m] - own[N, m] * right
        own[BEND, m] = own[N, m] * right * wrong
    return total


@njit
def _tabulated(own, table, shift):
    f, first, step = table
    last = f.shape[1] - 1.000001
    total = 0.0
    for m in range(own.shape[1]):
        there = (own[LEVEL, m] + shift - first) / step
        place = min(max(there, 0.0), last)
        left, kind = int(place), int(own[KIND, m])
        t = place - left
        rest = 1.0 - t
        low, high = f[kind, left], f[kind, left + 1]
        up, down = rest * rest * (1.0 + 2.0 * t), t * t * (1.0 + 2.0 * rest)
        near, far = step * rest * rest * t, step * t * t * rest
        total += up * low[0] + near * low[1] + down * high[0] - far * high[1]
        own[SLOPE, m] = up * low[1] - near * low[2] + down * high[1] + far * high[2]
        own[BEND, m] = rest * low[2] + t * high[2]
        if there != place:  # extrapolate beyond the table
            total += step * (there - place) * own[SLOPE, m]
            own[BEND, m] = 0.0
    return total
