"""The matrix of a scale's items in a resample of respondents, and what its inverse says."""

from typing import Literal, TypeAlias

import numpy as np

from psychollm._base.types import FloatArray
from psychollm.reliability.scales.moments import centred_covariance, centred_items, correlation
from psychollm.reliability.scales.score_table import ScaleScores

Of: TypeAlias = Literal["correlations", "covariances"]

# Below this share of the largest, the smallest eigenvalue is taken for zero.
_SINGULAR = float(np.sqrt(np.finfo(float).eps))


class ResampledMatrix:
    """The matrix of items in a resample of respondents."""

    def __init__(self, scale: ScaleScores, of: Of) -> None:
        self.centred, self.respondent, self.of = centred_items(scale.values), scale.respondent, of

    def at(self, counts: FloatArray) -> FloatArray:
        """Return correlations of the items that vary, or covariances of all."""
        covariances = centred_covariance(self.centred, counts[self.respondent])
        return correlation(covariances)[0] if self.of == "correlations" else covariances


def multiple_correlations(matrix: FloatArray) -> FloatArray:
    """Return each item's squared multiple correlation with all others (items,)."""
    # The pseudo-inverse of a singular matrix keeps lower bounds of reliability low.
    if not matrix.size or not np.isfinite(matrix).all():
        return np.full(len(matrix), np.nan)
    values, vectors = np.linalg.eigh(matrix)
    kept = values > _SINGULAR * values[-1]
    inverse = (vectors[:, kept] ** 2 / values[kept]).sum(axis=1)
    return np.asarray(np.clip(1.0 - 1.0 / np.maximum(inverse, 1.0), 0.0, 1.0))


def is_singular(matrix: FloatArray) -> bool:
    """Tell whether a matrix of correlations is singular or indefinite."""
    values = np.linalg.eigvalsh(matrix)
    return bool(values[0] <= _SINGULAR * values[-1])
