"""The exponential function against 30-digit arithmetic."""

import math

import mpmath
import numpy as np
import pytest

from psychollm.kernels.exponential import LOWEST, exponential

ULP = 2.0**-52


@pytest.mark.parametrize("farthest", [1.0, 20.0, 700.0])
def test_relative_error_is_near_one_ulp(farthest):
    with mpmath.workdps(30):
        for x in np.random.default_rng(1).uniform(-farthest, farthest, 2_000).tolist():
            truth = mpmath.exp(x)
            assert abs(exponential(x) - truth) <= 1.1 * ULP * truth


def test_ends():
    assert exponential(0.0) == 1.0
    assert math.isnan(exponential(math.nan))
    assert exponential(-math.inf) == exponential(LOWEST) == pytest.approx(math.exp(LOWEST))
