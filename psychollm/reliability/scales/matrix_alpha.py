r"""Coefficient alpha of a matrix of covariances or correlations that is already there.

With a matrix of polychoric correlations this is ordinal alpha: the consistency of the normal
variables behind the answers, which is higher than that of the answers themselves.

References
----------
Zumbo, B. D., Gadermann, A. M., & Zeisser, C. (2007). Ordinal versions of coefficients alpha and
theta for Likert rating scales. Journal of Modern Applied Statistical Methods, 6, 21-29.
"""

from typing import Any, Literal, TypeAlias

import numpy as np

from psychollm._base.checks import check_choice, check_fraction, float_array
from psychollm._base.errors import InputError, OptionError, ShapeError
from psychollm._base.types import FloatArray
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.intervals import normal_multiplier
from psychollm.estimates.reasons import Reason
from psychollm.reliability.scales.alpha_intervals import duhachek_se, feldt_interval
from psychollm.reliability.scales.moments import matrix_moments
from psychollm.reliability.scales.score_table import coefficients, negative_items

NormalInterval: TypeAlias = Literal["feldt", "duhachek"]

NAMES = ("alpha", "standardised alpha", "mean correlation")


def alpha_of_matrix(
    matrix: Any,
    *,
    n: int | None = None,
    interval: NormalInterval = "feldt",
    level: float = 0.95,
) -> Estimate:
    """Coefficient alpha of a covariance or correlation matrix.

    Parameters
    ----------
    matrix : Correlation, DataFrame or array_like (items, items)
        Covariances or correlations of the items.
    n : int, optional
        Respondents behind it; without them there is no interval.
    interval : {"feldt", "duhachek"}
        Of alpha. Both suppose that the matrix comes from scores: with tetrachoric or polychoric
        correlations they are too narrow.
    level : float
        Coverage.

    Returns
    -------
    Estimate
        "alpha", "standardised alpha" and "mean correlation"; the interval is that of the first.

    Raises
    ------
    ShapeError
        If the matrix is not square.
    InputError
        If it is not symmetric, has an undefined entry or a negative variance.
    OptionError
        If an option does not exist, or `n` is below 2.

    References
    ----------
    Zumbo, Gadermann & Zeisser (2007) for polychoric correlations.

    Examples
    --------
    >>> alpha_of_matrix([[1.0, 0.5], [0.5, 1.0]], n=100).to_frame().iloc[:, :5].round(3)
                coefficient  value     se  lower  upper
    0                 alpha  0.667  0.067  0.505  0.776
    1    standardised alpha  0.667    NaN    NaN    NaN
    2      mean correlation  0.500    NaN    NaN    NaN
    """
    check_choice("interval", interval, NormalInterval)
    check_fraction("level", level)
    if n is not None and not n >= 2:
        msg = f"n={n!r} must be the number of respondents, at least 2"
        raise OptionError(msg)
    covariances = covariance_matrix(matrix)
    value, flags = _coefficients(covariances)
    size = np.nan if n is None else float(n)
    se, bounds = np.full(3, np.nan), np.full((3, 2), np.nan)
    if n is not None:
        flags = (flags[0], *(flag or Reason.NO_FORMULA for flag in flags[1:]))
    if n is not None and np.isfinite(value[0]):
        se[0] = duhachek_se(covariances, size)
        step = normal_multiplier(level) * se[0]
        bounds[0] = value[0] - step, value[0] + step
        if interval == "feldt":
            bounds[0] = feldt_interval(value[0], size, len(covariances), level=level)
    return Estimate(
        name="alpha of a matrix",
        value=value,
        se=se,
        interval=bounds,
        n=np.full(3, size),
        flags=flags,
        method=interval.capitalize() if n is not None else "none: n is unknown",
        level=level,
        labels=NAMES,
        axis="coefficient",
    )


def covariance_matrix(data: Any) -> FloatArray:
    """Return a matrix of covariances or correlations, checked and exactly symmetric."""
    matrix = float_array(getattr(data, "matrix", data), "matrix")
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
        msg = f"matrix must have shape (items, items), got {matrix.shape}"
        raise ShapeError(msg)
    undefined = np.argwhere(~np.isfinite(matrix))
    if undefined.size:
        msg = f"matrix is undefined at {tuple(undefined[0].tolist())}: leave such items out"
        raise InputError(msg)
    scale = np.sqrt(np.abs(np.diagonal(matrix)))
    if (np.diagonal(matrix) < 0.0).any():
        msg = f"matrix has a negative variance at {int(np.diagonal(matrix).argmin())}"
        raise InputError(msg)
    apart = np.argwhere(np.abs(matrix - matrix.T) > 1e-8 * np.outer(scale, scale) + 1e-300)
    if apart.size:
        first, second = apart[0].tolist()
        msg = f"matrix differs from its mirror image at ({first}, {second}): it must be symmetric"
        raise InputError(msg)
    return np.asarray(0.5 * (matrix + matrix.T))


def _coefficients(matrix: FloatArray) -> tuple[FloatArray, tuple[Reason, ...]]:
    """Return alpha, standardised alpha and mean correlation, and what is to be said of them."""
    moments, k = matrix_moments(matrix), len(matrix)
    if k < 2:
        return np.full(3, np.nan), (Reason.ONE_QUESTION,) * 3
    if not moments.total_variance[0] > 0.0:
        return np.full(3, np.nan), (Reason.NO_VARIANCE,) * 3
    value = coefficients(moments)[0, :3]
    constant = Reason.CONSTANT_ITEMS if moments.varying[0] < k else Reason.NONE
    flag = Reason.NEGATIVE_ITEMS if negative_items(moments).any() else constant
    return value, tuple(flag if known else Reason.NO_VARIANCE for known in np.isfinite(value))
