"""Intervals: inside [-1, 1], one-sided at the bound, right by brute force, honest coverage."""

import numpy as np
import pytest
from scipy import stats

from psychollm._base.errors import OptionError
from psychollm.correlation.tetrachoric import tetrachoric
from psychollm.data.pair_counts import PairCounts
from tests.oracles import tetrachoric_slow as slow


def pair(n11, n10, n01, n00):
    first = np.repeat([1, 1, 0, 0], [n11, n10, n01, n00])
    second = np.repeat([1, 0, 1, 0], [n11, n10, n01, n00])
    return PairCounts.count(np.stack([first, second]))


@pytest.mark.parametrize("table", [(40, 10, 12, 38), (5, 30, 8, 60), (90, 6, 4, 5)])
def test_profile_ends_fall_to_the_critical_value(table):
    low, high = tetrachoric(pair(*table)).interval(level=0.95)[0, 1]
    shares = np.array(table) / sum(table)
    top = float(np.sum(table * np.log(shares)))
    for end in (low, high):
        fall = 2 * (top - slow.profile_log_likelihood(table, end))
        assert fall == pytest.approx(stats.chi2.ppf(0.95, 1), abs=1e-4)


@pytest.mark.parametrize(
    ("table", "bound"), [((30, 0, 12, 38), 1.0), ((30, 12, 0, 38), 1.0), ((0, 30, 38, 12), -1.0)]
)
def test_one_sided_at_the_bound(table, bound):
    for rule in ("none", "keep_margins"):
        interval = tetrachoric(pair(*table), empty_cells=rule).interval()[0, 1]
        free, end = (interval[0], interval[1]) if bound > 0 else (interval[1], interval[0])
        assert end == bound
        assert 0 < free * bound < 1
        fall = 2 * (
            float(sum(n * np.log(n / sum(table)) for n in table if n))
            - slow.profile_log_likelihood(table, free)
        )
        assert fall == pytest.approx(stats.chi2.ppf(0.95, 1), abs=1e-3)


def test_delta_is_fisher_z():
    correlation = tetrachoric(pair(40, 10, 12, 38))
    rho, se = correlation.matrix[0, 1], correlation.se[0, 1]
    reach = stats.norm.ppf(0.95) * se / (1 - rho**2)
    expected = np.tanh(np.arctanh(rho) + np.array([-reach, reach]))
    np.testing.assert_allclose(correlation.interval(level=0.9, method="delta")[0, 1], expected)


def test_delta_is_undefined_at_the_bound():
    correlation = tetrachoric(pair(30, 0, 12, 38), empty_cells="none")
    assert np.isnan(correlation.interval(method="delta")[0, 1]).all()


@pytest.mark.parametrize("method", ["profile", "delta"])
def test_coverage(method):
    """400 samples of n = 150, true rho .6: coverage has standard error 1.1 %, four allowed."""
    rng = np.random.default_rng(1)
    hits = []
    for _ in range(400):
        f = rng.normal(size=150)
        x = np.sqrt(0.6) * f + np.sqrt(0.4) * rng.normal(size=(2, 150))
        data = (x > np.array([[0.6], [-0.4]])).astype(int)
        low, high = tetrachoric(data).interval(method=method)[0, 1]
        assert -1 <= low <= high <= 1
        hits.append(low <= 0.6 <= high)
    assert np.mean(hits) == pytest.approx(0.95, abs=0.044)


def test_undefined_pairs_and_diagonal():
    interval = tetrachoric([[1, 1, 1, 1], [1, 0, 1, 0], [0, 0, 1, 1]]).interval()
    assert np.isnan(interval[0, 1]).all()
    assert (interval[1, 1] == 1).all()


def test_weights_widen_the_interval():
    rng = np.random.default_rng(2)
    data = rng.random((2, 200)) < 0.5
    plain = tetrachoric(data).interval()[0, 1]
    weighted = tetrachoric(data, weights=rng.exponential(size=200)).interval()[0, 1]
    assert np.diff(weighted) > np.diff(plain)


@pytest.mark.parametrize("level", [0.0, 1.0, 95])
def test_level(level):
    with pytest.raises(OptionError, match="level"):
        tetrachoric(pair(4, 1, 1, 4)).interval(level=level)
