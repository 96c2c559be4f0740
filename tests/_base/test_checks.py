"""Checks of recurrent arguments: what passes, and what the message says where it does not."""

from typing import Literal

import numpy as np
import pytest

from psychollm._base.checks import (
    check_choice,
    check_count,
    check_fraction,
    check_generator,
    check_share,
    check_unique,
    check_weights,
)
from psychollm._base.errors import LabelError, OptionError

Fruit = Literal["apple", "pear"]


def test_choice_lists_the_options() -> None:
    check_choice("fruit", "apple", Fruit)
    with pytest.raises(OptionError, match=r"fruit='fig' is not an option: use one of 'apple', 'p"):
        check_choice("fruit", "fig", Fruit)


@pytest.mark.parametrize("value", [0.5, np.float32(0.25), 1e-9])
def test_fraction_inside(value: float) -> None:
    assert check_fraction("level", value) == float(value)


@pytest.mark.parametrize("value", [0.0, 1.0, -0.1, 2, np.nan, np.inf, "0.5", None])
def test_fraction_outside(value: object) -> None:
    with pytest.raises(OptionError, match="level="):
        check_fraction("level", value)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [1, 7, np.int64(3), 2.0])
def test_count_whole(value: int) -> None:
    count = check_count("n", value)
    assert count == value
    assert type(count) is int


@pytest.mark.parametrize("value", [0, -1, 1.5, True, np.nan, np.inf, "3", None])
def test_count_not_whole(value: object) -> None:
    with pytest.raises(OptionError, match="n="):
        check_count("n", value)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "remedy"),
    [(3, ": 3 points are 0.03"), (2.5, ": 2.5 points are 0.025"), (300, ""), (0, ""), ("a", "")],
)
def test_a_share_is_at_most_one(value: float, remedy: str) -> None:
    assert check_share("gap", 1) == 1.0
    with pytest.raises(OptionError) as told:
        check_share("gap", value)
    assert str(told.value).endswith(f"must be a positive number of at most 1{remedy}")


def test_count_has_its_own_lower_end() -> None:
    assert check_count("n", 0, low=0) == 0
    with pytest.raises(OptionError, match="at least 2"):
        check_count("n", 1, low=2)


def test_generator_from_seed_is_reproducible() -> None:
    assert check_generator(7).random() == check_generator(7).random()


def test_generator_passes_through() -> None:
    rng = np.random.default_rng(1)
    assert check_generator(rng) is rng


@pytest.mark.parametrize("rng", ["seven", -1, 0.5])
def test_generator_from_nonsense(rng: object) -> None:
    with pytest.raises(OptionError, match="rng="):
        check_generator(rng)  # type: ignore[arg-type]


def test_unique_names_the_repeated() -> None:
    check_unique("model", ["a", "b"])
    with pytest.raises(LabelError, match=r"model labels must be unique, but 'a', 'b' occurs"):
        check_unique("model", ["a", "b", "a", "b", "a", "c"])


def test_weights_are_scaled_to_mean_one() -> None:
    scaled = check_weights([1, 1, 4], 3)
    assert scaled.tolist() == [0.5, 0.5, 2.0]


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, 1], "one number per question"),
        ([1, -1, 1], r"weights\[1\] = -1"),
        ([1, 1, np.nan], r"weights\[2\] = nan"),
        ([np.inf, 1, 1], r"weights\[0\] = inf"),
        ([0, 0, 0], "sum to zero"),
        (["a", "b", "c"], r"weights\[0\] is 'a', which is not a number"),
    ],
)
def test_weights_that_cannot_be_used(weights: list[object], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        check_weights(weights, 3)


def test_the_smallest_weights_count_by_their_ratios() -> None:
    least = 5e-324
    np.testing.assert_allclose(check_weights([least] * 4, 4), np.ones(4))
    np.testing.assert_allclose(check_weights([1e308] * 4, 4), np.ones(4))
    np.testing.assert_array_equal(check_weights([1.0, least], 2), [2.0, 0.0])
