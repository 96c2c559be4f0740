r"""Likelihoods and scores of binary items, with separate integration nodes for each respondent.

Respondent i has nodes :math:`\theta_{iq}` around the mode of its ability's posterior. At each
node, an item with slope a and intercept d adds to the respondent's log-likelihood

.. math:: y_{ij} z_{ijq} - \log(1 + e^{z_{ijq}}), \qquad
          z_{ijq} = a_j \theta_{iq} + d_j.                                               \quad (1)

The first term is linear in the node, and needs only the sums of :math:`y a` and :math:`y d` for
each respondent. For the second term, the factors :math:`1 + e^z` are multiplied, and a logarithm
is taken only when a product becomes large. With the weights :math:`w_{iq}` of the posterior, an
item's part of the gradient and of the information about (a, d) is

.. math:: \sum_{iq} w_{iq} (y_{ij} - p_{ijq}) (\theta_{iq}, 1), \qquad
          \sum_{iq} w_{iq} p_{ijq} (1 - p_{ijq}) (\theta_{iq}, 1)(\theta_{iq}, 1)^\top.   \quad (2)

All values of a respondent are stored in one row, because the respondents who answered an item are
not adjacent in memory. The item's cells are copied to a buffer, where the compiler can vectorise
the loops; `kernels.exponential` computes the exponentials.
"""

import numpy as np

from psychollm.kernels._jit import njit
from psychollm.kernels.exponential import exponentials

CHUNK = 512  # number of cells in a buffer, which must fit into the cache
HIGHEST = 300.0  # bound of z, divided by the number of points, to keep products of exp(z) finite
LONGEST = 1.5  # largest change of a parameter in one scoring step
AGAIN = 0.5  # a step longer than this is followed by another in the same data pass
MOST_STEPS = 80
RIDGE = 1e-8
LARGE = 1e150  # above this, the logarithm of a product is taken; one more factor keeps it finite


@njit
def add_likelihood(cells, slope, intercept, rows, logs):
    """Add items' terms of equation (1) to respondents' products and sums, for S parameter sets."""
    # slope and intercept (S, J); rows (N, 2 K + 2): nodes, products, and the two sums; logs (N, K)
    # collects the logarithms of products that became large.
    start, columns, codes = cells
    n_nodes = logs.shape[1]
    size = CHUNK * n_nodes
    theta, factor, buffer = np.empty(size), np.empty(size), np.empty(size)
    highest, furthest = HIGHEST / slope.shape[0], np.abs(rows[:, :n_nodes]).max()
    for j in range(slope.shape[1]):
        if np.isnan(slope[0, j]):  # skip items that are not in this fit
            continue
        slopes, intercepts = slope[:, j].sum(), intercept[:, j].sum()
        for low in range(start[j], start[j + 1], CHUNK):
            n = min(CHUNK, start[j + 1] - low)
            for c in range(n):
                i = columns[low + c]
                for q in range(n_nodes):
                    theta[c * n_nodes + q] = rows[i, q]
            size = n * n_nodes
            factor[:size] = 1.0
            for s in range(slope.shape[0]):
                a, d = slope[s, j], intercept[s, j]
                for k in range(size):
                    buffer[k] = min(a * theta[k] + d, highest)
                exponentials(buffer[:size])
                for k in range(size):
                    factor[k] *= 1.0 + buffer[k]
                if abs(a) * furthest + abs(d) > highest:  # z may exceed `highest`; add the excess
                    for k in range(size):
                        i = columns[low + k // n_nodes]
                        logs[i, k % n_nodes] += max(a * theta[k] + d - highest, 0.0)
            for c in range(n):
                i, yes = columns[low + c], float(codes[low + c])
                rows[i, 2 * n_nodes] += yes * slopes
                rows[i, 2 * n_nodes + 1] += yes * intercepts
                largest = 0.0
                for q in range(n_nodes):
                    grown = rows[i, n_nodes + q] * factor[c * n_nodes + q]
                    rows[i, n_nodes + q] = grown
                    largest = max(largest, grown)
                if largest > LARGE:
                    for q in range(n_nodes):
                        logs[i, q] += np.log(rows[i, n_nodes + q])
                        rows[i, n_nodes + q] = 1.0


@njit
def item_scores(cells, slope, intercept, rows, curved, score, information):
    """Fill the gradients (S, J, 2) and information (S, J, 3: aa, ad, dd) of equation (2)."""
    # slope and intercept (S, J); rows (N, 2 K + 1): nodes, weights, mean of the posterior.
    # Information is computed only if `curved` is true.
    start, columns, codes = cells
    n_nodes, n_points = rows.shape[1] // 2, slope.shape[0]
    size = CHUNK * n_nodes
    theta, weight, buffer, spread = np.empty(size), np.empty(size), np.empty(size), np.empty(size)
    lanes = np.empty((n_points, 5, 8))
    score[:], information[:] = 0.0, 0.0
    for j in range(slope.shape[1]):
        if np.isnan(slope[0, j]):
            continue
        yes, yes_ability = 0.0, 0.0
        lanes[:] = 0.0
        for low in range(start[j], start[j + 1], CHUNK):
            n = min(CHUNK, start[j + 1] - low)
            for c in range(n):
                i, code = columns[low + c], float(codes[low + c])
                yes += code
                yes_ability += code * rows[i, 2 * n_nodes]
                for q in range(n_nodes):
                    theta[c * n_nodes + q] = rows[i, q]
                    weight[c * n_nodes + q] = rows[i, n_nodes + q]
            size = n * n_nodes
            whole = -(-size // 8) * 8
            theta[size:whole], weight[size:whole] = 0.0, 0.0
            for s in range(n_points):
                a, d = slope[s, j], intercept[s, j]
                for k in range(whole):
                    buffer[k] = min(-(a * theta[k] + d), HIGHEST)
                exponentials(buffer[:whole])
                if curved:
                    for k in range(whole):
                        chance = 1.0 / (1.0 + buffer[k])
                        buffer[k] = weight[k] * chance
                        spread[k] = buffer[k] * (1.0 - chance)
                    _add_lanes(theta[:whole], spread[:whole], lanes[s, 2:])
                    _add_product(theta[:whole], spread[:whole], lanes[s, 4])
                else:
                    for k in range(whole):
                        buffer[k] = weight[k] / (1.0 + buffer[k])
                _add_lanes(theta[:whole], buffer[:whole], lanes[s])
        for s in range(n_points):
            score[s, j, 0] = yes_ability - lanes[s, 1].sum()
            score[s, j, 1] = yes - lanes[s, 0].sum()
            for k in range(3):
                information[s, j, k] = lanes[s, 4 - k].sum()


@njit
def item_targets(cells, items, rows, prior, score, information, target):
    """Fill gradient (1, J, 2), information (1, J, 3) and the items after scoring steps (J, 2)."""
    # prior (3, 2): means, precisions and bounds of slope and intercept. Gradient and information
    # exclude the prior. An item whose step is long takes further steps at once, while its cells
    # are in memory. An item whose few answers give no finite estimate thus reaches its bounds in
    # one data pass instead of taking one step per pass.
    slope, intercept = items  # (1, J)
    item_scores(cells, slope, intercept, rows, True, score, information)
    start, columns, codes = cells
    one, two = np.empty((1, 1)), np.empty((1, 1))
    here, curve = np.empty((1, 1, 2)), np.empty((1, 1, 3))
    for j in range(slope.shape[1]):
        a, d = slope[0, j], intercept[0, j]
        if np.isnan(a):
            target[j] = np.nan
            continue
        here[0, 0], curve[0, 0] = score[0, j], information[0, j]
        for _ in range(MOST_STEPS):
            a, d, again = _moved(a, d, here[0, 0], curve[0, 0], prior)
            if not again:
                break
            one[0, 0], two[0, 0] = a, d
            own = (start[j : j + 2], columns, codes)
            item_scores(own, one, two, rows, True, here, curve)
        target[j, 0], target[j, 1] = a, d


@njit
def move_items(points, sums, prior, moving):
    """Move items (J, 2) by a scoring step from gradient and information, in `sums` (J, 5)."""
    # moving (J,) marks the items to move; on return it marks items that need another step
    # immediately.
    for j in range(moving.size):
        if moving[j]:
            a, d, moving[j] = _moved(points[j, 0], points[j, 1], sums[j, :2], sums[j, 2:], prior)
            points[j, 0], points[j, 1] = a, d


@njit
def _moved(a, d, score, information, prior):
    """Return an item after a scoring step, and whether another step follows immediately."""
    by_a, by_d = _scoring_step(a, d, score, information, prior)
    longest = max(abs(by_a), abs(by_d))
    share = min(1.0, LONGEST / max(longest, 1e-300))
    a = min(max(a + share * by_a, -prior[2, 0]), prior[2, 0])
    d = min(max(d + share * by_d, -prior[2, 1]), prior[2, 1])
    return a, d, longest > AGAIN


@njit
def _scoring_step(a, d, score, information, prior):
    """Return an item's scoring step, which moves no parameter beyond its bound."""
    by_a = score[0] - prior[1, 0] * (a - prior[0, 0])
    by_d = score[1] - prior[1, 1] * (d - prior[0, 1])
    aa = information[0] + prior[1, 0] + RIDGE
    dd = information[2] + prior[1, 1] + RIDGE
    ad = information[1]
    determinant = aa * dd - ad * ad
    step_a, step_d = (dd * by_a - ad * by_d) / determinant, (aa * by_d - ad * by_a) / determinant
    stays_a = abs(a) >= prior[2, 0] and step_a * a > 0.0
    stays_d = abs(d) >= prior[2, 1] and step_d * d > 0.0
    if stays_a or stays_d:
        return 0.0 if stays_a else by_a / aa, 0.0 if stays_d else by_d / dd
    return step_a, step_d


@njit
def _add_lanes(theta, value, lanes):
    """Add sums of a value and of its product with theta to the eight partial sums in `lanes`."""
    for low in range(0, theta.size, 8):
        for lane in range(8):
            lanes[0, lane] += value[low + lane]
            lanes[1, lane] += value[low + lane] * theta[low + lane]


@njit
def _add_product(theta, value, lanes):
    """Add the sum of a value times theta squared to the eight partial sums in `lanes`."""
    for low in range(0, theta.size, 8):
        for lane in range(8):
            lanes[lane] += value[low + lane] * theta[low + lane] * theta[low + lane]


@njit
def score_variances(cells, slope, intercept, rows, variance):
    """Fill the missing information (J, 3): the summed posterior variances of the scores."""
    # `rows` is as in `item_scores`. The function runs only once per fit, so the exponentials need
    # not be vectorised.
    start, columns, codes = cells
    n_nodes = rows.shape[1] // 2
    for j in range(slope.size):
        a, d = slope[j], intercept[j]
        variance[j] = 0.0
        if np.isnan(a):
            continue
        for c in range(start[j], start[j + 1]):
            i, yes = columns[c], float(codes[c])
            by_slope, by_intercept, both, slopes, intercepts = 0.0, 0.0, 0.0, 0.0, 0.0
            for q in range(n_nodes):
                theta, weight = rows[i, q], rows[i, n_nodes + q]
                score = yes - 1.0 / (1.0 + np.exp(-(a * theta + d)))
                by_slope += weight * score * theta
                by_intercept += weight * score
                slopes += weight * (score * theta) ** 2
                both += weight * score * theta * score
                intercepts += weight * score**2
            variance[j, 0] += slopes - by_slope**2
            variance[j, 1] += both - by_slope * by_intercept
            variance[j, 2] += intercepts - by_intercept**2
