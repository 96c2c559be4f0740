r"""Contrasts of rates between types of questions, for every model.

A contrast :math:`\sum_k w_k p_k` compares pass rates on several types of questions. An example is
the pass rate on unanswerable questions minus the pass rate on answerable questions. The bounds of
a contrast are computed from the bounds :math:`l_k, u_k` of the rates (MOVER; Newcombe, 1998; Zou
and Donner, 2008):

.. math:: L = \sum_k w_k p_k - \sqrt{\sum_k w_k^2 (p_k - b_k)^2}, \qquad
          b_k = l_k \text{ if } w_k > 0 \text{ else } u_k.                                \quad (1)

The formula for the upper bound U is analogous. The interval is also valid for rates near 0 or 1.
The interval, equation (1), requires that no cluster has questions of several types.

Standard errors vary more between studies for rates near 0 or 1 than for rates near .5. For
planning another study, the variance :math:`V = \sum_k w_k^2 V_k` of the contrast has the degrees
of freedom

.. math:: \nu_0 = V^2 \Big/ \sum_k \frac{w_k^4 V_k^2}{\nu_k'} .                         \quad (2)

Here :math:`\nu_k'` are the degrees of freedom of the variance of one rate; see equation (5) in
`psychollm.estimates.clustered`.

If a cluster (for example, all questions about one passage) contains questions of several types,
another interval is used. Let :math:`e_g` be the influence of cluster g on the contrast: the sum of
the influences of its answers, times the number of clusters G. If the contrast is inside [a, b],
:math:`e_g` is usually between :math:`a - \hat\theta` and :math:`b - \hat\theta`. Two clusters are
added, one at each of these bounds, as Bonett and Price (2012) do for paired rates,

.. math:: \tilde\theta = \hat\theta + \frac{a + b - 2 \hat\theta}{G + 2}, \qquad
          s^2 = \frac{1}{G + 2} \Big[\frac{\sum_g e_g^2 + (a - \hat\theta)^2 + (b - \hat\theta)^2}
          {G + 2} - (\tilde\theta - \hat\theta)^2\Big].                                \quad (3)

The interval is :math:`\tilde\theta \pm t s`, clipped to [a, b]. The length of the interval is
positive even if all clusters have the same influence.

References
----------
Bonett, D. G., & Price, R. M. (2012). Adjusted Wald confidence interval for a difference of
binomial proportions based on paired data. Journal of Educational and Behavioral Statistics,
37(4), 479-488. https://doi.org/10.3102/1076998611411915

Newcombe, R. G. (1998). Interval estimation for the difference between independent proportions:
Comparison of eleven methods. Statistics in Medicine, 17, 873-890.

Zou, G. Y., & Donner, A. (2008). Construction of confidence limits about effect measures: A general
approach. Statistics in Medicine, 27, 1693-1702. https://doi.org/10.1002/sim.3095
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.special import stdtrit

from psychollm._base.errors import LabelError, OptionError
from psychollm._base.replicate import generators
from psychollm._base.types import FloatArray, IntArray, RandomState, WordArray
from psychollm.calibration.stated import cluster_codes
from psychollm.data.labels import Labels, listed, unit_labels
from psychollm.data.responses import ResponsesLike
from psychollm.estimates.clustered import tail_freedom, units_of
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.reasons import Reason
from psychollm.estimates.resampling import (
    Bootstrap,
    Resampling,
    resample,
)
from psychollm.kernels.agreement import sum_over_units
from psychollm.reliability.raters.ratings import Ratings, as_ratings, unit_scores
from psychollm.reliability.raters.score_interval import Share, clustered_share


def rate_contrast(
    scores: ResponsesLike,
    kinds: Any,
    weights: Mapping[Any, float],
    *,
    clusters: Any = None,
    bootstrap: Bootstrap | int = 2000,
    level: float = 0.95,
    rng: RandomState = None,
) -> Estimate:
    """Compute a contrast of pass rates between types of questions, for every model.

    The unit of replication is the question with all its runs or, if clusters are given, the
    cluster.

    Parameters
    ----------
    scores : Ratings, DataFrame, array (questions, runs) or (runs, models, questions), sequence
        Scores inside [0, 1]: 1 = passed, 0 = failed; NaN marks a missing score. A table has one
        row per question and one column per run. A sequence has one element per run: a vector for
        one model, or a table (models, questions).
    kinds : array_like (questions,)
        Type of each question. A Series is reordered to match the questions.
    weights : mapping
        Weight of the rate on each type: ``{"C": 1, "A": -1}`` is the rate on C minus the rate on
        A, and ``{"A": 0.5, "B": 0.5}`` is the mean of two rates.
    clusters : array_like (questions,), optional
        Cluster of each question. The interval is computed by equation (3) if a cluster has
        questions of several types, and by equation (1) otherwise.
    bootstrap : int or Bootstrap
        Number of resamples of questions. All models use the same resamples, so differences are
        paired. Without clusters, questions are resampled within each type.
    level : float
        Coverage of the intervals, between 0 and 1.
    rng : Generator, int or None
        Random generator or seed. The result does not depend on `n_jobs`.

    Returns
    -------
    Estimate
        Contrast of each model.

    Raises
    ------
    CodeError
        If a score is not a number inside [0, 1].
    ShapeError
        If the number of type labels differs from the number of questions.
    LabelError
        If a type in `weights` has no question.
    OptionError
        If `weights` is empty or contains a weight that is not finite, or if ``bootstrap`` is 0.

    Notes
    -----
    Use `set_difference` for scores outside [0, 1], or for two sets of questions in a small number
    of common clusters.

    Examples
    --------
    >>> runs = [[[1, 1, 0, 1, 0, 0]], [[1, 1, 1, 1, 0, 0]]]
    >>> found = rate_contrast(runs, list("AAABBB"), {"A": 1, "B": -1}, rng=0)
    >>> found.name, found.value.round(3), found.interval.round(2)
    ('A - B', array([0.5]), array([[-0.11,  0.8 ]]))
    """
    known = as_ratings(scores, "scores")
    values = unit_scores(known)
    answered = np.isfinite(values).sum(axis=2).astype(np.float64)
    contrast = Contrast(
        np.nansum(values, axis=2), answered, *_coded(kinds, weights, known.questions)
    )
    return _estimate(
        contrast,
        known,
        _name(weights),
        clusters=None if clusters is None else cluster_codes(clusters, known.questions),
        resampling=Resampling.of(bootstrap, level, rng).required(),
    )


@dataclass(frozen=True, slots=True)
class Contrast:
    """Sums of scores on the questions of each type, and the weights of the rates."""

    hits: FloatArray  # (models, questions)
    sizes: FloatArray  # (models, questions) numbers of answers
    kind: IntArray  # (questions,) index into the weights, -1 for other types
    weights: FloatArray  # (types,)

    def members(self, kind: int) -> IntArray:
        """Return the questions of one type."""
        return np.flatnonzero(self.kind == kind)

    def value(self, counts: FloatArray) -> FloatArray:
        """Return the contrast (resamples, models), NaN where a rate is undefined."""
        contrasts = np.empty((counts.shape[0], self.hits.shape[0]))
        used = self.kind >= 0
        start = np.zeros(used.size + 1, dtype=np.int64)
        start[1:] = 2 * np.cumsum(used)
        column = np.stack([2 * self.kind[used], 2 * self.kind[used] + 1], axis=1).ravel()
        sums = np.empty((counts.shape[0], 2 * self.weights.size))
        for row in range(self.hits.shape[0]):
            both = np.stack([self.hits[row, used], self.sizes[row, used]], axis=1).ravel()
            sum_over_units(counts, start, column, both, sums)
            with np.errstate(invalid="ignore", divide="ignore"):
                contrasts[:, row] = (self.weights * sums[:, ::2] / sums[:, 1::2]).sum(axis=1)
        return contrasts


def stratified_counts(seeds: WordArray, kind: IntArray) -> FloatArray:
    """Resample questions within types, one resample per seed."""
    counts = np.zeros((len(seeds), kind.size))
    strata = [np.flatnonzero(kind == one) for one in range(kind.max() + 1)]
    for row, generator in enumerate(generators(seeds)):
        for own in strata:
            drawn = generator.integers(own.size, size=own.size)
            counts[row, own] = np.bincount(drawn, minlength=own.size)
    return counts


def _estimate(
    contrast: Contrast,
    ratings: Ratings,
    name: str,
    *,
    clusters: IntArray | None,
    resampling: Resampling,
) -> Estimate:
    strata = None if clusters is not None else partial(stratified_counts, kind=contrast.kind)
    replicates = resample(
        contrast.value, contrast.kind.size, resampling, clusters=clusters, counts=strata
    )
    flags = tuple(_reason(contrast, row, clusters) for row in range(len(ratings.models)))
    estimate = replicates.estimate(
        name,
        n=(contrast.sizes[:, contrast.kind >= 0] > 0).sum(axis=1).astype(np.float64),
        flags=flags,
        labels=ratings.models,
        units=units_of(contrast.sizes * (contrast.kind >= 0) > 0, clusters),
        final=False,
    )
    # If a type has a single cluster, the interval is undefined, regardless of the clusters of
    # other types.
    known = tuple(
        own if own in {Reason.ONE_CLUSTER, Reason.ONE_QUESTION} else flag
        for own, flag in zip(flags, estimate.flags, strict=True)
    )
    estimate = replace(estimate, flags=known)
    if clusters is not None and _crosses(clusters, contrast.kind):
        return _without_single(_with_two_more(estimate, contrast, clusters))
    return _mover(estimate, contrast, clusters)


def _coded(
    kinds: Any, weights: Mapping[Any, float], questions: Labels
) -> tuple[IntArray, FloatArray]:
    """Return the index of each question's type in the weights, and the array of weights."""
    values = np.array(list(weights.values()), dtype=np.float64)
    size = np.abs(values[values != 0.0])
    if not values.size or not ((size >= 1e-100) & (size <= 1e100)).all():
        given = f"weights of {listed(list(weights))}"
        msg = f"{given} must give one finite number per type: 1e-100 to 1e100, or 0"
        raise OptionError(msg)
    types = unit_labels(kinds, questions, argument="kinds", optional=True)
    absent = [kind for kind in weights if kind not in types]
    if absent:
        known = listed(list(dict.fromkeys(types)))
        msg = f"no question is of the type {absent[0]!r}: the types are {known}"
        raise LabelError(msg)
    code = {kind: i for i, kind in enumerate(weights)}
    return np.array([code.get(kind, -1) for kind in types], dtype=np.int64), values


def _name(weights: Mapping[Any, float]) -> str:
    """Return the contrast as text, such as "C - A" or "0.5 A + 0.5 B"."""
    parts = []
    for kind, weight in weights.items():
        size = "" if abs(weight) == 1 else f"{abs(weight):g} "
        sign = "-" if weight < 0 else "+"
        parts.append(f"{sign} {size}{kind}")
    text = " ".join(parts)
    return text[2:] if text.startswith("+") else text


def _crosses(clusters: IntArray, kind: IntArray) -> bool:
    """Return whether a cluster contains questions of several of the types."""
    used = kind >= 0
    pairs = np.unique(np.stack([clusters[used], kind[used]]), axis=1)
    return bool(np.unique(pairs[0]).size < pairs.shape[1])


def _reason(contrast: Contrast, row: int, clusters: IntArray | None) -> Reason:
    answered = [
        own[contrast.sizes[row, own] > 0]
        for own in map(contrast.members, range(contrast.weights.size))
    ]
    if any(not own.size for own in answered):
        return Reason.NO_RATINGS
    if any(own.size == 1 for own in answered):
        return Reason.ONE_QUESTION
    if clusters is None:
        return Reason.NONE
    if _crosses(clusters, contrast.kind):
        single = np.unique(clusters[np.concatenate(answered)]).size == 1
    else:
        single = any(np.unique(clusters[own]).size == 1 for own in answered)
    return Reason.ONE_CLUSTER if single else Reason.NONE


def _mover(estimate: Estimate, contrast: Contrast, clusters: IntArray | None) -> Estimate:
    """Replace the bounds by combined bounds of the rates, by equation (1)."""
    rows = [
        _combined(contrast, row, clusters, estimate.level) for row in range(estimate.value.size)
    ]
    bounds, errors = zip(*rows, strict=True)
    se, df = np.array(errors).T
    units = "questions" if clusters is None else "clusters of questions"
    method = f"MOVER of Wilson intervals, effective n over {units}"
    replaced = replace(
        estimate,
        se=se,
        interval=np.array(bounds),
        method=method,
        _pilot_df=df,
    )
    return _without_single(replaced)


def _with_two_more(estimate: Estimate, contrast: Contrast, clusters: IntArray) -> Estimate:
    """Replace the bounds by the bounds of the interval in equation (3)."""
    weights = contrast.weights
    ends = np.array([weights[weights < 0.0].sum(), weights[weights > 0.0].sum()])
    bounds, se = np.full(estimate.interval.shape, np.nan), np.full(estimate.se.shape, np.nan)
    units = units_of(contrast.sizes * (contrast.kind >= 0) > 0, clusters)
    for row in np.flatnonzero(estimate.defined):
        value, influence = estimate.value[row], np.zeros(contrast.kind.size)
        for kind, weight in enumerate(weights):
            own = contrast.members(kind)
            hits, sizes = contrast.hits[row, own], contrast.sizes[row, own]
            influence[own] = weight * (hits - hits.sum() / sizes.sum() * sizes) / sizes.sum()
        held = np.bincount(clusters, contrast.sizes[row] * (contrast.kind >= 0)) > 0.0
        n = float(held.sum())
        added = n * np.bincount(clusters, influence)[held]
        squares, shift = (added**2).sum(), (ends.sum() - 2.0 * value) / (n + 2.0)
        spread = (squares + ((ends - value) ** 2).sum()) / (n + 2.0) - shift**2
        df = float(units.df[row]) if units is not None else n - 1.0
        step = stdtrit(df, 0.5 + 0.5 * estimate.level) * np.sqrt(spread / (n + 2.0))
        around = np.clip(value + shift + np.array([-step, step]), *ends)
        bounds[row] = min(around[0], value), max(around[1], value)
        se[row] = np.sqrt(squares / n / (n - 1.0)) if n > 1.0 else np.nan
    method = "t of influences, two added clusters"
    return replace(estimate, se=se, interval=bounds, method=method)


def _combined(
    contrast: Contrast, row: int, clusters: IntArray | None, level: float
) -> tuple[FloatArray, FloatArray]:
    """Return a contrast's interval and standard error, and degrees of freedom by equation (2)."""
    value, variance = 0.0, 0.0
    below, above, scatter = 0.0, 0.0, 0.0
    for kind, weight in enumerate(contrast.weights):
        own = contrast.members(kind)
        groups = None if clusters is None else clusters[own]
        hits, sizes = contrast.hits[row, own], contrast.sizes[row, own]
        rate: Share = clustered_share(hits, sizes, groups, level=level)
        low, high = weight * rate.interval if weight > 0 else weight * rate.interval[::-1]
        value += weight * rate.value
        variance += (weight * rate.se) ** 2
        if rate.se > 0.0:
            residual = hits - rate.value * sizes
            codes = np.arange(own.size) if groups is None else groups
            answered = np.bincount(codes, sizes) > 0.0
            sums = np.asarray(np.bincount(codes, residual)[answered], dtype=np.float64)
            scatter += (weight * rate.se) ** 4 / float(tail_freedom(sums))
        below += (weight * rate.value - low) ** 2
        above += (high - weight * rate.value) ** 2
    bounds = np.array([value - np.sqrt(below), value + np.sqrt(above)])
    df = variance**2 / scatter if scatter > 0.0 else np.inf
    return bounds, np.array([np.sqrt(variance), df])


def _without_single(estimate: Estimate) -> Estimate:
    """Remove the intervals of models that have only one question or cluster of a type."""
    single = np.array(
        [flag in {Reason.ONE_QUESTION, Reason.ONE_CLUSTER} for flag in estimate.flags]
    )
    return replace(
        estimate,
        se=np.where(single, np.nan, estimate.se),
        interval=np.where(single[:, None], np.nan, estimate.interval),
    ).qualified()
