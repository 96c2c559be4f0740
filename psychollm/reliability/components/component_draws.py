r"""How variance components vary from sample to sample: draws for intervals of what they make.

*Pivotal draws.* In a balanced design with normal effects :math:`SS_e / \lambda_e` has a chi-square
distribution, so that

.. math:: \lambda_e^* = \frac{\nu_e\, MS_e}{X_e}, \qquad X_e \sim \chi^2_{\nu_e},        \quad (1)

and the components and coefficients that follow from :math:`\lambda^*` have percentiles that cover
as they should (generalised confidence intervals; exact for a ratio of two mean squares).

Scores of 0 and 1 are not normal: items differ in how much models disagree on them, and mean
squares vary more than chi-square says. The variance of :math:`\log MS_e` is therefore also
estimated by leaving out one level of a facet at a time, :math:`v_f`, for facets with at least
eight levels, and :math:`\nu_e = 2 / v` with

.. math:: v = \max\Bigl(\tfrac{2}{\mathrm{df}_e},\, v_f,\,
          \textstyle\sum_{f \in e} v_f - (|e| - 1) \tfrac{2}{\mathrm{df}_e}\Bigr)        \quad (2)

for interactions, and :math:`v^2 = (2 / \mathrm{df}_e)^2 + \sum_{f \notin e} v_f^2` for single
facets. With missing cells the mean squares of (1) are those that a design with as many levels, and
the harmonic mean of the cells per level, would have with the components at hand; v is taken from
scores completed by their additive fit.

*Bootstrap of models.* Resamples of models understate components with models by
:math:`(P - 1) / P` and overstate the others, which is corrected,

.. math:: \tilde\sigma^2_{\text{model} \times A} = \frac{P}{P - 1} \sigma^{2*}_{\text{model}
          \times A}, \qquad
          \tilde\sigma^2_A = \sigma^{2*}_A
          - \frac{1}{P} \tilde\sigma^2_{\text{model} \times A}.                          \quad (3)

Items and runs stay the same in all resamples, so that these intervals say nothing of other items
and runs.

References
----------
Weerahandi, S. (1993). Generalized confidence intervals. Journal of the American Statistical
Association, 88, 899-905.

Tong, Y., & Brennan, R. L. (2007). Bootstrap estimates of standard errors in generalizability
theory. Educational and Psychological Measurement, 67, 804-817.
https://doi.org/10.1177/0013164407301533
"""

import numpy as np

from psychollm._base.types import FloatArray
from psychollm.reliability.components.crossed_design import CrossedDesign, Profiles

_FEWEST_LEVELS = 8
_SWEEPS = 30


def pivotal_draws(
    expectation: FloatArray,
    mean_squares: FloatArray,
    freedom: FloatArray,
    n: int,
    rng: np.random.Generator,
) -> FloatArray:
    """Return components from mean squares drawn by (1) (n, effects)."""
    drawn = mean_squares * freedom / rng.chisquare(freedom, (n, freedom.size))
    return np.asarray(np.linalg.solve(expectation, drawn.T).T)


def effective_freedom(scores: FloatArray, freedom: FloatArray) -> FloatArray:
    """Return degrees of freedom of mean squares, fewer where scores are not normal (2)."""
    design = CrossedDesign(scores.shape)
    spread = {
        facet: _jackknife_variance(Profiles.of(scores, axis).left_out())
        for axis, facet in enumerate(design.facets)
        if scores.shape[axis] >= _FEWEST_LEVELS
    }
    found = np.array(freedom)
    for place, effect in enumerate(design.effects):
        normal = 2.0 / freedom[place]
        inside = [v[place] for facet, v in spread.items() if facet in effect]
        outside = [v[place] for facet, v in spread.items() if facet not in effect]
        if len(effect) > 1 and inside:
            joint = sum(inside) - (len(inside) - 1) * normal
            found[place] = 2.0 / max(normal, *inside, joint)
        elif inside:
            found[place] = 2.0 / float(np.linalg.norm([normal, *outside]))
    return found


def completed(scores: FloatArray) -> FloatArray:
    """Return scores whose missing cells are filled by the sum of main effects."""
    missing = ~np.isfinite(scores)
    fit = np.full(scores.shape, np.nanmean(scores))
    for _ in range(_SWEEPS if missing.any() else 0):
        for axis in range(scores.ndim):
            others = tuple(a for a in range(scores.ndim) if a != axis)
            fit = fit + np.nanmean(scores - fit, axis=others, keepdims=True)
    return np.where(missing, fit, scores)


def _jackknife_variance(squares: FloatArray) -> FloatArray:
    """Return the variance of the logarithm of each sum of squares (effects,); 0 if one is 0."""
    n = len(squares)
    positive = (squares > 0).all(axis=0)
    logs = np.log(np.where(positive, squares, 1.0))
    return np.asarray((n - 1.0) / n * ((logs - logs.mean(axis=0)) ** 2).sum(axis=0))


def corrected_for_resampling(
    design: CrossedDesign, components: FloatArray, n_models: int
) -> FloatArray:
    """Return components in resamples of models (..., effects) without their bias (3)."""
    places = {effect: place for place, effect in enumerate(design.effects)}
    found = np.array(components)
    for effect, place in places.items():
        if "model" in effect:
            found[..., place] *= n_models / (n_models - 1.0)
    for effect, place in places.items():
        if "model" not in effect:
            found[..., place] -= found[..., places[effect | {"model"}]] / n_models
    return found
