r"""One side of a logistic factor model, given the other: variational posteriors of its vectors.

Row i has a vector :math:`r_i = (a_i, u_i)`, column j a vector :math:`c_j = (b_j, v_j)`, and

.. math:: \eta_{ij} = a_i + b_j + u_i^T v_j, \qquad
          \log p(y | \eta) = y \eta - \log(1 + e^\eta), \quad 0 \le y \le 1.           \quad (1)

With normal posteriors of mean :math:`m` and covariance :math:`S` on both sides, the bound of
Jaakkola and Jordan (2000) is tight at

.. math:: \xi_{ij}^2 = E\,\eta_{ij}^2, \qquad \lambda_{ij} = \tanh(\xi_{ij} / 2) / (2 \xi_{ij}),
                                                                                         \quad (2)

and with prior N(centre, P^-1) and :math:`x_j = (1, v_j)` the posterior of a row has

.. math:: S_i^{-1} = P + \sum_j \lambda_{ij} E[x_j x_j^T], \qquad
          S_i^{-1} m_i = P\,\text{centre}_i
          + \sum_j \big\{(y_{ij} - \tfrac12) E[x_j] - \lambda_{ij} E[b_j x_j]\big\}.     \quad (3)

Columns are updated by the same loops with the two sides exchanged.

References
----------
Jaakkola, T. S., & Jordan, M. I. (2000). Bayesian parameter estimation via variational methods.
Statistics and Computing, 10(1), 25-37. https://doi.org/10.1023/A:1008932416310
"""

import math

import numpy as np

from psychollm.kernels._jit import njit


@njit
def _second_moment(mean, covariance, other, spread):
    """Return the expected square of (1) from the posteriors of a row and of a column."""
    k = mean.size
    eta = mean[0] + other[0]
    for a in range(1, k):
        eta += mean[a] * other[a]
    variance = 0.0
    for a in range(k):
        xa = 1.0 if a == 0 else other[a]
        ra = 1.0 if a == 0 else mean[a]
        for b in range(k):
            xb = 1.0 if b == 0 else other[b]
            rb = 1.0 if b == 0 else mean[b]
            variance += covariance[a, b] * xa * xb + spread[a, b] * ra * rb
            if a > 0 and b > 0:
                variance += covariance[a, b] * spread[a, b]
    return eta * eta + variance


@njit
def _invert(matrix, root, inverse):
    """Fill the inverse of a positive definite matrix; `root` is room for its Cholesky root."""
    k = matrix.shape[0]
    for a in range(k):
        for b in range(a + 1):
            total = matrix[a, b]
            for c in range(b):
                total -= root[a, c] * root[b, c]
            root[a, b] = math.sqrt(total) if a == b else total / root[b, b]
    for a in range(k):  # the root is replaced by its inverse, row by row
        for b in range(a):
            total = 0.0
            for c in range(b, a):
                total -= root[a, c] * root[c, b]
            root[a, b] = total / root[a, a]
        root[a, a] = 1.0 / root[a, a]
    for a in range(k):
        for b in range(k):
            total = 0.0
            for c in range(max(a, b), k):
                total += root[c, a] * root[c, b]
            inverse[a, b] = total


@njit
def update_side(starts, places, answers, precision, centre, other_side, own):
    """Replace the posteriors of all rows, `own`, by (3).

    Both sides are a pair of means (n, k) and covariances (n, k, k). The answers of row i and the
    columns they belong to stand at starts[i]:starts[i + 1].
    """
    mean, covariance = own
    other_mean, other_covariance = other_side
    n, k = mean.shape
    total, root, inner = np.zeros((k, k)), np.zeros((k, k)), np.zeros((k, k))
    pull = np.zeros(k)
    for i in range(n):
        for a in range(k):
            pull[a] = 0.0
            for b in range(k):
                total[a, b] = precision[a, b]
                pull[a] += precision[a, b] * centre[i, b]
        for q in range(starts[i], starts[i + 1]):
            j = places[q]
            other, spread = other_mean[j], other_covariance[j]
            xi = math.sqrt(_second_moment(mean[i], covariance[i], other, spread))
            weight = math.tanh(0.5 * xi) / (2.0 * xi) if xi > 1e-6 else 0.25
            for a in range(k):
                xa = 1.0 if a == 0 else other[a]
                pull[a] += (answers[q] - 0.5 - weight * other[0]) * xa
                if a > 0:
                    pull[a] -= weight * spread[0, a]
                for b in range(a + 1):
                    product = xa * (1.0 if b == 0 else other[b])
                    if a > 0 and b > 0:
                        product += spread[a, b]
                    total[a, b] += weight * product
        _invert(total, root, inner)
        for a in range(k):
            mean[i, a] = 0.0
            for b in range(k):
                covariance[i, a, b] = inner[a, b]
                mean[i, a] += inner[a, b] * pull[b]
