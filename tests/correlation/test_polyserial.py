"""`polyserial`, `biserial`: twins, jackknife, invariances, degenerate and bad input."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psychollm._base.errors import CodeError, ShapeError
from psychollm.correlation.polyserial import biserial, polyserial
from psychollm.correlation.tetrachoric import PairStatus
from tests.effort import examples
from tests.oracles import polychoric_slow as slow


def sample(n=300, seed=0, cuts=(-0.6, 0.7), rho=0.6):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=n)
    return 3 + 2 * z, np.digitize(rho * z + np.sqrt(1 - rho**2) * rng.normal(size=n), cuts)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("cuts", [(0.4,), (-0.6, 0.7), (-1, -0.2, 0.5, 1.2)])
def test_twin(seed, cuts):
    z, codes = sample(250, seed, cuts, rho=-0.7)
    found = polyserial(z, codes[None])
    assert found.matrix[0, 0] == pytest.approx(slow.polyserial(z, codes), abs=1e-7)
    assert abs(found.residual[0, 0]) < 1e-8
    if len(cuts) == 1:
        assert biserial(z, codes[None]).matrix[0, 0] == found.matrix[0, 0]


def test_standard_error_is_that_of_the_jackknife():
    z, codes = sample(400, 1)
    found = polyserial(z, codes[None])
    expected = slow.jackknife(lambda x, y: polyserial(x, y[None]).matrix[0, 0], z, codes)
    assert found.se[0, 0] == pytest.approx(expected, rel=0.02)
    low, high = found.interval()[0, 0]
    assert low < 0.6 < high


@examples(25)
@given(seed=st.integers(0, 10_000))
def test_invariances(seed):
    z, codes = sample(120, seed)
    found = polyserial(z, codes[None]).matrix[0, 0]
    assert polyserial(5 - z, codes[None]).matrix[0, 0] == pytest.approx(-found, abs=1e-9)
    assert polyserial(z, 2 - codes[None]).matrix[0, 0] == pytest.approx(-found, abs=1e-9)
    order = np.random.default_rng(seed).permutation(120)
    assert polyserial(z[order], codes[None, order]).matrix[0, 0] == pytest.approx(found, abs=1e-9)


def test_tables_with_missing_values():
    z, codes = sample(200, 2)
    scores = pd.DataFrame([z, z**2], index=["a", "b"])
    scores.iloc[0, 0] = np.nan
    answers = np.array([codes, codes > 0], dtype=float)
    answers[1, 1:3] = np.nan
    found = polyserial(scores, answers)
    assert found.matrix.shape == (2, 2)
    np.testing.assert_array_equal(found.n, [[199, 197], [200, 198]])
    assert found.scores == ("a", "b")
    assert found.to_frame()["score"].tolist() == ["a", "a", "b", "b"]
    alone = polyserial(z[1:], codes[None, 1:])
    assert found.matrix[0, 0] == pytest.approx(alone.matrix[0, 0], abs=1e-12)
    assert "2 scores with 2 rows" in repr(found)


def test_degenerate_pairs():
    z, codes = sample(50, 3)
    found = polyserial(np.array([z, np.ones(50)]), np.array([codes, np.zeros(50)]))
    assert found.status.tolist() == [[0, 3], [3, 3]]
    assert np.isnan(found.matrix[1]).all()
    order = np.sort(z)
    perfect = biserial(order, (order > np.median(order))[None])
    assert perfect.matrix[0, 0] > 0.99
    evenly = biserial([-1.0, -1.0, 1.0, 1.0], [[0, 0, 1, 1]])
    assert evenly.status[0, 0] == PairStatus.AT_BOUND
    assert evenly.matrix[0, 0] == 1.0
    assert np.isnan(evenly.se[0, 0])


@pytest.mark.parametrize(
    ("function", "scores", "answers", "error", "message"),
    [
        (polyserial, [1.0, 2.0], [[0, 1, 1]], ShapeError, "scores hold 2 units, answers 3"),
        (polyserial, [1.0, np.inf], [[0, 1]], CodeError, "infinity"),
        (biserial, [1.0, 2.0], [[0, 2]], CodeError, "yes/no"),
    ],
)
def test_bad_input(function, scores, answers, error, message):
    with pytest.raises(error, match=message):
        function(scores, answers)
