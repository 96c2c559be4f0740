r"""Ridge regression with the penalty that predicts best what was left out.

With centred features X and outcome y, and :math:`H_\lambda = 11^\top/n + X (X^\top X + \lambda
I)^{-1} X^\top`, the errors at questions g that were left out together are exactly

.. math:: e_g = (I - H_{gg})^{-1} (y - H y)_g,                                            \quad (1)

without fitting anew. Groups of questions are left out whole.

References
----------
Allen, D. M. (1974). The relationship between variable selection and data augmentation and a method
for prediction. Technometrics, 16, 125-127. https://doi.org/10.1080/00401706.1974.10489157
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from psychollm._base.types import FloatArray, IntArray

# Relative to the mean squared length of a row.
PENALTIES = tuple(float(x) for x in np.logspace(-2.0, 4.0, 19))


class Ridge(NamedTuple):
    """A fitted line in the features."""

    weights: FloatArray  # (features,)
    intercept: float
    penalty: float

    def predict(self, table: FloatArray) -> FloatArray:
        """Return predictions (rows,)."""
        return np.asarray(table @ self.weights + self.intercept)


def ridge(table: FloatArray, outcome: FloatArray, groups: IntArray) -> Ridge:
    """Fit, with the penalty of the smallest mean square of (1); groups are left out together."""
    means, level = table.mean(axis=0), float(outcome.mean())
    x, y = table - means, outcome - level
    square = float((x**2).sum(axis=1).mean())
    if square <= 0.0 or not np.any(y):
        return Ridge(np.zeros(table.shape[1]), level, np.inf)
    values, vectors = _eigen(x)
    along = vectors.T @ y
    best, chosen = np.inf, PENALTIES[-1]
    for relative in PENALTIES:
        shrink = values / (values + relative * square)
        error = _left_out(vectors, shrink, y, along, groups)
        if error < best * (1.0 - 1e-9):
            best, chosen = error, relative
    dual = vectors @ (along / (values + chosen * square))
    weights = x.T @ dual
    return Ridge(weights, level - float(means @ weights), chosen * square)


def _eigen(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return non-zero eigenvalues of x x' and their vectors, by the smaller of two products."""
    if x.shape[0] <= x.shape[1]:
        values, vectors = np.linalg.eigh(x @ x.T)
        keep = values > 1e-10 * values[-1]
        return values[keep], vectors[:, keep]
    values, right = np.linalg.eigh(x.T @ x)
    keep = values > 1e-10 * values[-1]
    return values[keep], x @ right[:, keep] / np.sqrt(values[keep])


def _left_out(
    vectors: FloatArray, shrink: FloatArray, y: FloatArray, along: FloatArray, groups: IntArray
) -> float:
    """Return the mean square of (1)."""
    n = y.size
    residual = y - vectors @ (shrink * along)
    if np.unique(groups).size == n:
        leverage = 1.0 / n + (vectors**2) @ shrink
        return float(np.mean((residual / np.maximum(1.0 - leverage, 1e-12)) ** 2))
    total = 0.0
    for group in np.unique(groups):
        own = np.flatnonzero(groups == group)
        part = vectors[own]
        hat = 1.0 / n + (part * shrink) @ part.T
        total += float((np.linalg.solve(np.eye(own.size) - hat, residual[own]) ** 2).sum())
    return total / n
