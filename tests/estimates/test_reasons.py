"""Reasons: words, and which comes first."""

import numpy as np

from psychollm.estimates.reasons import Reason, first_reason, untestable


def test_reasons() -> None:
    cases = (np.array([True, False]), Reason.NO_YES)
    assert first_reason(cases) == (Reason.NO_YES, Reason.NONE)
    assert Reason.NO_YES == "never says yes"
    assert untestable(np.array([1.0, 1.0]), np.array([1.0, 0.0])) is Reason.NO_NO
    assert Reason.NO_NO == "always says yes"
