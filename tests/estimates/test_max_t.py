"""Max-T against its slow twin, its limits, and the chance of a false alarm."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from psychollm._base.errors import OptionError, ShapeError
from psychollm.estimates.max_t import max_t
from psychollm.estimates.reasons import Reason
from tests.oracles import max_t_slow as slow


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


def test_bad_input():
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
