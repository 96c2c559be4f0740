r"""Rank tests of differences between conditions, with effect sizes and intervals.

The *Kruskal-Wallis* test ranks all scores together. The effect size of the Kruskal-Wallis test is

.. math:: \varepsilon^2 = \frac{H}{n - 1} .                                              \quad (1)

The effect size is the proportion of the variance of ranks that conditions explain. By default the
unit of replication is the single score. If `models` is given, repeats of a model under a condition
are averaged, and the unit is the model. If a model appears under several conditions, H does not
have a chi-square distribution, because differences between models are part of the error. For such
data, the p-value is based on random permutations of the conditions within each model. The
*Friedman* test ranks the conditions within each model, which is the unit of replication. The
Friedman test requires scores of every model under every condition; repeats are averaged first. The
effect size of the Friedman test is Kendall's

.. math:: W = \frac{\chi^2}{m (k - 1)} .                                                \quad (2)

Here m is the number of models and k is the number of conditions. Kendall's W is 1 if all models
rank the conditions in the same order.

If the effect is small, both effect sizes are biased upwards. The bias b is estimated by the mean
of the resamples minus the estimate. Percentiles of the resamples are biased by 2 b, so the
interval is

.. math:: \bigl[\, \theta - b + f (q_\text{low} - \bar\theta^*),\;
          \theta - b + f (q_\text{high} - \bar\theta^*) \,\bigr], \qquad
          b = \bar\theta^* - \theta.                                                    \quad (3)

The interval is clipped to [0, 1]. With few units, the variance of resamples is too small; the
factor f corrects it. The factor is :math:`\sqrt{m / (m - 1)}`, multiplied by the ratio of the
quantiles of Student's t and the normal distribution if models are resampled. In simulations with
30 or more units, the coverage of 95 % intervals was 92 to 100 %. With ten models and a strong
effect, the interval for Kendall's W has a coverage below 90 %.

References
----------
Kruskal, W. H., & Wallis, W. A. (1952). Use of ranks in one-criterion variance analysis. Journal of
the American Statistical Association, 47, 583-621. https://doi.org/10.1080/01621459.1952.10483441

Friedman, M. (1937). The use of ranks to avoid the assumption of normality implicit in the analysis
of variance. Journal of the American Statistical Association, 32, 675-701.
https://doi.org/10.1080/01621459.1937.10503522

Tomczak, M., & Tomczak, E. (2014). The need to report effect size estimates revisited. Trends in
Sport Sciences, 21, 19-25.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtrc, ndtri, stdtrit

from psychollm._base.axes import Axes
from psychollm._base.checks import check_generator
from psychollm._base.numbers import number, p_equals, with_interval
from psychollm._base.result import Result
from psychollm._base.types import FloatArray, IntArray, RandomState, WordArray
from psychollm.estimates.null import monte_carlo_p_value
from psychollm.estimates.reasons import Reason
from psychollm.estimates.resampling import Bootstrap, Resampling, bootstrap_draws, question_counts
from psychollm.reliability.contrasts.condition_scores import ConditionScores, condition_scores

_BLOCK_NUMBERS = 500_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RankTest(Result):
    """Rank test with its effect size.

    Examples
    --------
    >>> found = kruskal_wallis([1, 2, 3, 4, 5, 6], list("aaabbb"), rng=0)
    >>> print(found.summary())
    Kruskal-Wallis test: chi-square(1) = 3.86, p = .050; epsilon squared 0.77 [0.65, 0.80].
    """

    test: str
    statistic: float  # chi-square under the null hypothesis if no model appears twice
    df: int
    p_value: float
    effect_name: str
    effect: float
    effect_se: float
    effect_interval: FloatArray  # (2,)
    conditions: tuple[Any, ...]
    mean_ranks: FloatArray  # (conditions,)
    sizes: FloatArray  # (conditions,) number of scores or models
    level: float
    note: str  # note on dependence that the test ignores
    flag: Reason

    _AXES = Axes({"condition": "conditions"}, "n=sizes", "mean_rank=mean_ranks")

    def summary(self) -> str:
        """Return one sentence with the result, and the note."""
        text = (
            f"{self.test} test: chi-square({self.df}) = {number(self.statistic)}, "
            f"{p_equals(self.p_value)}; {self.effect_name} "
            f"{with_interval(self.effect, self.effect_interval)}."
        )
        return f"{text} {self.note}".strip()


def kruskal_wallis(
    scores: ArrayLike,
    conditions: Any,
    *,
    models: Any = None,
    bootstrap: Bootstrap | int = 2000,
    level: float = 0.95,
    rng: RandomState = None,
) -> RankTest:
    """Test differences between conditions with the Kruskal-Wallis test.

    The unit of replication is the model if `models` is given, and otherwise the score.

    Parameters
    ----------
    scores, conditions : array_like (n,)
        Score and condition label of each row. Rows with a missing score are skipped.
    models : array_like (n,), optional
        Model of each score. Repeats of a model under a condition are averaged first, and whole
        models are resampled. By default all scores are treated as independent.
    bootstrap : int or Bootstrap
        Number of resamples for the interval of the effect size. If models appear under several
        conditions, this number is also the number of permutations for the p-value.
    level : float
        Coverage of the interval, between 0 and 1.
    rng : Generator, int or None
        Random generator or seed.

    Returns
    -------
    RankTest
        Kruskal-Wallis test and epsilon squared, equation (1). Test and effect size are NaN if
        there are fewer than two conditions, or if all scores are equal.

    Raises
    ------
    ShapeError, LabelError, CodeError
        If the rows of the arguments do not match, or a score is not a number.

    References
    ----------
    Kruskal, W. H., & Wallis, W. A. (1952). Use of ranks in one-criterion variance analysis.
    Journal of the American Statistical Association, 47, 583-621.
    https://doi.org/10.1080/01621459.1952.10483441

    Examples
    --------
    >>> kruskal_wallis([1, 2, 3, 4, 5, 6], list("aaabbb"), rng=0).mean_ranks
    array([2., 5.])
    """
    options = Resampling.of(bootstrap, level, rng).required()
    table = condition_scores(scores, conditions, models)
    named = models is not None
    table = table.averaged() if named else table
    shared = named and table.crossed
    note = _SAME_MODELS.format(n=options.n) if shared else ""
    reason = _why_undefined(table, table.scores.size)
    unknown = replace(
        _unknown(table, "Kruskal-Wallis", "epsilon squared", reason, level), note=note
    )
    if reason:
        return unknown
    from scipy.stats import kruskal

    groups = [table.scores[table.condition == c] for c in range(len(table.conditions))]
    statistic, p_value = kruskal(*groups)
    ranks = _ranks(table.scores[None])
    p_value = _within_models(ranks[0], table, options) if shared else p_value
    effect = float(statistic) / (table.scores.size - 1)
    draws = _resampled_epsilon(table, options, models=named)
    units = len(table.models) if named else len(groups) / sum(1.0 / g.size for g in groups)
    factor = _student(units, level) if named else 1.0
    interval, se = _interval(effect, draws, units, factor, level)
    return replace(
        unknown,
        statistic=float(statistic),
        p_value=float(p_value),
        effect=effect,
        effect_se=se,
        effect_interval=interval,
        mean_ranks=np.bincount(table.condition, ranks[0]) / table.sizes,
    )


def friedman(
    scores: ArrayLike,
    conditions: Any,
    models: Any,
    *,
    bootstrap: Bootstrap | int = 2000,
    level: float = 0.95,
    rng: RandomState = None,
) -> RankTest:
    """Test differences between conditions with Friedman's test, ranking within each model.

    The unit of replication is the model.

    Parameters
    ----------
    scores, conditions, models : array_like (n,)
        Score, condition label and model label of each row. Rows with a missing score are skipped.
        Repeats of a model under a condition are averaged first.
    bootstrap : int or Bootstrap
        Number of resamples of models, for the interval of the effect size.
    level : float
        Coverage of the interval, between 0 and 1.
    rng : Generator, int or None
        Random generator or seed.

    Returns
    -------
    RankTest
        Friedman test, with Kendall's W from equation (2). Models without a score under some
        condition are omitted, with a flag. Test and effect size are NaN if there are fewer than
        two conditions or models, or if no model's scores differ between conditions.

    Raises
    ------
    ShapeError, LabelError, CodeError
        If the rows of the arguments do not match, or a score is not a number.

    References
    ----------
    Friedman, M. (1937). The use of ranks to avoid the assumption of normality implicit in the
    analysis of variance. Journal of the American Statistical Association, 32, 675-701.
    https://doi.org/10.1080/01621459.1937.10503522

    Examples
    --------
    >>> found = friedman([1, 2, 3, 2, 3, 4], list("abcabc"), list("xxxyyy"), rng=0)
    >>> found.effect, found.statistic
    (1.0, 4.0)
    """
    options = Resampling.of(bootstrap, level, rng).required()
    table = condition_scores(scores, conditions, models)
    means = table.means()
    complete = means[np.isfinite(means).all(axis=1)]
    m, k = complete.shape
    ranks = _ranks(complete) if m else complete
    reason = _why_undefined(table, m)
    if not reason and (ranks == ranks[:, :1]).all():
        reason = Reason.ALL_TIED
    unknown = _unknown(table, "Friedman", "Kendall's W", reason, level)
    if reason:
        return unknown
    effect = float(_kendall(ranks, np.ones((1, m)))[0])
    draws = bootstrap_draws(lambda counts: _kendall(ranks, counts), m, options)
    interval, se = _interval(effect, draws, m, _student(m, level), level)
    statistic = effect * m * (k - 1)
    return replace(
        unknown,
        statistic=statistic,
        p_value=float(chdtrc(k - 1, statistic)),
        effect=effect,
        effect_se=se,
        effect_interval=interval,
        mean_ranks=ranks.mean(axis=0),
        sizes=np.full(k, float(m)),
        flag=Reason.INCOMPLETE if m < len(means) else Reason.NONE,
    )


_SAME_MODELS = (
    "The p-value is from {n:,} permutations of the conditions within models. Friedman's test and "
    "the mixed model have more power, because they remove differences between models."
)


def _within_models(ranks: FloatArray, table: ConditionScores, options: Resampling) -> float:
    """Return the p-value of H from permutations of the conditions within models."""
    rng = check_generator(options.rng)
    k = len(table.conditions)
    sums = np.zeros((options.n + 1, k))  # sums of ranks; the first row is the observed data
    for model in range(len(table.models)):
        rows = np.flatnonzero(table.model == model)
        orders = np.tile(ranks[rows], (options.n + 1, 1))
        orders[1:] = rng.permuted(orders[1:], axis=1)
        sums[:, table.condition[rows]] += orders
    # H depends only on this sum of squares, because permutations do not change the sizes of
    # conditions or the ties.
    between = (sums**2 / table.sizes).sum(axis=1)
    return float(monte_carlo_p_value(between[0], between[1:]))


def _why_undefined(table: ConditionScores, units: int) -> Reason:
    if not table.scores.size:
        return Reason.NO_ANSWERS
    if len(table.conditions) < 2 or units < 2:
        return Reason.TOO_FEW
    return Reason.ALL_TIED if table.all_tied else Reason.NONE


def _ranks(values: FloatArray) -> FloatArray:
    """Return midranks along the last axis."""
    from scipy.stats import rankdata

    return np.asarray(rankdata(values, axis=-1), dtype=np.float64)


def _kendall(ranks: FloatArray, counts: FloatArray) -> FloatArray:
    """Return Kendall's W, corrected for ties, in resamples of models (resamples,)."""
    k = ranks.shape[1]
    centred = ranks - 0.5 * (k + 1)
    m = counts.sum(axis=1)
    between = ((counts @ centred) ** 2).sum(axis=1) / m
    with np.errstate(invalid="ignore"):
        return np.asarray(between / (counts @ (centred**2).sum(axis=1)))


def _resampled_epsilon(table: ConditionScores, options: Resampling, *, models: bool) -> FloatArray:
    """Return epsilon squared, equation (1), in resamples of models or scores within conditions."""
    order = np.argsort(table.scores, kind="stable")
    scores, condition = table.scores[order], table.condition[order]
    start = np.flatnonzero(np.diff(scores, prepend=-np.inf))
    group = np.repeat(np.arange(start.size), np.diff(start, append=scores.size))
    member = np.eye(len(table.conditions))[condition]

    def counts(seeds: WordArray) -> FloatArray:
        if models:
            return question_counts(seeds, len(table.models))[:, table.model[order]]
        drawn_counts = np.empty((len(seeds), scores.size))
        for stratum in range(len(table.conditions)):
            here = np.flatnonzero(condition == stratum)
            own = seeds ^ np.array([0, stratum], dtype=np.uint64)  # one random stream per stratum
            drawn_counts[:, here] = question_counts(own, here.size)
        return drawn_counts

    return bootstrap_draws(
        lambda drawn: _epsilon(drawn, start, group, member), scores.size, options, counts=counts
    )


def _epsilon(
    counts: FloatArray, start: IntArray, group: IntArray, member: FloatArray
) -> FloatArray:
    """Return epsilon squared, equation (1), from counts of sorted scores (resamples,)."""
    tied = np.add.reduceat(counts, start, axis=1)
    above = np.cumsum(tied, axis=1)
    n = above[:, -1:]
    # The mean rank (n + 1) / 2 is subtracted from the midrank of each group of ties.
    centred = (above - 0.5 * tied - 0.5 * n)[:, group]
    weighted = counts * centred
    sizes, sums = counts @ member, weighted @ member
    between = np.where(sizes > 0, sums**2 / np.maximum(sizes, 1.0), 0.0).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(between / (weighted * centred).sum(axis=1))


def _student(units: float, level: float) -> float:
    """Return the ratio of the quantiles of Student's t and of the normal distribution."""
    return float(stdtrit(units - 1.0, 0.5 + 0.5 * level) / ndtri(0.5 + 0.5 * level))


def _interval(
    effect: float, draws: FloatArray, units: float, factor: float, level: float
) -> tuple[FloatArray, float]:
    """Return the interval, equation (3), and the standard error."""
    known = draws[np.isfinite(draws)]
    widened = factor * np.sqrt(units / (units - 1.0)) if units > 1.0 else np.nan
    bounds = np.quantile(known, [0.5 - 0.5 * level, 0.5 + 0.5 * level])
    moved = effect - (known.mean() - effect) + widened * (bounds - known.mean())
    return np.clip(moved, 0.0, 1.0), float(widened * known.std(ddof=1))


def _unknown(
    table: ConditionScores, test: str, effect_name: str, reason: Reason, level: float
) -> RankTest:
    """Return a test whose values are NaN, with the reason."""
    return RankTest(
        test=test,
        statistic=np.nan,
        df=max(len(table.conditions) - 1, 0),
        p_value=np.nan,
        effect_name=effect_name,
        effect=np.nan,
        effect_se=np.nan,
        effect_interval=np.full(2, np.nan),
        conditions=table.conditions,
        mean_ranks=np.full(len(table.conditions), np.nan),
        sizes=table.sizes.astype(np.float64),
        level=level,
        note="",
        flag=reason,
    )
