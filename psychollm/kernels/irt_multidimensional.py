r"""Integrals over several abilities, with nodes placed around the posterior of each pattern.

A pattern u of answers with items :math:`F(a_j^\top\theta + d_j)` and abilities
:math:`\theta \sim N(0, \Phi)` has the log joint density

.. math:: h_u(\theta) = \sum_{j\ \text{answered}} \log P_j(y_{uj} \mid \theta)
          - \tfrac12 \theta^\top \Phi^{-1} \theta - \tfrac12 \log|\Phi|.               \quad (1)

The log joint density is concave. With its mode :math:`\hat\theta_u` and a root :math:`L_u L_u^\top
= (-\nabla^2 h_u)^{-1}`, an integration rule with points :math:`t_q` and weights :math:`w_q` gives

.. math:: \ell_u = \log|L_u| + \log \sum_q w_q \exp h_u(\hat\theta_u + L_u t_q),       \quad (2)

and the same terms, normalised, are the posterior :math:`\pi_{uq}` at those nodes. With
:math:`r_j = \partial \log P_j / \partial z_j` and :math:`v_j = -\partial^2 \log P_j / \partial
z_j^2`, Fisher's identity gives the gradient, and the complete-data information follows:

.. math:: \frac{\partial \ell}{\partial (a_j, d_j)} = \sum_{uq} f_u \pi_{uq} r_{uqj} (\theta, 1),
          \qquad B_j = \sum_{uq} f_u \pi_{uq} v_{uqj} (\theta, 1)(\theta, 1)^\top,     \quad (3)

The innermost loops run over items, so that the compiler can vectorise them; the number of items is
padded to a multiple of eight with items that nobody answered.

References
----------
Liu, Q., & Pierce, D. A. (1994). A note on Gauss-Hermite quadrature. Biometrika, 81(3), 624-629.
https://doi.org/10.1093/biomet/81.3.624

Schilling, S., & Bock, R. D. (2005). High-dimensional maximum marginal likelihood item factor
analysis by adaptive quadrature. Psychometrika, 70(3), 533-555.
https://doi.org/10.1007/s11336-003-1141-x
"""

import numpy as np

from psychollm.kernels._jit import njit
from psychollm.kernels.exponential import exponentials
from psychollm.kernels.loops import copy_values
from psychollm.kernels.normal import normal_cdf

LOGIT, PROBIT = 0, 1
AT_ONCE = 32  # number of nodes processed together
BLOCK = 256  # number of factors, each in [1, 2], multiplied before the logarithm is taken
REACH = 37.0
TINY = 1e-300
SQRT_2PI = 2.5066282746310002
MODE_STEPS = 60
MODE_PRECISION = 1e-15  # largest squared Newton step at the mode, in units of the posterior's SD


@njit
def _predictors(count, theta, slopes, intercepts, z):
    """Fill z = a'theta + d (nodes, J) of the first `count` nodes."""
    for b in range(count):
        for j in range(intercepts.size):
            z[b, j] = intercepts[j]
        for k in range(slopes.shape[0]):
            value = theta[b, k]
            for j in range(intercepts.size):
                z[b, j] += value * slopes[k, j]


@njit
def _logistic(count, yes, asked, work, heights):
    """Fill r and v of equation (3), and the sums of log P, for the first `count` nodes."""
    z, x, flat, residual, weight = work
    n_items = yes.size
    for b in range(count):
        for j in range(n_items):
            x[b, j] = -abs(z[b, j])
    exponentials(flat[: count * n_items])
    for b in range(count):
        for j in range(n_items):
            large = 1.0 / (1.0 + x[b, j])
            small = x[b, j] * large
            chance = large if z[b, j] >= 0.0 else small
            residual[b, j] = yes[j] - asked[j] * chance
            weight[b, j] = asked[j] * small * large
            x[b, j] = 1.0 + asked[j] * x[b, j]
            z[b, j] = yes[j] * z[b, j] - asked[j] * max(z[b, j], 0.0)
    for b in range(count):
        total = 0.0
        for low in range(0, n_items, BLOCK):
            first, second, third, fourth = 0.0, 0.0, 0.0, 0.0
            one, two, three, four = 1.0, 1.0, 1.0, 1.0
            for j in range(low, min(low + BLOCK, n_items), 4):
                first += z[b, j]
                second += z[b, j + 1]
                third += z[b, j + 2]
                fourth += z[b, j + 3]
                one *= x[b, j]
                two *= x[b, j + 1]
                three *= x[b, j + 2]
                four *= x[b, j + 3]
            total += (first + second) + (third + fourth) - np.log((one * two) * (three * four))
        heights[b] = total


@njit
def _normal(count, yes, asked, work, heights):
    """Fill r and v of equation (3), and the sums of log P, for the normal ogive."""
    z, _, _, residual, weight = work
    for b in range(count):
        total = 0.0
        for j in range(yes.size):
            if asked[j] == 0.0:
                residual[b, j], weight[b, j] = 0.0, 0.0
                continue
            sign = 2.0 * yes[j] - 1.0
            x = min(max(sign * z[b, j], -REACH), REACH)
            chance = max(normal_cdf(x), TINY)
            ratio = np.exp(-0.5 * x * x) / (SQRT_2PI * chance)
            residual[b, j] = sign * ratio
            weight[b, j] = max(ratio * (ratio + x), 0.0)
            total += np.log(chance)
        heights[b] = total


@njit
def _factor(matrix, root):
    """Fill the lower Cholesky factor of a positive definite matrix; return log |root|."""
    size = matrix.shape[0]
    logarithm = 0.0
    for i in range(size):
        for k in range(i + 1):
            total = matrix[i, k]
            for p in range(k):
                total -= root[i, p] * root[k, p]
            if i == k:
                root[i, i] = np.sqrt(max(total, TINY))
                logarithm += np.log(root[i, i])
            else:
                root[i, k] = total / root[k, k]
    return logarithm


@njit
def _forward(root, values):
    """Solve root x = values in place."""
    for i in range(values.size):
        for k in range(i):
            values[i] -= root[i, k] * values[k]
        values[i] /= root[i, i]


@njit
def _backward(root, values):
    """Solve root' x = values in place."""
    for i in range(values.size - 1, -1, -1):
        for k in range(i + 1, values.size):
            values[i] -= root[k, i] * values[k]
        values[i] /= root[i, i]


@njit
def _heights(count, theta, items, answers, prior, work, heights):
    """Fill log joint densities, equation (1), at `count` rows of theta, and r and v in `work`."""
    slopes, intercepts, link = items
    yes, asked = answers
    precision, log_det, _ = prior
    _predictors(count, theta, slopes, intercepts, work[0])
    if link == LOGIT:
        _logistic(count, yes, asked, work, heights)
    else:
        _normal(count, yes, asked, work, heights)
    for b in range(count):
        total = log_det
        for k in range(slopes.shape[0]):
            for i in range(slopes.shape[0]):
                total += theta[b, k] * precision[k, i] * theta[b, i]
        heights[b] -= 0.5 * total


@njit
def _slope_and_curvature(theta, slopes, precision, work, gradient, curvature):
    """Fill the gradient and the negative second derivative of equation (1) at one point."""
    residual, weight = work[3], work[4]
    for k in range(slopes.shape[0]):
        total = 0.0
        for j in range(slopes.shape[1]):
            total += slopes[k, j] * residual[0, j]
        for i in range(slopes.shape[0]):
            total -= precision[k, i] * theta[0, i]
        gradient[k] = total
        for i in range(k + 1):
            total = precision[k, i]
            for j in range(slopes.shape[1]):
                total += slopes[k, j] * weight[0, j] * slopes[i, j]
            curvature[k, i] = total
            curvature[i, k] = total


@njit
def _climb(mode, items, answers, prior, work, heights, root):
    """Move `mode` to the maximum of equation (1); fill the Cholesky factor of the curvature."""
    # The function returns the maximum and the logarithm of the factor's determinant.
    size = mode.size
    gradient, step = np.empty(size), np.empty(size)
    theta, trial = np.empty((1, size)), np.empty((1, size))
    curvature = np.empty((size, size))
    copy_values(mode, theta[0])
    _heights(1, theta, items, answers, prior, work, heights)
    height, logarithm = heights[0], 0.0
    for _ in range(MODE_STEPS):
        _slope_and_curvature(theta, items[0], prior[0], work, gradient, curvature)
        logarithm = _factor(curvature, root)
        copy_values(gradient, step)
        _forward(root, step)
        decrement = 0.0
        for k in range(size):
            decrement += step[k] * step[k]
        if decrement <= MODE_PRECISION:
            break
        _backward(root, step)
        share = 1.0
        while True:
            for k in range(size):
                trial[0, k] = theta[0, k] + share * step[k]
            _heights(1, trial, items, answers, prior, work, heights)
            if heights[0] >= height - 1e-12 * abs(height) or share < 1e-6:
                break
            share *= 0.5
        copy_values(trial[0], theta[0])
        height = heights[0]
    copy_values(theta[0], mode)
    return height, logarithm


@njit
def _workspace(n_items):
    """Return arrays (nodes, J) for z, exp(-|z|), r and v, and a flat view of exp(-|z|)."""
    z, x = np.empty((AT_ONCE, n_items)), np.empty((AT_ONCE, n_items))
    residual = np.empty((AT_ONCE, n_items))
    flat = x.reshape(AT_ONCE * n_items)
    return (z, x, flat, residual, np.empty((AT_ONCE, n_items)))


@njit
def _nodes(low, count, points, mode, root, shift, theta):
    """Fill the distances root'^-1 t from the mode, and the nodes, starting at point `low`."""
    size = mode.size
    for b in range(count):
        for i in range(size - 1, -1, -1):
            total = points[low + b, i]
            for k in range(i + 1, size):
                total -= root[k, i] * shift[b, k]
            shift[b, i] = total / root[i, i]
        for k in range(size):
            theta[b, k] = mode[k] + shift[b, k]


@njit
def _add(count, share, theta, work, by, within):
    """Add the terms of a block of nodes in equation (3) to the sums of one pattern."""
    residual, weight = work[3], work[4]
    size, n_items = theta.shape[1], residual.shape[1]
    for b in range(count):
        place = 0
        for k in range(size + 1):
            outer = share[b] * theta[b, k] if k < size else share[b]
            for j in range(n_items):
                by[k, j] += outer * residual[b, j]
            for i in range(k + 1):
                both = outer * theta[b, i] if i < size else outer
                for j in range(n_items):
                    within[place, j] += both * weight[b, j]
                place += 1


@njit
def integrate(items, data, prior, rule, modes, moments, sums):
    """Fill log-likelihoods and moments of patterns (equation (2)) and the sums of equation (3)."""
    # `items`: slopes (m, J), intercepts (J,), link (0 logit, 1 probit).
    # `data`: yes (U, J) and answered (U, J) as 0 and 1, frequencies (U,).
    # `prior`: inverse (m, m) and log determinant of the abilities' correlation matrix, and whether
    # the correlations are parameters.
    # `rule`: points (P, m) and log weights (P,) of (2), the number Q of points that a pattern
    # uses, and the offset from one pattern's first point to the next pattern's (0: all use the
    # same points).
    # `modes` (U, m): starting values, overwritten with the modes.
    # `moments`, to fill: log-likelihoods (U,), means (U, m), covariances (U, m, m).
    # `sums`, to fill: gradient (m + 1, J), complete information (lower triangle of m + 1, J).
    yes, asked, frequency = data
    points, log_weights, n_nodes, stride = rule
    pattern, mean, covariance = moments
    gradient, information = sums
    gradient[:], information[:] = 0.0, 0.0
    size, n_items = items[0].shape
    spare = log_weights.size - n_nodes + 1
    work = _workspace(n_items)
    by, within = np.empty_like(gradient), np.empty_like(information)
    root = np.empty((size, size))
    shift, theta = np.empty((AT_ONCE, size)), np.empty((AT_ONCE, size))
    heights, share = np.empty(AT_ONCE), np.empty(AT_ONCE)
    for u in range(frequency.size):
        answers = (yes[u], asked[u])
        begin = (u * stride) % spare
        height, logarithm = _climb(modes[u], items, answers, prior, work, heights, root)
        by[:], within[:] = 0.0, 0.0
        mean[u], covariance[u] = 0.0, 0.0
        total = 0.0
        for low in range(0, n_nodes, AT_ONCE):
            count = min(AT_ONCE, n_nodes - low)
            _nodes(begin + low, count, points, modes[u], root, shift, theta)
            _heights(count, theta, items, answers, prior, work, heights)
            for b in range(count):
                share[b] = np.exp(log_weights[begin + low + b] + heights[b] - height)
                total += share[b]
                for k in range(size):
                    mean[u, k] += share[b] * shift[b, k]
                    for i in range(k + 1):
                        covariance[u, k, i] += share[b] * shift[b, k] * shift[b, i]
            _add(count, share, theta, work, by, within)
        pattern[u] = height + np.log(total) - logarithm
        _centre(total, modes[u], mean[u], covariance[u])
        factor = frequency[u] / total
        for k in range(by.shape[0]):
            for j in range(n_items):
                gradient[k, j] += factor * by[k, j]
        for k in range(within.shape[0]):
            for j in range(n_items):
                information[k, j] += factor * within[k, j]


@njit
def _centre(total, mode, mean, covariance):
    """Turn sums of distances from the mode into mean and covariance, in place."""
    for k in range(mean.size):
        mean[k] /= total
    for k in range(mean.size):
        for i in range(k + 1):
            covariance[k, i] = covariance[k, i] / total - mean[k] * mean[i]
            covariance[i, k] = covariance[k, i]
    for k in range(mean.size):
        mean[k] += mode[k]
