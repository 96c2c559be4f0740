"""Ranks and ties."""

import numpy as np
from scipy.stats import rankdata

from psychollm._base.ranks import midranks


def test_midranks():
    np.testing.assert_array_equal(midranks(np.array([2.0, 1.0, 2.0, 5.0])), [2.5, 1, 2.5, 4])


def test_they_are_those_of_scipy():
    values = np.random.default_rng(0).integers(0, 7, (4, 9)).astype(float)
    np.testing.assert_array_equal(midranks(values), rankdata(values))
