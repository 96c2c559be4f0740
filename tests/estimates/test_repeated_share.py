"""Shares of repeated answers: single answers, copies, and independent repeats."""

import numpy as np

from psychollm.estimates.intervals import paired_difference, wilson
from psychollm.estimates.reasons import Reason
from psychollm.estimates.repeated_share import _scale, repeated_difference, repeated_share

ONCE = np.array([1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 1.0])


def test_single_answers_have_wilsons_interval() -> None:
    found = repeated_share("hits", {"m": (ONCE, np.ones(8))})
    np.testing.assert_allclose(found.interval, wilson([5], [8]), rtol=1e-12)
    assert found.method == "Wilson"


def test_copies_add_nothing() -> None:
    once = repeated_share("hits", {"m": (ONCE, np.ones(8))})
    copied = repeated_share("hits", {"m": (3.0 * ONCE, np.full(8, 3.0))})
    assert copied.value == once.value
    assert copied.n == 24.0
    assert np.ptp(copied.interval) >= np.ptp(once.interval)


def test_repeats_that_differ_make_a_share_more_exact() -> None:
    hits = np.tile([2.0, 2.0, 1.0, 3.0], 10)
    found = repeated_share("hits", {"m": (hits, np.full(40, 4.0))})
    alone = repeated_share("hits", {"m": (np.tile([1.0, 0.0], 20), np.ones(40))})
    assert np.ptp(found.interval) < np.ptp(alone.interval)


def test_no_answers() -> None:
    empty = np.empty(0)
    found = repeated_share("hits", {"m": (empty, empty)}, absent=Reason.NO_YES)
    assert (np.isnan(found.value[0]), found.flags) == (True, (Reason.NO_YES,))


def test_differences_of_single_answers_are_bonett_and_prices() -> None:
    second = 1.0 - ONCE
    found = repeated_difference("gap", {"m": (ONCE, second)}, units=np.arange(8))
    np.testing.assert_allclose(found.interval[0], paired_difference(5, 3, 8), rtol=1e-12)
    assert found.value[0] == 0.25


def test_occasions_of_two_units_that_differ() -> None:
    """Variance of the mean: 2 / 1 * ((2 - 1)^2 + (0 - 1)^2) / 4^2 = 1 / 4."""
    assert _scale(np.array([2.0, 0.0]), np.array([2.0, 2.0]), 0.5) == 2.0
