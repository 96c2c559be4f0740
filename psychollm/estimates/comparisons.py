"""All pairwise differences of an estimate, adjusted for their number."""

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy.special import stdtr

from psychollm._base.axes import Axes
from psychollm._base.checks import check_choice, check_fraction
from psychollm._base.errors import ShapeError
from psychollm._base.multiplicity import adjust_p_values
from psychollm._base.result import Result
from psychollm._base.types import BoolArray, FloatArray, IntArray
from psychollm.estimates.clustered import expanded_level, few, tail_of_t
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.intervals import percentile_interval
from psychollm.estimates.max_t import max_t
from psychollm.estimates.null import monte_carlo_p_value
from psychollm.estimates.reasons import Reason, first_reason

FamilyAdjustment: TypeAlias = Literal["holm", "bonferroni", "bh", "by", "max_t"]
Tail: TypeAlias = Literal["t", "resamples"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Comparisons(Result):
    """Every pair of models with its paired difference, interval and adjusted p-value.

    Examples
    --------
    >>> from psychollm.calibration import brier
    >>> score = brier([[0.9, 0.2, 0.7], [0.5, 0.5, 0.5], [1, 1, 1]], [[1, 0, 1]] * 3, rng=0)
    >>> compare_all(score).to_frame()[["first", "second", "value"]].round(3)
       first  second  value
    0      0       1 -0.203
    1      0       2 -0.287
    2      1       2 -0.083
    """

    name: str  # of the metric
    first: tuple[Any, ...]  # (pairs,)
    second: tuple[Any, ...]  # (pairs,)
    value: FloatArray  # (pairs,) first - second
    se: FloatArray  # (pairs,)
    interval: FloatArray  # (pairs, 2) simultaneous for max_t, each on its own otherwise
    p_value: FloatArray  # (pairs,) of no difference, two-sided
    adjusted: FloatArray  # (pairs,) p-values for the family of all pairs
    n_resamples: IntArray  # (pairs,) in which both are defined
    adjustment: str
    level: float
    flags: tuple[Reason, ...]  # (pairs,)

    _AXES = Axes(
        {},
        "first",
        "second",
        "value",
        "se",
        "{bound}=interval",
        "p_value",
        "adjusted",
        "flag=flags",
    )

    @property
    def differ(self) -> BoolArray:
        """Where the adjusted p-value is below 1 - level (pairs,)."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.adjusted < 1.0 - self.level, dtype=np.bool_)


def compare_all(
    estimate: Estimate,
    *,
    adjustment: FamilyAdjustment = "holm",
    tail: Tail = "t",
    df: float | None = None,
    level: float | None = None,
) -> Comparisons:
    """Compare every model with every other on the resamples they share.

    Parameters
    ----------
    estimate : Estimate
        One number per model, with draws.
    adjustment : {"holm", "bonferroni", "bh", "by", "max_t"}
        How p-values are adjusted for the number of pairs. "max_t" is the step-down method of
        `max_t`: it knows that pairs share models, rejects more than "holm", and its intervals
        hold all together; the other intervals hold each on its own.
    tail : {"t", "resamples"}
        Where the unadjusted p-values come from: the difference over its bootstrap standard error
        against Student's t, or the share of resamples beyond zero as in `Estimate.difference`.
        The latter is never below 2 / (n + 1): with 2,000 resamples and the 190 pairs of 20 models
        "holm" could reject nothing.
    df : float, optional
        Degrees of freedom of the standard errors: by default the pair's smaller `n` minus one, or
        smaller `df` where questions are in clusters. They matter: with ten clusters and normal
        tails one family of ten models in three gives a false alarm at 5 %.
    level : float, optional
        Coverage; that of the estimate by default.

    Returns
    -------
    Comparisons
        A pair with an undefined value is NaN and does not count in the family.

    Raises
    ------
    OptionError
        If the estimate has no draws, an option does not exist, or `df` is not positive.
    ShapeError
        If there is one model only.

    Examples
    --------
    >>> from psychollm.calibration import brier
    >>> rng = np.random.default_rng(0)
    >>> score = brier(rng.uniform(size=(4, 50)), rng.integers(0, 2, (4, 50)), rng=0)
    >>> compare_all(score, adjustment="max_t").differ.sum()
    np.int64(0)
    """
    check_choice("adjustment", adjustment, FamilyAdjustment)
    check_choice("tail", tail, Tail)
    coverage = check_fraction("level", estimate.level if level is None else level)
    if len(estimate.labels) < 2:
        msg = f"{estimate.name} holds one {estimate.axis} only: a comparison needs two"
        raise ShapeError(msg)
    i, j = np.triu_indices(len(estimate.labels), 1)
    value = np.asarray(estimate.value[i] - estimate.value[j], dtype=np.float64)
    gaps = estimate.draws[:, i] - estimate.draws[:, j]
    gaps[~np.isfinite(gaps)] = np.nan
    freedom = np.minimum(estimate.freedom[i], estimate.freedom[j])
    if df is not None:
        freedom = np.full(value.size, float(df))
    family = max_t(value, gaps, df=freedom, level=coverage)
    p_value = _p_values(value, family.se, gaps, freedom, tail)
    if adjustment == "max_t":
        interval, adjusted = family.interval, family.step_down
    else:
        known = np.where(np.isfinite(value), gaps, np.nan)
        interval = percentile_interval(known, expanded_level(coverage, freedom))
        adjusted = adjust_p_values(p_value, method=adjustment)
    n = np.isfinite(gaps).sum(axis=0).astype(np.int64)
    return Comparisons(
        name=estimate.name,
        first=tuple(estimate.labels[row] for row in i),
        second=tuple(estimate.labels[row] for row in j),
        value=value,
        se=family.se,
        interval=interval,
        p_value=p_value,
        adjusted=adjusted,
        n_resamples=n,
        adjustment=adjustment,
        level=coverage,
        flags=first_reason(
            (~np.isfinite(value), Reason.UNDEFINED),
            (n < 2, Reason.TOO_FEW),
            (few(freedom) & (estimate.df is not None), Reason.FEW_CLUSTERS),
        ),
    )


def _p_values(
    value: FloatArray, se: FloatArray, gaps: FloatArray, df: FloatArray, tail: Tail
) -> FloatArray:
    """Two-sided p-values of no difference, NaN where the value or its draws are undefined."""
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = monte_carlo_p_value(0.0, gaps, alternative="two-sided", tie=0.0)
        # Resamples that all agree (se = 0) say no more than their number.
        counted = np.where(se > 0, tail_of_t(shares, df), shares)
        t = np.abs(value) / se * np.sqrt(df / (df + 1.0))
        p = np.where((tail == "t") & (se > 0), 2.0 * stdtr(df, -t), counted)
    return np.asarray(np.where(np.isfinite(se), p, np.nan), dtype=np.float64)
