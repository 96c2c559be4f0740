r"""Maximum likelihood estimation of meta-d' for thousands of tables at a time.

The likelihood is equation (1) of `meta_d_likelihood`, maximised over m and the confidence criteria
by Newton's method with exact derivatives. The edge k follows the type-1 criterion: :math:`k = \rho
m` with :math:`\rho = c/d'` (scaled), or :math:`k = c` (fixed).

A rating that is never given with a response has probability zero at the maximum, because its
criteria coincide. Ratings that are never given with a response are removed before the fit.

The implicit function theorem gives the dependence of the maximum on the type-1 estimates. With H
the Hessian over m and the criteria along the edge's path, and g the gradient,

.. math:: \frac{\partial (m, v)}{\partial \rho} = (-H)^{-1} \frac{\partial g}{\partial \rho}.
          \quad (3)

The derivatives with respect to c are similar. The derivatives of the maximum propagate the
uncertainty of d' and c to m.

References
----------
Maniscalco, B., & Lau, H. (2012). A signal detection theoretic approach for estimating
metacognitive sensitivity from confidence ratings. Consciousness and Cognition, 21(1), 422-430.
https://doi.org/10.1016/j.concog.2011.09.021
"""

import math

import numpy as np

from psychollm._base.types import FloatArray, IntArray
from psychollm.kernels._jit import njit
from psychollm.kernels.meta_d_likelihood import ascent, factorise, log_likelihood, substitute
from psychollm.kernels.normal import normal_quantile, normal_upper

CONVERGED, NOT_CONVERGED, UNBOUNDED, UNDEFINED = 0, 1, 2, 3
D_PRIME, CRITERION, META_D, LOG_LIKELIHOOD, VARIANCE, DRIFT, ITERATIONS, STATUS = range(8)
COLUMNS = 8  # number of columns that `fit_tables` fills

LOWEST_D_PRIME = 0.1
LARGEST_META_D = 10.0
_MAX_ITERATIONS = 100
_MAX_HALVINGS = 40
_TOLERANCE = 1e-12


@njit
def pack(table: FloatArray, counts: FloatArray, used: IntArray, rating: IntArray) -> None:
    """Omit the ratings that never occur with a given response."""
    # `table` (classes, responses, ratings); `counts` (responses, 2, ratings) and `used` are as in
    # `log_likelihood`; `rating` (responses, ratings) receives the ratings that are kept.
    for response in range(2):
        n = 0
        for j in range(table.shape[2]):
            right, wrong = table[response, response, j], table[1 - response, response, j]
            if right + wrong > 0.0:
                counts[response, 0, n] = right
                counts[response, 1, n] = wrong
                rating[response, n] = j
                n += 1
        used[response] = n


@njit
def start(m: float, k: float, counts: FloatArray, used: IntArray, point: FloatArray) -> None:
    """Fill `point` with criteria that give correct answers the distribution of all ratings."""
    point[0], point[point.size - 1] = m, k
    cut = 1
    for response in range(2):
        n = used[response]
        total = 0.0
        for j in range(n):
            total += counts[response, 0, j] + counts[response, 1, j]
        tail = normal_upper((k if response == 1 else -k) - 0.5 * m)
        above = total
        for j in range(n - 1):
            above -= counts[response, 0, j] + counts[response, 1, j]
            point[cut] = 0.5 * m - normal_quantile(tail * above / total)
            cut += 1


@njit
def _fold(ratio: float, gradient: FloatArray, hessian: FloatArray) -> None:
    """Convert derivatives in m at fixed k to derivatives in m at fixed k - `ratio` m."""
    last = gradient.size - 1
    gradient[0] += ratio * gradient[last]
    for i in range(last + 1):
        hessian[0, i] += ratio * hessian[last, i]
    for i in range(last + 1):
        hessian[i, 0] += ratio * hessian[i, last]


@njit
def _climb(
    point: FloatArray,
    ratio: float,
    counts: FloatArray,
    used: IntArray,
    gradient: FloatArray,
    hessian: FloatArray,
) -> tuple[float, int, int]:
    """Maximise equation (1) over m and the criteria in `point`, with k = k0 + `ratio` m."""
    # Returns the log likelihood, the number of iterations, and the status.
    last = point.size - 1
    offset = point[last] - ratio * point[0]
    factor, step, trial = np.zeros((last, last)), np.empty(last), np.empty(last + 1)
    parts = np.empty((3, counts.shape[2]))
    value = log_likelihood(point, counts, used, parts, gradient, hessian)
    for iteration in range(_MAX_ITERATIONS):
        _fold(ratio, gradient, hessian)
        gain = ascent(gradient, hessian, last, factor, step)
        if gain < _TOLERANCE:
            return value, iteration, CONVERGED
        if not gain < math.inf:
            return value, iteration, NOT_CONVERGED
        length = min(1.0, 2.0 / abs(step[0])) if step[0] != 0.0 else 1.0
        moved = -math.inf
        for _ in range(_MAX_HALVINGS):
            for i in range(last):
                trial[i] = point[i] + length * step[i]
            trial[last] = offset + ratio * trial[0]
            moved = log_likelihood(trial, counts, used, parts, gradient, hessian)
            if moved > value - 1e-10:
                break
            length *= 0.5
        if not moved > value - 1e-10:
            return value, iteration, NOT_CONVERGED
        for i in range(last + 1):
            point[i] = trial[i]
        value = moved
        if max(abs(point[0]), abs(point[last])) > LARGEST_META_D:
            return value, iteration, UNBOUNDED
    return value, _MAX_ITERATIONS, NOT_CONVERGED


@njit
def _uncertainty(
    point: FloatArray,
    ratio: float,
    scaled: bool,
    counts: FloatArray,
    used: IntArray,
    out: FloatArray,
) -> None:
    """Fill `out` with the variance of m at fixed type-1 estimates, and the derivatives of m."""
    # The derivative is dm/drho if the criterion is scaled, and dm/dc if it is fixed.
    last = point.size - 1
    gradient, hessian = np.empty(last + 1), np.empty((last + 1, last + 1))
    factor, parts = np.zeros((last, last)), np.empty((3, counts.shape[2]))
    log_likelihood(point, counts, used, parts, gradient, hessian)
    cross = np.empty(last)
    for i in range(last):
        cross[i] = hessian[i, last]
    if scaled:
        cross[0] = gradient[last] + point[0] * (cross[0] + ratio * hessian[last, last])
        for i in range(1, last):
            cross[i] *= point[0]
    _fold(ratio, gradient, hessian)
    out[VARIANCE], out[DRIFT] = math.nan, math.nan
    if factorise(hessian, 0.0, last, factor):
        unit = np.zeros(last)
        unit[0] = 1.0
        substitute(factor, last, unit)
        out[VARIANCE] = unit[0]
        out[DRIFT] = 0.0
        for i in range(last):
            out[DRIFT] += unit[i] * cross[i]


@njit
def _type_1(table: FloatArray, out: FloatArray) -> None:
    """Fill `out` with d' and c; NaN where a rate is 0, 1 or undefined."""
    hits, misses = table[1, 1].sum(), table[1, 0].sum()
    alarms, rejections = table[0, 1].sum(), table[0, 0].sum()
    if min(hits, misses, alarms, rejections) > 0.0:
        z_hit = normal_quantile(hits / (hits + misses))
        z_alarm = normal_quantile(alarms / (alarms + rejections))
        out[D_PRIME], out[CRITERION] = z_hit - z_alarm, -0.5 * (z_hit + z_alarm)


@njit
def _fits(table: FloatArray, d_prime: float, used: IntArray) -> bool:
    """Return whether m can be estimated: no class is empty, d' is above 0, and ratings vary."""
    for response in range(2):
        if not min(table[0, response].sum(), table[1, response].sum()) > 0.0:
            return False
    return d_prime > LOWEST_D_PRIME and used[0] + used[1] > 2


@njit
def _unpack(point: FloatArray, rating: IntArray, used: IntArray, criteria: FloatArray) -> None:
    """Fill `criteria` (responses, ratings - 1) on the evidence axis, in increasing order."""
    # Criteria below the lowest rating in use are set to k, and criteria above the highest to
    # infinity.
    n_cuts = criteria.shape[1]
    first = 1
    for response in range(2):
        sign = 2.0 * response - 1.0
        for j in range(n_cuts):
            below = 0  # number of ratings in use among the first j + 1
            while below < used[response] and rating[response, below] <= j:
                below += 1
            cut = sign * point[point.size - 1]
            if below == used[response]:
                cut = math.inf
            elif below > 0:
                cut = point[first + below - 1]
            criteria[response, j if response == 1 else n_cuts - 1 - j] = sign * cut
        first += used[response] - 1


@njit
def _fit(
    table: FloatArray, padding: float, scaled: bool, out: FloatArray, criteria: FloatArray
) -> None:
    out[:] = math.nan
    criteria[:, :] = math.nan
    out[ITERATIONS], out[STATUS] = 0.0, UNDEFINED
    n_ratings = table.shape[2]
    padded, counts = np.empty((2, 2, n_ratings)), np.zeros((2, 2, n_ratings))
    for stimulus in range(2):
        for response in range(2):
            for j in range(n_ratings):
                padded[stimulus, response, j] = table[stimulus, response, j] + padding
    _type_1(padded, out)
    used, rating = np.zeros(2, dtype=np.int64), np.zeros((2, n_ratings), dtype=np.int64)
    pack(table, counts, used, rating)
    if not _fits(table, out[D_PRIME], used):
        return
    pack(padded, counts, used, rating)
    ratio = out[CRITERION] / out[D_PRIME] if scaled else 0.0
    point, best = np.empty(used[0] + used[1]), np.empty(used[0] + used[1])
    gradient, hessian = np.empty(point.size), np.empty((point.size, point.size))
    # One start suffices if the criterion is between the two means; otherwise, (1) may have several
    # maxima.
    outside = abs(out[CRITERION]) > 0.5 * out[D_PRIME]
    for m in (out[D_PRIME], 0.25 * out[D_PRIME], -1.0, 1.0, -3.0):
        if out[STATUS] == CONVERGED and not outside:
            break
        start(m, ratio * m if scaled else out[CRITERION], counts, used, point)
        value, iterations, status = _climb(point, ratio, counts, used, gradient, hessian)
        out[ITERATIONS] += iterations
        if status == CONVERGED and not value <= out[LOG_LIKELIHOOD]:
            out[LOG_LIKELIHOOD] = value
            for i in range(point.size):
                best[i] = point[i]
        if out[STATUS] != CONVERGED:
            out[STATUS] = status
    if out[STATUS] == CONVERGED:
        out[META_D] = best[0]
        _uncertainty(best, ratio, scaled, counts, used, out)
        _unpack(best, rating, used, criteria)


@njit
def fit_tables(
    tables: FloatArray, padding: float, scaled: bool, out: FloatArray, criteria: FloatArray
) -> None:
    """Fit meta-d' to every table of counts, with `padding` added to each cell."""
    # `tables` (n, classes, responses, ratings); `out` (n, COLUMNS); `criteria` (n, responses,
    # ratings - 1). If a table cannot be fitted, `out` and `criteria` are NaN, and the status gives
    # the reason, which is determined from the counts before padding.
    for row in range(tables.shape[0]):
        _fit(tables[row], padding, scaled, out[row], criteria[row])


@njit
def count_cells(weights: FloatArray, cell: IntArray, tables: FloatArray) -> None:
    """Fill `tables` (n, cells) with the sum of question weights (n, questions) in each cell."""
    # `cell` (questions,) is negative where an answer is missing.
    tables[:, :] = 0.0
    for row in range(weights.shape[0]):
        for question in range(cell.size):
            if cell[question] >= 0:
                tables[row, cell[question]] += weights[row, question]
