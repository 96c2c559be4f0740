r"""Inverse information for many items and few respondents, without forming the matrix.

The information is :math:`I = D - V V^T` (equation (2) of `psychollm.irt.curvature`). With r
columns in V and J blocks of p parameters in D, solving takes :math:`O(J p r^2)` operations. A
slope shared by all items adds a row and a column:

.. math:: \begin{pmatrix} A & b \\ b^T & c \end{pmatrix}, \qquad
          A = D_\psi - V_\psi V_\psi^T, \quad b = D_{\psi a} - V_\psi V_a, \quad
          c = D_{aa} - V_a^T V_a.                                                      \quad (1)
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from psychollm._base.types import BoolArray, FloatArray
from psychollm.irt.curvature import Parts


@dataclass(frozen=True, slots=True)
class Woodbury:
    """Inverse of D - V V^T with a block-diagonal matrix D."""

    inverse: FloatArray  # (J, p, p) inverse blocks of D
    scaled: FloatArray  # (J, p, r) = D^-1 V
    factor: tuple[FloatArray, bool]  # Cholesky factor of 1 - V^T D^-1 V

    def solve(self, rhs: FloatArray) -> FloatArray:
        """Return the solution (J, p, k) for right-hand sides (J, p, k)."""
        direct = self.inverse @ rhs
        items, p, rank = self.scaled.shape
        flat = self.scaled.reshape(items * p, rank)
        inner = cho_solve(self.factor, flat.T @ rhs.reshape(items * p, -1))
        return np.asarray(direct + (flat @ inner).reshape(rhs.shape))

    def blocks(self) -> FloatArray:
        """Return the diagonal blocks of the inverse (J, p, p)."""
        items, p, rank = self.scaled.shape
        inner = cho_solve(self.factor, self.scaled.reshape(items * p, rank).T)
        return np.asarray(
            self.inverse + self.scaled @ inner.T.reshape(items, p, rank).transpose(0, 2, 1)
        )


def woodbury(blocks: FloatArray, columns: FloatArray) -> Woodbury | None:
    """Factor D - V V^T from the blocks of D and from V; None if it is not positive definite."""
    try:
        root = np.linalg.inv(np.linalg.cholesky(blocks))
        half = (root @ columns).reshape(-1, columns.shape[2])
        # BLAS multiplies a matrix by its own transpose in half the time of a general product.
        factor = cho_factor(np.eye(columns.shape[2]) - half.T @ half, lower=True)
    except np.linalg.LinAlgError:
        return None
    turned = root.transpose(0, 2, 1)
    scaled = turned @ half.reshape(columns.shape)
    return Woodbury(np.asarray(turned @ root), np.asarray(scaled), factor)


@dataclass(frozen=True, slots=True)
class LowRankCurvature:
    """Information matrix: blocks plus low-rank columns, and a border for a common slope."""

    core: Woodbury
    scores: FloatArray  # (J, p, U)
    border: FloatArray | None  # A^-1 b of (1), (J, p - 1, 1)
    rest: float  # c - b^T A^-1 b

    def solve(self, gradient: FloatArray) -> FloatArray:
        """Return the Newton step (J, p) for a gradient (J, p)."""
        return np.asarray(self._solve(gradient[:, :, None])[:, :, 0])

    def _solve(self, rhs: FloatArray) -> FloatArray:
        if self.border is None:
            return self.core.solve(rhs)
        inner = self.core.solve(rhs[:, 1:])
        items, k = rhs.shape[0], rhs.shape[2]
        gap = rhs[:, 0].sum(axis=0) - np.einsum("jpo,jpk->k", self.border, rhs[:, 1:])
        slope = gap / self.rest
        top = np.broadcast_to(slope, (items, 1, k))
        return np.concatenate([top, inner - self.border * slope], axis=1)

    def covariance(self, kind: str) -> FloatArray:
        """Return covariance blocks (J, p, p); NaN if the requested kind cannot be computed."""
        # The matrix of cross products is singular, because there are fewer patterns than
        # parameters.
        if kind == "cross_product":
            items, p, _ = self.scores.shape
            return np.full((items, p, p), np.nan)
        if kind == "sandwich":
            moved = self._solve(self.scores)
            return np.asarray(moved @ moved.transpose(0, 2, 1))
        blocks = self.core.blocks()
        if self.border is None:
            return blocks
        items, q, _ = self.border.shape
        total = np.empty((items, q + 1, q + 1))
        total[:, 0, 0] = 1.0 / self.rest
        total[:, 0, 1:] = total[:, 1:, 0] = -self.border[:, :, 0] / self.rest
        total[:, 1:, 1:] = blocks + self.border @ self.border.transpose(0, 2, 1) / self.rest
        return total


def low_rank_curvature(pieces: Parts, frozen: BoolArray, *, tied: bool) -> LowRankCurvature | None:
    """Factor the information; None if it is not positive definite."""
    items, p, _ = pieces.blocks.shape
    columns = pieces.missing.reshape(items, p, -1).copy()
    scores = pieces.scores.reshape(items, p, -1).copy()
    blocks = pieces.blocks.copy()
    for j, k in zip(*np.nonzero(frozen), strict=True):
        if tied and k == 0:
            continue
        columns[j, k], scores[j, k], blocks[j, k], blocks[j, :, k] = 0.0, 0.0, 0.0, 0.0
        blocks[j, k, k] = 1.0
    if not tied:
        core = woodbury(blocks, columns)
        return None if core is None else LowRankCurvature(core, scores, None, np.nan)
    core = woodbury(blocks[:, 1:, 1:], columns[:, 1:])
    if core is None:
        return None
    slope = columns[:, 0].sum(axis=0)
    edge = blocks[:, 1:, :1] - columns[:, 1:] @ slope[:, None]
    border = core.solve(edge)
    rest = blocks[:, 0, 0].sum() - slope @ slope - float((edge * border).sum())
    return LowRankCurvature(core, scores, border, float(rest)) if rest > 0.0 else None
