"""Helpers that the fits of items share, tried by what they return."""

import numpy as np

from psychollm.data.responses import Responses
from psychollm.irt.answers import answers_to, code_range, code_shares, spread
from psychollm.irt.families import Dichotomous, chunks
from psychollm.irt.item_coordinates import logistic_with_error
from psychollm.irt.models import family_of
from psychollm.irt.multidimensional.problem import pairs
from psychollm.irt.polytomous import Graded, Nominal, PartialCredit
from psychollm.irt.scoring import drawn_answers
from psychollm.kernels.adaptive_rules import product_rule, quasi_random_rule


def test_codes_that_items_have():
    low, high = code_range(np.array([[False, True, True], [False, True, False]]))
    assert (low.tolist(), high.tolist()) == ([1, 0], [2, 1])
    shares = code_shares(np.array([[True, True, True], [True, True, False]]))
    np.testing.assert_array_equal(shares, [[0.0, 0.5, 1.0], [0.0, 1.0, 2.0]])


def test_answers_stand_in_the_order_of_the_fit():
    table = Responses([[1, 0]], questions=["b", "a"])
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


def test_values_of_the_items_kept():
    np.testing.assert_array_equal(spread(np.array([2.0]), np.array([False, True])), [np.nan, 2.0])


def test_names_of_parameters():
    assert Dichotomous("2pl", "logit").names == ("slope", "intercept")
    assert family_of("gpcm", "logit", 4).names[0] == "slope"
    of_credit = ("slope", "intercept_1", "intercept_2")
    assert Graded("graded", "logit", 3).names == of_credit
    assert PartialCredit("gpcm", "logit", 3).names == of_credit
    names = ("slope_1", "slope_2", "intercept_1", "intercept_2")
    assert Nominal("nominal", "logit", 3).names == names


def test_places_of_correlations():
    assert [places.tolist() for places in pairs(3)] == [[1, 2, 2], [0, 0, 1]]


def test_rules_of_several_dimensions():
    points, log_weights, used, _ = product_rule(5, 2)
    assert used == 25
    assert round(float(np.exp(log_weights - 0.5 * (points**2).sum(axis=1)).sum()), 12) == 1.0
    points, log_weights, _, _ = quasi_random_rule(512, 5, 100)
    assert abs(float(np.exp(log_weights - 0.5 * (points**2).sum(axis=1)).sum()) - 100) < 0.1
