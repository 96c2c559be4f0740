"""Symmetric roots of covariance matrices, for draws that do not depend on the processor."""

import numpy as np

from psychollm._base.types import FloatArray


def symmetric_root(covariance: FloatArray, power: float = 0.5, least: float = 0.0) -> FloatArray:
    """Return the symmetric square root of a covariance matrix, or its inverse with `power` -1/2.

    The symmetric root is unique, whereas the signs of eigenvectors depend on the BLAS library.
    Eigenvalues below `least` are raised to `least`.

    Examples
    --------
    >>> symmetric_root(np.array([[5.0, 4.0], [4.0, 5.0]]))
    array([[2., 1.],
           [1., 2.]])
    """
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray((vectors * np.maximum(values, least) ** power) @ vectors.T)
