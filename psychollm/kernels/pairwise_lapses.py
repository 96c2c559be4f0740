r"""Pairwise likelihood estimation of loadings and asymptotes (lapses) from pair counts.

A model answers yes with probability :math:`c + (1 - c - e)\,\Phi(u)`, where c and e are the
probabilities that it answers yes or no regardless of the question. With yes rates p,
:math:`w = 1 - c - e` and :math:`\pi = (p - c)/w`, both models of a pair answer yes with
probability

.. math:: P_{ij} = p_i p_j + w_i w_j \big(\Phi_2(x_i, x_j; \lambda_i^\top \lambda_j)
                   - \pi_i \pi_j\big), \qquad x = \Phi^{-1}(\pi),                     \quad (1)

so that the margins equal the observed margins. As in `kernels.pairwise_likelihood`, all four cells
differ from their expectation by the same count d. With :math:`H = \sum_c 1/P_c`, the score of any
parameter is therefore H d times the derivative of :math:`P_{ij}`, and the information is n H times
the product of two derivatives. The derivatives with respect to c and e are

.. math:: \frac{\partial P_{ij}}{\partial c_i} = -w_j (\Phi_2 - \pi_i\pi_j)
          - w_j (1 - \pi_i)(g_{ij} - \pi_j), \qquad
          \frac{\partial P_{ij}}{\partial e_i} = -w_j (\Phi_2 - \pi_i\pi_j)
          + w_j \pi_i (g_{ij} - \pi_j),                                               \quad (2)

with :math:`g_{ij} = P(y_j < x_j \mid y_i = x_i)`. Pair counts alone carry little information to
distinguish asymptotes from a second factor. Asymptotes therefore have half-normal priors, with
scales estimated from complete answer patterns.
"""

import math

import numpy as np

from psychollm.kernels._jit import njit
from psychollm.kernels.bivariate import bvn_pdf
from psychollm.kernels.discordance import FLOOR, pair_cells
from psychollm.kernels.loops import copy_rows, dot
from psychollm.kernels.normal import normal_cdf, normal_quantile
from psychollm.kernels.pairwise_factors import PENALTY, ROUNDING, loadings_of
from psychollm.kernels.pairwise_likelihood import (
    CONVERGED,
    HALF_COUNT,
    OUT_OF_STEPS,
    RIDGE,
    STALLED,
    Z_BOUND,
)
from psychollm.kernels.symmetric import cholesky_solve

EDGE = 1e-4  # smallest proportion of yes or of no after lapses are removed
LARGEST = 0.45  # bound of an asymptote
SMALL = 1e-6


@njit
def lapse_pair(pa, pb, a, b, r):
    """Return P11 of equation (1), and its derivatives in r and in (c, e) of both models."""
    # pa and pb are the yes rates of the two models; a and b are their pairs (c, e).
    wa, wb = 1.0 - a[0] - a[1], 1.0 - b[0] - b[1]
    qa = min(1.0 - EDGE, max(EDGE, (pa - a[0]) / wa))
    qb = min(1.0 - EDGE, max(EDGE, (pb - b[0]) / wb))
    xa, xb = normal_quantile(qa), normal_quantile(qb)
    excess = pair_cells(-xa, -xb, qa, qb, r)[0] - qa * qb
    rest = math.sqrt(1.0 - r * r)
    ga = normal_cdf((xb - r * xa) / rest) - qb
    gb = normal_cdf((xa - r * xb) / rest) - qa
    return (
        pa * pb + wa * wb * excess,
        wa * wb * bvn_pdf(xa, xb, r),
        -wb * (excess + (1.0 - qa) * ga),
        -wb * (excess - qa * ga),
        -wa * (excess + (1.0 - qb) * gb),
        -wa * (excess - qb * gb),
    )


@njit
def _log(count, p):
    return count * math.log(p) if count > 0.0 else 0.0


@njit
def _evaluate(counts, rate, x, scales, terms, gradient, information):
    """Fill gradient and information in x = (v, c, e); return the penalised log-likelihood."""
    # x (k, m + 2): transformed loadings as in `kernels.pairwise_factors`, then (c, e).
    joint, yes, n = counts
    loading, slope = terms
    k, m = loading.shape
    width = m + 2
    loadings_of(x[:, :m].copy(), loading, slope)
    gradient[:], information[:] = 0.0, 0.0
    value = 0.0
    for p in range(k * width):
        i, a = p // width, p % width
        precision = PENALTY if a < m else 1.0 / scales[i, a - m] ** 2
        value -= 0.5 * precision * x[i, a] * x[i, a]
        gradient[p] -= precision * x[i, a]
        information[p, p] += precision
    di, dj = np.empty(width), np.empty(width)
    for i in range(k):
        for j in range(i):
            if not (0.0 < rate[i, j] < 1.0 and 0.0 < rate[j, i] < 1.0):
                continue
            r = 0.0
            for a in range(m):
                r += loading[i, a] * loading[j, a]
            p11, by_r, di[m], di[m + 1], dj[m], dj[m + 1] = lapse_pair(
                rate[i, j], rate[j, i], x[i, m:], x[j, m:], r
            )
            p11 = max(p11, FLOOR)
            p10, p01 = max(rate[i, j] - p11, FLOOR), max(rate[j, i] - p11, FLOOR)
            p00 = max(1.0 - rate[i, j] - rate[j, i] + p11, FLOOR)
            n11 = joint[i, j]
            n10, n01 = yes[i, j] - n11, yes[j, i] - n11
            value += _log(n11, p11) + _log(n10, p10) + _log(n01, p01)
            value += _log(n[i, j] - n11 - n10 - n01, p00)
            spread = 1.0 / p11 + 1.0 / p10 + 1.0 / p01 + 1.0 / p00
            score, weight = spread * (n11 - n[i, j] * p11), n[i, j] * spread
            for a in range(m):
                di[a], dj[a] = 0.0, 0.0
                for b in range(m):
                    di[a] += by_r * slope[i, a, b] * loading[j, b]
                    dj[a] += by_r * slope[j, a, b] * loading[i, b]
            for a in range(width):
                row, column = i * width + a, j * width + a
                gradient[row] += score * di[a]
                gradient[column] += score * dj[a]
                for b in range(width):
                    information[row, i * width + b] += weight * di[a] * di[b]
                    information[column, j * width + b] += weight * dj[a] * dj[b]
                    information[row, j * width + b] = weight * di[a] * dj[b]
                    information[j * width + b, row] = weight * di[a] * dj[b]
    return value


@njit
def _proposal(x, m, gradient, information, damping, step, proposed):
    """Fill `proposed` with a damped scoring step from x within the bounds."""
    width = x.shape[1]
    matrix, slope = information.copy(), gradient.copy()
    for p in range(slope.size):
        value = x[p // width, p % width]
        if p % width >= m and value <= 0.0 and slope[p] < 0.0:  # an asymptote that stays at zero
            matrix[p, :], matrix[:, p], slope[p] = 0.0, 0.0, 0.0
        matrix[p, p] = matrix[p, p] * (1.0 + damping) + RIDGE
    if not cholesky_solve(matrix, slope, step):
        return False
    for i in range(x.shape[0]):
        length = 0.0
        for a in range(m):
            proposed[i, a] = x[i, a] + min(1.0, max(-1.0, step[i * width + a]))
            length += proposed[i, a] * proposed[i, a]
        shrink = min(1.0, Z_BOUND / max(math.sqrt(length), SMALL))
        for a in range(m):
            proposed[i, a] *= shrink
        for a in range(m, width):
            proposed[i, a] = min(LARGEST, max(0.0, x[i, a] + step[i * width + a]))
    return True


@njit
def fit_pairwise_lapses(counts, rate, loading, lapses, scales, tolerance, max_steps):
    """Maximise the penalised likelihood from loadings (k, m) and lapses (k, 2), in place."""
    # `scales` (k, 2) are the scales of the half-normal priors; `tolerance` bounds the last gain.
    # Returns (value with the penalties, steps, status).
    k, m = loading.shape
    size = k * (m + 2)
    x, proposed = np.empty((k, m + 2)), np.empty((k, m + 2))
    slope, step, trial = np.empty((k, m, m)), np.empty(size), loading.copy()
    gradient, information = np.empty(size), np.empty((size, size))
    new_gradient, new_information = np.empty(size), np.empty((size, size))
    for i in range(k):
        length = math.sqrt(dot(loading[i], loading[i]))
        for a in range(m):
            x[i, a] = loading[i, a] * (math.atanh(length) / length if length > SMALL else 1.0)
        x[i, m], x[i, m + 1] = lapses[i, 0], lapses[i, 1]
    damping = 1e-3
    value = _evaluate(counts, rate, x, scales, (loading, slope), gradient, information)
    for taken in range(max_steps):
        better = -math.inf
        if _proposal(x, m, gradient, information, damping, step, proposed):
            better = _evaluate(
                counts, rate, proposed, scales, (trial, slope), new_gradient, new_information
            )
        gain = better - value
        if not gain >= -1e-10 * abs(value):
            damping = max(10.0 * damping, 1e-3)
            if damping > 1e9:
                return value, taken, STALLED
            continue
        damping = max(0.1 * damping, 1e-6)
        x, proposed, value = proposed, x, better
        copy_rows(trial, loading)
        copy_rows(x[:, m:], lapses)
        if abs(gain) < tolerance + ROUNDING * abs(value):
            return value, taken + 1, CONVERGED
        gradient, new_gradient = new_gradient, gradient
        information, new_information = new_information, information
    return value, max_steps, OUT_OF_STEPS


@njit
def lapse_residuals(counts, rate, loading, lapses, expected, z):
    """Fill joint yes rates of equation (1) and standardised residuals (k, k) at loadings (k,)."""
    # Residuals are (3) of `kernels.pairwise_likelihood`, and zero where a pair is uninformative.
    joint, _, n = counts
    expected[:], z[:] = 0.0, 0.0
    for i in range(loading.size):
        for j in range(i):
            p, q = rate[i, j], rate[j, i]
            if not (0.0 < p < 1.0 and 0.0 < q < 1.0):
                continue
            p11 = lapse_pair(p, q, lapses[i], lapses[j], loading[i] * loading[j])[0]
            p11 = max(p11, FLOOR)
            p10, p01, p00 = max(p - p11, FLOOR), max(q - p11, FLOOR), max(1.0 - p - q + p11, FLOOR)
            variance = n[i, j] / (1.0 / p11 + 1.0 / p10 + 1.0 / p01 + 1.0 / p00)
            expected[i, j] = expected[j, i] = p11
            z[i, j] = z[j, i] = (joint[i, j] - n[i, j] * p11) / math.sqrt(variance + HALF_COUNT)
