"""Best strengths: plateaus and held-out halves against loops, interpolation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psychollm.studies import SteeredAnswers
from psychollm.studies.steering_match.grid import (
    grid_of,
    peak,
    profiles_of,
)
from psychollm.studies.steering_match.reconstruction import held_out_answers, random_halves
from tests.effort import examples
from tests.oracles import steering_match_slow as slow
from tests.studies.steering_match.conftest import STRENGTHS, simulated
from tests.studies.steering_match.test_match import lists


@examples(60)
@given(st.lists(st.integers(0, 3), min_size=2, max_size=12), st.integers(-6, 6))
def test_plateaus_match_loops(heights: list[int], start: int) -> None:
    strengths = start + np.arange(len(heights), dtype=float)
    curve = np.array([heights], dtype=float)
    found = peak(curve, strengths)
    middle, low, high = slow.middle(heights, strengths.tolist())
    assert (found.strength[0], *found.plateau[0]) == pytest.approx((middle, low, high))
    assert found.at_edge[0] == (low == strengths[0] or high == strengths[-1])
    nearest = peak(curve, strengths, ties="nearest_zero")
    assert nearest.strength[0] == slow.nearest_zero(heights, strengths.tolist())
    assert nearest.plateau[0, 0] <= nearest.strength[0] <= nearest.plateau[0, 1]


def test_held_out_matches_loops() -> None:
    steered, targets = simulated(0.6, questions=31, targets=3)
    halves = random_halves(31, 3, np.random.default_rng(0))
    grid = grid_of(steered, steps=1)
    answers = held_out_answers(grid, profiles_of(targets), halves, ties="middle")
    table = [[int(x) for x in row] for row in steered.yes]
    for found, measure in zip(answers, (slow.agreement, slow.kappa), strict=True):
        for row in range(3):
            expected = slow.held_out_hits(
                lists(targets, row), table, STRENGTHS.tolist(), halves.tolist(), measure
            )
            assert found.hits[row] == pytest.approx(expected)
        assert found.scored == pytest.approx(1.0)


def test_interpolation_is_linear_and_keeps_the_table() -> None:
    steered, _ = simulated(0.6)
    fine = grid_of(steered, steps=4)
    assert fine.strengths.size == 41
    assert fine.log_odds is not None
    assert fine.log_odds[::4] == pytest.approx(steered.log_odds)
    assert fine.log_odds[2] == pytest.approx(steered.log_odds[:2].mean(axis=0))


def test_nothing_is_interpolated_over_a_collapsed_strength() -> None:
    steered, _ = simulated(0.6)
    mass = np.ones(11)
    mass[3], mass[10] = 0.1, np.nan
    table = SteeredAnswers.from_array(
        steered.log_odds, strengths=STRENGTHS, scale="log_odds", mass=mass
    )
    assert np.flatnonzero(table.collapsed).tolist() == [3, 10]
    strengths = grid_of(table, steps=2).strengths
    inside = (strengths > STRENGTHS[2] + 1e-9) & (strengths < STRENGTHS[4] - 1e-9)
    assert not inside.any()
    assert strengths.max() == pytest.approx(STRENGTHS[9])
