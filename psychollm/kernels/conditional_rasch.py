r"""Conditional likelihood of the Rasch model, from logarithms of symmetric functions.

With :math:`e_j` the easiness of item j, the elementary symmetric functions of the first k items

.. math:: \gamma_k(r) = \gamma_{k-1}(r) + \exp(e_k)\,\gamma_{k-1}(r - 1)                 \quad (1)

are sums of positive terms, so that their logarithms are computed without cancellation or overflow.
Given score r on the first k items, the probability of a yes to item k is

.. math:: w_k(r) = \exp(e_k)\,\gamma_{k-1}(r - 1) / \gamma_k(r).                         \quad (2)

Let :math:`A_J(r)` be the number of respondents with score r. The backward recursion

.. math:: A_{k-1}(r) = A_k(r)\,(1 - w_k(r)) + A_k(r + 1)\,w_k(r + 1)                     \quad (3)

gives the expected numbers of respondents with score r on the first k - 1 items, and :math:`\sum_r
A_k(r) w_k(r)` is the expected number of yes answers to item k. The gradient thus takes no more
time than the likelihood. The probability :math:`\pi_k(j, r)` of a yes to item j given score r on
the first k items follows from equation (1):

.. math:: \pi_k(j, r) = w_k(r)\,\pi_{k-1}(j, r - 1) + (1 - w_k(r))\,\pi_{k-1}(j, r),      \quad (4)

which gives the joint expectations :math:`E[y_j y_k] = \sum_r A_k(r) w_k(r) \pi_{k-1}(j, r - 1)` of
all pairs, and with them the information matrix.

References
----------
Andersen, E. B. (1970). Asymptotic properties of conditional maximum-likelihood estimators. Journal
of the Royal Statistical Society, Series B, 32(2), 283-301.
https://doi.org/10.1111/j.2517-6161.1970.tb00842.x
"""

import math

import numpy as np

from psychollm._base.types import FloatArray
from psychollm.kernels._jit import njit


@njit
def _log_sum(a, b):
    """Return log(exp(a) + exp(b))."""
    high, low = (a, b) if a > b else (b, a)
    return high if low == -np.inf else high + math.log1p(math.exp(low - high))


@njit
def _symmetric(easiness, logs, shares):
    """Fill log gamma_k(r) and w_k(r), both (J + 1, J + 1), by equations (1) and (2)."""
    size = easiness.size
    logs[0, 0] = 0.0
    for r in range(1, size + 1):
        logs[0, r] = -np.inf
    for k in range(1, size + 1):
        e = easiness[k - 1]
        logs[k, 0] = 0.0
        shares[k, 0] = 0.0
        for r in range(1, size + 1):
            yes = logs[k - 1, r - 1] + e
            logs[k, r] = _log_sum(logs[k - 1, r], yes)
            shares[k, r] = math.exp(yes - logs[k, r]) if r <= k else 0.0


@njit
def _expectations(counts, shares, reach, expected):
    """Fill A_k(r) (J + 1, J + 1) and expected numbers of yes answers (J,), by equation (3)."""
    size = expected.size
    for r in range(size + 1):
        reach[size, r] = counts[r]
    for k in range(size, 0, -1):
        total = 0.0
        for r in range(k):
            up = reach[k, r + 1] * shares[k, r + 1]
            total += up
            reach[k - 1, r] = reach[k, r] * (1.0 - shares[k, r]) + up
        expected[k - 1] = total


@njit
def _pairs(reach, shares, chance, pairs):
    """Fill the expected joint yes counts (J, J), and `chance` with pi_J of equation (4)."""
    size = pairs.shape[0]
    for k in range(1, size + 1):
        new = k - 1
        for j in range(new):
            total = 0.0
            for r in range(k, 0, -1):
                w = shares[k, r]
                below = chance[j, r - 1]
                total += reach[k, r] * w * below
                kept = chance[j, r] if r < k else 0.0
                chance[j, r] = w * below + (1.0 - w) * kept
            pairs[j, new] = total
            pairs[new, j] = total
        total = 0.0
        for r in range(k + 1):
            chance[new, r] = shares[k, r]
            total += reach[k, r] * shares[k, r]
        pairs[new, new] = total


@njit
def _fill(easiness, counts, tables, expected, information):
    """Fill expected numbers of yes answers and the information matrix of one set of items."""
    size = easiness.size
    logs, shares, reach, chance = tables[0], tables[1], tables[2], tables[3]
    _symmetric(easiness, logs, shares)
    _expectations(counts, shares, reach, expected)
    if information.shape[0] == 0:
        return
    _pairs(reach, shares, chance, information)
    for r in range(1, size + 1):
        n = counts[r]
        if n > 0.0:
            for j in range(size):
                value = n * chance[j, r]
                for k in range(size):
                    information[j, k] -= value * chance[k, r]


def conditional_moments(
    easiness: FloatArray, counts: FloatArray, *, second: bool
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the expectation and covariance of the answers given the respondents' scores."""
    # `easiness` (J,) has one entry for each item that the respondents answered; `counts` (J + 1,)
    # is the number of respondents with each score. The function returns the logarithms of the
    # elementary symmetric functions (J + 1,), the expected number of yes answers to each item
    # (J,), and the covariance of the answers given the scores, summed over respondents. The shape
    # of the covariance is (J, J), or (0, 0) unless `second` is true.
    size = easiness.size
    tables = np.zeros((4, size + 1, size + 1))
    expected = np.zeros(size)
    information = np.zeros((size, size)) if second else np.zeros((0, 0))
    _fill(
        np.ascontiguousarray(easiness, dtype=np.float64),
        np.ascontiguousarray(counts, dtype=np.float64),
        tables,
        expected,
        information,
    )
    return tables[0, size].copy(), expected, information
