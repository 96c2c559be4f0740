"""The difference of two models on the same questions."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from psychollm._base.axes import Axes
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

    _AXES = Axes(
        {},
        ("difference", lambda one: f"{one.first} - {one.second}"),
        "value",
        "se",
        "{bound}=interval",
        "p_value",
        "flag",
    )

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
    """Return the difference of two columns of draws."""
    # The p-value is the smallest level at which the percentile interval excludes zero.
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
