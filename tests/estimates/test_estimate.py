"""Estimates, the reasons of undefined ones, and paired differences."""

import numpy as np
import pytest

from psychollm._base.errors import LabelError, OptionError
from psychollm.calibration import brier, confusion
from psychollm.estimates.reasons import Reason, first_reason, untestable


def simulated(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    confidence = np.round(rng.uniform(size=(3, 400)), 1)
    return confidence, (rng.uniform(size=confidence.shape) < confidence).astype(float)


def test_draws_do_not_depend_on_the_other_models() -> None:
    confidence, correct = simulated()
    together = brier(confidence, correct, rng=5)
    alone = brier(confidence[1:2], correct[1:2], rng=5)
    assert (together.draws[:, 1] == alone.draws[:, 0]).all()


def test_unknown_models_are_named() -> None:
    with pytest.raises(LabelError, match=r"'x' is not a model of this estimate: it holds 0, 1, 2"):
        brier(*simulated(), rng=0, bootstrap=10).difference("x", 0)


def test_without_resamples_the_remedy_is_named() -> None:
    yes = [[1, 0, 1], [1, 1, 0]]
    with pytest.raises(OptionError, match="computed without resamples"):
        confusion(yes, yes).accuracy.difference(0, 1)


@pytest.mark.parametrize("clusters", [None, [0] * 400])
def test_one_question_or_one_cluster_gives_no_interval(clusters: list[int] | None) -> None:
    confidence, correct = simulated()
    if clusters is None:
        confidence[:, 1:] = np.nan
    score = brier(confidence, correct, clusters=clusters, rng=0, bootstrap=20)
    assert np.isfinite(score.value).all()
    assert np.isnan(score.interval).all()
    assert np.isnan(score.se).all()
    expected = Reason.ONE_QUESTION if clusters is None else Reason.ONE_CLUSTER
    assert score.flags == (expected,) * 3


def test_reasons() -> None:
    cases = (np.array([True, False]), Reason.NO_YES)
    assert first_reason(cases) == (Reason.NO_YES, Reason.NONE)
    assert Reason.NO_YES == "never says yes"
    assert untestable(np.array([1.0, 1.0]), np.array([1.0, 0.0])) is Reason.NO_NO
    assert Reason.NO_NO == "always says yes"


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
