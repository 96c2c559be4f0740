"""Arrays of bivariate normal probabilities and densities, against SciPy."""

import numpy as np
import pytest
from scipy import stats

from psychollm.kernels.orthants import densities, orthants


@pytest.mark.parametrize("r", [-0.9, 0.0, 0.4])
def test_against_scipy(r):
    h, k = np.random.default_rng(0).normal(size=(2, 8))
    law = stats.multivariate_normal([0, 0], [[1, r], [r, 1]])
    points = np.column_stack([h, k])
    # SciPy's integration is good to about 1e-6.
    np.testing.assert_allclose(orthants(h, k, r), [law.cdf(x) for x in points], atol=1e-5)
    np.testing.assert_allclose(densities(h, k, r), law.pdf(points), rtol=1e-12)


def test_the_four_cells_sum_to_one():
    h, k = np.random.default_rng(1).normal(size=(2, 20), scale=3)
    total = sum(orthants(s * h, t * k, s * t * 0.7) for s in (1.0, -1.0) for t in (1.0, -1.0))
    np.testing.assert_allclose(total, 1.0, atol=1e-14)
