"""`congruence`: golden values, slow twins, matching, errors."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import psychollm as psy
from psychollm._base.errors import InputError, LabelError, ShapeError
from psychollm.factor.congruence import UNMATCHED, congruence, tucker
from tests.oracles import congruence_slow as slow


def check_golden(path):
    rows = json.loads(path.read_text())["rows"]
    assert rows
    for row in rows:
        expected = np.array(row["congruence"], dtype=float)
        found = congruence(row["x"], row["y"]).matrix
        # psych rounds to 15 digits.
        assert np.abs(found - expected.reshape(found.shape)).max() < 1e-10, row["id"]


def test_golden(golden):
    check_golden(golden / "psychometrics" / "congruence.json")


def test_golden_that_may_not_be_shipped(shared):
    check_golden(shared / "golden" / "psychometrics" / "congruence.json")


@given(k=st.integers(1, 8), m=st.integers(1, 5), seed=st.integers(0, 10_000))
def test_twin_and_matching(k, m, seed):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(2, k, m))
    found = congruence(x, y)
    np.testing.assert_allclose(found.matrix, slow.congruence(x, y), atol=1e-13)
    assert (np.abs(found.matrix) <= 1).all()
    best = slow.best_order(found.matrix.tolist())
    expected = np.abs(found.matrix[np.arange(m), list(best)]).sum()
    assert found.matched.sum() == pytest.approx(expected)
    np.testing.assert_allclose(
        found.matrix[np.arange(m), found.order], found.signs * found.matched
    )


@given(seed=st.integers(0, 10_000))
def test_finds_a_reordering(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(10, 4))
    order, signs, sizes = rng.permutation(4), rng.choice([-1, 1], 4), rng.uniform(0.1, 9, 4)
    y = (x * signs * sizes)[:, order]
    found = congruence(x, y)
    np.testing.assert_array_equal(order[found.order], np.arange(4))
    np.testing.assert_array_equal(found.signs, signs)
    np.testing.assert_allclose(found.matched, 1, atol=1e-12)


def test_more_columns_than_partners():
    x = np.eye(4)[:, :3]
    found = congruence(x, x[:, [1]])
    np.testing.assert_array_equal(found.order, [UNMATCHED, 0, UNMATCHED])
    assert np.isnan(found.matched[[0, 2]]).all()
    np.testing.assert_array_equal(found.signs, [0, 1, 0])
    assert "no match" in repr(found)


def test_zero_column_has_a_reason():
    found = congruence([[0.5, 0.0], [0.5, 0.0]], [0.1, 0.2])
    assert np.isnan(found.matrix[1, 0])
    assert found.reasons == ("column 1 of loadings is zero throughout",)
    assert found.order[1] == UNMATCHED


def test_undefined_loading_has_a_reason():
    frame = pd.DataFrame({"f": [0.5, np.nan, 0.2]}, index=["a", "b", "c"])
    found = congruence(frame, np.array([0.1, 0.2, 0.3]))
    assert np.isnan(found.matrix).all()
    assert found.reasons == ("column 'f' of loadings is undefined for 'b': drop them",)


def test_tiny_and_huge_loadings():
    x = np.array([[3e-200], [4e-200]])
    assert tucker(x, x * 1e300)[0, 0] == pytest.approx(1)


def test_rows_are_put_in_order():
    x = pd.DataFrame({"g": [0.9, 0.1]}, index=["a", "b"])
    found = congruence(x, x.loc[["b", "a"]])
    assert found.matrix[0, 0] == pytest.approx(1)
    assert list(found.to_frame().columns) == ["g"]
    assert found.factors == ("g",)


def test_takes_what_has_loadings():
    correlation = psy.tetrachoric(psy.load_example("shared_confidence").confidence)
    full = psy.spectrum(correlation)
    small = psy.spectrum(psy.smooth(correlation, method="shrink"))
    found = congruence(full, small)
    assert found.matched[0] > 0.99


@pytest.mark.parametrize(
    ("first", "second", "error", "message"),
    [
        ([0.5, 0.5], [0.5], ShapeError, "2 rows and other has 1"),
        ([], [], ShapeError, "not empty"),
        (np.ones((2, 2, 2)), [1, 1], ShapeError, r"\(2, 2, 2\)"),
        ([1, np.inf], [1, 1], InputError, "infinite"),
    ],
)
def test_bad_input(first, second, error, message):
    with pytest.raises(error, match=message):
        congruence(first, second)


def test_other_models():
    x = pd.DataFrame({"g": [0.9, 0.1]}, index=["a", "b"])
    with pytest.raises(LabelError, match="only in loadings: 'b'; only in other: 'c'"):
        congruence(x, x.rename({"b": "c"}))
