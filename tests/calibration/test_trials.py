"""Trials and their ratings: from confidence, in order, with ties."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psychollm._base.errors import (
    CodeError,
    LabelError,
    OptionError,
    ShapeError,
)
from psychollm.calibration.two_choice.meta_d import meta_d
from psychollm.calibration.two_choice.trials import rate_confidence, rated_trials


def test_ratings_from_confidence():
    stated = np.array([[0.5, 0.9, 0.9, 0.9, 0.95, 1.0, np.nan, 0.7]])
    rated = rate_confidence(stated, n_ratings=3)
    np.testing.assert_array_equal(rated.codes[0], [1, 2, 2, 2, 3, 3, np.nan, 1])
    np.testing.assert_array_equal(rated.lowest[0], [0.5, 0.9, 0.95])
    few = rate_confidence([0.2, 0.8, 0.8, 0.2], n_ratings=4)
    np.testing.assert_array_equal(few.codes[0], [1, 2, 2, 1])
    assert np.isnan(few.lowest[0, 2:]).all()
    even = rate_confidence([0.0, 0.24, 0.25, 0.99, 1.0], bins="width")
    np.testing.assert_array_equal(even.codes[0], [1, 1, 2, 4, 4])
    trials = rated_trials([0, 1, 0, 1], [[0, 1, 0, 1]], few)
    assert trials.n_ratings == 4
    with pytest.raises(OptionError, match="from 0 to 1"):
        rate_confidence([10, 90], bins="width")
    with pytest.raises(OptionError, match="n_ratings"):
        rate_confidence([0.1, 0.9], n_ratings=1)


@given(st.lists(st.integers(0, 6), min_size=2, max_size=40))
def test_ratings_keep_the_order_and_tie_the_ties(values):
    codes = rate_confidence(np.array([values], dtype=float), n_ratings=3).codes[0]
    assert set(codes) <= {1.0, 2.0, 3.0}
    for a, b in zip(values, codes, strict=True):
        for c, d in zip(values, codes, strict=True):
            assert (a < c) <= (b <= d)
            assert (a == c) <= (b == d)


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        ({"rating": [[0.3, 0.9]]}, CodeError, "rate_confidence"),
        ({"rating": [[0, 1]]}, CodeError, "from 1 to 2"),
        ({"n_ratings": 1}, OptionError, "n_ratings"),
        ({"rating": [[1, 5]], "n_ratings": 4}, CodeError, "from 1 to 4"),
        ({"response": [[0, 2]]}, CodeError, "response: model 0, question 1"),
        ({"stimulus": [1, 7]}, CodeError, "stimulus"),
        ({"stimulus": [1, 0, 1]}, ShapeError, r"each of the 2 questions, got shape \(3,\)"),
        ({"stimulus": [[1, 0, 1]]}, ShapeError, "stimulus has 1 models x 3"),
        ({"response": [[0, 1, 1]]}, ShapeError, "response has 1 models x 3"),
        (
            {
                "response": pd.DataFrame([[0, 1]], index=["x"]),
                "rating": pd.DataFrame([[2, 1]], index=["y"]),
            },
            LabelError,
            "'x'",
        ),
        ({"clusters": ["a"]}, ShapeError, "clusters"),
        ({"weights": [1.0, np.inf]}, OptionError, "finite"),
        ({"weights": [1.0, -1.0]}, OptionError, "negative"),
        ({"level": 95}, OptionError, "level"),
        ({"meta_c": "free"}, OptionError, "'scaled', 'fixed'"),
    ],
)
def test_bad_trials(change, error, match):
    given = {"stimulus": [0, 1], "response": [[0, 1]], "rating": [[1, 2]]} | change
    with pytest.raises(error, match=match):
        meta_d(given.pop("stimulus"), given.pop("response"), given.pop("rating"), **given)


def test_a_rating_of_a_quadrillion_is_refused_at_once():
    trials = ([0, 1, 0, 1], [[0, 1, 1, 0]], [[1, 2, 1e16, 3]])
    with pytest.raises(CodeError, match="question 2 holds 1e.16, but ratings are whole numbers"):
        meta_d(*trials)
    with pytest.raises(OptionError, match="n_ratings=2000 exceeds 1000"):
        meta_d([0, 1], [[0, 1]], [[1, 2]], n_ratings=2000)
    with pytest.raises(OptionError, match="at most 9007199254740992"):
        rate_confidence([[0.1, 0.9]], n_ratings=10**16)
