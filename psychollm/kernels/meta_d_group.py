r"""Profile likelihood of one model's M-ratio.

At a given M, the answers and ratings of one model have the log likelihood

.. math:: \ell(d', c, v \mid M) = \sum_{\text{classes}} \left(n_1 \log P_1 + n_0 \log P_0\right)
                                  + \ell_2(m = M d', v, k),                               \quad (1)

with :math:`P_1 = \Phi(\pm d'/2 - c)` the probability of response 1 and :math:`\ell_2` the
likelihood of the ratings, where k is M c (scaled) or c (fixed). The maximum of this likelihood
over d', c and the criteria v is computed along a grid of log M:

.. math:: \log L(M) = \max_{d', c, v} \ell(d', c, v \mid M).                             \quad (2)

Equation (2) is Laplace's approximation of the integral over d', c and v with Jeffreys' prior at
each M; the prior's determinant cancels the determinant in the approximation. The result does not
depend on the parametrisation of the criteria. An integral with flat priors depends on the
parametrisation and biases the M-ratio upwards.

References
----------
Fleming, S. M. (2017). HMeta-d: Hierarchical Bayesian estimation of metacognitive efficiency from
confidence ratings. Neuroscience of Consciousness, 2017(1), nix007.
https://doi.org/10.1093/nc/nix007
"""

import math

import numpy as np

from psychollm._base.types import FloatArray, IntArray
from psychollm.kernels._jit import njit
from psychollm.kernels.meta_d import pack, start
from psychollm.kernels.meta_d_likelihood import ascent, factorise, log_likelihood, substitute
from psychollm.kernels.normal import normal_cdf, normal_pdf

LOG_L, MODE, VARIANCE = range(3)  # columns that `profile` fills: (2), d' and its variance
_MAX_ITERATIONS = 100
_MAX_HALVINGS = 40
_TOLERANCE = 1e-9


@njit
def _type_1(
    point: FloatArray, answers: FloatArray, gradient: FloatArray, hessian: FloatArray
) -> float:
    """Add the first term of equation (1), and its derivatives with respect to d' and c."""
    last = point.size - 1
    value = 0.0
    for stimulus in range(2):
        for response in range(2):
            # The probability of a response is Phi(x) with x = sign (half d' - c).
            sign, half = 2.0 * response - 1.0, stimulus - 0.5
            x = sign * (half * point[0] - point[last])
            chance = normal_cdf(x)
            if not chance > 0.0:
                return -math.inf
            n, hazard = answers[stimulus, response], normal_pdf(x) / chance
            value += n * math.log(chance)
            gradient[0] += n * hazard * sign * half
            gradient[last] -= n * hazard * sign
            second = -n * hazard * (x + hazard)
            hessian[0, 0] += second * half * half
            hessian[last, last] += second
            hessian[0, last] -= second * half
            hessian[last, 0] -= second * half
    return value


@njit
def _joint(
    point: FloatArray,
    scale: tuple[float, float],
    counts: FloatArray,
    used: IntArray,
    answers: FloatArray,
    gradient: FloatArray,
    hessian: FloatArray,
) -> float:
    """Return equation (1), and fill its derivatives in (d', criteria, c)."""
    last = point.size - 1
    parts = np.empty((3, counts.shape[2]))
    rated = point.copy()
    rated[0] *= scale[0]
    rated[last] *= scale[1]
    value = log_likelihood(rated, counts, used, parts, gradient, hessian)
    for parameter, factor in ((0, scale[0]), (last, scale[1])):
        gradient[parameter] *= factor
        for i in range(last + 1):
            hessian[parameter, i] *= factor
        for i in range(last + 1):
            hessian[i, parameter] *= factor
    return value + _type_1(point, answers, gradient, hessian)


@njit
def _follow(
    point: FloatArray,
    scale: tuple[float, float],
    counts: FloatArray,
    used: IntArray,
    answers: FloatArray,
    out: FloatArray,
) -> bool:
    """Move `point` to the maximum of equation (1) and fill `out`; return False on failure."""
    size = point.size
    gradient, hessian = np.empty(size), np.empty((size, size))
    factor, step, trial = np.zeros((size, size)), np.empty(size), np.empty(size)
    value = _joint(point, scale, counts, used, answers, gradient, hessian)
    out[:] = math.nan
    for _ in range(_MAX_ITERATIONS):
        gain = ascent(gradient, hessian, size, factor, step)
        if gain < _TOLERANCE:
            break
        length, moved = 1.0, -math.inf
        for _ in range(_MAX_HALVINGS):
            for i in range(size):
                trial[i] = point[i] + length * step[i]
            moved = _joint(trial, scale, counts, used, answers, gradient, hessian)
            if moved > value - 1e-10:
                break
            length *= 0.5
        if not moved > value - 1e-10:
            return False
        for i in range(size):
            point[i] = trial[i]
        value = moved
    if not (gain < _TOLERANCE and factorise(hessian, 0.0, size, factor)):
        return False
    out[LOG_L] = value
    step[:] = 0.0
    step[0] = 1.0
    substitute(factor, size, step)
    out[MODE], out[VARIANCE] = point[0], step[0]
    return True


@njit
def profile(
    table: FloatArray,
    type_1: FloatArray,
    scaled: bool,
    log_m: FloatArray,
    middle: int,
    out: FloatArray,
) -> None:
    """Fill `out` (grid, 3) with log L of equation (2), and d' at the maximum and its variance."""
    # `table` is (classes, responses, ratings); `type_1` holds the d' and c from which the search
    # starts at log_m[middle]. If no maximum is found at a grid point, this row and the rows
    # further from the middle are NaN.
    counts, used = np.zeros(table.shape), np.zeros(2, dtype=np.int64)
    rating = np.zeros((2, table.shape[2]), dtype=np.int64)
    pack(table, counts, used, rating)
    answers = np.empty((2, 2))
    for stimulus in range(2):
        for response in range(2):
            answers[stimulus, response] = table[stimulus, response].sum()
    out[:, :] = math.nan
    first, point = np.empty(used[0] + used[1]), np.empty(used[0] + used[1])
    m = math.exp(log_m[middle])
    start(m * type_1[0], (m if scaled else 1.0) * type_1[1], counts, used, first)
    first[0], first[first.size - 1] = type_1[0], type_1[1]
    for direction in (-1, 1):
        for j in range(first.size):
            point[j] = first[j]
        i = middle
        while 0 <= i < log_m.size:
            m = math.exp(log_m[i])
            scale = (m, m if scaled else 1.0)
            if not _follow(point, scale, counts, used, answers, out[i]):
                break
            if i == middle:
                for j in range(first.size):
                    first[j] = point[j]
            i += direction
