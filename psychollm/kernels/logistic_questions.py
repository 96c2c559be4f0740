r"""Likelihoods of all models' answers to a question, with its difficulty integrated out.

In cell (m, q), k of n answers are correct; with a standard normal z its log likelihood is
:math:`f_{kn}(a_m + \sigma z)`. Either :math:`f = k \eta - n \log(1 + e^\eta)`, or f comes from a
table on a regular grid. In the table, f and its first derivative are interpolated by cubic Hermite
polynomials, and minus the second derivative is interpolated linearly; beyond the table, f is
extrapolated linearly. With the mode :math:`\hat z` of each question and

.. math:: F(z) = \sum_m f(a_m + \sigma z), \quad s = \bigl(1 - F''(\hat z)\bigr)^{-1/2}, \quad
          h = \min(0.9\, s,\; 0.7 / \sigma),                                            \quad (1)

the trapezoid rule gives

.. math:: \log \int e^{F(z)} \varphi(z)\, dz \approx \log \frac{h}{\sqrt{2 \pi}}
          \sum_j e^{F(z_j) - z_j^2 / 2}, \qquad z_j = \hat z + j h,                      \quad (2)

where nodes extend to both sides until the integrand, which is log-concave, has fallen to 1e-7 of
its maximum. The error decreases exponentially with 1 / h once h is small compared with the width s
of the peak and with the distance :math:`\pi / \sigma` of the logistic function's poles from the
real axis. A quadrature rule based only on the peak fails where all answers are equal and
:math:`\sigma` is large, because the integrand is then half of a normal density. With :math:`\pi_j`
the weights of the nodes in (2) and :math:`r_{jm}` the slopes of f at the nodes, a later matrix
product needs the columns :math:`\sqrt{\pi_j} (r_{jm} - \sum_i \pi_i r_{im})`.

Without a table, no exponential is computed per cell, because the odds of a cell are
:math:`e^{a_m}` times :math:`e^{\sigma z}`.
"""

import math

import numpy as np

from psychollm.kernels._jit import njit

STEPS = 60
NEAR = 1e-4  # tolerance of the mode in prior standard deviations; nodes need no more accuracy
NARROW, STEP = 0.9, 0.7  # largest distances between nodes: in units of s, and in logits
DROP = 16.0  # decrease of the log integrand beyond which it is negligible
# distance at which a normal log density has decreased by DROP; no integrand is wider
FAR = math.sqrt(2.0 * DROP)
ROOT = math.sqrt(2.0 * math.pi)
FULL = 1e120  # largest product before its logarithm is taken
FARTHEST = 200.0  # largest logit; odds of e^400 times `FULL` are still finite


@njit
def question_integrals(level, cells, table, sd, z, first, out):
    """Integrate the likelihoods of questions from `first` on; add the derivatives of their logs.

    Parameters
    ----------
    level : ndarray (models,)
    cells : tuple of ndarray (questions, models)
        Numbers of correct answers and of answers, and the row of the table for each cell
        (integers).
    table : tuple of ndarray (kinds, points, 3) and two floats
        f, its first derivative and minus its second derivative; the first point and the step of
        the grid. If the table has no kinds, f is the logarithm of binomial probabilities.
    sd : float
    z : ndarray (questions,)
        Starting values of the modes, overwritten with the modes.
    first : int
    out : tuple of ndarray (questions,), (models,), (models,), (rows, models)
        The first array is filled with the logarithms of (2), and the last with the columns. The
        mean slopes are added to the second array, and the mean negative curvatures to the third.

    Returns
    -------
    tuple of int
        The first question that was not integrated, because no rows were left for its columns, and
        the number of rows used. One question uses at most 2 FAR / h + 2 rows.
    """
    value, score, weight, columns = out
    n_models = level.size
    share, mean = np.empty(len(columns)), np.empty(n_models)
    bends, all_bends = np.empty(n_models), np.empty(n_models)
    both = level, np.exp(np.minimum(np.maximum(level, -FARTHEST), FARTHEST))
    row = 0
    for q in range(first, z.size):
        spread = _to_mode(both, cells, table, sd, z, (q, mean, bends))
        step = min(NARROW * spread, STEP / max(sd, STEP))
        if row + 2.0 * FAR / step + 2.0 > len(columns):
            return q, row
        start, total, top = row, 0.0, 0.0
        mean[:] = 0.0
        all_bends[:] = 0.0
        for side in (1.0, -1.0):
            j = 0.0 if side > 0.0 else 1.0
            while j * step <= FAR:
                at = z[q] + side * j * step
                log = _question(both, cells, table, sd * at, q, columns[row], bends)
                log -= 0.5 * at * at
                if j == 0.0:
                    top = log
                share[row] = math.exp(log - top)
                total += share[row]
                for m in range(n_models):
                    mean[m] += share[row] * columns[row, m]
                    all_bends[m] += share[row] * bends[m]
                row += 1
                j += 1.0
                if log < top - DROP:
                    break
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
def _to_mode(both, cells, table, sd, z, work):
    """Move z to the mode of one question; return s of (1)."""
    q, slopes, bends = work
    curvature, before, low, high = 1.0, math.inf, -math.inf, math.inf
    for _ in range(STEPS):
        _question(both, cells, table, sd * z[q], q, slopes, bends)
        slope, curvature = -z[q], 1.0
        for m in range(slopes.size):
            slope += sd * slopes[m]
            curvature += sd * sd * bends[m]
        if slope > 0.0:
            low = z[q]
        else:
            high = z[q]
        # If sd is large, the slope is nearly a step function, and Newton's method would oscillate.
        step = min(max(slope / curvature, -1.0), 1.0)
        if high - low < math.inf and not (abs(step) < 0.5 * before and low <= z[q] + step <= high):
            step = 0.5 * (low + high) - z[q]
        z[q] += step
        before = abs(step)
        if before < NEAR:
            break
    return 1.0 / math.sqrt(curvature)


@njit
def _question(both, cells, table, shift, q, slopes, bends):
    """Fill slopes and curvatures of one question's cells; return the sum of f."""
    if table[0].shape[0] == 0:
        return _plain(both, cells[0][q], cells[1][q], shift, slopes, bends)
    return _tabulated(both[0], cells[2][q], table, shift, slopes, bends)


@njit
def _plain(both, hits, n, shift, slopes, bends):
    level, odds = both
    shift = min(max(shift, -FARTHEST), FARTHEST)
    factor = math.exp(shift)
    for m in range(level.size):
        ahead = odds[m] * factor
        wrong = 1.0 / (1.0 + ahead)
        right = ahead * wrong
        slopes[m] = hits[m] - n[m] * right
        bends[m] = n[m] * right * wrong
    total, product = 0.0, 1.0
    for m in range(level.size):
        ahead = odds[m] * factor
        total += hits[m] * (level[m] + shift)
        if n[m] <= 1.0:  # take one logarithm for the product of many cells
            product *= 1.0 + n[m] * ahead
            if product > FULL:
                total -= math.log(product)
                product = 1.0
        else:
            total -= n[m] * math.log1p(ahead)
    return total - math.log(product)


@njit
def _tabulated(level, kind, table, shift, slopes, bends):
    f, first, step = table
    last = f.shape[1] - 1.000001
    total = 0.0
    for m in range(level.size):
        there = (level[m] + shift - first) / step
        place = min(max(there, 0.0), last)
        left = int(place)
        t = place - left
        rest = 1.0 - t
        low, high = f[kind[m], left], f[kind[m], left + 1]
        up, down = rest * rest * (1.0 + 2.0 * t), t * t * (1.0 + 2.0 * rest)
        near, far = step * rest * rest * t, step * t * t * rest
        total += up * low[0] + near * low[1] + down * high[0] - far * high[1]
        slopes[m] = up * low[1] - near * low[2] + down * high[1] + far * high[2]
        bends[m] = rest * low[2] + t * high[2]
        if there != place:  # extrapolate beyond the table
            total += step * (there - place) * slopes[m]
            bends[m] = 0.0
    return total
