r"""Frontier of cost and success: models that no other model beats in both.

A model beats another if it succeeds at least as often and costs no more, and if it is strictly
better in success or in cost. `share` is the proportion of bootstrap samples of questions, or of
their clusters, in which no other model beats the model; it is not a p-value.

A model is significantly worse than another if it succeeds less often at a higher cost, and the
intervals of both differences exclude zero. The intervals of success differences are simultaneous
over all pairs at level 1 - alpha / 2, like the intervals of cost differences. The probability of
any false claim is therefore at most alpha, by Berger's intersection-union test and Bonferroni's
bound.

A small sample of costs rarely includes the largest costs, so its standard deviation is often too
small. Let v be twice the sum, over all log costs above their median, of squared distances from the
median, divided by n - 1. If costs are log-normal, v estimates the variance of their logarithms.
The standard error of the logarithm of a mean of n costs is at least (Cox's variance; Olsson, 2005)

.. math:: \sqrt{\frac{v + v^2 / 2}{n}}.                                                   \quad (1)

References
----------
Berger, R. L. (1982). Multiparameter hypothesis testing and acceptance sampling. Technometrics,
24(4), 295-300.

Olsson, U. (2005). Confidence intervals for the mean of a log-normal distribution. Journal of
Statistics Education, 13(1). https://doi.org/10.1080/10691898.2005.11910638
"""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.numbers import percent
from psychollm._base.result import Result, view
from psychollm._base.types import BoolArray, FloatArray, IntArray
from psychollm.data.labels import Labels
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.reasons import Reason, first_reason
from psychollm.estimates.resampling import Resampling, bootstrap_draws
from psychollm.reliability.means.clustered import cluster_sums, clustered_mean, t_interval
from psychollm.reliability.means.score_differences import score_differences

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Drawn

COST, SECONDS = "cost", "seconds"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Frontier(Result):
    """Cost and success of each model, and the models that no other model beats in both.

    Examples
    --------
    >>> import pandas as pd
    >>> from psychollm.studies.attempts.study import attempts
    >>> rng = np.random.default_rng(1)
    >>> right = rng.binomial(4, np.repeat([0.7, 0.5, 0.2], 50))
    >>> runs = pd.DataFrame({"model": np.repeat(["a", "b", "c"], 50), "task": [*range(50)] * 3,
    ...                      "right": right, "tried": 4, "usd": np.repeat([0.9, 0.1, 0.3], 50)})
    >>> runs["usd"] *= rng.uniform(0.5, 1.5, 150)
    >>> found = attempts(runs, question="task", successes="right", trials="tried", cost="usd",
    ...                  k=1, rng=1).frontier()
    >>> found.to_frame()[["model", "cost", "on_frontier", "share", "beaten_by"]].round(2)
      model  cost  on_frontier  share beaten_by
    0     a  0.91         True    1.0         –
    1     b  0.10         True    1.0         –
    2     c  0.28        False    0.0         b
    """

    score: Estimate  # (models,) success, such as pass@1
    spent: Estimate  # (models,) mean cost or time per attempt
    on_frontier: BoolArray  # (models,) whether no other model is better in both means
    share: FloatArray  # (models,) proportion of bootstrap samples in which no model beats it
    beaten_by: Labels  # (models,) a significantly better model, or "–"
    of: str  # "cost" or "seconds"
    labels: Labels  # (models,)
    level: float

    _AXES = Axes(
        {"model": "labels"},
        "score=score.value",
        "score_{bound}=score.interval",
        "cost=spent.value",
        "cost_{bound}=spent.interval",
        "on_frontier",
        "share",
        "beaten_by",
    )

    @property
    def order(self) -> list[int]:
        """Models in order of increasing cost, followed by models without a cost."""
        spent = np.where(np.isfinite(self.spent.value), self.spent.value, np.inf)
        return [int(row) for row in np.lexsort((-np.nan_to_num(self.score.value), spent))]

    def plot(self, *, ax: "Drawn | None" = None) -> "Drawn":
        """Plot success against cost, with the frontier."""
        axes: Drawn = view("studies.attempts.figures", "plot_frontier")(self, ax=ax)
        return axes

    def text(self, row: int) -> str:
        """Return one line with a model's success, cost and position relative to the frontier."""
        unit = " s" if self.of == SECONDS else ""
        told = f"{self.score.name} {self.score.text(row, 3)} at {self.spent.text(row, 3)}{unit}"
        if self.beaten_by[row] != "–":
            return f"{told}; {self.beaten_by[row]} beats it"
        place = "on" if self.on_frontier[row] else "behind"
        share = percent(self.share[row])
        return f"{told}; {place} the frontier, which includes it in {share} of resamples"


def frontier_of(
    values: FloatArray,
    spent: FloatArray,
    score: Estimate,
    clusters: IntArray | None,
    of: str,
    options: Resampling,
) -> Frontier:
    """Return the frontier of scores and costs (models, questions), in which NaN means missing."""
    labels, level = score.labels, options.level
    cost = _estimate(spent, labels, clusters, of, level)
    tables = [np.nan_to_num(values), np.nan_to_num(spent)]
    weights = [np.isfinite(values).astype(np.float64), np.isfinite(spent).astype(np.float64)]
    draws = bootstrap_draws(
        partial(_unbeaten_in, tables=tables, weights=weights), values.shape[1], options,
        clusters=clusters,
    )  # fmt: skip
    known = np.isfinite(score.value) & np.isfinite(cost.value)
    return Frontier(
        score=score,
        spent=cost,
        on_frontier=_unbeaten(score.value, cost.value) & known,
        share=np.where(known, draws.mean(axis=0), np.nan),
        beaten_by=_beaten_by(values, spent, score, clusters, level, options.rng),
        of=of,
        labels=labels,
        level=level,
    )


def _estimate(
    spent: FloatArray, labels: Labels, clusters: IntArray | None, of: str, level: float
) -> Estimate:
    """Return mean costs; intervals are computed on the log scale because costs are skewed."""
    there = np.isfinite(spent)
    mean = clustered_mean(np.where(there, spent, 0.0), there.astype(np.float64), clusters)
    none = np.asarray(~there.any(axis=1))
    with np.errstate(invalid="ignore", divide="ignore"):
        error = np.maximum(mean.se / mean.value, _upper_error(spent, there, clusters))
        error = np.where(mean.se > 0.0, error, mean.se)
        bounds = t_interval(np.log(mean.value), error, mean.df, level)
    return Estimate(
        name=of,
        value=np.where(none, np.nan, mean.value),
        se=np.where(none, np.nan, mean.se),
        interval=np.where(none[:, None], np.nan, np.exp(bounds)),
        n=there.sum(axis=1).astype(np.float64),
        flags=first_reason((none, Reason.NO_COST), (mean.n_clusters == 1, Reason.ONE_QUESTION)),
        method="log normal, over questions",
        level=level,
        labels=labels,
    )


def _upper_error(spent: FloatArray, there: BoolArray, clusters: IntArray | None) -> FloatArray:
    """Return the standard errors of log means, by equation (1) (rows,); 0 if unknown."""
    weight = cluster_sums(there.astype(np.float64), clusters)
    total = cluster_sums(np.where(there, spent, 0.0), clusters)
    known = weight > 0.0
    with np.errstate(invalid="ignore", divide="ignore"):
        logs = np.log(np.where(known, total / weight, np.nan))
    found = np.zeros(len(spent))
    for row, own in enumerate(known):
        n, middle = own.sum(), np.median(logs[row, own]) if own.any() else -np.inf
        if n > 1 and np.isfinite(middle):
            above = np.maximum(logs[row, own] - middle, 0.0)
            v = 2.0 * (above**2).sum() / (n - 1)
            share = weight[row] / weight[row].sum()
            found[row] = np.sqrt((v + 0.5 * v**2) * (share**2).sum())
    return found


def _unbeaten(score: FloatArray, cost: FloatArray) -> BoolArray:
    """Return which models no other model beats, given scores and costs (..., models)."""
    better = score[..., None, :] - score[..., :, None]  # the last axis indexes the rivals
    cheaper = cost[..., :, None] - cost[..., None, :]
    beats = (better >= 0.0) & (cheaper >= 0.0) & ((better > 0.0) | (cheaper > 0.0))
    return np.asarray(~beats.any(axis=-1))


def _unbeaten_in(
    counts: FloatArray, tables: list[FloatArray], weights: list[FloatArray]
) -> FloatArray:
    """Return which models no other model beats in each resample (resamples, models)."""
    with np.errstate(invalid="ignore"):
        score, cost = (
            (counts @ table.T) / (counts @ weight.T)
            for table, weight in zip(tables, weights, strict=True)
        )
    return _unbeaten(score, cost).astype(np.float64)


def _beaten_by(
    values: FloatArray,
    spent: FloatArray,
    score: Estimate,
    clusters: IntArray | None,
    level: float,
    rng: Any,
) -> Labels:
    """Return, for each model, the best of the significantly better models, or "–"."""
    n = len(score.labels)
    if n < 2:
        return ("–",) * n
    halved = 1.0 - (1.0 - level) / 2.0
    better, dearer = (
        _shown_above(table, clusters, halved, rng) for table in (values, spent)
    )  # [i, j]: whether the mean of model i is significantly above that of model j
    beats = better & dearer.T
    found = []
    for row in range(n):
        rivals = np.flatnonzero(beats[:, row])
        best = rivals[np.argmax(score.value[rivals])] if rivals.size else None
        found.append("–" if best is None else score.labels[best])
    return tuple(found)


def _shown_above(
    table: FloatArray, clusters: IntArray | None, level: float, rng: Any
) -> BoolArray:
    n = len(table)
    pairs = score_differences(table, clusters=clusters, adjustment="max_t", level=level, rng=rng)
    first, second = np.triu_indices(n, 1)
    above = np.zeros((n, n), dtype=np.bool_)
    above[first, second] = pairs.interval[:, 0] > 0.0
    above[second, first] = pairs.interval[:, 1] < 0.0
    return above
