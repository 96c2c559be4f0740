r"""Scores of models compared with people who answered the same questions.

Both people and questions are samples, so the score of people and a model's difference from this
score vary with both samples (`psychollm.reliability.means.crossed_mean`). For scores in [0, 1] the
score of people has a Wilson interval at the effective number of answers. The lower bound of a
difference follows from the bounds of both scores (MOVER; Zou and Donner, 2008):

.. math:: L = d - \sqrt{(m - l_m)^2 - 2 \rho (m - l_m)(u_p - p) + (u_p - p)^2}, \qquad d = m - p.
                                                                                          \quad (1)

The upper bound U has the same form, and :math:`\rho` is the correlation of both scores over
questions. Other scores have Student's t intervals. Samples of fewer than 30 people often miss a
small group that scores very differently. For samples of fewer than 30 people, no interval of
reasonable length has its stated coverage (``validation/people_intervals.py``), so such results
have a warning.

The percentile rank :math:`\pi` of a model (field ``place``) is the proportion of people who score
lower on the same questions; ties count half. The variance of the rank over samples of P people is
:math:`v = \tilde\pi (1 - \tilde\pi) / P` with :math:`\tilde\pi = (P \pi + 1) / (P + 2)`. If
:math:`d` varies within the bounds that apply to sampling of questions alone, the rank changes by
:math:`\pm\delta` on average. The interval of the rank is the Wilson interval for an effective
sample of :math:`P^*` people:

.. math:: P^* = P \, \frac{v}{v + (\delta / z)^2}.                                        \quad (2)

References
----------
Zou, G. Y., & Donner, A. (2008). Construction of confidence limits about effect measures: A general
approach. Statistics in Medicine, 27, 1693-1702. https://doi.org/10.1002/sim.3095
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri, stdtrit

from psychollm._base.numbers import number, percent
from psychollm._base.result import Result
from psychollm._base.types import FloatArray, IntArray
from psychollm.data.labels import Labels
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.intervals import wilson
from psychollm.estimates.reasons import Reason
from psychollm.estimates.verdict import SmallestEffects, Verdicts, outcome
from psychollm.reliability.means.clustered import clustered_mean
from psychollm.reliability.means.crossed_mean import CrossedMean, crossed_mean
from psychollm.studies.people.norm import HumanNorm

FEWEST_PEOPLE = 5  # smallest number of people for an interval
_MANY_PEOPLE = 30  # smaller samples often miss a group that is a tenth of the population
_FEWEST_MODELS = 3  # smallest number of models for an interval of their mean
_TIE = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PeopleScore(Result):
    """Scores of people and models on the same questions, by one measure.

    Examples
    --------
    >>> from psychollm.studies import beside_people
    >>> people = np.random.default_rng(1).random((12, 40)) < 0.6
    >>> part = beside_people(np.ones((1, 40)), people.astype(int)).parts["score"]
    >>> part.baseline.value.round(3), part.difference.value.round(3), part.place.value
    (array([0.61]), array([0.39]), array([1.]))
    """

    baseline: Estimate  # (1,) mean score of people
    score: Estimate  # (models,) mean score, on the questions that people answered
    difference: Estimate  # (models,) model minus people
    place: Estimate  # (models,) proportion of people who score lower
    average: Estimate  # (1,) mean difference over models, treated as a sample
    people: FloatArray  # (people,) mean score of each person; empty for a norm
    sd: float  # standard deviation of the scores of people
    source: str  # source of a norm
    shares: bool  # whether scores are in [0, 1]
    n_questions: int  # 0 for the total of a scale
    labels: Labels  # (models,)

    def outcomes(self, smallest: SmallestEffects) -> Verdicts:
        """Return the conclusion on each model's difference from people."""
        # No smallest effect of interest is defined for totals, so no difference can be called
        # equivalent.
        least = smallest.share if self.shares else 0.0
        bounds = self.difference.interval
        return Verdicts(self.labels, tuple(outcome(one, smallest=least) for one in bounds))

    def told(self) -> str:
        """Return the score of people as text."""
        n = self.baseline.n[0]
        who = (
            "people score"
            if np.isnan(n)
            else "1 person scores"
            if n == 1
            else f"{n:.0f} people score"
        )
        source = f" ({self.source})" if self.source else ""
        return f"{who} {self.baseline.text(0, self.digits)}, SD {number(self.sd, 2)}{source}"

    @property
    def warning(self) -> str:
        """Caveat on intervals from few people, as text; "" with more people or no interval."""
        n = self.baseline.n[0]
        if not self.people.size or not FEWEST_PEOPLE <= n < _MANY_PEOPLE:
            return ""
        lead = f"with {n:.0f} people, intervals are too short"
        return f"{lead} if a small group scores very differently"

    def on_average(self) -> str:
        """Return the mean difference of models and people as text; "" if there is no interval."""
        value = self.average.value[0]
        if not np.isfinite(self.average.interval).all():
            return ""
        text = f" Mean difference of models: {self.average.text(0, self.digits, signed=True)}"
        return text + (
            "." if self.shares else f", which is {number(value / self.sd, 2, signed=True)} SD."
        )

    def row(self, row: int) -> str:
        """Return the score of a model compared with people as text."""
        place = self.place
        text = (
            f"{self.labels[row]}: {self.score.text(row, self.digits)}, difference "
            f"{self.difference.text(row, self.digits, signed=True)}"
        )
        if not np.isfinite(place.value[row]):
            return text
        low, high = 100.0 * place.interval[row]
        bounds = f" [{low:.0f}, {high:.0f}]" if np.isfinite(low + high) else ""
        return f"{text}; above {percent(place.value[row])}{bounds} of people"

    @property
    def digits(self) -> int:
        """Decimals of scores."""
        return 2 if self.shares else 1


@dataclass(frozen=True, slots=True)
class _One:
    """Estimates that compare one model with people."""

    score: float
    score_se: float
    score_bounds: FloatArray
    value: float  # score of the model minus score of people
    se: float
    bounds: FloatArray
    place: float
    place_bounds: FloatArray
    n: int  # questions
    flag: Reason


def score_of(
    models: FloatArray,
    labels: Labels,
    people: FloatArray,
    *,
    clusters: IntArray | None = None,
    level: float,
) -> PeopleScore:
    """Compare models' scores (models, questions) with people's scores (people, questions)."""
    people = people[np.isfinite(people).any(axis=1)]
    asked = np.isfinite(people).any(axis=0)
    models, people = models[:, asked], people[:, asked]
    codes = None if clusters is None else clusters[asked]
    both = np.concatenate([models.ravel(), people.ravel()])
    known = both[np.isfinite(both)]
    shares = bool(known.size and known.min() >= 0.0 and known.max() <= 1.0)
    rows = [_one(own, people, codes, level, shares=shares) for own in models]
    held = np.isfinite(models)
    n = held.sum(axis=0)
    means = np.where(n > 0, np.where(held, models, 0.0).sum(axis=0) / np.maximum(n, 1), np.nan)
    return _part(
        rows,
        crossed_mean(people, codes),
        crossed_mean(means - people, codes),
        labels=labels,
        people=np.nanmean(people, axis=1) if people.size else np.zeros(0),
        sd=None,
        n_questions=int(asked.sum()),
        shares=shares,
        level=level,
    )


def totals_of(
    totals: FloatArray,
    variances: FloatArray,
    labels: Labels,
    people: FloatArray | HumanNorm,
    *,
    level: float,
) -> PeopleScore:
    """Compare totals of a scale, treating its statements as fixed and people as a random sample.

    `totals` (models,) are means over repeats, and `variances` (models,) the variances of these
    means.
    """
    if isinstance(people, HumanNorm):
        known, sd = np.zeros(0), people.sd
        variance, df = (0.0, np.inf) if people.n is None else (sd**2 / people.n, people.n - 1.0)
        n = FEWEST_PEOPLE if people.n is None else people.n
        whole = CrossedMean(people.mean, variance, 0.0, df, n, 0)
        size = np.nan if people.n is None else people.n
    else:
        known = people[np.isfinite(people)]
        whole = crossed_mean(known[:, None], fixed=True)
        sd = float(known.std(ddof=1)) if known.size > 1 else np.nan
    rows, none = [], np.full(2, np.nan)
    for total, spread in zip(totals, variances, strict=True):
        value, se = total - whole.value, np.sqrt(whole.variance + spread)
        flag = _flag(whole) if np.isfinite(value) else Reason.NO_COMMON
        bounds = none if flag else _t(value, se**2, whole.df, level)
        if known.size:
            place = _place(total - known, value, bounds, 0.0, level)
        else:
            place = float(ndtr(value / sd)), ndtr(bounds / sd)
        rows.append(_One(total, np.sqrt(spread), none, value, se, bounds, *place, 1, flag))
    average = replace(whole, value=float(np.nanmean(totals)) - whole.value)
    part = _part(
        rows, whole, average, labels=labels, people=known, sd=sd, n_questions=0, shares=False,
        level=level,
    )  # fmt: skip
    if isinstance(people, HumanNorm):
        base = replace(part.baseline, n=np.array([size], dtype=np.float64))
        part = replace(part, baseline=base, source=people.source)
    return part


def _part(
    rows: Sequence[_One],
    whole: CrossedMean,
    average: CrossedMean,
    *,
    labels: Labels,
    people: FloatArray,
    sd: float | None,
    n_questions: int,
    shares: bool,
    level: float,
) -> PeopleScore:
    """Return estimates of all models; `average` is their mean difference from people."""

    def estimate(name: str, each: Sequence[tuple[Any, ...]], labels: Labels) -> Estimate:
        value, se, bounds, n, flags = zip(*each, strict=True) if each else ((),) * 5
        return Estimate(
            name=name,
            value=np.array(value, dtype=np.float64),
            se=np.array(se, dtype=np.float64),
            interval=np.array(bounds, dtype=np.float64).reshape(-1, 2),
            n=np.array(n, dtype=np.float64),
            flags=flags,
            method="people and questions at random" if n_questions else "people at random",
            level=level,
            labels=labels,
        )

    flag = _flag(whole)
    bounds = np.full(2, np.nan) if flag else _bounds(whole, level, shares=shares)
    base = (whole.value, np.sqrt(whole.variance), bounds, whole.n_people, flag)
    scores = [
        (
            one.score,
            one.score_se,
            one.score_bounds,
            one.n,
            one.flag if np.isnan(one.score) else _NO,
        )
        for one in rows
    ]
    return PeopleScore(
        baseline=estimate("people", [base], ("people",)),
        score=estimate("score", scores, labels),
        difference=estimate(
            "difference from people",
            [(one.value, one.se, one.bounds, one.n, one.flag) for one in rows],
            labels,
        ),
        place=estimate(
            "place among people",
            [(one.place, np.nan, one.place_bounds, one.n, one.flag) for one in rows],
            labels,
        ),
        average=estimate("average", [_average(rows, average, level)], ("models on average",)),
        people=people,
        sd=(float(people.std(ddof=1)) if people.size > 1 else np.nan) if sd is None else sd,
        source="",
        shares=shares,
        n_questions=n_questions,
        labels=labels,
    )


_NO = Reason.NONE


def _average(rows: Sequence[_One], apart: CrossedMean, level: float) -> tuple[Any, ...]:
    """Return the mean difference over sampled models, with Welch's t."""
    scores = np.array([one.score for one in rows if np.isfinite(one.score)])
    none = np.full(2, np.nan)
    if scores.size < _FEWEST_MODELS or _flag(apart):
        return apart.value, np.nan, none, scores.size, _flag(apart) or Reason.TOO_FEW
    own, others = scores.var(ddof=1) / scores.size, apart.variance
    total = own + others
    df = total**2 / (own**2 / (scores.size - 1.0) + others**2 / apart.df) if total > 0.0 else 1.0
    return apart.value, np.sqrt(total), _t(apart.value, total, df, level), scores.size, _NO


def _flag(mean: CrossedMean) -> Reason:
    if not mean.n_people:
        return Reason.NO_COMMON
    if mean.n_people < FEWEST_PEOPLE:
        return Reason.FEW_PEOPLE
    if not np.isfinite(mean.variance):
        return Reason.ONE_CLUSTER
    return Reason.NONE


def _bounds(mean: CrossedMean, level: float, *, shares: bool) -> FloatArray:
    """Return the interval of a mean over people and questions."""
    if not np.isfinite(mean.variance):
        return np.full(2, np.nan)
    if not shares:
        return _t(mean.value, mean.variance, mean.df, level)
    rate = mean.value * (1.0 - mean.value)
    if mean.variance > 0.0 and rate > 0.0:
        return wilson(
            mean.value * rate / mean.variance, rate / mean.variance, level=level, df=mean.df
        )
    # If the variance is zero, use the number of people or of questions.
    size = float(min(mean.n_people, mean.n_clusters))
    return wilson(mean.value * size, size, level=level)


def _t(value: float, variance: float, df: float, level: float) -> FloatArray:
    margin = stdtrit(min(df, 1e9), 0.5 + 0.5 * level) * np.sqrt(variance)
    return np.array([value - margin, value + margin]) if margin > 0.0 else np.full(2, np.nan)


def _one(
    own: FloatArray, people: FloatArray, clusters: IntArray | None, level: float, *, shares: bool
) -> _One:
    """Compare one model with people on the questions that the model and people answered."""
    held = np.isfinite(own)
    own, people = own[held], people[:, held]
    codes = None if clusters is None else np.unique(clusters[held], return_inverse=True)[1]
    gaps = own - people
    apart, none = crossed_mean(gaps, codes), np.full(2, np.nan)
    if not apart.n_people:
        reason = Reason.NO_COMMON
        return _One(np.nan, np.nan, none, np.nan, np.nan, none, np.nan, none, 0, reason)
    mean = clustered_mean(own[None], np.ones((1, own.size)), codes)
    score, spread = float(mean.value[0]), float(mean.se[0]) ** 2
    n = int(mean.n_clusters[0])
    alone = CrossedMean(score, spread, spread, float(mean.df[0]), n, n)
    of_score, whole = _bounds(alone, level, shares=shares), crossed_mean(people, codes)
    bounds, flag = none, _flag(apart)
    if not flag and not shares:
        bounds = _t(apart.value, apart.variance, apart.df, level)
    elif not flag:
        cross = spread + whole.variance - apart.variance
        scale = 2.0 * np.sqrt(spread * whole.variance)
        rho = float(np.clip(cross / scale, -1.0, 1.0)) if scale > 0.0 else 0.0
        bounds = _mover(score, of_score, whole.value, _bounds(whole, level, shares=True), rho)
        bounds = np.clip(bounds, -1.0, 1.0)
    if not flag and not np.isfinite(bounds).all():
        flag = Reason.NO_SPREAD
    gaps = gaps[np.isfinite(gaps).any(axis=1)]
    moved = min(apart.of_questions / apart.variance, 1.0) if apart.variance > 0.0 else 1.0
    place = _place(np.nanmean(gaps, axis=1), apart.value, bounds, moved, level)
    se, root = np.sqrt(apart.variance), np.sqrt(spread)
    return _One(score, root, of_score, apart.value, se, bounds, *place, int(held.sum()), flag)


def _mover(
    one: float, bounds: FloatArray, other: float, others: FloatArray, rho: float
) -> FloatArray:
    """Return the bounds, equation (1), of the difference between two scores."""
    down, up = one - bounds[0], others[1] - other
    lower = np.sqrt(max(down**2 - 2.0 * rho * down * up + up**2, 0.0))
    up, down = bounds[1] - one, other - others[0]
    upper = np.sqrt(max(up**2 - 2.0 * rho * up * down + down**2, 0.0))
    return np.array([one - other - lower, one - other + upper])


def _place(
    apart: FloatArray, difference: float, bounds: FloatArray, share: float, level: float
) -> tuple[float, FloatArray]:
    """Return the proportion of people below a model, with the interval of equation (2)."""
    # `apart` (people,): score of the model minus score of each person; `bounds`: interval of the
    # difference; `share`: proportion of the difference's variance that is due to questions.
    value = _below(apart)
    if apart.size < FEWEST_PEOPLE or not np.isfinite(bounds).all():
        return value, np.full(2, np.nan)
    n = float(apart.size)
    moved = [_below(apart + np.sqrt(share) * (one - difference)) for one in bounds]
    of_questions = (np.abs(np.array(moved) - value).mean() / ndtri(0.5 + 0.5 * level)) ** 2
    middle = (n * value + 1.0) / (n + 2.0)
    of_people = middle * (1.0 - middle) / n
    size = n * of_people / (of_people + of_questions)
    return value, wilson(value * size, size, level=level)


def _below(apart: FloatArray) -> float:
    """Return the proportion of people who score lower; ties count half."""
    return float((apart > _TIE).mean() + 0.5 * (np.abs(apart) <= _TIE).mean())
