r"""The marginal likelihood of binary items, its gradient, and draws of abilities given answers.

Respondent i of group g has the ability :math:`\theta_i + \mu_g`, :math:`\theta_i \sim N(0, 1)`,
and answers yes to item j with probability :math:`F(z)`, :math:`z = a_j (\theta + \mu_g) + d_j`.
With nodes q of weight :math:`w_q`, an answer pattern u of frequency :math:`f_u` has the log
likelihood

.. math:: \ell_u = \log \sum_q w_q \exp\Big(\sum_{j:\,y=1} o_{jq} + b_q\Big), \qquad
          o = \log \frac{F}{1 - F}, \quad b = \sum_{j\ \text{answered}} \log(1 - F), \quad (1)

Let :math:`\pi_{uq}` be the posterior of the nodes, :math:`r_{jq} = \sum_u f_u \pi_{uq} y_{uj}`,
and :math:`m_{jq}` the same sum over all respondents who answered item j. The gradient follows from

.. math:: \frac{\partial \ell}{\partial z_{jq}} = r_{jq} \frac{F'}{F} - (m_{jq} - r_{jq})
          \frac{F'}{1 - F}.                                                              \quad (2)

References
----------
Bock, R. D., & Aitkin, M. (1981). Marginal maximum likelihood estimation of item parameters:
Application of an EM algorithm. Psychometrika, 46(4), 443-459.
https://doi.org/10.1007/BF02293801
"""

import numpy as np

from psychollm.kernels._jit import njit
from psychollm.kernels.exponential import exponentials
from psychollm.kernels.normal import normal_cdf

SQRT_2PI = 2.5066282746310002
TINY = 1e-300
REACH = 37.0
FARTHEST = 1e6
LOGIT, PROBIT = 0, 1


@njit
def _curve(z, link):
    """Return F, 1 - F and F' at z."""
    if link == LOGIT:
        small = np.exp(-abs(z))
        large = 1.0 / (1.0 + small)
        small *= large
        if z >= 0.0:
            return large, small, large * small
        return small, large, large * small
    z = min(max(z, -REACH), REACH)
    lower, upper = max(normal_cdf(z), TINY), max(normal_cdf(-z), TINY)
    return lower, upper, np.exp(-0.5 * z * z) / SQRT_2PI


@njit
def _tables(a, d, shift, nodes, link, odds, log_no):
    """Fill log odds o (J, Q) of equation (1), and log(1 - F) (J, Q)."""
    for j in range(a.size):
        for q in range(nodes.size):
            z = a[j] * (nodes[q] + shift) + d[j]
            if link == LOGIT:
                # The terms o and b nearly cancel in (1). For z near 1e30, their sum would be a
                # rounding error of either sign, and a sampler that reached such values could not
                # leave them.
                z = min(max(z, -FARTHEST), FARTHEST)
                odds[j, q] = z
                log_no[j, q] = -(max(z, 0.0) + np.log1p(np.exp(-abs(z))))
            else:
                yes, no, _ = _curve(z, link)
                log_no[j, q] = np.log(no)
                odds[j, q] = np.log(yes) - log_no[j, q]


@njit
def _base(log_weights, log_no, base):
    """Fill the array (Q,) with log weights plus the sums of log(1 - F) over all items."""
    for q in range(base.size):
        base[q] = log_weights[q]
    for j in range(log_no.shape[0]):
        for q in range(base.size):
            base[q] += log_no[j, q]


@njit
def _joint(u, data, base, odds, log_no, joint):
    """Fill the array (Q,) with log joint densities of pattern u and each node."""
    yes_start, yes_items, gap_start, gap_items = data[0], data[1], data[2], data[3]
    for q in range(joint.size):
        joint[q] = base[q]
    for k in range(yes_start[u], yes_start[u + 1]):
        row = odds[yes_items[k]]
        for q in range(joint.size):
            joint[q] += row[q]
    for k in range(gap_start[u], gap_start[u + 1]):
        row = log_no[gap_items[k]]
        for q in range(joint.size):
            joint[q] -= row[q]


@njit
def _normalised(joint):
    """Replace a log joint density by unnormalised densities; return the maximum and the sum."""
    top = joint[0]
    for q in range(1, joint.size):
        if joint[q] > top:
            top = joint[q]
    for q in range(joint.size):
        joint[q] -= top
    exponentials(joint)
    one, two, three, four = 0.0, 0.0, 0.0, 0.0
    whole = joint.size - joint.size % 4
    for q in range(0, whole, 4):
        one += joint[q]
        two += joint[q + 1]
        three += joint[q + 2]
        four += joint[q + 3]
    for q in range(whole, joint.size):
        one += joint[q]
    return top, (one + two) + (three + four)


@njit
def _score(a, d, mu, g, grid, expected, gradient):
    """Add group g's terms of equation (2) to the gradients with respect to a, d and mu."""
    by_a, by_d, by_mu = gradient
    counts, gaps, mass = expected
    _, nodes, _, link = grid
    for j in range(a.size):
        for q in range(nodes.size):
            ability = nodes[q] + mu[g]
            yes, no, density = _curve(a[j] * ability + d[j], link)
            asked = mass[q] - gaps[j, q]
            if link == LOGIT:
                slope = counts[j, q] - asked * yes
            else:
                slope = density * (counts[j, q] / yes - (asked - counts[j, q]) / no)
            by_a[j] += slope * ability
            by_d[j] += slope
            by_mu[g] += slope * a[j]


@njit
def _collect(u, data, joint, weight, counts, gaps, mass):
    """Add a pattern's posterior times `weight` to the expected counts."""
    yes_start, yes_items, gap_start, gap_items = data[0], data[1], data[2], data[3]
    for q in range(joint.size):
        joint[q] *= weight
        mass[q] += joint[q]
    for k in range(yes_start[u], yes_start[u + 1]):
        row = counts[yes_items[k]]
        for q in range(joint.size):
            row[q] += joint[q]
    for k in range(gap_start[u], gap_start[u + 1]):
        row = gaps[gap_items[k]]
        for q in range(joint.size):
            row[q] += joint[q]


@njit
def _evaluate(a, d, mu, grid, pattern, gradient, want):
    """Fill log-likelihoods of patterns and return their sum; if `want`, add the gradient."""
    data, nodes, log_weights, link = grid
    frequency, group_start = data[4], data[5]
    items, n = a.size, nodes.size
    odds, log_no = np.empty((items, n)), np.empty((items, n))
    base, joint = np.empty(n), np.empty(n)
    counts, gaps, mass = np.zeros((items, n)), np.zeros((items, n)), np.zeros(n)
    value = 0.0
    for g in range(mu.size):
        _tables(a, d, mu[g], nodes, link, odds, log_no)
        _base(log_weights, log_no, base)
        counts[:], gaps[:], mass[:] = 0.0, 0.0, 0.0
        for u in range(group_start[g], group_start[g + 1]):
            _joint(u, data, base, odds, log_no, joint)
            top, total = _normalised(joint)
            pattern[u] = top + np.log(total)
            value += frequency[u] * pattern[u]
            if want:
                _collect(u, data, joint, frequency[u] / total, counts, gaps, mass)
        if want:
            _score(a, d, mu, g, grid, (counts, gaps, mass), gradient)
    return value


@njit
def marginal_gradient(a, d, mu, grid, by_a, by_d, by_mu):
    """Return the log-likelihood; fill its gradients in a (J,), d (J,) and mu (G,)."""
    # `grid` holds data, nodes (Q,), log weights (Q,) and the link. The data are six arrays: the
    # offsets (U + 1,) and the items of each pattern's yes answers; the offsets (U + 1,) and the
    # items of its missing answers; the frequencies (U,); and the offsets (G + 1,) of each group's
    # patterns.
    by_a[:], by_d[:], by_mu[:] = 0.0, 0.0, 0.0
    pattern = np.empty(grid[0][4].size)
    gradient = (by_a, by_d, by_mu)
    return _evaluate(a, d, mu, grid, pattern, gradient, True)


@njit
def marginal_patterns(a, d, mu, grid, pattern, value):
    """Fill log-likelihoods of patterns (S, U) and of the data (S,) for every draw."""
    # Parameters of the draws are a (S, J), d (S, J) and mu (S, G); `pattern` may have a single
    # row, which every draw then overwrites.
    nothing = (np.empty(0), np.empty(0), np.empty(0))
    for s in range(a.shape[0]):
        row = pattern[s] if pattern.shape[0] > 1 else pattern[0]
        value[s] = _evaluate(a[s], d[s], mu[s], grid, row, nothing, False)


@njit
def draw_abilities(a, d, mu, grid, places, uniform, ability):
    """Fill abilities (S, N) with draws from the posterior given answers and item parameters."""
    # `places` holds the offsets of each pattern's respondents (U + 1,) and their rows (N,);
    # `uniform` (S, N) holds numbers in (0, 1). Between nodes the distribution function is linear.
    starts, rows = places
    data, nodes, log_weights, link = grid
    group_start = data[5]
    items, n = a.shape[1], nodes.size
    odds, log_no = np.empty((items, n)), np.empty((items, n))
    base, joint = np.empty(n), np.empty(n)
    step = nodes[1] - nodes[0]
    for s in range(a.shape[0]):
        for g in range(mu.shape[1]):
            _tables(a[s], d[s], mu[s, g], nodes, link, odds, log_no)
            _base(log_weights, log_no, base)
            for u in range(group_start[g], group_start[g + 1]):
                _joint(u, data, base, odds, log_no, joint)
                _, total = _normalised(joint)
                for q in range(1, n):
                    joint[q] += joint[q - 1]
                for k in range(starts[u], starts[u + 1]):
                    aim = uniform[s, rows[k]] * total
                    q = min(np.searchsorted(joint, aim), n - 1)
                    before = joint[q - 1] if q > 0 else 0.0
                    share = (aim - before) / max(joint[q] - before, TINY)
                    # A node represents the interval around it.
                    ability[s, rows[k]] = nodes[q] + (share - 0.5) * step + mu[s, g]


@njit
def logit_gradient(a, d, mu, *shared):
    """Return the log-likelihood under the logit link, and its gradients in a, d and mu."""
    # `shared` holds the six arrays of the data, the nodes and the log weights. The function
    # returns several arrays and is therefore called only by compiled code, not from Python.
    by_a, by_d, by_mu = np.empty_like(a), np.empty_like(d), np.empty_like(mu)
    grid = (shared[:6], shared[6], shared[7], LOGIT)
    value = marginal_gradient(a, d, mu, grid, by_a, by_d, by_mu)
    return np.asarray(value), by_a, by_d, by_mu


@njit
def probit_gradient(a, d, mu, *shared):
    """Return the log-likelihood under the probit link, and its gradients in a, d and mu."""
    by_a, by_d, by_mu = np.empty_like(a), np.empty_like(d), np.empty_like(mu)
    grid = (shared[:6], shared[6], shared[7], PROBIT)
    value = marginal_gradient(a, d, mu, grid, by_a, by_d, by_mu)
    return np.asarray(value), by_a, by_d, by_mu
