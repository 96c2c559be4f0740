r"""Centred scores of items at each node, for the missing information in Louis's identity.

At the nodes of `kernels.irt_multidimensional` the scores of an item are
:math:`s = r_j (\theta, 1)`, and the score of a correlation of abilities is
:math:`(\Phi^{-1}\theta\theta^\top\Phi^{-1} - \Phi^{-1})_{kl}`. The cross products of the rows

.. math:: \sqrt{f_u \pi_{uq}}\,(s_{uq} - \bar s_u)                                       \quad (1)

are the missing information, which is lost because the abilities are not observed.
"""

import numpy as np

from psychollm.kernels._jit import njit
from psychollm.kernels.irt_multidimensional import AT_ONCE, _climb, _heights, _nodes, _workspace


@njit
def score_rows(items, data, prior, rule, modes, rows):
    """Fill the rows of equation (1) for all patterns (patterns * Q, J' (m + 1) + correlations)."""
    # The arguments are those of `integrate`, with the `modes` that it computed. Only the first J'
    # of the padded items are used. The last columns are the scores of the correlations, if these
    # are parameters.
    yes, asked, frequency = data
    points, log_weights, n_nodes, stride = rule
    size, n_items = items[0].shape
    spare, width = log_weights.size - n_nodes + 1, rows.shape[1]
    used = (width - (size * (size - 1) // 2 if prior[2] else 0)) // (size + 1)
    work = _workspace(n_items)
    root = np.empty((size, size))
    shift, theta = np.empty((AT_ONCE, size)), np.empty((AT_ONCE, size))
    heights, share, mean = np.empty(AT_ONCE), np.empty(n_nodes), np.empty(width)
    for u in range(frequency.size):
        answers = (yes[u], asked[u])
        begin = (u * stride) % spare
        height, _ = _climb(modes[u], items, answers, prior, work, heights, root)
        total = 0.0
        for low in range(0, n_nodes, AT_ONCE):
            count = min(AT_ONCE, n_nodes - low)
            _nodes(begin + low, count, points, modes[u], root, shift, theta)
            _heights(count, theta, items, answers, prior, work, heights)
            for b in range(count):
                share[low + b] = np.exp(log_weights[begin + low + b] + heights[b] - height)
                total += share[low + b]
            start = u * n_nodes + low
            _scores(start, count, used, theta, work[3], rows)
            if prior[2]:
                _correlation_scores(start, count, used * (size + 1), theta, prior[0], rows)
        _standardise(u * n_nodes, share, total, frequency[u], mean, rows)


@njit
def _scores(start, count, used, theta, residual, rows):
    """Fill the scores of slopes and intercepts at a block of nodes."""
    size = theta.shape[1]
    for b in range(count):
        for j in range(used):
            for k in range(size):
                rows[start + b, j * (size + 1) + k] = residual[b, j] * theta[b, k]
            rows[start + b, j * (size + 1) + size] = residual[b, j]


@njit
def _correlation_scores(start, count, first, theta, precision, rows):
    """Fill the scores of correlations, pairs (1, 0), (2, 0), (2, 1), ..., at some nodes."""
    size = theta.shape[1]
    slant = np.empty(size)
    for b in range(count):
        for k in range(size):
            slant[k] = 0.0
            for i in range(size):
                slant[k] += precision[k, i] * theta[b, i]
        place = first
        for k in range(1, size):
            for i in range(k):
                rows[start + b, place] = slant[k] * slant[i] - precision[k, i]
                place += 1


@njit
def _standardise(start, share, total, frequency, mean, rows):
    """Centre a pattern's rows, and multiply each by the square root of its weight."""
    mean[:] = 0.0
    for q in range(share.size):
        for p in range(mean.size):
            mean[p] += share[q] / total * rows[start + q, p]
    for q in range(share.size):
        scale = np.sqrt(frequency * share[q] / total)
        for p in range(mean.size):
            rows[start + q, p] = scale * (rows[start + q, p] - mean[p])
