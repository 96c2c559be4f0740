"""Answers simulated from the threshold model of the shared factor, with the truth kept.

Model i says yes to question q iff ``x_iq > threshold_i``, where

    x_iq = sum_m loadings_im f_qm + sqrt(1 - h_i^2) e_iq,        h_i^2 = l_i' Phi l_i

with factor scores ``f_q ~ N(0, Phi)`` and independent ``e_iq ~ N(0, 1)``, so that every x_iq is
standard normal, model i says yes at the rate ``1 - Phi(threshold_i)``, and the tetrachoric
correlation of models i and j is ``l_i' Phi l_j``. A high threshold is a cautious model; a high
factor score is a question that is felt to be easy.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from psychollm._base.arrays import float_array, plain_array
from psychollm._base.checks import check_count, check_generator
from psychollm._base.errors import OptionError, ShapeError
from psychollm._base.result import Result
from psychollm._base.types import BoolArray, FloatArray, RandomState
from psychollm.data.responses import Responses

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Simulated(Result):
    """Simulated answers and the parameters that made them."""

    responses: Responses
    scores: FloatArray  # (questions, factors), standard normal, correlated factor_correlation
    loadings: FloatArray  # (models, factors)
    thresholds: FloatArray  # (models,)
    factor_correlation: FloatArray  # (factors, factors)

    @property
    def correlation(self) -> FloatArray:
        """True tetrachoric correlations of the models (models, models)."""
        matrix = self.loadings @ self.factor_correlation @ self.loadings.T
        np.fill_diagonal(matrix, 1.0)
        return np.asarray(matrix, dtype=np.float64)


def simulate_factor(
    *,
    loadings: "ArrayLike",
    thresholds: "ArrayLike",
    n_questions: int,
    factor_correlation: "ArrayLike | None" = None,
    missing: "float | ArrayLike" = 0.0,
    rng: RandomState = None,
) -> Simulated:
    """Simulate yes/no answers of models that share one or more factors.

    Parameters
    ----------
    loadings : array (models,) or (models, factors)
        Loading of each model on each factor.
    thresholds : array (models,)
        Threshold of each model on the scale of a standard normal; 0 says yes to half.
    n_questions : int
        Number of questions.
    factor_correlation : array (factors, factors), optional
        Correlations of the factors; by default uncorrelated.
    missing : float or bool array (models, questions)
        Probability that an answer is missing, independently of everything, or the mask itself.
    rng : Generator, int or None
        Randomness; a seed makes the answers repeatable.

    Raises
    ------
    ShapeError
        If the shapes of loadings, thresholds, factor correlations or mask do not fit.
    OptionError
        If a model's factors explain more than everything, or the correlations are not ones.

    References
    ----------
    Christoffersson (1975), Factor analysis of dichotomized variables, Psychometrika 40, 5-32.

    Examples
    --------
    >>> made = simulate_factor(loadings=[0.9, 0.7], thresholds=[0, 1], n_questions=500, rng=1)
    >>> made.responses.yes_rates.round(2), made.correlation[0, 1].round(2)
    (array([0.46, 0.15]), np.float64(0.63))
    """
    L, tau = _parameters(loadings, thresholds)
    phi = _factor_correlation(factor_correlation, L.shape[1])
    unique = _unique(L, phi)
    n = check_count("n_questions", n_questions)
    generator = check_generator(rng)
    scores = generator.standard_normal((n, L.shape[1])) @ np.linalg.cholesky(phi).T
    latent = generator.standard_normal((len(tau), n))
    latent *= unique[:, None]
    latent += L @ scores.T
    mask = _mask(missing, (len(tau), n), generator)
    responses = Responses(
        codes=((latent > tau[:, None]) & ~mask).astype(np.int16),
        missing=mask,
        models=tuple(range(len(tau))),
        questions=tuple(range(n)),
        coding="binary (simulated)",
    )
    return Simulated(
        responses=responses, scores=scores, loadings=L, thresholds=tau, factor_correlation=phi
    )


def _parameters(loadings: "ArrayLike", thresholds: "ArrayLike") -> tuple[FloatArray, FloatArray]:
    L = float_array(loadings, "loadings")
    tau = float_array(thresholds, "thresholds")
    L = L[:, None] if L.ndim == 1 else L
    if L.ndim != 2 or 0 in L.shape or tau.shape != (L.shape[0],):
        msg = (
            f"loadings {np.shape(loadings)} and thresholds {tau.shape} must have the shapes "
            "(models,) or (models, factors), and (models,)"
        )
        raise ShapeError(msg)
    if not np.isfinite(L).all() or np.isnan(tau).any():
        msg = "loadings and thresholds must be numbers; a threshold may be infinite"
        raise OptionError(msg)
    return L, tau


def _factor_correlation(given: "ArrayLike | None", factors: int) -> FloatArray:
    phi = np.eye(factors) if given is None else float_array(given, "factor_correlation")
    if phi.shape != (factors, factors):
        msg = f"factor_correlation has shape {phi.shape}, but loadings hold {factors} factors"
        raise ShapeError(msg)
    fair = np.allclose(phi, phi.T) and np.allclose(np.diagonal(phi), 1.0)
    if not fair or np.linalg.eigvalsh(phi)[0] <= 0:
        msg = "factor_correlation must be symmetric and positive definite with unit diagonal"
        raise OptionError(msg)
    return phi


def _unique(L: FloatArray, phi: FloatArray) -> FloatArray:
    """Return the standard deviation of each model's own part."""
    communality = np.einsum("im,mn,in->i", L, phi, L)
    over = np.flatnonzero(communality > 1.0 + 1e-12)
    if over.size:
        msg = (
            f"the loadings of model {over[0]} explain {communality[over[0]]:.3g} of its variance "
            "of 1: make them smaller"
        )
        raise OptionError(msg)
    return np.asarray(np.sqrt(np.clip(1.0 - communality, 0.0, None)))


def _mask(
    missing: "float | ArrayLike", shape: tuple[int, int], generator: np.random.Generator
) -> BoolArray:
    given = plain_array(missing, "missing")
    if given.ndim:
        if given.shape != shape or given.dtype != np.bool_:
            msg = f"missing {given.dtype} {given.shape} must be a fraction or a bool mask {shape}"
            raise ShapeError(msg)
        return np.array(given)
    if not 0.0 <= given < 1.0:
        msg = f"missing={missing!r} must be a fraction of at least 0 and below 1"
        raise OptionError(msg)
    if given == 0.0:
        return np.zeros(shape, dtype=np.bool_)
    return np.asarray(generator.random(shape) < given)
