"""Folds of whole groups for cross-validation."""

import numpy as np

from psychollm._base.types import IntArray


def dealt(groups: IntArray, n_folds: int, rng: np.random.Generator) -> IntArray:
    """Return the fold of each unit (units,), with whole groups in folds of similar size."""
    # Groups are assigned from the largest on (ties in random order), each to the fold that has the
    # fewest units so far.
    _, number, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    shuffled = rng.permutation(sizes.size)
    filled, fold = np.zeros(n_folds), np.zeros(sizes.size, dtype=np.int64)
    for group in shuffled[np.argsort(-sizes[shuffled], kind="stable")]:
        fold[group] = int(np.argmin(filled))
        filled[fold[group]] += sizes[group]
    return np.asarray(fold[number])
