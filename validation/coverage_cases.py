"""Define a case of the coverage simulation."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

# metric -> bounds (data sets, 2), the true value, and, for metrics that have it, a flag (data
# sets,) where an interval may be too narrow
Intervals = dict[str, tuple[np.ndarray, float] | tuple[np.ndarray, float, np.ndarray]]


@dataclass(frozen=True)
class Case:
    """A law to simulate from, and the intervals computed from each data set.

    `run` takes the size, the number of data sets, a generator and the number of jobs.
    """

    family: str
    scenario: str
    run: Callable[[int, int, np.random.Generator, int], Intervals]
    sizes: tuple[int, ...] = ()


def flagged(flags: tuple[object, ...]) -> np.ndarray:
    """Return which results flag that their interval may be too narrow."""
    return np.array(["may be too narrow" in str(flag) for flag in flags])


def collected(
    one: Callable[[], dict[str, np.ndarray]], count: int, truth: dict[str, float]
) -> Intervals:
    """Return the intervals of `count` data sets; `one` draws a data set and returns its bounds."""
    found = [one() for _ in range(count)]
    return {name: (np.array([bounds[name] for bounds in found]), truth[name]) for name in truth}
