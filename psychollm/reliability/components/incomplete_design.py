r"""The restricted likelihood of a crossed design with missing cells, equation (2) of `reml`.

Blocks are the levels of the longest facet. Effects within blocks and effects over blocks have the
same indicators: with A a set of the other facets and :math:`W_A` the indicators of its levels
among the cells of a block (a column of ones for the empty set), the effect of A together with the
blocks has the covariance :math:`\sigma^2 W_A W_A^\top` within each block, and the effect of A
alone the same over all of them. Everything in equations (2) and (3) then follows from

.. math:: H = W^\top B^{-1} W, \qquad h = W^\top B^{-1} y, \qquad W = [W_A]_A,            \quad (1)

of each block: with C, u and n blocks that miss the same cells, and :math:`J = H C H`,

.. math:: S = \sum n H, \quad F_A = \sum n H_{\cdot A} H_{A \cdot}, \quad
          \operatorname{tr}(B^{-1} K_A) = \operatorname{tr} H_{AA}, \quad
          \operatorname{tr}(B^{-1} K_A B^{-1} K_D) = \lVert H_{AD} \rVert^2,             \quad (2)

and the quadratic form of A is the sum over its levels of :math:`(h - H u)^2`. For the pairs of
components in the expected information, local ones (within blocks) and global ones,

.. math:: \operatorname{tr}(P K_A P K_D) = \sum n \bigl(\lVert H_{AD} \rVert^2
          - 2\, J_{AD} \cdot H_{AD}\bigr) + \operatorname{tr}(C F_A C F_D),              \quad (3)

with :math:`(I - S C) F_A (I - S C)^\top` on the levels of D where D is global, and
:math:`\lVert (S - S C S)_{AD} \rVert^2` where both are.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from psychollm._base.types import BoolArray, FloatArray, IntArray
from psychollm.reliability.components.crossed_design import FACETS, Effect, effects_of
from psychollm.reliability.components.reml import Likelihood, Point

_BLOCK_BYTES = 32_000_000


@dataclass(frozen=True, slots=True)
class _Layout:
    """Indicators of the cells of a block without gaps, and what they stand for."""

    wide: FloatArray  # (cells, columns) W of (1), the column of ones last
    columns: tuple[slice, ...]  # of each set A, the empty one last
    local: tuple[int, ...]  # the component of each A together with the blocks
    spread: tuple[int, ...]  # the component of each A alone; none for the empty set
    n_components: int


@dataclass(frozen=True, slots=True)
class _Patterns:
    """Blocks that miss the same cells."""

    present: BoolArray  # (patterns, cells)
    n: FloatArray  # (patterns,) blocks
    total: FloatArray  # (patterns, cells) sums of their scores, 0 where missing
    squares: FloatArray  # (patterns, cells, cells) sums of the products of their scores


def incomplete_likelihood(scores: FloatArray) -> Likelihood:
    """Return the likelihood of the components of a crossed design with missing cells."""
    block = int(np.argmax(scores.shape))
    cells = np.moveaxis(scores, block, 0)
    layout = _layout(cells.shape[1:], scores.ndim, block)
    patterns = _patterns(cells.reshape(len(cells), -1))
    return lambda components: _point(layout, patterns, components)


def _layout(shape: tuple[int, ...], n_facets: int, block: int) -> _Layout:
    facets = FACETS[:n_facets]
    others = [facet for facet in facets if facet != facets[block]]
    level = dict(zip(others, np.indices(shape).reshape(len(shape), -1), strict=True))
    effects, own = effects_of(facets), frozenset({facets[block]})
    inner: list[Effect] = [*effects_of(others), frozenset()]
    parts = [_indicators([level[f] for f in others if f in a], int(np.prod(shape))) for a in inner]
    ends = np.cumsum([0, *(part.shape[1] for part in parts)]).tolist()
    return _Layout(
        wide=np.concatenate(parts, axis=1),
        columns=tuple(slice(ends[i], ends[i + 1]) for i in range(len(inner))),
        local=tuple(effects.index(a | own) for a in inner),
        spread=tuple(effects.index(a) for a in inner[:-1]),
        n_components=len(effects),
    )


def _indicators(levels: list[IntArray], n_cells: int) -> FloatArray:
    """Return one column per combination of levels; a column of ones without any."""
    if not levels:
        return np.ones((n_cells, 1))
    place = np.unique(np.stack(levels), axis=1, return_inverse=True)[1].ravel()
    return np.asarray(np.eye(int(place.max()) + 1)[place])


def _patterns(cells: FloatArray) -> _Patterns:
    """Sort blocks (blocks, cells) by which cells they have."""
    kinds, which = np.unique(np.isfinite(cells), axis=0, return_inverse=True)
    which, scores = which.ravel(), np.nan_to_num(cells)
    groups = [scores[which == kind] for kind in range(len(kinds))]
    return _Patterns(
        present=kinds,
        n=np.array([float(len(rows)) for rows in groups]),
        total=np.array([rows.sum(axis=0) for rows in groups]),
        squares=np.array([rows.T @ rows for rows in groups]),
    )


@dataclass(frozen=True, slots=True)
class _Chunk:
    """Some patterns at some components: (1) and what else the likelihood needs."""

    n: FloatArray  # (patterns,)
    H: FloatArray  # (patterns, columns, columns)
    h: FloatArray  # (patterns, columns) of summed scores
    h_squared: FloatArray  # (patterns, columns) sums over blocks of h^2
    rest: float  # log|B| and y' B^-1 y, summed


def _chunks(layout: _Layout, patterns: _Patterns, components: FloatArray) -> Iterator[_Chunk]:
    cells, width = layout.wide.shape
    scale = np.empty(width)
    for place, columns in zip(layout.local, layout.columns, strict=True):
        scale[columns] = components[place]
    full = (layout.wide * scale) @ layout.wide.T
    size = max(1, _BLOCK_BYTES // (8 * width * max(width, cells)))
    for start in range(0, len(patterns.n), size):
        here = slice(start, start + size)
        present, n = patterns.present[here], patterns.n[here]
        # A missing cell has no covariance with others, and no column of W reaches it.
        both = present[:, :, None] & present[:, None, :]
        inverse = np.linalg.inv(np.where(both, full, np.eye(cells)))
        log_det = -np.linalg.slogdet(inverse)[1]
        inverse = np.where(both, inverse, 0.0)
        solved = inverse @ layout.wide
        squares = patterns.squares[here]
        yield _Chunk(
            n=n,
            H=layout.wide.T @ solved,
            h=(patterns.total[here][:, None, :] @ solved)[:, 0],
            h_squared=(solved * (squares @ solved)).sum(axis=1),
            rest=float((n * log_det).sum() + (inverse * squares).sum()),
        )


def _point(layout: _Layout, patterns: _Patterns, components: FloatArray) -> Point:
    width = layout.wide.shape[1]
    s, t, rest = np.zeros((width, width)), np.zeros(width), 0.0
    for chunk in _chunks(layout, patterns, components):
        s += np.tensordot(chunk.n, chunk.H, 1)
        t += chunk.h.sum(axis=0)
        rest += chunk.rest
    scale = np.ones(width)
    for place, columns in zip(layout.spread, layout.columns, strict=False):
        scale[columns] = np.sqrt(components[place])
    inner = scale[:, None] * s * scale
    inner[np.arange(width - 1), np.arange(width - 1)] += 1.0
    c = scale[:, None] * np.linalg.inv(inner) * scale
    moments = _Moments(layout, c, c @ t)
    for chunk in _chunks(layout, patterns, components):
        moments.add(chunk)
    moments.finish(s, t)
    return Point(
        deviance=rest + float(np.linalg.slogdet(inner)[1] - t @ c @ t),
        score=0.5 * (moments.quadratic - moments.trace),
        information=0.5 * moments.information,
    )


class _Moments:
    """Traces and quadratic forms of the derivatives, gathered chunk by chunk."""

    def __init__(self, layout: _Layout, c: FloatArray, u: FloatArray) -> None:
        self.layout, self.c, self.u = layout, c, u
        m, width = layout.n_components, len(c)
        self.trace, self.quadratic = np.zeros(m), np.zeros(m)
        self.information = np.zeros((m, m))
        self.reach = np.zeros((len(layout.local), width, width))  # F of (2)

    def add(self, chunk: _Chunk) -> None:
        """Add what lies within blocks."""
        fitted = chunk.H @ self.u
        squares = chunk.h_squared - 2.0 * chunk.h * fitted + chunk.n[:, None] * fitted**2
        outside = chunk.H - 2.0 * (chunk.H @ self.c @ chunk.H)
        product = np.tensordot(chunk.n, chunk.H * outside, 1)
        diagonal = np.tensordot(chunk.n, np.diagonal(chunk.H, axis1=1, axis2=2), 1)
        pairs = list(zip(self.layout.local, self.layout.columns, strict=True))
        for row, (a, own) in enumerate(pairs):
            self.trace[a] += diagonal[own].sum()
            self.quadratic[a] += squares[:, own].sum()
            half = (np.sqrt(chunk.n)[:, None, None] * chunk.H[:, own]).reshape(-1, len(self.c))
            self.reach[row] += half.T @ half
            for d, others in pairs:
                self.information[a, d] += product[own, others].sum()

    def finish(self, s: FloatArray, t: FloatArray) -> None:
        """Add what reaches over all blocks."""
        local, c = list(self.layout.local), self.c
        twice = c @ self.reach
        self.trace[local] -= np.trace(twice, axis1=1, axis2=2)
        flat = twice.reshape(len(local), -1)
        turned = np.swapaxes(twice, 1, 2).reshape(len(local), -1)
        self.information[np.ix_(local, local)] += flat @ turned.T
        projected, left = s - s @ c @ s, np.eye(len(s)) - s @ c
        reached = left @ self.reach @ left.T
        pairs = list(zip(self.layout.spread, self.layout.columns, strict=False))
        for g, own in pairs:
            self.trace[g] += np.trace(projected[own, own])
            self.quadratic[g] += float(((t - s @ self.u)[own] ** 2).sum())
            shared = np.trace(reached[:, own, own], axis1=1, axis2=2)
            self.information[g, local] = self.information[local, g] = shared
            for h, others in pairs:
                self.information[g, h] = (projected[own, others] ** 2).sum()
