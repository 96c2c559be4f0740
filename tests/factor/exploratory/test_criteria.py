"""Criteria of rotation: twins, bifactor structures, targets, bad input."""

import numpy as np
import pytest

from psychollm._base.errors import (
    InputError,
    OptionError,
    ShapeError,
)
from psychollm.factor.exploratory.criteria import (
    CRITERIA,
    bifactor,
    crawford_ferguson,
    geomin,
    target,
)
from psychollm.factor.exploratory.factor_analysis import factor_analysis
from psychollm.factor.exploratory.rotate import rotate
from tests.oracles import factor_analysis_slow as slow
from tests.oracles import factor_slow


@pytest.mark.parametrize(
    ("criterion", "twin"),
    [
        (crawford_ferguson(0.3), lambda L: slow.crawford_ferguson(L, 0.3)),
        (CRITERIA["equamax"], lambda L: slow.crawford_ferguson(L, 3 / 12)),
        (CRITERIA["parsimax"], lambda L: slow.crawford_ferguson(L, 2 / 7)),
        (geomin(0.02), lambda L: slow.geomin(L, 0.02)),
        (bifactor(), lambda L: factor_slow.quartimin(L[:, 1:])),
        (
            target(np.where(np.arange(18).reshape(6, 3) % 4 == 0, 0.0, np.nan)),
            lambda L: slow.target(L, np.where(np.arange(18).reshape(6, 3) % 4 == 0, 0.0, np.nan)),
        ),
    ],
    ids=["crawford_ferguson", "equamax", "parsimax", "geomin", "bifactor", "target"],
)
def test_criteria(criterion, twin):
    L = np.random.default_rng(2).uniform(-0.9, 0.9, (6, 3))
    values, gradients = criterion.evaluate(L[None])
    assert values[0] == pytest.approx(twin(L), rel=1e-12)
    for i in range(6):
        for j in range(3):
            move = np.zeros((6, 3))
            move[i, j] = 1e-5
            slope = (twin(L + move) - twin(L - move)) / 2e-5
            assert gradients[0, i, j] == pytest.approx(slope, abs=1e-8)


def test_a_bifactor_structure_is_found():
    rng = np.random.default_rng(0)
    general = rng.uniform(0.4, 0.8, (12, 1))
    groups = np.kron(np.eye(3), np.ones((4, 1))) * rng.uniform(0.3, 0.5, (12, 1))
    truth = np.hstack([general, groups])
    R = truth @ truth.T
    np.fill_diagonal(R, 1.0)
    found = factor_analysis(R, 4, rotation="bifactor", n_starts=30)
    np.testing.assert_allclose(found.loadings[:, :1], general, atol=1e-5)
    np.testing.assert_allclose(factor_slow.aligned(found.loadings, truth)[0], truth, atol=1e-5)


def test_a_target_keeps_order_and_signs():
    simple = np.kron(np.eye(2), np.array([[0.8], [0.7], [0.6], [0.5]]))
    wanted = np.where(simple > 0, np.nan, 0.0)
    wanted[0, 0], wanted[4, 1] = -0.8, 0.8
    found = rotate(simple @ np.array([[0.6, 0.8], [-0.8, 0.6]]), method=target(wanted))
    np.testing.assert_allclose(found.loadings, simple * [-1, 1], atol=1e-7)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: geomin(0.0), OptionError, "epsilon=0.0"),
        (lambda: crawford_ferguson(2.0), OptionError, "kappa=2.0"),
        (lambda: target([1.0, 2.0]), ShapeError, r"\(2,\)"),
        (lambda: target([[np.nan]]), InputError, "at least one number"),
        (
            lambda: rotate(np.eye(4)[:, :2], method=target(np.ones((3, 2)))),
            ShapeError,
            r"target has shape \(3, 2\)",
        ),
    ],
)
def test_criteria_refuse(make, error, message):
    with pytest.raises(error, match=message):
        make()
