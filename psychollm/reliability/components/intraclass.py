r"""Intraclass correlations: agreement of several scores of the same target.

Let B, J, E and W be the mean squares between targets, between raters, of the residual and within
targets (see `two_way`). With n targets and k raters, the six forms of Shrout and Fleiss are

.. math::
   \text{ICC}(1) &= \frac{B - W}{B + (k-1) W}, & \text{ICC}(1,k) &= \frac{B - W}{B},\\
   \text{ICC}(2) &= \frac{B - E}{B + (k-1) E + k (J - E) / n}, &
   \text{ICC}(2,k) &= \frac{B - E}{B + (J - E) / n},                                \quad (1)\\
   \text{ICC}(3) &= \frac{B - E}{B + (k-1) E}, & \text{ICC}(3,k) &= \frac{B - E}{B}.

In form 1 each target has different raters. In form 2 the raters are a sample of all raters, and
agreement is absolute. In form 3 the raters are fixed, and agreement ignores a constant difference
between raters. The forms with k are reliabilities of the mean of the k scores. McGraw and Wong
call the six forms ICC(1), ICC(k), ICC(A,1), ICC(A,k), ICC(C,1) and ICC(C,k).

Each form is a ratio of two linear combinations of the mean squares. Intervals of forms 1 and 3
follow from the F distribution of B/W and B/E. Intervals of form 2 use either generalised pivots or
Satterthwaite's approximation, as published by Shrout and Fleiss and implemented in other software.
Standard errors use the delta method, with var(MS) = 2 MS^2 / df.

References
----------
Shrout, P. E., & Fleiss, J. L. (1979). Intraclass correlations: Uses in assessing rater
reliability. Psychological Bulletin, 86, 420-428. https://doi.org/10.1037/0033-2909.86.2.420

McGraw, K. O., & Wong, S. P. (1996). Forming inferences about some intraclass correlation
coefficients. Psychological Methods, 1, 30-46. https://doi.org/10.1037/1082-989X.1.1.30
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from scipy.special import betainc

from psychollm._base.axes import Axes
from psychollm._base.checks import check_choice, check_fraction
from psychollm._base.result import Result
from psychollm._base.types import FloatArray
from psychollm.data.responses import ResponsesLike
from psychollm.data.table import as_table, numbers
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.reasons import Reason
from psychollm.reliability.components.two_way import (
    MeanSquares,
    expected_mean_squares,
    generalised_interval,
    mean_squares,
    residual_freedom,
)
from psychollm.reliability.scales.alpha_intervals import f_quantile
from psychollm.reliability.scales.moments import complete_rows

Method: TypeAlias = Literal["anova", "reml"]
AbsoluteInterval: TypeAlias = Literal["satterthwaite", "generalised"]

FORMS = ("ICC1", "ICC2", "ICC3", "ICC1k", "ICC2k", "ICC3k")
MCGRAW_WONG = ("ICC(1)", "ICC(A,1)", "ICC(C,1)", "ICC(k)", "ICC(A,k)", "ICC(C,k)")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Intraclass(Result):
    """Six intraclass correlations of a table of targets and raters.

    Examples
    --------
    >>> found = intraclass([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8],
    ...                     [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]])
    >>> found.icc.value.round(2)
    array([0.17, 0.29, 0.71, 0.44, 0.62, 0.91])
    """

    icc: Estimate  # (6,) the six forms of Shrout and Fleiss, in the order of (1)
    f: FloatArray  # (6,) F statistic for differences between targets
    df1: FloatArray  # (6,)
    df2: FloatArray  # (6,)
    p_value: FloatArray  # (6,)
    between_targets: float  # mean square
    between_raters: float  # mean square
    residual: float  # mean square
    within_targets: float  # mean square
    n_targets: int  # number of targets used
    n_raters: int
    left_out: int  # number of targets omitted because of a missing score
    method: Method

    def _axes(self) -> Axes:
        return Axes(
            {self.icc.axis: "icc.labels"},
            ("mcgraw_wong", lambda _: list(MCGRAW_WONG)),
            "value=icc.value",
            "se=icc.se",
            "{bound}=icc.interval",
            "n=icc.n",
            "flag=icc.flags",
            "f",
            "df1",
            "df2",
            "p_value",
        )


def intraclass(
    scores: ResponsesLike,
    *,
    method: Method = "anova",
    absolute_interval: AbsoluteInterval = "satterthwaite",
    level: float = 0.95,
) -> Intraclass:
    """Compute the six intraclass correlations of equation (1), with F tests and intervals.

    Parameters
    ----------
    scores : DataFrame, DataArray or array_like (targets, raters)
        Table with one score per cell. For stability, use models as targets and repetitions as
        raters; for agreement, use questions as targets and judges as raters.
    method : {"anova", "reml"}
        "anova" omits targets with a missing score. "reml" estimates non-negative variance
        components from all scores by restricted maximum likelihood. On complete tables, "anova"
        and "reml" agree unless a component is negative.
    absolute_interval : {"satterthwaite", "generalised"}
        Interval of form 2: the published approximation, or `generalised_interval`, which has
        correct coverage even with few raters.
    level : float
        Coverage of the intervals, between 0 and 1.

    Returns
    -------
    Intraclass
        Coefficients, F tests and intervals. Coefficients are NaN with a reason if targets do not
        differ, or if there are fewer than two targets or raters. The coefficients are 1 for
        perfect agreement. Negative coefficients are kept. The flag `NEGATIVE_COMPONENT` marks
        coefficients below -1 / (k - 1), the population minimum.

    Raises
    ------
    CodeError, ShapeError, LabelError
        If the scores are not a numeric table.
    OptionError
        If an option is invalid.

    Notes
    -----
    With ``"reml"`` and missing scores, tests and intervals use the degrees of freedom of the
    complete table, as the R package psych does. With missing scores, the intervals are slightly
    too narrow.

    In simulations, 95 % intervals of forms 1 and 3 had a coverage of 93 to 96 % for normal scores
    and of 90 to 96 % for binary scores. The published interval of form 2 had a coverage of 95 %
    with 50 targets. With three raters and 1,000 targets, the coverage of the published interval
    was 80 to 85 %, and the coverage of the "generalised" interval was 96 %.

    References
    ----------
    Shrout, P. E., & Fleiss, J. L. (1979). Intraclass correlations: Uses in assessing rater
    reliability. Psychological Bulletin, 86, 420-428. https://doi.org/10.1037/0033-2909.86.2.420

    McGraw, K. O., & Wong, S. P. (1996). Forming inferences about some intraclass correlation
    coefficients. Psychological Methods, 1, 30-46. https://doi.org/10.1037/1082-989X.1.1.30

    Examples
    --------
    >>> intraclass([[1, 1], [2, 2], [4, 4]]).icc.value
    array([1., 1., 1., 1., 1., 1.])
    """
    check_choice("method", method, Method)
    check_choice("absolute_interval", absolute_interval, AbsoluteInterval)
    check_fraction("level", level)
    table = as_table(scores, argument="scores")
    values = numbers(table, argument="scores")
    complete = complete_rows(values)
    kept = values[complete] if method == "anova" else values[np.isfinite(values).any(axis=1)]
    squares, reason = _squares(kept, method)
    if not reason and not complete.all():
        reason = Reason.INCOMPLETE if method == "anova" else Reason.UNBALANCED
    single = _single_bounds(squares, absolute_interval, level)
    left_out = values.shape[0] - kept.shape[0]
    return _result(squares, reason, single, left_out=left_out, method=method, level=level)


def _squares(scores: FloatArray, method: Method) -> tuple[MeanSquares, Reason]:
    """Return mean squares, and the reason if coefficients are undefined or flagged."""
    n, k = scores.shape
    nothing = MeanSquares(
        targets=np.nan, raters=np.nan, residual=np.nan, within=np.nan, n_targets=n, n_raters=k
    )
    if n < 2 or k < 2 or residual_freedom(scores) < 1:
        return nothing, Reason.TOO_FEW
    squares, converged = mean_squares(scores), True
    if method == "reml":
        squares, converged = expected_mean_squares(scores)
    cases = (
        (squares.targets == 0.0, Reason.NO_BETWEEN_VARIANCE),
        (not converged, Reason.NOT_CONVERGED),
        (method == "reml" and squares.targets == squares.residual, Reason.AT_BOUND),
    )
    return squares, next((reason for holds, reason in cases if holds), Reason.NONE)


def _result(
    squares: MeanSquares,
    reason: Reason,
    single: FloatArray,
    *,
    left_out: int,
    method: Method,
    level: float,
) -> Intraclass:
    """Create the result, given the bounds (3, 2) of the three coefficients of single scores."""
    n, k = squares.n_targets, squares.n_raters
    defined = squares.targets > 0.0
    value, se = _values(squares) if defined else np.full((2, 6), np.nan)
    df1, df2 = np.full(6, n - 1.0), np.tile([n * (k - 1.0), *[(n - 1.0) * (k - 1.0)] * 2], 2)
    ratios = _ratios(squares) if defined else np.full(6, np.nan)
    bounds = np.where(np.isnan(value)[:, None], np.nan, _with_means(single, k))
    return Intraclass(
        icc=Estimate(
            name="intraclass correlation",
            value=value,
            se=se,
            interval=bounds,
            n=np.full(6, float(n)),
            flags=tuple(
                _flag(reason, np.isnan(share) or share < low)
                for share, low in zip(value, bounds[:, 0], strict=True)
            ),
            method="F",
            level=level,
            labels=FORMS,
            axis="form",
        ),
        f=ratios,
        df1=df1,
        df2=df2,
        p_value=_upper_tail(ratios, df1, df2),
        between_targets=squares.targets,
        between_raters=squares.raters,
        residual=squares.residual,
        within_targets=squares.within,
        n_targets=n,
        n_raters=k,
        left_out=left_out,
        method=method,
    )


def _flag(reason: Reason, undefined: bool) -> Reason:  # noqa: FBT001
    """Return the flag of the table, or `NEGATIVE_COMPONENT` if one form is undefined."""
    fatal = (Reason.TOO_FEW, Reason.NO_BETWEEN_VARIANCE)
    return Reason.NEGATIVE_COMPONENT if undefined and reason not in fatal else reason


def _linear_forms(n: float, k: float) -> tuple[FloatArray, FloatArray]:
    """Return coefficients (6, 4) of B, J, E, W in equation (1): numerators and denominators."""
    within, residual = [1.0, 0.0, 0.0, -1.0], [1.0, 0.0, -1.0, 0.0]
    numerators = np.array([within, residual, residual] * 2)
    denominators = np.array(
        [
            [1.0, 0.0, 0.0, k - 1.0],
            [1.0, k / n, k - 1.0 - k / n, 0.0],
            [1.0, 0.0, k - 1.0, 0.0],
            [1.0, 0.0, 0.0, 0.0],
            [1.0, 1.0 / n, -1.0 / n, 0.0],
            [1.0, 0.0, 0.0, 0.0],
        ]
    )
    return numerators, denominators


def _values(squares: MeanSquares) -> FloatArray:
    """Return the six intraclass correlations and their delta-method standard errors (2, 6)."""
    n, k = float(squares.n_targets), float(squares.n_raters)
    parts = np.array([squares.targets, squares.raters, squares.residual, squares.within])
    freedom = np.array([n - 1.0, k - 1.0, (n - 1.0) * (k - 1.0), n * (k - 1.0)])
    above, below = _linear_forms(n, k)
    # ICC(2,k) is undefined if the estimated variance of a mean, its denominator, is not positive.
    whole = below @ parts
    whole = np.where(whole > 1e-12 * parts.max(), whole, np.nan)
    value = (above @ parts) / whole
    slope = (above - value[:, None] * below) / whole[:, None]
    se = np.sqrt((slope**2) @ (2.0 * parts**2 / freedom))
    return np.stack([value, se])


def _ratios(squares: MeanSquares) -> FloatArray:
    """Return the F ratios: B / W for form 1, and B / E for forms 2 and 3 (6,)."""
    below = np.array([squares.within, squares.residual, squares.residual] * 2)
    with np.errstate(divide="ignore"):
        return np.asarray(squares.targets / below)


def _upper_tail(f: FloatArray, df1: FloatArray, df2: FloatArray) -> FloatArray:
    """Return P(F > f), with full relative precision even for very small values."""
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(np.isinf(f), 0.0, df2 / (df2 + df1 * f))
    usable = (df1 > 0.0) & (df2 > 0.0) & np.isfinite(share)
    safe = [np.where(usable, part, 1.0) for part in (0.5 * df2, 0.5 * df1, share)]
    return np.where(usable, betainc(*safe), np.nan)


def _single_bounds(
    squares: MeanSquares, absolute_interval: AbsoluteInterval, level: float
) -> FloatArray:
    """Return the bounds of the three forms for single scores (3, 2)."""
    n, k = float(squares.n_targets), float(squares.n_raters)
    if not squares.targets > 0.0:
        return np.full((3, 2), np.nan)
    ratios = _ratios(squares)
    if absolute_interval == "generalised":
        absolute = generalised_interval(squares, level=level)
    else:
        absolute = _satterthwaite(squares, level)
        # The approximation was derived for positive correlations; for negative estimates, the
        # interval may exclude the estimate.
        if not absolute[0] <= _values(squares)[0, 1] <= absolute[1]:
            absolute = generalised_interval(squares, level=level)
    one_way = _one_way(ratios[0], n - 1.0, n * (k - 1.0), k, level)
    consistent = _one_way(ratios[2], n - 1.0, (n - 1.0) * (k - 1.0), k, level)
    return np.stack([one_way, absolute, consistent])


def _with_means(single: FloatArray, k: float) -> FloatArray:
    """Add the bounds for means of k scores by the Spearman-Brown formula (6, 2)."""
    above_pole = 1.0 + (k - 1.0) * single
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.where(above_pole > 0.0, k * single / above_pole, -np.inf)
    return np.concatenate([single, mean])


def _one_way(f: float, df1: float, df2: float, k: float, level: float) -> FloatArray:
    """Return the bounds of form 1 or 3 from F divided by its quantiles; 1 if F is infinite."""
    tail = 0.5 * (1.0 - level)
    ratio = f / f_quantile(np.array([1.0 - tail, tail]), df1, df2)
    with np.errstate(invalid="ignore"):
        return np.where(np.isinf(ratio), 1.0, (ratio - 1.0) / (ratio + k - 1.0))


def _satterthwaite(squares: MeanSquares, level: float) -> FloatArray:
    """Return the bounds of form 2 by Satterthwaite's approximation."""
    icc = float(_values(squares)[0, 1])
    n, k = float(squares.n_targets), float(squares.n_raters)
    between, raters, residual = squares.targets, squares.raters, squares.residual
    if residual == 0.0 and raters == 0.0:
        return np.ones(2)
    noise = 1.0 + (k - 1.0) * icc
    ratio = raters / residual if residual > 0.0 else np.inf
    spread = n * noise - k * icc
    top = (k - 1.0) * (n - 1.0) * (k * icc * ratio + spread) ** 2
    bottom = (n - 1.0) * (k * icc * ratio) ** 2 + spread**2
    freedom = top / bottom if np.isfinite(ratio) else (k - 1.0)
    tail = 0.5 * (1.0 - level)
    above = float(f_quantile(1.0 - tail, n - 1.0, freedom))
    below = float(f_quantile(1.0 - tail, freedom, n - 1.0))
    shared = k * raters + (k * n - k - n) * residual
    # Quantiles are used as divisors, because they are infinite if the degrees of freedom are close
    # to zero.
    with np.errstate(divide="ignore"):
        lower = n * (between / above - residual) / np.float64(shared + n * between / above)
        upper = n * (between - residual / below) / (shared / below + n * between)
    return np.array([lower, upper])
