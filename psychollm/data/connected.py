"""Sets of models connected by common questions; different sets have no common scale."""

import numpy as np

from psychollm._base.types import BoolArray, IntArray


def connected(present: BoolArray) -> IntArray:
    """Return the index of each model's connected set (models,); the largest set has index 0.

    Parameters
    ----------
    present : bool array (models, questions)
        Array that is True where the model answered the question. Models without any answer belong
        to the largest set.

    Examples
    --------
    >>> connected(np.array([[1, 0, 0], [0, 1, 1], [0, 0, 1]], dtype=bool))
    array([1, 0, 0])
    """
    # A question that all models answered connects them, so no graph is required for complete
    # tables.
    if present.all(axis=0).any():
        return np.zeros(len(present), dtype=np.int64)
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n, total = len(present), sum(present.shape)
    rows, columns = np.nonzero(present)
    links = coo_array((np.ones(rows.size), (rows, columns + n)), shape=(total, total))
    _, found = np.unique(connected_components(links, directed=False)[1][:n], return_inverse=True)
    known = present.any(axis=1)
    sizes = np.bincount(found, known)
    order = np.argsort(-sizes, kind="stable")  # sets of equal size in order of occurrence
    return np.where(known, np.argsort(order)[found], 0)
