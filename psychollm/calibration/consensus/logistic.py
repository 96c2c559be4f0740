r"""Logistic regression with few predictors, with or without Firth's penalty.

Newton's method with step halving maximises the objective, equation (1).

.. math:: \ell(\beta) + \tfrac{\pi}{2} \log\det I(\beta), \qquad \pi \in \{0, 1\}.        \quad (1)

Here :math:`\ell` is the log likelihood, and I is the information matrix. With Firth's penalty
(:math:`\pi = 1`) estimates are finite even under separation, that is, if a combination of
predictors predicts the outcome perfectly.

References
----------
Albert, A., & Anderson, J. A. (1984). On the existence of maximum likelihood estimates in logistic
regression models. Biometrika, 71, 1-10.

Firth, D. (1993). Bias reduction of maximum likelihood estimates. Biometrika, 80, 27-38.
https://doi.org/10.1093/biomet/80.1.27

Heinze, G., & Schemper, M. (2002). A solution to the problem of separation in logistic regression.
Statistics in Medicine, 21, 2409-2419. https://doi.org/10.1002/sim.1047
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from psychollm._base.convergence import Convergence
from psychollm._base.result import Result
from psychollm._base.types import FloatArray

_TOLERANCE = 1e-10
_MAX_ITERATIONS = 100
_MAX_HALVINGS = 30
_RECESSION = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Logistic(Result):
    """A fitted logistic regression."""

    coefficients: FloatArray  # (predictors,)
    covariance: FloatArray  # (predictors, predictors) inverse information
    log_likelihood: float  # log likelihood: (1) without its penalty
    objective: float  # maximum of (1)
    separated: bool  # whether a combination of predictors predicts the outcome perfectly
    penalised: bool
    convergence: Convergence

    @property
    def se(self) -> FloatArray:
        """Standard errors (predictors,)."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))


def logistic(
    design: FloatArray,
    outcome: FloatArray,
    *,
    penalised: bool = False,
    start: FloatArray | None = None,
) -> Logistic:
    """Fit a logistic regression, from the coefficients `start` (zero by default)."""
    # If the outcome is `separated`, the log likelihood is its supremum, and the coefficients are
    # meaningless. Shapes: design (observations, predictors); outcome (observations,).
    problem = _Problem(design, outcome, penalised)
    beta = np.zeros(design.shape[1]) if start is None else start
    point = problem.at(beta)
    separated, reason, iterations = False, "", 0
    while not reason and iterations < _MAX_ITERATIONS:
        iterations += 1
        step = point.covariance @ point.gradient
        separated = separated or (not penalised and problem.is_recession(step))
        if point.gradient @ step < _TOLERANCE:
            reason = "gradient below tolerance"
        elif (found := problem.climb(beta, step, point.value)) is None:
            reason = "no further ascent"
        else:
            beta, point = found
    return Logistic(
        coefficients=beta,
        covariance=point.covariance,
        log_likelihood=point.log_likelihood,
        objective=point.value,
        separated=separated,
        penalised=penalised,
        convergence=Convergence(
            converged=bool(reason),
            iterations=iterations,
            reason=reason or "iteration limit",
            objective=point.value,
        ),
    )


class _Point(NamedTuple):
    """The penalised log likelihood and its derivatives at one point."""

    value: float
    log_likelihood: float
    gradient: FloatArray
    covariance: FloatArray  # (pseudo-)inverse of the information


@dataclass(frozen=True, slots=True)
class _Problem:
    """The penalised log likelihood as a function of the coefficients."""

    design: FloatArray
    outcome: FloatArray
    penalised: bool

    def log_likelihood(self, beta: FloatArray) -> float:
        signed = np.where(self.outcome > 0, 1.0, -1.0) * (self.design @ beta)
        return float(-np.logaddexp(0.0, -signed).sum())

    def at(self, beta: FloatArray) -> _Point:
        probability = expit(self.design @ beta)
        weight = probability * (1.0 - probability)
        information = self.design.T @ (self.design * weight[:, None])
        covariance = np.asarray(np.linalg.pinv(information, hermitian=True), dtype=np.float64)
        residual = self.outcome - probability
        value = log_likelihood = self.log_likelihood(beta)
        if self.penalised:
            value += 0.5 * float(np.linalg.slogdet(information)[1])
            leverage = weight * ((self.design @ covariance) * self.design).sum(axis=1)
            residual = residual + leverage * (0.5 - probability)
        return _Point(value, log_likelihood, self.design.T @ residual, covariance)

    def climb(
        self, beta: FloatArray, step: FloatArray, value: float
    ) -> tuple[FloatArray, _Point] | None:
        """Halve the Newton step until the objective increases; return None if it never does."""
        for _ in range(_MAX_HALVINGS):
            point = self.at(beta + step)
            if point.value > value:
                return beta + step, point
            step = 0.5 * step
        return None

    def is_recession(self, step: FloatArray) -> bool:
        """Return whether a step keeps or raises the likelihood of every observation.

        Such a step is a direction of recession (Albert & Anderson, 1984).
        """
        # Such a step exists only if there is no finite maximum. Newton's steps then converge to
        # its direction within a few iterations.
        gain = np.where(self.outcome > 0, 1.0, -1.0) * (self.design @ step)
        return bool(gain.max() > 0.5 and gain.min() >= -_RECESSION * gain.max())
