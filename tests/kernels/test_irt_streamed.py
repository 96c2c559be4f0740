"""Sums over cells against loops."""

import numpy as np
import pytest

from psychollm.kernels.irt_streamed import add_likelihood, item_scores, score_variances
from tests.oracles import irt_streamed_slow as slow

N, J, K = 40, 1_300, 3  # more cells in an item than a buffer holds, of one respondent many


@pytest.fixture(scope="module")
def table():
    """Cells by item, with items, nodes and weights."""
    rng = np.random.default_rng(5)
    filled = rng.random((J, N)) < 0.6
    filled[7] = False
    item, respondent = np.nonzero(filled)
    start = np.concatenate([[0], np.cumsum(filled.sum(axis=1))])
    codes = rng.integers(0, 2, item.size).astype(np.uint8)
    cells = (start, respondent.astype(np.uint16), codes)
    slope, intercept = rng.normal(1.0, 0.5, (2, J)), rng.normal(0.0, 2.0, (2, J))
    nodes = rng.normal(size=(N, 1)) + np.array([-0.3, 0.0, 0.4])
    weights = rng.dirichlet(np.ones(K), N)
    return cells, item, (slope, intercept), nodes, weights


def log_likelihoods(cells, slope, intercept, nodes):
    rows = np.concatenate([nodes, np.ones_like(nodes), np.zeros((len(nodes), 2))], axis=1)
    logs = np.zeros_like(nodes)
    add_likelihood(cells, slope, intercept, rows, logs)
    assert (logs > 0).any()  # products have grown large on the way
    linear = rows[:, 2 * K, None] * nodes + rows[:, 2 * K + 1, None]
    return linear - logs - np.log(rows[:, K : 2 * K])


def test_likelihood_of_several_points_adds_up(table):
    cells, item, (slope, intercept), nodes, _ = table
    found = log_likelihoods(cells, slope, intercept, nodes)
    triples = list(zip(item, cells[1], cells[2], strict=True))
    expected = sum(
        np.array(slow.log_likelihoods(triples, list(zip(a, d, strict=True)), nodes))
        for a, d in zip(slope, intercept, strict=True)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_items_without_a_slope_are_passed_over(table):
    cells, _, (slope, intercept), nodes, _ = table
    slope = slope.copy()
    slope[:, ::2] = np.nan
    start, columns, codes = cells
    odd = np.repeat(np.arange(J), np.diff(start)) % 2 == 1
    sizes = np.where(np.arange(J) % 2 == 1, np.diff(start), 0)
    rest = (np.concatenate([[0], np.cumsum(sizes)]), columns[odd], codes[odd])
    np.testing.assert_allclose(
        log_likelihoods(cells, slope, intercept, nodes),
        log_likelihoods(rest, np.nan_to_num(slope), intercept, nodes),
        rtol=1e-13,
    )


@pytest.mark.parametrize("curved", [True, False])
def test_scores_information_and_variances(table, curved):
    cells, _, (slope, intercept), nodes, weights = table
    start, columns, codes = cells
    rows = np.column_stack([nodes, weights, (nodes * weights).sum(axis=1)])
    score, information = np.empty((2, J, 2)), np.empty((2, J, 3))
    item_scores(cells, slope, intercept, rows, curved, score, information)
    variance = np.empty((J, 3))
    score_variances(cells, slope[0], intercept[0], rows, variance)
    for j in (0, 7, 500, J - 1):
        own = slice(start[j], start[j + 1])
        pairs = list(zip(columns[own], codes[own], strict=True))
        for s in range(2):
            item = (slope[s, j], intercept[s, j])
            gradient, matrix, missing = slow.scores(pairs, item, nodes, weights)
            np.testing.assert_allclose(score[s, j], gradient, rtol=1e-12, atol=1e-12)
            entries = [matrix[0][0], matrix[0][1], matrix[1][1]] if curved else 0.0
            np.testing.assert_allclose(information[s, j], entries, rtol=1e-12)
            if s == 0:
                entries = [missing[0][0], missing[0][1], missing[1][1]]
                np.testing.assert_allclose(variance[j], entries, rtol=1e-10, atol=1e-13)
