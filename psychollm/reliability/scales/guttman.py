r"""Guttman's six lower bounds of reliability.

Let C be the matrix of correlations (or covariances) of k items, :math:`V = 1'C1`, and
:math:`e_j^2` the residual variance of item j given the other items. Then

.. math::
   \lambda_1 &= 1 - \operatorname{tr} C / V, &
   \lambda_2 &= \lambda_1 + \tfrac{1}{V} \sqrt{\tfrac{k}{k-1} \textstyle\sum_{i \ne j} c_{ij}^2},\\
   \lambda_3 &= \tfrac{k}{k-1} \lambda_1, &
   \lambda_4 &= \max_{\text{splits}}\, 4 \operatorname{cov}(A, B) / V,                  \quad (1)\\
   \lambda_5 &= \lambda_1 + \tfrac{2}{V} \sqrt{\max_j \textstyle\sum_{i \ne j} c_{ij}^2}, &
   \lambda_6 &= 1 - \textstyle\sum_j e_j^2 / V.

In the population, all six coefficients are lower bounds of the reliability of the total score, and
lambda 1 <= lambda 3 <= lambda 2. In a sample, lambda 4 is biased upwards, because it is the
maximum over many splits. The bias is 0.06 to 0.11 with 10 items and 50 respondents. A 95 %
bootstrap interval for lambda 4 would have a coverage of 60 to 70 %, so no interval is given.
Lambda 3 is standardised alpha if computed from correlations (as in the R package psych), and alpha
if computed from covariances.

References
----------
Guttman, L. (1945). A basis for analyzing test-retest reliability. Psychometrika, 10, 255-282.
https://doi.org/10.1007/BF02288892
"""

from typing import Any

import numpy as np

from psychollm._base.checks import check_choice, check_count, check_generator
from psychollm._base.types import FloatArray, RandomState
from psychollm.data.responses import ResponsesLike
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.intervals import RELIABILITY
from psychollm.estimates.reasons import Reason
from psychollm.estimates.resampling import Bootstrap, Replicates, Resampling, resample
from psychollm.reliability.scales.alpha_intervals import ResamplingInterval
from psychollm.reliability.scales.consistency import covariance_matrix
from psychollm.reliability.scales.item_statistics import (
    Of,
    ResampledMatrix,
    is_singular,
    multiple_correlations,
)
from psychollm.reliability.scales.moments import ROUNDING, Incomplete, correlation
from psychollm.reliability.scales.score_table import scale_scores, score_table
from psychollm.reliability.scales.split_half import Splits, best_coefficient, splits_of

LAMBDAS = tuple(f"lambda{number}" for number in range(1, 7))


def guttman(
    scores: ResponsesLike,
    *,
    of: Of = "correlations",
    respondents: Any = None,
    keys: Any = None,
    missing: Incomplete = "pairwise",
    max_splits: int = 2_000_000,
    interval: ResamplingInterval = "jackknife",
    bootstrap: Bootstrap | int = 2000,
    level: float = 0.95,
    rng: RandomState = None,
) -> Estimate:
    """Compute Guttman's coefficients lambda 1 to lambda 6, equation (1).

    Parameters
    ----------
    scores : Responses, DataFrame, DataArray or array_like (rows, items)
        Scores of respondents on the items of one scale.
    of : {"correlations", "covariances"}
        Matrix from which the coefficients are computed. If correlations are used, zero-variance
        items are omitted.
    respondents : array_like (rows,), optional
        Respondent of each row, for repeated measurements; the jackknife and the bootstrap omit or
        resample whole respondents.
    keys : array_like (items,) or mapping, optional
        Sign of each item: -1 reverses the item, 1 leaves it unchanged. By default no item is
        reversed.
    missing : {"pairwise", "listwise"}
        "pairwise" computes each covariance from the rows with scores on both items. "listwise"
        omits all rows with a missing score.
    max_splits : int
        Largest number of splits to enumerate for lambda 4; the default suffices for up to 24
        items. If there are more splits, lambda 4 is computed by a local search and is flagged.
    interval : {"jackknife", "bootstrap"}
        Interval method; the jackknife over respondents uses the scale log(1 - lambda).
    bootstrap : int or Bootstrap
        Number of resamples of respondents, used by ``difference("lambda6", "lambda3")``; 0
        disables resampling.
    level : float
        Coverage of the intervals, between 0 and 1.
    rng : Generator, int or None
        Random generator or seed.

    Returns
    -------
    Estimate
        Six values, labelled "lambda1" to "lambda6"; lambda 4 has no interval. Lambda 6 is flagged
        if the matrix is singular, for example if there are fewer respondents than items, or if
        items are linearly dependent.

    Raises
    ------
    CodeError, ShapeError, LabelError
        If the scores are not a numeric table, or the labels do not match the rows of the table.
    OptionError
        If an option is invalid.

    Notes
    -----
    Items are reversed only if their key in `keys` is -1. For lambda 4, but not for the
    other coefficients, the R package psych 2.2.9 reverses items with negative loadings. The values
    of psych can be reproduced with `keys`.

    References
    ----------
    Guttman, L. (1945). A basis for analyzing test-retest reliability. Psychometrika, 10(4),
    255-282. https://doi.org/10.1007/BF02288892

    Examples
    --------
    >>> found = guttman([[1, 2, 1], [2, 3, 3], [3, 3, 4], [4, 5, 5], [2, 1, 1]], rng=0)
    >>> found.labels[:2], found.value.round(3)
    (('lambda1', 'lambda2'), array([0.637, 0.956, 0.955, 0.887, 0.95 , 0.955]))
    """
    check_choice("of", of, Of)
    check_choice("interval", interval, ResamplingInterval)
    max_splits = check_count("max_splits", max_splits, low=0)
    generator = check_generator(rng)
    options = Resampling.of(bootstrap, level, generator, interval=interval)
    table = score_table(scores, respondents=respondents, keys=keys)
    scale = scale_scores(table, 0, missing)
    resampled = ResampledMatrix(scale, of)
    matrix = resampled.at(np.ones(len(table.respondents)))
    splits = splits_of(matrix, max_splits, 10_000, generator)

    def statistic(counts: FloatArray) -> FloatArray:
        return np.stack([lambdas(resampled.at(row), np.nan) for row in counts])

    replicates = resample(statistic, len(table.respondents), options)
    replicates.value[3] = best_coefficient(matrix, splits)
    return _estimate(replicates, float(scale.n), _flags(matrix, scale.reason, splits))


def guttman_of_matrix(
    matrix: Any, *, max_splits: int = 2_000_000, rng: RandomState = None
) -> Estimate:
    """Compute Guttman's lambda 1 to lambda 6 of a correlation or covariance matrix.

    Parameters
    ----------
    matrix : Correlation, DataFrame or array_like (items, items)
        Correlations or covariances of the items.
    max_splits : int
        Largest number of splits to enumerate for lambda 4; the default suffices for up to 24
        items. If there are more splits, lambda 4 is computed by a local search and is flagged.
    rng : Generator, int or None
        Random generator or seed for the local search.

    Returns
    -------
    Estimate
        Six values without intervals, labelled "lambda1" to "lambda6".

    Raises
    ------
    ShapeError
        If the matrix is not square.
    InputError
        If the matrix is not symmetric, has an undefined entry or a negative variance.

    References
    ----------
    Guttman, L. (1945). A basis for analyzing test-retest reliability. Psychometrika, 10(4),
    255-282. https://doi.org/10.1007/BF02288892

    Examples
    --------
    >>> guttman_of_matrix([[1.0, 0.5], [0.5, 1.0]]).value.round(3)
    array([0.333, 0.667, 0.667, 0.667, 0.667, 0.5  ])
    """
    known = covariance_matrix(matrix)
    splits = splits_of(known, max_splits, 10_000, check_generator(rng))
    value = lambdas(known, best_coefficient(known, splits))
    reason = Reason.ONE_QUESTION if len(known) < 2 else Reason.NONE
    flags = _flags(known, reason, splits)
    return _estimate(Replicates.unknown(value, 0.95), np.nan, flags)


def _estimate(replicates: Replicates, n: float, flags: tuple[Reason, ...]) -> Estimate:
    return replicates.estimate(
        "Guttman's lambda",
        scale=RELIABILITY,
        over="respondents",
        n=np.full(6, n),
        flags=flags,
        labels=LAMBDAS,
        axis="coefficient",
    )


def lambdas(matrix: FloatArray, best_split: float) -> FloatArray:
    """Return the six coefficients of equation (1), given the best split; NaN if undefined."""
    k, total, variance = len(matrix), float(matrix.sum()), np.diagonal(matrix)
    if k < 2 or not total > ROUNDING * k * float(variance.sum()):
        return np.full(6, np.nan)
    first = 1.0 - float(variance.sum()) / total
    squares = (matrix**2).sum(axis=0) - variance**2
    correlations, varies = correlation(matrix)
    unpredicted = variance[varies] * (1.0 - multiple_correlations(correlations))
    values = [
        first,
        first + np.sqrt(k / (k - 1.0) * squares.sum()) / total,
        k / (k - 1.0) * first,
        best_split,
        first + 2.0 * np.sqrt(squares.max()) / total,
        1.0 - float(unpredicted.sum()) / total,
    ]
    return np.array(values)


def _flags(matrix: FloatArray, reason: Reason, splits: Splits | None) -> tuple[Reason, ...]:
    """Return the flag of each lambda."""
    if splits is None:
        return (reason or Reason.NO_VARIANCE,) * 6
    fourth = Reason.EXTREME if splits.exhaustive else Reason.SEARCHED
    sixth = Reason.SINGULAR if is_singular(correlation(matrix)[0]) else reason
    return (reason, reason, reason, fourth, reason, sixth)
