r"""The tetrachoric correlation of one 2 x 2 table: the root of Phi2(tau1, tau2, rho) = p.

Given the proportions of the four cells, sign changes move the smallest proportion to the upper
right quadrant: P(X > a, Y > b; r) = p. In the half-angle variable of `kernels.bivariate`,
:math:`|r| = (1 - t^2)/(1 + t^2)`, the equation reads

.. math:: \int_t^1 g(s; a, \pm b)\,ds = 2\pi |p - q_a q_b|,                              \quad (1)

with + for positive and - for negative r. The right side is computed from the cross product of the
counts to avoid cancellation near independence. For strongly negative r in the upper right
quadrant, the equivalent equation from the other end,

.. math:: \int_0^t g(s; a, -b)\,ds = 2\pi p,                                            \quad (2)

preserves the relative accuracy of :math:`1 - |r|`. The left sides are integrated once; each step
then adds only the integral over the step. The solver takes Halley steps within a bracket, starting
from Bonett and Price's approximation. The residual of the equation after the last step shows how
accurate the result is.

If the thresholds come from all answers of each model instead of the table, one parameter cannot
match four cells. The estimate then maximises the likelihood over rho, and is the root of
sum(sign_c n_c / P_c) = 0.

References
----------
Bonett, D. G., & Price, R. M. (2005). Inferential methods for the tetrachoric correlation
coefficient. Journal of Educational and Behavioral Statistics, 30(2), 213-225.
https://doi.org/10.3102/10769986030002213
"""

import math

import numpy as np

from psychollm._base.types import FloatArray
from psychollm.kernels._jit import njit
from psychollm.kernels.bivariate import (
    NODES_20,
    TWO_PI,
    WEIGHTS_20,
    bvn_pdf,
    bvn_upper,
    sheppard_integral,
    sheppard_integrand,
)
from psychollm.kernels.normal import quantile_of_tails

NODES_4, WEIGHTS_4 = np.polynomial.legendre.leggauss(4)
NODES_8, WEIGHTS_8 = np.polynomial.legendre.leggauss(8)
NODES_12, WEIGHTS_12 = np.polynomial.legendre.leggauss(12)

INTERIOR, AT_BOUND, ADJUSTED, UNDEFINED = 0, 1, 2, 3
MAX_STEPS = 60
# A panel [lo, hi] with lo >= PANEL_RATIO * hi is integrated to 1e-14 by 20 nodes, provided that
# |a| and |b| are at most FAR.
PANEL_RATIO = 0.35
FAR = 4.5
NEAR = 0.5 * FAR * FAR  # limit of (a - b)^2 / 8 and of a b / 2


@njit
def _gauss(nodes, weights, lo, hi, gap, product):
    """Integrate Sheppard's integrand over one panel by a Gauss-Legendre rule."""
    half = 0.5 * (hi - lo)
    middle = 0.5 * (hi + lo)
    total = 0.0
    for i in range(nodes.size):
        total += weights[i] * sheppard_integrand(middle + half * nodes[i], gap, product)
    return half * total


@njit
def integral_to_one(t: float, gap: float, product: float) -> float:
    """Integrate from t to 1, with node counts chosen by comparison with accurate integrals."""
    if t >= 0.85:
        return _gauss(NODES_8, WEIGHTS_8, t, 1.0, gap, product)
    if t >= 0.6:
        return _gauss(NODES_12, WEIGHTS_12, t, 1.0, gap, product)
    total, hi = 0.0, 1.0
    while t < PANEL_RATIO * hi:
        total += _gauss(NODES_20, WEIGHTS_20, PANEL_RATIO * hi, hi, gap, product)
        hi *= PANEL_RATIO
    return total + _gauss(NODES_20, WEIGHTS_20, t, hi, gap, product)


@njit
def bvn_upper_fast(a: float, b: float, qa: float, qb: float, r: float) -> float:
    """Return P(X > a, Y > b) within 1e-15, for |a|, |b| <= 4.5, given P(X > a) and P(Y > b)."""
    size = abs(r)
    t = math.sqrt((1.0 - size) / (1.0 + size))
    if r >= 0.0:
        return qa * qb + integral_to_one(t, 0.125 * (a - b) * (a - b), 0.5 * a * b) / TWO_PI
    return qa * qb - integral_to_one(t, 0.125 * (a + b) * (a + b), -0.5 * a * b) / TWO_PI


@njit
def _integral_over_step(lo: float, hi: float, change: float, gap: float, product: float) -> float:
    """Integrate over a signed step; `change` measures how much the integrand varies there."""
    if change < 0.02:
        return _gauss(NODES_4, WEIGHTS_4, lo, hi, gap, product)
    if change < 0.4:
        return _gauss(NODES_8, WEIGHTS_8, lo, hi, gap, product)
    narrow = min(lo, hi) >= PANEL_RATIO * max(lo, hi)
    if narrow and gap <= NEAR and abs(product) <= NEAR:
        return _gauss(NODES_20, WEIGHTS_20, lo, hi, gap, product)
    if lo <= hi:
        return sheppard_integral(lo, hi, gap, product)
    return -sheppard_integral(hi, lo, gap, product)


@njit
def _bonett_price_angle(
    small: float, opposite: float, c: float, d: float, difference: float
) -> float:
    """Return half the angle arccos|r| of Bonett and Price's approximation."""
    total = small + opposite + c + d
    odds = (c * d) / (small * opposite)
    if odds < 1.0:
        odds = 1.0 / odds
    rarest = small / total
    power = 0.5 * (1.0 - 0.2 * difference - (0.5 - rarest) * (0.5 - rarest))
    return 0.5 * math.pi / (1.0 + odds**power)


@njit
def _solve(t, residual, orientation, gap, product):
    """Find t with residual(t) = 0, where d residual / dt = orientation * g(t)."""
    # Returns t, the number of steps, and the remaining residual.
    low, high = 0.0, 1.0
    steps = 0
    while steps < MAX_STEPS:
        density = sheppard_integrand(t, gap, product)
        slope = 2.0 * gap * (1.0 / (t * t * t) - t) - 2.0 * product * t - 2.0 * t / (1.0 + t * t)
        excess = orientation * residual
        if excess > 0.0:
            high = t
        else:
            low = t
        newton = -excess / density if density > 0.0 else math.inf
        if abs(newton) <= 4e-16 * t or residual == 0.0:
            break
        damping = 1.0 + 0.5 * slope * newton
        # Where g vanishes, Halley's steps are too short. Newton's step leaves the bracket there,
        # and the bracket is halved.
        step = newton / damping if 0.25 < damping < 10.0 else newton
        following = t + step
        if not low < following < high:
            following = 0.5 * (low + high)
            step = following - t
        change = abs(step) * (abs(slope) + 1.0 / t)
        residual += orientation * _integral_over_step(t, following, change, gap, product)
        t = following
        steps += 1
        if high - low <= 4e-16 * high:
            break
    return t, steps, residual


@njit
def smallest_first(n11, n10, n01, n00, tau1, tau2):
    """Change signs so that the quadrant (X > a, Y > b) has the smallest count."""
    # Returns the counts of this quadrant, of the opposite one, of (X > a, Y <= b) and of (X <= a,
    # Y > b), then a, b, and the factor of the correlation.
    small = min(min(n11, n00), min(n10, n01))
    if n11 == small:
        return n11, n00, n10, n01, tau1, tau2, 1.0
    if n00 == small:
        return n00, n11, n01, n10, -tau1, -tau2, 1.0
    if n10 == small:
        return n10, n01, n11, n00, tau1, -tau2, -1.0
    return n01, n10, n00, n11, -tau1, tau2, -1.0


@njit
def equation_of(small, opposite, c, d, a, b):
    """Return sign, gap, product, p - qa qb, starting t, and whether equation (2) replaces (1)."""
    total = small + opposite + c + d
    cross = (small * opposite - c * d) / (total * total)
    sign = 1.0 if cross > 0.0 else -1.0
    gap = 0.125 * (a - sign * b) * (a - sign * b)
    t = math.tan(_bonett_price_angle(small, opposite, c, d, abs(c - d) / total))
    return sign, gap, 0.5 * sign * a * b, cross, t, sign < 0.0 and small / total < -0.0625 * cross


@njit
def _from_quadrant(small, opposite, c, d, a, b):
    """Solve for the quadrant (X > a, Y > b), whose count `small` is the smallest of the table."""
    # Returns r, 1 - |r|, steps, residual of the probability.
    sign, gap, product, cross, t, strong = equation_of(small, opposite, c, d, a, b)
    if cross == 0.0:
        return 0.0, 1.0, 0, 0.0
    if strong:
        p = small / (small + opposite + c + d)
        residual = sheppard_integral(0.0, t, gap, product) - TWO_PI * p
        t, steps, residual = _solve(t, residual, 1.0, gap, product)
    else:
        far = abs(a) > FAR or abs(b) > FAR
        start = (
            sheppard_integral(t, 1.0, gap, product) if far else integral_to_one(t, gap, product)
        )
        t, steps, residual = _solve(t, start - TWO_PI * abs(cross), -1.0, gap, product)
    r, rest = correlation_at(t, sign)
    return r, rest, steps, residual / TWO_PI


@njit
def correlation_at(t, sign):
    """Return r and 1 - |r| from the half-angle variable t of equation (2)."""
    square = 1.0 + t * t
    return sign * (1.0 - t) * (1.0 + t) / square, 2.0 * t * t / square


@njit
def solve_table(n11, n10, n01, n00, tau1, tau2):
    """Return the tetrachoric correlation of a table, with thresholds from its own margins."""
    # Returns rho, 1 - |rho|, steps, residual, status (INTERIOR or AT_BOUND).
    small, opposite, c, d, a, b, factor = smallest_first(n11, n10, n01, n00, tau1, tau2)
    if small <= 0.0:
        return (1.0 if min(n10, n01) <= 0.0 else -1.0), 0.0, 0, 0.0, AT_BOUND
    rho, rest, steps, left = _from_quadrant(small, opposite, c, d, a, b)
    return factor * rho, rest, steps, left, INTERIOR


@njit
def cell_probabilities(tau1: float, tau2: float, rho: float):
    """Return P11, P10, P01, P00, each with high relative accuracy."""
    return (
        bvn_upper(tau1, tau2, rho),
        bvn_upper(tau1, -tau2, -rho),
        bvn_upper(-tau1, tau2, -rho),
        bvn_upper(-tau1, -tau2, rho),
    )


@njit
def _score(n11, n10, n01, n00, tau1, tau2, rho):
    """Return score and information of rho per unit of bivariate density, at fixed thresholds."""
    cells = (n11, n10, n01, n00)
    probabilities = cell_probabilities(tau1, tau2, rho)
    score, information = 0.0, 0.0
    for c in range(4):
        if cells[c] > 0.0:
            sign = 1.0 if c == 0 or c == 3 else -1.0
            score += sign * cells[c] / probabilities[c]
            information += cells[c] / (probabilities[c] * probabilities[c])
    return score, information


@njit
def solve_fixed(n11, n10, n01, n00, tau1, tau2):
    """Maximise the likelihood over rho at given thresholds."""
    # The maximum is found by Newton's method for the angle w, with rho = sin(w), inside a bracket.
    # Returns rho, 1 - |rho|, steps, residual (the last step in rho), and status.
    if min(n10, n01) <= 0.0 and min(n11, n00) > 0.0:
        return 1.0, 0.0, 0, 0.0, AT_BOUND
    if min(n11, n00) <= 0.0 and min(n10, n01) > 0.0:
        return -1.0, 0.0, 0, 0.0, AT_BOUND
    low, high = -0.5 * math.pi, 0.5 * math.pi
    w, steps, move = 0.0, 0, 0.0
    while steps < MAX_STEPS:
        score, information = _score(n11, n10, n01, n00, tau1, tau2, math.sin(w))
        if score > 0.0:
            low = w
        else:
            high = w
        move = score / (information * bvn_pdf(tau1, tau2, math.sin(w)) * math.cos(w))
        steps += 1
        if abs(move) <= 1e-11:  # Newton's step squares the error, so no further step is needed
            w += move
            break
        following = w + move
        if not low < following < high:
            following = 0.5 * (low + high)
        w = following
    at_bound = abs(w) > 0.5 * math.pi - 1e-8
    half = math.sin(0.25 * math.pi - 0.5 * abs(w))
    status = AT_BOUND if at_bound else INTERIOR
    return math.sin(w), 2.0 * half * half, steps, move * math.cos(w), status


@njit
def newton_in_bracket(w, low, high, score, bend):
    """Return the next angle w (rho = sin w), its bracket, its change, and whether to stop."""
    # `score` and `bend` are the first two derivatives of the log likelihood with respect to rho.
    if score > 0.0:
        low = w
    else:
        high = w
    rho, slope = math.sin(w), math.cos(w)
    bend = bend * slope * slope - score * rho
    move = -score * slope / bend if bend < 0.0 else math.copysign(math.inf, score)
    if abs(move) <= 1e-9:  # Newton's step squares the error, so no further step is needed
        return w + move, low, high, move, True
    following = w + move
    if not low < following < high:
        following = 0.5 * (low + high)
        move = following - w
    return following, low, high, move, False


@njit
def adjust_table(n11, n10, n01, n00, rule):
    """Apply the continuity correction: 0 none, 1 keep_margins, 2 add_half, 3 add_half_all."""
    # Returns the four cells and whether they were changed.
    empty = (n11 <= 0.0) + (n10 <= 0.0) + (n01 <= 0.0) + (n00 <= 0.0)
    if empty == 0 or rule == 0:
        return n11, n10, n01, n00, False
    if rule == 3:
        return n11 + 0.5, n10 + 0.5, n01 + 0.5, n00 + 0.5, True
    if rule == 2:
        return (
            n11 if n11 > 0.0 else 0.5,
            n10 if n10 > 0.0 else 0.5,
            n01 if n01 > 0.0 else 0.5,
            n00 if n00 > 0.0 else 0.5,
            True,
        )
    # keep_margins moves half a count between the diagonals, but at most half of a cell's count.
    diagonal = min(n11, n00) <= 0.0
    shift = 0.5 if diagonal else -0.5
    room = min(n10, n01) if diagonal else min(n11, n00)
    if empty > 1 or room <= 0.0:
        return n11, n10, n01, n00, False
    if room < 1.0:
        shift *= room
    return n11 + shift, n10 - shift, n01 - shift, n00 + shift, True


@njit
def corrected_table(n11, n10, n01, n00, tau, rule, fixed):
    """Return a table after the continuity correction, its thresholds, and the status."""
    # With `fixed` the thresholds `tau` of the pair are kept; otherwise they are those of the
    # table, recomputed if the continuity correction changes its margins.
    tau1, tau2 = tau
    row, column = n11 + n10, n11 + n01
    total = row + n01 + n00
    constant = row <= 0.0 or column <= 0.0 or total - row <= 0.0 or total - column <= 0.0
    if not total > 0.0 or constant or not (math.isfinite(tau1) and math.isfinite(tau2)):
        return n11, n10, n01, n00, tau1, tau2, UNDEFINED
    n11, n10, n01, n00, changed = adjust_table(n11, n10, n01, n00, rule)
    if changed and rule > 1 and not fixed:
        tau1 = _threshold(n11 + n10, n01 + n00)
        tau2 = _threshold(n11 + n01, n10 + n00)
    return n11, n10, n01, n00, tau1, tau2, ADJUSTED if changed else INTERIOR


@njit
def correlate_corrected(n11, n10, n01, n00, tau1, tau2, done, fixed):
    """Estimate a corrected table; return rho, 1 - |rho|, steps, residual, status."""
    if done == UNDEFINED:
        return math.nan, math.nan, 0, math.nan, UNDEFINED
    if fixed:
        rho, rest, steps, left, status = solve_fixed(n11, n10, n01, n00, tau1, tau2)
    else:
        rho, rest, steps, left, status = solve_table(n11, n10, n01, n00, tau1, tau2)
    return rho, rest, steps, left, done if status == INTERIOR else status


@njit
def correlate_table(n11, n10, n01, n00, tau, rule, fixed):
    """Estimate one pair; return rho, 1 - |rho|, steps, residual, status."""
    n11, n10, n01, n00, tau1, tau2, done = corrected_table(n11, n10, n01, n00, tau, rule, fixed)
    return correlate_corrected(n11, n10, n01, n00, tau1, tau2, done, fixed)


@njit
def _threshold(yes: float, no: float) -> float:
    """Return the latent value that is exceeded with probability yes/(yes + no)."""
    total = yes + no
    return quantile_of_tails(no / total, yes / total)


@njit
def fill_thresholds(yes, n, tau):
    """Fill thresholds of marginal counts; infinite for constant models, NaN without answers."""
    for i in range(yes.size):
        tau[i] = _threshold(yes[i], n[i] - yes[i]) if n[i] > 0.0 else math.nan


def thresholds_of(yes: FloatArray, n: FloatArray) -> FloatArray:
    """Return the thresholds of `fill_thresholds`, in the shape of the counts."""
    tau = np.empty(yes.shape)
    fill_thresholds(yes.reshape(-1), n.reshape(-1), tau.reshape(-1))
    return tau


@njit
def pair_thresholds(yes, n, tau, i, j):
    """Return thresholds of i and j on their common questions (`tau` if no answer is missing)."""
    tau1, tau2 = tau[i], tau[j]
    if n[i, j] < n[i, i]:
        tau1 = _threshold(yes[i, j], n[i, j] - yes[i, j]) if n[i, j] > 0.0 else math.nan
    if n[i, j] < n[j, j]:
        tau2 = _threshold(yes[j, i], n[i, j] - yes[j, i]) if n[i, j] > 0.0 else math.nan
    return tau1, tau2
