r"""Spiegelhalter's test of calibration, and the result class of tests.

If every question is answered correctly with the stated probability, the Brier score has a known
mean and variance, and z is approximately standard normal.

.. math:: z = \frac{\sum_i (y_i - f_i)(1 - 2 f_i)}
                   {\sqrt{\sum_i f_i (1 - f_i)(1 - 2 f_i)^2}}.                            \quad (1)

The statistic z is positive if confidence is too extreme, and negative if confidence is not extreme
enough. The test detects errors that change the mean Brier score, but not errors that cancel in the
mean. Confidences of one half carry no information. If only confidences of 0, 1/2 and 1 occur, the
variance is zero and z is undefined. With clusters or weights the variance is computed from sums
over clusters, and its degrees of freedom account for errors in few clusters (equation 4 of
`psychollm.estimates.clustered`). With clusters or weights, the test rejects 2 to 7 % of calibrated
models.

References
----------
Spiegelhalter, D. J. (1986). Probabilistic prediction in patient management and clinical trials.
Statistics in Medicine, 5, 421-433. https://doi.org/10.1002/sim.4780050506
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, stdtr

from psychollm._base.axes import Axes
from psychollm._base.result import Result
from psychollm._base.types import FloatArray
from psychollm.calibration.influence import cluster_shares, cluster_sums
from psychollm.calibration.metric import Metric
from psychollm.calibration.stated import StatedAnswers, stated_answers
from psychollm.calibration.tally import Tally, tallies
from psychollm.data.responses import ResponsesLike
from psychollm.estimates.clustered import corrected_sums, satterthwaite, telling_clusters
from psychollm.estimates.reasons import Reason
from psychollm.kernels.proper_scores import mean_losses


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Significance(Result):
    """Test statistic and p-value of each model, with a reason where undefined.

    With clusters and fewer than 3.5 degrees of freedom, no p-value is returned (`NO_P_VALUE`),
    because the false-positive rate would not be nominal.

    The p-values are not adjusted for the number of models; use `adjust_p_values`.

    Examples
    --------
    >>> from psychollm.calibration.scores.spiegelhalter import spiegelhalter
    >>> spiegelhalter([0.9, 0.6, 0.7, 0.2], [1, 0, 1, 0]).to_frame().round(3)
       model  statistic  p_value    n flag
    0      0     -0.503    0.615  4.0
    """

    name: str
    statistic: FloatArray  # (models,) NaN where undefined
    p_value: FloatArray  # (models,)
    n: FloatArray  # (models,) number of observations
    flags: tuple[Reason, ...]  # (models,) reason for an undefined or qualified value
    method: str  # reference distribution
    labels: tuple[Any, ...]  # (models,)

    _AXES = Axes({"model": "labels"}, "statistic", "p_value", "n", "flag=flags")


class Test(NamedTuple):
    """Result of a test for one model."""

    statistic: float
    p_value: float
    flag: Reason


def significance(
    tests: Sequence[Test], answers: StatedAnswers, *, name: str, method: str
) -> Significance:
    """Return the result for all models from one test per model."""
    statistic, p_value, flags = zip(*tests, strict=True)
    p_values = np.array(p_value)
    if answers.units is not None:
        p_values, flags = answers.units.tested(p_values, flags)
    return Significance(
        name=name,
        statistic=np.array(statistic),
        p_value=p_values,
        n=answers.n,
        flags=flags,
        method=method,
        labels=answers.models,
    )


def spiegelhalter(
    confidence: ResponsesLike,
    correctness: ResponsesLike,
    *,
    clusters: ArrayLike | None = None,
    weights: ArrayLike | None = None,
) -> Significance:
    """Test whether each model's answers are correct with the stated probability.

    Parameters
    ----------
    confidence, correctness : Responses, DataFrame, DataArray or array_like (models, questions)
        Stated probability of being correct, and correctness (1, 0 or a value between 0 and 1).
    clusters : array_like (questions,), optional
        Cluster of each question. With clusters, the variance is computed from cluster sums, and z
        is compared with Student's t. The degrees of freedom are the effective number of clusters
        minus one. The p-value is NaN if the clusters are equivalent to fewer than five clusters of
        equal size.
    weights : array_like (questions,), optional
        Weight of each question; the variance is computed from the weighted terms.

    Returns
    -------
    Significance
        The statistic z and its two-sided p-value. Values are NaN with the reason
        `NO_TEST_VARIANCE` if only confidences of 0, 1/2 and 1 occur.

    Raises
    ------
    CodeError
        If a confidence or a correctness is outside [0, 1].
    ShapeError, LabelError
        If the tables or the clusters do not match in shape or labels.
    OptionError
        If a weight is not finite, or an option is invalid.

    Examples
    --------
    >>> found = spiegelhalter([0.9, 0.6, 0.7, 0.2], [1, 0, 1, 0])
    >>> found.statistic.round(3), found.p_value.round(3)
    (array([-0.503]), array([0.615]))
    """
    answers = stated_answers(confidence, correctness, clusters=clusters, weights=weights)
    return spiegelhalter_of(answers)


def spiegelhalter_of(answers: StatedAnswers) -> Significance:
    """Return the result of `spiegelhalter` for aligned answers."""
    robust = answers.weighted or answers.clusters is not None
    tests = [_test(tally, robust=robust) for tally in tallies(answers)]
    method = "t, sums over clusters" if robust else "standard normal"
    return significance(tests, answers, name="Spiegelhalter's z", method=method)


def _test(tally: Tally, *, robust: bool) -> Test:
    """Return z, its p-value and the flag of one model."""
    if (reason := _no_variance(tally)[0]) is not Reason.NONE:
        return Test(np.nan, np.nan, reason)
    if not robust:
        z = float(_z(tally.values, tally.correct[None], tally.wrong[None])[0, 0])
        return Test(z, float(2.0 * ndtr(-abs(z))), Reason.NONE)
    stated = tally.values[tally.group]
    excess = (tally.right - stated) * (1.0 - 2.0 * stated)
    total, shares = float(tally.weight @ excess), cluster_shares(tally)
    if shares.size < 2:
        return Test(np.nan, np.nan, Reason.ONE_CLUSTER)
    centred = cluster_sums(tally, (excess - total / tally.weight.sum())[:, None])[:, 0]
    sums = corrected_sums(centred, shares)
    spread = float((sums**2).sum())
    if spread <= 1e-200:
        return Test(np.nan, np.nan, Reason.NO_TEST_VARIANCE)
    # A variance requires at least two clusters, so there is at least one degree of freedom.
    df = max(1.0, float(np.fmin(satterthwaite(shares), telling_clusters(sums) - 1.0)))
    t = total / np.sqrt(spread)
    return Test(float(t), float(2.0 * stdtr(df, -abs(t))), Reason.NONE)


def _z(values: FloatArray, correct: FloatArray, wrong: FloatArray) -> FloatArray:
    """Return Spiegelhalter's z of tallies (resamples, groups), with shape (resamples, 1)."""
    tilt = 1.0 - 2.0 * values
    variance = values * (1.0 - values) * tilt**2
    excess, spread = np.empty(correct.shape[0]), np.empty(correct.shape[0])
    mean_losses((1.0 - values) * tilt, -values * tilt, correct, wrong, excess)
    mean_losses(variance, variance, correct, wrong, spread)
    safe = np.where(spread > 1e-200, spread, 1.0)
    size = correct.sum(axis=1) + wrong.sum(axis=1)
    z = np.where(spread > 1e-200, excess * np.sqrt(size / safe), np.nan)
    return np.asarray(z[:, None], dtype=np.float64)


def _no_variance(tally: Tally) -> tuple[Reason, ...]:
    if not tally.n:
        return (Reason.NO_ANSWERS,)
    certain = bool(np.isin(tally.values, (0.0, 0.5, 1.0)).all())
    return (Reason.NO_TEST_VARIANCE if certain else Reason.NONE,)


SPIEGELHALTER = Metric(
    names=("Spiegelhalter's z",), compute=_z, flags=_no_variance, interval="percentile"
)
