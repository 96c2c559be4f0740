"""Kernels of the item model against matrices."""

import numpy as np
import pytest

from psychollm.kernels.logistic_rows import mean_chances, newton_rows
from tests.oracles.logistic_rows_slow import mean_chance, newton_row, without


@pytest.mark.parametrize("p", [1, 3])
def test_newton_rows(p: int) -> None:
    rng = np.random.default_rng(p)
    y = np.where(rng.random((4, 30)) < 0.2, np.nan, rng.random((4, 30)).round())
    x = rng.normal(size=(30, p))
    half = rng.normal(size=(30, p, p)) / 3.0
    units = rng.normal(size=30), x, half @ half.transpose(0, 2, 1)
    prior = rng.normal(size=(4, p)), rng.uniform(0.5, 2.0, p)
    beta, covariance = np.zeros((4, p)), np.zeros((4, p, p))
    newton_rows(y, units, prior, 6, beta, covariance)
    for r in range(4):
        right = newton_row(y[r], *units, prior[0][r], prior[1], 6, np.zeros(p))
        np.testing.assert_allclose(beta[r], right[0], rtol=1e-10)
        np.testing.assert_allclose(covariance[r], right[1], rtol=1e-9)


def test_mean_chances() -> None:
    rng = np.random.default_rng(2)
    items, half = rng.normal(size=(5, 3)), rng.normal(size=(5, 3, 3)) / 2.0
    covariance = half @ half.transpose(0, 2, 1)
    theta, spread = rng.normal(size=2), np.array([[0.5, 0.1], [0.1, 0.3]])
    scores = np.array([np.nan, 0.0, 1.0, 0.4, np.nan])
    out = np.empty(5)
    mean_chances(items, covariance, (theta, spread), scores, out)
    for j, y in enumerate(scores):
        at = theta if np.isnan(y) else without(y, items[j], theta, spread)
        np.testing.assert_allclose(out[j], mean_chance(items[j], covariance[j], at, spread))
