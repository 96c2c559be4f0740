"""One factor by weighted least squares: lavaan's loadings, least squares, bounds."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import psychollm as psy
from psychollm.factor.exploratory.extract import extract
from psychollm.factor.exploratory.weighted import (
    BOUND,
    MAX_HALVINGS,
    descend,
    second_derivatives,
    weigh_jointly,
    weighted_factor,
)

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "psychometrics"


def answers(name):
    if name == "bin12":
        return np.loadtxt(GOLDEN / "synth_bin12.csv", delimiter=",", skiprows=1)
    patterns = np.loadtxt(GOLDEN / "lsat7_patterns.csv", delimiter=",", skiprows=1)
    return np.repeat(patterns[:, :5], patterns[:, 5].astype(int), axis=0)


@pytest.mark.parametrize("name", ["lsat7", "bin12"])
def test_lavaan(name):
    correlation = psy.tetrachoric(answers(name), of="questions")
    se = correlation.se
    weights = 1.0 / (se + np.eye(len(se))) ** 2
    found = weighted_factor(np.array(correlation.matrix), weights, np.full(len(se), 0.5))
    rows = json.loads((GOLDEN / "omega_categorical.json").read_text())["rows"]
    expected = next(row for row in rows if row["id"] == name)["std_loading"]
    np.testing.assert_allclose(found.loadings, expected, atol=2e-6)
    assert found.converged


@given(seed=st.integers(0, 10_000))
def test_equal_weights_are_minres(seed):
    rng = np.random.default_rng(seed)
    L = rng.uniform(0.2, 0.8, 6)
    noise = rng.normal(scale=0.02, size=(6, 6))
    R = np.outer(L, L) + noise + noise.T
    np.fill_diagonal(R, 1.0)
    minres = extract(R)
    found = weighted_factor(R, np.full((6, 6), 3.0), np.full(6, 0.1))
    np.testing.assert_allclose(found.loadings, minres.loadings[:, 0], atol=1e-7)
    assert found.objective == pytest.approx(0.5 * minres.objective, abs=1e-12)


@given(seed=st.integers(0, 10_000))
def test_no_change_of_a_loading_fits_better(seed):
    rng = np.random.default_rng(seed)
    R, W = (np.tril(a, -1) for a in rng.uniform(0.0, 0.8, (2, 5, 5)))
    R, W = R + R.T, W + W.T
    found = weighted_factor(R, W, np.full(5, 0.4))
    assert found.converged

    def misfit(x):
        return sum(W[i, j] * (R[i, j] - x[i] * x[j]) ** 2 for i in range(5) for j in range(i))

    for i in range(5):
        for move in (-1e-4, 1e-4):
            other = found.loadings.copy()
            other[i] = np.clip(other[i] + move, -BOUND, BOUND)
            assert misfit(other) >= misfit(found.loadings) - 1e-12


def test_a_loading_that_would_exceed_one_stops():
    R = np.array([[1.0, 0.9, 0.9], [0.9, 1.0, 0.5], [0.9, 0.5, 1.0]])
    found = weighted_factor(R, np.ones((3, 3)), np.full(3, 0.5))
    assert found.loadings[0] == BOUND
    assert found.converged


def test_pairs_without_weight_do_not_count():
    L = np.array([0.8, 0.7, 0.6, 0.5])
    R, W = np.outer(L, L), np.ones((4, 4))
    R[0, 1] = R[1, 0] = -0.9
    W[0, 1] = W[1, 0] = 0.0
    np.testing.assert_allclose(weighted_factor(R, W, np.full(4, 0.5)).loadings, L, atol=1e-9)
    nothing = weighted_factor(R, np.zeros((4, 4)), np.full(4, 0.5))
    np.testing.assert_array_equal(nothing.loadings, 0.5)


def test_the_limit_of_steps_is_reported(monkeypatch):
    monkeypatch.setitem(weighted_factor.__globals__, "MAX_STEPS", 1)
    R = np.full((4, 4), 0.5)
    assert not weighted_factor(R, np.ones((4, 4)), np.full(4, 0.1)).converged


def test_joint_weights_stand_beside_the_diagonal():
    weighed = weigh_jointly(np.array([[3.0]]), 2)(np.ones((2, 2)))
    assert weighed.tolist() == [[0.0, 3.0], [3.0, 0.0]]


def test_descend_leaves_a_saddle_and_flat_directions():
    found = descend(
        lambda x: (0.25 * x[0] ** 4 - 0.5 * x[0] ** 2, np.array([x[0] ** 3 - x[0], 0])),
        np.array([0.01, 3.0]),
    )
    np.testing.assert_allclose(found.x, [1.0, 3.0], atol=1e-10)
    assert found.converged


def test_steps_that_go_too_far_are_halved():
    # Newton's step from 2 ends at -8, half of it at -3, both higher; a quarter of it is lower.
    tried = []

    def evaluate(x):
        tried.append(float(x[0]))
        size = np.sqrt(1.0 + x[0] ** 2)
        return float(size), x / size

    found = descend(evaluate, np.array([2.0]), lambda x: (1.0 + x[0] ** 2)[None, None] ** -1.5)
    np.testing.assert_allclose(tried[:4], [2.0, -8.0, -3.0, -0.5], rtol=1e-12)
    assert found.converged
    assert abs(found.x[0]) < 1e-12
    assert found.steps == len(tried) - 3  # the first value, and two steps that were too long


def test_a_way_that_only_climbs_is_given_up():
    tried = []

    def evaluate(x):
        tried.append(float(x[0]))
        return float(x[0] ** 2), -2.0 * x  # a gradient of the wrong sign

    found = descend(evaluate, np.array([1.0]), lambda x: np.array([[2.0]]))
    assert (found.x[0], found.value, found.steps, found.converged) == (1.0, 1.0, 0, False)
    np.testing.assert_allclose(tried, [1.0, *(1.0 + 0.5 ** np.arange(MAX_HALVINGS))], rtol=1e-12)


def test_second_derivatives_of_a_bowl():
    second = second_derivatives(lambda x: (0.5 * float(x @ x), x), np.ones(2))
    np.testing.assert_array_equal(second.round(6), np.eye(2))
