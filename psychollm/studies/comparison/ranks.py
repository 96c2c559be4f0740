"""Compute ranks and tiers of models from the intervals of their differences."""

import numpy as np

from psychollm._base.types import BoolArray, FloatArray, IntArray
from psychollm.estimates.reasons import Reason
from psychollm.estimates.verdict import FEWEST
from psychollm.reliability.means.score_differences import ScoreDifferences


def enough(differences: ScoreDifferences) -> BoolArray:
    """Return whether each pair has enough questions and clusters for its interval (pairs,)."""
    few = np.array([flag == Reason.FEW_CLUSTERS for flag in differences.flags], dtype=np.bool_)
    return np.asarray((differences.n >= FEWEST) & ~few, dtype=np.bool_)


def shown_better(differences: ScoreDifferences, part: IntArray) -> BoolArray:
    """Return a matrix, True where the row's model significantly beats the column's model."""
    k = len(part)
    i, j = np.triu_indices(k, 1)
    lower, upper = np.where(enough(differences)[:, None], differences.interval, np.nan).T
    compared = differences.n > 0
    alpha = (1.0 - differences.level) / np.maximum(np.bincount(part[i], compared)[part[i]], 1)
    # If all differences of a pair are equal, its standard error is 0: use the exact test.
    with np.errstate(invalid="ignore"):
        exact = (differences.se == 0.0) & (differences.mcnemar_exact_p <= alpha)
        up = (lower > 0.0) | (exact & (differences.value > 0.0))
        down = (upper < 0.0) | (exact & (differences.value < 0.0))
    better = np.zeros((k, k), dtype=np.bool_)
    better[i, j], better[j, i] = up, down
    return better


def rank(value: FloatArray, part: IntArray) -> FloatArray:
    """Return ranks within each connected set, 1 for the best model; ties share a rank."""
    above = ((value[None, :] > value[:, None]) & (part[None, :] == part[:, None])).sum(axis=1)
    return np.where(np.isfinite(value), 1.0 + above, np.nan)


def tiers(better: BoolArray, defined: BoolArray, part: IntArray) -> IntArray:
    """Return tiers within each connected set, 1 for the best tier; 0 if there is no score."""
    tier, first = np.zeros(len(better), dtype=np.int64), -1
    for row in np.flatnonzero(defined).tolist():
        alone = first < 0 or part[first] != part[row]
        begins = alone or better[first, row]
        first = row if begins else first
        tier[row] = 1 if alone else tier[row - 1] + begins
    return tier
