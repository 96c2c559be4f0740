"""Trials of two-choice answers with confidence ratings, and tables of their counts.

A trial consists of a stimulus class (the correct answer, 0 or 1), a response (the model's answer,
0 or 1) and a rating 1, 2, ..., K of the confidence in the response. Signal detection statistics
depend only on the table of counts (classes, responses, ratings).
"""

from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from psychollm._base.checks import LARGEST, MOST, check_choice, check_count, n_dimensions
from psychollm._base.errors import CodeError, OptionError, ShapeError
from psychollm._base.result import Result
from psychollm._base.types import BoolArray, FloatArray, IntArray
from psychollm.calibration.stated import cluster_codes, question_weights
from psychollm.data.labels import Labels, Table, as_labels, reorder, unit_numbers
from psychollm.data.responses import ResponsesLike
from psychollm.data.table import numbers, one_model, values_like
from psychollm.estimates.clustered import Units, units_of
from psychollm.kernels.meta_d import count_cells

Bins: TypeAlias = Literal["quantile", "width"]


MOST_RATINGS = 1000  # largest number of ratings, which limits the size of tables


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RatedConfidence(Result):
    """Stated confidence divided into ratings.

    Examples
    --------
    >>> rate_confidence([[0.2, 0.9, 0.5, 0.7]], n_ratings=2).codes
    array([[1., 2., 1., 2.]])
    """

    codes: FloatArray  # (models, questions) 1 = least confident, NaN where missing
    lowest: FloatArray  # (models, ratings) lowest confidence of each rating; NaN if unused
    n_ratings: int
    models: Labels
    questions: Labels


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RatedTrials(Result):
    """Trials of several models on the same questions."""

    cell: IntArray  # (models, questions) index into (classes, responses, ratings) or -1
    n_ratings: int
    weights: FloatArray  # (questions,) with mean one
    clusters: IntArray | None  # (questions,) numbered from zero
    models: Labels
    questions: Labels

    @property
    def n(self) -> FloatArray:
        """Number of complete trials per model (models,)."""
        return np.asarray((self.cell >= 0).sum(axis=1), dtype=np.float64)

    @property
    def units(self) -> Units | None:
        """Degrees of freedom of each model's clusters of trials; None without clusters."""
        return units_of((self.cell >= 0) * self.weights, self.clusters)

    @property
    def weighted(self) -> bool:
        """Whether the questions' weights differ."""
        return bool((self.weights != 1.0).any())

    @property
    def observed(self) -> FloatArray:
        """Table of counts of every model (models, 2 classes, 2 responses, ratings)."""
        once = self.tables(np.ones((1, len(self.questions))))
        return np.asarray(once[0], dtype=np.float64)

    def tables(self, counts: FloatArray) -> FloatArray:
        """Count trials, each weighted by `counts` (resamples, questions)."""
        # Shape: (resamples, models, 2 classes, 2 responses, ratings).
        weights = counts * self.weights
        tables = np.empty((counts.shape[0], len(self.models), 4 * self.n_ratings))
        for row, cell in enumerate(self.cell):
            filled = np.empty((counts.shape[0], 4 * self.n_ratings))
            count_cells(weights, cell, filled)
            tables[:, row] = filled
        return tables.reshape(*tables.shape[:2], 2, 2, self.n_ratings)


def rate_confidence(
    confidence: ResponsesLike, *, n_ratings: int = 4, bins: Bins = "quantile"
) -> RatedConfidence:
    """Divide each model's stated confidence into ratings.

    Parameters
    ----------
    confidence : Responses, DataFrame, DataArray or array_like (models, questions)
        Confidence as real numbers, where higher values mean more confidence; NaN marks a missing
        value. A vector holds the values of one model.
    n_ratings : int
        Number of ratings, at least two.
    bins : {"quantile", "width"}
        "quantile" makes ratings of about equal frequency. Equal confidences have the same rating,
        so that some ratings may be unused. A model with at most `n_ratings` distinct values has
        one rating for each value. "width" divides [0, 1] into equal intervals, so that all models
        are rated on the same scale.

    Returns
    -------
    RatedConfidence
        Ratings for the argument `rating` of functions such as `meta_d`.

    Raises
    ------
    OptionError
        If `n_ratings` is below two, or confidence is outside [0, 1] with ``bins="width"``.

    Examples
    --------
    >>> rate_confidence([[0.1, 0.5, 0.5, 0.5, 0.9, 1.0]], n_ratings=3).codes
    array([[1., 2., 2., 2., 3., 3.]])
    """
    check_choice("bins", bins, Bins)
    n_ratings = check_count("n_ratings", n_ratings, low=2)
    _check_number(n_ratings)
    table = one_model(confidence, argument="confidence")
    stated = numbers(table, argument="confidence")
    if bins == "width" and (np.nanmin(stated, initial=0) < 0 or np.nanmax(stated, initial=0) > 1):
        msg = 'bins="width" cuts the range from 0 to 1, but confidence leaves it: rescale it'
        raise OptionError(msg)
    cut = _by_rank if bins == "quantile" else _by_width
    codes = np.full(stated.shape, np.nan)
    for row, values in enumerate(stated):
        known = np.isfinite(values)
        codes[row, known] = cut(values[known], n_ratings)
    return RatedConfidence(
        codes=codes,
        lowest=_lowest(stated, codes, n_ratings),
        n_ratings=n_ratings,
        models=table.models,
        questions=table.questions,
    )


def _by_rank(values: FloatArray, n_ratings: int) -> IntArray:
    _, rank, count = np.unique(values, return_inverse=True, return_counts=True)
    if count.size <= n_ratings:
        return np.asarray(rank + 1, dtype=np.int64)
    middle = (np.cumsum(count) - 0.5 * count) / values.size
    return np.asarray(1 + np.floor(n_ratings * middle)[rank], dtype=np.int64)


def _by_width(values: FloatArray, n_ratings: int) -> IntArray:
    return np.asarray(1 + np.minimum(np.floor(n_ratings * values), n_ratings - 1), dtype=np.int64)


def _lowest(stated: FloatArray, codes: FloatArray, n_ratings: int) -> FloatArray:
    lowest = np.full((codes.shape[0], n_ratings), np.nan)
    for row, column in np.ndindex(*lowest.shape):
        here = stated[row, codes[row] == column + 1]
        if here.size:
            lowest[row, column] = here.min()
    return lowest


def rated_trials(
    stimulus: Any,
    response: Any,
    rating: Any,
    *,
    n_ratings: int | None = None,
    clusters: ArrayLike | None = None,
    weights: ArrayLike | None = None,
) -> RatedTrials:
    """Align stimulus class, response and rating."""
    # Shapes: stimulus (questions,); response (models, questions); rating (models, questions);
    # clusters, weights (questions,).
    table = _rating_table(rating)
    codes = numbers(table, argument="rating")
    if n_ratings is None and isinstance(rating, RatedConfidence):
        n_ratings = rating.n_ratings
    scale = _check_ratings(codes, table, n_ratings)
    given = _like(response, table, "response")
    right = _stimulus(stimulus, table)
    known = np.isfinite(codes) & np.isfinite(given) & np.isfinite(right)
    cell = (2 * right + given) * scale + codes - 1
    return RatedTrials(
        cell=np.where(known, cell, -1.0).astype(np.int64),
        n_ratings=scale,
        weights=question_weights(weights, table.questions),
        clusters=None if clusters is None else cluster_codes(clusters, table.questions),
        models=table.models,
        questions=table.questions,
    )


def _rating_table(rating: Any) -> Table:
    if isinstance(rating, RatedConfidence):
        return Table(rating.codes, rating.models, rating.questions)
    return one_model(rating, argument="rating")


def _check_ratings(codes: FloatArray, table: Table, n_ratings: int | None) -> int:
    known = np.isfinite(codes)
    top = 2 if n_ratings is None else check_count("n_ratings", n_ratings, low=2)
    if n_ratings is None and known.any():
        top = max(top, int(min(codes[known].max(), MOST_RATINGS)))
    _check_number(top)
    bad = known & ((codes != np.floor(codes)) | (codes < 1) | (codes > top))
    if bad.any():
        _refuse(
            codes,
            table,
            bad,
            "rating",
            f"ratings are whole numbers from 1 to {top}: cut stated confidence with "
            "rate_confidence(confidence, n_ratings=4)",
        )
    return top


def _check_number(n_ratings: int) -> None:
    if n_ratings > MOST_RATINGS:
        msg = f"n_ratings={n_ratings} exceeds {MOST_RATINGS}: divide confidence into fewer ratings"
        raise OptionError(msg)


def _refuse(values: FloatArray, table: Table, bad: BoolArray, argument: str, rule: str) -> None:
    row, column = (int(i) for i in np.argwhere(bad)[0])
    msg = f"{argument}: {table.place(row, column)} holds {values[row, column]:g}, but {rule}"
    raise CodeError(msg)


def _like(data: Any, table: Table, argument: str) -> FloatArray:
    """Return binary values (models, questions) in the order of `table`, after checking them."""
    own = one_model(data, argument=argument)
    values = numbers(own, argument=argument)
    _check_classes(values, own, argument)
    return values_like(replace(own, values=values), table, argument=argument)


def _check_classes(values: FloatArray, table: Table, argument: str) -> None:
    bad = np.isfinite(values) & (values != 0.0) & (values != 1.0)
    if bad.any():
        _refuse(values, table, bad, argument, "there are two classes, 0 and 1: recode it")


def _stimulus(stimulus: Any, table: Table) -> FloatArray:
    """Return the correct answers, (questions,) or (models, questions)."""
    if n_dimensions(stimulus, "stimulus") != 1:
        return _like(stimulus, table, "stimulus")
    right = unit_numbers(stimulus, table.questions, argument="stimulus")
    row = Table(right[None], ("all models",), table.questions)
    _check_classes(row.values, row, "stimulus")
    return right


def counted_tables(n_s1: Any, n_s2: Any) -> tuple[FloatArray, Labels]:
    """Return tables of counts and the labels of the models, from counts by stimulus class."""
    # Shapes: n_s1, n_s2 (models, 2 ratings).
    first, second = (
        one_model(counts, argument=name) for name, counts in (("n_s1", n_s1), ("n_s2", n_s2))
    )
    tables = [_counts(first, "n_s1"), _counts(second, "n_s2")]
    if tables[0].shape != tables[1].shape:
        msg = f"n_s1 has shape {tables[0].shape}, n_s2 {tables[1].shape}: they must be equal"
        raise ShapeError(msg)
    rows = reorder("model", second.models, like=first.models)
    tables[1] = tables[1] if rows is None else tables[1][rows]
    k = tables[0].shape[1] // 2
    if tables[0].shape[1] % 2 or k < 2:
        msg = (
            f"n_s1 has {tables[0].shape[1]} columns: twice the number of ratings is needed, at "
            "least four"
        )
        raise ShapeError(msg)
    both = np.stack(tables, axis=1).reshape(-1, 2, 2, k)
    both[:, :, 0] = both[:, :, 0, ::-1].copy()
    return np.ascontiguousarray(both), as_labels("model", first.models, both.shape[0])


def _counts(table: Table, argument: str) -> FloatArray:
    values = numbers(table, argument=argument)
    bad = ~((values >= 0.0) & (values <= MOST))
    if bad.any():
        _refuse(values, table, bad, argument, f"a count is a number from 0 to {MOST}")
    return np.where(values < 1.0 / LARGEST, 0.0, values)
