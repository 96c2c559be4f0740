"""Helpers that the fits of items share, tried by what they return."""

import numpy as np

from psychollm.data.responses import Responses
from psychollm.irt.answers import answers_to, code_range, code_shares
from psychollm.irt.families import Dichotomous, chunks, logistic_with_error
from psychollm.irt.scoring import drawn_answers


def test_codes_that_items_have():
    low, high = code_range(np.array([[False, True, True], [False, True, False]]))
    assert (low.tolist(), high.tolist()) == ([1, 0], [2, 1])
    shares = code_shares(np.array([[True, True, True], [True, True, False]]))
    np.testing.assert_array_equal(shares, [[0.0, 0.5, 1.0], [0.0, 1.0, 2.0]])


def test_answers_stand_in_the_order_of_the_fit():
    table = Responses.from_array([[1, 0]], questions=["b", "a"])
    answers = answers_to(table, ("a", "b"), "models")
    assert answers.codes.tolist() == [[0, 1]]
    assert answers.items == ("a", "b")


def test_asymptotes_from_logits():
    value, error = logistic_with_error(np.zeros(1), np.ones(1))
    assert (value.tolist(), error.tolist()) == ([0.5], [0.25])


def test_chunks_hold_what_fits():
    assert chunks(3, 400_000) == [slice(0, 1), slice(1, 2), slice(2, 3)]


def test_drawn_answers():
    items = np.array([[1.0, 30.0], [1.0, -30.0]])
    rng = np.random.default_rng(1)
    drawn = drawn_answers(Dichotomous("2pl", "logit"), items, np.zeros(2), rng)
    assert drawn.tolist() == [[1, 0], [1, 0]]
