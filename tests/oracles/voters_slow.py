"""One voter's effects on votes, from the log posterior as it is written down."""

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax


def _odds(effects, delta, added, nu):
    eta = np.exp(effects[2]) * delta + added + effects[0]
    return np.stack([eta / 2, np.full(eta.size, nu + effects[1]), -eta / 2])


def log_posterior(effects, delta, added, wins, nu, sd):
    """Return the log posterior density, but for the constant of the prior."""
    likelihood = (wins * log_softmax(_odds(effects, delta, added, nu), axis=0)).sum()
    return likelihood - 0.5 * ((effects / sd) ** 2).sum()


def mode(delta, added, wins, nu, sd):
    """Return the mode and the root of the inverse information there."""
    found = minimize(
        lambda one: -log_posterior(one, delta, added, wins, nu, sd), np.zeros(3),
        method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-13, "maxiter": 5000},
    ).x  # fmt: skip
    chance = softmax(_odds(found, delta, added, nu), axis=0)
    line = np.exp(found[2]) * delta
    n, zero, one = wins.sum(axis=0), np.zeros(delta.size), np.ones(delta.size)
    # Derivatives of the three log odds by side, ties and log discrimination.
    by = np.array([[one / 2, zero, -one / 2], [zero, one, zero], [line / 2, zero, -line / 2]])
    centred = by - (by * chance).sum(axis=1, keepdims=True)
    information = np.einsum("acu,bcu,cu,u->ab", centred, centred, chance, n) + np.diag(sd**-2.0)
    slope = ((wins - n * chance) * by[2]).sum()
    information[2, 2] += max(-slope, 0.0)
    return found, np.linalg.cholesky(np.linalg.inv(information))


def means(delta, added, wins, nu, sd, nodes, weights, centre, root):
    """Return expected slopes (3, votes), mean squares (3,) and the marginal log-likelihood."""
    effects = centre + nodes @ root.T
    density = np.array([log_posterior(one, delta, added, wins, nu, sd) for one in effects])
    density += 0.5 * (nodes**2).sum(axis=1) + np.log(weights)
    density += np.log(np.linalg.det(root)) - np.log(sd).sum()
    share = softmax(density)
    slopes = []
    for one in effects:
        chance = softmax(_odds(one, delta, added, nu), axis=0)
        rest = wins - wins.sum(axis=0) * chance
        eta = (rest[0] - rest[2]) / 2
        slopes.append([np.exp(one[2]) * eta, eta, rest[1]])
    return (
        np.tensordot(share, np.array(slopes), axes=1),
        share @ effects**2,
        np.logaddexp.reduce(density),
    )
