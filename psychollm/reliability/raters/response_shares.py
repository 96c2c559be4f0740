r"""Proportions of all answer categories with simultaneous intervals.

Goodman's simultaneous intervals of k proportions are Wilson intervals at the level :math:`1 - (1 -
\text{level}) / k`. Answers to the same question in several runs are dependent, so the interval of
each proportion uses its effective number of answers
(`psychollm.reliability.raters.score_interval`). With one run, the effective number is the number
of answers, and the intervals are Goodman intervals.

References
----------
Goodman, L. A. (1965). On simultaneous confidence intervals for multinomial proportions.
Technometrics, 7, 247-254. https://doi.org/10.1080/00401706.1965.10490252
"""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from psychollm._base.axes import Axes, whole
from psychollm._base.checks import check_fraction
from psychollm._base.result import Result
from psychollm._base.types import FloatArray, IntArray
from psychollm.calibration.stated import cluster_codes
from psychollm.data.labels import Labels, positions
from psychollm.estimates.clustered import units_of
from psychollm.estimates.reasons import Reason
from psychollm.reliability.raters.ratings import Ratings, RatingsLike, as_ratings
from psychollm.reliability.raters.score_interval import Share, clustered_share


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ResponseShares(Result):
    """Proportions of all categories among each model's answers.

    Examples
    --------
    >>> found = response_shares([["A", "B", "C"], ["A", "A", "A"]])
    >>> found.categories, found.value.round(3)
    (('A', 'B', 'C'), array([[0.667, 0.167, 0.167]]))
    """

    value: FloatArray  # (models, categories)
    interval: FloatArray  # (models, categories, 2) simultaneous over categories
    count: FloatArray  # (models, categories) number of answers
    effective_n: FloatArray  # (models, categories) effective number of answers
    n: FloatArray  # (models,) number of answers in all categories
    flags: tuple[Reason, ...]  # (models,)
    method: str
    level: float
    categories: Labels
    labels: Labels  # (models,)

    _AXES = Axes(
        {"model": "labels", "category": "categories"},
        whole("count"),
        "share=value",
        "{bound}=interval",
        arrays={
            "model category": "value count effective_n",
            "model category bound": "interval",
            "model": "n",
        },
    )


def response_shares(
    ratings: RatingsLike,
    *,
    among: Iterable[Hashable] | None = None,
    categories: Iterable[Hashable] | None = None,
    clusters: Any = None,
    level: float = 0.95,
) -> ResponseShares:
    """Compute the proportions of all categories among each model's answers.

    Parameters
    ----------
    ratings : Ratings, DataFrame, array (questions, runs) or (runs, models, questions), sequence
        Answers as numbers or words; NaN, None and empty text mark missing answers. A table has one
        row per question (unit) and one column per run (rater). A sequence has one element per run:
        a vector for one model, or a table (models, questions). Use `Ratings.from_long` for long
        tables.
    among : iterable, optional
        Categories among which proportions are computed (for example, types of failure); answers of
        other categories are omitted.
    categories : iterable, optional
        All categories in increasing order; by default the sorted categories of the data.
    clusters : array_like (questions,), optional
        Cluster of each question, such as its passage.
    level : float
        Simultaneous coverage of all intervals of a model, between 0 and 1.

    Returns
    -------
    ResponseShares
        Proportions over all questions and runs; NaN with a reason for a model without answers.

    Raises
    ------
    LabelError
        If a category in `among` does not exist.
    ShapeError, LabelError
        If the runs differ in their models or questions, or the clusters do not match the
        questions.
    CodeError
        If a rating is infinite or is not one of `categories`.
    OptionError
        If an option is invalid.

    Examples
    --------
    >>> response_shares([["ok", "late", "lost", "late"]], among=["late", "lost"]).value
    array([[0.66666667, 0.33333333]])
    """
    check_fraction("level", level)
    known = as_ratings(ratings, categories=categories)
    known = known if among is None else _only(known, among)
    numbers = None if clusters is None else cluster_codes(clusters, known.questions)
    rows = [_shares(codes, len(known.categories), numbers, level) for codes in known.codes]
    count = np.array(
        [[(codes == c).sum() for c in range(len(known.categories))] for codes in known.codes]
    )
    n = (known.codes >= 0).sum(axis=(1, 2)).astype(np.float64)
    shape = (len(rows), len(known.categories))
    flags = tuple(Reason.NONE if size else Reason.NO_RATINGS for size in n)
    units = units_of((known.codes >= 0).sum(axis=2), numbers)
    return ResponseShares(
        value=np.array([[one.value for one in row] for row in rows]).reshape(shape),
        interval=np.array([[one.interval for one in row] for row in rows]).reshape(*shape, 2),
        count=count.reshape(shape).astype(np.float64),
        effective_n=np.array([[one.effective_n for one in row] for row in rows]).reshape(shape),
        n=n,
        flags=flags if units is None else units.flagged(flags, n),
        method="Goodman, effective n",
        level=level,
        categories=known.categories,
        labels=known.models,
    )


def _only(ratings: Ratings, among: Iterable[Hashable]) -> Ratings:
    """Keep some categories, in the given order; other ratings are set to missing."""
    chosen = positions("category", ratings.categories, list(among))
    target = np.full(len(ratings.categories) + 1, -1, dtype=np.int64)
    target[chosen] = np.arange(chosen.size)
    kept = tuple(ratings.categories[i] for i in chosen)
    return replace(ratings, codes=target[ratings.codes], categories=kept)


def _shares(codes: IntArray, size: int, clusters: IntArray | None, level: float) -> list[Share]:
    """Return the proportion of each category in codes (questions, runs)."""
    sizes = (codes >= 0).sum(axis=1).astype(np.float64)
    single = 1.0 - (1.0 - level) / max(size, 1)
    return [
        clustered_share(
            (codes == category).sum(axis=1).astype(np.float64), sizes, clusters, level=single
        )
        for category in range(size)
    ]
