"""Conversion of any accepted input to a checked correlation matrix with labels."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeAlias, Union

import numpy as np

from psychollm._base.checks import float_array
from psychollm._base.errors import InputError, LabelError, ShapeError
from psychollm._base.frames import in_pandas, is_counted, labelled
from psychollm._base.types import BoolArray, FloatArray
from psychollm.data.labels import Labels, as_labels
from psychollm.data.long import is_long_frame
from psychollm.kernels.tetrachoric import ADJUSTED

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike

MatrixLike: TypeAlias = Union["ArrayLike", "pd.DataFrame", Any]  # Any: a result with a matrix

# Tolerances for asymmetry and for deviations of the diagonal from 1. Such errors result from
# np.corrcoef or from printing 12 digits.
ROUNDING = 1e-10
_SHOWN = 5


def correlation_matrix(data: object, argument: str = "matrix") -> tuple[FloatArray, Labels]:
    """Return a checked matrix of correlations and its labels."""
    values, names = _values_and_names(data)
    matrix = float_array(values, argument)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) < 2:
        msg = f"{argument} must have shape (k, k) with k of at least 2, got {matrix.shape}"
        raise ShapeError(msg)
    labels = as_labels("model", names, len(matrix))
    _check_defined(matrix, labels)
    _check_range(matrix, labels)
    return _exact(matrix, labels), labels


def square_of(data: object, name: str, k: int) -> FloatArray:
    """Check and return a symmetric array (k, k), such as weights."""
    array = float_array(data, name)
    if array.shape != (k, k):
        msg = f"{name} must have shape ({k}, {k}) like the matrix, got {array.shape}"
        raise ShapeError(msg)
    if not np.allclose(array, array.T, rtol=ROUNDING, atol=0, equal_nan=True):
        msg = f"{name} must be symmetric: pass ({name} + {name}.T) / 2"
        raise ShapeError(msg)
    return array


def adjusted_pairs(correlation: Any) -> int:
    """Return the number of correlations with a continuity-corrected empty cell."""
    status = getattr(correlation, "status", None)
    if status is None:
        return int(getattr(correlation, "adjusted_pairs", 0))
    return int(np.sum(status[np.tril_indices(len(status), -1)] == ADJUSTED))


def name_pairs(bad: BoolArray, labels: Labels) -> str:
    """Name the first pairs below the diagonal for which `bad` is true."""
    first, second = np.nonzero(np.tril(bad | bad.T, -1))
    shown = [f"({labels[j]!r}, {labels[i]!r})" for i, j in zip(first, second, strict=True)]
    more = f" and {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else ""
    return ", ".join(shown[:_SHOWN]) + more


def _values_and_names(data: Any) -> tuple[Any, Any]:
    """Return the values and the labels of a matrix."""
    if hasattr(data, "matrix") and hasattr(data, "labels"):
        return data.matrix, data.labels
    data = in_pandas(data)
    if hasattr(data, "codes") or is_long_frame(data):
        msg = "matrix is a table of answers: correlate them first, with tetrachoric or polychoric"
        raise InputError(msg)
    data = labelled(data)
    if hasattr(data, "columns") and hasattr(data, "index"):
        if not is_counted(data.index) and list(data.index) != list(data.columns):
            msg = "matrix has an index that differs from its columns: reindex it by its columns"
            raise LabelError(msg)
        return data.to_numpy(), data.columns
    return data, None


def _check_defined(matrix: FloatArray, labels: Labels) -> None:
    """Raise an error that names undefined pairs and the labels to drop."""
    bad = ~np.isfinite(matrix)
    if not bad.any():
        return
    pairs = name_pairs(bad, labels) or f"{labels[int(np.argmax(bad.any(axis=1)))]!r} with itself"
    drop = ", ".join(repr(labels[i]) for i in _cover(bad))
    msg = f"matrix has undefined correlations: {pairs}; drop {drop} and correlate the others"
    raise InputError(msg)


def _cover(bad: BoolArray) -> Iterator[int]:
    """Yield rows with the most undefined values, until all remaining values are defined."""
    left = bad | bad.T
    while left.any():
        worst = int(np.argmax(left.sum(axis=1)))
        left[worst] = left[:, worst] = False
        yield worst


def _check_range(matrix: FloatArray, labels: Labels) -> None:
    """Raise an error for values that a correlation cannot have."""
    diagonal = np.diagonal(matrix)
    wrong = np.flatnonzero(np.abs(diagonal - 1.0) > ROUNDING)
    if wrong.size:
        i = int(wrong[0])
        msg = (
            f"matrix has {diagonal[i]:g} on the diagonal at {labels[i]!r}: a correlation matrix "
            "has ones there (divide a covariance matrix by its standard deviations first)"
        )
        raise InputError(msg)
    outside = np.abs(matrix) > 1.0 + ROUNDING
    if outside.any():
        msg = f"matrix has entries outside [-1, 1]: {name_pairs(outside, labels)}"
        raise InputError(msg)


def _exact(matrix: FloatArray, labels: Labels) -> FloatArray:
    """Remove rounding errors from a matrix; return an exact matrix unchanged."""
    apart = np.abs(matrix - matrix.T) > ROUNDING
    if apart.any():
        msg = (
            f"matrix is not symmetric: {name_pairs(apart, labels)} differ from their transposes; "
            "pass (matrix + matrix.T) / 2 if that is intended"
        )
        raise InputError(msg)
    result: FloatArray = np.clip((matrix + matrix.T) / 2.0, -1.0, 1.0)
    np.fill_diagonal(result, 1.0)
    return result
