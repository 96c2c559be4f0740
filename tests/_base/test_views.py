"""Functions of higher floors are found by name."""

import pytest

from psychollm._base.checks import check_count
from psychollm._base.views import view


def test_a_function_is_found_by_name():
    assert view("_base.checks", "check_count") is check_count


def test_names_that_do_not_exist():
    with pytest.raises(ModuleNotFoundError, match="nowhere"):
        view("nowhere", "function")
    with pytest.raises(AttributeError, match="nothing"):
        view("_base.checks", "nothing")
