"""Names beside points do not cover each other."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text

from psychollm.plots.labels import MAX_NAMES, label_points, spread


def boxes(ax: Axes) -> list[tuple[float, float, float, float]]:
    ax.figure.draw_without_rendering()
    return [Text.get_window_extent(text).extents for text in ax.texts]


def covered(ax: Axes) -> list[tuple[object, object]]:
    return [
        (a, b)
        for a, b in combinations(boxes(ax), 2)
        if a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
    ]


@pytest.mark.parametrize("seed", range(5))
def test_nineteen_names_do_not_overlap(seed: int) -> None:
    ax = Figure(figsize=(6.4, 5.0), layout="constrained").subplots()
    x, y = np.random.default_rng(seed).uniform(size=(2, 19))
    ax.plot(x, y, "o")
    label_points(ax, x, y, [f"model-{i:02d}" for i in range(19)])
    assert len(ax.texts) == 19
    assert not covered(ax)
    frame = ax.get_window_extent().extents
    assert all(b[0] >= frame[0] - 1 and b[2] <= frame[2] + 1 for b in boxes(ax))


def test_names_of_undefined_points_are_left_out() -> None:
    ax = Figure().subplots()
    made = label_points(ax, np.array([0.1, np.nan]), np.array([0.5, 0.5]), ["a", "b"])
    assert [text.get_text() for text in made] == ["a"]
    assert label_points(ax, np.array([np.nan]), np.array([0.0]), ["c"]) == []


def test_of_many_points_only_the_outermost_are_named() -> None:
    ax = Figure().subplots()
    x = np.append(np.zeros(60), 1.0)
    made = label_points(ax, x, x, list(range(61)))
    assert 5 < len(made) <= MAX_NAMES
    assert made[0].get_text() == "60"
    assert len(made) == len(ax.texts)
    assert not covered(ax)  # names without a free place are left out


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_spread_keeps_order_distance_and_range(values: list[float]) -> None:
    wanted = np.array(values)
    at = spread(wanted, 0.05, low=0.0, high=1.0)
    assert at.shape == wanted.shape
    assert (at >= -1e-12).all()
    assert (at <= 1 + 1e-12).all()
    order = np.argsort(wanted, kind="stable")
    assert (np.diff(at[order]) >= 0.05 - 1e-12).all()


def test_spread_without_room_is_even() -> None:
    assert np.allclose(spread(np.array([0.9, 0.1, 0.5]), 0.6, low=0, high=1), [1.0, 0.0, 0.5])
    assert spread(np.empty(0), 0.1, low=0, high=1).size == 0


def test_spread_leaves_alone_what_is_apart() -> None:
    wanted = np.array([0.1, 0.9, 0.4])
    assert np.array_equal(spread(wanted, 0.2, low=0, high=1), wanted)
