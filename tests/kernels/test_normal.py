"""The univariate normal against 30-digit arithmetic."""

import math

import mpmath
import numpy as np
import pytest

from psychollm.kernels.normal import (
    normal_cdf,
    normal_pdf,
    normal_quantile,
    normal_upper,
    quantile_of_tails,
)

POINTS = [-37.0, -20.0, -8.5, -3.0, -1.0, -1e-3, 0.0, 0.5, 1.96, 4.0, 8.0, 30.0]


@pytest.mark.parametrize("x", POINTS)
def test_tails_keep_their_relative_accuracy(x):
    with mpmath.workdps(40):
        upper = float(mpmath.erfc(mpmath.mpf(x) / mpmath.sqrt(2)) / 2)
        lower = float(mpmath.erfc(-mpmath.mpf(x) / mpmath.sqrt(2)) / 2)
        density = float(mpmath.npdf(x))
    # exp(-x^2/2) carries the rounding of x^2/2: about x^2/2 ulp.
    tolerance = 1e-15 * (2 + x * x)
    assert normal_upper(x) == pytest.approx(upper, rel=tolerance)
    assert normal_cdf(x) == pytest.approx(lower, rel=tolerance)
    assert normal_pdf(x) == pytest.approx(density, rel=tolerance)


@pytest.mark.parametrize(
    "p", [1e-300, 1e-100, 1e-17, 1e-5, 0.01, 0.07, 0.3, 0.5, 0.6, 0.93, 0.999]
)
def test_quantile_inverts_the_distribution(p):
    x = normal_quantile(p)
    with mpmath.workdps(40):
        back = mpmath.erfc(-mpmath.mpf(x) / mpmath.sqrt(2)) / 2
        # d log p / d x is about |x| in the tail: one ulp of x moves p by x^2 ulp.
        assert abs(float(back / mpmath.mpf(p) - 1)) < 4e-16 * (2 + x * x)


def test_quantile_of_tails_does_not_round_a_small_upper_tail_away():
    assert quantile_of_tails(1.0, 1e-30) == pytest.approx(-normal_quantile(1e-30), rel=1e-15)


def test_quantile_outside_and_at_the_ends():
    assert normal_quantile(0.0) == -math.inf
    assert normal_quantile(1.0) == math.inf
    assert np.isnan(normal_quantile(-0.1))
    assert np.isnan(normal_quantile(math.nan))
