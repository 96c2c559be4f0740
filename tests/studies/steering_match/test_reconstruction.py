"""Reconstruction of projections: R squared, weights, chance."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import psychollm as psy
from psychollm.studies import steering_match
from psychollm.studies.steering_match.best_strengths import r_squared
from psychollm.studies.steering_match.grid import (
    criterion_curve,
    grid_of,
    profiles_of,
)
from psychollm.studies.steering_match.result import finding
from tests.effort import examples
from tests.oracles import steering_match_slow as slow
from tests.studies.steering_match.conftest import FEW, simulated


@given(st.integers(0, 2**32 - 1))
@examples(25)
def test_r_squared_is_that_of_numpy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(2, 6))
    assert r_squared(x, y) == pytest.approx(np.corrcoef(x, y)[0, 1] ** 2)
    assert r_squared(x, y) == pytest.approx(slow.r_squared(x.tolist(), y.tolist()))
    gap = np.where(np.arange(6) == 2, np.nan, x)
    kept = np.arange(6) != 2
    assert r_squared(gap, y) == pytest.approx(np.corrcoef(x[kept], y[kept])[0, 1] ** 2)


def test_weights_are_repeats() -> None:
    steered, targets = simulated(0.6, questions=30)
    grid, profiles = grid_of(steered, steps=1), profiles_of(targets)
    weights = np.where(np.arange(30) < 10, 3.0, 1.0)
    drawn = np.repeat(np.arange(30), weights.astype(int))
    repeated = psy.Responses(targets.codes[:, drawn])
    for criterion in ("agreement", "kappa"):
        found = criterion_curve(grid, profiles, criterion, weights=weights)
        expected = criterion_curve(grid.permuted(drawn), profiles_of(repeated), criterion)
        assert found == pytest.approx(expected, nan_ok=True)


def test_r_squared_is_high_without_any_link() -> None:
    steered, targets = simulated(0.0)
    found = steering_match(steered, targets, **FEW)
    assert found.headlines["r_squared"] > 0.7
    assert found.p_values["held_out_kappa"] > 0.05
    assert finding(found) == "none"
    assert found.verdict.startswith(
        (
            "It is unclear whether steering predicts",
            "Steering predicts which questions get a yes no better",
        )
    )
