"""Scores of respondents on items, with the condition of each row and the key of each item.

Each row is a respondent or, with repeated measurements, one repetition of a respondent. For
example, ten models in three runs have thirty rows but are ten respondents. The bootstrap and the
jackknife always use whole respondents.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from psychollm._base.checks import check_choice
from psychollm._base.errors import LabelError, OptionError, ShapeError
from psychollm._base.frames import in_pandas, labelled
from psychollm._base.result import Result
from psychollm._base.types import BoolArray, FloatArray, IntArray
from psychollm.data.labels import Labels, Table, listed, numbered, unit_labels, unit_numbers
from psychollm.data.long import is_long_frame
from psychollm.data.missing_codes import warn_of_codes
from psychollm.data.responses import ResponsesLike
from psychollm.data.table import as_table, numbers
from psychollm.estimates.reasons import Reason
from psychollm.reliability.scales.moments import (
    ROUNDING,
    Incomplete,
    ItemMoments,
    complete_rows,
    constant_items,
    item_moments,
)

_ONE_CONDITION: Labels = ("all",)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScoreTable(Result):
    """Scores of rows on items, with the respondent and the condition of each row."""

    values: FloatArray  # (rows, items) NaN where missing
    items: Labels
    respondent: IntArray  # (rows,) index into `respondents`
    respondents: Labels
    condition: IntArray  # (rows,) index into `conditions`
    conditions: Labels

    @property
    def has_repeats(self) -> bool:
        """Whether a respondent has more than one row in a condition."""
        pairs = self.respondent * len(self.conditions) + self.condition
        return bool(np.unique(pairs).size < pairs.size)

    def rows(self, condition: int) -> IntArray:
        """Return the rows of one condition that have at least one score."""
        answered = np.isfinite(self.values).any(axis=1)
        return np.flatnonzero(answered & (self.condition == condition))

    def means(self, rows: IntArray) -> tuple[FloatArray, IntArray]:
        """Return means over repetitions (respondents, items), and indices of respondents."""
        who, row = np.unique(self.respondent[rows], return_inverse=True)
        values = self.values[rows]
        present = np.isfinite(values)
        # The first score is subtracted before summing, so that the mean of equal repeats is exact.
        first = np.full((who.size, values.shape[1]), np.nan)
        first[row[::-1]] = values[::-1]
        first = np.where(np.isfinite(first), first, 0.0)
        total, count = np.zeros(first.shape), np.zeros(first.shape)
        np.add.at(total, row, np.where(present, values - first[row], 0.0))
        np.add.at(count, row, present)
        with np.errstate(invalid="ignore"):
            return first + np.where(count > 0, total / np.maximum(count, 1.0), np.nan), who


def score_table(
    scores: ResponsesLike,
    *,
    respondents: Any = None,
    by: Any = None,
    keys: Any = None,
    argument: str = "scores",
) -> ScoreTable:
    """Validate scores and return them with labels."""
    table = _table(scores, respondents, argument)
    values = numbers(table, argument=argument)
    warn_of_codes(values, table.questions, argument)
    n_rows = values.shape[0]
    if respondents is None:
        respondent, who = np.arange(n_rows), table.models
    else:
        respondent, who = row_groups(respondents, table.models, argument="respondents")
    condition, conditions = np.zeros(n_rows, dtype=np.int64), _ONE_CONDITION
    if by is not None:
        condition, conditions = row_groups(by, table.models, argument="by")
    return ScoreTable(
        values=values if keys is None else _reversed(values, item_keys(keys, table.questions)),
        items=table.questions,
        respondent=respondent,
        respondents=who,
        condition=condition,
        conditions=conditions,
    )


def row_groups(labels: Any, rows: Labels, *, argument: str) -> tuple[IntArray, Labels]:
    """Return the group of each row, numbered from zero, and the labels of the groups."""
    return numbered(unit_labels(labels, rows, argument=argument, kind="row"))


def item_keys(keys: Any, items: Labels) -> FloatArray:
    """Return the key, 1 or -1, of each item."""
    if isinstance(keys, Mapping):
        unknown = [item for item in keys if item not in set(items)]
        if unknown:
            msg = f"keys names {listed(unknown)}, but the items are {listed(items)}"
            raise OptionError(msg)
        keys = [keys.get(item, 1) for item in items]
    try:
        signs = unit_numbers(keys, items, argument="keys", kind="item")
    except ShapeError as error:
        raise OptionError(str(error)) from error
    bad = np.flatnonzero(np.abs(signs) != 1.0)
    if bad.size:
        item, key = items[bad[0]], signs[bad[0]]
        msg = f"keys: item {item!r} has {key:g}: use 1, or -1 for an item to reverse"
        raise OptionError(msg)
    return signs


def _table(scores: Any, respondents: Any, argument: str) -> Table:
    """Return the table of scores; row labels may repeat if respondents are given separately."""
    scores = in_pandas(scores)
    if respondents is None and is_long_frame(scores):
        return as_table(scores, argument=argument)
    scores = labelled(scores)
    index = getattr(scores, "index", None)
    if not hasattr(scores, "iloc") or index is None or index.is_unique:
        return as_table(scores, argument=argument)
    if respondents is None:
        repeated = listed(list(dict.fromkeys(index[index.duplicated()].tolist())))
        msg = (
            f"{argument}: several rows are labelled {repeated}: if they repeat one respondent, "
            f"pass respondents={argument}.index; otherwise use unique labels"
        )
        raise LabelError(msg)
    return as_table(scores, models=range(len(scores)), argument=argument)


def _reversed(values: FloatArray, keys: FloatArray) -> FloatArray:
    """Reverse items about the midrange of all scores, so that scores remain on the scale."""
    if (keys == 1.0).all() or not np.isfinite(values).any():
        return values
    mirrored = np.nanmin(values) + np.nanmax(values) - values
    return np.where(keys < 0, mirrored, values)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScaleScores(Result):
    """Rows of scores for computing a coefficient."""

    values: FloatArray  # (rows, items) NaN where missing
    respondent: IntArray  # (rows,)
    left_out: bool  # whether incomplete rows were omitted

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.values.shape[0])

    @property
    def n_items(self) -> int:
        """Number of items, including zero-variance items."""
        return int(self.values.shape[1])

    @property
    def n_respondents(self) -> int:
        """Number of respondents in the rows."""
        return np.unique(self.respondent).size

    def moments(self, counts: FloatArray) -> ItemMoments:
        """Return the moments in resamples of respondents (resamples, respondents)."""
        return item_moments(self.values, counts[:, self.respondent])

    @property
    def reason(self) -> Reason:
        """Reason why alpha is undefined or flagged."""
        if self.n_items < 2:
            return Reason.ONE_QUESTION
        if self.n < 2:
            return Reason.FEW_RESPONDENTS
        moments = item_moments(self.values, np.ones((1, self.n)))
        if np.isnan(moments.with_total).any():
            return Reason.TOO_FEW
        if not moments.total_variance[0] > 0.0:
            return Reason.NO_VARIANCE
        return _qualified(self, moments)


def scale_scores(
    table: ScoreTable, condition: int, missing: Incomplete = "pairwise"
) -> ScaleScores:
    """Return the rows of one condition."""
    check_choice("missing", missing, Incomplete)
    rows = table.rows(condition)
    return _selected(table.values[rows], table.respondent[rows], missing)


def mean_scores(
    table: ScoreTable, condition: int, missing: Incomplete = "pairwise"
) -> ScaleScores:
    """Return each respondent's mean scores over their rows under one condition."""
    check_choice("missing", missing, Incomplete)
    values, who = table.means(table.rows(condition))
    return _selected(values, who.astype(np.int64), missing)


def coefficients(moments: ItemMoments) -> FloatArray:
    """Return alpha, standardised alpha, mean correlation and SEM (resamples, 4)."""
    k = moments.variance.shape[1]
    trace, total = moments.variance.sum(axis=1), moments.total_variance
    varying, correlations = moments.varying, moments.correlation_sum
    with np.errstate(invalid="ignore", divide="ignore"):
        total = np.where(total > 0.0, total, np.nan)
        alpha = k / np.float64(k - 1) * (1.0 - trace / total)
        nil = ROUNDING * varying**2
        correlations = np.where(correlations > nil, correlations, np.nan)
        standardised = varying / (varying - 1.0) * (1.0 - varying / correlations)
        mean = (correlations - varying) / (varying * (varying - 1.0))
        # This is s_T^2 (1 - alpha), computed without cancellation if alpha is near 1.
        error = np.maximum(k * trace - total, 0.0) / np.float64(k - 1)
    parts = [*map(_snapped, (alpha, standardised, mean)), np.sqrt(error)]
    every = np.stack(parts, axis=1)
    return np.where(np.isfinite(every), every, np.nan)


def _snapped(value: FloatArray) -> FloatArray:
    """Return 1 for coefficients that equal 1 up to rounding."""
    return np.where(np.abs(1.0 - value) < ROUNDING, 1.0, value)


def negative_items(moments: ItemMoments) -> BoolArray:
    """Return the mask of items with a negative item-rest correlation (items,)."""
    variance, joint = moments.variance[0], moments.with_total[0]
    return np.asarray(joint - variance < -ROUNDING * variance, dtype=np.bool_)


def _selected(values: FloatArray, respondent: IntArray, missing: Incomplete) -> ScaleScores:
    scale = ScaleScores(values=values, respondent=respondent, left_out=False)
    complete = complete_rows(values)
    if missing == "pairwise" or complete.all():
        return scale
    kept = values[complete], respondent[complete]
    return replace(scale, values=kept[0], respondent=kept[1], left_out=True)


def _qualified(scale: ScaleScores, moments: ItemMoments) -> Reason:
    cases = (
        (scale.n_respondents < 3, Reason.FEW_RESPONDENTS),
        (bool(negative_items(moments).any()), Reason.NEGATIVE_ITEMS),
        (bool(constant_items(scale.values).any()), Reason.CONSTANT_ITEMS),
        (scale.left_out, Reason.INCOMPLETE),
        (not complete_rows(scale.values).all(), Reason.PAIRWISE),
    )
    return next((reason for holds, reason in cases if holds), Reason.NONE)
