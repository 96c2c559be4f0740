"""Helpers that other modules build on, tried by what they return."""

import numpy as np
import pytest

from psychollm._base.checks import (
    advice,
    float_array,
    is_missing,
    is_number,
    is_numeral,
    plain_array,
)
from psychollm._base.result import Result
from psychollm._base.saving.nodes import is_record
from psychollm._base.tables import is_p_value
from psychollm._base.untrusted_json import as_number, parse_json


def test_arrays_of_any_kind() -> None:
    np.testing.assert_array_equal(plain_array([1, None, 3], "scores"), [1.0, np.nan, 3.0])
    masked = np.ma.array([1, 2], mask=[False, True], dtype=">i4")
    np.testing.assert_array_equal(plain_array(masked, "scores"), [1.0, np.nan])
    np.testing.assert_array_equal(float_array([[True, None]], "weights"), [[1.0, np.nan]])


def test_kinds_of_objects() -> None:
    mixed = np.array([1, "1", None, True], dtype=object)
    assert is_number(mixed).tolist() == [True, False, False, True]
    absent = np.array([1, None, float("nan")], dtype=object)
    assert is_missing(absent).tolist() == [False, True, True]
    assert (is_numeral("1"), is_numeral("yes")) == (True, False)
    assert advice("1") == "text that looks like a number becomes one with .astype(float)"
    assert (is_record(Result), is_record(dict)) == (True, False)


@pytest.mark.parametrize(
    ("name", "holds"),
    [("p_value", True), ("kappa_p_adjusted", True), ("p_value_se", False), ("plateau", False)],
)
def test_columns_of_p_values(name: str, holds: bool) -> None:
    assert is_p_value(name) is holds


def test_json_of_strangers() -> None:
    assert str(parse_json(b'\xef\xbb\xbf{"a": [1, NaN]}')) == "{'a': [1, nan]}"
    with pytest.raises(ValueError, match="a"):
        parse_json(b'{"a": 1, "a": 2}', unique=True)
    values = (3, 10**400, float("nan"), True, "3")
    assert [as_number(value) for value in values] == [3.0, None, None, None, None]
