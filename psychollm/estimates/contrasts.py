r"""Contrasts between arms of an experiment, with the same or different models.

Let :math:`d_m` be the difference of two arms for model m, M the number of models in both arms, and
S the covariance of the differences over resamples of questions. Arms that share their questions
are resampled together, so that differences are paired. Two inferences about the mean difference
are possible. For *these models*, only questions vary, and the standard error is the SD of the mean
over resamples. For *models like these*, the models are also treated as a sample:

.. math:: V = \frac{s_d^2}{M} + \max\Big(0, \frac{1}{M (M - 1)} \sum_{m \neq k} S_{mk}\Big),
          \qquad s_d^2 = \frac{1}{M - 1} \sum_m (d_m - \bar d)^2.                         \quad (1)

The first term of equation (1) contains the variance between models and the sampling error of each
model. The second term of equation (1) contains the sampling error of the questions, which all
models share. The interval is :math:`\bar d \pm t_\nu \sqrt V` with Satterthwaite's degrees of
freedom; the first term has M - 1 degrees of freedom. Arms without a common model are compared by
their means over models. For arms without a common model, the first term of equation (1) is a sum
with one term for each arm, with its own degrees of freedom.

Differences of rates are within [-1, 1], and their bootstrap standard errors are zero if all pairs
agree. Following Bonett and Price (2012), we add two questions with differences of -1 and 1:

.. math:: \tilde d = \frac{n \bar d}{n + 2}, \qquad
          s^2 = \frac{1}{n + 2} \Big[ \frac{n^2 \sigma^2 + (1 - \bar d)^2 + (1 + \bar d)^2}{n + 2}
          - (\tilde d - \bar d)^2 \Big],                                                  \quad (2)

where :math:`\sigma` is the standard error over n questions. For a mean over M models, the
contribution of the two added questions is divided by M. For other measures, intervals for *these
models* are percentiles, expanded for the heavier tails of t.

References
----------
Bonett, D. G., & Price, R. M. (2012). Adjusted Wald confidence interval for a difference of
binomial proportions based on paired data. Journal of Educational and Behavioral Statistics,
37(4), 479-488. https://doi.org/10.3102/1076998611411915

Satterthwaite, F. E. (1946). An approximate distribution of estimates of variance components.
Biometrics Bulletin, 2, 110-114. https://doi.org/10.2307/3002019
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import stdtr, stdtrit

from psychollm._base.checks import check_unique
from psychollm._base.errors import LabelError, ShapeError
from psychollm._base.multiplicity import adjust_p_values
from psychollm._base.result import Result
from psychollm._base.types import FloatArray
from psychollm.estimates.estimate import Estimate, paired_contrast
from psychollm.estimates.reasons import Reason

if TYPE_CHECKING:
    import pandas as pd

THESE, LIKE_THESE = "these models", "models like these"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Contrast(Result):
    """Difference between two arms in a measure, for each model and on average over models.

    Examples
    --------
    >>> from psychollm.reliability import mean_score
    >>> right = np.random.default_rng(0).random((4, 200)) < [[0.8], [0.7], [0.5], [0.4]]
    >>> score = mean_score(right.astype(float), rng=0)
    >>> found, = contrast_arms(score, ["base", "base", "chat", "chat"], ["m", "n", "m", "n"])
    >>> found.first, found.second, found.pooled.value.round(2)
    ('chat', 'base', array([-0.25, -0.25]))
    """

    measure: str
    first: Hashable  # arm that is compared with the baseline
    second: Hashable  # baseline arm
    each: Estimate  # (models,) first - second, for models in both arms
    pooled: Estimate  # (2,) mean difference, for these models and for the model population
    p_value: float  # p-value for no difference, for these models
    p_adjusted: float  # Holm-adjusted over the arms
    paired: bool  # whether the arms have models in common
    only_first: tuple[Any, ...]  # models in the first arm only
    only_second: tuple[Any, ...]  # models in the second arm only
    level: float

    def to_frame(self) -> "pd.DataFrame":
        """Return one row per model, followed by the rows of `pooled`."""
        import pandas as pd

        frames = [one.to_frame().set_axis(_COLUMNS, axis=1) for one in (self.each, self.pooled)]
        table = pd.concat([one for one in frames if len(one)], ignore_index=True)
        named: dict[str, Any] = {
            "measure": self.measure,
            "first": self.first,
            "second": self.second,
        }
        for name, one in named.items():
            table[name] = [one] * len(table)
        return table[[*named, *_COLUMNS]]


_COLUMNS = ["model", "value", "se", "lower", "upper", "n", "flag"]


def contrast_arms(
    estimate: Estimate,
    arms: Sequence[Hashable],
    models: Sequence[Hashable],
    *,
    baseline: Hashable = None,
    rates: bool = False,
    name: str | None = None,
) -> tuple[Contrast, ...]:
    """Compare every other arm with the baseline arm.

    Parameters
    ----------
    estimate : Estimate
        One value for each model in each arm, with draws from common resamples.
    arms, models : sequence of hashable
        Arm and model of each row.
    baseline : hashable, optional
        Arm with which the others are compared; by default the first arm.
    rates : bool
        Whether the values are rates, or means of numbers within [0, 1]. Intervals of rates are
        based on equation (2).
    name : str, optional
        Name of the measure; by default the name of the estimate.

    Returns
    -------
    tuple of Contrast
        Contrasts. If two arms have models in common, they are paired by model, and other models
        are excluded.

    Raises
    ------
    ShapeError
        If the numbers of arms, models and rows differ.
    LabelError
        If there is only one arm, `baseline` is not an arm, or an arm contains a model twice.
    OptionError
        If the estimate has no draws.

    Examples
    --------
    >>> from psychollm.reliability import mean_score
    >>> score = mean_score([[1, 1, 0, 1] * 9, [1, 0, 0, 1] * 9], rng=0)
    >>> found, = contrast_arms(score, ["plain", "terse"], ["m", "m"], rates=True)
    >>> found.each.text(0), found.pooled.text(1)
    ('-0.25 [-0.40, -0.08]', '-0.25')
    """
    if not len(arms) == len(models) == len(estimate.labels):
        msg = (
            f"arms and models hold {len(arms)} and {len(models)} labels for "
            f"{len(estimate.labels)} rows: pass one of each per row"
        )
        raise ShapeError(msg)
    check_unique("model of an arm", list(zip(arms, models, strict=True)))
    names = list(dict.fromkeys(arms))
    if len(names) < 2:
        msg = f"arms holds one label only ({arms[0]!r}): a contrast needs two"
        raise LabelError(msg)
    second = names[0] if baseline is None else baseline
    if second not in names:
        msg = f"baseline={second!r} is not an arm: the arms are {', '.join(map(repr, names))}"
        raise LabelError(msg)
    estimate = estimate if name is None else replace(estimate, name=name)
    rows = {
        arm: {
            model: row
            for row, (own, model) in enumerate(zip(arms, models, strict=True))
            if own == arm and np.isfinite(estimate.value[row])
        }
        for arm in names
    }
    found = [
        _contrast(estimate, first, second, rows[first], rows[second], rates=rates)
        for first in names
        if first != second
    ]
    adjusted = adjust_p_values([one.p_value for one in found])
    return tuple(replace(one, p_adjusted=float(p)) for one, p in zip(found, adjusted, strict=True))


def _contrast(
    estimate: Estimate,
    first: Hashable,
    second: Hashable,
    of_first: dict[Hashable, int],
    of_second: dict[Hashable, int],
    *,
    rates: bool,
) -> Contrast:
    both = tuple(model for model in of_first if model in of_second)
    i, j = [of_first[model] for model in both], [of_second[model] for model in both]
    own = (i, j) if both else (list(of_first.values()), list(of_second.values()))
    each = [_difference(estimate, [a], [b], rates=rates) for a, b in zip(i, j, strict=True)]
    mean = _difference(estimate, *own, rates=rates)
    wide = _over_models(estimate, *own, paired=bool(both))
    name = f"{estimate.name}, {first} - {second}"
    return Contrast(
        measure=estimate.name,
        first=first,
        second=second,
        each=_estimate(name, both, each, estimate),
        pooled=_estimate(name, (THESE, LIKE_THESE), [mean, wide], estimate),
        p_value=mean.p_value,
        p_adjusted=mean.p_value,
        paired=bool(both),
        only_first=tuple(model for model in of_first if model not in both),
        only_second=tuple(model for model in of_second if model not in both),
        level=estimate.level,
    )


@dataclass(frozen=True, slots=True)
class _Row:
    value: float
    se: float
    interval: FloatArray
    n: float
    df: float
    flag: Reason
    p_value: float
    draws: FloatArray


def _estimate(name: str, labels: tuple[Any, ...], rows: list[_Row], given: Estimate) -> Estimate:
    def column(field: str) -> FloatArray:
        return np.array([getattr(row, field) for row in rows], dtype=np.float64)

    draws = [row.draws for row in rows]
    return Estimate(
        name=name,
        value=column("value"),
        se=column("se"),
        interval=column("interval").reshape(-1, 2),
        n=column("n"),
        flags=tuple(row.flag for row in rows),
        method="paired resamples of questions",
        level=given.level,
        labels=labels,
        df=column("df"),
        _draws=np.stack(draws, axis=1) if draws else np.empty((len(given.draws), 0)),
    )


def _mean(table: FloatArray, rows: list[int]) -> FloatArray:
    if not rows:
        return np.full(table.shape[:-1], np.nan)
    return np.asarray(table[..., rows].mean(axis=-1))


def _difference(estimate: Estimate, first: list[int], second: list[int], *, rates: bool) -> _Row:
    """Return the difference of two means over rows, without generalising to other models."""
    draws = np.stack([_mean(estimate.draws, rows) for rows in (first, second)], axis=1)
    values = tuple(float(_mean(estimate.value, rows)) for rows in (first, second))
    used = [*first, *second]
    n = float(estimate.n[used].min()) if used else 0.0
    df = float(estimate.freedom[used].min()) if used else 1.0
    found = paired_contrast(
        "", ("", ""), (values[0], values[1]), draws, df=df, level=estimate.level
    )
    interval, p_value = found.interval, found.p_value
    if rates and np.isfinite(found.se):
        interval, p_value = _with_two_more(found.value, found.se, n, df, found.level, len(first))
    flat = not rates and found.se == 0.0
    if flat:  # a zero SE does not mean that the difference is known exactly
        interval, p_value = np.full(2, np.nan), np.nan
    return _Row(
        value=found.value,
        se=found.se,
        interval=interval,
        n=n,
        df=df,
        flag=Reason.NO_SPREAD if flat else found.flag,
        p_value=p_value,
        draws=draws[:, 0] - draws[:, 1],
    )


def _with_two_more(
    value: float, se: float, n: float, df: float, level: float, models: int
) -> tuple[FloatArray, float]:
    """Return the interval by equation (2), and its p-value."""
    shift = -2.0 * value / (n + 2.0) / models
    added = ((1.0 - value) ** 2 + (1.0 + value) ** 2) / models
    spread = ((n * se) ** 2 + added) / (n + 2.0) - shift**2
    error = np.sqrt(max(spread, 0.0) / (n + 2.0))
    step = stdtrit(df, 0.5 + 0.5 * level) * error
    around = np.clip(value + shift + np.array([-step, step]), -1.0, 1.0)
    bounds = np.array([min(around[0], value), max(around[1], value)])
    p_value = 2.0 * stdtr(df, -abs(value + shift) / error) if error > 0.0 else 1.0
    return bounds, float(p_value)


def _over_models(estimate: Estimate, first: list[int], second: list[int], *, paired: bool) -> _Row:
    """Return the difference of two means over rows, by equation (1) if models are a sample."""
    used = [*first, *second]
    n = float(min(len(first), len(second)))
    draws = _mean(estimate.draws, first) - _mean(estimate.draws, second)
    value = float(_mean(estimate.value, first) - _mean(estimate.value, second))
    absent = _Row(
        value=value,
        se=np.nan,
        interval=np.full(2, np.nan),
        n=n,
        df=1.0,
        flag=Reason.ONE_MODEL,
        p_value=np.nan,
        draws=draws,
    )
    if n < 2:
        return absent
    if paired:
        gaps = estimate.value[first] - estimate.value[second]
        parts = [(float(gaps.var(ddof=1)) / n, n - 1.0)]
        common = _off_diagonal(estimate.draws[:, first] - estimate.draws[:, second])
    else:
        parts = [
            (float(estimate.value[rows].var(ddof=1)) / len(rows), len(rows) - 1.0)
            for rows in (first, second)
        ]
        means = draws[np.isfinite(draws)]
        own = sum(_own_part(estimate.draws[:, rows]) for rows in (first, second))
        common = float(means.var(ddof=1)) - own
    parts.append((max(0.0, common), float(estimate.freedom[used].min())))
    variance = sum(part for part, _ in parts)
    if not variance > 0.0:
        return replace(absent, se=0.0, flag=Reason.CONSTANT)
    df = variance**2 / sum(part**2 / df for part, df in parts)
    step = stdtrit(df, 0.5 + 0.5 * estimate.level) * np.sqrt(variance)
    return replace(
        absent,
        se=float(np.sqrt(variance)),
        interval=np.array([value - step, value + step]),
        df=float(df),
        flag=Reason.NONE,
        p_value=float(2.0 * stdtr(df, -abs(value) / np.sqrt(variance))),
    )


def _covariance(draws: FloatArray) -> FloatArray:
    known = draws[np.isfinite(draws).all(axis=1)]
    return np.atleast_2d(np.cov(known, rowvar=False))


def _off_diagonal(draws: FloatArray) -> float:
    """Return the mean covariance between two models."""
    table = _covariance(draws)
    m = len(table)
    return float((table.sum() - np.trace(table)) / (m * (m - 1)))


def _own_part(draws: FloatArray) -> float:
    """Return the model-specific part of the sampling variance of an arm's mean."""
    table = _covariance(draws)
    m = len(table)
    return float((np.trace(table) / m - (table.sum() - np.trace(table)) / (m * (m - 1))) / m)
