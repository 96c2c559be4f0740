r"""Tetrachoric correlations of several tables at a time, by vector instructions.

Equation (1) of `kernels.tetrachoric` is solved for `LANES` tables together, one table per lane.
All lanes use the quadrature rule that the most difficult table needs, and iterate until every
table has converged. The steps, the start and the test of convergence are the same as in
`kernels.tetrachoric`. Inner loops run over lanes without branches, and `kernels.exponential`
replaces the exponential function of the C library.

Only tables of the usual kind are solved in lanes: thresholds are within `FAR`, all four counts are
above zero, and :math:`t \ge 0.35^2` at the start. Unusual tables are solved one at a time. The
integral from t to 1 is computed on [t, sqrt t] and [sqrt t, 1] if t is below 0.35; on every panel
the ratio of the ends is then at least 0.35, where 20 nodes suffice. A step multiplies t by a
factor between 0.35 and 1 / 0.35.
"""

import math

import numpy as np

from psychollm.kernels._jit import njit
from psychollm.kernels.bivariate import NODES_20, TWO_PI, WEIGHTS_20
from psychollm.kernels.exponential import exponential
from psychollm.kernels.tetrachoric import (
    FAR,
    MAX_STEPS,
    NODES_4,
    NODES_8,
    NODES_12,
    PANEL_RATIO,
    UNDEFINED,
    WEIGHTS_4,
    WEIGHTS_8,
    WEIGHTS_12,
    corrected_table,
    correlate_corrected,
    correlation_at,
    equation_of,
    smallest_first,
)

LANES = 32
ROWS = 12
LEAST = PANEL_RATIO * PANEL_RATIO
PRECISE = 4e-16


@njit
def _add_panels(nodes, weights, lo, hi, gap, product, total):
    """Add to `total` the integral of Sheppard's integrand from `lo` to `hi`, all (LANES,)."""
    for q in range(nodes.size):
        left, right = 0.5 * (1.0 - nodes[q]), 0.5 * (1.0 + nodes[q])
        for i in range(LANES):
            t = left * lo[i] + right * hi[i]
            s = t * t
            one = 1.0 + s
            inverse = 1.0 / (one * s)
            power = -gap[i] * (one * one * one * inverse) - product[i] * one
            total[i] += weights[q] * (hi[i] - lo[i]) * (s * inverse) * exponential(power)


@njit
def _densities(t, gap, product, density, slope):
    """Fill Sheppard's integrand at `t`, and the derivative of its logarithm."""
    for i in range(LANES):
        now, s = t[i], t[i] * t[i]
        one = 1.0 + s
        inverse = 1.0 / (one * s)
        power = -gap[i] * (one * one * one * inverse) - product[i] * one
        density[i] = 2.0 * (s * inverse) * exponential(power)
        cube = one * now * inverse * (one * inverse)
        slope[i] = 2.0 * (gap[i] * (cube - now) - product[i] * now - now * (s * inverse))


@njit
def _add_integrals_to_one(t, gap, product, middle, ones, total):
    """Add to `total` the integrals from `t` to 1."""
    least = 1.0  # no t is larger
    for i in range(LANES):
        least = min(least, t[i])
    # Each call of `_add_panels` is compiled anew, so that there are few.
    ones[:] = 1.0
    nodes, weights, start = NODES_20, WEIGHTS_20, t
    if least >= 0.85:
        nodes, weights = NODES_8, WEIGHTS_8
    elif least >= 0.6:
        nodes, weights = NODES_12, WEIGHTS_12
    elif least < PANEL_RATIO:
        for i in range(LANES):
            middle[i] = math.sqrt(t[i])
        _add_panels(nodes, weights, t, middle, gap, product, total)
        start = middle
    _add_panels(nodes, weights, start, ones, gap, product, total)


@njit
def _solve_lanes(t, residual, gap, product, steps, work):
    """Find the `t` at which `residual` is zero by Halley steps within brackets, as in `_solve`."""
    low, high, density, slope, following, change = work
    low[:] = 0.0
    high[:] = 1.0
    for step in range(MAX_STEPS):
        _densities(t, gap, product, density, slope)
        largest, moved = 0.0, False
        for i in range(LANES):
            now = t[i]
            if residual[i] < 0.0:
                high[i] = now
            else:
                low[i] = now
            newton = residual[i] / density[i] if density[i] > 0.0 else math.inf
            following[i] = now
            if abs(newton) <= PRECISE * now or residual[i] == 0.0:
                continue
            if high[i] - low[i] <= PRECISE * high[i]:
                continue
            damping = 1.0 + 0.5 * slope[i] * newton
            to = now + (newton / damping if 0.25 < damping < 10.0 else newton)
            if not low[i] < to < high[i]:
                to = 0.5 * (low[i] + high[i])
            to = min(max(to, PANEL_RATIO * now), now / PANEL_RATIO)
            following[i] = to
            steps[i] = step + 1
            largest = max(largest, abs(to - now) * (abs(slope[i]) + 1.0 / now))
            moved = True
        if not moved:
            return
        change[:] = 0.0
        nodes, weights = NODES_20, WEIGHTS_20
        if largest < 0.02:
            nodes, weights = NODES_4, WEIGHTS_4
        elif largest < 0.4:
            nodes, weights = NODES_8, WEIGHTS_8
        _add_panels(nodes, weights, t, following, gap, product, change)
        for i in range(LANES):
            residual[i] -= change[i]
            t[i] = following[i]


@njit
def work_space():
    """Return the arrays for `correlate_lanes`: tables, results and work space."""
    return np.empty((LANES, 6)), np.empty((LANES, 5)), np.empty((ROWS, LANES))


@njit
def correlate_lanes(m, tables, rule, fixed, found, work):
    """Estimate the first m <= LANES tables, as `correlate_table` does."""
    # A row of `tables` (LANES, 6) is n11, n10, n01, n00 and both thresholds; `found` (LANES, 5) is
    # filled with rho, 1 - |rho|, steps, residual and status; `work` is (ROWS, LANES). The sign of
    # a lane that holds no table is zero, and its equation is solved at the start.
    t, gap, product, residual, steps, sign = work[0], work[1], work[2], work[3], work[4], work[5]
    rooms = (work[6], work[7], work[8], work[9], work[10], work[11])
    work[:6] = 0.0
    t[:] = 1.0
    for i in range(m):
        tau = (tables[i, 4], tables[i, 5])
        n11, n10, n01, n00, tau1, tau2, done = corrected_table(
            tables[i, 0], tables[i, 1], tables[i, 2], tables[i, 3], tau, rule, fixed
        )
        near = done != UNDEFINED and not fixed and abs(tau1) <= FAR and abs(tau2) <= FAR
        if near and min(min(n11, n10), min(n01, n00)) > 0.0:
            small, opposite, c, d, a, b, factor = smallest_first(n11, n10, n01, n00, tau1, tau2)
            way, gap_, product_, cross, start, strong = equation_of(small, opposite, c, d, a, b)
            if start >= LEAST and not strong:
                sign[i], gap[i], product[i], found[i, 4] = factor * way, gap_, product_, done
                if cross != 0.0:
                    t[i], residual[i] = start, -TWO_PI * abs(cross)
                continue
        rho, rest, taken, left, status = correlate_corrected(
            n11, n10, n01, n00, tau1, tau2, done, fixed
        )
        found[i, 0], found[i, 1], found[i, 2] = rho, rest, taken
        found[i, 3], found[i, 4] = left, status
    _add_integrals_to_one(t, gap, product, rooms[0], rooms[1], residual)
    _solve_lanes(t, residual, gap, product, steps, rooms)
    for i in range(m):
        if sign[i] != 0.0:
            found[i, 0], found[i, 1] = correlation_at(t[i], sign[i])
            found[i, 2], found[i, 3] = steps[i], residual[i] / TWO_PI
