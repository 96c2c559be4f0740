r"""Response curves of items with ordered or unordered answers, and their derivatives.

The graded response model (Samejima, 1969) with parameters :math:`(a, d_1 > \ldots > d_{C-1})` is

.. math:: P(y \ge c) = F(a\theta + d_c), \qquad P_c = P(y \ge c) - P(y \ge c + 1).     \quad (1)

The generalized partial credit model (Muraki, 1992) and the nominal model (Bock, 1972) are
log-linear, with :math:`T_c = c\,\theta` or with one slope for each answer:

.. math:: \log P_c = \eta_c - \log \sum_k e^{\eta_k}, \qquad
          \eta_c = a\,c\,\theta + d_c \quad\text{or}\quad a_c\theta + d_c, \quad \eta_0 = 0.
                                                                                       \quad (2)

For log-linear curves, observed and expected information are equal: both are the covariance of the
derivatives of :math:`\eta`.

References
----------
Bock, R. D. (1972). Estimating item parameters and latent ability when responses are scored in two
or more nominal categories. Psychometrika, 37(1), 29-51. https://doi.org/10.1007/BF02291411

Muraki, E. (1992). A generalized partial credit model: Application of an EM algorithm. Applied
Psychological Measurement, 16(2), 159-176. https://doi.org/10.1177/014662169201600206

Samejima, F. (1969). Estimation of latent ability using a response pattern of graded scores.
Psychometrika, 34(S1), 1-97. https://doi.org/10.1007/BF03372160
"""

import numpy as np
from numpy.typing import NDArray

from psychollm.kernels.response_models import TINY, distribution

Floats = NDArray[np.float64]


def graded_curves(parameters: Floats, nodes: Floats, link: str) -> tuple[Floats, Floats, Floats]:
    """Return P (J, C, Q) of equation (1), and each step's density and derivative (J, C + 1, Q)."""
    items = parameters.shape[0]
    z = parameters[:, :1, None] * nodes + parameters[:, 1:, None]
    lower, upper, density, change = distribution(z, link)
    edge = np.zeros((items, 1, nodes.size))
    # Differences are computed in the smaller tail, which avoids cancellation.
    above = np.concatenate([edge + 1.0, lower, edge], axis=1)
    below = np.concatenate([edge, upper, edge + 1.0], axis=1)
    high = above[:, 1:] + above[:, :-1] > 1.0
    p = np.where(high, below[:, 1:] - below[:, :-1], above[:, :-1] - above[:, 1:])
    density = np.concatenate([edge, density, edge], axis=1)
    change = np.concatenate([edge, change, edge], axis=1)
    return np.maximum(p, TINY), density, change


def graded_first(density: Floats, nodes: Floats) -> Floats:
    """Return derivatives of P with respect to the parameters (J, C, p, Q)."""
    items, edges, n_nodes = density.shape
    answers = edges - 1
    table = np.zeros((items, answers, answers, n_nodes))
    table[:, :, 0] = (density[:, :-1] - density[:, 1:]) * nodes
    for c in range(answers):
        if c > 0:
            table[:, c, c] = density[:, c]
        if c + 1 < answers:
            table[:, c, c + 1] = -density[:, c + 1]
    return table


def graded_second(change: Floats, nodes: Floats) -> Floats:
    """Return second derivatives of P (J, C, p, p, Q)."""
    items, edges, n_nodes = change.shape
    answers = edges - 1
    table = np.zeros((items, answers, answers, answers, n_nodes))
    table[:, :, 0, 0] = (change[:, :-1] - change[:, 1:]) * nodes**2
    for c in range(answers):
        for step, sign in ((c, 1.0), (c + 1, -1.0)):
            if 0 < step < answers:
                table[:, c, step, step] = sign * change[:, step]
                table[:, c, 0, step] = table[:, c, step, 0] = sign * change[:, step] * nodes
    return table


def probability_moments(
    p: Floats, first: Floats, second: Floats, counts: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return gradient, observed and expected information of counts (J, C, Q)."""
    ratio = counts / p
    gradient = np.einsum("jcq,jcaq->ja", ratio, first)
    by_log = first / p[:, :, None]  # p^2 would underflow
    observed = np.einsum("jcq,jcaq,jcbq->jab", counts, by_log, by_log, optimize=True)
    observed -= np.einsum("jcq,jcabq->jab", ratio, second)
    total = counts.sum(axis=1)[:, None]
    expected = np.einsum("jcq,jcaq,jcbq->jab", total * p, by_log, by_log, optimize=True)
    return gradient, observed, expected


def loglinear_design(answers: int, nodes: Floats, credit: Floats | None = None) -> Floats:
    """Return derivatives of eta in equation (2) with respect to the parameters (C, p, Q)."""
    # With `credit` (C,), one slope multiplies the credit of each answer; without it, each answer
    # has its own slope.
    slopes = answers - 1 if credit is None else 1
    table = np.zeros((answers, slopes + answers - 1, nodes.size))
    for c in range(1, answers):
        if credit is None:
            table[c, c - 1] = nodes
        else:
            table[c, 0] = credit[c] * nodes
        table[c, slopes + c - 1] = 1.0
    return table


def loglinear_logs(parameters: Floats, design: Floats) -> Floats:
    """Return log P (J, C, Q)."""
    eta = np.einsum("jp,cpq->jcq", parameters, design)
    top = eta.max(axis=1, keepdims=True)
    total = np.log(np.exp(eta - top).sum(axis=1, keepdims=True)) + top
    return np.asarray(eta - total, dtype=np.float64)


def loglinear_moments(
    parameters: Floats, design: Floats, counts: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return gradient, observed and expected information (identical), given counts (J, C, Q)."""
    p = np.exp(loglinear_logs(parameters, design))
    total = counts.sum(axis=1)
    gradient = np.einsum("jcq,cpq->jp", counts - total[:, None] * p, design)
    mean = np.einsum("jcq,cpq->jpq", p, design)
    weighted = total[:, None] * p
    information = np.einsum("jcq,caq,cbq->jab", weighted, design, design, optimize=True)
    information -= np.einsum("jq,jaq,jbq->jab", total, mean, mean, optimize=True)
    return gradient, information, information


def graded_by_ability(
    parameters: Floats, nodes: Floats, link: str
) -> tuple[Floats, Floats, Floats]:
    """Return P of equation (1) and its first two derivatives with respect to ability (J, C, Q)."""
    p, density, change = graded_curves(parameters, nodes, link)
    a = parameters[:, :1, None]
    first = a * (density[:, :-1] - density[:, 1:])
    return p, first, a * a * (change[:, :-1] - change[:, 1:])


def loglinear_by_ability(logs: Floats, multipliers: Floats) -> tuple[Floats, Floats, Floats]:
    """Return P and its first two derivatives with respect to ability (J, C, Q)."""
    # With multipliers t_c of the ability (J, C) and their mean m at an ability, P_c' = P_c (t_c -
    # m) and P_c'' = P_c ((t_c - m)^2 - Var t).
    p = np.exp(logs)
    gap = multipliers[:, :, None] - np.einsum("jcq,jc->jq", p, multipliers)[:, None]
    variance = (p * gap**2).sum(axis=1, keepdims=True)
    return np.maximum(p, TINY), p * gap, p * (gap**2 - variance)
