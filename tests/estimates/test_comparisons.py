"""Comparisons of all pairs; max-T against its slow twin, and the chance of a false alarm."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from psychollm._base.errors import OptionError, ShapeError
from psychollm.calibration import brier, confusion
from psychollm.estimates import adjust_p_values
from psychollm.estimates.comparisons import compare_all, max_t
from psychollm.estimates.reasons import Reason
from tests.oracles import max_t_slow as slow


def scores(n_models=5, seed=0, bootstrap=500):
    rng = np.random.default_rng(seed)
    confidence = np.round(rng.uniform(size=(n_models, 200)), 1)
    chance = confidence * np.linspace(0.6, 0.9, n_models)[:, None]
    correct = (rng.uniform(size=confidence.shape) < chance).astype(float)
    return brier(confidence, correct, rng=0, bootstrap=bootstrap)


def test_each_pair_is_the_paired_difference():
    score = scores()
    found = compare_all(score, tail="resamples")
    assert len(found.first) == 10
    for k, pair in enumerate(zip(found.first, found.second, strict=True)):
        single = score.difference(*pair)
        assert found.value[k] == single.value
        assert found.se[k] == pytest.approx(single.se, rel=1e-12)
        assert found.p_value[k] == pytest.approx(single.p_value, rel=1e-12)
        np.testing.assert_allclose(found.interval[k], single.interval, rtol=1e-12)
        assert found.n_resamples[k] == single.n_resamples


@pytest.mark.parametrize("adjust", ["holm", "bonferroni", "bh", "by"])
def test_adjusted_for_all_pairs(adjust):
    found = compare_all(scores(), adjustment=adjust)
    np.testing.assert_array_equal(found.adjusted, adjust_p_values(found.p_value, method=adjust))


def test_max_t_rejects_more_than_holm_and_widens_intervals():
    score = scores(n_models=8, bootstrap=2000)
    plain, together = compare_all(score, adjustment="holm"), compare_all(score, adjustment="max_t")
    width = [np.diff(found.interval, axis=1).mean() for found in (plain, together)]
    assert width[1] > 1.2 * width[0]
    middle = (plain.adjusted > 1e-3) & (plain.adjusted < 0.98)
    assert middle.sum() >= 5
    assert (together.adjusted[middle] < plain.adjusted[middle]).mean() > 0.8


def test_p_values_are_those_of_students_t():
    score = scores()
    found = compare_all(score)
    t = np.abs(found.value) / (found.se * np.sqrt(200 / 199))
    np.testing.assert_allclose(found.p_value, 2 * stats.t.sf(t, 199), rtol=1e-9)
    clustered = replace(score, df=np.full(len(score.labels), 4.0))
    np.testing.assert_array_equal(compare_all(clustered).p_value, compare_all(score, df=4).p_value)
    few = compare_all(score, df=4)
    assert (few.p_value > found.p_value).all()
    assert (compare_all(score, df=4, adjustment="max_t").adjusted >= found.p_value).all()


def test_few_clusters_are_told_and_few_questions_are_not():
    score = scores(bootstrap=50)
    assert set(compare_all(score, df=1).flags) == {Reason.NONE}
    clustered = replace(score, df=np.full(len(score.labels), 1.0))
    assert set(compare_all(clustered).flags) == {Reason.FEW_CLUSTERS}


def test_models_that_are_one_do_not_differ():
    rng = np.random.default_rng(1)
    confidence = np.tile(rng.uniform(size=100), (3, 1))
    score = brier(confidence, rng.integers(0, 2, 100)[None, :].repeat(3, 0), rng=0)
    for adjust in ("holm", "max_t"):
        found = compare_all(score, adjustment=adjust)
        np.testing.assert_array_equal(found.adjusted, 1.0)
        assert not found.differ.any()


def test_an_undefined_model_leaves_the_family():
    rng = np.random.default_rng(2)
    confidence = rng.uniform(size=(4, 60))
    confidence[1] = np.nan
    score = brier(confidence, rng.integers(0, 2, (4, 60)), rng=0, bootstrap=300)
    for adjust in ("holm", "max_t"):
        found = compare_all(score, adjustment=adjust)
        undefined = np.array([1 in pair for pair in zip(found.first, found.second, strict=True)])
        assert np.isnan(found.adjusted[undefined]).all()
        assert np.isnan(found.interval[undefined]).all()
        assert np.isfinite(found.adjusted[~undefined]).all()
        assert found.flags[0] is Reason.UNDEFINED
    rest = compare_all(brier(confidence[[0, 2, 3]], np.ones((3, 60)), rng=0, bootstrap=10))
    assert len(rest.value) == 3


def test_bad_input():
    score = scores(bootstrap=10)
    with pytest.raises(OptionError, match="'max_t'"):
        compare_all(score, adjustment="tukey")
    with pytest.raises(OptionError, match="tail"):
        compare_all(score, tail="normal")
    with pytest.raises(OptionError, match="level"):
        compare_all(score, level=95)
    with pytest.raises(ShapeError, match="has only one model"):
        compare_all(scores(n_models=1, bootstrap=10))
    with pytest.raises(OptionError, match="without resamples"):
        compare_all(confusion([[1, 0], [0, 1]], [[1, 1], [0, 1]]).accuracy)


def test_where_no_resample_is_defined():
    score = scores(n_models=2, bootstrap=10)
    empty = replace(score, _draws=np.full((10, 2), np.nan))
    found = compare_all(empty)
    assert found.flags == (Reason.TOO_FEW,)
    assert np.isnan(found.p_value).all()
    assert found.to_frame().shape == (1, 9)


@given(st.integers(0, 10_000), st.integers(1, 5))
def test_p_values_are_those_of_the_slow_twin(seed, m):
    rng = np.random.default_rng(seed)
    value = rng.normal(0, 2, m)
    draws = value + rng.normal(size=(40, m)) @ rng.normal(size=(m, m))
    found = max_t(value, draws)
    np.testing.assert_allclose(found.single_step, slow.single_step(value, draws), rtol=1e-12)
    np.testing.assert_allclose(found.step_down, slow.step_down(value, draws), rtol=1e-12)


@given(st.integers(0, 10_000))
def test_stepping_down_gains_and_keeps_the_order(seed):
    rng = np.random.default_rng(seed)
    value = rng.normal(0, 2, 6)
    found = max_t(value, value + rng.normal(size=(99, 6)))
    assert (found.step_down <= found.single_step).all()
    order = np.argsort(-found.statistic)
    assert (np.diff(found.step_down[order]) >= 0).all()
    # The interval leaves out zero where the single-step test rejects, but for the counted one.
    outside = (found.interval[:, 0] > 0) | (found.interval[:, 1] < 0)
    assert (found.single_step[~outside] > 0.04).all()
    assert (found.single_step[outside] <= 0.05 + 1 / 100).all()


def test_independent_estimates_have_sidaks_critical_value():
    # Standard error of the quantile from 200,000 draws: 0.006.
    draws = np.random.default_rng(0).normal(size=(200_000, 10))
    sidak = stats.norm.ppf(0.5 + 0.5 * 0.95**0.1)
    assert max_t(np.zeros(10), draws).critical == pytest.approx(sidak, abs=0.025)


def test_one_estimate_many_times_costs_nothing():
    draws = np.random.default_rng(0).normal(size=(20_000, 1)).repeat(8, axis=1)
    assert max_t(np.zeros(8), draws).critical == pytest.approx(1.96, abs=0.04)


def test_degrees_of_freedom_make_one_estimate_students_t():
    draws = np.random.default_rng(6).normal(2.0, size=(200_000, 1))
    found = max_t([2.0], draws, df=9)
    width = np.diff(found.interval)[0, 0] / 2
    # Standard error of the quantile from 200,000 draws: 0.006, times the slope of t against z.
    assert width == pytest.approx(stats.t.ppf(0.975, 9) * np.sqrt(10 / 9), abs=0.04)
    p = 2 * stats.t.sf(2.0 / found.se[0] * np.sqrt(0.9), 9)
    assert found.single_step[0] == pytest.approx(p, abs=0.003)
    known = max_t([2.0], draws, df=1e9)
    np.testing.assert_allclose(known.interval, max_t([2.0], draws).interval, rtol=1e-6)


def test_what_is_undefined_takes_no_part():
    rng = np.random.default_rng(2)
    draws = rng.normal(size=(500, 4))
    alone = max_t([1.0, 2.0], draws[:, :2])
    draws[:, 3] = np.nan
    together = max_t([1.0, 2.0, np.nan, 0.3], draws)
    np.testing.assert_array_equal(together.step_down[:2], alone.step_down)
    assert np.isnan(together.step_down[2:]).all()
    assert np.isnan(together.interval[2:]).all()
    assert together.flags == (Reason.NONE, Reason.NONE, Reason.UNDEFINED, Reason.TOO_FEW)


def test_single_undefined_draws_are_left_out():
    draws = np.random.default_rng(3).normal(size=(500, 2))
    draws[:5, 0] = [np.nan, np.inf, -np.inf, np.nan, np.nan]
    assert np.isfinite(max_t([0.5, 0.5], draws).step_down).all()


def test_where_all_resamples_agree():
    draws = np.random.default_rng(4).normal(size=(99, 3))
    draws[:, 0], draws[:, 1] = 0.0, 0.25
    found = max_t([0.0, 0.25, 0.1], draws)
    assert found.step_down[0] == 1.0
    assert found.step_down[1] == 0.01
    np.testing.assert_array_equal(found.interval[:2], [[0.0, 0.0], [0.25, 0.25]])
    constant = max_t([0.0], np.zeros((9, 1)))
    assert np.isnan(constant.critical)
    assert constant.single_step == 1.0


def test_chance_of_any_false_alarm():
    """300 families of 45 true nulls; at 5 % more than 26 alarms happen once in a thousand."""
    rng = np.random.default_rng(5)
    i, j = np.triu_indices(10, 1)
    alarms = 0
    for _ in range(300):
        scores = rng.normal(size=(10, 60))
        counts = rng.multinomial(60, np.full(60, 1 / 60), size=400)
        means, draws = scores.mean(axis=1), counts @ scores.T / 60
        found = max_t(means[i] - means[j], draws[:, i] - draws[:, j], df=59)
        alarms += bool((found.step_down < 0.05).any())
    assert 5 <= alarms <= 26


def test_bad_input_of_the_largest_statistic():
    with pytest.raises(ShapeError, match="rows are resamples"):
        max_t([1.0, 2.0], np.zeros((10, 3)))
    with pytest.raises(ShapeError, match="at least two"):
        max_t([1.0], np.zeros((1, 1)))
    with pytest.raises(OptionError, match="level"):
        max_t([1.0], np.zeros((3, 1)), level=95)
    with pytest.raises(OptionError, match="must be positive"):
        max_t([1.0, 1.0], np.zeros((3, 2)), df=[1, 2, 3])
    with pytest.raises(OptionError, match="must be positive"):
        max_t([1.0], np.zeros((3, 1)), df=0)


def test_table():
    found = max_t([1.0, np.nan], np.random.default_rng(0).normal(size=(9, 2)))
    assert found.to_frame()["flag"].tolist() == ["", str(Reason.UNDEFINED)]
