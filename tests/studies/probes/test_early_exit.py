"""Stopping where a probe is sure."""

import numpy as np
import pytest

from psychollm._base.errors import InputError, ShapeError
from psychollm.studies import early_exit
from tests.studies.probes.test_probe import FEW


def steps() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return six steps of forty questions; from a step of its own on, each is right and sure."""
    rng = np.random.default_rng(4)
    when = rng.integers(0, 6, size=40)
    correct = (np.arange(6) >= when[:, None]).astype(float)
    sure = np.where(correct == 1, 0.9, 0.1)
    tokens = np.tile(np.arange(10, 70, 10.0), (40, 1))
    return sure, correct, tokens


def test_a_perfect_probe_saves_all_that_can_be_saved() -> None:
    sure, correct, tokens = steps()
    found = early_exit(sure, correct, tokens, **FEW)
    needed = (correct.argmax(axis=1) + 1) * 10.0
    assert found.saved == pytest.approx(1 - needed.sum() / (40 * 60))
    assert found.full_accuracy == 1.0
    assert found.saved_interval[0] < found.saved < found.saved_interval[1]
    assert found.saved_threshold == pytest.approx(0.5)
    assert "saves" in found.summary()
    assert len(found.to_frame()) == 50


def test_a_probe_that_is_always_sure_costs_accuracy() -> None:
    sure, correct, tokens = steps()
    found = early_exit(np.ones_like(sure), correct, tokens, thresholds=[0.5], **FEW)
    assert found.accuracy[0] == pytest.approx(correct[:, 0].mean())
    assert found.tokens[0] == pytest.approx(1 / 6)
    assert found.saved == 0.0
    assert np.isnan(found.saved_threshold)


def test_questions_of_different_length() -> None:
    found = early_exit(
        [[0.1, 0.2, np.nan], [0.9, 0.1, 0.1]],
        [[0, 1, np.nan], [1, 0, 0]],
        [[5, 10, np.nan], [5, 10, 20]],
        thresholds=[0.8],
        **FEW,
    )
    assert found.full_accuracy == 0.5
    assert found.accuracy.tolist() == [1.0]
    assert found.saved == pytest.approx(0.5)


def test_steps_that_cannot_be() -> None:
    sure, correct, tokens = steps()
    with pytest.raises(ShapeError, match="questions, steps"):
        early_exit(sure, correct[:, :2], tokens)
    with pytest.raises(InputError, match="question 0: tokens decrease"):
        early_exit(sure, correct, tokens[:, ::-1])
    gap = sure.copy()
    gap[2, 1] = np.nan
    with pytest.raises(InputError, match="question 2: confidence needs"):
        early_exit(gap, correct, tokens)
    with pytest.raises(InputError, match="NaN at a step"):
        early_exit(sure, np.where(correct == 1, np.nan, 0.0), tokens)
