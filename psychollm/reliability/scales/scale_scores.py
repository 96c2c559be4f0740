"""The scores of one scale under one condition, and the coefficients of internal consistency."""

from dataclasses import dataclass, replace

import numpy as np

from psychollm._base.checks import check_choice
from psychollm._base.result import Result
from psychollm._base.types import BoolArray, FloatArray, IntArray
from psychollm.estimates.reasons import Reason
from psychollm.reliability.scales.moments import (
    ROUNDING,
    Incomplete,
    ItemMoments,
    constant_items,
    item_moments,
)
from psychollm.reliability.scales.score_table import ScoreTable, complete_rows


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScaleScores(Result):
    """Rows of scores that enter a coefficient, and what must be said of them."""

    values: FloatArray  # (rows, items) NaN where missing
    respondent: IntArray  # (rows,)
    left_out: bool  # whether incomplete rows were left out

    @property
    def n(self) -> int:
        """Rows."""
        return int(self.values.shape[0])

    @property
    def n_items(self) -> int:
        """Items, those that do not vary included."""
        return int(self.values.shape[1])

    @property
    def n_respondents(self) -> int:
        """Respondents who made the rows."""
        return np.unique(self.respondent).size

    def moments(self, counts: FloatArray) -> ItemMoments:
        """Return the moments in resamples of respondents (resamples, respondents)."""
        return item_moments(self.values, counts[:, self.respondent])

    @property
    def reason(self) -> Reason:
        """Why alpha is undefined, or what qualifies it."""
        few = _too_little(self)
        if few:
            return few
        found = item_moments(self.values, np.ones((1, self.n)))
        if np.isnan(found.with_total).any():
            return Reason.TOO_FEW
        if not found.total_variance[0] > 0.0:
            return Reason.NO_VARIANCE
        return _qualified(self, found)


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
    """Return one row per respondent: its means over its rows under one condition."""
    check_choice("missing", missing, Incomplete)
    values, who = table.means(table.rows(condition))
    return _selected(values, who.astype(np.int64), missing)


def coefficients(found: ItemMoments) -> FloatArray:
    """Return alpha, standardised alpha, mean correlation and SEM (resamples, 4)."""
    k = found.variance.shape[1]
    trace, total = found.variance.sum(axis=1), found.total_variance
    varying, correlations = found.varying, found.correlation_sum
    with np.errstate(invalid="ignore", divide="ignore"):
        total = np.where(total > 0.0, total, np.nan)
        alpha = k / np.float64(k - 1) * (1.0 - trace / total)
        nil = ROUNDING * varying**2
        correlations = np.where(correlations > nil, correlations, np.nan)
        standardised = varying / (varying - 1.0) * (1.0 - varying / correlations)
        mean = (correlations - varying) / (varying * (varying - 1.0))
        # s_T^2 (1 - alpha), without the difference of near equals where alpha is 1.
        error = np.maximum(k * trace - total, 0.0) / np.float64(k - 1)
    parts = [*map(_snapped, (alpha, standardised, mean)), np.sqrt(error)]
    every = np.stack(parts, axis=1)
    return np.where(np.isfinite(every), every, np.nan)


def _snapped(value: FloatArray) -> FloatArray:
    """Return 1 where a coefficient is so but for rounding."""
    return np.where(np.abs(1.0 - value) < ROUNDING, 1.0, value)


def negative_items(found: ItemMoments) -> BoolArray:
    """Return which items correlate negatively with the sum of the others (items,)."""
    variance, joint = found.variance[0], found.with_total[0]
    return np.asarray(joint - variance < -ROUNDING * variance, dtype=np.bool_)


def _selected(values: FloatArray, respondent: IntArray, missing: Incomplete) -> ScaleScores:
    found = ScaleScores(values=values, respondent=respondent, left_out=False)
    complete = complete_rows(values)
    if missing == "pairwise" or complete.all():
        return found
    kept = values[complete], respondent[complete]
    return replace(found, values=kept[0], respondent=kept[1], left_out=True)


def _too_little(scale: ScaleScores) -> Reason:
    if scale.n_items < 2:
        return Reason.ONE_QUESTION
    return Reason.FEW_RESPONDENTS if scale.n < 2 else Reason.NONE


def _qualified(scale: ScaleScores, found: ItemMoments) -> Reason:
    cases = (
        (scale.n_respondents < 3, Reason.FEW_RESPONDENTS),
        (bool(negative_items(found).any()), Reason.NEGATIVE_ITEMS),
        (bool(constant_items(scale.values).any()), Reason.CONSTANT_ITEMS),
        (scale.left_out, Reason.INCOMPLETE),
        (not complete_rows(scale.values).all(), Reason.PAIRWISE),
    )
    return next((reason for holds, reason in cases if holds), Reason.NONE)
