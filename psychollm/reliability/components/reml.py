r"""Restricted maximum likelihood for variance components of crossed designs.

**Balanced data.** Mean squares are independent, :math:`MS_e \sim \lambda_e \chi^2_{\nu_e} / \nu_e`
with expectations :math:`\lambda = A \sigma^2`, and the restricted likelihood is

.. math:: -2 \ell = \sum_e \nu_e \Bigl(\log \lambda_e + \frac{MS_e}{\lambda_e}\Bigr). \quad (1)

If no estimate from expected mean squares is negative, these estimates maximise the likelihood. If
an estimate is negative, some components are set to zero, which changes the other estimates.

**Missing cells.** The levels of the facet with the most levels are blocks. Effects that involve
this facet act within blocks ("local"); effects of the other facets span all blocks ("global"). Let
B be the block-diagonal covariance matrix of the local effects, W the indicators of the levels of
the global effects and a column of ones, and L the diagonal matrix of the standard deviations of
these levels (1 for the mean). Then

.. math:: -2 \ell = \log|B| + \log|L S L + E| + y^\top B^{-1} y - t^\top C t, \qquad
          S = W^\top B^{-1} W,\; t = W^\top B^{-1} y,\; C = L (L S L + E)^{-1} L.        \quad (2)

Here E is the identity matrix, in which the diagonal entry for the mean is replaced by 0. Blocks
with the same cells have the same B, so B is factored once for each pattern of missing cells. With
:math:`u = C t`, :math:`r = y - W u` and the matrix :math:`P = B^{-1} - B^{-1} W C W^\top B^{-1}`,
the derivatives for a component of covariance K are

.. math:: -2 \frac{\partial \ell}{\partial \sigma^2} = \operatorname{tr}(P K)
          - r^\top B^{-1} K B^{-1} r, \qquad
          I_{kl} = \tfrac12 \operatorname{tr}(P K_k P K_l).                              \quad (3)

Both likelihoods are maximised by Fisher scoring; components that would become negative are fixed
at zero. With one or two degrees of freedom, the expected information can differ greatly from the
observed information, so scoring converges slowly. If scoring converges slowly, Newton steps with
numerical differences of equation (3) are used instead.

In equation (2), local and global effects have the same indicators. Let A be a set of the other
facets, and :math:`W_A` the indicators of its levels among the cells of a block (a column of ones
for the empty set). The effect of A together with the blocks has the covariance :math:`\sigma^2 W_A
W_A^\top` within each block. The effect of A alone has the same covariance over all blocks. All
terms of equations (2) and (3) then follow from

.. math:: H = W^\top B^{-1} W, \qquad h = W^\top B^{-1} y, \qquad W = [W_A]_A,            \quad (4)

for each block. Let n be the number of blocks that have the same missing cells, and :math:`J = H C
H`. Then

.. math:: S = \sum n H, \quad F_A = \sum n H_{\cdot A} H_{A \cdot}, \quad
          \operatorname{tr}(B^{-1} K_A) = \operatorname{tr} H_{AA}, \quad
          \operatorname{tr}(B^{-1} K_A B^{-1} K_D) = \lVert H_{AD} \rVert^2.             \quad (5)

The quadratic form of A is the sum of :math:`(h - H u)^2` over the levels of A. The expected
information contains a trace for each pair of components. If A and D are both local,

.. math:: \operatorname{tr}(P K_A P K_D) = \sum n \bigl(\lVert H_{AD} \rVert^2
          - 2\, J_{AD} \cdot H_{AD}\bigr) + \operatorname{tr}(C F_A C F_D).              \quad (6)

If D is global, the trace is computed from :math:`(I - S C) F_A (I - S C)^\top` on the levels of D.
If both A and D are global, the trace is :math:`\lVert (S - S C S)_{AD} \rVert^2`.

References
----------
Patterson, H. D., & Thompson, R. (1971). Recovery of inter-block information when block sizes are
unequal. Biometrika, 58, 545-554.

Searle, S. R., Casella, G., & McCulloch, C. E. (1992). Variance components. Wiley.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from psychollm._base.convergence import Convergence
from psychollm._base.types import BoolArray, FloatArray, IntArray
from psychollm.reliability.components.crossed_design import (
    FACETS,
    CrossedDesign,
    Effect,
    effects_of,
)

_MAX_ITERATIONS = 500
_PATIENCE = 20  # number of scoring steps before Newton steps
_MAX_HALVINGS = 30
# Thresholds for the gain in log likelihood. Steps with a gain below the first threshold are taken
# without a check, because the difference of the two deviances is smaller than their rounding
# errors. The iteration has converged if the gain is below the second threshold.
_UNSEEN = 1e-7
_NOTHING = 1e-13


@dataclass(frozen=True, slots=True)
class Point:
    """Likelihood and its derivatives for given components."""

    deviance: float  # -2 log likelihood, up to a constant
    score: FloatArray  # (components,) derivative of the log likelihood
    information: FloatArray  # (components, components) expected


@dataclass(frozen=True, slots=True)
class RemlFit:
    """Components at the maximum of the likelihood."""

    components: FloatArray  # (components,)
    convergence: Convergence


Likelihood = Callable[[FloatArray], Point]


def maximise(likelihood: Likelihood, start: FloatArray) -> RemlFit:
    """Maximise a likelihood of non-negative variances by Fisher scoring."""
    at, point = start, likelihood(start)
    floor = 1e-9 * float(start.sum())
    reason = "too many iterations"
    for iteration in range(1, _MAX_ITERATIONS + 1):
        newton = iteration > _PATIENCE
        step = _step(at, point, _observed(likelihood, at, point) if newton else point.information)
        gain = float(step @ point.score)
        if gain <= _NOTHING:
            return _fit(at, point, iteration, "nothing left to gain", converged=True)
        moved = _climb(likelihood, at, step, point, floor, unseen=gain < _UNSEEN)
        if moved is None:
            reason = "no step raises the likelihood"
            return _fit(at, point, iteration, reason, converged=gain < 1e-5)
        at, point = moved
    return _fit(at, point, _MAX_ITERATIONS, reason, converged=False)


def _fit(at: FloatArray, point: Point, iteration: int, reason: str, *, converged: bool) -> RemlFit:
    return RemlFit(
        components=at,
        convergence=Convergence(
            converged=converged, iterations=iteration, reason=reason, objective=point.deviance
        ),
    )


def _observed(likelihood: Likelihood, at: FloatArray, point: Point) -> FloatArray:
    """Return the observed information if positive definite, else the expected information."""
    width = 1e-6 * np.maximum(at, 1e-3 * at.sum())
    ahead = [likelihood(at + width[k] * np.eye(at.size)[k]).score for k in range(at.size)]
    observed = (point.score - np.array(ahead)) / width[:, None]
    observed = 0.5 * (observed + observed.T)
    free = (at > 0.0) | (point.score > 0.0)
    definite = np.linalg.eigvalsh(observed[np.ix_(free, free)])[0] > 0.0
    return observed if definite else point.information


def _step(at: FloatArray, point: Point, information: FloatArray) -> FloatArray:
    """Return the joint step of the components that are not fixed at zero."""
    free = (at > 0.0) | (point.score > 0.0)
    step = np.zeros(at.size)
    while free.any():
        step[:] = 0.0
        inner = information[np.ix_(free, free)]
        step[free] = np.linalg.lstsq(inner, point.score[free], rcond=None)[0]
        # A component at zero that the joint step would make negative is also fixed.
        sinking = free & (at <= 0.0) & (step < 0.0)
        if not sinking.any():
            break
        free &= ~sinking
    return step


def _climb(
    likelihood: Likelihood,
    at: FloatArray,
    step: FloatArray,
    point: Point,
    floor: float,
    *,
    unseen: bool,
) -> tuple[FloatArray, Point] | None:
    """Halve the step until the likelihood increases; return None if no step increases it."""
    for _ in range(_MAX_HALVINGS):
        trial = np.maximum(at + step, 0.0)
        trial[-1] = max(trial[-1], floor)
        ahead = likelihood(trial)
        if unseen or ahead.deviance < point.deviance:
            return trial, ahead
        step = 0.5 * step
    return None


def balanced_likelihood(design: CrossedDesign, mean_squares: FloatArray) -> Likelihood:
    """Return the likelihood of a balanced design, by equation (1)."""
    matrix, df = design.expectation, design.degrees_of_freedom

    def at(components: FloatArray) -> Point:
        expected = matrix @ components
        weight = df / expected
        return Point(
            deviance=float((df * (np.log(expected) + mean_squares / expected)).sum()),
            score=0.5 * matrix.T @ (weight * (mean_squares / expected - 1.0)),
            information=0.5 * (matrix.T * (weight / expected)) @ matrix,
        )

    return at


_BLOCK_BYTES = 32_000_000


@dataclass(frozen=True, slots=True)
class _Layout:
    """Indicators of the cells of a complete block, and the component of each set of indicators."""

    wide: FloatArray  # (cells, columns) W of (4); the column of ones is last
    columns: tuple[slice, ...]  # columns of each set A; the empty set is last
    local: tuple[int, ...]  # component of each A together with the blocks
    spread: tuple[int, ...]  # component of each A alone, without the empty set
    n_components: int


@dataclass(frozen=True, slots=True)
class _Patterns:
    """Groups of blocks that have the same missing cells."""

    present: BoolArray  # (patterns, cells)
    n: FloatArray  # (patterns,) numbers of blocks
    total: FloatArray  # (patterns, cells) sums of scores, 0 where missing
    squares: FloatArray  # (patterns, cells, cells) sums of products of scores


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
    """Return one indicator per combination of levels; without levels, a column of ones."""
    if not levels:
        return np.ones((n_cells, 1))
    column = np.unique(np.stack(levels), axis=1, return_inverse=True)[1].ravel()
    return np.asarray(np.eye(int(column.max()) + 1)[column])


def _patterns(cells: FloatArray) -> _Patterns:
    """Group blocks (blocks, cells) by their observed cells."""
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
    """Terms of the likelihood, such as equation (4), for some patterns of missing cells."""

    n: FloatArray  # (patterns,)
    H: FloatArray  # (patterns, columns, columns)
    h: FloatArray  # (patterns, columns) term h for the summed scores
    h_squared: FloatArray  # (patterns, columns) sums over blocks of h^2
    rest: float  # log|B| and y' B^-1 y, summed


def _chunks(layout: _Layout, patterns: _Patterns, components: FloatArray) -> Iterator[_Chunk]:
    cells, width = layout.wide.shape
    scale = np.empty(width)
    for component, columns in zip(layout.local, layout.columns, strict=True):
        scale[columns] = components[component]
    full = (layout.wide * scale) @ layout.wide.T
    size = max(1, _BLOCK_BYTES // (8 * width * max(width, cells)))
    for start in range(0, len(patterns.n), size):
        here = slice(start, start + size)
        present, n = patterns.present[here], patterns.n[here]
        # A missing cell has zero covariance with other cells, and zeros in all columns of W.
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
    for component, columns in zip(layout.spread, layout.columns, strict=False):
        scale[columns] = np.sqrt(components[component])
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
    """Traces and quadratic forms for the derivatives, accumulated over chunks."""

    def __init__(self, layout: _Layout, c: FloatArray, u: FloatArray) -> None:
        self.layout, self.c, self.u = layout, c, u
        m, width = layout.n_components, len(c)
        self.trace, self.quadratic = np.zeros(m), np.zeros(m)
        self.information = np.zeros((m, m))
        self.reach = np.zeros((len(layout.local), width, width))  # F of (5)

    def add(self, chunk: _Chunk) -> None:
        """Add the terms of effects within blocks."""
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
        """Add the terms of effects that extend over all blocks."""
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


def restricted_maximum(
    values: FloatArray,
    design: CrossedDesign,
    mean_squares: FloatArray,
    start: FloatArray | None = None,
) -> RemlFit:
    """Fit scores after scaling to unit variance, so that tolerances do not depend on the unit."""
    scale = float(np.nanstd(values))
    first = np.full(len(design.effects), 1.0 / len(design.effects))
    if start is not None:
        first = np.maximum(start / scale**2, 1e-3)
    if np.isfinite(mean_squares).all():
        likelihood = balanced_likelihood(design, mean_squares / scale**2)
    else:
        likelihood = incomplete_likelihood((values - np.nanmean(values)) / scale)
    fit = maximise(likelihood, first)
    return replace(fit, components=scale**2 * fit.components)
