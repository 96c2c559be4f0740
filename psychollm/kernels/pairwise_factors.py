r"""Pairwise likelihood estimation of two or more factors from pair counts.

The correlation of a pair is :math:`\rho_{ij} = \lambda_i^\top \lambda_j` with loadings
:math:`\lambda_i \in R^m` of length below one. The likelihood is maximised as in
`kernels.pairwise_likelihood`, but over v in

.. math:: \lambda_i = \frac{\tanh |v_i|}{|v_i|}\, v_i , \qquad
          \frac{\partial \lambda_i}{\partial v_i} = \frac{\tanh r}{r} I +
          \Big(1 - \tanh^2 r - \frac{\tanh r}{r}\Big) \frac{v_i v_i^\top}{r^2},
          \quad r = |v_i|.                                                          \quad (1)

Equation (1) keeps communalities below one. A factor on which a single model loads changes no
correlation, so that its loading is not identified. The log-likelihood therefore has the penalty
:math:`|v_i|^2 / 2`, which counts as much as one question. The penalty shrinks unidentified
loadings to zero, and hardly changes other loadings. Rotations change neither likelihood nor
penalty; callers rotate to principal axes.

References
----------
Katsikatsou, M., Moustaki, I., Yang-Wallentin, F., & Jöreskog, K. G. (2012). Pairwise likelihood
estimation for factor analysis models with ordinal data. Computational Statistics & Data Analysis,
56(12), 4243-4258. https://doi.org/10.1016/j.csda.2012.04.010
"""

import math

import numpy as np

from psychollm.kernels._jit import njit
from psychollm.kernels.loops import dot
from psychollm.kernels.pairwise_likelihood import (
    CONVERGED,
    OUT_OF_STEPS,
    RIDGE,
    STALLED,
    Z_BOUND,
    pair_terms,
)
from psychollm.kernels.symmetric import cholesky_solve

SMALL = 1e-6
PENALTY = 1.0
ROUNDING = 1e-9
SECOND = 0.3
START_COMMUNALITY = 0.95


@njit
def loadings_of(v, loading, slope):
    """Fill loadings (k, m) and their derivatives (k, m, m) from v (k, m), by equation (1)."""
    k, m = v.shape
    for i in range(k):
        r = math.sqrt(dot(v[i], v[i]))
        t = math.tanh(r)
        along = t / r if r > SMALL else 1.0
        bend = (1.0 - t * t - along) / (r * r) if r > SMALL else 0.0
        for a in range(m):
            loading[i, a] = along * v[i, a]
            for b in range(m):
                slope[i, a, b] = bend * v[i, a] * v[i, b]
            slope[i, a, a] += along


@njit
def _penalty(v):
    """Return the penalty of v (k, m)."""
    total = 0.0
    for i in range(v.shape[0]):
        for a in range(v.shape[1]):
            total += v[i, a] * v[i, a]
    return 0.5 * PENALTY * total


@njit
def _add_pair(i, j, score, weight, terms, gradient, information):
    """Add score and information of pair (i, j) with respect to v_i and v_j."""
    loading, slope = terms
    m = loading.shape[1]
    di, dj = np.empty(m), np.empty(m)
    for a in range(m):
        di[a] = dj[a] = 0.0
        for b in range(m):
            di[a] += slope[i, a, b] * loading[j, b]
            dj[a] += slope[j, a, b] * loading[i, b]
    for a in range(m):
        row, column = i * m + a, j * m + a
        gradient[row] += score * di[a]
        gradient[column] += score * dj[a]
        for b in range(m):
            information[row, i * m + b] += weight * di[a] * di[b]
            information[column, j * m + b] += weight * dj[a] * dj[b]
            information[row, j * m + b] = weight * di[a] * dj[b]
            information[j * m + b, row] = weight * di[a] * dj[b]


@njit
def _evaluate(counts, tau, rate, v, terms, gradient, information):
    """Fill gradient and information with respect to v; return the penalised log-likelihood."""
    m = v.shape[1]
    loading, slope = terms  # (k, m) and (k, m, m), filled here
    loadings_of(v, loading, slope)
    information[:] = 0.0
    value = -_penalty(v)
    for p in range(gradient.size):
        gradient[p] = -PENALTY * v[p // m, p % m]
        information[p, p] = PENALTY
    for i in range(v.shape[0]):
        for j in range(i):
            if tau[i, j] == tau[i, j]:
                r = dot(loading[i], loading[j])
                term, score, weight = pair_terms(counts, tau, rate, i, j, r)
                value += term
                _add_pair(i, j, score, weight, terms, gradient, information)
    return value


@njit
def _proposal(v, gradient, information, damping, step, proposed):
    """Fill `proposed` with a damped scoring step from v; return its largest change."""
    k, m = v.shape
    matrix = information.copy()
    for p in range(k * m):
        matrix[p, p] = matrix[p, p] * (1.0 + damping) + RIDGE
    if not cholesky_solve(matrix, gradient, step):
        return -1.0
    largest = 0.0
    for i in range(k):
        length = 0.0
        for a in range(m):
            proposed[i, a] = v[i, a] + min(1.0, max(-1.0, step[i * m + a]))
            length += proposed[i, a] * proposed[i, a]
        shrink = min(1.0, Z_BOUND / max(math.sqrt(length), SMALL))
        for a in range(m):
            proposed[i, a] *= shrink
            largest = max(largest, abs(proposed[i, a] - v[i, a]))
    return largest


@njit
def fit_pairwise_factors(counts, tau, rate, loading, tolerance, max_steps):
    """Maximise the penalised likelihood from loadings (k, m), in place."""
    # Returns (value without the penalty, steps, status); `tolerance` bounds the last gain.
    k, m = loading.shape
    v, proposed, trial = np.empty((k, m)), np.empty((k, m)), np.empty((k, m))
    slope, step = np.empty((k, m, m)), np.empty(k * m)
    gradient, information = np.empty(k * m), np.empty((k * m, k * m))
    new_gradient, new_information = np.empty(k * m), np.empty((k * m, k * m))
    for i in range(k):
        length = math.sqrt(dot(loading[i], loading[i]))
        for a in range(m):
            v[i, a] = loading[i, a] * (math.atanh(length) / length if length > SMALL else 1.0)
    damping = 1e-3
    value = _evaluate(counts, tau, rate, v, (loading, slope), gradient, information)
    for taken in range(max_steps):
        change = _proposal(v, gradient, information, damping, step, proposed)
        better = -math.inf
        if change >= 0.0:
            better = _evaluate(
                counts, tau, rate, proposed, (trial, slope), new_gradient, new_information
            )
        gain = better - value
        if not gain >= -1e-10 * abs(value):
            damping = max(10.0 * damping, 1e-3)
            if damping > 1e9:
                return value + _penalty(v), taken, STALLED
            continue
        overshot = dot(new_gradient, step) < -0.5 * dot(gradient, step)
        damping = max(4.0 * damping, 0.1) if overshot else max(0.1 * damping, 1e-6)
        v, proposed, value = proposed, v, better
        for i in range(k):
            for a in range(m):
                loading[i, a] = trial[i, a]
        if abs(gain) < tolerance + ROUNDING * abs(value):
            return value + _penalty(v), taken + 1, CONVERGED
        gradient, new_gradient = new_gradient, gradient
        information, new_information = new_information, information
    return value + _penalty(v), max_steps, OUT_OF_STEPS


@njit
def add_factor(z, loading, wider):
    """Fill `wider` (k, m + 1) with loadings (k, m) and the first principal axis of z (k, k)."""
    k, m = loading.shape
    direction, image = np.empty(k), np.empty(k)
    squares = 0.0
    for i in range(k):
        direction[i] = 1.0 + 0.01 * i
        for j in range(k):
            squares += z[i, j] * z[i, j]
    shift = math.sqrt(squares)  # makes the largest eigenvalue the largest in absolute value
    for _ in range(200):
        for i in range(k):
            image[i] = shift * direction[i]
            for j in range(k):
                image[i] += z[i, j] * direction[j]
        length = math.sqrt(dot(image, image))
        for i in range(k):
            direction[i] = image[i] / length
    for i in range(k):
        second = SECOND * math.sqrt(float(k)) * direction[i]
        length = second * second
        for a in range(m):
            wider[i, a] = loading[i, a]
            length += loading[i, a] * loading[i, a]
        wider[i, m] = second
        if length > START_COMMUNALITY:
            for a in range(m + 1):
                wider[i, a] *= math.sqrt(START_COMMUNALITY / length)
