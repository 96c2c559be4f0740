r"""Modes of voters' effects, and averages over the posterior of the effects.

A vote of voter v has the log odds :math:`\eta_u = a_v \delta_u + b_u + s_v` of left against right
and the log tie parameter :math:`\nu + t_v`. The effects :math:`(s_v, t_v, \log a_v)` are normal
with SDs :math:`\sigma`. The probabilities of a vote are (Davidson 1970)

.. math:: P(\text{left}) : P(\text{tie}) : P(\text{right}) =
          e^{\eta / 2} : e^{\nu + t} : e^{-\eta / 2}.                                     \quad (1)

Votes are sorted by voter. Newton steps with the expected information find the mode. A product of
Gauss-Hermite rules around the mode is weighted by the true density.

References
----------
Davidson, R. R. (1970). On extending the Bradley-Terry model to accommodate ties in paired
comparison experiments. Journal of the American Statistical Association, 65, 317-328.
https://doi.org/10.1080/01621459.1970.10481082
"""

import math

import numpy as np

from psychollm.kernels._jit import njit
from psychollm.kernels.symmetric import cholesky, solve_factored

FURTHEST = 60.0  # log odds beyond which probabilities are 0 and 1 in double precision
EXACT = 1e-6  # largest change of an effect at the mode


@njit
def _ratio(eta):
    """Return exp(eta / 2) of equation (1), with eta within its bounds."""
    return math.exp(0.5 * min(max(eta, -FURTHEST), FURTHEST))


@njit
def voter_modes(ends, votes, nu, prior, steps, effects, roots):
    """Find the mode of each voter's effects, and the root of the covariance there.

    Parameters
    ----------
    ends : ndarray (voters + 1,)
        Index of the first vote of each voter, and the number of votes.
    votes : tuple of ndarray (votes,), (votes,), (3, votes)
        Variables delta and b of equation (1), and the weights of left wins, ties and right wins.
    nu : float
        Log tie parameter of all voters.
    prior : tuple of ndarray (3,), (3,)
        SDs of the effects, and a mask of the effects that are estimated.
    steps : int
        Maximum number of Newton steps.
    effects : ndarray (voters, 3)
        Starting values, overwritten.
    roots : ndarray (voters, 3, 3)
        Array that is overwritten with Cholesky factors of the inverse information.
    """
    delta, added, wins = votes
    sd, free = prior
    gradient, step = np.empty(3), np.empty(3)
    factor, inverse = np.empty((3, 3)), np.empty((3, 3))
    for v in range(ends.size - 1):
        for left in range(steps - 1, -1, -1):
            gradient[:] = 0.0
            factor[:] = 0.0
            slope, tie = math.exp(effects[v, 2]), math.exp(nu + effects[v, 1])
            for u in range(ends[v], ends[v + 1]):
                g = slope * delta[u]
                one = _ratio(g + added[u] + effects[v, 0])
                total = one + tie + 1.0 / one
                gap, even = (one - 1.0 / one) / total, tie / total
                n = wins[0, u] + wins[1, u] + wins[2, u]
                by_eta = 0.5 * (wins[0, u] - wins[2, u] - n * gap)
                eta_eta = 0.25 * n * (1.0 - even - gap * gap)
                eta_nu = -0.5 * n * even * gap
                gradient[0] += by_eta
                gradient[1] += wins[1, u] - n * even
                gradient[2] += by_eta * g
                factor[0, 0] += eta_eta
                factor[1, 0] += eta_nu
                factor[2, 0] += eta_eta * g
                factor[1, 1] += n * even * (1.0 - even)
                factor[2, 1] += eta_nu * g
                factor[2, 2] += eta_eta * g * g
            # The expected information omits this part of the curvature in the discrimination.
            factor[2, 2] += max(-gradient[2], 0.0)
            for a in range(3):
                gradient[a] -= effects[v, a] / sd[a] ** 2
                factor[a, a] += 1.0 / sd[a] ** 2
                if not free[a]:
                    gradient[a] = 0.0
            cholesky(factor)
            solve_factored(factor, gradient, step)
            largest = 0.0
            for a in range(3):
                step[a] = min(max(step[a], -1.0), 1.0)
                largest = max(largest, abs(step[a]))
            if left == 0 or largest < EXACT:
                break
            for a in range(3):
                effects[v, a] += step[a]
        for a in range(3):
            gradient[:] = 0.0
            gradient[a] = 1.0
            solve_factored(factor, gradient, inverse[a])
        cholesky(inverse)
        for a in range(3):
            for b in range(3):
                roots[v, a, b] = inverse[a, b] if b <= a else 0.0


@njit
def voter_means(ends, votes, nu, prior, rule, posterior, scores, moments):
    """Return the marginal log-likelihood, and fill posterior means over each voter's effects.

    Parameters
    ----------
    ends, votes, nu : as in `voter_modes`
    prior : ndarray (3,)
        SDs of the effects.
    rule : tuple of ndarray (nodes, 3), (nodes,)
        Nodes and log weights for three standard normal effects.
    posterior : tuple of ndarray (voters, 3), (voters, 3, 3)
        Modes and roots.
    scores : ndarray (3, votes)
        Arrays that are overwritten with mean derivatives with respect to delta, b and the log tie
        parameter.
    moments : ndarray (voters, 3)
        Array that is overwritten with mean squares of the effects.
    """
    delta, added, wins = votes
    nodes, log_weight = rule
    modes, roots = posterior
    m, most = log_weight.size, 0
    for v in range(ends.size - 1):
        most = max(most, ends[v + 1] - ends[v])
    effects, log_density = np.empty((m, 3)), np.empty(m)
    slopes = np.empty((2, m, most))
    likelihood = 0.0
    for v in range(ends.size - 1):
        first = ends[v]
        n_votes = ends[v + 1] - first
        top = -math.inf
        for q in range(m):
            density = log_weight[q]
            for a in range(3):
                effect = modes[v, a]
                for b in range(a + 1):
                    effect += roots[v, a, b] * nodes[q, b]
                effects[q, a] = effect
                density += 0.5 * (nodes[q, a] ** 2 - (effect / prior[a]) ** 2)
            slope, log_tie = math.exp(effects[q, 2]), nu + effects[q, 1]
            tie = math.exp(log_tie)
            for r in range(n_votes):
                u = first + r
                eta = slope * delta[u] + added[u] + effects[q, 0]
                one = _ratio(eta)
                total = one + tie + 1.0 / one
                n = wins[0, u] + wins[1, u] + wins[2, u]
                toward = 0.5 * (wins[0, u] - wins[2, u])
                density += toward * min(max(eta, -FURTHEST), FURTHEST) + wins[1, u] * log_tie
                density -= n * math.log(total)
                slopes[0, q, r] = toward - 0.5 * n * (one - 1.0 / one) / total
                slopes[1, q, r] = wins[1, u] - n * tie / total
            log_density[q] = density
            top = max(top, density)
        total = 0.0
        for q in range(m):
            log_density[q] = math.exp(log_density[q] - top)
            total += log_density[q]
        for r in range(n_votes):
            for a in range(3):
                scores[a, first + r] = 0.0
        moments[v] = 0.0
        for q in range(m):
            share = log_density[q] / total
            slope = math.exp(effects[q, 2])
            for a in range(3):
                moments[v, a] += share * effects[q, a] ** 2
            for r in range(n_votes):
                scores[0, first + r] += share * slope * slopes[0, q, r]
                scores[1, first + r] += share * slopes[0, q, r]
                scores[2, first + r] += share * slopes[1, q, r]
        likelihood += top + math.log(total)
        for a in range(3):
            likelihood += math.log(roots[v, a, a] / prior[a])
    return likelihood
