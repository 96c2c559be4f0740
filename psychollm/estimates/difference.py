"""The difference of two models on the same questions."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from psychollm._base.result import Result
from psychollm._base.types import FloatArray
from psychollm.estimates.clustered import expanded_level, tail_of_t
from psychollm.estimates.intervals import percentile_interval
from psychollm.estimates.null import monte_carlo_p_value
from psychollm.estimates.reasons import Reason


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Difference(Result):
    """One paired difference with its interval, from resamples that both models share.

    Examples
    --------
    >>> from psychollm.calibration import brier
    >>> score = brier([[0.9, 0.2, 0.7], [0.5, 0.5, 0.5]], [[1, 0, 1], [1, 0, 1]], rng=0)
    >>> found = score.difference(0, 1)
    >>> found.first, found.second, found.n_resamples
    (0, 1, 2000)
    """

    name: str  # of the metric
    first: Any
    second: Any
    value: float  # first - second
    se: float
    interval: FloatArray  # (2,) percentiles of the paired resamples, expanded as t has wider tails
    p_value: float  # two-sided, of no difference
    n_resamples: int  # in which both are defined
    level: float
    flag: Reason


def paired_contrast(
    name: str,
    labels: tuple[Any, Any],
    values: tuple[float, float],
    draws: FloatArray,
    *,
    df: float,
    level: float,
    few_clusters: bool = False,
) -> Difference:
    """Return the difference of two columns of draws.

    Parameters
    ----------
    name : str
        What is compared.
    labels : tuple
        The two models.
    values : tuple of float
        Their values in the sample.
    draws : ndarray (resamples, 2)
        Their values in the same resamples.
    df : float
        Degrees of freedom of the units, or clusters, that were drawn: percentiles and p-value
        allow for them.
    level : float
        Coverage.
    few_clusters : bool
        Whether there are too few of them for any interval.

    Notes
    -----
    The p-value is the smallest level at which the two-sided percentile interval excludes zero,
    with one count added so that it is never zero.

    Examples
    --------
    >>> draws = np.stack([np.arange(1.0, 100.0), np.zeros(99)], axis=1)
    >>> paired_contrast("x", ("a", "b"), (50.0, 0.0), draws, df=np.inf, level=0.9).p_value
    0.02
    """
    value = values[0] - values[1]
    gaps = draws[:, 0] - draws[:, 1]
    gaps = gaps[np.isfinite(gaps)]
    if not np.isfinite(value) or gaps.size < 2:
        return Difference(
            name=name,
            first=labels[0],
            second=labels[1],
            value=value,
            se=np.nan,
            interval=np.full(2, np.nan),
            p_value=np.nan,
            n_resamples=gaps.size,
            level=level,
            flag=Reason.TOO_FEW if np.isfinite(value) else Reason.UNDEFINED,
        )
    p_value = monte_carlo_p_value(0.0, gaps, alternative="two-sided", tie=0.0)
    return Difference(
        name=name,
        first=labels[0],
        second=labels[1],
        value=value,
        se=float(gaps.std(ddof=1)),
        interval=percentile_interval(gaps, float(expanded_level(level, df))),
        p_value=float(tail_of_t(p_value, df)),
        n_resamples=gaps.size,
        level=level,
        flag=Reason.FEW_CLUSTERS if few_clusters else Reason.NONE,
    )
