"""Variance between questions and between answers: slow twin, sums, every flag."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psychollm.estimates.reasons import Reason
from psychollm.reliability.means.answer_variance import answer_variance
from tests.oracles import clustered_slow as slow


@given(st.integers(0, 10_000))
def test_variances_are_those_of_the_slow_twin(seed):
    rng = np.random.default_rng(seed)
    answers = rng.integers(0, 3, (2, 8, 4)).astype(float)
    answers[rng.uniform(size=answers.shape) < 0.3] = np.nan
    answers[:, 0] = [[0, 1, 0, 0]]
    answers[:, 1, :2] = 1
    found = answer_variance(answers, bootstrap=2, rng=0)
    for row in range(2):
        lists = [list(a[np.isfinite(a)]) for a in answers[row] if np.isfinite(a).any()]
        between, within = slow.answer_variances(lists)
        np.testing.assert_allclose(found.between.value[row], between, atol=1e-12)
        np.testing.assert_allclose(found.within.value[row], within, atol=1e-12)
        assert found.mean.value[row] == pytest.approx(np.mean([np.mean(a) for a in lists]))


def test_the_parts_add_up_to_the_squared_standard_error():
    rng = np.random.default_rng(3)
    chance = rng.uniform(size=(3, 100, 1))
    found = answer_variance(rng.uniform(size=(3, 100, 5)) < chance, bootstrap=50, rng=0)
    assert (found.between.value > 0).all()
    np.testing.assert_allclose(
        found.standard_error(n_questions=100, n_answers=5), found.mean.se, rtol=1e-12
    )
    assert (found.standard_error(n_questions=100, n_answers=50) < found.mean.se).all()
    assert found.to_frame().shape == (3, 13)


def test_every_flag_of_answer_variance():
    answers = np.full((4, 3, 2), np.nan)
    answers[1, :, 0] = [0, 1, 1]
    answers[2, 0] = [0, 1]
    answers[3] = [[0, 1], [1, 0], [0, 1]]
    found = answer_variance(answers, bootstrap=20, rng=0)
    assert found.between.flags == (
        Reason.NO_SCORES,
        Reason.ONE_SAMPLE,
        Reason.ONE_QUESTION,
        Reason.NEGATIVE_COMPONENT,
    )
    assert found.within.value[2] == 0.5
    assert found.between.value[3] == pytest.approx(-0.25)
    assert found.standard_error(n_questions=1, n_answers=1)[3] == pytest.approx(np.sqrt(0.5))
