"""A matrix that has a likelihood: positive definite, and said to have been made so."""

import warnings

import numpy as np

from psychollm._base.errors import PsychollmWarning
from psychollm._base.types import FloatArray

SMALLEST = 0.01
"""Smallest eigenvalue after mending: below it a likelihood is about that direction alone."""
DEFINITE = 1e-10


def positive_definite(matrix: FloatArray, method: str) -> tuple[FloatArray, float]:
    """Mix a correlation matrix that is not positive definite with the identity, and warn.

    Parameters
    ----------
    matrix : ndarray (k, k)
        Correlations.
    method : str
        What needs it, for the message.

    Returns
    -------
    matrix : ndarray (k, k)
        The same where it is positive definite; else its smallest eigenvalue is 0.01.
    weight : float
        Of the identity; 0 where nothing was done.

    Warns
    -----
    PsychollmWarning
        If something was done: how far correlations shrank, and what else could be done.

    Examples
    --------
    >>> positive_definite(np.eye(2), "ml")[1]
    0.0
    """
    mended, weight = shrunk(matrix)
    if not weight:
        return matrix, 0.0
    smallest = float(np.linalg.eigvalsh(matrix)[0])
    msg = (
        f"the matrix is not positive definite (smallest eigenvalue {smallest:.3g}), as "
        f"method={method!r} needs: correlations were shrunk by {weight:.1%}. Pass "
        "smooth(matrix) for another repair, or use method='minres', which needs none"
    )
    warnings.warn(msg, PsychollmWarning, stacklevel=4)
    return mended, weight


def shrunk(matrix: FloatArray) -> tuple[FloatArray, float]:
    """Mix a matrix that is not positive definite with the identity; return the weight too.

    Examples
    --------
    >>> mended, weight = shrunk(np.array([[1.0, 1.01], [1.01, 1.0]]))
    >>> round(weight, 4), np.linalg.eigvalsh(mended).round(4).tolist()
    (0.0198, [0.01, 1.99])
    """
    smallest = float(np.linalg.eigvalsh(matrix)[0])
    if smallest > DEFINITE:
        return matrix, 0.0
    weight = (SMALLEST - smallest) / (1.0 - smallest)
    return (1.0 - weight) * matrix + weight * np.eye(len(matrix)), weight
