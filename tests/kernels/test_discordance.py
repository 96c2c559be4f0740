"""Cell probabilities at speed, against the exact bivariate normal."""

import numpy as np
import pytest

from psychollm.kernels.bivariate import bvn_upper
from psychollm.kernels.discordance import discordant_cell, pair_cells
from psychollm.kernels.normal import normal_upper
from tests.oracles import tetrachoric_slow as slow


def random_pairs(n, seed):
    rng = np.random.default_rng(seed)
    a = 1.3 * rng.standard_normal(n)
    near = rng.random(n) < 0.5
    b = a - np.where(near, 10 ** rng.uniform(-3, 0.7, n), np.abs(rng.standard_normal(n)))
    return a, b, 1 - 10 ** rng.uniform(-3.5, 0, n)


def test_discordant_cell_has_the_accuracy_its_docstring_states():
    a, b, r = random_pairs(4000, 1)
    exact = np.array([bvn_upper(x, -y, -z) for x, y, z in zip(a, b, r, strict=True)])
    fast = np.array([discordant_cell(*pair) for pair in zip(a, b, r, strict=True)])
    assert np.abs(fast - exact).max() < 1e-8
    seen = exact > 1e-9
    relative = np.abs(fast[seen] / exact[seen] - 1)
    assert relative.max() < 4e-5
    assert np.quantile(relative, 0.99) < 1e-6


@pytest.mark.parametrize("r", [-0.9, -0.3, 0.0, 0.4, 0.97])
@pytest.mark.parametrize(("a", "b"), [(0.0, 0.0), (-1.0, 1.5), (2.0, 0.5), (-0.7, -0.7)])
def test_four_cells_are_those_of_the_normal_and_sum_to_one(a, b, r):
    cells = pair_cells(a, b, normal_upper(a), normal_upper(b), r)
    exact = [
        bvn_upper(a, b, r),
        bvn_upper(a, -b, -r),
        bvn_upper(-a, b, -r),
        bvn_upper(-a, -b, r),
    ]
    assert np.allclose(cells, exact, atol=1e-8, rtol=0)
    assert sum(cells) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("r", [-0.9, -0.3, 0.0, 0.4, 0.97])
@pytest.mark.parametrize(("a", "b"), [(0.0, 0.0), (-1.0, 1.5), (2.0, 0.5), (-0.7, -0.7)])
def test_twin(a, b, r):
    ours = pair_cells(a, b, normal_upper(a), normal_upper(b), r)
    np.testing.assert_allclose(ours, slow.cells(a, b, r), atol=1e-8)
