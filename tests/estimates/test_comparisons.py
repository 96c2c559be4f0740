"""All pairwise differences: each is the paired difference, adjusted for their number."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from psychollm._base.errors import OptionError, ShapeError
from psychollm.calibration import brier, confusion
from psychollm.estimates import adjust_p_values
from psychollm.estimates.comparisons import compare_all
from psychollm.estimates.reasons import Reason


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
    with pytest.raises(ShapeError, match="one model only"):
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
