r"""Proportions from dependent answers, that is, from several answers per unit.

Let :math:`h_g` be the number of successes in :math:`n_g` answers of unit g, G the number of units,
and :math:`p = \sum h_g / \sum n_g`. With

.. math:: v = \frac{G}{G - 1} \frac{\sum_g (h_g - p\, n_g)^2}{(\sum_g n_g)^2}, \qquad
          n_{\text{eff}} = \min\big(p (1 - p) / v,\ \textstyle\sum_g n_g\big)           \quad (1)

:math:`v` is the estimated variance of p, and :math:`n_{\text{eff}}` is the effective number of
independent answers. Wilson's interval is computed with :math:`n_{\text{eff}}` answers, as Korn and
Graubard (1998) proposed for the exact interval. If p is 0 or 1, or there is only one unit, v is
uninformative, and :math:`n_{\text{eff}}` is the number of units. With one answer per unit,
:math:`n_{\text{eff}}` is the number of answers.

In simulations, the coverage of 95 % intervals was 92 to 98 % for proportions, and at least 93 %
for paired differences. Each condition had 400 data sets of 20, 50 or 200 units with one or four
answers each. The proportions of the units had a beta distribution with a mean of .1, .4 or .9.

References
----------
Korn, E. L., & Graubard, B. I. (1998). Confidence intervals for proportions with small expected
number of positive counts estimated from survey data. Survey Methodology, 24, 193-201.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from psychollm._base.types import FloatArray
from psychollm.estimates.clustered import few, satterthwaite
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.intervals import (
    paired_difference,
    paired_difference_se,
    proportion_se,
    wilson,
)
from psychollm.estimates.reasons import Reason, first_reason


def effective_size(hits: FloatArray, n: FloatArray) -> float:
    """Return the effective number of independent answers, by equation (1)."""
    there = n > 0
    hits, n = hits[there], n[there]
    total, units = float(n.sum()), float(n.size)
    if not units or n.max() <= 1.0:
        return total
    p = hits.sum() / total
    if units == 1 or p in {0.0, 1.0}:
        return units
    variance = units / (units - 1.0) * float(((hits - p * n) ** 2).sum()) / total**2
    return total if variance == 0.0 else min(float(p * (1.0 - p) / variance), total)


def unit_freedom(n: FloatArray) -> float:
    """Return the degrees of freedom of units with n answers; infinite for single answers."""
    if not n.size or n.max() <= 1.0:
        return np.inf
    df = float(satterthwaite(n / n.sum()))
    return df if np.isfinite(df) else np.inf


def repeated_share(
    name: str,
    counts: Mapping[Any, tuple[FloatArray, FloatArray]],
    *,
    level: float = 0.95,
    axis: str = "model",
    absent: Reason = Reason.TOO_FEW,
) -> Estimate:
    """Return proportions with Wilson intervals at the effective sample size.

    Parameters
    ----------
    name : str
        Name of the estimate.
    counts : mapping of label to (hits (units,), n (units,))
        Numbers of successes and of answers by unit.
    level : float
        Coverage of the intervals, between 0 and 1.
    axis : str
        Name of the axis of labels, such as "model".
    absent : Reason
        Reason for proportions without answers.

    Returns
    -------
    Estimate
        Proportions with intervals; NaN with a reason where undefined.

    Examples
    --------
    >>> hits, n = np.array([1.0, 0, 1, 1]), np.ones(4)
    >>> repeated_share("hits", {"m": (hits, n)}).interval.round(3)
    array([[0.301, 0.954]])
    """
    hits = np.array([each.sum() for each, _ in counts.values()], dtype=np.float64)
    n = np.array([each.sum() for _, each in counts.values()], dtype=np.float64)
    size = np.array([effective_size(*pair) for pair in counts.values()], dtype=np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        value = np.where(n > 0, hits / n, np.nan)
    scaled = np.nan_to_num(value) * size
    df = np.array([unit_freedom(each) for _, each in counts.values()], dtype=np.float64)
    repeats = any(each.size and each.max() > 1.0 for _, each in counts.values())
    return Estimate(
        name=name,
        value=value,
        se=proportion_se(np.where(n > 0, scaled, np.nan), size),
        interval=wilson(scaled, size, level=level, df=df),
        n=n,
        flags=first_reason((n == 0, absent), (few(df), Reason.FEW_CLUSTERS)),
        method="Wilson at the effective sample size" if repeats else "Wilson",
        level=level,
        labels=tuple(counts),
        axis=axis,
    )


def repeated_difference(
    name: str,
    pairs: Mapping[Any, tuple[FloatArray, FloatArray]],
    *,
    units: Any,
    level: float = 0.95,
    axis: str = "model",
    absent: Reason = Reason.TOO_FEW,
) -> Estimate:
    """Return differences of paired proportions with Bonett-Price intervals.

    Parameters
    ----------
    name : str
        Name of the estimate.
    pairs : mapping of label to (first (answers,), second (answers,))
        Paired outcomes between 0 and 1; NaN means missing. For fractional outcomes, the interval
        is conservative.
    units : array_like (answers,)
        Unit of each pair; pairs of the same unit count with their effective sample size.
    level : float
        Coverage of the intervals, between 0 and 1.
    axis : str
        Name of the axis of labels, such as "model".
    absent : Reason
        Reason for proportions without answers.

    Returns
    -------
    Estimate
        Differences with intervals; NaN with a reason where undefined.

    Examples
    --------
    >>> one, two = np.array([1.0, 1, 1, 0]), np.array([0.0, 1, 0, 0])
    >>> repeated_difference("gain", {"m": (one, two)}, units=range(4)).value
    array([0.5])
    """
    codes = np.unique(np.asarray(units).astype(str), return_inverse=True)[1]
    rows = [_contrasted(first - second, codes) for first, second in pairs.values()]
    up, down, size, n = np.array(rows, dtype=np.float64).reshape(-1, 4).T
    with np.errstate(invalid="ignore", divide="ignore"):
        value = np.where(n > 0, (up - down) / size, np.nan)
    return Estimate(
        name=name,
        value=value,
        se=paired_difference_se(np.where(n > 0, up, np.nan), down, size),
        interval=paired_difference(up, down, size, level=level),
        n=n,
        flags=tuple(Reason.NONE if count else absent for count in n),
        method="Bonett and Price",
        level=level,
        labels=tuple(pairs),
        axis=axis,
    )


def _contrasted(gaps: FloatArray, codes: Any) -> tuple[float, float, float, float]:
    """Return effective numbers of gains, losses and pairs, and the number of pairs."""
    known = np.isfinite(gaps)
    gaps, codes = gaps[known], codes[known]
    total = float(gaps.size)
    if not total:
        return 0.0, 0.0, 0.0, 0.0
    n = np.bincount(codes).astype(np.float64)
    sums = np.bincount(codes, weights=gaps)[n > 0].astype(np.float64)
    scale = _scale(sums, n[n > 0], float(np.mean(np.abs(gaps)) - gaps.mean() ** 2)) / total
    up, down = np.maximum(gaps, 0.0).sum(), np.maximum(-gaps, 0.0).sum()
    return float(up * scale), float(down * scale), total * scale, total


def _scale(sums: FloatArray, n: FloatArray, spread: float) -> float:
    """Return the effective number of pairs, given the sum of differences in each unit."""
    total, units = float(n.sum()), float(n.size)
    if n.max() <= 1.0:
        return total
    mean = sums.sum() / total
    if units == 1 or spread <= 0.0:
        return units
    variance = units / (units - 1.0) * float(((sums - mean * n) ** 2).sum()) / total**2
    return total if variance == 0.0 else min(spread / variance, total)
