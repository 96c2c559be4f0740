"""Type-2 ROC curves: the slow twin, areas, bands, tables, degenerate models."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from psychollm._base.errors import OptionError
from psychollm.calibration.discrimination.type2_roc import type2_roc
from psychollm.calibration.influence import wilson_from_draws
from psychollm.estimates.intervals import wilson
from psychollm.estimates.reasons import Reason
from tests.oracles import association_slow as slow

GRID = np.array([0.0, 0.1, 0.25, 1 / 3, 0.5, 0.75, 0.9, 1.0])
ANSWERS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 1)), min_size=2, max_size=15).map(
    lambda rows: np.array(rows, dtype=float).T
)


@given(ANSWERS)
def test_curve_is_that_of_the_slow_twin(data):
    scores, correct = data
    assume(0 < correct.sum() < correct.size)
    found = type2_roc(scores[None], correct[None], false_alarms=GRID, bootstrap=2, rng=0)
    np.testing.assert_allclose(found.hits[0], slow.roc(scores, correct, GRID), atol=1e-12)


def test_rounding_keeps_the_upper_end_of_a_jump():
    # 29 of 100 wrong answers above all correct ones; 0.29 * 100 is less than 29 in binary.
    scores = np.concatenate([np.full(29, 3.0), np.full(10, 2.0), np.full(71, 1.0)])
    right = np.concatenate([np.zeros(29), np.ones(10), np.zeros(71)])
    found = type2_roc(scores[None], right[None], false_alarms=[0.29], bootstrap=2, rng=0)
    assert found.hits[0, 0] == 1.0


@given(ANSWERS)
def test_the_area_below_the_criteria_is_the_auroc(data):
    scores, correct = data
    assume(0 < correct.sum() < correct.size)
    found = type2_roc(scores[None], correct[None], bootstrap=2, rng=0)
    alarms, hits = found.criterion_false_alarms[0], found.criterion_hits[0]
    area = np.trapezoid([0.0, *hits], [0.0, *alarms])
    assert area == pytest.approx(found.auroc.value[0], abs=1e-12)
    assert (np.diff(found.hits[0]) >= -1e-12).all()


def test_yes_and_no_have_one_corner():
    found = type2_roc([[1, 1, 0, 0, 1]], [[1, 1, 1, 0, 0]], false_alarms=[0.25, 0.5], rng=0)
    np.testing.assert_allclose(found.hits, [[1 / 3, 2 / 3]])
    assert found.criteria_frame()["hit_rate"].tolist() == pytest.approx([2 / 3, 1.0])


def test_bands_cover_the_curve():
    # Normal scores one standard deviation apart: hits at .2 are Phi(1 + z(.2)) = .563. 300 data
    # sets; nominal 95 %, standard error 1.3 %: fails by chance once in some thousand runs.
    rng = np.random.default_rng(0)
    right = np.tile(np.repeat([1.0, 0.0], [60, 40]), (300, 1))
    scores = rng.normal(size=right.shape) + right
    found = type2_roc(scores, right, false_alarms=[0.2], bootstrap=200, rng=1)
    low, high = found.interval[:, 0].T
    assert 0.90 < np.mean((low <= 0.5629) & (high >= 0.5629)) < 0.99


def test_bands_neither_collapse_nor_spike_next_to_one():
    # One wrong answer far below the others: the hit rate comes close to one, then is one.
    right = np.repeat([1.0, 0.0], [30, 20])
    scores = np.concatenate([np.arange(30.0), np.arange(20.0) - 10.5])
    found = type2_roc(scores[None], right[None], bootstrap=400, rng=0)
    low, high = found.interval[0].T
    assert (np.diff(low) >= 0.0).all()
    assert (np.diff(high) >= 0.0).all()
    assert ((low <= found.hits[0]) & (found.hits[0] <= high)).all()
    assert (high - low > 0.03).all()


def test_wilson_from_draws_does_not_trust_a_rate_next_to_a_bound():
    # A sample at .99 whose resamples vary about .9: at .99 they would be worth one trial.
    draws = np.tile([[0.8], [0.9], [1.0]], (40, 1))
    low, high = wilson_from_draws(np.array([0.99]), draws, np.array([30.0]), level=0.95)[0]
    assert 0.6 < low < 0.9
    assert high > 0.99


def test_wilson_from_draws_never_counts_more_trials_than_a_sample_without_exception_has():
    draws = np.repeat([[1.0], [0.999]], [40, 2], axis=0)
    found = wilson_from_draws(np.array([1.0]), draws, np.array([30.0]), level=0.95)
    np.testing.assert_allclose(found, wilson(np.array([30.0]), np.array([30.0])))


def test_degenerate_models_have_reasons():
    scores = [[1, 2, 3, 4]] * 2 + [[2, 2, 2, 2], [np.nan] * 4, [1, 2, 3, 4]]
    right = [[1, 1, 1, 1], [0, 0, 0, 0], [1, 0, 1, 0], [1, 0, 1, 0], [0, 0, 1, 1]]
    found = type2_roc(scores, right, false_alarms=[0.0, 0.5], rng=0, bootstrap=20)
    names = ["NO_WRONG", "NO_CORRECT", "CONSTANT", "NO_ANSWERS", "PERFECT"]
    assert [flag.name for flag in found.flags] == names
    assert np.isnan(found.hits[[0, 1, 3]]).all()
    assert np.isnan(found.interval[[0, 1, 3]]).all()
    np.testing.assert_array_equal(found.hits[[2, 4]], [[0.0, 0.5], [1.0, 1.0]])
    assert (found.interval[4, :, 0] < 0.9).all()  # two correct answers are no certainty
    assert found.to_frame()["model"].tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    assert len(found.criteria_frame()) == 4 + 4 + 1 + 0 + 4


def test_one_cluster_has_no_band():
    found = type2_roc([[1, 2, 3, 4]], [[0, 1, 0, 1]], clusters=["a"] * 4, bootstrap=5, rng=0)
    assert found.flags == (Reason.ONE_CLUSTER,)
    assert np.isnan(found.interval).all()
    assert np.isfinite(found.hits).all()


@pytest.mark.parametrize("rate", [-0.1, 1.5, np.nan])
def test_rates_lie_inside_the_unit_interval(rate):
    with pytest.raises(OptionError, match="false_alarms"):
        type2_roc([[1.0, 2.0]], [[1, 0]], false_alarms=[rate])
