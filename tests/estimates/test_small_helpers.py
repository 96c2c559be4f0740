"""Helpers that estimates are made of, tried by what they return."""

import numpy as np

from psychollm.estimates.difference import paired_contrast
from psychollm.estimates.proportions import (
    normal_multiplier,
    paired_difference_se,
    proportion_se,
)
from psychollm.estimates.reasons import Reason, first_reason, untestable
from psychollm.estimates.resampling import bootstrap_estimate, question_counts
from psychollm.estimates.verdict import names_of


def test_p_value_of_paired_draws() -> None:
    draws = np.stack([np.arange(1.0, 100.0), np.zeros(99)], axis=1)
    found = paired_contrast("x", ("a", "b"), (50.0, 0.0), draws, df=np.inf, level=0.9)
    assert found.p_value == 0.02


def test_errors_of_proportions() -> None:
    assert round(normal_multiplier(0.95), 4) == 1.96
    assert float(proportion_se(50, 100)) == 0.05
    assert round(float(paired_difference_se(10, 4, 50)), 4) == 0.0729


def test_reasons() -> None:
    cases = (np.array([True, False]), Reason.NO_YES)
    assert first_reason(cases) == (Reason.NO_YES, Reason.NONE)
    assert Reason.NO_YES == "never says yes"
    assert untestable(np.array([1.0, 1.0]), np.array([1.0, 0.0])) is Reason.NO_NO
    assert Reason.NO_NO == "always says yes"


def test_resampled_questions() -> None:
    assert question_counts(np.array([[1, 2]], dtype=np.uint64), 5).sum() == 5.0


def test_interval_of_draws() -> None:
    found = bootstrap_estimate(
        "x",
        np.array([50.0]),
        np.arange(101.0)[:, None],
        n=np.ones(1),
        flags=(Reason.NONE,),
        level=0.9,
        labels=("m",),
    )
    np.testing.assert_allclose(found.interval, [[5.0, 95.0]], rtol=1e-12)


def test_long_lists_of_names_are_cut() -> None:
    assert names_of(list("abcdef")) == "a, b, c, d and 2 more"
