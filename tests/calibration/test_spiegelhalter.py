"""Spiegelhalter's test: published values, its slow twin, false alarms, clusters."""

import numpy as np
import pytest
from hypothesis import given
from scipy import stats

from psychollm.calibration.scores.spiegelhalter import SPIEGELHALTER, spiegelhalter
from psychollm.calibration.stated import stated_answers
from psychollm.calibration.tally import tallies
from psychollm.estimates.reasons import Reason
from tests.calibration.test_proper_scores import PAIRS
from tests.oracles import proper_scores_slow as slow


@given(PAIRS)
def test_z_is_that_of_the_slow_twin(pair):
    confidence = pair[0]
    found = spiegelhalter(*pair)
    if np.isin(confidence, (0.0, 0.5, 1.0)).all():
        assert found.flags == (Reason.NO_TEST_VARIANCE,)
        assert np.isnan(found.statistic[0])
        assert np.isnan(found.p_value[0])
        return
    assert found.statistic[0] == pytest.approx(slow.spiegelhalter(*pair), abs=1e-10)
    assert found.p_value[0] == pytest.approx(2 * stats.norm.sf(abs(found.statistic[0])))
    (tally,) = tallies(stated_answers(*pair))
    own = SPIEGELHALTER.compute(tally.values, tally.correct[None], tally.wrong[None])
    assert own[0, 0] == found.statistic[0]


def test_false_alarms_of_spiegelhalters_test():
    """2,000 calibrated models of 200 answers: nominal 5 %, a share in [4, 6] % but one in 25."""
    rng = np.random.default_rng(7)
    confidence = rng.beta(4, 2, size=(2000, 200))
    correct = (rng.uniform(size=confidence.shape) < confidence).astype(float)
    assert 0.04 <= (spiegelhalter(confidence, correct).p_value < 0.05).mean() <= 0.06


def test_clusters_of_one_and_equal_weights_are_close_to_the_plain_test():
    rng = np.random.default_rng(1)
    confidence = rng.beta(4, 2, size=2000)
    correct = (rng.uniform(size=2000) < confidence).astype(float)
    plain = spiegelhalter(confidence, correct).statistic[0]
    clustered = spiegelhalter(confidence, correct, clusters=np.arange(2000))
    assert clustered.statistic[0] == pytest.approx(plain, rel=0.1)
    assert clustered.method.startswith("t")


def test_answers_that_go_together_are_allowed_for():
    """Each answer counted five times: the plain z is larger by the root of five."""
    rng = np.random.default_rng(2)
    confidence = rng.beta(4, 2, size=300)
    correct = (rng.uniform(size=300) < confidence**1.5).astype(float)
    five = [np.repeat(array, 5) for array in (confidence, correct)]
    once = spiegelhalter(confidence, correct, clusters=np.arange(300)).statistic[0]
    together = spiegelhalter(*five, clusters=np.repeat(np.arange(300), 5)).statistic[0]
    assert together == pytest.approx(once)
    assert spiegelhalter(*five).statistic[0] == pytest.approx(
        np.sqrt(5) * spiegelhalter(confidence, correct).statistic[0]
    )


def test_one_cluster_tests_nothing():
    found = spiegelhalter([0.9, 0.6, 0.7], [1, 0, 1], clusters=["a"] * 3)
    assert found.flags == (Reason.ONE_CLUSTER,)
    assert np.isnan(found.p_value[0])
