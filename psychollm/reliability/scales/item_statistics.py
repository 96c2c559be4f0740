r"""Item statistics of a scale: item-rest correlation, and alpha without the item.

Let :math:`s_j^2` be the item variances, :math:`c_j` the covariances of the items with the total
score, and V the variance of the total score. The statistics are

.. math:: r_{j,\text{rest}} = \frac{c_j - s_j^2}{s_j \sqrt{V - 2 c_j + s_j^2}}, \qquad
          \alpha_{(j)} = \frac{k-1}{k-2} \Big(1 - \frac{\sum_i s_i^2 - s_j^2}
                                                       {V - 2 c_j + s_j^2}\Big).         \quad (1)

Let R be the correlations of the items, and :math:`m_j` the squared multiple correlation of each
item with all other items. The coefficients of standardised items are

.. math:: r_{j,\text{std}} = \frac{\sum_i r_{ij}}{\sqrt{1'R1}}, \qquad
          r_{j,\text{cor}} = \frac{\sum_{i \ne j} r_{ij} + m_j}
                                  {\sqrt{1'R1 - k + \sum_i m_i}}.                        \quad (2)

The total in the second coefficient of equation (2) includes only that part of the item's variance
which the item shares with other items.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np

from psychollm._base.axes import Axes, whole
from psychollm._base.result import Result
from psychollm._base.types import BoolArray, FloatArray, RandomState
from psychollm.data.labels import Labels
from psychollm.data.responses import ResponsesLike
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.intervals import CORRELATION, RELIABILITY, Scale
from psychollm.estimates.reasons import Reason, first_reason
from psychollm.estimates.resampling import Bootstrap, Replicates, Resampling, resample
from psychollm.reliability.scales.alpha_intervals import (
    AlphaInterval,
    chosen_interval,
    feldt_interval,
)
from psychollm.reliability.scales.moments import (
    ROUNDING,
    Incomplete,
    ItemMoments,
    centred_covariance,
    centred_items,
    constant_items,
    correlation,
    covariance,
)
from psychollm.reliability.scales.score_table import ScaleScores, scale_scores, score_table

Of: TypeAlias = Literal["correlations", "covariances"]

# The smallest eigenvalue counts as zero if it is below this proportion of the largest eigenvalue.
_SINGULAR = float(np.sqrt(np.finfo(float).eps))


class ResampledMatrix:
    """Covariance matrix of items in resamples of respondents."""

    def __init__(self, scale: ScaleScores, of: Of) -> None:
        self.centred, self.respondent, self.of = centred_items(scale.values), scale.respondent, of

    def at(self, counts: FloatArray) -> FloatArray:
        """Return the correlations of items that vary, or the covariances of all items."""
        covariances = centred_covariance(self.centred, counts[self.respondent])
        return correlation(covariances)[0] if self.of == "correlations" else covariances


def multiple_correlations(matrix: FloatArray) -> FloatArray:
    """Return each item's squared multiple correlation with all other items (items,)."""
    # For a singular matrix, the pseudo-inverse gives values for which lower bounds of reliability
    # remain valid.
    if not matrix.size or not np.isfinite(matrix).all():
        return np.full(len(matrix), np.nan)
    values, vectors = np.linalg.eigh(matrix)
    kept = values > _SINGULAR * values[-1]
    inverse = (vectors[:, kept] ** 2 / values[kept]).sum(axis=1)
    return np.asarray(np.clip(1.0 - 1.0 / np.maximum(inverse, 1.0), 0.0, 1.0))


def is_singular(matrix: FloatArray) -> bool:
    """Return whether a matrix of correlations is singular or indefinite."""
    values = np.linalg.eigvalsh(matrix)
    return bool(values[0] <= _SINGULAR * values[-1])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ItemStatistics(Result):
    """Item-rest correlation, alpha without the item and descriptive statistics of each item.

    Examples
    --------
    >>> found = item_statistics([[1, 2, 4], [2, 3, 3], [3, 3, 1], [4, 5, 2]], rng=0)
    >>> found.item_rest.value.round(2), found.item_rest.flags[2].name
    (array([ 0.1 ,  0.65, -0.67]), 'NEGATIVE_ITEM')
    """

    items: Labels
    n: FloatArray  # (items,) number of rows with a score on the item
    mean: FloatArray  # (items,)
    sd: FloatArray  # (items,)
    item_rest: Estimate  # (items,) correlation with the sum of the other items
    alpha_without: Estimate  # (items,) alpha of the other items
    standardised_alpha_without: FloatArray  # (items,)
    standardised_flags: tuple[Reason, ...]  # (items,) reasons for undefined values
    item_total: FloatArray  # (items,) correlation with the mean score, including the item
    standardised_item_total: FloatArray  # (items,) item_total of standardised items
    corrected_item_total: FloatArray  # (items,) corrected for the item's unique variance
    correlations: FloatArray  # (items, items) NaN for a zero-variance item

    _AXES = Axes(
        {"item": "items"},
        whole("n"),
        "mean",
        "sd",
        "item_rest",
        "alpha_without=alpha_without.value",
        "standardised_alpha_without",
        "item_total",
        "standardised_item_total",
        "corrected_item_total",
        "flag=item_rest.flags",
    )

    @property
    def mean_correlation(self) -> float:
        """Mean correlation between items that vary."""
        return _of_pairs(self.correlations, np.mean)

    @property
    def median_correlation(self) -> float:
        """Median correlation between items that vary."""
        return _of_pairs(self.correlations, np.median)


def item_statistics(
    scores: ResponsesLike,
    *,
    respondents: Any = None,
    keys: Any = None,
    missing: Incomplete = "pairwise",
    interval: AlphaInterval | None = None,
    bootstrap: Bootstrap | int = 0,
    level: float = 0.95,
    rng: RandomState = None,
) -> ItemStatistics:
    """Compute item-rest correlations, alpha without each item, and descriptive statistics.

    Parameters
    ----------
    scores : Responses, DataFrame, DataArray or array_like (rows, items)
        Scores of respondents on the items of one scale.
    respondents : array_like (rows,), optional
        Respondent of each row, for repeated measurements; the jackknife and the bootstrap omit or
        resample whole respondents.
    keys : array_like (items,) or mapping, optional
        Sign of each item: -1 reverses the item, 1 leaves it unchanged. By default no item is
        reversed.
    missing : {"pairwise", "listwise"}
        "pairwise" computes each covariance from the rows with scores on both items. "listwise"
        omits all rows with a missing score.
    interval : {"feldt", "duhachek", "jackknife", "bootstrap"}, optional
        Interval of alpha without each item: Feldt's exact interval (default), the large-sample
        interval of Duhachek and Iacobucci, the jackknife or the BCa bootstrap. If respondents have
        several rows, the default is "jackknife". Correlations have jackknife intervals on the
        scale of Fisher's z, or bootstrap intervals with "bootstrap".
    bootstrap : int or Bootstrap
        Number of resamples of respondents; 0 disables resampling.
    level : float
        Coverage of the intervals, between 0 and 1.
    rng : Generator, int or None
        Random generator or seed.

    Returns
    -------
    ItemStatistics
        Statistics of each item; NaN with a reason for a zero-variance item. Items with a negative
        item-rest correlation are flagged.

    Raises
    ------
    CodeError, ShapeError, LabelError
        If the scores are not a numeric table, or the labels do not match the rows of the table.
    OptionError
        If an option is invalid.

    Examples
    --------
    >>> found = item_statistics([[1, 2, 4], [2, 3, 3], [3, 3, 1], [4, 5, 2]], keys={2: -1})
    >>> found.item_rest.value.round(2)
    array([0.99, 0.76, 0.67])
    """
    table = score_table(scores, respondents=respondents, keys=keys)
    options = Resampling.of(bootstrap, level, rng, interval=interval)
    scale = scale_scores(table, 0, missing)

    def statistic(counts: FloatArray) -> FloatArray:
        return _per_item(scale.moments(counts))

    replicates = resample(statistic, len(table.respondents), options)
    with np.errstate(invalid="ignore"):
        negative = replicates.value[:, 0] < 0.0
    estimate = partial(_item_estimate, scale, replicates, table.items)
    item_rest = estimate(
        0,
        "item-rest correlation",
        CORRELATION,
        (constant_items(scale.values), Reason.CONSTANT_ITEM),
        (negative, Reason.NEGATIVE_ITEM),
    )
    alpha_without = estimate(1, "alpha without the item", RELIABILITY)
    if chosen_interval(table, interval) not in {"jackknife", "bootstrap"}:
        value, n = alpha_without.value, alpha_without.n
        bounds = feldt_interval(value, n, len(table.items) - 1, level=options.level)
        alpha_without = replace(alpha_without, interval=bounds, method="analytic (Feldt)")
    matrix = covariance(scale.values, np.ones(scale.n))
    standardised = _standardised(matrix)
    return ItemStatistics(
        items=table.items,
        n=np.isfinite(scale.values).sum(axis=0).astype(np.float64),
        mean=_column_means(scale.values),
        sd=np.sqrt(np.diagonal(matrix)),
        item_rest=item_rest,
        alpha_without=alpha_without,
        item_total=_item_total(scale.values),
        standardised_item_total=standardised[0],
        corrected_item_total=standardised[1],
        standardised_alpha_without=standardised[2],
        standardised_flags=first_reason(
            (np.isfinite(standardised[2]), Reason.NONE),
            (constant_items(scale.values), Reason.CONSTANT_ITEM),
            (np.full(len(table.items), len(table.items) < 3), Reason.ONE_QUESTION),
            (np.ones(len(table.items), np.bool_), Reason.NO_REST_VARIANCE),
        ),
        correlations=_with_constants(matrix),
    )


def _item_estimate(
    scale: ScaleScores,
    replicates: Replicates,
    items: Labels,
    column: int,
    name: str,
    on: Scale,
    *cases: tuple[BoolArray, Reason],
) -> Estimate:
    """Return the estimate of one of the two item statistics in equation (1)."""
    part = replicates.each(slice(None), column)
    few = scale.n_items < 2 + column
    undefined = Reason.ONE_QUESTION if few else scale.reason or Reason.NO_VARIANCE
    return part.estimate(
        name,
        scale=on,
        over="respondents",
        n=np.full(len(items), float(scale.n)),
        flags=first_reason(*cases[:1], (np.isnan(part.value), undefined), *cases[1:]),
        labels=items,
        axis="item",
    )


def _per_item(moments: ItemMoments) -> FloatArray:
    """Return the statistics, equation (1), in resamples (resamples, items, 2)."""
    k = moments.variance.shape[1]
    trace = moments.variance.sum(axis=1, keepdims=True) - moments.variance
    rest = (
        moments.with_total.sum(axis=1, keepdims=True) - 2.0 * moments.with_total + moments.variance
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        # Variances within rounding error are set to zero, as for totals.
        rest = np.where(rest > ROUNDING * k * trace, rest, np.nan)
        joint = moments.with_total - moments.variance
        item_rest = joint / np.sqrt(
            np.where(moments.variance > 0.0, moments.variance, np.nan) * rest
        )
        alpha = (k - 1.0) / np.float64(k - 2) * (1.0 - trace / rest)
    both = np.stack([item_rest, alpha], axis=2)
    return np.where(np.isfinite(both), both, np.nan)


def _standardised(matrix: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return correlations by equation (2) and alphas by equation (1); NaN if variance is zero."""
    correlations, varies = correlation(matrix)
    k, sums = len(correlations), correlations.sum(axis=0)
    total, shared = float(sums.sum()), multiple_correlations(correlations)
    nil = ROUNDING * k**2

    def positive(part: Any) -> Any:
        return np.where(part > nil, part, np.nan)  # a rounding error counts as zero variance

    with np.errstate(invalid="ignore", divide="ignore"):
        with_total = sums / np.sqrt(positive(total))
        corrected = (sums - 1.0 + shared) / np.sqrt(positive(total - k + shared.sum()))
        rest = positive(total - 2.0 * sums + 1.0)
        alpha = (k - 1.0) / np.float64(k - 2) * (1.0 - (k - 1.0) / rest)
    statistics = np.full((3, varies.size), np.nan)
    statistics[:, varies] = [with_total, corrected, alpha]
    return (
        statistics[0],
        statistics[1],
        np.where(np.isfinite(statistics[2]), statistics[2], np.nan),
    )


def _item_total(values: FloatArray) -> FloatArray:
    """Return each item's correlation with the respondents' mean scores (items,)."""
    present = np.isfinite(values)
    score = np.where(present, values, 0.0).sum(axis=1) / np.maximum(present.sum(axis=1), 1)
    correlations = np.full(values.shape[1], np.nan)
    for item in np.flatnonzero(~constant_items(values)):
        rows = present[:, item]
        if np.ptp(score[rows]) > 0.0:
            correlations[item] = np.corrcoef(values[rows, item], score[rows])[0, 1]
    return correlations


def _with_constants(matrix: FloatArray) -> FloatArray:
    """Return correlations (items, items), NaN for zero-variance items."""
    correlations, varies = correlation(matrix)
    everywhere = np.full(matrix.shape, np.nan)
    everywhere[np.ix_(varies, varies)] = correlations
    return everywhere


def _column_means(values: FloatArray) -> FloatArray:
    present = np.isfinite(values)
    count = present.sum(axis=0)
    total = np.where(present, values, 0.0).sum(axis=0)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _of_pairs(correlations: FloatArray, average: Callable[[FloatArray], Any]) -> float:
    pairs = correlations[np.tril_indices(len(correlations), -1)]
    pairs = pairs[np.isfinite(pairs)]
    return float(average(pairs)) if pairs.size else float("nan")
