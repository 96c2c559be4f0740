"""`spectrum`: eigenvalues and loadings of a correlation matrix, with fixed order and signs."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.result import Result
from psychollm._base.types import FloatArray
from psychollm.data.matrix_input import MatrixLike, correlation_matrix

# Relative size below which sums and entries of a vector count as rounding error.
ZERO = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Spectrum(Result):
    """Eigenvalues and component loadings of a correlation matrix.

    Attributes
    ----------
    eigenvalues : ndarray of shape (k,)
        Eigenvalues in descending order.
    shares : ndarray of shape (k,)
        Eigenvalues divided by k: proportions of variance, which sum to one. Negative proportions
        have no interpretation.
    loadings : ndarray of shape (k, k)
        Column c contains the correlations of the variables with component c: the eigenvector times
        the square root of its eigenvalue, or zero if the eigenvalue is negative. The sum of each
        column is positive; if it is zero, the first non-zero entry is positive.
    negative_mass : float
        Sum of absolute values of the negative eigenvalues, divided by k.
    labels : tuple
        Names of the k rows.
    """

    eigenvalues: FloatArray  # (k,)
    shares: FloatArray  # (k,)
    loadings: FloatArray  # (k, k)
    negative_mass: float
    labels: tuple[Hashable, ...]  # k

    _AXES = Axes(
        {"component": None},
        "eigenvalue=eigenvalues",
        "share=shares",
        ("cumulative", lambda spectrum: np.cumsum(spectrum.shares)),
    )

    def __repr__(self) -> str:
        k = self.shares.size
        leading = ", ".join(f"{100 * share:.1f} %" for share in self.shares[:4])
        below = int(np.count_nonzero(self.eigenvalues < 0))
        return (
            f"Spectrum of {k} x {k} correlations: {leading}{', ...' if k > 4 else ''}\n"
            f"  smallest eigenvalue {self.eigenvalues[-1]:.3g}, {below} below zero, "
            f"negative mass {100 * self.negative_mass:.2g} %"
        )


def spectrum(matrix: MatrixLike) -> Spectrum:
    """Compute eigenvalues, proportions of variance and loadings of a correlation matrix.

    Parameters
    ----------
    matrix : Correlation, Smoothing, DataFrame or array of shape (k, k)
        Symmetric matrix with unit diagonal and entries in [-1, 1]; it may have negative
        eigenvalues.

    Returns
    -------
    Spectrum
        Components in order of descending eigenvalue, with unique signs. Components with equal
        eigenvalues have arbitrary loadings; only the space that they span is determined.

    Raises
    ------
    InputError
        If a correlation is undefined or outside [-1, 1], or if the matrix is not symmetric with
        unit diagonal.

    See Also
    --------
    smooth : make the matrix positive semidefinite.

    Examples
    --------
    >>> import psychollm as psy
    >>> found = psy.spectrum([[1, 0.5, 0], [0.5, 1, 0], [0, 0, 1]])
    >>> found.eigenvalues, found.loadings[:, 0].round(3)
    (array([1.5, 1. , 0.5]), array([0.866, 0.866, 0.   ]))
    """
    values, labels = correlation_matrix(matrix)
    ascending, vectors = np.linalg.eigh(values)
    order = np.argsort(-ascending, kind="stable")
    eigenvalues = ascending[order]
    loadings = signed(vectors[:, order] * np.sqrt(np.maximum(eigenvalues, 0.0)))
    k = len(labels)
    return Spectrum(
        eigenvalues=eigenvalues,
        shares=eigenvalues / k,
        loadings=loadings,
        negative_mass=float(np.maximum(-eigenvalues, 0.0).sum()) / k,
        labels=labels,
    )


def signed(loadings: FloatArray) -> FloatArray:
    """Make the sum of each column positive or, if the sum is zero, its first non-zero entry."""
    sums = loadings.sum(axis=0)
    sizes = np.abs(loadings)
    first = np.argmax(sizes > ZERO * sizes.max(axis=0), axis=0)
    deciding = loadings[first, np.arange(loadings.shape[1])]
    undecided = np.abs(sums) <= ZERO * sizes.sum(axis=0)
    negative = np.where(undecided, deciding, sums) < 0
    result: FloatArray = np.where(negative, -loadings, loadings) + 0.0  # no negative zeros
    return result
