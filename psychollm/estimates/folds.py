"""Folds of whole groups for cross-validation."""

import numpy as np

from psychollm._base.types import IntArray


def dealt(groups: IntArray, n_folds: int, rng: np.random.Generator) -> IntArray:
    """Return a fold for each unit (units,): whole groups form folds of similar size."""
    # Largest groups first (ties in random order), each to the fold with the fewest units.
    _, number, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    shuffled = rng.permutation(sizes.size)
    filled, fold = np.zeros(n_folds), np.zeros(sizes.size, dtype=np.int64)
    for group in shuffled[np.argsort(-sizes[shuffled], kind="stable")]:
        fold[group] = int(np.argmin(filled))
        filled[fold[group]] += sizes[group]
    return np.asarray(fold[number])
