"""Areas and sums in resamples, against repeated questions."""

import numpy as np
import pytest

from psychollm.kernels.weighted_ranking import coded_sums, weighted_areas
from tests.oracles import calibration_slow as slow


@pytest.mark.parametrize("levels", [2, 4, 1000])
def test_areas_are_those_of_repeated_questions(levels):
    rng = np.random.default_rng(levels)
    score = rng.integers(0, levels, 40).astype(float)
    correct = rng.integers(0, 2, 40).astype(bool)
    counts = rng.multinomial(40, np.full(40, 1 / 40), size=6).astype(float)
    order = np.argsort(score, kind="stable")
    opens = np.concatenate([[True], np.diff(score[order]) > 0])
    found = weighted_areas(counts.T, order, opens, correct[order])
    for row, count in enumerate(counts.astype(int)):
        again = np.repeat(np.arange(40), count)
        assert found[row] == pytest.approx(slow.area(score[again], correct[again]), abs=1e-14)


def test_one_class_is_undefined():
    found = weighted_areas(
        np.array([[1.0, 1.0], [0.0, 1.0]]),
        np.arange(2),
        np.array([True, True]),
        np.array([False, True]),
    )
    np.testing.assert_array_equal(found, [np.nan, 1.0])


def test_no_question_is_undefined():
    none = np.empty(0, dtype=np.int64)
    empty = np.empty(0, dtype=np.bool_)
    assert np.isnan(weighted_areas(np.ones((3, 1)), none, empty, empty)).all()


def test_coded_sums():
    rng = np.random.default_rng(1)
    codes, counts = rng.integers(0, 5, 30).astype(np.uint8), rng.random((4, 30))
    found = coded_sums(counts.T, codes, 5)
    for row in range(4):
        np.testing.assert_allclose(found[:, row], np.bincount(codes, counts[row], minlength=5))
