r"""Difference of a model's mean scores on two sets of questions.

Set s contains :math:`n_s` questions, of which :math:`n_{sg}` belong to cluster g, and has the mean
score :math:`\bar s_s`. A cluster of questions (for example, from one template) may have questions
in both sets. The proportion of set s in cluster g and the error of cluster g are

.. math:: h_{sg} = \frac{n_{sg}}{n_s}, \qquad
          r_g = \sum_s \frac{\pm 1}{\sqrt{1 - h_{sg}}} \sum_{q \in s, g}
                \frac{s_q - \bar s_s}{n_s} .                                             \quad (1)

The variance of the difference is :math:`\sum_g r_g^2`. The variance includes the correction "cr2"
of Bell and McCaffrey, with Satterthwaite's degrees of freedom for independent scores of equal
variance,

.. math:: \nu = \frac{\bigl(\sum_s 1 / n_s\bigr)^2}{\sum_{g, k} \Omega_{gk}^2}, \qquad
          \Omega_{gg} = \sum_s \frac{h_{sg}}{n_s}, \quad
          \Omega_{gk} = -\sum_s \frac{x_{sg} x_{sk}}{n_s}, \quad
          x_{sg} = \frac{h_{sg}}{\sqrt{1 - h_{sg}}}.                                     \quad (2)

Without clusters, the standard error is Welch's standard error.

References
----------
Bell, R. M., & McCaffrey, D. F. (2002). Bias reduction in standard errors for linear regression
with multi-stage samples. Survey Methodology, 28, 169-181.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtrit

from psychollm._base.checks import check_fraction
from psychollm._base.errors import LabelError
from psychollm._base.types import FloatArray, IntArray
from psychollm.calibration.stated import cluster_codes
from psychollm.data.labels import listed, positions
from psychollm.data.responses import ResponsesLike
from psychollm.data.table import numbers, one_model
from psychollm.estimates.clustered import few
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.intervals import within_range
from psychollm.estimates.reasons import Reason, first_reason
from psychollm.reliability.means.clustered import ROUNDING, cluster_sums, clustered_mean


def set_difference(
    scores: ResponsesLike, first: Any, second: Any, *, clusters: Any = None, level: float = 0.95
) -> Estimate:
    """Compare each model's mean score on two sets of questions.

    The unit of replication is the question, or the cluster if `clusters` is given.

    Parameters
    ----------
    scores : Responses, DataFrame, DataArray or array_like (models, questions)
        Numeric scores; NaN marks a missing score. A vector contains the scores of one model.
    first, second : sequence of question labels, or bool array (questions,)
        The two sets of questions. The estimate is the mean score on `first` minus the mean score
        on `second`.
    clusters : array_like (questions,), optional
        Cluster of each question; a cluster may have questions of both sets.
    level : float
        Coverage of the interval, between 0 and 1.

    Returns
    -------
    Estimate
        Differences; NaN for a model without answers in one of the sets. The interval is NaN if a
        set has a single cluster or if no scores vary. `n` is the total number of questions in the
        two sets.

    Raises
    ------
    LabelError
        If a question does not exist, or is in both sets.
    ShapeError
        If clusters do not match the questions.
    CodeError
        If a score is not a finite number.
    OptionError
        If an option is invalid.

    Notes
    -----
    Prefer `rate_contrast` for scores inside [0, 1]. The intervals of `rate_contrast` are also
    valid for means near 0 and 1, where Student's t intervals are not. `rate_contrast` accepts
    repeated runs and several types of questions, and its resamples allow comparisons between
    models. Use `set_difference` for other scores, or if few clusters have questions of both sets.

    Examples
    --------
    >>> found = set_difference([[1, 1, 1, 0, 0, 1]], [0, 1, 2], [3, 4, 5])
    >>> found.value.round(3), found.se.round(3)
    (array([0.667]), array([0.333]))
    """
    check_fraction("level", level)
    table = one_model(scores, argument="scores")
    values = numbers(table, argument="scores")
    columns = [positions("question", table.questions, wanted) for wanted in (first, second)]
    shared = [table.questions[column] for column in np.intersect1d(columns[0], columns[1])]
    if shared:
        msg = f"first and second share {listed(shared)}: separate the sets"
        raise LabelError(msg)
    codes = np.arange(values.shape[1])
    if clusters is not None:
        codes = cluster_codes(clusters, table.questions)
    a, b = (_side(values[:, column], codes[column], int(codes.max()) + 1) for column in columns)
    several = (a.n_clusters > 1) & (b.n_clusters > 1)
    se = np.where(several, np.sqrt(((a.residual - b.residual) ** 2).sum(axis=1)), np.nan)
    # If residuals cancel within every cluster, their sums are rounding errors.
    se[se <= ROUNDING * (np.abs(a.residual) + np.abs(b.residual)).sum(axis=1)] = 0.0
    df = np.where(several, _degrees(a, b), np.nan)
    multiple = stdtrit(np.where(several, df, 1.0), 0.5 + 0.5 * level)
    value, margin = a.mean - b.mean, np.where(se > 0, multiple * se, np.nan)
    return Estimate(
        name="difference of sets",
        value=value,
        se=se,
        interval=within_range(np.stack([value - margin, value + margin], axis=1), values, -1.0),
        n=a.n + b.n,
        flags=first_reason(
            ((a.n == 0) | (b.n == 0), Reason.NO_SCORES),
            (~several, Reason.ONE_QUESTION if clusters is None else Reason.ONE_CLUSTER),
            (se == 0, Reason.NO_SPREAD),
            (few(df) & (clusters is not None), Reason.FEW_CLUSTERS),
        ),
        method="cluster-robust (cr2), t",
        level=level,
        labels=table.models,
        df=None if clusters is None else df,
    )


@dataclass(frozen=True, slots=True)
class _Side:
    """Mean scores of all models on one set of questions, with residuals of each cluster."""

    mean: FloatArray  # (models,)
    n: FloatArray  # (models,)
    n_clusters: FloatArray  # (models,)
    residual: FloatArray  # (models, clusters) residuals of (1)
    h: FloatArray  # (models, clusters)


def _side(values: FloatArray, clusters: IntArray, n_clusters: int) -> _Side:
    present = np.isfinite(values)
    weight = present.astype(np.float64)
    mean = clustered_mean(values, weight, None).value
    n = weight.sum(axis=1)
    centred = np.where(present, values - mean[:, None], 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        h = cluster_sums(weight, clusters, n_clusters) / n[:, None]
        summed = cluster_sums(centred, clusters, n_clusters) / n[:, None]
        residual = np.where(h < 1.0, summed / np.sqrt(1.0 - h), np.nan)
    return _Side(mean, n, (h > 0).sum(axis=1).astype(np.float64), residual, h)


def _degrees(a: _Side, b: _Side) -> FloatArray:
    """Return the degrees of freedom, equation (2) (models,)."""
    with np.errstate(invalid="ignore", divide="ignore"):
        x = [side.h / np.sqrt((1.0 - side.h) * side.n[:, None]) for side in (a, b)]
        own = ((a.h / a.n[:, None] + b.h / b.n[:, None]) ** 2).sum(axis=1)
        # The sum of (x_a x_a + x_b x_b)^2 over pairs of clusters is computed without the matrix of
        # all pairs.
        cross = sum((s * t).sum(axis=1) ** 2 - ((s * t) ** 2).sum(axis=1) for s in x for t in x)
        return np.asarray((1.0 / a.n + 1.0 / b.n) ** 2 / (own + cross), dtype=np.float64)
