"""Behaviours beside right and wrong answers."""

import numpy as np
import pandas as pd
import pytest

from psychollm.estimates.reasons import Reason
from psychollm.studies.metacognitive_skill.study import metacognitive_skill
from tests.studies.metacognitive_skill.test_study import QUICK, STUDY


def test_the_gap_is_that_of_right_and_wrong():
    """The gap is the share of wrong answers times the difference."""
    for found in STUDY.deployment.values():
        difference = found.given_correct.value - found.given_wrong.value
        expected = (1 - STUDY.accuracy.value) * difference
        np.testing.assert_allclose(found.gap.value, expected, atol=1e-12)


@pytest.mark.parametrize(
    ("code", "correct", "flag"),
    [
        ([1] * 6, [1, 0] * 3, Reason.CONSTANT),
        ([0] * 6, [1, 0] * 3, Reason.CONSTANT),
        ([1, 0] * 3, [1] * 6, Reason.NO_WRONG),
        ([1, 0] * 3, [0] * 6, Reason.NO_CORRECT),
        ([1, 0] * 3, [None] * 6, Reason.TOO_FEW),
    ],
)
def test_what_tells_nothing_of_deployment(code, correct, flag):
    table = pd.DataFrame(
        {"model": "m", "item": range(6), "category": "x", "code": code, "correct": correct}
    )
    gap = metacognitive_skill(table, **QUICK).deployment["x"].gap
    assert gap.flags == (flag,)
    assert np.isnan(gap.value).all()
    assert np.isnan(gap.interval).all()


def test_intervals_of_the_gap_hold():
    """120 models on 60 questions, nominal 95 %: below 88 % once in 500."""
    rng = np.random.default_rng(11)
    shown_right, shown_wrong, accuracy = 0.6, 0.3, 0.6
    right = rng.random((120, 60)) < accuracy
    shown = rng.random((120, 60)) < np.where(right, shown_right, shown_wrong)
    models, items = np.indices(right.shape).reshape(2, -1)
    table = pd.DataFrame({"model": models, "item": items, "category": "x"}).assign(
        code=shown.ravel().astype(int), correct=right.ravel().astype(int)
    )
    gap = metacognitive_skill(table, bootstrap=10, rng=0).deployment["x"].gap
    expected = (1 - accuracy) * (shown_right - shown_wrong)
    held = (gap.interval[:, 0] <= expected) & (expected <= gap.interval[:, 1])
    assert held.mean() >= 0.88
