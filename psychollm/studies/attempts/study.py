r"""Estimate success in several attempts at the same questions.

For s successes in n attempts, pass@k and pass^k have unbiased closed-form estimates
(`psychollm.studies.attempts.closed_forms`). The estimates are averaged over questions. The unit of
replication is the question, or the cluster of questions, not the attempt. Wilson intervals use an
effective number of questions and quantiles of Student's t. These intervals remain valid with few
questions and near 0 and 1. Models are compared on the same questions. Without clusters, intervals
of differences combine Wilson intervals (`psychollm.studies.attempts.differences`).

Values between 0 and 1 vary less than binary values, but a few values do not suffice to estimate
how much less. With mean p and variance V of the mean of n values, the Wilson interval without
clusters uses

.. math:: V^+ = \max\Big(V, \, \frac{p (1 - p)}{n - 1} \,
                \frac{n (n - 1) V + a}{n p (1 - p) + a}\Big), \qquad a = 0.05,            \quad (1)

which adds one twentieth of a binary question to both variances in the ratio. Intervals for binary
values are unaffected.

`Attempts.foretell` predicts the results of further attempts with a beta-binomial model.

References
----------
Chen, M., et al. (2021). Evaluating large language models trained on code. arXiv:2107.03374.

Yao, S., Shinn, N., Razavi, P., & Narasimhan, K. (2024). tau-bench: A benchmark for
tool-agent-user interaction in real-world domains. arXiv:2406.12045.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from psychollm._base.checks import check_fraction, check_generator
from psychollm._base.errors import LabelError
from psychollm._base.types import FloatArray, IntArray, RandomState
from psychollm.calibration.stated import cluster_codes
from psychollm.data.labels import Labels, numbered, unit_labels
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.intervals import wilson
from psychollm.estimates.reasons import Reason, first_reason
from psychollm.reliability.means.clustered import ClusteredMean, clustered_mean
from psychollm.reliability.means.score_differences import ScoreDifferences
from psychollm.studies.attempts.closed_forms import AT_LEAST_ONE, EVERY, QUANTITIES, Quantity
from psychollm.studies.attempts.counts import counts_of, spent_of
from psychollm.studies.attempts.differences import differences_in
from psychollm.studies.attempts.frontier import COST, SECONDS
from psychollm.studies.attempts.result import Attempts, attempts_asked
from psychollm.studies.attempts.shares import shares_of

_ADDED = 0.05  # a of (1)


def attempts(
    results: Any,
    *,
    model: str | None = None,
    question: str | None = None,
    successes: str | None = None,
    trials: str | None = None,
    cost: str | None = None,
    seconds: str | None = None,
    k: int | Sequence[int] = (1, 3, 5),
    clusters: Any = None,
    families: Any = None,
    level: float = 0.95,
    n_draws: int = 4000,
    rng: RandomState = None,
) -> Attempts:
    """Estimate success in several attempts at the same questions: pass@k and pass^k.

    Parameters
    ----------
    results : ScoreLog, RepeatedScores, DataFrame or array_like
        Attempts, coded 1 (success) or 0 (failure): logs with epochs, an array (models, questions,
        attempts), or a long table with one row per attempt. Long tables may also have one row per
        model and question, with one column per attempt (``try1``, ``try2``, ...), or with counts
        of successes and attempts.
    model, question : str, optional
        Columns of a long table; by default, columns are found by common names.
    successes, trials : str, optional
        Columns with the numbers of successes and attempts; by default, columns with names such as
        ``successes`` and ``trials``.
    cost, seconds : str, optional
        Columns with the cost and duration of an attempt (in a table of counts, the mean per
        attempt); for logs, fields kept by `read_scores`. `Attempts.frontier` compares cost or
        duration with success.
    k : int or sequence of int
        Numbers of attempts.
    clusters : array_like (questions,), optional
        Cluster of each question, such as a family of tasks.
    families : array_like (models,), optional
        Family of each model. If families are passed, the variance between models is decomposed
        into variance between families and variance within families.
    level : float
        Coverage of the intervals: pointwise for values, simultaneous for all differences in one
        quantity.
    n_draws : int
        Number of draws for the simultaneous intervals.
    rng : Generator, int or None
        Source of randomness.

    Returns
    -------
    Attempts
        Values are NaN with a reason if no question has k attempts. Questions with fewer than k
        attempts are omitted for that k, and the value is flagged.

    Raises
    ------
    CodeError
        If an attempt is neither 0 nor 1, counts are invalid, or a cost or time is negative.
    LabelError, ShapeError
        If a column is missing, clusters do not match the questions, or families do not match the
        models.
    OptionError
        If an option is out of range.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> tries = rng.random((2, 60, 5)) < rng.beta(0.4, 0.4, (1, 60, 1)) * [[[1.0]], [[0.7]]]
    >>> found = attempts(tries.astype(int), k=(1, 3), rng=1)
    >>> print(found.findings().verdict[:40])
    0 has the highest pass^3, 0.352 [0.248,
    >>> found.to_frame().drop(columns="flag").round(2).head(2)
       model quantity  k  value  lower  upper
    0      0   pass@k  1   0.51   0.41   0.62
    1      1   pass@k  1   0.35   0.27   0.44
    >>> found.foretell(8).value.round(2)
    array([0.79, 0.25, 0.69, 0.04])
    """
    wanted = attempts_asked(k)
    check_fraction("level", level)
    counts = counts_of(results, model=model, question=question, successes=successes, trials=trials)
    spent = {
        name: spent_of(results, column, counts, model=model, question=question)
        for name, column in ((COST, cost), (SECONDS, seconds))
        if column is not None
    }
    codes = None if clusters is None else cluster_codes(clusters, counts.questions)
    kin = None if families is None else _families(families, counts.models)
    source = check_generator(rng)
    found: dict[Quantity, dict[int, Estimate]] = {quantity: {} for quantity in QUANTITIES}
    differences: dict[str, ScoreDifferences] = {}
    for quantity in QUANTITIES:
        for one in wanted:
            values = quantity.of(counts.successes, counts.trials, one)
            found[quantity][one] = _estimate(
                quantity.called(one), values, codes, counts.models, counts.trials, level
            )
            if len(counts.models) > 1 and not (one == 1 and quantity is EVERY):
                differences[quantity.called(one)] = differences_in(
                    values, codes, counts.models, counts.questions,
                    level=level, n_draws=n_draws, rng=source,
                )  # fmt: skip
    return Attempts(
        pass_at_k=found[AT_LEAST_ONE],
        pass_hat_k=found[EVERY],
        differences=differences,
        shares=shares_of(counts.successes, counts.trials, kin, level=level),
        successes=counts.successes,
        trials=counts.trials,
        labels=counts.models,
        questions=counts.questions,
        level=level,
        spent=spent,
        clusters=codes,
    )


def _wilson(mean: ClusteredMean, level: float) -> FloatArray:
    """Return Wilson intervals (rows, 2), based on the variance of equation (1)."""
    n, value = mean.n_clusters, mean.value
    with np.errstate(invalid="ignore", divide="ignore"):
        binary = n * value * (1.0 - value)
        squares = n * (n - 1.0) * mean.se**2
        variance = binary / (n * (n - 1.0)) * (squares + _ADDED) / (binary + _ADDED)
        variance = np.maximum(variance, mean.se**2)
        size = value * (1.0 - value) / variance
    known = mean.se > 0.0
    size = np.where(known, size, 0.0)
    return wilson(
        np.where(known, value, 0.0) * size, size, level=level, df=np.nan_to_num(mean.df, nan=1.0)
    )


def _families(families: Any, models: Labels) -> IntArray:
    codes = numbered(unit_labels(families, models, argument="families"))[0]
    if codes.max() == codes.min():
        msg = "families has one family: the variance between families needs at least two"
        raise LabelError(msg)
    return codes


def _estimate(
    name: str,
    values: FloatArray,
    clusters: IntArray | None,
    models: Labels,
    trials: FloatArray,
    level: float,
) -> Estimate:
    """Return means over questions, with Wilson intervals."""
    there = np.isfinite(values)
    mean = clustered_mean(values, there.astype(np.float64), clusters)
    interval = _wilson(mean, level) if clusters is None else mean.interval(level, shares=True)
    # If values do not vary, use the number of questions or clusters as effective sample size.
    alike = (mean.se == 0.0) & there.any(axis=1)
    if alike.any():
        n = mean.n_clusters[alike]
        interval[alike] = wilson(mean.value[alike] * n, n, level=level)
    left_out = np.asarray(((trials > 0) & ~there).any(axis=1))
    none = np.asarray(~there.any(axis=1))
    value = np.where(none, np.nan, mean.value)
    flags = first_reason(
        (none, Reason.FEW_ATTEMPTS),
        (mean.n_clusters == 1, Reason.ONE_QUESTION),
        (left_out, Reason.SOME_FEW_ATTEMPTS),
    )
    bare = none | (mean.n_clusters < 2)
    return Estimate(
        name=name,
        value=value,
        se=np.where(bare, np.nan, mean.se),
        interval=np.where(bare[:, None], np.nan, np.clip(interval, 0.0, 1.0)),
        n=there.sum(axis=1).astype(np.float64),
        flags=flags,
        method="over questions" if clusters is None else "over clusters of questions",
        level=level,
        labels=models,
        df=None if clusters is None else mean.df,
    )
