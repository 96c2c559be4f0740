import warnings

import numpy as np
import pandas as pd
import pytest

from psychollm._base.errors import CodeError, LabelError, OptionError, ShapeError, ValidityWarning
from psychollm.data.responses import Responses

STATED = pd.DataFrame(
    [[0.1, 0.5, 0.9, np.nan], [10, 10, 20, 90]], index=["a", "b"], columns=list("wxyz")
)


@pytest.mark.parametrize(
    ("threshold", "strict", "codes", "cuts", "coding"),
    [
        ("model_median", True, [[0, 0, 1, 0], [0, 0, 1, 1]], [0.5, 15], "> model median"),
        ("model_median", False, [[0, 1, 1, 0], [0, 0, 1, 1]], [0.5, 15], ">= model median"),
        ("model_mean", True, [[0, 0, 1, 0], [0, 0, 0, 1]], [0.5, 32.5], "> model mean"),
        ("model_balanced", True, [[0, 0, 1, 0], [0, 0, 1, 1]], [0.7, 15], "> model balanced"),
        ({"b": 10, "a": 0.5}, True, [[0, 0, 1, 0], [0, 0, 1, 1]], [0.5, 10], "> a cut per model"),
        ([0.5, 10], False, [[0, 1, 1, 0], [1, 1, 1, 1]], [0.5, 10], ">= a cut per model"),
    ],
)
def test_rules(threshold, strict, codes, cuts, coding):
    made = Responses(STATED, threshold=threshold, strict=strict)
    assert made.codes.tolist() == codes
    np.testing.assert_allclose(made.cuts, cuts)
    assert made.coding == f"stated confidence {coding}"
    assert made.missing.sum() == 1


def test_default_is_one_half():
    made = Responses([[0.4, 0.5, 0.6]], threshold=0.5)
    assert made.codes.tolist() == [[0, 0, 1]]
    assert made.coding == "stated confidence > 0.5"


def test_the_scale_does_not_matter():
    stated = np.random.default_rng(3).integers(0, 11, (4, 200))
    for scale in (0.1, 1, 10):
        made = Responses(stated * scale, threshold=6 * scale)
        np.testing.assert_array_equal(made.codes, stated > 6)


@pytest.mark.parametrize("seed", range(5))
def test_balanced_cut_is_the_best_cut(seed):
    stated = np.random.default_rng(seed).choice(
        [5, 7, 8, 9, 10], 101, p=[0.05, 0.1, 0.2, 0.6, 0.05]
    )
    made = Responses(stated[None], threshold="model_balanced")
    best = min(abs(np.mean(stated > cut) - 0.5) for cut in (5, 7, 8, 9))
    np.testing.assert_allclose(abs(made.yes_rates[0] - 0.5), best, atol=1e-12)
    assert made.cuts[0] not in stated


def test_balanced_cut_prefers_the_higher_of_two():
    made = Responses([[1, 2, 3]], threshold="model_balanced")
    assert made.cuts.tolist() == [2.5]


def test_one_stated_value_is_a_constant_model():
    made = Responses([[9, 9, 9]], threshold="model_balanced")
    assert made.yes_rates.tolist() == [0]


def test_a_silent_model_has_no_cut():
    made = Responses([[np.nan, np.nan], [1, 2]], threshold="model_median")
    np.testing.assert_array_equal(made.cuts, [np.nan, 1.5])
    assert made.missing[0].all()


@pytest.mark.parametrize("threshold", [0.5, 95])
def test_a_cut_off_the_scale_warns(threshold):
    with pytest.warns(
        ValidityWarning, match=r"'b' states 10 to 90, threshold|'a' states 0.1 to 0.9"
    ):
        Responses(STATED, threshold=threshold)


def test_no_warning_inside_the_range():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Responses(STATED, threshold=[0.1, 90])


@pytest.mark.parametrize(
    ("threshold", "error", "message"),
    [
        ("median", OptionError, "'median' is not a rule"),
        (np.inf, OptionError, "must be finite"),
        ([0.5], ShapeError, "one for each of the 2 models"),
        ({"a": 0.5}, LabelError, "lacks model 'b'"),
        ({"a": 0.5, "b": 10, "c": 1}, LabelError, "names 'c'"),
    ],
)
def test_bad_rules_are_named(threshold, error, message):
    with pytest.raises(error, match=message):
        Responses(STATED, threshold=threshold)


def test_bad_confidence_is_named():
    with pytest.raises(CodeError, match="confidence: model 0, question 1 holds '80 %'"):
        Responses([[80, "80 %"]], threshold=50)
    with pytest.raises(CodeError, match="confidence: model 0, question 0 holds -inf"):
        Responses([[-np.inf, 1]], threshold=0)


def test_graded_answers_can_be_split():
    graded = Responses([[0, 5, None]], models=["a"], questions=list("xyz"))
    made = Responses(graded, threshold=2)
    assert made.questions == ("x", "y", "z")
    np.testing.assert_array_equal(made.values, [[0, 1, np.nan]])
