r"""The answers of all models to a question, with its difficulty integrated out.

Cell (m, q) holds k right of n answers; with a standard normal z its log likelihood is
:math:`f_{kn}(a_m + \sigma z)`, where :math:`f = k \eta - n \log(1 + e^\eta)`, or comes from a
table on a regular grid: f and its first derivative by cubic Hermite polynomials, minus the
second by straight lines. Quadrature is done about the mode of each question,

.. math:: \log \int e^{F(z)} \varphi(z)\, dz \approx \log \sum_j \omega_j s\,
          e^{F(\hat z + s x_j) - (\hat z + s x_j)^2 / 2}, \qquad
          F(z) = \sum_m f(a_m + \sigma z), \quad
          s = \bigl(1 - F''(\hat z)\bigr)^{-1/2},                                        \quad (1)

where :math:`\omega_j` holds what makes it Gauss-Hermite quadrature. With :math:`\pi_j` the shares
of the nodes in (1) and :math:`r_{jm}` the slopes of f there, what is left for a product of
matrices are the columns :math:`\sqrt{\pi_j} (r_{jm} - \sum_i \pi_i r_{im})`.

Without a table a cell takes no exponential: its odds are :math:`e^{a_m}` times
:math:`e^{\sigma z}`.
"""

import math

import numpy as np

from psychollm.kernels._jit import njit

STEPS = 60
NEAR = 1e-4  # of the mode, in standard deviations a priori: nodes need be no nearer
FULL = 1e120  # of a product before its logarithm is taken
FARTHEST = 200.0  # logits: odds of e^400 times `FULL` are still a number


@njit
def question_integrals(level, cells, table, sd, z, rule, out):
    """Integrate every question, and add up the derivatives of the logarithms.

    Parameters
    ----------
    level : ndarray (models,)
    cells : tuple of ndarray (questions, models)
        Right answers, answers, and the row of the table for each (integers).
    table : tuple of ndarray (kinds, points, 3) and two floats
        f, its derivative and minus the second; the first point and the step. Without kinds the
        logarithm of binomial probabilities.
    sd : float
    z : ndarray (questions,)
        Where to look for modes; moved there.
    rule : tuple of ndarray (nodes,)
        x and the logarithms of omega.
    out : tuple of ndarray (questions,), (models,), (models,), (questions, nodes, models)
        Filled with the logarithms of (1), the sums of the mean slopes and of the means of minus
        the curvature, and the columns.
    """
    value, score, weight, columns = out
    x, log_omega = rule
    n_nodes, n_models = x.size, level.size
    log, share, mean = np.empty(n_nodes), np.empty(n_nodes), np.empty(n_models)
    slopes, bends = np.empty(n_models), np.empty((n_nodes, n_models))
    both = level, np.exp(np.minimum(np.maximum(level, -FARTHEST), FARTHEST))
    score[:] = 0.0
    weight[:] = 0.0
    for q in range(z.size):
        spread = _to_mode(both, cells, table, sd, z, (q, slopes, bends[0]))
        top = -math.inf
        for j in range(n_nodes):
            at = z[q] + spread * x[j]
            total = _question(both, cells, table, sd * at, q, columns[q, j], bends[j])
            log[j] = total - 0.5 * at * at + log_omega[j]
            top = max(top, log[j])
        total = 0.0
        for j in range(n_nodes):
            share[j] = math.exp(log[j] - top)
            total += share[j]
        value[q] = top + math.log(total * spread)
        mean[:] = 0.0
        for j in range(n_nodes):
            share[j] /= total
            for m in range(n_models):
                mean[m] += share[j] * columns[q, j, m]
                weight[m] += share[j] * bends[j, m]
        for j in range(n_nodes):
            root = math.sqrt(share[j])
            for m in range(n_models):
                columns[q, j, m] = root * (columns[q, j, m] - mean[m])
        for m in range(n_models):
            score[m] += mean[m]


@njit
def _to_mode(both, cells, table, sd, z, work):
    """Move z to the mode of one question; return s of (1)."""
    q, slopes, bends = work
    curvature = 1.0
    for _ in range(STEPS):
        _question(both, cells, table, sd * z[q], q, slopes, bends)
        slope, curvature = -z[q], 1.0
        for m in range(slopes.size):
            slope += sd * slopes[m]
            curvature += sd * sd * bends[m]
        step = slope / curvature
        z[q] += min(max(step, -1.0), 1.0)
        if abs(step) < NEAR:
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
        if n[m] <= 1.0:  # one logarithm for many cells
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
        place = min(max((level[m] + shift - first) / step, 0.0), last)
        left = int(place)
        t = place - left
        rest = 1.0 - t
        low, high = f[kind[m], left], f[kind[m], left + 1]
        up, down = rest * rest * (1.0 + 2.0 * t), t * t * (1.0 + 2.0 * rest)
        near, far = step * rest * rest * t, step * t * t * rest
        total += up * low[0] + near * low[1] + down * high[0] - far * high[1]
        slopes[m] = up * low[1] - near * low[2] + down * high[1] + far * high[2]
        bends[m] = rest * low[2] + t * high[2]
    return total
