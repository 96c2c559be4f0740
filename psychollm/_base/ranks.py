"""Ranks, computed without SciPy because importing SciPy takes half a second."""

import numpy as np

from psychollm._base.types import FloatArray


def midranks(values: FloatArray) -> FloatArray:
    """Return the ranks of all values as one vector, from 1; tied values get their mean rank."""
    _, rank, count = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(count) - 0.5 * (count - 1))[rank.ravel()], dtype=np.float64)
