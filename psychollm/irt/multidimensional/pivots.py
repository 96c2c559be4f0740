"""Where an exploratory fit is anchored: items whose slopes are held triangular."""

from dataclasses import replace

import numpy as np
from scipy.linalg import qr

from psychollm._base.types import IntArray
from psychollm.irt.multidimensional.problem import Place, Problem, echelon


def pivots_of(place: Place) -> IntArray:
    """Return m items whose slopes point in the most different directions.

    Examples
    --------
    >>> pivots_of(Place(np.array([[1.0, 1.0, 0.0], [1.0, 1.1, 0.0], [0.0, 1.0, 0.0]]), np.eye(2)))
    array([1, 2])
    """
    slopes = place.slopes
    lengths = 1.0 + (slopes**2).sum(axis=1, keepdims=True)
    _, _, order = qr((slopes / np.sqrt(lengths)).T, pivoting=True, mode="economic")
    return np.asarray(order[: slopes.shape[1]], dtype=np.int64)


def with_pivots(problem: Problem, place: Place) -> tuple[Problem, Place]:
    """Return the problem and place with the rotation taken out; others as they are."""
    m = problem.dimensions
    if not problem.exploratory or m == 1:
        return problem, place
    pivots = pivots_of(place)
    free = problem.free.copy()
    for k, item in enumerate(pivots):
        free[item, k + 1 : m] = False
    turned = Place(echelon(place.table, pivots), place.correlation)
    return replace(problem, free=free, pivots=pivots), turned
