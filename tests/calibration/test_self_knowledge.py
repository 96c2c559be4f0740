"""P(True) from two continuations, P(IK) from the question alone."""

import numpy as np
import pytest

from psychollm._base.errors import CodeError, OptionError, ShapeError
from psychollm.calibration import auroc, brier
from psychollm.calibration.sampled.self_knowledge import p_true, predicted_correctness
from psychollm.estimates.reasons import Reason

pytest.importorskip("sklearn")


def test_only_the_ratio_matters() -> None:
    true, false = np.log([[0.6, 0.06]]), np.log([[0.2, 0.02]])
    assert p_true(true, false) == pytest.approx(np.array([[0.75, 0.75]]))


def test_certainty_and_silence() -> None:
    found = p_true([[-np.inf, 0.0, -np.inf]], [[-1.0, -np.inf, -np.inf]])
    assert found[0, :2].tolist() == [0.0, 1.0]
    assert np.isnan(found[0, 2])


def test_probabilities_in_place_of_logarithms_are_named() -> None:
    with pytest.raises(CodeError, match=r"log_true\[0, 1\] = 0.4: pass natural logarithms"):
        p_true([[-0.5, 0.4]], [[-0.5, -1.0]])
    with pytest.raises(ShapeError, match="log_false"):
        p_true([[-0.5]], [[-0.5, -1.0]])


def simulated(n: int = 600) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(2)
    features = rng.normal(size=(n, 5))
    return features, (rng.logistic(size=(2, n)) < 2 * features[:, 0]).astype(float)


def test_a_probe_beats_the_forecast_that_knows_no_question() -> None:
    features, correct = simulated()
    found = predicted_correctness(features, correct)
    # The probability itself has an area of 0.86 and a Brier score of 0.15; the probe nearly.
    assert (auroc(found.confidence, correct).value > 0.8).all()
    trivial = brier(found.baseline, correct, rng=0, bootstrap=10).value
    assert (brier(found.confidence, correct, rng=0, bootstrap=10).value < trivial - 0.05).all()


def test_features_that_know_nothing_do_not_beat_it() -> None:
    _, correct = simulated()
    noise = np.random.default_rng(3).normal(size=(600, 5))
    found = predicted_correctness(noise, correct)
    assert (np.abs(auroc(found.confidence, correct).value - 0.5) < 0.08).all()


def test_groups_stay_together() -> None:
    features, correct = simulated(60)
    groups = np.repeat(np.arange(12), 5)
    fold = predicted_correctness(features, correct, groups=groups).fold
    assert all(len(set(fold[groups == group])) == 1 for group in range(12))


def test_shares_of_correct_samples_are_targets() -> None:
    features, correct = simulated()
    share = 0.5 * (correct[:1] + correct[1:])
    found = predicted_correctness(features, share)
    assert np.corrcoef(found.confidence[0], share[0])[0, 1] > 0.5


def test_degenerate_models_have_a_reason() -> None:
    features, correct = simulated(50)
    table = np.stack([np.ones(50), np.zeros(50), np.full(50, np.nan), correct[0]])
    found = predicted_correctness(features, table)
    assert found.flags == (
        Reason.NO_WRONG,
        Reason.NO_CORRECT,
        Reason.NO_ANSWERS,
        Reason.NONE,
    )
    assert np.isnan(found.confidence[:3]).all()
    assert np.isfinite(found.confidence[3]).all()


def test_bad_input_is_named() -> None:
    features, correct = simulated(20)
    with pytest.raises(ShapeError, match="20 questions"):
        predicted_correctness(features[:-1], correct)
    features[4, 0] = np.nan
    with pytest.raises(CodeError, match="question number 5 are not finite"):
        predicted_correctness(features, correct)
    with pytest.raises(OptionError, match="only 2 groups"):
        predicted_correctness(simulated(20)[0], correct, groups=[0, 1] * 10)
