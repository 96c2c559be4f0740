r"""Two-step pairwise (composite) likelihood estimation of the factor model from pair counts.

In the first step, thresholds are fixed at the observed margins of each pair. In the second step,
the loadings maximise

.. math:: \ell(\lambda) = \sum_{i<j} \sum_{c} n_c \log P_c(\tau_i, \tau_j, \lambda_i\lambda_j)
                                                                                   \quad (1)

where c runs over the four cells of every pair. An empty cell has no term, so that it needs no
continuity correction. With d the observed minus the expected number of joint yes answers,
:math:`\phi_2` the bivariate density and :math:`H = \sum_c 1/P_c`, the score and the expected
information of a pair about its correlation are

.. math:: s = \phi_2 H d, \qquad I = n \phi_2^2 H,                                 \quad (2)

because all four cells differ from their expectation by the same count d. Each pair is thus
weighted by its information, and pairs with extreme thresholds have little weight. Fisher scoring
works with :math:`z = \mathrm{artanh}\,\lambda` and is damped (Levenberg-Marquardt) where a step
would not increase the likelihood. Loadings are bounded at :math:`|\lambda| = 0.9995`; a loading
whose estimate would be 1 stays at this bound and is flagged.

Given both margins, a joint count has variance :math:`n/H`. The standardised residual of a joint
count is

.. math:: z_{ij} = \frac{n_{11} - n P_{11}}{\sqrt{n/H_{ij} + 1/2}}, \qquad z_{ii} = 0,   \quad (3)

where the added 1/2 limits the residual of a single answer in a cell with expectation near zero.

References
----------
Katsikatsou, M., Moustaki, I., Yang-Wallentin, F., & Jöreskog, K. G. (2012). Pairwise likelihood
estimation for factor analysis models with ordinal data. Computational Statistics & Data
Analysis, 56(12), 4243-4258. https://doi.org/10.1016/j.csda.2012.04.010
"""

import math

import numpy as np

from psychollm.kernels._jit import njit
from psychollm.kernels.bivariate import bvn_pdf
from psychollm.kernels.discordance import pair_cells
from psychollm.kernels.loops import dot
from psychollm.kernels.symmetric import cholesky_solve
from psychollm.kernels.tetrachoric import fill_thresholds, pair_thresholds

BOUND = 0.9995
Z_BOUND = math.atanh(BOUND)
START_BOUND = 0.95
RIDGE = 1e-9
HALF_COUNT = 0.5
# At the bound, z can change without changing the likelihood, which also counts as convergence.
ROUNDING, LEVEL_CHANGE = 1e-13, 1e-3
SLACK = 1e-7  # largest relative decrease of the value in a step, as a multiple of the tolerance
CONVERGED, STALLED, OUT_OF_STEPS = 0, 1, 2


@njit
def pair_margins(yes, n, tau, rate):
    """Fill tau[i, j] and rate[i, j]: threshold and yes rate of i where i and j both answered."""
    # Both thresholds are NaN where the pair is uninformative: the two models have no question in
    # common, or the answers of one are constant.
    k = yes.shape[0]
    own, own_yes, own_n = np.empty(k), np.empty(k), np.empty(k)
    for i in range(k):
        own_yes[i], own_n[i] = yes[i, i], n[i, i]
    fill_thresholds(own_yes, own_n, own)
    for i in range(k):
        tau[i, i], rate[i, i] = own[i], yes[i, i] / n[i, i]
        for j in range(i):
            a, b = pair_thresholds(yes, n, own, i, j)
            if not (math.isfinite(a) and math.isfinite(b)):
                a = b = math.nan
            tau[i, j], tau[j, i] = a, b
            rate[i, j], rate[j, i] = yes[i, j] / n[i, j], yes[j, i] / n[i, j]


@njit
def _log_cells(n11, n10, n01, n00, p):
    """Sum n log P over the cells with observations."""
    total = 0.0
    if n11 > 0.0:
        total += n11 * math.log(p[0])
    if n10 > 0.0:
        total += n10 * math.log(p[1])
    if n01 > 0.0:
        total += n01 * math.log(p[2])
    if n00 > 0.0:
        total += n00 * math.log(p[3])
    return total


@njit
def pair_terms(counts, tau, rate, i, j, r):
    """Return log-likelihood, score and information of pair (i, j) at correlation r."""
    joint, yes, n = counts
    p = pair_cells(tau[i, j], tau[j, i], rate[i, j], rate[j, i], r)
    n11 = joint[i, j]
    n10, n01 = yes[i, j] - n11, yes[j, i] - n11
    value = _log_cells(n11, n10, n01, n[i, j] - n11 - n10 - n01, p)
    density = bvn_pdf(tau[i, j], tau[j, i], r)
    spread = 1.0 / p[0] + 1.0 / p[1] + 1.0 / p[2] + 1.0 / p[3]
    score = density * spread * (n11 - n[i, j] * p[0])
    return value, score, n[i, j] * density * density * spread


@njit
def evaluate(counts, tau, rate, z, loading, gradient, information):
    """Fill gradient and information with respect to z; return the log-likelihood, equation (1)."""
    k = z.size
    value = 0.0
    gradient[:] = 0.0
    information[:] = 0.0
    for i in range(k):
        loading[i] = math.tanh(z[i])
        for j in range(i):
            if tau[i, j] != tau[i, j]:
                continue
            r = loading[i] * loading[j]
            term, score, weight = pair_terms(counts, tau, rate, i, j, r)
            value += term
            di = (1.0 - loading[i] * loading[i]) * loading[j]
            dj = (1.0 - loading[j] * loading[j]) * loading[i]
            gradient[i] += score * di
            gradient[j] += score * dj
            information[i, i] += weight * di * di
            information[j, j] += weight * dj * dj
            information[i, j] = information[j, i] = weight * di * dj
    return value


@njit
def _freeze_at_bound(z, gradient, information):
    """Exclude loadings at the bound from the step if the gradient points beyond the bound."""
    for i in range(z.size):
        if abs(z[i]) >= Z_BOUND and gradient[i] * z[i] > 0.0:
            information[i, :] = 0.0
            information[:, i] = 0.0
            gradient[i] = 0.0


@njit
def _proposal(z, gradient, information, damping, step, proposed):
    """Fill `proposed` with a damped scoring step from z; return its largest change."""
    k = z.size
    matrix = information.copy()
    for i in range(k):
        matrix[i, i] = matrix[i, i] * (1.0 + damping) + RIDGE
    if not cholesky_solve(matrix, gradient, step):
        return -1.0
    largest = 0.0
    for i in range(k):
        move = min(1.0, max(-1.0, step[i]))
        proposed[i] = min(Z_BOUND, max(-Z_BOUND, z[i] + move))
        largest = max(largest, abs(proposed[i] - z[i]))
    return largest


@njit
def fit_pairwise(counts, tau, rate, loading, tolerance, max_steps):
    """Maximise equation (1) over loadings, in place; return (value, steps, status)."""
    # `counts` is (joint, yes, n), each (k, k). `tolerance` bounds the last change of z.
    k = loading.size
    z, proposed, trial, step = np.empty(k), np.empty(k), np.empty(k), np.empty(k)
    for i in range(k):
        z[i] = math.atanh(loading[i])
    gradient, information = np.empty(k), np.empty((k, k))
    new_gradient, new_information = np.empty(k), np.empty((k, k))
    damping = 1e-6
    value = evaluate(counts, tau, rate, z, loading, gradient, information)
    _freeze_at_bound(z, gradient, information)
    for taken in range(max_steps):
        change = _proposal(z, gradient, information, damping, step, proposed)
        better = -math.inf
        if change >= 0.0:
            better = evaluate(counts, tau, rate, proposed, trial, new_gradient, new_information)
        if not better >= value - SLACK * tolerance * abs(value):
            damping = max(10.0 * damping, 1e-3)
            if damping > 1e12:
                return value, taken, STALLED
            continue
        # If the expected information is half of the observed information, steps overshoot and
        # oscillate.
        overshot = dot(new_gradient, step) < -0.5 * dot(gradient, step)
        damping = max(4.0 * damping, 0.1) if overshot else max(0.1 * damping, 1e-6)
        level = better <= value + ROUNDING * abs(value)
        z, proposed, value = proposed, z, better
        for i in range(k):
            loading[i] = trial[i]
        if change < tolerance or (level and change < LEVEL_CHANGE):
            return value, taken + 1, CONVERGED
        gradient, new_gradient = new_gradient, gradient
        information, new_information = new_information, information
        _freeze_at_bound(z, gradient, information)
    return value, max_steps, OUT_OF_STEPS


@njit
def start_loadings(counts, tau, loading):
    """Fill the first principal axis of Digby's correlations, with 1/2 added to each cell."""
    # Digby, P. G. N. (1983). Approximating the tetrachoric correlation coefficient. Biometrics,
    # 39(3), 753-757. https://doi.org/10.2307/2531104
    joint, yes, n = counts
    k = loading.size
    R, direction, image = np.empty((k, k)), np.empty(k), np.empty(k)
    for i in range(k):
        R[i, i] = 1.0
        # unequal entries, because equal entries could be orthogonal to the result
        direction[i] = 1.0 + 0.01 * i
        for j in range(i):
            R[i, j] = R[j, i] = 0.0
            if tau[i, j] == tau[i, j]:
                n11 = joint[i, j] + 0.5
                n10, n01 = yes[i, j] - n11 + 1.0, yes[j, i] - n11 + 1.0
                n00 = n[i, j] + 2.0 - n11 - n10 - n01
                odds = (n11 * n00 / (n10 * n01)) ** 0.75
                R[i, j] = R[j, i] = (odds - 1.0) / (odds + 1.0)
    length = 1.0
    for _ in range(50):
        for i in range(k):
            image[i] = dot(R[i], direction)
        length = math.sqrt(dot(image, image))
        for i in range(k):
            direction[i] = image[i] / length
    for i in range(k):
        first = direction[i] * math.sqrt(length)
        loading[i] = min(START_BOUND, max(-START_BOUND, first))


@njit
def residuals(counts, tau, rate, loading, z):
    """Fill the residuals (k, k) of equation (3) at `loading`; zero for uninformative pairs."""
    joint, _, n = counts
    for i in range(loading.shape[0]):
        z[i, i] = 0.0
        for j in range(i):
            z[i, j] = z[j, i] = 0.0
            if tau[i, j] != tau[i, j]:
                continue
            r = 0.0
            for a in range(loading.shape[1]):
                r += loading[i, a] * loading[j, a]
            p = pair_cells(tau[i, j], tau[j, i], rate[i, j], rate[j, i], r)
            variance = n[i, j] / (1.0 / p[0] + 1.0 / p[1] + 1.0 / p[2] + 1.0 / p[3])
            d = joint[i, j] - n[i, j] * p[0]
            z[i, j] = z[j, i] = d / math.sqrt(variance + HALF_COUNT)


@njit
def pair_weights(tau, rate, loading, weight, density, joint):
    """Fill phi2 H, phi2 and P11 (k, k); zero on the diagonal and for uninformative pairs."""
    weight[:], density[:], joint[:] = 0.0, 0.0, 0.0
    for i in range(loading.size):
        for j in range(i):
            if tau[i, j] == tau[i, j]:
                r = loading[i] * loading[j]
                p = pair_cells(tau[i, j], tau[j, i], rate[i, j], rate[j, i], r)
                spread = 1.0 / p[0] + 1.0 / p[1] + 1.0 / p[2] + 1.0 / p[3]
                density[i, j] = density[j, i] = bvn_pdf(tau[i, j], tau[j, i], r)
                weight[i, j] = weight[j, i] = density[i, j] * spread
                joint[i, j] = joint[j, i] = p[0]
