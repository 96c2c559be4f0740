r"""Standard errors and profile likelihoods of one 2 x 2 table.

With cell probabilities :math:`P_c`, density :math:`\varphi_2` at the thresholds, and signs +1 for
the diagonal cells, the score of a question in cell c is :math:`s_c = \pm\varphi_2 / P_c`, and its
information is :math:`I = \varphi_2^2 \sum_c 1/P_c`. Estimated thresholds enter through
:math:`K_j = \varphi_2 \sum_c \pm P_c^{-1}\,\partial P_c/\partial\tau_j`: a question contributes

.. math:: \psi = \frac1I \Big[\frac{s_c}{n} + \frac{K_1 (y_1 - p_1)}{\varphi(\tau_1) n_1}
          + \frac{K_2 (y_2 - p_2)}{\varphi(\tau_2) n_2}\Big]                             \quad (1)

to the estimate, where the first term occurs only if both models answered the question. If the
thresholds come from the same n questions, equation (1) is the delta method of the saturated table.
If the thresholds are held fixed, only the first term remains, and the variance is 1/(n I).

References
----------
Hamdan, M. A. (1970). The equivalence of tetrachoric and maximum likelihood estimates of rho in
2 x 2 tables. Biometrika, 57(1), 212-215. https://doi.org/10.1093/biomet/57.1.212
Olsson, U. (1979). Maximum likelihood estimation of the polychoric correlation coefficient.
Psychometrika, 44(4), 443-460. https://doi.org/10.1007/BF02296207
"""

import math

import numpy as np

from psychollm.kernels._jit import njit
from psychollm.kernels.bivariate import bvn_pdf_near_bound, orthant
from psychollm.kernels.normal import normal_cdf, normal_pdf, quantile_of_tails
from psychollm.kernels.tetrachoric import (
    ADJUSTED,
    adjust_table,
    cell_probabilities,
    correlate_table,
    solve_table,
)

MAX_INNER = 50
MAX_OUTER = 80
# Profile limits are searched up to this absolute value of the angle arcsin(rho).
ANGLE_END = 1.5707863267948966  # pi / 2 - 1e-5, rho within 5e-11 of 1


@njit
def _conditional_shares(tau1, tau2, sign, rest):
    """Return P(Y > tau2 | X = tau1) and P(X > tau1 | Y = tau2) for rho = sign * (1 - rest)."""
    spread = math.sqrt(rest * (2.0 - rest))
    gap = sign * tau1 - tau2
    share1 = normal_cdf((gap - sign * rest * tau1) / spread)
    return share1, normal_cdf((-sign * gap - sign * rest * tau2) / spread)


@njit
def standard_errors(tau1, tau2, rho, rest, n, n1, n2):
    """Return SEs of rho for estimated thresholds (n1, n2 questions) and for known thresholds."""
    # `rest` is 1 - |rho| at full precision; near the bounds it cannot be computed from rho.
    if not rest > 0.0:
        return math.nan, math.nan
    sign = 1.0 if rho >= 0.0 else -1.0
    t = math.sqrt(rest / (2.0 - rest))
    p11, p00 = orthant(tau1, tau2, sign, t), orthant(-tau1, -tau2, sign, t)
    p10, p01 = orthant(tau1, -tau2, -sign, t), orthant(-tau1, tau2, -sign, t)
    if min(min(p11, p10), min(p01, p00)) <= 0.0:
        return math.nan, math.nan
    density = bvn_pdf_near_bound(tau1, tau2, sign, rest)
    inverse = 1.0 / p11 + 1.0 / p10 + 1.0 / p01 + 1.0 / p00
    share1, share2 = _conditional_shares(tau1, tau2, sign, rest)
    pull1 = (1.0 - share1) * (1.0 / p10 + 1.0 / p00) - share1 * (1.0 / p11 + 1.0 / p01)
    pull2 = (1.0 - share2) * (1.0 / p01 + 1.0 / p00) - share2 * (1.0 / p11 + 1.0 / p10)
    yes1, yes2, no1, no2 = p11 + p10, p11 + p01, p01 + p00, p10 + p00
    a, b = pull1 * n / n1, pull2 * n / n2
    variance = p11 * (1.0 / p11 + a * no1 + b * no2) ** 2
    variance += p10 * (-1.0 / p10 + a * no1 - b * yes2) ** 2
    variance += p01 * (-1.0 / p01 - a * yes1 + b * no2) ** 2
    variance += p00 * (1.0 / p00 - a * yes1 - b * yes2) ** 2
    variance += (n1 - n) / n * a * a * yes1 * no1 + (n2 - n) / n * b * b * yes2 * no2
    estimated = math.sqrt(variance / n) / (density * inverse)
    return estimated, 1.0 / (density * math.sqrt(n * inverse))


@njit
def standard_error_pairs(estimate, counts, tau, fixed, out):
    """Fill both standard errors (k, k) of all pairs; NaN at bounds and for undefined pairs."""
    # `estimate` is (matrix, complement), `counts` (yes, n), `out` (estimated, held).
    matrix, complement = estimate
    yes, n = counts
    estimated, held = out
    for i in range(tau.size):
        estimated[i, i] = held[i, i] = 0.0 if math.isfinite(tau[i]) else math.nan
        for j in range(i):
            tau1, tau2, n1, n2 = tau[i], tau[j], n[i, i], n[j, j]
            if not fixed:
                tau1, tau2 = table_thresholds(yes[i, j], yes[j, i], n[i, j])
                n1 = n2 = n[i, j]
            first, second = math.nan, math.nan
            if matrix[i, j] == matrix[i, j]:
                first, second = standard_errors(
                    tau1, tau2, matrix[i, j], complement[i, j], n[i, j], n1, n2
                )
            estimated[i, j] = estimated[j, i] = first
            held[i, j] = held[j, i] = second


@njit
def table_thresholds(yes1: float, yes2: float, n: float):
    """Return the thresholds of a table from its margins."""
    return quantile_of_tails((n - yes1) / n, yes1 / n), quantile_of_tails((n - yes2) / n, yes2 / n)


@njit
def _log_likelihood(cells, tau1, tau2, rho):
    """Return the multinomial log-likelihood of the four counts."""
    probabilities = cell_probabilities(tau1, tau2, rho)
    total = 0.0
    for c in range(4):
        if cells[c] > 0.0:
            total += cells[c] * math.log(probabilities[c])
    return total


@njit
def _threshold_step(cells, tau1, tau2, rho):
    """Return one Fisher-scoring step for the thresholds at fixed rho."""
    p = cell_probabilities(tau1, tau2, rho)
    share1, share2 = _conditional_shares(tau1, tau2, 1.0 if rho >= 0.0 else -1.0, 1.0 - abs(rho))
    f1, f2 = normal_pdf(tau1), normal_pdf(tau2)
    d1 = (-f1 * share1, -f1 * (1.0 - share1), f1 * share1, f1 * (1.0 - share1))
    d2 = (-f2 * share2, f2 * share2, -f2 * (1.0 - share2), f2 * (1.0 - share2))
    n = cells[0] + cells[1] + cells[2] + cells[3]
    g1 = g2 = i11 = i12 = i22 = 0.0
    for c in range(4):
        if p[c] > 0.0:
            g1 += cells[c] * d1[c] / p[c]
            g2 += cells[c] * d2[c] / p[c]
            i11 += n * d1[c] * d1[c] / p[c]
            i12 += n * d1[c] * d2[c] / p[c]
            i22 += n * d2[c] * d2[c] / p[c]
    determinant = i11 * i22 - i12 * i12
    if determinant <= 0.0:
        return 0.0, 0.0
    return (i22 * g1 - i12 * g2) / determinant, (i11 * g2 - i12 * g1) / determinant


@njit
def profile_log_likelihood(cells, tau1, tau2, rho):
    """Maximise over both thresholds at fixed rho; return log-likelihood and thresholds."""
    value = _log_likelihood(cells, tau1, tau2, rho)
    for _ in range(MAX_INNER):
        step1, step2 = _threshold_step(cells, tau1, tau2, rho)
        scale = 1.0
        better = value
        while scale > 1e-4:
            better = _log_likelihood(cells, tau1 + scale * step1, tau2 + scale * step2, rho)
            if better >= value:
                break
            scale *= 0.5
        if not better > value:
            break
        gain = better - value
        value, tau1, tau2 = better, tau1 + scale * step1, tau2 + scale * step2
        if gain < 1e-11 * (1.0 + abs(value)):
            break
    return value, tau1, tau2


@njit
def _excess(cells, tau1, tau2, angle, top, critical):
    """Return the signed likelihood-ratio root minus its critical value, and the thresholds."""
    value, new1, new2 = profile_log_likelihood(cells, tau1, tau2, math.sin(angle))
    return math.sqrt(max(2.0 * (top - value), 0.0)) - critical, new1, new2


@njit
def _profile_limit(cells, tau, start, end, step, limits):
    """Return the angle where the profile crosses its critical value; `end` without a crossing."""
    # The search steps outwards from the maximum until the crossing is bracketed. The search then
    # uses false position with Illinois weights, because the signed root is almost linear in the
    # angle.
    if start == end:
        return end
    tau1, tau2 = tau
    top, critical = limits
    direction = 1.0 if end > start else -1.0
    inside, f_in = start, -critical
    outside, f_out = start, -critical
    while f_out <= 0.0:
        inside, f_in = outside, f_out
        outside = inside + direction * step
        step *= 2.0
        if direction * (outside - end) >= 0.0:
            outside = end
        f_out, new1, new2 = _excess(cells, tau1, tau2, outside, top, critical)
        if f_out <= 0.0:
            tau1, tau2 = new1, new2
            if outside == end:
                return end
    middle = outside
    for _ in range(MAX_OUTER):
        middle = 0.5 * (inside + outside)
        if math.isfinite(f_out):
            middle = (inside * f_out - outside * f_in) / (f_out - f_in)
        value, new1, new2 = _excess(cells, tau1, tau2, middle, top, critical)
        if abs(value) < 1e-9 or abs(outside - inside) < 1e-10:
            break
        if value < 0.0:
            inside, f_in, tau1, tau2 = middle, value, new1, new2
            f_out *= 0.5
        else:
            outside, f_out = middle, value
            f_in *= 0.5
    return middle


@njit
def profile_interval(cells, tau1, tau2, rho, drop):
    """Return the likelihood-ratio interval of rho for a table (n11, n10, n01, n00)."""
    # `drop`, half a chi-square quantile, is the largest decrease of the log-likelihood from its
    # saturated maximum inside the interval. If the profile does not decrease by this much on one
    # side, the interval ends at the bound of rho.
    total = cells[0] + cells[1] + cells[2] + cells[3]
    top = 0.0
    for c in range(4):
        if cells[c] > 0.0:
            top += cells[c] * math.log(cells[c] / total)
    critical = math.sqrt(2.0 * drop)
    angle = min(max(math.asin(rho), -ANGLE_END), ANGLE_END)
    step = 2.5 * critical / math.sqrt(total)
    tau, limits = (tau1, tau2), (top, critical)
    low = _profile_limit(cells, tau, angle, -ANGLE_END, step, limits)
    high = _profile_limit(cells, tau, angle, ANGLE_END, step, limits)
    lower = -1.0 if low <= -ANGLE_END else math.sin(low)
    upper = 1.0 if high >= ANGLE_END else math.sin(high)
    return lower, upper


@njit
def profile_pairs(matrix, joint, yes, n, drop, out):
    """Fill `out` (k, k, 2) with profile-likelihood intervals of all defined pairs."""
    cells = np.empty(4)
    for i in range(matrix.shape[0]):
        out[i, i, 0] = out[i, i, 1] = matrix[i, i]
        for j in range(i):
            lower, upper = math.nan, math.nan
            if matrix[i, j] == matrix[i, j]:
                cells[0] = joint[i, j]
                cells[1] = yes[i, j] - joint[i, j]
                cells[2] = yes[j, i] - joint[i, j]
                cells[3] = n[i, j] - yes[i, j] - cells[2]
                tau1, tau2 = table_thresholds(yes[i, j], yes[j, i], n[i, j])
                start = solve_table(cells[0], cells[1], cells[2], cells[3], tau1, tau2)[0]
                lower, upper = profile_interval(cells, tau1, tau2, start, drop)
            out[i, j, 0] = out[j, i, 0] = lower
            out[i, j, 1] = out[j, i, 1] = upper


OWN_THRESHOLDS = False


@njit
def correlate_tables(cells, rule):
    """Estimate every row (n11, n10, n01, n00) of `cells`, shape (m, 4)."""
    # Returns (m, 9): rho, 1 - |rho|, residual, both thresholds, both standard errors, status,
    # steps. Thresholds are those of the table after the continuity correction `rule`.
    m = cells.shape[0]
    real = np.empty((m, 9))
    for r in range(m):
        n11, n10, n01, n00 = cells[r, 0], cells[r, 1], cells[r, 2], cells[r, 3]
        n = n11 + n10 + n01 + n00
        tau1, tau2 = table_thresholds(n11 + n10, n11 + n01, n)
        rho, rest, steps, left, status = correlate_table(
            n11, n10, n01, n00, (tau1, tau2), rule, OWN_THRESHOLDS
        )
        if status == ADJUSTED:
            n11, n10, n01, n00, _ = adjust_table(n11, n10, n01, n00, rule)
            n = n11 + n10 + n01 + n00
            tau1, tau2 = table_thresholds(n11 + n10, n11 + n01, n)
        first, second = standard_errors(tau1, tau2, rho, rest, n, n, n)
        real[r, 0], real[r, 1], real[r, 2] = rho, rest, left
        real[r, 3], real[r, 4], real[r, 5], real[r, 6] = tau1, tau2, first, second
        real[r, 7], real[r, 8] = status, steps
    return real
