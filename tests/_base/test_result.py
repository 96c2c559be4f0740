"""What all results share, and the functions of higher floors that they find by name."""

import json
import pickle
from dataclasses import FrozenInstanceError, dataclass

import numpy as np
import pandas as pd
import pytest

from psychollm._base.checks import check_count
from psychollm._base.convergence import Convergence
from psychollm._base.result import Result, view
from psychollm._base.types import FloatArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Inner(Result):
    value: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Outer(Result):
    matrix: FloatArray  # (k, k)
    labels: tuple[str, ...]
    inner: Inner
    end: Convergence
    table: pd.DataFrame
    _hidden: int = 3


@pytest.fixture
def outer() -> Outer:
    return Outer(
        matrix=np.array([[1.0, np.nan], [np.inf, 2.0]]),
        labels=("a", "b", "c", "d", "<e>"),
        inner=Inner(value=np.float64(0.5)),
        end=Convergence(converged=True, iterations=2, reason="done", objective=0.1),
        table=pd.DataFrame({"x": [1.0, np.nan]}),
    )


def test_arrays_are_read_only(outer: Outer) -> None:
    with pytest.raises(ValueError, match="read-only"):
        outer.matrix[0, 0] = 3.0


def test_fields_are_frozen(outer: Outer) -> None:
    with pytest.raises(FrozenInstanceError):
        outer.labels = ()  # type: ignore[misc]


def test_results_hash_and_compare_by_identity(outer: Outer) -> None:
    assert outer == outer
    assert len({outer, outer}) == 1


def test_to_dict_is_json(outer: Outer) -> None:
    plain = json.loads(json.dumps(outer.to_dict(), allow_nan=False))
    assert plain["matrix"] == [[1.0, None], [None, 2.0]]
    assert plain["inner"] == {"value": 0.5}
    assert plain["end"]["reason"] == "done"
    assert plain["table"] == [{"x": 1.0}, {"x": None}]
    assert "_hidden" not in plain


def test_repr_fits_a_screen(outer: Outer) -> None:
    lines = repr(outer).splitlines()
    assert lines[0] == "Outer"
    assert lines[1] == "  matrix  array(2, 2) float64, 1 to 2"
    assert "('a', ..., '<e>') [5]" in lines[2]
    assert "table(2, 1)" in lines[5]
    assert len(lines) == 6
    assert max(map(len, lines)) < 100


def test_html_is_escaped(outer: Outer) -> None:
    assert "&lt;e&gt;" in outer._repr_html_()


def test_pickling_keeps_values(outer: Outer) -> None:
    again = pickle.loads(pickle.dumps(outer))  # noqa: S301
    np.testing.assert_array_equal(again.matrix, outer.matrix)
    assert again.labels == outer.labels


def test_a_function_is_found_by_name():
    assert view("_base.checks", "check_count") is check_count


def test_names_that_do_not_exist():
    with pytest.raises(ModuleNotFoundError, match="nowhere"):
        view("nowhere", "function")
    with pytest.raises(AttributeError, match="nothing"):
        view("_base.checks", "nothing")
