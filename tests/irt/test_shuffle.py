"""The negative control."""

import numpy as np
import pytest

from psychollm.estimates.verdict import Outcome, SmallestEffects
from psychollm.irt.replicated.shuffle import _shuffled, slope_null


def test_noise_says_nothing_and_signal_something(simulated):
    noise = (np.random.default_rng(1).random((24, 15)) < 0.5).astype(int)
    nothing = slope_null(noise, n_null=39, rng=1)
    assert nothing.p_value > 0.05
    assert (nothing.adjusted > 0.05).all()
    assert nothing.null_slope_sd.min() > 0.1  # slopes spread where there is nothing
    assert nothing.outcome() is Outcome.OPEN
    assert nothing.summary().startswith("The gain over shuffled answers is inconclusive")
    signal = slope_null(simulated(60, np.full(15, 1.5), np.zeros(15), 2), n_null=39, rng=1)
    assert signal.p_value == 1 / 40
    assert "predicts better" in signal.summary()
    assert signal.to_frame().shape == (15, 5)


def test_many_answers_show_that_there_is_little_to_find():
    noise = (np.random.default_rng(1).random((100, 20)) < 0.5).astype(int)
    nothing = slope_null(noise, n_null=39, rng=1)
    assert nothing.n_answers == 2000
    assert nothing.outcome(smallest=SmallestEffects(r_squared=0.04)) is Outcome.SMALL
    assert "below R2 = 0.04" in nothing.summary(smallest=SmallestEffects(r_squared=0.04))
    # (2 G - nu)^2 = z^2 (v + 4 nu) at both ends of the interval.
    found = slope_null(np.sort(noise, axis=0)[:, :3] | noise[:, :3], n_null=39, rng=1)
    gain = 2.0 * (found.objective - found.draws.mean())
    noncentrality = -found.n_answers * np.log1p(-found.r_squared_interval)
    assert (gain - noncentrality) ** 2 == pytest.approx(
        1.96**2 * (4.0 * found.draws.var() + 4.0 * noncentrality)
    )


def test_answers_do_not_depend_on_workers(simulated):
    answers = simulated(30, np.ones(6), np.zeros(6), 3).astype(float)
    answers[3, 2], answers[:, 4] = np.nan, 1.0
    one, two = slope_null(answers, n_null=8, rng=5), slope_null(answers, n_null=8, rng=5, n_jobs=2)
    np.testing.assert_array_equal(one.draws, two.draws)
    assert np.isnan(one.slope_p_value[4])


def test_shuffling_keeps_rates_and_gaps():
    values = np.random.default_rng(4).integers(0, 2, (20, 5)).astype(float)
    values[:4, 1] = np.nan
    moved = _shuffled(values, np.random.default_rng(5))
    np.testing.assert_array_equal(np.isnan(moved), np.isnan(values))
    np.testing.assert_array_equal(np.nansum(moved, axis=0), np.nansum(values, axis=0))
    assert (moved[4:] != values[4:]).any()
