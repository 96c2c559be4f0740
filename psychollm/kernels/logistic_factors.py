r"""Normal posteriors of the factor vectors of rows (or columns) in a logistic factor model.

Row j has a vector :math:`w_j = (f_j, c_j)`, of which :math:`f_j` may be known. Column i has a
vector :math:`z_i`, of which one entry equals 1. The logit of a cell is the inner product of the
two vectors:

.. math:: \eta_{ij} = z_i^T w_j, \qquad
          \log p(y | \eta) = y \eta - \log(1 + e^\eta), \quad 0 \le y \le 1.           \quad (1)

The unknown entries of both vectors have normal posteriors. Near the current posteriors, the
expected log-likelihood of a cell is replaced by a quadratic function of the row's vector,

.. math:: -\tfrac12 \lambda\, w^T E[z z^T] w + s\, w^T E[z].                             \quad (2)

The bound of Jaakkola and Jordan (2000) uses

.. math:: \lambda = \tanh(\xi / 2) / (2 \xi), \quad s = y - \tfrac12, \qquad
          \xi^2 = E\,\eta^2 = \langle E[z z^T], E[w w^T] \rangle                         \quad (3)

With this bound, each update increases a lower bound of the likelihood, but the posteriors are too
narrow and the slopes too small. A quadratic function with the expected slope and curvature of the
log-likelihood, approximated as in MacKay (1992) for a normal :math:`\eta` with mean m and variance
v, has

.. math:: p = \operatorname{logit}^{-1}(\kappa m), \quad \kappa = (1 + \pi v / 8)^{-1/2}, \qquad
          \lambda = \kappa\, p (1 - p), \quad s = y - p + \lambda m.                      \quad (4)

With the sums

.. math:: T_j = \sum_i \lambda_{ij} E[z_i z_i^T], \qquad
          h_j = \sum_i s_{ij} E[z_i]                                                      \quad (5)

and the prior N(centre, P^-1), the posterior of c has precision :math:`P + T_{cc}` and precision
times mean :math:`P\,\text{centre} + h_c - T_{cf} f`. The sums of columns in equation (5) are
totals over rows, so that one pass updates the rows and collects the sums that the columns need.

References
----------
Jaakkola, T. S., & Jordan, M. I. (2000). Bayesian parameter estimation via variational methods.
Statistics and Computing, 10(1), 25-37. https://doi.org/10.1023/A:1008932416310
MacKay, D. J. C. (1992). The evidence framework applied to classification networks. Neural
Computation, 4(5), 720-736. https://doi.org/10.1162/neco.1992.4.5.720
"""

import math

import numpy as np

from psychollm.kernels._jit import njit
from psychollm.kernels.exponential import exponentials

LEAST = 1e-8  # value of xi squared below which lambda is 1/4 to eight digits
RUN = 512  # number of factors, each in [1, 2], whose product is finite
PI_8 = math.pi / 8.0


@njit
def _pack(mean, covariance, packed, doubled):
    """Fill the lower triangle of E[w w'] row by row, and a copy with off-diagonals doubled."""
    at = 0
    for a in range(mean.size):
        for b in range(a + 1):
            packed[at] = covariance[at] + mean[a] * mean[b]
            doubled[at] = packed[at] if a == b else 2.0 * packed[at]
            at += 1


@njit
def _moments(places, columns, doubled, mean, squares, means):
    """Fill E[eta^2] and E[eta] for the cells of a row."""
    packed = doubled.size
    for q in range(places.size):
        record = columns[places[q]]
        total = 0.0
        for p in range(packed):
            total += doubled[p] * record[p]
        squares[q] = total
        total = 0.0
        for a in range(mean.size):
            total += mean[a] * record[packed + a]
        means[q] = total


@njit
def _bound(answers, squares, weights, pulls):
    """Fill lambda and s of equation (3)."""
    for q in range(squares.size):
        weights[q] = math.sqrt(max(squares[q], LEAST))
    for q in range(squares.size):
        squares[q] = -weights[q]
    exponentials(squares)
    for q in range(squares.size):
        weights[q] = 0.5 * (1.0 - squares[q]) / ((1.0 + squares[q]) * weights[q])
        pulls[q] = answers[q] - 0.5


@njit
def _expected(answers, means, squares, weights, pulls):
    """Fill lambda and s of equation (4); return the log-likelihood of the answers under p."""
    total, product = 0.0, 1.0
    for q in range(squares.size):
        spread = max(squares[q] - means[q] * means[q], 0.0)
        weights[q] = 1.0 / math.sqrt(1.0 + PI_8 * spread)
    for q in range(squares.size):
        squares[q] = -abs(means[q]) * weights[q]
    for q in range(squares.size):
        total += squares[q] * (1.0 - answers[q] if means[q] > 0.0 else answers[q])
    exponentials(squares)
    for q in range(squares.size):
        product *= 1.0 + squares[q]
        if q % RUN == RUN - 1:
            total -= math.log(product)
            product = 1.0
    for q in range(squares.size):
        upper = 1.0 / (1.0 + squares[q])
        lower = squares[q] * upper
        weights[q] *= upper * lower
        chance = upper if means[q] > 0.0 else lower
        pulls[q] = answers[q] - chance + weights[q] * means[q]
    return total - math.log(product)


@njit
def _factor(root):
    """Replace a lower triangle by the inverse of its Cholesky root."""
    for a in range(root.shape[0]):
        for b in range(a + 1):
            total = root[a, b]
            for c in range(b):
                total -= root[a, c] * root[b, c]
            root[a, b] = math.sqrt(total) if a == b else total / root[b, b]
    for a in range(root.shape[0]):  # row by row
        for b in range(a):
            total = 0.0
            for c in range(b, a):
                total -= root[a, c] * root[c, b]
            root[a, b] = total / root[a, a]
        root[a, a] = 1.0 / root[a, a]


@njit
def _solve(sums, prior, mean, covariance, root, inverse):
    """Replace a row's posterior by the posterior computed from its sums in equation (5)."""
    precision, centre = prior
    f, packed = centre.size, covariance.size
    known = mean.size - f
    for a in range(f):
        for b in range(a + 1):
            at = (a + known) * (a + known + 1) // 2 + b + known
            root[a, b] = precision[a, b] + sums[at]
    _factor(root)
    for a in range(f):
        for b in range(a + 1):
            total = 0.0
            for c in range(a, f):
                total += root[c, a] * root[c, b]
            inverse[a, b] = total
            inverse[b, a] = total
            covariance[(a + known) * (a + known + 1) // 2 + b + known] = total
        mean[a + known] = 0.0
    for b in range(f):
        pull = sums[packed + b + known]
        if known:
            pull -= mean[0] * sums[(b + 1) * (b + 2) // 2]
        for a in range(f):
            pull += precision[b, a] * centre[a]
        for a in range(f):
            mean[a + known] += inverse[a, b] * pull


@njit
def update_rows(cells, columns, prior, own, sums, bound):
    """Replace the posteriors of rows; return the log-likelihood of their answers afterwards.

    Parameters
    ----------
    cells : tuple of ndarray (rows + 1,), (cells,), (cells,)
        Offsets of each row's cells, the columns of the cells, and answers in [0, 1].
    columns : ndarray (n, p + d)
        For each column, the lower triangle of E[z z'] row by row in p = d (d + 1) / 2 entries,
        then E[z].
    prior : tuple of ndarray (f, f), (rows, f)
        Precision and centre of c; c equals w, or w without its first entry.
    own : tuple of ndarray (rows, d), (rows, p)
        Means and packed covariances of w.
    sums : ndarray (n, p + d) or (0, p + d)
        Sums of the columns in equation (5), to which the terms of these rows' cells are added. An
        empty array is left unchanged.
    bound : bool
        Whether to use equation (3) instead of equation (4); no log-likelihood is then computed.
    """
    start, places, answers = cells
    precision, centre = prior
    mean, covariance = own
    d, packed = mean.shape[1], covariance.shape[1]
    longest = 0
    for r in range(mean.shape[0]):
        longest = max(longest, start[r + 1] - start[r])
    work = np.empty((4, longest))
    moments, doubled, total = np.empty(packed), np.empty(packed), np.empty(packed + d)
    root, inverse = np.empty(precision.shape), np.empty(precision.shape)
    likelihood = 0.0
    for r in range(mean.shape[0]):
        low, n = start[r], start[r + 1] - start[r]
        where, y = places[low : low + n], answers[low : low + n]
        squares, means, weights, pulls = work[0, :n], work[1, :n], work[2, :n], work[3, :n]
        for again in range(2 if sums.shape[0] else 1):
            _pack(mean[r], covariance[r], moments, doubled)
            _moments(where, columns, doubled, mean[r], squares, means)
            here = 0.0
            if bound:
                _bound(y, squares, weights, pulls)
            else:
                here = _expected(y, means, squares, weights, pulls)
            if again:
                likelihood += here
                continue
            total[:] = 0.0
            for q in range(n):
                record, weight, pull = columns[where[q]], weights[q], pulls[q]
                for p in range(packed):
                    total[p] += weight * record[p]
                for p in range(packed, packed + d):
                    total[p] += pull * record[p]
            _solve(total, (precision, centre[r]), mean[r], covariance[r], root, inverse)
        if sums.shape[0]:
            for q in range(n):
                record, weight, pull = sums[where[q]], weights[q], pulls[q]
                for p in range(packed):
                    record[p] += weight * moments[p]
                for a in range(d):
                    record[packed + a] += pull * mean[r, a]
    return likelihood
