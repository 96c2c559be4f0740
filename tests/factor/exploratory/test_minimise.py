"""Several starts: which end is kept, and when no more follow."""

import numpy as np
import pytest

from psychollm.factor.exploratory.minimise import lowest_of, multistart, no_more_expected


def test_more_starts_follow_while_minima_differ():
    def descend(starts):
        return [(abs(end), end) for end in np.round(starts)]

    found = multistart(descend, np.linspace(-2, 2, 9), 0.1)
    assert (abs(float(found.end)), found.minima, found.n_starts) == (0.0, 3, 9)


@pytest.mark.parametrize(
    ("minima", "n_starts", "enough"), [(1, 8, True), (2, 8, False), (2, 32, True)]
)
def test_when_no_more_minima_are_expected(minima, n_starts, enough):
    assert no_more_expected(minima, n_starts) is enough


def test_the_first_of_the_lowest_ends():
    assert lowest_of(np.array([0.7, 0.5 + 1e-12, 0.5, np.inf]), 1e-8) == (1, 2)
