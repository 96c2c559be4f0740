"""The tally: answers counted by confidence, for the sample and for resamples of questions."""

import numpy as np
import pytest

from psychollm.calibration import Metric, Tally
from psychollm.calibration.stated import stated_answers
from psychollm.calibration.tally import tallies
from psychollm.estimates import Reason

SAID = np.array([[0.5, 0.9, 0.5, np.nan, 0.1], [0.2, 0.2, 0.2, 0.2, 0.2]])
RIGHT = np.array([[1, 1, 0, 1, 0], [1, 0, 0, 0, 1]])


def test_answers_are_counted_by_confidence() -> None:
    first, second = tallies(stated_answers(SAID, RIGHT))
    assert first.values.tolist() == [0.1, 0.5, 0.9]
    assert first.correct.tolist() == [0.0, 1.0, 1.0]
    assert first.wrong.tolist() == [1.0, 1.0, 0.0]
    assert (first.n, second.n) == (4, 5)
    assert second.values.tolist() == [0.2]


@pytest.mark.parametrize("kind", [np.uint8, np.float64])
def test_a_resample_counts_each_question_as_often_as_it_was_drawn(kind: type) -> None:
    first, _ = tallies(stated_answers(SAID, RIGHT))
    drawn = np.array([[2, 0, 1, 5, 0], [1, 1, 1, 1, 1]], dtype=kind)
    correct, wrong = first.resampled(drawn)
    assert correct.tolist() == [[0.0, 2.0, 0.0], [0.0, 1.0, 1.0]]
    assert wrong.tolist() == [[0.0, 1.0, 0.0], [1.0, 1.0, 0.0]]


def test_flags_of_a_metric_of_ones_own_read_it() -> None:
    def flags(tally: Tally) -> tuple[Reason]:
        return (Reason.CONSTANT if tally.values.size == 1 else Reason.NONE,)

    metric = Metric(names=("accuracy",), compute=_accuracy, flags=flags)
    assert metric(SAID, RIGHT, bootstrap=40, rng=0).flags[1] is Reason.CONSTANT


def _accuracy(values: np.ndarray, correct: np.ndarray, wrong: np.ndarray) -> np.ndarray:
    return (correct.sum(axis=1) / (correct + wrong).sum(axis=1))[:, None]
