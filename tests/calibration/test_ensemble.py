"""Mean vote against the best single model: no optimism, fair cuts, degenerate models."""

import numpy as np
import pytest

from psychollm.calibration.consensus.ensemble import ensemble_gain
from psychollm.estimates.reasons import Reason
from psychollm.estimates.resampling import Bootstrap


def answers(seed=0, k=5, n=400, noise=1.0):
    """Independent noisy readings of one signal that correctness follows."""
    rng = np.random.default_rng(seed)
    signal = rng.normal(size=n)
    said = signal + noise * rng.normal(size=(k, n)) > 0
    right = signal + rng.normal(size=(k, n)) > 0
    return said.astype(float), right.astype(float)


def test_independent_readings_gain_from_a_vote():
    found = ensemble_gain(*answers(), bootstrap=200, rng=0)
    assert found.mean_gain_interval[0] > 0.02
    assert found.mean_gain_at_equal_rate_interval[0] > 0.0
    assert found.mean_gain > found.mean_gain_at_equal_rate


def test_copies_gain_nothing():
    said, right = answers()
    said[1:] = said[0]
    found = ensemble_gain(said, right, bootstrap=50, rng=0)
    np.testing.assert_allclose(found.gain.value, 0.0, atol=1e-12)
    np.testing.assert_allclose(found.mean_gain_interval, 0.0, atol=1e-12)


def test_choosing_the_best_of_many_is_not_flattering():
    # Twelve coins: the best of twelve on the same questions has an area well above .5; chosen on
    # the other half it has .5. 40 tables x 12 targets, standard error of the mean below .004.
    single = []
    for seed in range(40):
        said, right = np.random.default_rng(seed).integers(0, 2, size=(2, 12, 200)).astype(float)
        single.append(ensemble_gain(said, right, bootstrap=2, rng=seed).single.value.mean())
    assert np.mean(single) == pytest.approx(0.5, abs=0.012)


def test_chosen_models_are_the_best_on_the_other_half():
    said, right = answers(k=3)
    said[0] = 1 - said[0]
    found = ensemble_gain(said, right, bootstrap=2, rng=0)
    assert found.chosen.shape == (2, 3)
    assert 0 not in found.chosen


def test_undefined_targets():
    said, right = answers(k=4, n=60)
    right[0], right[1] = 1.0, 0.0
    right[2] = np.nan
    found = ensemble_gain(said, right, bootstrap=5, rng=0)
    assert found.reason == (Reason.NO_WRONG, Reason.NO_CORRECT, Reason.NO_ANSWERS, Reason.NONE)
    assert np.isnan(found.gain.value[:3]).all()
    assert np.isfinite(found.mean_gain)
    assert found.chosen[:, 0].tolist() == [-1, -1]
    assert found.to_frame()["chosen_1"].iloc[0] is None


def test_no_target_at_all():
    found = ensemble_gain([[1, 0], [0, 1]], [[1, 1], [1, 1]], bootstrap=3, rng=0)
    assert np.isnan(found.mean_gain)
    assert np.isnan(found.mean_gain_interval).all()


def test_missing_answers():
    said, right = answers(k=4)
    rng = np.random.default_rng(1)
    said[rng.random(said.shape) < 0.2] = np.nan
    right[rng.random(right.shape) < 0.2] = np.nan
    found = ensemble_gain(said, right, bootstrap=20, rng=0)
    assert np.isfinite(found.gain.interval).all()
    assert (found.vote.n < 400).all()


def test_the_same_bits_for_any_number_of_jobs():
    one, two = (
        ensemble_gain(*answers(), bootstrap=Bootstrap(20, n_jobs=n), rng=3) for n in (1, 2)
    )
    np.testing.assert_array_equal(one.gain.interval, two.gain.interval)
