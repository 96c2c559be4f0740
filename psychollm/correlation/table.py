"""`tetrachoric_table`: tetrachoric correlations of one or many 2 x 2 tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import check_choice, float_array
from psychollm._base.errors import CodeError, ShapeError
from psychollm._base.result import Result
from psychollm._base.types import AnyArray, EmptyCells, FloatArray
from psychollm.kernels.correlate import RULES
from psychollm.kernels.table_inference import correlate_tables

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TableCorrelation(Result):
    """Tetrachoric correlations of 2 x 2 tables; all arrays have the shape of the counts.

    Attributes
    ----------
    rho : ndarray
        Correlation; NaN for a table with an empty row or column.
    complement : ndarray
        1 - abs(rho), with full relative precision near the bounds.
    thresholds : ndarray of shape (..., 2)
        Thresholds of the row and the column variable.
    se : ndarray
        Standard error that accounts for estimated thresholds (delta method for the saturated
        table).
    se_fixed_thresholds : ndarray
        Standard error for known thresholds.
    status : ndarray
        `PairStatus` of each table.
    residual : ndarray
        Difference between the two probabilities that the estimating equation equates, at the
        solution.
    iterations : ndarray
        Number of iterations.
    """

    rho: FloatArray
    complement: FloatArray
    thresholds: FloatArray
    se: FloatArray
    se_fixed_thresholds: FloatArray
    status: AnyArray
    residual: FloatArray
    iterations: AnyArray

    _AXES = Axes({}, "rho", "se", "status", "residual", "threshold_{}=thresholds")


def tetrachoric_table(
    n11: ArrayLike,
    n10: ArrayLike,
    n01: ArrayLike,
    n00: ArrayLike,
    *,
    empty_cells: EmptyCells = "keep_margins",
) -> TableCorrelation:
    """Compute tetrachoric correlations of one 2 x 2 table, or of arrays of tables.

    Parameters
    ----------
    n11, n10, n01, n00 : array_like
        Counts or weights of units with both answers yes, only the first answer yes, only the
        second answer yes, and both answers no. Shapes are broadcast.
    empty_cells : {"keep_margins", "add_half", "add_half_all", "none"}
        Continuity correction of 2 x 2 tables with an empty cell. ``"keep_margins"`` shifts a count
        of 1/2 between cells without changing the yes rates. ``"add_half"`` puts 1/2 into the empty
        cell. ``"add_half_all"`` adds 1/2 to all four cells. ``"none"`` leaves the correlation at
        -1 or 1.

    Returns
    -------
    TableCorrelation
        Correlation, thresholds and standard errors, as arrays of the common shape.

    Raises
    ------
    CodeError
        If a count is negative or not finite.

    Examples
    --------
    >>> import psychollm as psy
    >>> table = psy.tetrachoric_table(40, 10, 10, 40)
    >>> round(float(table.rho), 6), round(float(table.se), 6)
    (0.809017, 0.073863)
    """
    check_choice("empty_cells", empty_cells, EmptyCells)
    try:
        cells = np.broadcast_arrays(
            *(
                float_array(n, name)
                for name, n in (("n11", n11), ("n10", n10), ("n01", n01), ("n00", n00))
            )
        )
    except ValueError as error:
        msg = f"n11, n10, n01, n00 must have shapes that broadcast: {error}"
        raise ShapeError(msg) from error
    for name, cell in zip(("n11", "n10", "n01", "n00"), cells, strict=True):
        bad = ~np.isfinite(cell) | (cell < 0)
        if bad.any():
            msg = f"{name} holds {cell[bad].flat[0]}: counts must be finite and not negative"
            raise CodeError(msg)
    stacked = np.stack([cell.ravel() for cell in cells], axis=1)
    shape = cells[0].shape
    real = correlate_tables(stacked, RULES[empty_cells])
    return TableCorrelation(
        rho=real[:, 0].reshape(shape),
        complement=real[:, 1].reshape(shape),
        residual=real[:, 2].reshape(shape),
        thresholds=real[:, 3:5].reshape(*shape, 2),
        se=real[:, 5].reshape(shape),
        se_fixed_thresholds=real[:, 6].reshape(shape),
        status=real[:, 7].astype(np.int8).reshape(shape),
        iterations=real[:, 8].astype(np.int8).reshape(shape),
    )
