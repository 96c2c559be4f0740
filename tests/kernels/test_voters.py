"""Kernels of voters' effects against the log posterior."""

import numpy as np

from psychollm.kernels.voters import voter_means, voter_modes
from tests.oracles.voters_slow import means, mode

SD = np.array([0.5, 0.8, 0.4])
NU = -0.3


def drawn():
    rng = np.random.default_rng(1)
    each = np.array([1, 40, 0, 7, 200])  # one voter has no votes
    ends = np.concatenate([[0], np.cumsum(each)])
    n = ends[-1]
    wins = np.eye(3)[rng.integers(0, 3, n)].T * rng.choice([0.5, 1.0, 2.0], n)
    wins[:, ends[3] : ends[4]] = [[1.0], [0.0], [0.0]]  # another always takes the left
    return ends, (rng.normal(size=n), rng.normal(size=n) / 3.0, np.ascontiguousarray(wins))


def found(votes, ends, free):
    effects, roots = np.zeros((5, 3)), np.empty((5, 3, 3))
    voter_modes(ends, votes, NU, (SD, free), 20, effects, roots)
    return effects, roots


def test_modes():
    ends, votes = drawn()
    effects, roots = found(votes, ends, np.ones(3, dtype=np.bool_))
    for v in range(5):
        mine = slice(ends[v], ends[v + 1])
        right = mode(votes[0][mine], votes[1][mine], votes[2][:, mine], NU, SD)
        np.testing.assert_allclose(effects[v], right[0], atol=1e-5)
        np.testing.assert_allclose(roots[v], right[1], atol=1e-5)


def test_means():
    ends, votes = drawn()
    effects, roots = found(votes, ends, np.ones(3, dtype=np.bool_))
    x, w = np.polynomial.hermite_e.hermegauss(3)
    nodes = np.array(np.meshgrid(x, x, x)).reshape(3, -1).T.copy()
    weights = np.array(np.meshgrid(w, w, w)).reshape(3, -1).prod(axis=0) / w.sum() ** 3
    scores, moments = np.empty((3, ends[-1])), np.empty((5, 3))
    likelihood = voter_means(
        ends, votes, NU, SD, (nodes, np.log(weights)), (effects, roots), scores, moments
    )
    total = 0.0
    for v in range(5):
        mine = slice(ends[v], ends[v + 1])
        one = votes[0][mine], votes[1][mine], votes[2][:, mine]
        right = means(*one, NU, SD, nodes, weights, effects[v], roots[v])
        np.testing.assert_allclose(scores[:, mine], right[0], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(moments[v], right[1], rtol=1e-9)
        total += right[2]
    np.testing.assert_allclose(likelihood, total, rtol=1e-11)


def test_an_effect_that_is_not_estimated_stays():
    ends, votes = drawn()
    prior = np.array([0.5, 1e-3, 0.4])
    effects, roots = np.zeros((5, 3)), np.empty((5, 3, 3))
    voter_modes(ends, votes, NU, (prior, np.array([True, False, True])), 20, effects, roots)
    assert np.abs(effects[:, 1]).max() < 1e-4
    assert np.abs(effects[:, 0]).max() > 0.1
