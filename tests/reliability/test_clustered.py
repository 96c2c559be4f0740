"""Clustered standard errors: R and statsmodels, whole matrices, coverage, degenerate input."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psychollm._base.errors import CodeError, LabelError, OptionError, ShapeError
from psychollm.estimates.comparisons import compare_all
from psychollm.estimates.reasons import Reason
from psychollm.estimates.resampling import Bootstrap
from psychollm.reliability.means.clustered import clustered_mean, mean_score
from psychollm.reliability.means.score_differences import score_differences
from psychollm.reliability.means.set_difference import set_difference
from tests.oracles import clustered_slow as slow
from tests.reliability.golden_cases import clusters_case

CASES = ["cluster_a", "cluster_b"]


def few(scores, **options):
    return mean_score(scores, bootstrap=2, rng=0, **options)


@pytest.mark.parametrize("case", CASES)
def test_golden_means(golden, case):
    scores, clusters, models, (first, second) = clusters_case(golden, case)
    for row, model in enumerate(models):
        expected, again = first["values"][model], second["values"][model]
        one = scores[row : row + 1]
        assert few(one).n[0] == expected["n"]
        found = {
            "mean": few(one).value,
            "se_clt": few(one).se,
            "se_bernoulli": few(one, correction="cr0").se,
            "se_cluster_cr0": few(one, clusters=clusters, correction="cr0").se,
            "se_cluster_g_adj": few(one, clusters=clusters, correction="cr1").se,
        }
        for name, value in found.items():
            assert value[0] == pytest.approx(expected[name], abs=first["tol"]), name
        for name in ("cr0", "miller_closed_form"):
            assert found["se_cluster_cr0"][0] == pytest.approx(again[name], abs=second["tol"])
        for name in ("cr1", "inspect_ai"):
            assert found["se_cluster_g_adj"][0] == pytest.approx(again[name], abs=second["tol"])
        assert np.unique(clusters).size == expected["G"]


CLUSTERED = st.integers(0, 100_000).map(np.random.default_rng)


@given(CLUSTERED, st.sampled_from(["cr0", "cr1", "cr2"]))
def test_mean_is_the_regression_on_a_constant(rng, correction):
    n = int(rng.integers(6, 25))
    y = rng.normal(size=n).round(1)
    clusters = np.unique(rng.integers(0, 5, n), return_inverse=True)[1]
    if clusters.max() == 0:
        clusters[0] = 1
        clusters = np.unique(clusters, return_inverse=True)[1]
    found = clustered_mean(y[None], np.ones((1, n)), clusters, correction=correction)
    value, se, df = slow.mean(y, np.ones(n), clusters.tolist(), correction)
    np.testing.assert_allclose([found.value[0], found.se[0]], [value, se], atol=1e-12)
    if correction == "cr2":
        assert found.df[0] == pytest.approx(df, rel=1e-9)
    else:
        assert found.df[0] == clusters.max()


@given(CLUSTERED)
def test_weights_are_those_of_weighted_regression(rng):
    n = 18
    y, weights = rng.normal(size=n), rng.uniform(0.1, 2, n)
    clusters = rng.permutation(np.arange(n) % 4)
    found = few(y, clusters=clusters, weights=weights, correction="cr1")
    value, se, _ = slow.mean(y, weights, clusters.tolist(), "cr1")
    np.testing.assert_allclose([found.value[0], found.se[0]], [value, se], rtol=1e-10)


@given(CLUSTERED)
def test_missing_answers_are_left_out(rng):
    scores = rng.normal(size=(3, 15))
    scores[rng.uniform(size=scores.shape) < 0.3] = np.nan
    scores[:, :3] = 1.0
    clusters = rng.permutation(np.arange(15) % 5)
    together = few(scores, clusters=clusters)
    for row in range(3):
        known = np.isfinite(scores[row])
        alone = few(scores[row, known], clusters=clusters[known])
        np.testing.assert_allclose(together.value[row], alone.value[0], atol=1e-14)
        np.testing.assert_allclose(together.se[row], alone.se[0], atol=1e-14)
        assert together.n[row] == known.sum()


@given(CLUSTERED)
def test_order_of_questions_does_not_matter(rng):
    scores, clusters = rng.integers(0, 2, (2, 20)), rng.integers(0, 6, 20)
    order = rng.permutation(20)
    first = few(scores, clusters=clusters)
    second = few(scores[:, order], clusters=clusters[order])
    np.testing.assert_allclose(first.se, second.se, rtol=1e-12)
    assert first.flags == second.flags


def test_clusters_of_one_question_change_nothing():
    scores = np.random.default_rng(0).integers(0, 2, (2, 30))
    np.testing.assert_array_equal(few(scores).se, few(scores, clusters=range(30)).se)


def test_duplicated_questions_in_one_cluster_add_nothing():
    scores = np.random.default_rng(1).integers(0, 2, (2, 30))
    doubled = few(np.tile(scores, 2), clusters=np.tile(np.arange(30), 2))
    np.testing.assert_allclose(doubled.se, few(scores).se, rtol=1e-12)


def test_every_flag_of_a_mean():
    scores = [[np.nan] * 4, [1, np.nan, np.nan, np.nan], [1, 0, np.nan, np.nan], [0.1] * 4]
    found = few(scores, clusters=["a", "a", "b", "b"])
    assert found.flags == (
        Reason.NO_SCORES,
        Reason.ONE_QUESTION,
        Reason.ONE_CLUSTER,
        Reason.NO_SPREAD,
    )
    np.testing.assert_array_equal(np.isfinite(found.value), [False, True, True, True])
    np.testing.assert_array_equal(found.se, [np.nan, np.nan, np.nan, 0.0])
    assert np.isnan(found.interval).all()


def test_resamples_are_paired_and_clustered():
    rng = np.random.default_rng(4)
    scores = rng.integers(0, 2, (3, 120)).astype(float)
    clusters = np.arange(120) // 4
    found = mean_score(scores, clusters=clusters, rng=0, bootstrap=4000)
    pairs = score_differences(scores, clusters=clusters, correction="cr0")
    # The bootstrap's standard error is cr0 but for its noise of 1 / sqrt(2 x 4000).
    np.testing.assert_allclose(found.draws.std(axis=0), found.se * np.sqrt(29 / 30), rtol=0.05)
    np.testing.assert_allclose(found.difference(0, 1).se, pairs.se[0], rtol=0.05)
    scores = rng.normal(size=(3, 120))
    serial, threads = (
        mean_score(scores, rng=0, bootstrap=Bootstrap(80, n_jobs=n)) for n in (1, 2)
    )
    np.testing.assert_array_equal(serial.draws, threads.draws)
    assert found.df == pytest.approx(np.full(3, 29.0))
    assert compare_all(found, adjustment="max_t").adjusted.shape == (3,)


@pytest.mark.parametrize(
    ("correction", "low", "high"), [("cr1", 0.925, 0.965), ("cr2", 0.93, 0.97)]
)
def test_coverage_with_ten_clusters(correction, low, high):
    """1,500 samples of ten clusters of eight; the bounds are 3.5 standard errors wide."""
    rng = np.random.default_rng(5)
    shared = rng.normal(size=(1500, 10)).repeat(8, axis=1)
    scores = 0.6 * shared + 0.8 * rng.normal(size=shared.shape)
    clusters = np.arange(80) // 8
    found = clustered_mean(scores, np.ones(scores.shape), clusters, correction=correction)
    bounds = found.interval(0.95)
    assert 0.93 < ((bounds[:, 0] <= 0) & (bounds[:, 1] >= 0)).mean() < 0.97
    naive = clustered_mean(scores, np.ones(scores.shape), None).interval(0.95)
    assert ((naive[:, 0] <= 0) & (naive[:, 1] >= 0)).mean() < 0.8


def test_shares_are_covered_where_errors_are_rare():
    """2,000 samples of 15 clusters, one score in eleven 0: of symmetric intervals 89 % held."""
    rng = np.random.default_rng(8)
    codes = np.repeat(np.arange(15), np.round(4 * 16 ** np.linspace(0.0, 1.0, 15)).astype(int))
    ease = 3.0 + rng.standard_normal((2000, 15))[:, codes]
    scores = (rng.random(ease.shape) < 1.0 / (1.0 + np.exp(-ease))) * 1.0
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    truth = (weights / (1.0 + np.exp(-3.0 - nodes))).sum() / weights.sum()
    found = mean_score(scores, clusters=codes, bootstrap=0)
    low, high = found.interval[found.defined].T
    assert 0.92 < ((low <= truth) & (truth <= high)).mean() < 0.97
    assert low.min() >= 0.0
    assert high.max() <= 1.0
    assert found.method == "cluster-robust (cr2), Wilson, t"
    twice = mean_score(2.0 * scores[:2], clusters=codes, bootstrap=0)
    np.testing.assert_allclose(twice.interval.mean(axis=1), twice.value)


def test_bad_input():
    scores = [[1, 0, 1], [1, 1, 0]]
    with pytest.raises(ShapeError, match="clusters holds 2 labels for 3"):
        mean_score(scores, clusters=[1, 2])
    with pytest.raises(OptionError, match="'cr2'"):
        mean_score(scores, correction="cr3")
    with pytest.raises(OptionError, match="weights must be finite"):
        mean_score(scores, weights=[1, np.inf, 1])
    with pytest.raises(CodeError, match="infinity"):
        mean_score([[1, np.inf]])
    with pytest.raises(ShapeError, match="one model only"):
        score_differences([1, 0, 1])
    with pytest.raises(LabelError, match="the models are 0, 1"):
        score_differences(scores, pairs=[(0, "x")])
    with pytest.raises(LabelError, match="pass pairs of models"):
        score_differences(scores, pairs=[0, 1])
    with pytest.raises(LabelError, match="share 1"):
        set_difference(scores, [0, 1], [1, 2])
    with pytest.raises(OptionError, match="level"):
        set_difference(scores, [0], [2], level=95)


def test_no_resamples_leave_the_interval_and_say_so():
    scores = np.random.default_rng(0).integers(0, 2, (2, 30))
    found = mean_score(scores, bootstrap=0)
    np.testing.assert_array_equal(found.interval, mean_score(scores, rng=0, bootstrap=2).interval)
    with pytest.raises(OptionError, match="without resamples"):
        found.difference(0, 1)
