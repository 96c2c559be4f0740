"""A confirmatory model: which loadings are free, what correlations they imply."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from psychollm._base.types import BoolArray, FloatArray, IntArray
from psychollm.factor.newton import Evaluate
from psychollm.factor.robust_test import weighted_by


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Model:
    """Free loadings over k variables and m factors, and whether factors correlate.

    Parameters stand in the order: loadings row by row, then factor correlations below the
    diagonal, row by row, then covariances of residuals.

    Examples
    --------
    >>> free, rows, none = np.ones((3, 1), dtype=bool), np.arange(3), np.empty(0, dtype=np.int64)
    >>> names = {"labels": (0, 1, 2), "factors": ("F",)}
    >>> one = Model(free=free, rows=rows, size=3, correlated=True, joined=none, **names)
    >>> one.implied(np.array([0.8, 0.5, 0.5]))
    array([0.4 , 0.4 , 0.25])
    """

    free: BoolArray  # (k, m)
    rows: IntArray  # (k,) places in the whole matrix
    size: int  # rows of the whole matrix
    correlated: bool
    labels: tuple[Hashable, ...]  # k
    factors: tuple[str, ...]  # m
    joined: IntArray  # (r,) pairs whose residuals covary, as places below the diagonal

    def used(self) -> IntArray:
        """Return the places of the model's pairs among those of the whole matrix."""
        where = np.zeros((self.size, self.size), dtype=np.int64)
        lower = np.tril_indices(self.size, -1)
        where[lower] = np.arange(lower[0].size)
        inner = np.tril_indices(len(self.rows), -1)
        return where[self.rows[inner[0]], self.rows[inner[1]]]

    def unpack(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return loadings (k, m) and factor correlations (m, m)."""
        k, m = self.free.shape
        loadings, phi = np.zeros((k, m)), np.eye(m)
        count = int(self.free.sum())
        loadings[self.free] = x[:count]
        if self.correlated:
            i, j = np.tril_indices(m, -1)
            phi[i, j] = phi[j, i] = x[count : count + i.size]
        return loadings, phi

    def apart(self, x: FloatArray) -> FloatArray:
        """Return the covariances of residuals (r,)."""
        return np.asarray(x[x.size - self.joined.size :])

    def implied(self, x: FloatArray) -> FloatArray:
        """Return the correlations below the diagonal (p,)."""
        loadings, phi = self.unpack(x)
        found = (loadings @ phi @ loadings.T)[np.tril_indices(len(loadings), -1)]
        found[self.joined] += self.apart(x)
        return np.asarray(found)

    def derivatives(self, x: FloatArray) -> FloatArray:
        """Return derivatives of the implied correlations (p, q)."""
        loadings, phi = self.unpack(x)
        first, second = np.tril_indices(len(loadings), -1)
        structure = loadings @ phi
        columns = []
        for i, f in zip(*np.nonzero(self.free), strict=True):
            columns.append(
                (first == i) * structure[second, f] + (second == i) * structure[first, f]
            )
        if self.correlated:
            for f, g in zip(*np.tril_indices(len(phi), -1), strict=True):
                both = loadings[first, f] * loadings[second, g]
                columns.append(both + loadings[first, g] * loadings[second, f])
        columns += [(np.arange(first.size) == place).astype(float) for place in self.joined]
        return np.stack(columns, axis=1)

    def objective(self, r: FloatArray, W: FloatArray) -> Evaluate:
        """Return F and its gradient as a function of the parameters."""

        def evaluate(x: FloatArray) -> tuple[float, FloatArray]:
            rest = r - self.implied(x)
            weighted = weighted_by(W, rest[:, None])[:, 0]
            return 0.5 * float(rest @ weighted), -self.derivatives(x).T @ weighted

        return evaluate

    def with_positive_sums(self, x: FloatArray) -> FloatArray:
        """Turn factors so that their loadings sum to something positive."""
        loadings, phi = self.unpack(x)
        signs = np.where(loadings.sum(axis=0) < 0.0, -1.0, 1.0)
        parts = [(loadings * signs)[self.free]]
        if self.correlated:
            parts.append((phi * np.outer(signs, signs))[np.tril_indices(len(phi), -1)])
        parts.append(self.apart(x))
        return np.concatenate(parts)

    def errors(self, covariance: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return standard errors of loadings (k, m) and factor correlations (m, m)."""
        loadings, phi = self.unpack(np.sqrt(np.maximum(np.diagonal(covariance), 0.0)))
        np.fill_diagonal(phi, 0.0)
        return loadings, phi

    def names_of_joined(self) -> tuple[tuple[Hashable, Hashable], ...]:
        """Return the variables of the pairs whose residuals covary."""
        i, j = np.tril_indices(len(self.labels), -1)
        return tuple((self.labels[j[place]], self.labels[i[place]]) for place in self.joined)


def starting_point(plan: Model, matrix: FloatArray) -> FloatArray:
    """Return first parameters: each factor from the correlations of its own variables."""
    R = matrix[np.ix_(plan.rows, plan.rows)]
    k, m = plan.free.shape
    loadings = np.zeros((k, m))
    for f in range(m):
        own = np.flatnonzero(plan.free[:, f])
        values, vectors = np.linalg.eigh(R[np.ix_(own, own)])
        size = np.sqrt(max(float(values[-1]) - 0.6, 0.1))
        loadings[own, f] = vectors[:, -1] * size * np.sign(vectors[:, -1].sum() or 1.0)
    shared = np.maximum(np.sqrt(plan.free.sum(axis=1, keepdims=True)), 1.0)
    start = np.clip(loadings / shared, -0.9, 0.9)[plan.free]
    pairs = m * (m - 1) // 2 if plan.correlated else 0
    return np.concatenate([start, np.full(pairs, 0.3), np.zeros(plan.joined.size)])
