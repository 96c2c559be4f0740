r"""Kuder-Richardson formulas 20 and 21 (KR-20, KR-21): internal consistency of binary scores.

KR-20 is coefficient alpha of binary items. KR-21 also assumes that all items are equally
difficult. KR-21 requires only the mean M and the variance :math:`s_T^2` (with divisor n) of the
number of correct answers to k items:

.. math:: \text{KR-21} = \frac{k}{k - 1} \Big(1 - \frac{M (k - M)}{k\, s_T^2}\Big)
                       \le \text{KR-20}.                                                 \quad (1)

References
----------
Kuder, G. F., & Richardson, M. W. (1937). The theory of the estimation of test reliability.
Psychometrika, 2, 151-160. https://doi.org/10.1007/BF02288391
"""

from dataclasses import replace
from typing import Any

import numpy as np

from psychollm._base.errors import CodeError
from psychollm._base.types import FloatArray, RandomState
from psychollm.data.responses import ResponsesLike
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.intervals import RELIABILITY
from psychollm.estimates.resampling import Bootstrap, Resampling, resample
from psychollm.reliability.scales.alpha_intervals import AlphaInterval, AlphaParts
from psychollm.reliability.scales.consistency import consistency_of
from psychollm.reliability.scales.moments import ROUNDING, Incomplete
from psychollm.reliability.scales.score_table import (
    ScaleScores,
    ScoreTable,
    scale_scores,
    score_table,
)


def kr20(
    responses: ResponsesLike,
    *,
    respondents: Any = None,
    by: Any = None,
    missing: Incomplete = "pairwise",
    interval: AlphaInterval | None = None,
    bootstrap: Bootstrap | int = 2000,
    level: float = 0.95,
    rng: RandomState = None,
) -> Estimate:
    """Compute Kuder-Richardson formula 20: coefficient alpha of binary items.

    Parameters
    ----------
    responses : Responses, DataFrame, DataArray or array_like (rows, items)
        Binary responses: 1 = correct (or yes), 0 = wrong (or no).
    respondents : array_like (rows,), optional
        Respondent of each row, for repeated measurements: ten models with three rows each are ten
        respondents. If `respondents` is given, the jackknife and the bootstrap omit or resample
        whole respondents, and `of_means` is the reliability of respondents' means.
    by : array_like (rows,), optional
        Condition of each row; the result has one value per condition. All conditions use the same
        resamples of respondents, so ``alpha.difference("a", "b")`` is paired.
    missing : {"pairwise", "listwise"}
        "pairwise" computes each covariance from the rows with scores on both items. "listwise"
        omits all rows with a missing score.
    interval : {"feldt", "duhachek", "jackknife", "bootstrap"}, optional
        Interval of alpha. "feldt", the default, is exact for normal, tau-equivalent items.
        "duhachek" is a large-sample interval for normal items that does not assume
        tau-equivalence. "jackknife" (on the scale log(1 - alpha)) and "bootstrap" (BCa) assume no
        distribution. These two methods are preferable for skewed items and many respondents. If
        respondents have several rows, only "jackknife" and "bootstrap" are valid, and "jackknife"
        is the default. Coefficients other than alpha have jackknife intervals, or bootstrap
        intervals if "bootstrap" is chosen.
    bootstrap : int or Bootstrap
        Number of resamples of respondents, used by `Estimate.difference`; 0 disables resampling.
    level : float
        Coverage of the intervals, between 0 and 1.
    rng : Generator, int or None
        Random generator or seed.

    Returns
    -------
    Estimate
        Coefficient of each condition; NaN with a reason if the number of correct answers does not
        vary.

    Raises
    ------
    CodeError
        If a response is neither 1 nor 0; the error message names the row and the item.
    CodeError, ShapeError, LabelError
        If the scores are not a numeric table, or the labels do not match the rows of the table.
    OptionError
        If an option is invalid, or if ``interval`` is "feldt" or "duhachek" although respondents
        have several rows.

    References
    ----------
    Kuder, G. F., & Richardson, M. W. (1937). The theory of the estimation of test reliability.
    Psychometrika, 2, 151-160. https://doi.org/10.1007/BF02288391

    Examples
    --------
    >>> kr20([[1, 1, 1], [1, 1, 0], [1, 0, 0], [0, 0, 0]], rng=0).value
    array([0.75])
    """
    options = Resampling.of(bootstrap, level, rng, interval=interval)
    table = _binary(responses, respondents, by)
    return replace(consistency_of(table, options, missing).alpha, name="KR-20")


def kr21(
    responses: ResponsesLike,
    *,
    respondents: Any = None,
    by: Any = None,
    bootstrap: Bootstrap | int = 2000,
    level: float = 0.95,
    rng: RandomState = None,
) -> Estimate:
    """Compute Kuder-Richardson formula 21 from total scores, a lower bound of `kr20`.

    Parameters
    ----------
    responses : Responses, DataFrame, DataArray or array_like (rows, items)
        Binary responses (1 = correct, 0 = wrong); rows with a missing answer are omitted.
    respondents : array_like (rows,), optional
        Respondent of each row, for repeated measurements: ten models with three rows each are ten
        respondents. If `respondents` is given, the jackknife and the bootstrap omit or resample
        whole respondents, and `of_means` is the reliability of respondents' means.
    by : array_like (rows,), optional
        Condition of each row; the result has one value per condition. All conditions use the same
        resamples of respondents, so ``alpha.difference("a", "b")`` is paired.
    bootstrap : int or Bootstrap
        Number of resamples of respondents, used by `Estimate.difference`; 0 disables resampling.
    level : float
        Coverage of the intervals, between 0 and 1.
    rng : Generator, int or None
        Random generator or seed.

    Returns
    -------
    Estimate
        Coefficient of each condition, with a jackknife interval over respondents.

    Raises
    ------
    CodeError
        If a response is neither 1 nor 0.
    ShapeError, LabelError
        If the responses are not a numeric table, or the labels do not match the rows of the table.
    OptionError
        If an option is invalid.

    References
    ----------
    Kuder, G. F., & Richardson, M. W. (1937). The theory of the estimation of test reliability.
    Psychometrika, 2, 151-160. https://doi.org/10.1007/BF02288391

    Examples
    --------
    >>> kr21([[1, 1, 1], [1, 1, 0], [1, 0, 0], [0, 0, 0]], rng=0).value
    array([0.6])
    """
    options = Resampling.of(bootstrap, level, rng)
    table = _binary(responses, respondents, by)
    scales = [
        scale_scores(table, condition, "listwise") for condition in range(len(table.conditions))
    ]

    def statistic(counts: FloatArray) -> FloatArray:
        return np.stack([_kr21(scale, counts) for scale in scales], axis=1)[:, :, None]

    replicates = resample(statistic, len(table.respondents), options)
    return AlphaParts(table, replicates).other("KR-21", 0, scales, RELIABILITY)


def _kr21(scale: ScaleScores, counts: FloatArray) -> FloatArray:
    """Return KR-21, equation (1), in resamples of respondents (resamples,)."""
    weight, k = counts[:, scale.respondent], scale.n_items
    total = scale.values.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        n = weight.sum(axis=1)
        mean = (weight * total).sum(axis=1) / n
        variance = (weight * total**2).sum(axis=1) / n - mean**2
        variance = np.where(variance > ROUNDING * k * k, variance, np.nan)
        return np.asarray(k / np.float64(k - 1) * (1.0 - mean * (k - mean) / (k * variance)))


def _binary(responses: Any, respondents: Any, by: Any) -> ScoreTable:
    table = score_table(responses, respondents=respondents, by=by, argument="responses")
    bad = np.isfinite(table.values) & (table.values != 0.0) & (table.values != 1.0)
    if bad.any():
        row, item = (int(at) for at in np.argwhere(bad)[0])
        msg = (
            f"responses: row {row}, item {table.items[item]!r} holds "
            f"{table.values[row, item]:g}, but the Kuder-Richardson formulas are for answers "
            "that are correct (1) or wrong (0): use alpha for graded scores"
        )
        raise CodeError(msg)
    return table
