"""Readings: an answer has a value, nothing else has; each prompt gets one."""

import numpy as np
import pytest

from psychollm._base.errors import LabelError, ShapeError
from psychollm.instruments import Message, Outcome, Prompt, Reading
from psychollm.instruments.reading import aligned, mean_known

PROMPTS = [
    Prompt(key=key, item=key, messages=(Message("user", "?"),), reply="text") for key in "abc"
]
YES = Reading(outcome=Outcome.ANSWERED, value=1, said="Yes")


def test_only_answers_have_a_value() -> None:
    assert YES.answered
    assert not Reading(outcome=Outcome.REFUSED, said="No, thanks").answered
    with pytest.raises(ValueError, match="if and only if its outcome is"):
        Reading(outcome=Outcome.ANSWERED)
    with pytest.raises(ValueError, match="if and only if its outcome is"):
        Reading(outcome=Outcome.EMPTY, value=0)


def test_each_prompt_gets_a_reading() -> None:
    outcomes = [Outcome.FAILED, Outcome.ANSWERED, Outcome.FAILED]
    assert [one.outcome for one in aligned(PROMPTS, {"b": YES, "c": None})] == outcomes
    assert [one.outcome for one in aligned(PROMPTS, [None, YES, None])] == outcomes
    with pytest.raises(ShapeError, match="1 parsed replies for 3 prompts"):
        aligned(PROMPTS, [YES])
    with pytest.raises(LabelError, match="keys of no prompt: 'd'"):
        aligned(PROMPTS, {"d": YES})


def test_means_leave_out_what_is_missing() -> None:
    assert mean_known([1.0, np.nan, 0.0]) == 0.5
    assert np.isnan(mean_known([np.nan]))
    assert np.isnan(mean_known([]))
