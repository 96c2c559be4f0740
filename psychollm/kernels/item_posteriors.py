r"""Updates of the items' normal posteriors in one iteration of variational EM.

An item has mean m, covariance :math:`C = R R^\top` with R lower triangular, scores g at pairs of
points :math:`m \pm \sqrt{q} R_k`, and a prior with precision :math:`w P` around c. The expected
curvature :math:`H` in units of R is computed from differences of the scores (Price's theorem);
negative eigenvalues are set to 0. The old and the new precision are mixed, and the mean moves:

.. math:: T = s (H + w R^\top P R) + (1 - s) I, \quad C' = R T^{-1} R^\top, \quad
          m' = m + h \, C' (\bar g - w P (m - c)).

The step length h is reduced where a secant through two steps shows that a full step overshoots,
for example where the curvature differs between the points around an item. The weight s is
proportional to h.
"""

import math

import numpy as np

from psychollm.kernels._jit import njit
from psychollm.kernels.symmetric import cholesky, positive_part

LONGEST = 1.0  # largest change of a coordinate in one iteration
# weight of the old precision in the new one; without it, estimates of steep items oscillate
DAMPING = 0.5
GROWTH = 0.2  # limits the growth of the step length from one iteration to the next
SWING, SHORTEST = 0.02, 0.1  # shortest step for a secant, in standard errors; smallest step length


@njit
def move_posteriors(score, turn, root, prior, weight, items):
    """Update items' means (J, q), covariances (J, q, q), last steps (J, q) and step lengths (J,).

    `score` (S, J, p) contains the scores of the parameters at the points, and `turn` (S, J, p, q)
    contains the derivatives of the parameters at the points. `root` (J, q, q) contains the roots
    R, `prior` (1 + q, q) contains the centre c and the precision P, and `weight` (J,) contains the
    factors w.
    """
    mean, covariance, step, stride = items
    n_points, q = score.shape[0], mean.shape[1]
    at_points, gradient, pull = np.empty((n_points, q)), np.empty(q), np.empty(q)
    bend, total, work = np.empty((q, q)), np.empty((q, q)), np.empty((q, q))
    for j in range(mean.shape[0]):
        R = root[j]
        _scores(score[:, j], turn[:, j], at_points)
        _curvature(R, at_points, bend, work)
        share = (1.0 - DAMPING) * stride[j]
        _precision(R, prior, weight[j], share, bend, total)
        _pull(prior, weight[j], mean[j], pull)
        both, size = 0.0, _length(R, total, step[j], work[0])
        _covariance(R, total, covariance[j], work)
        for a in range(q):
            value = 0.0
            for s in range(n_points):
                value += at_points[s, a]
            gradient[a] = value / n_points - pull[a]
            both += gradient[a] * step[j, a]
        longest = 1e-300
        for a in range(q):
            value = 0.0
            for b in range(q):
                value += covariance[j, a, b] * gradient[b]
            step[j, a] = value
            longest = max(longest, abs(value))
        short = min(1.0, LONGEST / longest)
        ratio = short * both / size if size > SWING**2 else 0.0
        stride[j] = min(max(stride[j] / (1.0 - min(ratio, GROWTH)), SHORTEST), 1.0)
        for a in range(q):
            step[j, a] *= short
            mean[j, a] += stride[j] * step[j, a]


@njit
def find_roots(covariance, root):
    """Fill the roots R (J, q, q) of covariances; return False if one is not positive definite."""
    found = True
    for j in range(root.shape[0]):
        for a in range(root.shape[1]):
            for b in range(root.shape[1]):
                root[j, a, b] = covariance[j, a, b] if b <= a else 0.0
        found = cholesky(root[j]) and found
    return found


@njit
def find_turns(there, linear, here, turn):
    """Fill derivatives (J, q, q) of new coordinates with respect to old coordinates.

    Parameters change linearly; `linear` (J, q, q) contains derivatives of new parameters with
    respect to old parameters. `here` (J, q, q) contains derivatives of the old parameters with
    respect to old coordinates, and `there` (J, q, q) derivatives of the new parameters with
    respect to new coordinates. All matrices are lower triangular.
    """
    q = turn.shape[1]
    for j in range(turn.shape[0]):
        for a in range(q):
            for c in range(q):
                value = 0.0
                for b in range(c, a + 1):
                    value += linear[j, a, b] * here[j, b, c]
                for b in range(c, a):
                    value -= there[j, a, b] * turn[j, b, c]
                turn[j, a, c] = value / there[j, a, a]


@njit
def turn_covariances(turn, covariance):
    """Overwrite covariances C (J, q, q) with T C T' for lower-triangular T (J, q, q)."""
    q = turn.shape[1]
    for j in range(turn.shape[0]):
        C = covariance[j]
        for a in range(q - 1, -1, -1):
            for c in range(q):
                value = 0.0
                for b in range(a + 1):
                    value += turn[j, a, b] * C[b, c]
                C[a, c] = value
        for a in range(q):
            for c in range(q - 1, -1, -1):
                value = 0.0
                for b in range(c + 1):
                    value += C[a, b] * turn[j, c, b]
                C[a, c] = value


@njit
def _scores(score, turn, at_points):
    """Fill the log-likelihood's derivatives with respect to each coordinate, at each point."""
    for s in range(score.shape[0]):
        for b in range(at_points.shape[1]):
            value = 0.0
            for a in range(score.shape[1]):
                value += score[s, a] * turn[s, a, b]
            at_points[s, b] = value


@njit
def _curvature(R, at_points, bend, work):
    """Fill `bend` with the expected curvature H, on the scale on which R is the identity."""
    n_points, q = at_points.shape
    for k in range(q):
        for b in range(q):
            value = 0.0
            for a in range(b, q):
                value += R[a, b] * (at_points[2 * k + 1, a] - at_points[2 * k, a])
            work[b, k] = value / math.sqrt(2.0 * n_points)
    for a in range(q):
        for b in range(q):
            bend[a, b] = 0.5 * (work[a, b] + work[b, a])
    positive_part(bend, work)


@njit
def _precision(R, prior, weight, share, bend, total):
    """Fill the lower triangle of the Cholesky factor of the new precision T, in units of R."""
    q = R.shape[0]
    for a in range(q):
        for b in range(a + 1):
            value = bend[a, b]
            for c in range(a, q):
                for d in range(b, q):
                    value += weight * R[c, a] * prior[1 + c, d] * R[d, b]
            total[a, b] = share * value
        total[a, a] += 1.0 - share
    cholesky(total)


@njit
def _pull(prior, weight, mean, pull):
    """Fill the prior's gradient w P (m - c)."""
    for a in range(mean.size):
        pull[a] = 0.0
        for b in range(mean.size):
            pull[a] += weight * prior[1 + a, b] * (mean[b] - prior[0, b])


@njit
def _length(R, total, last, unit):
    """Return the squared length of the last step in the metric of the new precision."""
    q, size = R.shape[0], 0.0
    for a in range(q):
        value = last[a]
        for b in range(a):
            value -= R[a, b] * unit[b]
        unit[a] = value / R[a, a]
    for a in range(q):
        value = 0.0
        for b in range(a, q):
            value += total[b, a] * unit[b]
        size += value * value
    return size


@njit
def _covariance(R, total, covariance, work):
    """Fill the new covariance C', computed from R and the inverse Cholesky factor of T."""
    q = R.shape[0]
    for a in range(q):
        for b in range(q):
            value = R[a, b] if b <= a else 0.0
            for c in range(b):
                value -= total[b, c] * work[a, c]
            work[a, b] = value / total[b, b]
    for a in range(q):
        for b in range(q):
            value = 0.0
            for c in range(q):
                value += work[a, c] * work[b, c]
            covariance[a, b] = value
