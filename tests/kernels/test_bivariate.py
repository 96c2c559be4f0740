"""The bivariate normal against 30-digit arithmetic and a slow twin."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from psychollm.kernels.bivariate import (
    bvn_cdf,
    bvn_pdf,
    bvn_upper,
    densities,
    orthants,
    sheppard_integral,
)
from psychollm.kernels.normal import normal_upper
from psychollm.kernels.tetrachoric import bvn_upper_fast
from tests.oracles import tetrachoric_slow as slow

FINITE = st.floats(-6, 6)
CORRELATION = st.floats(-0.999, 0.999)


@pytest.fixture(scope="module")
def table(golden):
    return pd.read_csv(golden / "psychometrics" / "bvn_cdf.csv")


def test_golden_absolute_and_relative(table):
    values = np.array([bvn_cdf(*row) for row in table[["h", "k", "rho"]].to_numpy()])
    error = np.abs(values - table["cdf"])
    assert error.max() <= 1e-14
    claimed = table["cdf"] > 1e-300
    assert (error[claimed] / table["cdf"][claimed]).max() <= 1e-10


@pytest.mark.parametrize(
    ("a", "b", "r"),
    [(0.3, -0.2, 0.5), (1.0, 1.1, -0.7), (-2, 0.5, 0.93), (0, 0, 0.2), (2.5, -1, -0.3)],
)
def test_slow_twin(a, b, r):
    assert bvn_upper(a, b, r) == pytest.approx(slow.bvn_upper(a, b, r), abs=1e-12)


@given(FINITE, FINITE, CORRELATION)
def test_symmetry_and_sum_of_cells(a, b, r):
    assert bvn_upper(a, b, r) == pytest.approx(bvn_upper(b, a, r), rel=1e-11, abs=1e-300)
    total = bvn_upper(a, b, r) + bvn_upper(a, -b, -r) + bvn_upper(-a, b, -r) + bvn_upper(-a, -b, r)
    assert total == pytest.approx(1.0, abs=1e-14)


@given(st.floats(-4.5, 4.5), st.floats(-4.5, 4.5), CORRELATION)
def test_fast_form_agrees_absolutely(a, b, r):
    fast = bvn_upper_fast(a, b, normal_upper(a), normal_upper(b), r)
    assert fast == pytest.approx(bvn_upper(a, b, r), abs=5e-15)


@given(FINITE, FINITE, st.floats(-0.99, 0.99))
def test_density_is_the_derivative_in_rho(a, b, r):
    step = 1e-5
    slope = (bvn_upper(a, b, r + step) - bvn_upper(a, b, r - step)) / (2 * step)
    assert slope == pytest.approx(bvn_pdf(a, b, r), rel=2e-3, abs=1e-9)


def test_limits():
    assert bvn_upper(0.0, 0.0, 0.0) == 0.25
    assert bvn_upper(0.5, 1.5, 1.0) == normal_upper(1.5)
    assert bvn_upper(0.5, 1.5, -1.0) == 0.0
    assert bvn_upper(-0.5, 0.2, -1.0) == pytest.approx(normal_upper(-0.5) - normal_upper(-0.2))
    assert bvn_upper(-math.inf, 1.0, 0.3) == normal_upper(1.0)
    assert bvn_upper(1.0, math.inf, 0.3) == 0.0
    assert math.isnan(bvn_upper(math.nan, 0.0, 0.3))
    assert math.isnan(bvn_upper(0.0, 0.0, 1.5))


FAR = [39.0, 41.0, 50.0, 1e154, 1e200, 1.7e308]


@pytest.mark.parametrize("r", [-1.0, -0.999999, -0.5, 0.0, 0.5, 1.0])
@pytest.mark.parametrize("far", FAR)
def test_limits_far_out_are_as_good_as_infinite(far, r):
    for b in (-1.7e308, -1e200, -2.0, 0.0, 3.0, 1e200):
        assert bvn_upper(far, b, r) == bvn_upper(b, far, r) == 0.0
        assert bvn_upper(-far, b, r) == pytest.approx(normal_upper(b), rel=1e-14)
        if abs(r) < 1.0:
            assert bvn_pdf(far, b, r) == bvn_pdf(b, -far, r) == 0.0


@pytest.mark.parametrize("far", [*FAR[:3], *(-far for far in FAR[:3])])
def test_limits_far_out_against_the_slow_twin(far):
    for b, r in ((-2.0, 0.5), (0.3, -0.9), (3.0, 0.99)):
        assert bvn_upper(b, far, r) == pytest.approx(slow.bvn_upper(b, far, r), abs=1e-12)


def test_an_integral_of_what_is_no_number_ends():
    assert math.isnan(sheppard_integral(0.1, 1.0, math.nan, 0.5))
    assert math.isnan(sheppard_integral(0.1, 1.0, math.inf, -math.inf))
    assert math.isnan(sheppard_integral(0.1, 1.0, 1.0, math.nan))


@pytest.mark.parametrize("b", [1e-13, 1e-10, 1e-8, 1e-6, 1e-4])
@pytest.mark.parametrize("r", [0.5, 0.9999999, 1 - 1e-13])
@pytest.mark.parametrize("a", [0.0, 0.3])
def test_cells_of_nearly_equal_thresholds_sum_to_one(a: float, b: float, r: float) -> None:
    # The dip of the integrand is as narrow as the difference: no fixed node would meet it.
    cells = [bvn_cdf(s * a, t * (a + b), s * t * r) for s in (1, -1) for t in (1, -1)]
    assert sum(cells) == pytest.approx(1.0, abs=1e-14)


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
