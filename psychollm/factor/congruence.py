r"""`congruence`: similarity of two sets of loadings.

Tucker's coefficient of columns x and y is the cosine between them,

.. math:: \phi = \frac{\sum_i x_i y_i}{\sqrt{\sum_i x_i^2 \sum_i y_i^2}}.

Unlike a correlation, the coefficient is computed without centring the columns, so that only
proportional columns have a coefficient of 1. Factors are considered equal if the coefficient is
above .95, and fairly similar if it is from .85 to .94 (Lorenzo-Seva & ten Berge, 2006).

References
----------
Tucker, L. R. (1951). A method for synthesis of factor analysis studies (Personnel Research Section
Report No. 984). Department of the Army.

Lorenzo-Seva, U., & ten Berge, J. M. F. (2006). Tucker's congruence coefficient as a meaningful
index of factor similarity. Methodology, 2(2), 57-64. https://doi.org/10.1027/1614-2241.2.2.57
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from psychollm._base.checks import float_array
from psychollm._base.errors import InputError, LabelError, ShapeError
from psychollm._base.frames import labelled
from psychollm._base.result import Result
from psychollm._base.types import FloatArray, IntArray
from psychollm.data.labels import Labels, listed
from psychollm.data.matrix_input import MatrixLike

if TYPE_CHECKING:
    import pandas as pd

UNMATCHED = -1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Congruence(Result):
    """Tucker's congruence between the columns of two sets of loadings.

    Attributes
    ----------
    matrix : ndarray of shape (m, p)
        Congruence coefficients in [-1, 1]. Undefined coefficients are NaN, with an entry in
        `reasons`.
    order : ndarray of shape (m,)
        Column of the other set that is matched to each column. The one-to-one matching maximises
        the sum of absolute coefficients. The index is -1 if no column remains or the coefficient
        is undefined.
    signs : ndarray of shape (m,)
        Sign of each match: 1, or -1 if the matched column is reversed; 0 without a match.
    matched : ndarray of shape (m,)
        Absolute coefficients of matched columns; NaN without a match.
    factors, other_factors : tuple
        Names of the m and p columns.
    reasons : tuple
        Reasons for undefined coefficients.
    """

    matrix: FloatArray  # (m, p)
    order: IntArray  # (m,)
    signs: FloatArray  # (m,)
    matched: FloatArray  # (m,)
    factors: tuple[Hashable, ...]  # m
    other_factors: tuple[Hashable, ...]  # p
    reasons: tuple[str, ...]

    def to_frame(self) -> pd.DataFrame:
        """Return the coefficients; rows are the first set's factors, columns the second set's."""
        import pandas as pd

        return pd.DataFrame(
            self.matrix, index=list(self.factors), columns=list(self.other_factors)
        )

    def __repr__(self) -> str:
        m, p = self.matrix.shape
        lines = [f"Congruence of {m} with {p} columns of loadings"]
        for factor, position, sign, size in zip(
            self.factors, self.order, self.signs, self.matched, strict=True
        ):
            if position == UNMATCHED:
                lines.append(f"  {factor!r}: no match")
            else:
                turned = ", turned" if sign < 0 else ""
                lines.append(f"  {factor!r}: {self.other_factors[position]!r}{turned}, {size:.3f}")
        return "\n".join([*lines, *(f"  {reason}" for reason in self.reasons)])


class Columns(NamedTuple):
    """Loadings with the names of their rows, if known, and of their columns."""

    values: FloatArray  # (k, m)
    rows: Labels | None
    columns: Labels


def congruence(loadings: MatrixLike, other: MatrixLike) -> Congruence:
    """Compute Tucker's congruence of two sets of loadings, and match their columns.

    Parameters
    ----------
    loadings, other : array of shape (k,) or (k, m), DataFrame, or anything with ``loadings``
        Loadings with a row per model and a column per factor, such as a `Spectrum`. If both sets
        have row labels, the rows of `other` are reordered to match.

    Returns
    -------
    Congruence
        Congruence coefficients, and the matching and signs of the columns.

    Raises
    ------
    ShapeError
        If the loadings are not one- or two-dimensional, are empty, or differ in their number of
        rows.
    LabelError
        If row labels differ; the message lists the differences.

    References
    ----------
    Tucker, L. R. (1951). A method for synthesis of factor analysis studies (Personnel Research
    Section Report No. 984). Department of the Army.

    Examples
    --------
    >>> import psychollm as psy
    >>> found = psy.congruence([[0.9, 0.1], [0.8, -0.2]], [[0.2, -0.8], [-0.1, -0.9]])
    >>> found.order, found.signs, found.matched.round(3)
    (array([1, 0]), array([-1.,  1.]), array([0.993, 0.8  ]))
    """
    first, second = read_columns(loadings, "loadings"), read_columns(other, "other")
    second = _aligned(first, second)
    matrix = tucker(first.values, second.values)
    order, signs, matched = _match(matrix)
    reasons = (*_reasons("loadings", first), *_reasons("other", second))
    return Congruence(
        matrix=matrix,
        order=order,
        signs=signs,
        matched=matched,
        factors=first.columns,
        other_factors=second.columns,
        reasons=reasons,
    )


def tucker(loadings: FloatArray, other: FloatArray) -> FloatArray:
    """Return congruences (m, p) of columns; NaN for columns that are zero or contain NaN."""
    with np.errstate(invalid="ignore", divide="ignore"):
        result: FloatArray = np.clip(_unit(loadings).T @ _unit(other), -1.0, 1.0)
    return result


def _unit(loadings: FloatArray) -> FloatArray:
    """Scale columns to length one; divide by the largest entry first, to avoid underflow."""
    scaled = loadings / np.abs(loadings).max(axis=0)
    return np.asarray(scaled / np.sqrt(np.sum(scaled**2, axis=0)), dtype=np.float64)


def read_columns(data: Any, name: str) -> Columns:
    """Separate labels from values, and make a single column two-dimensional."""
    rows: Labels | None = None
    columns: Labels | None = None
    data = labelled(data)
    if hasattr(data, "loadings"):
        rows = getattr(data, "labels", None)
        data = data.loadings
    elif hasattr(data, "columns") and hasattr(data, "index"):
        rows, columns = tuple(data.index.tolist()), tuple(data.columns.tolist())
    values = float_array(data, name)
    if values.ndim == 1:
        values = values[:, None]
    if values.ndim != 2 or 0 in values.shape:
        msg = f"{name} must have shape (k,) or (k, m), not empty, got {values.shape}"
        raise ShapeError(msg)
    if np.isinf(values).any():
        msg = f"{name} holds infinite values: loadings are finite"
        raise InputError(msg)
    return Columns(values, rows, columns or tuple(range(values.shape[1])))


def _aligned(first: Columns, second: Columns) -> Columns:
    """Return the second set with its rows in the order of the first set."""
    if first.rows is not None and second.rows is not None:
        if set(first.rows) != set(second.rows):
            alone = [label for label in first.rows if label not in set(second.rows)]
            others = [label for label in second.rows if label not in set(first.rows)]
            msg = (
                "loadings and other belong to different models: only in loadings: "
                f"{listed(alone) or 'none'}; only in other: {listed(others) or 'none'}; "
                "fit both to the models in common"
            )
            raise LabelError(msg)
        where = {label: i for i, label in enumerate(second.rows)}
        index = [where[label] for label in first.rows]
        second = second._replace(values=second.values[index], rows=first.rows)
    if len(first.values) != len(second.values):
        msg = (
            f"loadings have {len(first.values)} rows and other has {len(second.values)}: "
            "congruence compares loadings of the same models"
        )
        raise ShapeError(msg)
    return second


def _match(matrix: FloatArray) -> tuple[IntArray, FloatArray, FloatArray]:
    """Match columns so that the sum of absolute coefficients is largest."""
    from scipy.optimize import linear_sum_assignment

    sizes = np.nan_to_num(np.abs(matrix), nan=0.0)
    order = np.full(len(matrix), UNMATCHED, dtype=np.int64)
    signs, matched = np.zeros(len(matrix)), np.full(len(matrix), np.nan)
    for i, j in zip(*linear_sum_assignment(sizes, maximize=True), strict=True):
        if np.isfinite(matrix[i, j]):
            order[i], matched[i] = j, sizes[i, j]
            signs[i] = -1.0 if matrix[i, j] < 0 else 1.0
    return order, signs, matched


def _reasons(name: str, loadings: Columns) -> tuple[str, ...]:
    """Return the reasons for undefined coefficients."""
    reasons = []
    for column, values in zip(loadings.columns, loadings.values.T, strict=True):
        undefined = np.flatnonzero(np.isnan(values))
        if undefined.size:
            rows = loadings.rows or tuple(range(len(values)))
            names = listed([rows[i] for i in undefined])
            reasons.append(f"column {column!r} of {name} is undefined for {names}: drop them")
        elif not values.any():
            reasons.append(f"column {column!r} of {name} is zero throughout")
    return tuple(reasons)
