"""Sets of models that common questions connect: against a search from model to model."""

import numpy as np
import pytest

from psychollm.data.connected import connected


def by_search(present):
    """Return the sets of models that have answers, each found by walking over common questions."""
    left, sets = {row for row in range(len(present)) if present[row].any()}, []
    while left:
        reached, waiting = set(), [min(left)]
        while waiting:
            row = waiting.pop()
            reached.add(row)
            common = present[:, present[row]].any(axis=1)
            waiting += [other for other in np.flatnonzero(common) if other not in reached]
        sets.append(sorted(reached))
        left -= reached
    return sorted(sets, key=len, reverse=True)  # stable: equal sizes in order of occurrence


@pytest.mark.parametrize("seed", range(40))
def test_sets_are_those_of_a_search(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = int(rng.integers(1, 8)), int(rng.integers(1, 7))
    present = rng.random(shape) < rng.choice([0.1, 0.25, 0.5, 0.9])
    expected = np.zeros(len(present), dtype=int)
    for number, rows in enumerate(by_search(present)):
        expected[rows] = number
    np.testing.assert_array_equal(connected(present), expected)


def test_a_question_that_all_answered_connects_them() -> None:
    present = np.eye(5, dtype=bool)
    assert len(set(connected(present))) == 5
    present[:, 2] = True
    assert not connected(present).any()
