r"""Balanced crossed designs: mean squares, their expectations, and intervals.

Every model answers every item in every run. The score is a sum of effects, one for each subset e
of the facets {model, item, run} (or {model, item}). The variances :math:`\sigma_e^2` of the
effects are the components; the effect of all facets together includes the residual. With
:math:`n_f` levels of facet f, the mean square of e has the expectation

.. math:: E[MS_e] = \sum_{g \supseteq e} \Bigl(\prod_{f \notin g} n_f\Bigr) \sigma_g^2.  \quad (1)

Sums of squares are computed from the scores at each level of one facet (for example, of each
model), projected on the strata of the other facets. Let :math:`z_{pA}` be the projection of model
p on stratum A (its mean, its item profile, ...), scaled so that the squares sum to the total. Over
P models

.. math:: SS_A = \tfrac1P \bigl\lVert \textstyle\sum_p z_{pA} \bigr\rVert^2, \qquad
          SS_{\text{model} \times A} = \sum_p \lVert z_{pA} \rVert^2 - SS_A.             \quad (2)

Resampling models or leaving one out therefore requires only weighted sums.

*Pivotal draws.* In a balanced design with normal effects, :math:`SS_e / \lambda_e` has a
chi-square distribution, so

.. math:: \lambda_e^* = \frac{\nu_e\, MS_e}{X_e}, \qquad X_e \sim \chi^2_{\nu_e}.        \quad (3)

Percentiles of the components and coefficients computed from :math:`\lambda^*` are generalised
confidence intervals with nominal coverage, which is exact for a ratio of two mean squares.

Binary scores are not normal: models disagree more on some items than on others, so mean squares
vary more than a chi-square distribution implies. For each facet f with at least eight levels, the
jackknife over these levels gives a second estimate :math:`v_f` of the variance of :math:`\log
MS_e`. The degrees of freedom are :math:`\nu_e = 2 / v` with

.. math:: v = \max\Bigl(\tfrac{2}{\mathrm{df}_e},\, v_f,\,
          \textstyle\sum_{f \in e} v_f - (|e| - 1) \tfrac{2}{\mathrm{df}_e}\Bigr)        \quad (4)

for interactions, and :math:`v^2 = (2 / \mathrm{df}_e)^2 + \sum_{f \notin e} v_f^2` for single
facets. With missing cells, the mean squares of equation (3) are replaced by their expectations
under the estimated components. The expectations are computed for a balanced design with the same
numbers of levels. The number of cells per level in this design is the harmonic mean of the
observed numbers. To compute v, missing scores are imputed by an additive fit.

*Bootstrap of models.* In resamples of models, components that involve models are too small by the
factor :math:`(P - 1) / P`, and the other components are too large. The correction is

.. math:: \tilde\sigma^2_{\text{model} \times A} = \frac{P}{P - 1} \sigma^{2*}_{\text{model}
          \times A}, \qquad
          \tilde\sigma^2_A = \sigma^{2*}_A
          - \frac{1}{P} \tilde\sigma^2_{\text{model} \times A}.                          \quad (5)

Items and runs are the same in all resamples, so these intervals do not generalise to other items
and runs.

References
----------
Brennan, R. L. (2001). Generalizability theory. Springer.

Cornfield, J., & Tukey, J. W. (1956). Average values of mean squares in factorials. Annals of
Mathematical Statistics, 27, 907-949.

Tong, Y., & Brennan, R. L. (2007). Bootstrap estimates of standard errors in generalizability
theory. Educational and Psychological Measurement, 67, 804-817.
https://doi.org/10.1177/0013164407301533

Weerahandi, S. (1993). Generalized confidence intervals. Journal of the American Statistical
Association, 88, 899-905.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeAlias

import numpy as np

from psychollm._base.types import BoolArray, FloatArray

Effect: TypeAlias = frozenset[str]

FACETS = ("model", "item", "run")


def effects_of(facets: Sequence[str]) -> tuple[Effect, ...]:
    """Return all effects, starting with single facets and ending with the residual."""
    sizes = range(1, len(facets) + 1)
    return tuple(frozenset(chosen) for size in sizes for chosen in combinations(facets, size))


def effect_name(effect: Effect, n_facets: int) -> str:
    """Return the name of an effect, as used in tables."""
    if len(effect) == n_facets:
        return "residual"
    return ":".join(facet for facet in FACETS if facet in effect)


@dataclass(frozen=True, slots=True)
class CrossedDesign:
    """Facets of a balanced design and their numbers of levels."""

    levels: tuple[int, ...]  # models, items and, with three facets, runs

    @property
    def facets(self) -> tuple[str, ...]:
        """Names of the facets."""
        return FACETS[: len(self.levels)]

    @property
    def effects(self) -> tuple[Effect, ...]:
        """All effects, with the residual last."""
        return effects_of(self.facets)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the effects."""
        return tuple(effect_name(effect, len(self.levels)) for effect in self.effects)

    def cells(self, facets: Effect) -> float:
        """Return the product of the numbers of levels of some facets."""
        return float(
            np.prod(
                [n for name, n in zip(self.facets, self.levels, strict=True) if name in facets]
            )
        )

    @property
    def degrees_of_freedom(self) -> FloatArray:
        """Degrees of freedom of the mean squares (effects,)."""
        less = dict(zip(self.facets, self.levels, strict=True))
        return np.array(
            [np.prod([less[facet] - 1.0 for facet in effect]) for effect in self.effects]
        )

    @property
    def expectation(self) -> FloatArray:
        """Matrix of equation (1), which maps components to expected mean squares."""
        everything = frozenset(self.facets)
        return np.array(
            [
                [self.cells(everything - g) if e <= g else 0.0 for g in self.effects]
                for e in self.effects
            ]
        )

    def components(self, mean_squares: FloatArray) -> FloatArray:
        """Return unbiased estimates of the components from mean squares (..., effects)."""
        return np.asarray(np.linalg.solve(self.expectation, mean_squares[..., None])[..., 0])

    def counted(self, present: BoolArray) -> "CellCounts":
        """Return the observed levels of each effect and the cells per level."""
        levels, cells = [], []
        for effect in self.effects:
            others = tuple(i for i, facet in enumerate(self.facets) if facet not in effect)
            occupied = present.sum(axis=others)
            occupied = occupied[occupied > 0]
            levels.append(float(occupied.size))
            cells.append(float(occupied.size / (1.0 / occupied).sum()))
        return CellCounts(self, np.array(levels), np.array(cells))


@dataclass(frozen=True, slots=True)
class CellCounts:
    """Numbers of observed levels and of cells per level, for a design with missing cells."""

    design: CrossedDesign
    levels: FloatArray  # (effects,)
    cells: FloatArray  # (effects,) harmonic mean of the number of cells per level

    @property
    def expectation(self) -> FloatArray:
        """Matrix of equation (1) for a balanced design with given numbers of cells per level."""
        effects = self.design.effects
        return np.array(
            [
                [n if e <= g else 0.0 for g, n in zip(effects, self.cells, strict=True)]
                for e in effects
            ]
        )

    @property
    def degrees_of_freedom(self) -> FloatArray:
        """Degrees of freedom of each effect, at least 1 (effects,)."""
        effects, freedom = self.design.effects, np.zeros(self.levels.size)
        for row, effect in enumerate(effects):
            within = sum(freedom[i] for i in range(row) if effects[i] < effect)
            freedom[row] = max(1.0, self.levels[row] - 1.0 - within)
        return freedom


@dataclass(frozen=True, slots=True)
class Profiles:
    """Scores of each level of a facet, projected on strata of other facets by equation (2)."""

    parts: tuple[FloatArray, ...]  # projections on each stratum (levels, contrasts)
    order: tuple[int, ...]  # index of each sum of squares among the design's effects

    @classmethod
    def of(cls, scores: FloatArray, facet: int = 0) -> "Profiles":
        """Return the profiles of the levels of one facet."""
        facets = FACETS[: scores.ndim]
        others = [f for f in facets if f != facets[facet]]
        rest = np.moveaxis(scores - scores.mean(), facet, 0)
        strata = _strata(rest)
        effects = effects_of(facets)
        own = frozenset({facets[facet]})
        inner = [frozenset(), *effects_of(others)]
        order = [effects.index(a | own) for a in inner]
        order += [effects.index(a) for a in inner[1:]]
        return cls(tuple(_compact(part) for part in strata), tuple(order))

    @property
    def n(self) -> int:
        """Number of levels of the facet."""
        return int(self.parts[0].shape[0])

    def sums_of_squares(self, counts: FloatArray) -> FloatArray:
        """Return sums of squares, equation (2), in resamples of levels (resamples, effects)."""
        n = counts.sum(axis=1)
        total = np.stack([counts @ (part**2).sum(axis=1) for part in self.parts], axis=1)
        shared = np.stack([((counts @ part) ** 2).sum(axis=1) / n for part in self.parts], axis=1)
        return self._placed(total - shared, shared)

    def left_out(self) -> FloatArray:
        """Return all sums of squares after omitting each level in turn (levels, effects)."""
        own = np.stack([(part**2).sum(axis=1) for part in self.parts], axis=1)
        shared = [((part.sum(axis=0) - part) ** 2).sum(axis=1) for part in self.parts]
        common = np.stack(shared, axis=1) / (self.n - 1.0)
        return self._placed(own.sum(axis=0) - own - common, common)

    def _placed(self, within: FloatArray, shared: FloatArray) -> FloatArray:
        squares = np.concatenate([within, shared[:, 1:]], axis=1)
        placed = np.empty_like(squares)
        placed[:, list(self.order)] = np.maximum(squares, 0.0)
        return placed


def _strata(rest: FloatArray) -> list[FloatArray]:
    """Return scores (levels, contrasts) projected on strata of other facets, by equation (2)."""
    n = rest.shape[0]
    if rest.ndim == 2:
        mean = rest.mean(axis=1, keepdims=True)
        return [np.sqrt(rest.shape[1]) * mean, rest - mean]
    mean = rest.mean(axis=(1, 2), keepdims=True)
    first, second = (rest.mean(axis=other, keepdims=True) - mean for other in (2, 1))
    scaled = (
        np.sqrt(rest.shape[1] * rest.shape[2]) * mean,
        np.sqrt(rest.shape[2]) * first,
        np.sqrt(rest.shape[1]) * second,
        rest - mean - first - second,
    )
    return [part.reshape(n, -1) for part in scaled]


def _compact(part: FloatArray) -> FloatArray:
    """Return the smallest set of contrasts with the same inner products."""
    if part.shape[1] <= part.shape[0]:
        return part
    values, vectors = np.linalg.eigh(part @ part.T)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


_FEWEST_LEVELS = 8
_SWEEPS = 30


def pivotal_draws(
    expectation: FloatArray,
    mean_squares: FloatArray,
    freedom: FloatArray,
    n: int,
    rng: np.random.Generator,
) -> FloatArray:
    """Return components computed from draws of the mean squares (n, effects), equation (3)."""
    # With few degrees of freedom, a chi-square draw may underflow to zero.
    chi2 = np.maximum(rng.chisquare(freedom, (n, freedom.size)), 1e-100)
    drawn = mean_squares * freedom / chi2
    return np.asarray(np.linalg.solve(expectation, drawn.T).T)


def effective_freedom(scores: FloatArray, freedom: FloatArray) -> FloatArray:
    """Return the mean squares' degrees of freedom, equation (4), reduced for non-normal scores."""
    design = CrossedDesign(scores.shape)
    spread = {
        facet: _jackknife_variance(Profiles.of(scores, axis).left_out())
        for axis, facet in enumerate(design.facets)
        if scores.shape[axis] >= _FEWEST_LEVELS
    }
    effective = np.array(freedom)
    for row, effect in enumerate(design.effects):
        normal = 2.0 / freedom[row]
        inside = [v[row] for facet, v in spread.items() if facet in effect]
        outside = [v[row] for facet, v in spread.items() if facet not in effect]
        if len(effect) > 1 and inside:
            joint = sum(inside) - (len(inside) - 1) * normal
            effective[row] = 2.0 / max(normal, *inside, joint)
        elif inside:
            effective[row] = 2.0 / float(np.linalg.norm([normal, *outside]))
    return effective


def completed(scores: FloatArray) -> FloatArray:
    """Return scores whose missing cells are imputed by the sum of main effects."""
    missing = ~np.isfinite(scores)
    fit = np.full(scores.shape, np.nanmean(scores))
    for _ in range(_SWEEPS if missing.any() else 0):
        for axis in range(scores.ndim):
            others = tuple(a for a in range(scores.ndim) if a != axis)
            fit = fit + np.nanmean(scores - fit, axis=others, keepdims=True)
    return np.where(missing, fit, scores)


def _jackknife_variance(squares: FloatArray) -> FloatArray:
    """Return the jackknife variance of each log sum of squares (effects,); 0 if a sum is 0."""
    n = len(squares)
    positive = (squares > 0).all(axis=0)
    logs = np.log(np.where(positive, squares, 1.0))
    return np.asarray((n - 1.0) / n * ((logs - logs.mean(axis=0)) ** 2).sum(axis=0))


def corrected_for_resampling(
    design: CrossedDesign, components: FloatArray, n_models: int
) -> FloatArray:
    """Return bias-corrected components, equation (5), in resamples of models (..., effects)."""
    rows = {effect: row for row, effect in enumerate(design.effects)}
    corrected = np.array(components)
    for effect, row in rows.items():
        if "model" in effect:
            corrected[..., row] *= n_models / (n_models - 1.0)
    for effect, row in rows.items():
        if "model" not in effect:
            corrected[..., row] -= corrected[..., rows[effect | {"model"}]] / n_models
    return corrected
