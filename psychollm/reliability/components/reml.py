r"""Restricted maximum likelihood for variance components of crossed designs.

**Balanced data.** Mean squares are independent, :math:`MS_e \sim \lambda_e \chi^2_{\nu_e} / \nu_e`
with :math:`\lambda = A \sigma^2` their expectations, and the likelihood without the mean is

.. math:: -2 \ell = \sum_e \nu_e \Bigl(\log \lambda_e + \frac{MS_e}{\lambda_e}\Bigr). \quad (1)

Where expected mean squares give no negative component they are the maximum; elsewhere components
at zero move the others.

**Missing cells.** The longest facet makes blocks; its effects lie inside blocks ("local"), those
of the other facets reach over all ("global"). With B the covariance matrix of the local effects,
block-diagonal, W the indicators of the levels of the global effects and a column of ones, and L
the standard deviations of these levels (1 for the mean),

.. math:: -2 \ell = \log|B| + \log|L S L + E| + y^\top B^{-1} y - t^\top C t, \qquad
          S = W^\top B^{-1} W,\; t = W^\top B^{-1} y,\; C = L (L S L + E)^{-1} L,        \quad (2)

E being the identity with 0 for the mean. Blocks with the same cells share B, so that each pattern
of missing cells is factored once. With :math:`u = C t`, :math:`r = y - W u` and the matrix
:math:`P = B^{-1} - B^{-1} W C W^\top B^{-1}`, the derivatives for a component of covariance K are

.. math:: -2 \frac{\partial \ell}{\partial \sigma^2} = \operatorname{tr}(P K)
          - r^\top B^{-1} K B^{-1} r, \qquad
          I_{kl} = \tfrac12 \operatorname{tr}(P K_k P K_l).                              \quad (3)

Both likelihoods are maximised by Fisher scoring with components held at zero while they would
fall below. With one or two degrees of freedom the expected information can be far from the
observed one, and scoring creeps; Newton steps, with differences of (3), then take over.

References
----------
Patterson, H. D., & Thompson, R. (1971). Recovery of inter-block information when block sizes are
unequal. Biometrika, 58, 545-554.

Searle, S. R., Casella, G., & McCulloch, C. E. (1992). Variance components. Wiley.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from psychollm._base.convergence import Convergence
from psychollm._base.types import FloatArray
from psychollm.reliability.components.crossed_design import CrossedDesign

_MAX_ITERATIONS = 500
_PATIENCE = 20  # scoring steps before Newton steps
_MAX_HALVINGS = 30
# Gains of the log likelihood: below the first a step is taken unseen, since the difference of two
# deviances is lost in rounding; below the second there is nothing left to gain.
_UNSEEN = 1e-7
_NOTHING = 1e-13


@dataclass(frozen=True, slots=True)
class Point:
    """The likelihood at some components."""

    deviance: float  # -2 log likelihood, but for a constant
    score: FloatArray  # (components,) derivative of the log likelihood
    information: FloatArray  # (components, components) expected


@dataclass(frozen=True, slots=True)
class RemlFit:
    """Components at the maximum."""

    components: FloatArray  # (components,)
    covariance: FloatArray  # (components, components) inverse of the expected information
    convergence: Convergence


Likelihood = Callable[[FloatArray], Point]


def maximise(likelihood: Likelihood, start: FloatArray) -> RemlFit:
    """Maximise a likelihood of variances by Fisher scoring, none of them below zero."""
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
        covariance=np.asarray(np.linalg.pinv(point.information, hermitian=True)),
        convergence=Convergence(
            converged=converged, iterations=iteration, reason=reason, objective=point.deviance
        ),
    )


def _observed(likelihood: Likelihood, at: FloatArray, point: Point) -> FloatArray:
    """Return the observed information by differences, or the expected if it is not definite."""
    width = 1e-6 * np.maximum(at, 1e-3 * at.sum())
    ahead = [likelihood(at + width[k] * np.eye(at.size)[k]).score for k in range(at.size)]
    observed = (point.score - np.array(ahead)) / width[:, None]
    observed = 0.5 * (observed + observed.T)
    free = (at > 0.0) | (point.score > 0.0)
    definite = np.linalg.eigvalsh(observed[np.ix_(free, free)])[0] > 0.0
    return observed if definite else point.information


def _step(at: FloatArray, point: Point, information: FloatArray) -> FloatArray:
    """Return the step of the components that are not held at zero."""
    free = (at > 0.0) | (point.score > 0.0)
    step = np.zeros(at.size)
    while free.any():
        step[:] = 0.0
        inner = information[np.ix_(free, free)]
        step[free] = np.linalg.lstsq(inner, point.score[free], rcond=None)[0]
        # A component at zero that the joint step would lower is held as well.
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
    """Halve the step until the likelihood rises; None if it never does."""
    for _ in range(_MAX_HALVINGS):
        trial = np.maximum(at + step, 0.0)
        trial[-1] = max(trial[-1], floor)
        found = likelihood(trial)
        if unseen or found.deviance < point.deviance:
            return trial, found
        step = 0.5 * step
    return None


def balanced_likelihood(design: CrossedDesign, mean_squares: FloatArray) -> Likelihood:
    """Return the likelihood (1) of a balanced design."""
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
