r"""Coefficient alpha and related coefficients, with standard errors and intervals.

Feldt's interval assumes normal and essentially tau-equivalent items. With n respondents and k
items, the distribution is

.. math:: \frac{1 - \alpha}{1 - \hat\alpha} \sim F_{n-1,\,(n-1)(k-1)}.                   \quad (1)

The distribution in equation (1) is exact for every n. The interval of Duhachek and Iacobucci
assumes normal items with an arbitrary covariance matrix C. Let :math:`V = 1'C1` be the total
variance. The large-sample variance is

.. math:: \operatorname{var}(\hat\alpha) = \frac{2 k^2}{n (k-1)^2 V^3}
          \left[V (\operatorname{tr} C^2 + \operatorname{tr}^2 C)
                - 2 \operatorname{tr}(C)\, 1'C^2 1\right].                               \quad (2)

The other intervals use the jackknife or the bootstrap over respondents.

References
----------
Duhachek, A., & Iacobucci, D. (2004). Alpha's standard error (ASE): An accurate and precise
confidence interval estimate. Journal of Applied Psychology, 89, 792-808.
https://doi.org/10.1037/0021-9010.89.5.792

Feldt, L. S. (1965). The approximate sampling distribution of Kuder-Richardson reliability
coefficient twenty. Psychometrika, 30, 357-370. https://doi.org/10.1007/BF02289499
"""

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy.special import betaincinv

from psychollm._base.checks import check_choice, check_fraction
from psychollm._base.errors import OptionError
from psychollm._base.types import FloatArray
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.intervals import RELIABILITY, Scale, normal_multiplier
from psychollm.estimates.resampling import Replicates
from psychollm.reliability.scales.moments import (
    centred_items,
    complete_rows,
    covariance,
    item_moments,
)
from psychollm.reliability.scales.score_table import ScaleScores, ScoreTable


def chosen_interval(table: ScoreTable, interval: str | None) -> str:
    """Return the method; raise an error if it assumes independent rows and rows are repeated."""
    if interval is None:
        return "jackknife" if table.has_repeats else "feldt"
    check_choice("interval", interval, AlphaInterval)
    if table.has_repeats and interval in {"feldt", "duhachek"}:
        msg = (
            f"interval={interval!r} assumes independent rows, but respondents repeat: use "
            "'jackknife' or 'bootstrap', or see `of_means`"
        )
        raise OptionError(msg)
    return interval


class AlphaParts:
    """Estimates and replicates of all coefficients under each condition."""

    def __init__(self, table: ScoreTable, replicates: Replicates) -> None:
        self.labels, self.replicates = table.conditions, replicates

    def alpha(
        self, name: str, column: int, scales: Sequence[ScaleScores], interval: str
    ) -> Estimate:
        """Return alpha with the requested interval."""
        if interval in {"jackknife", "bootstrap"}:
            return self.other(name, column, scales, RELIABILITY)
        value, options = self.replicates.value[:, column], self.replicates.options
        n, se = _sizes(scales), np.array([normal_theory_se(scale) for scale in scales])
        if interval == "feldt":
            bounds = feldt_interval(value, n, scales[0].n_items, level=options.level)
        else:
            step = normal_multiplier(options.level) * se
            bounds = np.stack([value - step, value + step], axis=-1)
        draws = self.replicates.draws
        return Estimate(
            name=name,
            value=value,
            se=se,
            interval=bounds,
            n=n,
            flags=tuple(scale.reason for scale in scales),
            method=f"analytic ({interval.capitalize()})",
            level=options.level,
            labels=self.labels,
            axis="condition",
            _draws=None if draws is None else draws[:, :, column],
        )

    def other(
        self, name: str, column: int, scales: Sequence[ScaleScores], scale: Scale
    ) -> Estimate:
        """Return any coefficient with a jackknife or bootstrap interval over respondents."""
        return self.replicates.each(slice(None), column).estimate(
            name,
            scale=scale,
            over="respondents",
            n=_sizes(scales),
            flags=tuple(rows.reason for rows in scales),
            labels=self.labels,
            axis="condition",
        )


def normal_theory_se(scale: ScaleScores) -> float:
    """Return the standard error of alpha for normal items, equation (2)."""
    everyone = np.ones((1, scale.n))
    if complete_rows(scale.values).all():
        moments = item_moments(scale.values, everyone)
        square = squared_norm(centred_items(scale.values))
        trace = float(moments.variance.sum())
        return alpha_se(trace, moments.with_total[0], square, scale.n_items, scale.n)
    return duhachek_se(covariance(scale.values, everyone[0]), scale.n)


def mean_correlation_scale(k: int) -> Scale:
    """Return the scale log(1 - standardised alpha), given the mean correlation of k items."""

    def forward(mean: FloatArray) -> FloatArray:
        with np.errstate(invalid="ignore", divide="ignore"):
            odds = (1.0 - mean) / (1.0 + (k - 1.0) * mean)
            return np.asarray(np.log(np.where((odds > 0.0) & np.isfinite(odds), odds, np.nan)))

    def back(value: FloatArray) -> FloatArray:
        stepped = np.exp(value)
        return np.asarray((1.0 - stepped) / (1.0 + (k - 1.0) * stepped))

    return Scale(forward, back, "log(1 - standardised alpha)")


def _sizes(scales: Sequence[ScaleScores]) -> FloatArray:
    return np.array([float(scale.n) for scale in scales])


AlphaInterval: TypeAlias = Literal["feldt", "duhachek", "jackknife", "bootstrap"]
ResamplingInterval: TypeAlias = Literal["jackknife", "bootstrap"]


def f_quantile(probability: Any, df1: Any, df2: Any) -> FloatArray:
    """Return quantiles of Fisher's F distribution."""
    share = betaincinv(0.5 * np.asarray(df1, float), 0.5 * np.asarray(df2, float), probability)
    with np.errstate(divide="ignore"):
        return np.asarray(np.asarray(df2, float) * share / (df1 * (1.0 - share)))


def feldt_interval(alpha: Any, n: Any, k: Any, *, level: float = 0.95) -> FloatArray:
    """Return Feldt's interval, equation (1), of coefficient alpha."""
    tail = 0.5 * (1.0 - check_fraction("level", level))
    value, n, k = np.broadcast_arrays(*(np.asarray(part, float) for part in (alpha, n, k)))
    known = (n > 1) & (k > 1)
    df1, df2 = np.where(known, n - 1.0, 1.0), np.where(known, (n - 1.0) * (k - 1.0), 1.0)
    ratios = np.stack([f_quantile(1.0 - tail, df1, df2), f_quantile(tail, df1, df2)], axis=-1)
    bounds = 1.0 - (1.0 - value)[..., None] * ratios
    return np.where(known[..., None], bounds, np.nan)


def duhachek_se(matrix: FloatArray, n: float) -> float:
    """Return the standard error of alpha by equation (2); NaN if undefined."""
    square = float((matrix * matrix).sum())
    return alpha_se(np.diagonal(matrix).sum(), matrix.sum(axis=0), square, len(matrix), n)


def alpha_se(trace: float, with_total: FloatArray, square: float, k: int, n: float) -> float:
    """Return the standard error in equation (2), given tr C, C1 (items,) and tr C^2."""
    total = float(with_total.sum())
    if k < 2 or n < 2 or not total**3 > 0.0:
        return float("nan")
    bracket = total * (square + trace**2) - 2.0 * trace * float((with_total**2).sum())
    # The expression in brackets is a variance, so it can be negative only because of rounding.
    return float(np.sqrt(2.0 * max(bracket, 0.0) / n / total**3) * k / (k - 1.0))


def squared_norm(centred: FloatArray) -> float:
    """Return tr C^2 of complete centred scores, computed from the smaller cross-product matrix."""
    rows, items = centred.shape
    gram = centred @ centred.T if rows < items else centred.T @ centred
    return float((gram * gram).sum()) / (rows - 1.0) ** 2 if rows > 1 else float("nan")
