"""What may and may not be passed as stated confidence."""

import warnings

import numpy as np
import pandas as pd
import pytest

import psychollm as psy
from psychollm._base.errors import (
    CodeError,
    LabelError,
    OptionError,
    PsychollmWarning,
    ShapeError,
)
from psychollm.calibration.stated import note_order, stated_answers


def test_labels_are_matched() -> None:
    confidence = pd.DataFrame([[0.1, 0.9], [0.3, 0.4]], index=["a", "b"], columns=["x", "y"])
    correct = pd.DataFrame([[1, 0], [0, 1]], index=["b", "a"], columns=["y", "x"])
    answers = stated_answers(confidence, correct)
    assert answers.models == ("a", "b")
    assert answers.correct.tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_a_vector_is_one_model() -> None:
    for vector in ([0.5, 1.0], np.array([0.5, 1.0]), pd.Series([0.5, 1.0])):
        assert stated_answers(vector, [1, 0]).confidence.tolist() == [[0.5, 1.0]]


def test_what_is_missing_in_either_is_left_out() -> None:
    answers = stated_answers([[0.5, np.nan, 0.2]], [[1, 1, np.nan]])
    assert answers.present.tolist() == [[True, False, False]]


def test_all_missing_is_not_an_error() -> None:
    assert stated_answers([[np.nan, np.nan]], [[1, 0]]).n.tolist() == [0.0]


def test_clusters_and_weights_follow_the_questions() -> None:
    confidence = pd.DataFrame([[0.1, 0.9]], columns=["x", "y"])
    correct = pd.DataFrame([[0, 1]], columns=["x", "y"])
    answers = stated_answers(
        confidence,
        correct,
        clusters=pd.Series(["late", "early"], index=["y", "x"]),
        weights=pd.Series([3.0, 1.0], index=["y", "x"]),
    )
    assert answers.clusters is not None
    assert answers.clusters.tolist() == [0, 1]
    assert answers.weights.tolist() == [0.5, 1.5]


@pytest.mark.parametrize(
    ("confidence", "correct", "options", "error", "message"),
    [
        ([[0.5, 1.2]], [[1, 0]], {}, CodeError, "question 1 holds 1.2.*divide by 10"),
        ([[50, 99]], [[1, 0]], {}, CodeError, "question 0 holds 50.*divide by 100"),
        ([[-0.1, 0.5]], [[1, 0]], {}, CodeError, "question 0 holds -0.1.*rescale"),
        ([[np.inf, 0.5]], [[1, 0]], {}, CodeError, "infinity"),
        (
            [[0.5, 0.5]],
            [[1, 2]],
            {},
            CodeError,
            "correctness: .*question 1 holds 2, but an answer",
        ),
        ([[0.5, 0.5]], [[1, 0, 1]], {}, ShapeError, "1 models x 3 questions, but 1 x 2"),
        ([[0.5, 0.5]], [[1, 0]], {"weights": [1, np.inf]}, OptionError, "weights.1. = inf"),
        ([[0.5, 0.5]], [[1, 0]], {"weights": [1, -1]}, OptionError, "not negative"),
        ([[0.5, 0.5]], [[1, 0]], {"weights": [1]}, OptionError, r"one number per question \(2\)"),
        ([[0.5, 0.5]], [[1, 0]], {"clusters": ["a"]}, ShapeError, "1 labels for 2 questions"),
        ([[0.5, 0.5]], [[1, 0]], {"clusters": ["a", None]}, LabelError, "question 1 has no"),
    ],
)
def test_bad_input_is_named(confidence, correct, options, error, message) -> None:
    with pytest.raises(error, match=message):
        stated_answers(confidence, correct, **options)


SWAPPED = ([[1, 0, 1, 1]], [[0.9, 0.25, 0.8, np.nan]])  # correctness, confidence


@pytest.mark.parametrize(
    "metric",
    [
        psy.calibration.auroc,
        psy.calibration.confidence_gate,
        psy.calibration.risk_coverage,
        psy.calibration.confusion,
        psy.calibration.f_beta,
        psy.shared_confidence,
    ],
)
def test_swapped_tables_are_an_error_where_correctness_is_binary(metric) -> None:
    with pytest.raises(CodeError, match=r"holds 0\.9, .* seem to be swapped; pass the confidence"):
        metric(*SWAPPED)


def test_swapped_tables_are_a_warning_where_correctness_may_be_graded() -> None:
    with pytest.warns(PsychollmWarning, match="if the two are swapped, pass the confidence first"):
        note_order(*SWAPPED)
    with warnings.catch_warnings():  # yes or no, and the proportion of several correct answers
        warnings.simplefilter("error")
        stated_answers(*SWAPPED)


@pytest.mark.parametrize(
    ("confidence", "correctness"),
    [
        ([[1, 0, 1]], [[1, 0, 0]]),  # yes or no
        ([[0.9, 0, 1]], [[0.5, 0, 1]]),  # several samples of each answer
        ([[0, 0, 0]], [[0.5, 0, 1]]),
    ],
)
def test_tables_that_are_not_swapped_bring_no_warning(confidence, correctness) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        note_order(confidence, correctness)


def test_other_errors_do_not_mention_the_order() -> None:
    with pytest.raises(CodeError, match=r"holds 0\.5, which is not a code"):
        psy.calibration.auroc([[0.9, 0.2]], [[0.5, 1]])
