"""Random tables with the same margins: shuffled, and drawn from factors."""

import numpy as np
import pytest

from psychollm.factor.number_of_factors.ordered_design import ordered_design
from psychollm.kernels.ordered_nulls import shuffle_answers
from tests.kernels.words import new_stream


def planted(m, n=1200, seed=0, cuts=(-0.4, 0.7)):
    rng = np.random.default_rng(seed)
    L = np.kron(np.eye(m), np.full((4, 1), 0.75))
    latent = L @ rng.normal(size=(m, n)) + np.sqrt(1 - 0.75**2) * rng.normal(size=(4 * m, n))
    return np.digitize(latent, cuts)


@pytest.mark.parametrize("by_row", [True, False])
def test_shuffling_keeps_margins_and_gaps(by_row):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 4, (5, 30)).astype(np.int8)
    codes[rng.random(codes.shape) < 0.2] = -1
    out = np.empty_like(codes)
    shuffle_answers(new_stream(np.array([1, 2], dtype=np.uint64)), codes, by_row, out)
    assert (out != codes).any()
    np.testing.assert_array_equal(out < 0, codes < 0)
    axis = 1 if by_row else 0
    np.testing.assert_array_equal(np.sort(out, axis=axis), np.sort(codes, axis=axis))


def test_drawn_tables_have_the_factors_and_the_margins():
    data = planted(1, 4000)
    design = ordered_design(data, of="models", empty_cells="none", missing="pairwise")
    matrix, cuts = design.observed()
    loadings = np.full((4, 1), 0.75)
    seeds = np.arange(40, dtype=np.uint64).reshape(20, 2)
    drawn = design.drawn(seeds, loadings, cuts)
    off = ~np.eye(4, dtype=bool)
    assert np.mean(drawn[:, off]) == pytest.approx(0.5625, abs=0.01)
    assert np.abs(matrix[off] - 0.5625).max() < 0.08
    assert design.n == pytest.approx(4000)
