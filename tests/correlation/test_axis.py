"""What is correlated, rows or columns: said by every function, and asked where it matters."""

import contextlib
import inspect
import warnings

import numpy as np
import pytest

import psychollm as psy
from psychollm._base.errors import CodeError, OptionError, ValidityWarning
from psychollm.correlation.by_group import polychoric_by_group
from psychollm.correlation.polyserial import biserial, polyserial
from psychollm.factor.number_of_factors.ordered_design import resampled_correlations

FEW = {"n_null": 20, "rng": 1}


@pytest.fixture(scope="module")
def people() -> np.ndarray:
    """Return yes and no of 240 people to 8 items."""
    rng = np.random.default_rng(1)
    return (rng.normal(size=(240, 1)) + rng.normal(size=(240, 8)) > 0).astype(int)


CALLS = [
    (psy.tetrachoric, {}),
    (psy.polychoric, {}),
    (psy.parallel_analysis, FEW),
    (psy.retention, FEW),
    (psy.permutation_null, FEW),
    (psy.one_factor_null, FEW),
    (resampled_correlations, {"bootstrap": 5, "rng": 1}),
]


@pytest.mark.parametrize(("function", "options"), CALLS)
def test_rows_that_far_outnumber_columns_are_asked_about(people, function, options):
    table = people[:60, :8]
    asked = pytest.warns(ValidityWarning, match=r'60 rows .* over 8 columns.*of="questions"')
    # Some row does not vary: it was warned of before.
    with asked, contextlib.suppress(CodeError):
        function(table, **options)
    with warnings.catch_warnings(action="error", category=ValidityWarning):
        function(people, of="questions", **options)
        function(people.T, of="models", **options)


@pytest.mark.parametrize("function", [psy.permutation_null, psy.one_factor_null])
def test_nulls_of_questions_are_those_of_the_turned_table(people, function):
    turned = function(people.T, **FEW)
    found = function(people, of="questions", **FEW)
    np.testing.assert_array_equal(found.draws, turned.draws)
    np.testing.assert_array_equal(found.observed, turned.observed)
    with pytest.raises(OptionError, match="of='items'"):
        function(people, of="items", **FEW)


@pytest.mark.parametrize("function", [polyserial, biserial])
def test_serial_correlations_of_columns(people, function):
    score = people.sum(axis=1) + np.random.default_rng(2).normal(size=240)
    found = function(score, people, of="questions")
    np.testing.assert_array_equal(found.matrix, function(score, people.T).matrix)
    with pytest.warns(ValidityWarning, match='of="questions"'):
        function(np.arange(8.0), people[:40], of="models")


def test_first_examples_say_what_is_correlated():
    functions = [one for one, _ in CALLS] + [polyserial, biserial, polychoric_by_group]
    for function in functions:
        assert "of" in inspect.signature(function).parameters
        assert 'of="models"' in inspect.getdoc(function).partition("Examples")[2]
