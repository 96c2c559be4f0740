"""Intervals against SciPy and against closed forms, of proportions and from draws."""

import numpy as np
import pytest
from scipy import stats
from scipy.stats import binomtest

from psychollm._base.errors import CodeError, ShapeError
from psychollm.estimates.estimate import proportion
from psychollm.estimates.intervals import (
    basic_interval,
    bca_interval,
    clopper_pearson,
    normal_multiplier,
    paired_difference,
    paired_difference_se,
    percentile_interval,
    proportion_se,
    wilson,
)
from psychollm.estimates.reasons import Reason
from psychollm.estimates.resampling import left_out_counts, resample_counts


def test_errors_of_proportions() -> None:
    assert round(normal_multiplier(0.95), 4) == 1.96
    assert float(proportion_se(50, 100)) == 0.05
    assert round(float(paired_difference_se(10, 4, 50)), 4) == 0.0729


@pytest.mark.parametrize(("interval", "method"), [(wilson, "wilson"), (clopper_pearson, "exact")])
@pytest.mark.parametrize("hits", [0, 1, 7, 20])
def test_intervals_are_those_of_scipy(interval, method: str, hits: int) -> None:
    expected = binomtest(hits, 20).proportion_ci(0.9, method)
    np.testing.assert_allclose(interval(hits, 20, level=0.9), expected, rtol=1e-9, atol=1e-12)


def test_nothing_seen_is_no_proportion() -> None:
    for interval in (wilson, clopper_pearson):
        assert np.isnan(interval(0, 0)).all()
    assert np.isnan(paired_difference(0, 0, 0)).all()
    nothing = np.zeros(1)
    found = proportion("x", nothing, nothing, level=0.9, labels=("m",))
    assert found.flags == (Reason.NO_ANSWERS,)


def test_paired_differences_are_mirrored() -> None:
    low, high = paired_difference(10, 4, 50)
    np.testing.assert_allclose(paired_difference(4, 10, 50), [-high, -low], rtol=1e-12)


@pytest.mark.parametrize("method", ["percentile", "basic", "BCa"])
def test_bounds_are_those_of_scipy(method: str) -> None:
    rng = np.random.default_rng(3)
    sample = rng.exponential(size=60)
    # By its old name: SciPy 1.13 knows no other, and later versions still do.
    found = stats.bootstrap(
        (sample,), np.mean, n_resamples=4000, method=method, random_state=rng, confidence_level=0.9
    )
    value, draws = np.array([sample.mean()]), found.bootstrap_distribution[:, None]
    left_out = (sample.sum() - sample)[:, None] / 59
    bounds = {
        "percentile": lambda: percentile_interval(draws, 0.9),
        "basic": lambda: basic_interval(value, draws, 0.9),
        "BCa": lambda: bca_interval(value, draws, left_out, 0.9),
    }[method]()[0]
    # SciPy counts the share of draws below without a half for ties: none occur here.
    assert bounds == pytest.approx(list(found.confidence_interval), rel=1e-3)


def test_undefined_draws_are_left_out_and_undefined_values_stay_so() -> None:
    draws = np.stack([np.r_[np.arange(99.0), np.nan], np.full(100, np.nan)], axis=1)
    bounds = bca_interval(np.array([49.0, np.nan]), draws, np.ones((5, 2)), 0.9)
    assert np.isfinite(bounds[0]).all()
    assert np.isnan(bounds[1]).all()


def test_a_block_jackknife_keeps_the_skewness() -> None:
    sample = np.random.default_rng(1).exponential(size=6000)
    counts = left_out_counts(sample.size)
    assert counts.shape == (200, 6000)
    means = counts @ sample / counts.sum(axis=1)
    u = means.mean() - means
    acceleration = (u**3).sum() / (6 * (u**2).sum() ** 1.5)
    # skewness 2 of the exponential: a = 2 / (6 sqrt(n)) = 0.0043; noise of 200 blocks 0.003
    assert acceleration == pytest.approx(2 / (6 * np.sqrt(6000)), abs=0.01)


def test_clusters_are_drawn_whole() -> None:
    clusters = np.array([0, 0, 1, 2, 2, 2])
    seeds = np.stack([np.arange(50, dtype=np.uint64)] * 2, axis=1)
    counts = resample_counts(seeds, 6, clusters)
    for cluster in range(3):
        own = counts[:, clusters == cluster]
        assert (own == own[:, :1]).all()
    assert (counts[:, [0, 2, 3]].sum(axis=1) == 3).all()


def test_clusters_of_one_question_are_the_plain_bootstrap() -> None:
    seeds = np.stack([np.arange(5, dtype=np.uint64)] * 2, axis=1)
    assert (resample_counts(seeds, 7, np.arange(7)) == resample_counts(seeds, 7)).all()


@pytest.mark.parametrize(
    "call",
    [
        lambda: wilson([1, 2], [3, 4, 5]),
        lambda: clopper_pearson([1, 2], [3, 4, 5]),
        lambda: paired_difference([1, 2], [3, 4, 5], 10),
        lambda: proportion("x", np.ones(2), np.ones(3), level=0.9, labels=("a", "b")),
        lambda: proportion("x", np.ones(2), np.ones(2), level=0.9, labels=("a",)),
    ],
)
def test_counts_of_different_lengths_are_one_clear_error(call) -> None:
    with pytest.raises(ShapeError, match=r"different shapes|name each"):
        call()


def test_counts_that_were_computed_may_be_off_by_rounding() -> None:
    assert wilson(-1e-16, 10).tolist() == wilson(0, 10).tolist()
    assert wilson(10.0 + 1e-14, 10)[1] == 1.0
    assert clopper_pearson(-1e-16, 10).tolist() == clopper_pearson(0, 10).tolist()
    with pytest.raises(CodeError, match="successes holds -0.001"):
        wilson(-0.001, 10)
