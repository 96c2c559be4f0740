"""What two tables have in common, and what is left out."""

import pytest

from psychollm._base.errors import LabelError
from psychollm.data.alignment import align
from psychollm.data.responses import Responses


def test_common_accounts_for_what_it_leaves_out():
    first = Responses([[1, 0], [0, 1]], models=["a", "b"], questions=["x", "y"])
    second = Responses([[1, 1], [0, 0]], models=["c", "b"], questions=["y", "z"])
    both = align(first, second)
    assert both.first.codes.tolist() == [[1]]
    assert both.second.codes.tolist() == [[0]]
    assert both.models_left_out == (("a",), ("c",))
    assert both.questions_left_out == (("x",), ("z",))
    assert "1 questions only in the second table left out ('z')" in both.summary()


def test_nothing_in_common():
    with pytest.raises(LabelError, match="no model in common: the first holds 'a'"):
        align(Responses([[1]], models=["a"]), Responses([[1]]))
