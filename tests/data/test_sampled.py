"""Tables of sampled answers: what they refuse."""

import pandas as pd
import pytest

from psychollm._base.errors import CodeError, LabelError, ShapeError
from psychollm.data.sampled import SampledAnswers


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: SampledAnswers.from_array(["a"]), ShapeError, "models, questions, samples"),
        (lambda: SampledAnswers.from_array([["a"]], gold=["a", "b"]), ShapeError, "gold has"),
        (
            lambda: SampledAnswers.from_array([["a"]], gold=["a"], correct=[[1]]),
            LabelError,
            "pass one of them",
        ),
        (lambda: SampledAnswers.from_array([["a"]], correct=[[2]]), CodeError, "correct holds 2"),
        (lambda: SampledAnswers.from_array([["a"]], loglik=[[1, 2]]), ShapeError, "loglik has"),
        (
            lambda: SampledAnswers.from_long(
                pd.DataFrame({"q": [1], "a": ["x"]}), question="q", answer="b"
            ),
            LabelError,
            "the long table has no column 'b'",
        ),
        (
            lambda: SampledAnswers.from_long(
                pd.DataFrame({"q": [1, None], "a": ["x", "y"]}), question="q", answer="a"
            ),
            LabelError,
            "no label in row 2",
        ),
    ],
)
def test_bad_input_is_named(call, error, message) -> None:
    with pytest.raises(error, match=message):
        call()
