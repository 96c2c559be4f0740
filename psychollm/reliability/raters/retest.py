"""Scores on the same questions in several runs: totals, pooled rate and majority-vote rate.

Answers to the same question in several runs are dependent, so the question is the unit of
replication. A rate over questions and runs has a Wilson interval for the effective number of
answers (`psychollm.reliability.raters.score_interval`). The effective number ranges from the
number of questions, if runs always agree, to the number of answers, if runs are independent.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from psychollm._base.axes import Axes, whole
from psychollm._base.result import Result
from psychollm._base.types import FloatArray, IntArray, RandomState
from psychollm.calibration.stated import cluster_codes
from psychollm.data.labels import Labels
from psychollm.data.responses import ResponsesLike
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.intervals import wilson
from psychollm.estimates.reasons import Reason
from psychollm.estimates.resampling import Bootstrap, Resampling
from psychollm.reliability.raters.ratings import as_ratings, unit_scores
from psychollm.reliability.raters.score_interval import clustered_share
from psychollm.reliability.raters.unit_bootstrap import (
    Panel,
    Panelist,
    UnitShare,
    estimate_panel,
    mean_of_shares,
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Retest(Result):
    """Scores of every model in each run, over all runs, and by majority vote of the runs.

    Examples
    --------
    >>> found = retest([[[1, 1, 0]], [[1, 0, 0]], [[1, 1, 0]]], rng=0)
    >>> found.totals, found.rate.value.round(3), found.majority.value.round(3)
    (array([[2., 1., 2.]]), array([0.556]), array([0.667]))
    """

    rate: Estimate  # mean score over all answers
    majority: Estimate  # proportion of questions passed in a majority of runs
    totals: FloatArray  # (models, runs) sum of scores
    n: FloatArray  # (models, runs) number of answers
    rates: FloatArray  # (models, runs)
    intervals: FloatArray  # (models, runs, 2) Wilson intervals
    runs: Labels
    labels: Labels  # (models,)

    _AXES = Axes(
        {"model": "labels", "run": "runs"},
        "total=totals",
        whole("n"),
        "rate=rates",
        "{bound}=intervals",
        arrays={"model run": "totals n rates", "model run bound": "intervals"},
    )

    def summary(self) -> str:
        """Return a summary with one sentence per model.

        Examples
        --------
        >>> print(retest([[[1, 1, 0]], [[1, 0, 0]]], rng=0).summary())
        0: 50.0 % [16.1, 83.9] over 2 runs (totals 1 to 2); by majority 50.0 %
        """
        return "\n".join(self._sentence(row) for row in range(len(self.labels)))

    def _sentence(self, row: int) -> str:
        if not self.rate.defined[row]:
            return f"{self.labels[row]}: {self.rate.flags[row]}"
        low, high = 100.0 * self.rate.interval[row]
        own = self.totals[row, self.n[row] > 0]
        return (
            f"{self.labels[row]}: {100 * self.rate.value[row]:.1f} % [{low:.1f}, {high:.1f}] over "
            f"{own.size} runs (totals {own.min():g} to {own.max():g}); by majority "
            f"{100 * self.majority.value[row]:.1f} %"
        )


def retest(
    scores: ResponsesLike,
    *,
    clusters: Any = None,
    bootstrap: Bootstrap | int = 2000,
    level: float = 0.95,
    rng: RandomState = None,
) -> Retest:
    """Compute each model's totals by run, its rate over all runs, and its majority-vote rate.

    Parameters
    ----------
    scores : Ratings, DataFrame, array (questions, runs) or (runs, models, questions), sequence
        Scores inside [0, 1]: 1 = passed, 0 = failed; NaN marks a missing score. A table has one
        row per question and one column per run. A sequence has one element per run: a vector for
        one model, or a table (models, questions).
    clusters : array_like (questions,), optional
        Cluster of each question, such as its passage; the jackknife and the bootstrap omit or
        resample whole clusters.
    bootstrap : int or Bootstrap
        Number of resamples of questions. All models use the same resamples, so differences are
        paired.
    level : float
        Coverage of the intervals, between 0 and 1.
    rng : Generator, int or None
        Random generator or seed. The result does not depend on `n_jobs`.

    Returns
    -------
    Retest
        Scores by run, pooled rate, and majority rate with ties counted as one half. The unit of
        replication is the question or the cluster, not the answer. Runs have Wilson intervals;
        `rate` and `majority` have resamples, used by `Estimate.difference`.

    Raises
    ------
    CodeError
        If a score is not a number inside [0, 1].
    ShapeError, LabelError
        If the runs differ in their models or questions, or the clusters do not match the
        questions.
    OptionError
        If an option is invalid.

    Examples
    --------
    >>> print(retest([[[1, 1, 0, 1]], [[1, 1, 0, 0]]], rng=0).rate.interval.round(3))
    [[0.258 0.889]]
    """
    known = as_ratings(scores, "scores")
    values = unit_scores(known)
    options = Resampling.of(bootstrap, level, rng)
    codes = None if clusters is None else cluster_codes(clusters, known.questions)
    members = [_member(own) for own in values]
    rate, majority = estimate_panel(
        Panel(
            names=("rate", "rate by majority"),
            members=members,
            labels=known.models,
            clusters=codes,
            options=options,
        )
    )
    totals, n = np.nansum(values, axis=1), np.isfinite(values).sum(axis=1).astype(np.float64)
    return Retest(
        rate=rate,
        majority=majority,
        totals=totals,
        n=n,
        rates=totals / np.where(n > 0, n, np.nan),
        intervals=_of_runs(values, codes, level),
        runs=known.runs,
        labels=known.models,
    )


def _of_runs(values: FloatArray, clusters: IntArray | None, level: float) -> FloatArray:
    """Return the intervals of the rates of single runs (models, runs, 2)."""
    there = np.isfinite(values).astype(np.float64)
    if clusters is None:
        return wilson(np.nansum(values, axis=1), there.sum(axis=1), level=level)
    hits = np.nan_to_num(values)
    bounds = [
        [clustered_share(*run, clusters, level=level).interval for run in zip(*both, strict=True)]
        for both in zip(np.moveaxis(hits, 2, 1), np.moveaxis(there, 2, 1), strict=True)
    ]
    return np.array(bounds, dtype=np.float64)


def _member(values: FloatArray) -> Panelist:
    """Return the rate and the majority rate of one model, from scores (questions, runs)."""
    sizes = np.isfinite(values).sum(axis=1).astype(np.float64)
    sums = np.nansum(values, axis=1)
    present = sizes > 0
    won = np.where(present, 0.5 + 0.5 * np.sign(2.0 * sums - sizes), 0.0)
    shares = (
        UnitShare(sums, sizes, float(sizes.sum())),
        UnitShare(won, present.astype(np.float64), float(present.sum())),
    )
    flag = Reason.NONE if present.any() else Reason.NO_RATINGS
    return Panelist(
        compute=mean_of_shares(shares),
        paired=present,
        flags=(flag, flag),
        expected=np.ones(2),
        pairs=max(float(present.sum()), 1.0),
        shares=shares,
    )
