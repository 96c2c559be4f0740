"""Kernels of models that lapse against their slow twins."""

import numpy as np
import pytest
from scipy import optimize

from psychollm.kernels.pairwise_lapses import fit_pairwise_lapses, lapse_pair, lapse_residuals
from psychollm.kernels.quadrature import normal_grid, normalise_rows
from psychollm.kernels.second_factor import second_factor_scores
from psychollm.studies.dimensionality.lapse_tests import _Curves
from tests.oracles import lapses_slow as slow

PAIRS = [
    ((0.4, 0.7), ((0.03, 0.02), (0.05, 0.01)), 0.6),
    ((0.1, 0.95), ((0.0, 0.0), (0.2, 0.01)), 0.8),
    ((0.5, 0.3), ((0.02, 0.3), (0.001, 0.0)), -0.4),
]


@pytest.mark.parametrize(("rates", "lapses", "correlation"), PAIRS)
def test_a_pair_of_models_that_lapse(rates, lapses, correlation):
    own = [np.array(each) for each in lapses]
    found = lapse_pair(*rates, *own, correlation)
    assert found[0] == pytest.approx(slow.joint_yes(rates, lapses, correlation), abs=2e-7)

    def joint(x):
        return lapse_pair(*rates, x[:2], x[2:4], x[4])[0]

    at = np.array([*lapses[0], *lapses[1], correlation]) + 1e-3
    slopes = optimize.approx_fprime(at, joint, 1e-5)
    found = lapse_pair(*rates, at[:2], at[2:4], at[4])
    np.testing.assert_allclose([*found[2:], found[1]], slopes, atol=1e-4)


def test_scores_of_a_second_factor_are_derivatives_of_the_likelihood():
    rng = np.random.default_rng(1)
    parameters = np.column_stack(
        [
            rng.uniform(0.5, 2.0, 4),
            rng.uniform(-1, 1, 4),
            rng.uniform(-5, -1, 4),
            rng.uniform(2, 6, 4),
        ]
    )
    answers = rng.integers(0, 2, (3, 4)).astype(float)
    answers[2, 1] = np.nan
    curves = _Curves.of(parameters)
    yes, no = (answers == 1).astype(float), (answers == 0).astype(float)
    own, pairs = curves.scores(yes, no)
    where = list(zip(*np.tril_indices(4, -1), strict=True))
    for q in range(3):
        for place, (i, j) in enumerate(where):
            wanted = slow.second_factor_score(answers[q], parameters, i, j)
            assert pairs[q, place] == pytest.approx(wanted, abs=2e-3)

        def at(x, q=q):
            return slow.log_likelihood(answers[q], x.reshape(4, 4), np.zeros(4))

        slopes = optimize.approx_fprime(parameters.ravel(), at, 1e-6)
        np.testing.assert_allclose(own[q], slopes, atol=1e-4)


def test_missing_answers_add_nothing():
    nodes, log_weights = normal_grid(41)
    weights = np.tile(log_weights, (1, 1))
    normalise_rows(weights)
    out = np.empty((1, 3))
    yes, no = np.array([[1.0, 0.0, 0.0]]), np.array([[0.0, 0.0, 1.0]])
    slopes = np.ones((nodes.size, 3))
    second_factor_scores(weights, yes, no, slopes, -slopes, out)
    np.testing.assert_allclose(out, [[0.0, -1.0, 0.0]], atol=1e-12)


def counts_of(joint, rates, n):
    """Expected counts of all pairs."""
    k = len(rates)
    own = n * np.repeat(rates[:, None], k, axis=1)
    return n * joint, own, np.full((k, k), float(n))


def test_two_factors_and_lapses_are_found_again():
    rng = np.random.default_rng(2)
    k, n = 12, 1e6
    loading = np.column_stack([np.full(k, 0.8), 0.3 * np.where(np.arange(k) % 2, 1.0, -1.0)])
    rates, lapses = rng.uniform(0.2, 0.8, k), np.full((k, 2), 0.02)
    joint = np.zeros((k, k))
    for i in range(k):
        for j in range(i):
            joint[i, j] = joint[j, i] = lapse_pair(
                rates[i], rates[j], lapses[i], lapses[j], loading[i] @ loading[j]
            )[0]
    counts = counts_of(joint, rates, n)
    rate = counts[1] / n
    wide, start = loading * 0.9, np.full((k, 2), 0.01)
    _, steps, status = fit_pairwise_lapses(counts, rate, wide, start, start + 0.02, 1e-9, 200)
    assert status == 0
    assert steps < 200
    smaller = np.linalg.eigvalsh(wide.T @ wide)[0] / k
    assert smaller == pytest.approx(0.09, abs=2e-3)
    expected, z = np.empty((k, k)), np.empty((k, k))
    lapse_residuals(counts, rate, np.full(k, 0.8), lapses, expected, z)
    signs = np.sign(np.outer(loading[:, 1], loading[:, 1]))
    off = ~np.eye(k, dtype=bool)
    assert (np.sign(z[off]) == signs[off]).all()
    assert (np.diagonal(z) == 0.0).all()
