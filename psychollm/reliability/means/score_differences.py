r"""Paired differences of the mean scores of two models on the same questions.

The difficulty of a question affects both models, so the scores are correlated. The variance of the
mean of :math:`d_q = s_{qA} - s_{qB}` is therefore smaller than with independent scores:

.. math:: \operatorname{Var}(\bar d) = \operatorname{Var}(\bar s_A) + \operatorname{Var}(\bar s_B)
          - 2 \operatorname{Cov}(\bar s_A, \bar s_B).                                     \quad (1)

The standard error is computed by `mean_score` applied to d. For binary scores, McNemar's test is
also computed, without correction for continuity. Let b be the number of questions that only the
first model solved, and c the number of questions that only the second model solved. Then

.. math:: \chi^2 = \frac{(b - c)^2}{b + c}, \qquad
          p_\text{exact} = \min\bigl(1,\, 2 P(X \le \min(b, c))\bigr), \quad
          X \sim \operatorname{Bin}(b + c, \tfrac12).                                     \quad (2)

Pairs that share a model have correlated errors. Let :math:`r_{pg}` be the contribution of cluster
g to the error of pair p, and :math:`\varepsilon_g` independent standard normal variables. The
errors :math:`\sum_g \varepsilon_g r_{pg}` have the variances and covariances of the estimates.
Simultaneous intervals ("max_t") are based on the distribution of the largest standardised error.

If all T strata of questions (for example, tasks) have equal weight, the mean is :math:`\frac{1}{T}
\sum_t \bar s_t`, and stratum t contains :math:`n_t` questions. Strata are fixed, so only the
sampling of questions within strata contributes to the error. Residuals are deviations from
:math:`\bar s_t`, and :math:`\sqrt{n_t / (n_t - 1)}` replaces the correction factor for the mean of
all questions.

The unit of replication is the question, or the cluster if clusters are given. McNemar's test
assumes independent questions, and is NaN if a cluster contains several questions.

References
----------
Miller, E. (2024). Adding error bars to evals. arXiv:2411.00640.

Chernozhukov, V., Chetverikov, D., & Kato, K. (2013). Gaussian approximations and multiplier
bootstrap for maxima of sums of high-dimensional random vectors. Annals of Statistics, 41,
2786-2819. https://doi.org/10.1214/13-AOS1161

McNemar, Q. (1947). Note on the sampling error of the difference between correlated proportions or
percentages. Psychometrika, 12, 153-157. https://doi.org/10.1007/BF02295996
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.special import bdtr, chdtrc, stdtr

from psychollm._base.axes import Axes
from psychollm._base.checks import (
    DRAWS,
    MOST,
    check_choice,
    check_count,
    check_fraction,
    check_generator,
    of_one_shape,
)
from psychollm._base.errors import CodeError, LabelError, ShapeError
from psychollm._base.multiplicity import adjust_p_values
from psychollm._base.replicate import one_blas_thread
from psychollm._base.result import Result
from psychollm._base.types import FloatArray, IntArray, RandomState
from psychollm.calibration.stated import cluster_codes
from psychollm.data.connected import connected
from psychollm.data.labels import Labels, listed, naming_advice
from psychollm.data.responses import ResponsesLike
from psychollm.data.table import numbers, one_model
from psychollm.estimates.clustered import few
from psychollm.estimates.comparisons import FamilyAdjustment, max_t_of
from psychollm.estimates.intervals import within_range
from psychollm.estimates.reasons import Reason, first_reason
from psychollm.reliability.means.clustered import Correction
from psychollm.reliability.means.pair_means import PairMeans, pair_means, strata_of


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScoreDifferences(Result):
    """Differences between two models' mean scores on the questions that both answered.

    Examples
    --------
    >>> found = score_differences([[1, 1, 0, 1, 0, 1], [1, 0, 0, 1, 0, 0]])
    >>> found.value.round(3), found.se.round(3), found.se_unpaired.round(3)
    (array([0.333]), array([0.211]), array([0.298]))
    """

    first: tuple[Any, ...]  # (pairs,)
    second: tuple[Any, ...]  # (pairs,)
    value: FloatArray  # (pairs,) first - second
    se: FloatArray  # (pairs,) paired standard error; clustered if clusters are given
    df: FloatArray  # (pairs,) degrees of freedom of `se`
    interval: FloatArray  # (pairs, 2) Student's t intervals; simultaneous for "max_t"
    margin: FloatArray  # (pairs,) margin of error, before clipping to [-1, 1]
    p_value: FloatArray  # (pairs,) two-sided p-value for no difference
    adjusted: FloatArray  # (pairs,) p-values adjusted for the number of pairs
    n: IntArray  # (pairs,) questions that both answered
    n_clusters: IntArray  # (pairs,)
    se_paired: FloatArray  # (pairs,) SE assuming independent questions
    se_unpaired: FloatArray  # (pairs,) SE assuming separate questions for each model
    correlation: FloatArray  # (pairs,) correlation of the two models' scores
    first_only: FloatArray  # (pairs,) b of (2); NaN if not binary
    second_only: FloatArray  # (pairs,) c of (2)
    mcnemar_chi2: FloatArray  # (pairs,) NaN without discordant questions, or with clusters
    mcnemar_p: FloatArray  # (pairs,) asymptotic p-value
    mcnemar_exact_p: FloatArray  # (pairs,) exact p-value
    adjustment: str
    correction: str
    level: float
    flags: tuple[Reason, ...]  # (pairs,)
    pilot_df: FloatArray | None = None  # (pairs,) degrees of freedom for planning another study

    _AXES = Axes(
        {},
        "first",
        "second",
        "value",
        "se",
        "{bound}=interval",
        "p_value",
        "adjusted",
        "n",
        "n_clusters",
        "correlation",
        "se_paired",
        "se_unpaired",
        "mcnemar_exact_p",
        "flag=flags",
    )


def score_differences(
    scores: ResponsesLike,
    *,
    pairs: Sequence[tuple[Hashable, Hashable]] | None = None,
    clusters: Any = None,
    tasks: Any = None,
    correction: Correction = "cr2",
    adjustment: FamilyAdjustment = "holm",
    level: float = 0.95,
    n_draws: int = 4000,
    rng: RandomState = None,
) -> ScoreDifferences:
    """Compare mean scores of pairs of models on the same questions.

    The unit of replication is the question, or the cluster if `clusters` is given.

    Parameters
    ----------
    scores : Responses, DataFrame, DataArray or array_like (models, questions)
        Numeric scores, such as 1 = correct; NaN marks a missing score.
    pairs : sequence of (first, second), optional
        Labels of the pairs of models to compare; by default all pairs.
    clusters : array_like (questions,), optional
        Cluster of each question.
    tasks : array_like (questions,), optional
        Task of each question. If `tasks` is given, all tasks have equal weight, regardless of
        their numbers of questions.
    correction : {"cr2", "cr1", "cr0"}
        Small-sample correction of the standard error; "cr2" also corrects for clusters of unequal
        size.
    adjustment : {"holm", "bonferroni", "bh", "by", "max_t"}
        Adjustment of p-values for the number of pairs. "max_t" accounts for the correlation of
        pairs that share a model. The p-values of "max_t" are smaller than the p-values of "holm",
        and its intervals are simultaneous.
    level : float
        Coverage of the intervals, between 0 and 1.
    n_draws : int
        Number of simulated error vectors for "max_t".
    rng : Generator, int or None
        Random generator or seed; used only by "max_t".

    Returns
    -------
    ScoreDifferences
        Differences of mean scores, with tests and intervals. A difference is NaN with a reason if
        two models have fewer than two common questions or clusters. For models with identical
        scores, the difference is 0, the p-value is 1, and the interval is NaN.

    Raises
    ------
    ShapeError
        If there is only one model, or clusters do not match the questions.
    LabelError
        If a pair names an unknown model.
    CodeError
        If a score is not a finite number.
    OptionError
        If an option is invalid.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> found = score_differences(rng.integers(0, 2, (3, 60)), clusters=np.arange(60) // 4)
    >>> found.n_clusters, found.df
    (array([15, 15, 15]), array([14., 14., 14.]))
    """
    check_choice("correction", correction, Correction)
    check_choice("adjustment", adjustment, FamilyAdjustment)
    check_fraction("level", level)
    table = one_model(scores, argument="scores")
    values = numbers(table, argument="scores")
    codes = None if clusters is None else cluster_codes(clusters, table.questions)
    strata = None if tasks is None else strata_of(tasks, table.questions)
    i, j = _places(pairs, table.models)
    of = pair_means(values, i, j, clusters=codes, strata=strata, correction=correction)
    return differences_of(
        of, table.models, values, (i, j), connected(np.isfinite(values))[i],
        adjustment=adjustment, correction=correction, level=level, n_draws=n_draws, rng=rng,
    )  # fmt: skip


def differences_of(
    of: PairMeans,
    models: Labels,
    values: FloatArray,
    places: tuple[IntArray, IntArray],
    family: IntArray,
    *,
    adjustment: FamilyAdjustment,
    correction: str,
    level: float,
    n_draws: int,
    rng: RandomState,
) -> ScoreDifferences:
    """Return intervals and p-values of differences, given their standard errors.

    Parameters
    ----------
    of : PairMeans
        Differences, their standard errors and a function that draws their errors.
    models : tuple
        Labels of the models.
    values : ndarray (models, questions)
        Scores; if all scores are within [0, 1], intervals of differences are clipped to [-1, 1].
    places : tuple of ndarray (pairs,)
        Indices of the first and the second model of each pair.
    family : ndarray (pairs,)
        Family of each pair; intervals are simultaneous within families.
    """
    i, j = places
    p_value, interval = _p_value(of), of.interval(level)
    if adjustment == "max_t":
        draws = check_count("n_draws", n_draws, low=100, high=DRAWS)
        # Groups of models without common questions are separate families.
        interval, adjusted = _all_at_once(of, family, level, draws, rng)
        interval = np.where(of.se[:, None] > 0, interval, np.nan)
        adjusted = np.where(np.isfinite(p_value), adjusted, np.nan)
    else:
        adjusted = adjust_p_values(p_value, method=adjustment)
    clustered = of.n_clusters < of.n
    chi2, asymptotic, exact = (
        np.where(clustered, np.nan, part) for part in _mcnemar(of.first_only, of.second_only)
    )
    return ScoreDifferences(
        first=tuple(models[row] for row in i),
        second=tuple(models[row] for row in j),
        value=of.value,
        se=of.se,
        df=of.df,
        interval=within_range(interval, values, -1.0),
        margin=interval[:, 1] - of.value,
        p_value=p_value,
        adjusted=adjusted,
        n=of.n.astype(np.int64),
        n_clusters=of.n_clusters.astype(np.int64),
        se_paired=of.se_paired,
        se_unpaired=np.sqrt(of.se_first**2 + of.se_second**2),
        correlation=_correlation(of.se_paired, of.se_first, of.se_second),
        first_only=of.first_only,
        second_only=of.second_only,
        mcnemar_chi2=chi2,
        mcnemar_p=asymptotic,
        mcnemar_exact_p=exact,
        adjustment=adjustment,
        correction=correction,
        level=level,
        flags=_flags(of),
        pilot_df=of.pilot_df,
    )


class McNemar(NamedTuple):
    """Result of McNemar's test for one or more pairs of models."""

    chi2: FloatArray
    p_value: FloatArray
    exact_p_value: FloatArray


def mcnemar(first_only: Any, second_only: Any) -> McNemar:
    """Compare two models on the same questions by McNemar's test, equation (2).

    Parameters
    ----------
    first_only, second_only : array_like (...)
        Number of questions that only the first model solved, and that only the second model
        solved.

    Returns
    -------
    McNemar
        Arrays `chi2`, `p_value` (asymptotic) and `exact_p_value`, each of shape (...). Without
        discordant questions, `chi2` and `p_value` are NaN and `exact_p_value` is 1.

    Raises
    ------
    ShapeError
        If the shapes differ.
    CodeError
        If the values are not counts.

    References
    ----------
    McNemar, Q. (1947). Note on the sampling error of the difference between correlated proportions
    or percentages. Psychometrika, 12, 153-157. https://doi.org/10.1007/BF02295996

    Examples
    --------
    >>> found = mcnemar(10, 4)
    >>> print(found.chi2.round(4), found.p_value.round(4), found.exact_p_value.round(4))
    2.5714 0.1088 0.1796
    """
    b, c = of_one_shape({"first_only": first_only, "second_only": second_only})
    both = np.stack([b, c])
    with np.errstate(invalid="ignore"):
        bad = (both < 0.0) | (both > MOST) | (both % 1.0 != 0.0)
    if bad[~np.isnan(both)].any():
        msg = "first_only and second_only must be counts of questions: 0, 1, 2, ..."
        raise CodeError(msg)
    if both[0].size > 1 and (both <= 1.0).all():
        msg = (
            "first_only and second_only hold answers, 0 and 1, but two counts are needed: pass "
            "((first == 1) & (second == 0)).sum() and the reverse, or use "
            "score_differences([first, second])"
        )
        raise CodeError(msg)
    return _mcnemar(b, c)


def _mcnemar(b: FloatArray, c: FloatArray) -> McNemar:
    n = b + c
    with np.errstate(invalid="ignore", divide="ignore"):
        chi2 = (b - c) ** 2 / n
    known = np.isfinite(n)
    whole = np.where(known, n, 0.0).astype(np.int64)
    fewer = np.where(known, np.minimum(b, c), 0.0)
    exact = np.where(known, np.minimum(2.0 * bdtr(fewer, whole, 0.5), 1.0), np.nan)
    return McNemar(np.asarray(chi2), np.asarray(chdtrc(1, chi2)), exact)


def one_only(model: Hashable) -> str:
    """Return the error message about scores of a single model."""
    return (
        f"scores holds one model only ({model!r}): a comparison needs two; if logs hold two runs "
        f"of one model, {naming_advice()}"
    )


def _places(
    pairs: Sequence[tuple[Hashable, Hashable]] | None, models: Labels
) -> tuple[IntArray, IntArray]:
    if len(models) < 2:
        raise ShapeError(one_only(models[0]))
    if pairs is None:
        first, second = np.triu_indices(len(models), 1)
        return first, second
    if not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in pairs) or not pairs:
        msg = f'pairs holds {listed(list(pairs))}: pass pairs of models, such as [("a", "b")]'
        raise LabelError(msg)
    row = {label: position for position, label in enumerate(models)}
    for label in (label for pair in pairs for label in pair):
        if label not in row:
            msg = f"pairs names {label!r}, but the models are {listed(models)}"
            raise LabelError(msg)
    rows = np.array([[row[a], row[b]] for a, b in pairs], dtype=np.int64)
    return rows[:, 0], rows[:, 1]


def _p_value(of: PairMeans) -> FloatArray:
    """Return two-sided p-values; 1 for identical scores, NaN for a constant difference."""
    with np.errstate(invalid="ignore", divide="ignore"):
        p = 2.0 * stdtr(np.nan_to_num(of.df, nan=1.0), -np.abs(of.value / of.se))
    constant = np.where(of.value == 0.0, 1.0, np.nan)
    return np.asarray(np.where(of.se > 0, p, np.where(of.se == 0, constant, np.nan)))


def _all_at_once(
    of: PairMeans, family: IntArray, level: float, n_draws: int, rng: RandomState
) -> tuple[FloatArray, FloatArray]:
    """Return simultaneous intervals and adjusted p-values, by family of pairs."""
    df = np.nan_to_num(of.df, nan=1.0)
    # `max_t` expects resamples, whose variance is nu / (nu + 1) times the variance of the
    # estimate.
    se = np.where(of.se > 0, of.se, 0.0) * np.sqrt(df / (df + 1.0))
    interval, adjusted = np.full((len(family), 2), np.nan), np.full(len(family), np.nan)
    with one_blas_thread():  # rounding depends on the number of threads
        errors = of.errors(check_generator(rng), n_draws)

        def deviations(own: IntArray, places: IntArray) -> FloatArray:
            drawn = errors(own[places])
            return np.asarray(drawn / drawn.std(axis=0, ddof=1))

        for own in (np.flatnonzero(family == one) for one in np.unique(family)):
            found = max_t_of(
                of.value[own], se[own], df[own], partial(deviations, own), n_draws=n_draws,
                level=level,
            )  # fmt: skip
            interval[own], adjusted[own] = found.interval, found.step_down
    return interval, adjusted


def _correlation(difference: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
    """Return Pearson's correlation over questions; NaN if a model's scores do not vary."""
    with np.errstate(invalid="ignore", divide="ignore"):
        covariance = 0.5 * (first**2 + second**2 - difference**2)
        # If the scores of a model do not vary, its estimated covariances are rounding errors.
        known = np.where((first > 0) & (second > 0), covariance / (first * second), np.nan)
        return np.asarray(np.clip(known, -1.0, 1.0))


def _flags(of: PairMeans) -> tuple[Reason, ...]:
    return first_reason(
        (of.n == 0, Reason.NO_COMMON),
        (of.n == 1, Reason.ONE_QUESTION),
        (of.few_of_a_task, Reason.FEW_OF_A_TASK),
        (of.n_clusters == 1, Reason.ONE_CLUSTER),
        (of.se == 0, Reason.NO_SPREAD),
        (few(of.df) & (of.n_clusters < of.n), Reason.FEW_CLUSTERS),
    )
