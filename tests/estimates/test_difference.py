"""Differences of two models on shared resamples."""

import numpy as np
import pytest

from psychollm.calibration import brier
from psychollm.estimates.reasons import Reason


def simulated(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    confidence = np.round(rng.uniform(size=(3, 400)), 1)
    return confidence, (rng.uniform(size=confidence.shape) < confidence).astype(float)


def test_a_difference_is_paired() -> None:
    confidence, correct = simulated()
    confidence[1], correct[1] = confidence[0], correct[0]
    confidence[1, 0] = 1 - confidence[1, 0]
    found = brier(confidence, correct, rng=0).difference(0, 1)
    single = brier(confidence, correct, rng=0)
    # The two differ on one question: its influence, not two sampling errors.
    assert found.se < 0.2 * single.se[0]
    assert found.value == pytest.approx(single.value[0] - single.value[1])


def test_a_model_against_itself_differs_by_nothing() -> None:
    found = brier(*simulated(), rng=0).difference(2, 2)
    assert (found.value, found.se, found.p_value) == (0.0, 0.0, 1.0)


def test_an_undefined_value_gives_an_undefined_difference() -> None:
    confidence, correct = simulated()
    confidence[0] = np.nan
    score = brier(confidence, correct, rng=0, bootstrap=50)
    assert score.flags[0] is Reason.NO_ANSWERS
    assert score.difference(0, 1).flag is Reason.UNDEFINED
    assert np.isnan(score.difference(0, 1).value)
