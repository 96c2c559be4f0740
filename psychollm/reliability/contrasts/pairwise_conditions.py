"""Rank comparisons of all pairs of conditions, adjusted for multiple testing."""

from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from psychollm._base.axes import Axes
from psychollm._base.checks import check_choice
from psychollm._base.multiplicity import Adjustment, adjust_p_values
from psychollm._base.result import Result
from psychollm._base.types import FloatArray
from psychollm.estimates.reasons import Reason
from psychollm.reliability.contrasts.condition_scores import condition_scores

_EXACT_UP_TO = 50


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairwiseConditions(Result):
    """Wilcoxon tests of all pairs of conditions.

    Examples
    --------
    >>> found = pairwise_conditions([1, 2, 3, 4, 5, 6], list("aaabbb"))
    >>> found.first, found.second, found.difference, found.p_value.round(2)
    (('a',), ('b',), array([-3.]), array([0.1]))
    """

    first: tuple[Any, ...]  # (pairs,)
    second: tuple[Any, ...]  # (pairs,)
    difference: FloatArray  # (pairs,) difference of medians or median difference
    statistic: FloatArray  # (pairs,) U of the rank-sum test, or T+ of the signed-rank test
    p_value: FloatArray  # (pairs,) two-sided
    adjusted: FloatArray  # (pairs,) p-values adjusted for the number of pairs
    n: FloatArray  # (pairs,) number of scores or models
    test: str
    adjustment: str
    flags: tuple[Reason, ...]  # (pairs,)

    _AXES = Axes(
        {},
        "first",
        "second",
        "n",
        "difference",
        "statistic",
        "p_value",
        "adjusted",
        "flag=flags",
    )


def pairwise_conditions(
    scores: ArrayLike, conditions: Any, *, models: Any = None, adjustment: Adjustment = "holm"
) -> PairwiseConditions:
    """Compare every pair of conditions with Wilcoxon's tests.

    Parameters
    ----------
    scores, conditions : array_like (n,)
        Score and condition label of each row. Missing scores are skipped.
    models : array_like (n,), optional
        Model of each score. If `models` is given, the unit of replication is the model, and the
        signed-rank test compares each model's mean scores under the two conditions. By default the
        unit is the score, and the rank-sum test is used.
    adjustment : {"holm", "bonferroni", "bh", "by"}
        Adjustment of the p-values for the number of pairs.

    Returns
    -------
    PairwiseConditions
        Rank-sum p-values are exact for small samples without ties. Signed-rank p-values are exact
        for up to 50 models; models without a difference are omitted. The values of a pair are NaN
        if the pair has too few scores or all scores are equal.

    Raises
    ------
    ShapeError, LabelError, CodeError
        If the rows of the arguments do not match, or a score is not a number.
    OptionError
        If `adjustment` is invalid.

    Examples
    --------
    >>> paired = pairwise_conditions([1, 3, 2, 5, 4, 9], list("ababab"), models=list("xxyyzz"))
    >>> paired.test, paired.difference
    ('signed rank', array([-3.]))
    """
    check_choice("adjustment", adjustment, Adjustment)
    table = condition_scores(scores, conditions, models)
    pairs = list(combinations(range(len(table.conditions)), 2))
    if models is None:
        groups = [table.scores[table.condition == c] for c in range(len(table.conditions))]
        tests = [_rank_sum(groups[a], groups[b]) for a, b in pairs]
    else:
        means = table.means()
        tests = [_signed_rank(means[:, a], means[:, b]) for a, b in pairs]
    *columns, flags = zip(*tests, strict=True) if tests else ((),) * 5
    difference, statistic, p_value, n = (np.array(column, dtype=np.float64) for column in columns)
    return PairwiseConditions(
        first=tuple(table.conditions[a] for a, _ in pairs),
        second=tuple(table.conditions[b] for _, b in pairs),
        difference=difference,
        statistic=statistic,
        p_value=p_value,
        adjusted=adjust_p_values(p_value, method=adjustment),
        n=n,
        test="rank sum" if models is None else "signed rank",
        adjustment=adjustment,
        flags=tuple(flags),
    )


class _Pair(NamedTuple):
    """Test of one pair of conditions."""

    difference: float
    statistic: float
    p_value: float
    n: float
    flag: Reason


def _rank_sum(first: FloatArray, second: FloatArray) -> _Pair:
    from scipy.stats import mannwhitneyu

    n = float(first.size + second.size)
    both = np.concatenate([first, second])
    difference = float(np.median(first) - np.median(second))
    if both.min() == both.max():
        return _Pair(difference, np.nan, np.nan, n, Reason.ALL_TIED)
    test = mannwhitneyu(first, second, alternative="two-sided")
    return _Pair(difference, float(test.statistic), float(test.pvalue), n, Reason.NONE)


def _signed_rank(first: FloatArray, second: FloatArray) -> _Pair:
    from scipy.stats import rankdata, wilcoxon

    gaps = (first - second)[np.isfinite(first - second)]
    n = float(gaps.size)
    if gaps.size < 2:
        return _Pair(float(gaps.sum()) if n else np.nan, np.nan, np.nan, n, Reason.TOO_FEW)
    difference = float(np.median(gaps))
    if not gaps.any():
        return _Pair(difference, np.nan, np.nan, n, Reason.ALL_TIED)
    kept = gaps[gaps != 0]
    ranks = rankdata(np.abs(kept))
    above = float(ranks[kept > 0].sum())
    p_value = _exact(ranks, above) if kept.size <= _EXACT_UP_TO else wilcoxon(kept).pvalue
    return _Pair(difference, above, float(p_value), n, Reason.NONE)


def _exact(ranks: FloatArray, above: float) -> float:
    """Return the exact two-sided p-value of a signed-rank sum; ranks may be tied."""
    doubled = np.rint(2.0 * ranks).astype(np.int64)  # midranks are multiples of 1/2
    chance = np.zeros(int(doubled.sum()) + 1)
    chance[0] = 1.0
    for rank in doubled:
        chance[rank:] = 0.5 * (chance[rank:] + chance[: chance.size - rank])
        chance[:rank] *= 0.5
    observed = round(2.0 * above)
    tail = min(chance[: observed + 1].sum(), chance[observed:].sum())
    return float(min(1.0, 2.0 * tail))
