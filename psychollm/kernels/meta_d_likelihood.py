r"""Likelihood of confidence ratings given stimulus class and response, with its derivatives.

The evidence is N(-m/2, 1) for stimulus class 1 and N(m/2, 1) for class 2; the response is 2 if the
evidence exceeds k. On the axis of the given response (reversed for response 1), the evidence has
mean :math:`\mu = m/2` for a correct answer and :math:`\mu = -m/2` for a wrong answer. The evidence
exceeds the edge :math:`v_0 = \pm k`. Rating j is given if the evidence is between the criteria
:math:`v_{j-1} < v_j`; the last rating has no upper criterion. Let :math:`\alpha_j = v_j - \mu`,
and let Q be the upper tail and :math:`\varphi` the density of the normal distribution. The
log-likelihood is

.. math:: \ell = \sum_{\text{responses, classes}} \sum_j n_j \log p_j
                 - n \log Q(\alpha_0), \qquad p_j = Q(\alpha_{j-1}) - Q(\alpha_j),        \quad (1)

and its derivatives are sums of

.. math:: A_j &= \frac{\partial \log p_j}{\partial \alpha_{j-1}}
                 = -\frac{\varphi(\alpha_{j-1})}{p_j}, \qquad
          B_j = \frac{\partial \log p_j}{\partial \alpha_j} = \frac{\varphi(\alpha_j)}{p_j}, \\
          \frac{\partial A_j}{\partial \alpha_{j-1}} &= -A_j (\alpha_{j-1} + A_j), \quad
          \frac{\partial B_j}{\partial \alpha_j} = -B_j (\alpha_j + B_j), \quad
          \frac{\partial A_j}{\partial \alpha_j} = -A_j B_j.                              \quad (2)

The log-likelihood, equation (1), tends to minus infinity where two criteria meet. This limit keeps
the criteria in order, so that Newton's method needs no transformation of the criteria.

References
----------
Maniscalco, B., & Lau, H. (2014). Signal detection theory analysis of type 1 and type 2 data:
meta-d', response-specific meta-d', and the unequal variance SDT model. In S. M. Fleming & C. D.
Frith (Eds.), The cognitive neuroscience of metacognition. Springer.
"""

import math

from psychollm._base.types import FloatArray, IntArray
from psychollm.kernels._jit import njit
from psychollm.kernels.normal import (
    normal_cdf,
    normal_pdf,
    normal_upper,
)


@njit
def _cell(low: float, high: float) -> float:
    """Return P(low < X < high), from upper tails where `low` is not negative."""
    if low >= 0.0:
        return normal_upper(low) - normal_upper(high)
    return normal_cdf(high) - normal_cdf(low)


@njit
def _branch(
    mean: float, edge: float, cuts: FloatArray, counts: FloatArray, parts: FloatArray
) -> float:
    """Return equation (1) for one response and class; fill `parts` with its derivatives."""
    # `counts` (ratings,) are in increasing order of the rating, `cuts` (ratings - 1,) are above
    # `edge`. The rows of `parts` (3, ratings) are filled with the gradient, the diagonal of the
    # Hessian, and its first off-diagonal.
    n = counts.size
    parts[:, :n] = 0.0
    value, total = 0.0, 0.0
    low = edge - mean
    for j in range(n):
        high = cuts[j] - mean if j < n - 1 else math.inf
        if not high > low:
            return -math.inf
        if counts[j] > 0.0:
            p = _cell(low, high)
            if not p > 0.0:
                return -math.inf
            value += counts[j] * math.log(p)
            total += counts[j]
            a = -normal_pdf(low) / p
            parts[0, j] += counts[j] * a
            parts[1, j] -= counts[j] * a * (low + a)
            if j < n - 1:
                b = normal_pdf(high) / p
                parts[0, j + 1] += counts[j] * b
                parts[1, j + 1] -= counts[j] * b * (high + b)
                parts[2, j] -= counts[j] * a * b
        low = high
    low = edge - mean
    tail = normal_upper(low)
    if not tail > 0.0:
        return -math.inf
    hazard = normal_pdf(low) / tail
    parts[0, 0] += total * hazard
    parts[1, 0] += total * hazard * (hazard - low)
    return value - total * math.log(tail)


@njit
def _spread(
    parts: FloatArray,
    n: int,
    response: int,
    wrong: int,
    first: int,
    gradient: FloatArray,
    hessian: FloatArray,
) -> None:
    """Add derivatives in alpha, by the chain rule, to the derivatives in (m, criteria, k)."""
    slope, sign = wrong - 0.5, 2.0 * response - 1.0  # dalpha/dm; dv_0/dk
    last = gradient.size - 1
    for j in range(n):
        upper = last if j == 0 else first + j - 1
        own = sign if j == 0 else 1.0
        gradient[0] += slope * parts[0, j]
        gradient[upper] += own * parts[0, j]
        hessian[0, 0] += slope * slope * parts[1, j]
        hessian[0, upper] += slope * own * parts[1, j]
        hessian[upper, upper] += parts[1, j]
        if j < n - 1:
            up = first + j
            hessian[0, 0] += 2.0 * slope * slope * parts[2, j]
            hessian[0, upper] += slope * own * parts[2, j]
            hessian[0, up] += slope * parts[2, j]
            hessian[min(upper, up), max(upper, up)] += own * parts[2, j]


@njit
def log_likelihood(
    point: FloatArray,
    counts: FloatArray,
    used: IntArray,
    parts: FloatArray,
    gradient: FloatArray,
    hessian: FloatArray,
) -> float:
    """Return equation (1), and fill its derivatives; -inf where two criteria meet."""
    # Coordinates are m, the cuts of response 1 on its own axis, the cuts of response 2 on its own
    # axis, and k. `counts` (responses, 2, ratings) holds correct answers first, then wrong ones;
    # only the first `used` (responses,) ratings are read. `parts` (3, ratings) is a work array.
    gradient[:] = 0.0
    hessian[:, :] = 0.0
    value, first = 0.0, 1
    k = point[point.size - 1]
    for response in range(2):
        n = used[response]
        cuts = point[first : first + n - 1]
        edge = k if response == 1 else -k
        for wrong in range(2):
            mean = (0.5 - wrong) * point[0]
            value += _branch(mean, edge, cuts, counts[response, wrong, :n], parts)
            if value == -math.inf:
                return value
            _spread(parts, n, response, wrong, first, gradient, hessian)
        first += n - 1
    for i in range(gradient.size):
        for j in range(i):
            hessian[i, j] = hessian[j, i]
    return value


@njit
def factorise(matrix: FloatArray, ridge: float, size: int, factor: FloatArray) -> bool:
    """Fill `factor` with the Cholesky factor of ridge - matrix; return False if none exists."""
    # Only the first `size` rows and columns of both matrices are used.
    for i in range(size):
        for j in range(i + 1):
            total = -matrix[i, j]
            if i == j:
                total += ridge
            for h in range(j):
                total -= factor[i, h] * factor[j, h]
            if i > j:
                factor[i, j] = total / factor[j, j]
            elif total > 1e-300:
                factor[i, i] = math.sqrt(total)
            else:
                return False
    return True


@njit
def substitute(factor: FloatArray, size: int, right: FloatArray) -> None:
    """Overwrite `right` by the solution of (factor factor') x = right."""
    for i in range(size):
        for h in range(i):
            right[i] -= factor[i, h] * right[h]
        right[i] /= factor[i, i]
    for i in range(size - 1, -1, -1):
        for h in range(i + 1, size):
            right[i] -= factor[h, i] * right[h]
        right[i] /= factor[i, i]


@njit
def ascent(
    gradient: FloatArray, hessian: FloatArray, size: int, factor: FloatArray, step: FloatArray
) -> float:
    """Fill `step` with Newton's step, with a ridge if the Hessian is not negative definite."""
    # Returns gradient' step, twice the gain that the quadratic approximation predicts; NaN if the
    # derivatives are not finite.
    largest = 1e-3
    for i in range(size):
        largest = max(largest, abs(hessian[i, i]))
    ridge = 0.0
    while not factorise(hessian, ridge, size, factor):
        ridge = max(1e-3 * largest, 4.0 * ridge)
        if not ridge < 1e6 * largest:
            return math.nan
    for i in range(size):
        step[i] = gradient[i]
    substitute(factor, size, step)
    gain = 0.0
    for i in range(size):
        gain += gradient[i] * step[i]
    return gain
