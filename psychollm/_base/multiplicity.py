"""Adjustment of p-values for the number of tests.

References
----------
Holm, S. (1979). A simple sequentially rejective multiple test procedure. Scandinavian Journal of
Statistics, 6, 65-70.

Benjamini, Y., & Hochberg, Y. (1995). Controlling the false discovery rate. Journal of the Royal
Statistical Society B, 57, 289-300.

Benjamini, Y., & Yekutieli, D. (2001). The control of the false discovery rate in multiple testing
under dependency. Annals of Statistics, 29, 1165-1188.
"""

from typing import Any, Literal, TypeAlias

import numpy as np

from psychollm._base.checks import check_choice, float_array
from psychollm._base.errors import OptionError
from psychollm._base.types import FloatArray

Adjustment: TypeAlias = Literal["holm", "bonferroni", "bh", "by"]


def adjust_p_values(p_values: Any, *, method: Adjustment = "holm") -> FloatArray:
    """Adjust p-values for the number of tests.

    Parameters
    ----------
    p_values : array_like (...)
        P-values of one family of tests; NaN (a test that could not be performed) stays NaN and is
        not counted.
    method : {"holm", "bonferroni", "bh", "by"}
        "holm" and "bonferroni" control the familywise error rate under any dependence. "bh"
        controls the false discovery rate for independent or positively dependent tests, and "by"
        controls it under any dependence.

    Returns
    -------
    ndarray (...)
        Adjusted p-values, at most 1.

    Raises
    ------
    OptionError
        If the method is unknown or a p-value is not inside [0, 1].

    Examples
    --------
    >>> adjust_p_values([0.01, 0.04, 0.03, float("nan")])
    array([0.03, 0.06, 0.06,  nan])
    """
    check_choice("method", method, Adjustment)
    p = float_array(p_values, "p_values", most=np.inf)
    tested = np.isfinite(p)
    if not ((p[tested] >= 0) & (p[tested] <= 1)).all():
        worst = p[tested][np.abs(p[tested] - 0.5).argmax()]
        msg = f"p_values holds {worst}: p-values lie between 0 and 1"
        raise OptionError(msg)
    adjusted = np.full(p.shape, np.nan)
    order = np.argsort(p[tested], kind="stable")
    in_order = np.empty(order.size)
    in_order[order] = np.minimum(_step(p[tested][order], method), 1.0)
    adjusted[tested] = in_order
    return adjusted


def _step(p: FloatArray, method: Adjustment) -> FloatArray:
    """Adjust p-values that are sorted in increasing order."""
    m = p.size
    rank = np.arange(1, m + 1)
    if method == "bonferroni":
        return m * p
    if method == "holm":
        return np.maximum.accumulate((m + 1 - rank) * p)
    scale = float((1.0 / rank).sum()) if method == "by" else 1.0
    return np.minimum.accumulate((scale * m / rank * p)[::-1])[::-1]
