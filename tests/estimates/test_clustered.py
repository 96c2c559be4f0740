"""What few clusters of unequal size leave of intervals and p-values."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from psychollm.calibration import auroc, brier, calibration_error, spiegelhalter
from psychollm.estimates import Reason
from psychollm.estimates.clustered import (
    expanded_level,
    few,
    satterthwaite,
    tail_freedom,
    tail_of_t,
    units_of,
)
from psychollm.reliability import mean_score

CODES = np.repeat(np.arange(5), [4, 8, 16, 32, 64])


@given(st.lists(st.integers(1, 60), min_size=2, max_size=12))
def test_degrees_of_freedom_are_those_of_the_quadratic_form(sizes) -> None:
    """Satterthwaite's degrees of freedom from the matrix of the form, and its expectation."""
    shares = np.array(sizes) / sum(sizes)
    centred = np.eye(shares.size) - np.outer(shares, np.ones(shares.size))
    form = centred @ np.diag(shares) @ centred.T @ np.diag(1.0 / (1.0 - shares))
    assert np.trace(form) == pytest.approx(1.0)  # no bias
    df = np.trace(form) ** 2 / np.trace(form @ form)
    assert satterthwaite(shares) == pytest.approx(df)


def test_equal_clusters_have_one_degree_less_than_there_are() -> None:
    units = units_of(np.ones((2, 12)), np.arange(12) % 4)
    assert units is not None
    np.testing.assert_allclose(units.df, 3.0)
    np.testing.assert_allclose(units.shortfall, 0.75)
    assert units_of(np.ones((2, 12)), None) is None


def test_percentiles_are_taken_where_a_normal_interval_is_as_wide_as_that_of_t() -> None:
    level = float(expanded_level(0.95, 9.0))
    assert stats.norm.ppf(0.5 + 0.5 * level) == pytest.approx(
        stats.t.ppf(0.975, 9) * np.sqrt(10 / 9)
    )
    assert tail_of_t(1.0 - level, 9.0) == pytest.approx(0.05)
    assert expanded_level(0.95, np.inf) == 0.95


def test_sums_with_long_tails_have_fewer_degrees_of_freedom() -> None:
    """Twice the squared mean of squares over their variance, as for a scaled chi-squared."""
    sums = np.random.default_rng(3).standard_t(4, size=(40, 3))
    squares = sums**2
    expected = 2 * 40 * squares.mean(axis=0) ** 2 / squares.var(axis=0)
    np.testing.assert_allclose(tail_freedom(sums), expected)
    assert tail_freedom(np.array([1.0, -1.0, 1.0])) == np.inf


def test_few_clusters_are_flagged_and_one_has_no_interval() -> None:
    rng = np.random.default_rng(0)
    said, right = rng.uniform(size=(1, CODES.size)), rng.integers(0, 2, (1, CODES.size))
    for metric in (auroc, brier):
        assert metric(said, right, clusters=CODES, bootstrap=20).flags == (Reason.FEW_CLUSTERS,)
        alone = metric(said, right, clusters=CODES * 0, bootstrap=20)
        assert alone.flags == (Reason.ONE_CLUSTER,)
        assert np.isnan(alone.interval).all()
    many = brier(said, right, clusters=np.arange(CODES.size) // 6, bootstrap=20)
    assert many.flags == (Reason.NONE,)
    assert few(many.df) == [False]


def test_p_values_of_calibration_know_of_clusters() -> None:
    """Mammen's factors of five clusters: as large an error needs the larger in four of them."""
    equal = np.arange(CODES.size) % 5
    said = np.full((1, CODES.size), 0.7)
    never = np.zeros((1, CODES.size))
    options = {"n_null": 4000, "bootstrap": 20, "rng": 0}
    clustered = calibration_error(said, never, clusters=equal, **options)
    larger = (5 - 5**0.5) / 10
    expected = larger**5 + 5 * larger**4 * (1 - larger)
    assert clustered.p_value.value[0] == pytest.approx(expected, abs=0.01)
    uneven = calibration_error(said, never, clusters=CODES, **options)
    assert np.isnan(uneven.p_value.value[0])
    assert uneven.p_value.flags == (Reason.NO_P_VALUE,)
    assert calibration_error(said, never, **options).p_value.value[0] < 0.001
    alone = calibration_error(said, never, clusters=CODES * 0, **options)
    assert np.isnan(alone.p_value.value[0])


def test_tests_of_calibration_keep_their_level_with_few_clusters() -> None:
    """Answers of half the clusters are right together: 5 % of 400 models are 20, +- 3 x 4.4."""
    rng = np.random.default_rng(1)
    codes = np.arange(CODES.size) % 5
    stated = rng.choice([0.5, 0.6, 0.7, 0.8, 0.9], (400, CODES.size))
    shared = rng.random((400, 5))[:, codes]
    chance = np.where(rng.random((400, 5))[:, codes] < 0.5, shared, rng.random(stated.shape))
    right = (chance < stated) * 1.0
    tested = spiegelhalter(stated, right, clusters=codes)
    assert (tested.p_value < 0.05).sum() <= 33
    assert (spiegelhalter(stated, right).p_value < 0.05).sum() > 60
    error = calibration_error(stated, right, clusters=codes, n_null=99, bootstrap=20, rng=0)
    assert (error.p_value.value < 0.05).sum() <= 33


def test_means_of_five_unequal_clusters_are_covered() -> None:
    """1,000 rows of scores with a third of their variance between clusters: 95 +- 3 x 0.7 %."""
    rng = np.random.default_rng(2)
    scores = rng.normal(size=(1000, CODES.size)) + rng.normal(size=(1000, 5))[:, CODES] / 1.4
    low, high = mean_score(scores, clusters=CODES, bootstrap=0).interval.T
    assert 0.92 <= ((low <= 0) & (high >= 0)).mean() <= 0.98
    low, high = mean_score(scores, clusters=CODES, correction="cr1", bootstrap=0).interval.T
    assert ((low <= 0) & (high >= 0)).mean() < 0.9
