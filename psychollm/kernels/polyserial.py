r"""Polyserial correlation of a continuous score with the normal variable behind ordered answers.

Given a standardised score z, an answer a between the thresholds :math:`t_a, t_{a+1}` has the
probability

.. math:: P_a(z) = \Phi(v_{a+1}) - \Phi(v_a), \qquad v_c = (t_c - \rho z) / \sqrt{1 - \rho^2}.\;(1)

The estimate is the root of the score function in :math:`\rho`. In a first step, the thresholds are
computed from the answers' proportions, and the mean and standard deviation from the scores. With
:math:`D_c = \varphi(v_c)\,v'_c`, :math:`v'_c = (\rho t_c - z) / (1 - \rho^2)^{3/2}`, a unit
contributes

.. math:: \psi = \frac1{nI} \Big[\frac{D_{a+1} - D_a}{P_a}
          + \sum_c K_c \frac{1[a < c] - F_c}{\varphi(t_c)}
          + M z + \tfrac12 S (z^2 - 1)\Big]                                              \quad (2)

to the estimate. K are the derivatives of the mean score with respect to the thresholds, and M and
S are the derivatives with respect to the mean and the logarithm of the standard deviation of the
scores. The information I is the negative derivative of the mean score with respect to
:math:`\rho`. The derivatives of the mean score are computed by central differences. These
differences are cheap and accurate to ten digits.

References
----------
Olsson, U., Drasgow, F., & Dorans, N. J. (1982). The polyserial correlation coefficient.
Psychometrika, 47(3), 337-347. https://doi.org/10.1007/BF02294164
"""

import math

import numpy as np

from psychollm.kernels._jit import njit
from psychollm.kernels.bivariate import normal_interval
from psychollm.kernels.normal import normal_cdf, normal_pdf
from psychollm.kernels.tetrachoric import AT_BOUND, INTERIOR, newton_in_bracket

MAX_STEPS = 80
NEAR_BOUND = 1e-6
FLAT = 1e-10
SPACING = 6e-6


@njit
def _end(t, z, rho, spread):
    """Return v of equation (1), D (the density times v'), and the derivative dD / d rho."""
    if not math.isfinite(t):
        return t, 0.0, 0.0
    room = spread * spread
    v = (t - rho * z) / spread
    first = (rho * t - z) / (room * spread)
    second = (t + 3.0 * rho * (rho * t - z) / room) / (room * spread)
    density = normal_pdf(v)
    return v, density * first, density * (second - v * first * first)


@njit
def mean_score(z, codes, t, rho, shift, stretch):
    """Return the mean score function of rho and its derivative, at (z - shift) * stretch."""
    spread = math.sqrt((1.0 - rho) * (1.0 + rho))
    score = bend = 0.0
    for u in range(z.size):
        a = codes[u]
        x = (z[u] - shift) * stretch
        low, d_low, b_low = _end(t[a], x, rho, spread)
        high, d_high, b_high = _end(t[a + 1], x, rho, spread)
        p = max(normal_interval(low, high), 1e-300)
        ratio = (d_high - d_low) / p
        score += ratio
        bend += (b_high - b_low) / p - ratio * ratio
    return score / z.size, bend / z.size


@njit
def solve_serial(z, codes, t, start):
    """Maximise the likelihood over rho; return rho, steps, the last step in rho, status."""
    low, high = -0.5 * math.pi, 0.5 * math.pi
    w, steps, move = start, 0, 0.0
    while steps < MAX_STEPS:
        score, bend = mean_score(z, codes, t, math.sin(w), 0.0, 1.0)
        if abs(score) < FLAT and abs(bend) < FLAT:  # all answers have a probability near 1
            return (1.0 if w > 0.0 else -1.0), steps, 0.0, AT_BOUND
        w, low, high, move, last = newton_in_bracket(w, low, high, score, bend)
        steps += 1
        if last:
            break
        if abs(w) > 0.5 * math.pi - NEAR_BOUND:
            return (1.0 if w > 0.0 else -1.0), steps, 0.0, AT_BOUND
    return math.sin(w), steps, move * math.cos(w), INTERIOR


@njit
def serial_errors(z, codes, t, rho):
    """Return standard errors of rho, with thresholds, mean and SD estimated or known."""
    n = z.size
    information = -mean_score(z, codes, t, rho, 0.0, 1.0)[1]
    h = SPACING
    by_mean = mean_score(z, codes, t, rho, h, 1.0)[0] - mean_score(z, codes, t, rho, -h, 1.0)[0]
    by_size = mean_score(z, codes, t, rho, 0.0, math.exp(-h))[0]
    by_size -= mean_score(z, codes, t, rho, 0.0, math.exp(h))[0]
    by_mean, by_size = by_mean / (2.0 * h), by_size / (2.0 * h)
    pull, moved = np.zeros(t.size), t.copy()
    for c in range(1, t.size - 1):
        if math.isfinite(t[c]):
            moved[c] = t[c] + h
            up = mean_score(z, codes, moved, rho, 0.0, 1.0)[0]
            moved[c] = t[c] - h
            pull[c] = (up - mean_score(z, codes, moved, rho, 0.0, 1.0)[0]) / (2.0 * h)
            moved[c] = t[c]
    spread = math.sqrt((1.0 - rho) * (1.0 + rho))
    total = 0.0
    for u in range(n):
        a = codes[u]
        low, d_low, _ = _end(t[a], z[u], rho, spread)
        high, d_high, _ = _end(t[a + 1], z[u], rho, spread)
        part = (d_high - d_low) / max(normal_interval(low, high), 1e-300)
        part += by_mean * z[u] + 0.5 * by_size * (z[u] * z[u] - 1.0)
        for c in range(1, t.size - 1):
            if pull[c] != 0.0:
                below = normal_cdf(t[c])
                part += pull[c] * ((1.0 if a < c else 0.0) - below) / normal_pdf(t[c])
        total += part * part
    return math.sqrt(total) / (n * information), 1.0 / math.sqrt(n * information)


@njit
def correlate_serial(z, codes, t, start, out):
    """Fill `out` (5,): rho, both standard errors, the last step, status; return the steps."""
    rho, steps, left, status = solve_serial(z, codes, t, start)
    out[0], out[1], out[2], out[3], out[4] = rho, math.nan, math.nan, left, status
    if status == INTERIOR:
        out[1], out[2] = serial_errors(z, codes, t, rho)
    return steps
