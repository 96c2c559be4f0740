"""What can be taken for loadings: checked once, with the labels of its rows."""

from typing import Any

import numpy as np

from psychollm._base.arrays import float_array
from psychollm._base.errors import InputError, ShapeError
from psychollm._base.types import FloatArray
from psychollm.data.labels import Labels, as_labels, listed


def read_loadings(data: Any) -> tuple[FloatArray, Labels]:
    """Return loadings (k, m) and the labels of their rows, checked.

    Parameters
    ----------
    data : Extraction, DataFrame or array_like (k, m)
        Anything with ``loadings`` and ``labels``, a DataFrame, or an array; a vector is one
        factor.

    Raises
    ------
    ShapeError
        If it is no table of at least as many rows as columns.
    InputError
        If a loading is undefined; rows are named.

    Examples
    --------
    >>> read_loadings([0.5, 0.4])[0].shape
    (2, 1)
    """
    rows: Any = None
    if hasattr(data, "loadings"):
        rows = getattr(data, "labels", None)
        data = data.loadings
    elif hasattr(data, "columns") and hasattr(data, "index"):
        rows = data.index
    values = float_array(data, "loadings")
    values = values[:, None] if values.ndim == 1 else values
    if values.ndim != 2 or 0 in values.shape or values.shape[0] < values.shape[1]:
        msg = f"loadings must have shape (k, m) with m at most k, got {values.shape}"
        raise ShapeError(msg)
    labels = as_labels("model", rows, len(values))
    bad = np.flatnonzero(~np.isfinite(values).all(axis=1))
    if bad.size:
        msg = f"loadings are undefined for {listed([labels[i] for i in bad])}: leave them out"
        raise InputError(msg)
    return values, labels
