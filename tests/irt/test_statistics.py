"""Null distributions of statistics of fit."""

import numpy as np

from psychollm.irt.replicated.statistics import beside, statistic_of


def test_p_values_of_known_draws():
    draws = np.column_stack([np.arange(9.0), np.full(9, 2.0), np.full(9, np.nan)])
    p, adjusted = beside(np.array([8.0, 2.0, 1.0]), draws, "greater")
    np.testing.assert_allclose(p, [0.2, 1.0, np.nan])
    assert np.isnan(adjusted[2])
    assert beside(np.array([8.0]), draws[:, :1], "less")[0] == 1.0
    np.testing.assert_allclose(beside(np.array([0.0]), draws[:, :1], "two-sided")[0], 0.4)
    assert beside(np.array([3.0]), draws[:, 1:2], "greater")[0] == 0.1


def test_a_statistic_has_its_own_alternative():
    assert statistic_of("s_x2", None).alternative == "greater"
