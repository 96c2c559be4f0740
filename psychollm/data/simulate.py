r"""Simulation of answers from the threshold model of common factors.

Model i says yes to question q iff ``x_iq > threshold_i``, where

    x_iq = sum_m loadings_im f_qm + sqrt(1 - h_i^2) e_iq,        h_i^2 = l_i' Phi l_i

with factor scores ``f_q ~ N(0, Phi)`` and independent ``e_iq ~ N(0, 1)``. Therefore, every x_iq is
standard normal, and model i says yes with probability ``1 - F(threshold_i)``, where F is the
standard normal distribution function. The tetrachoric correlation of models i and j is
``l_i' Phi l_j``. Cautious models have high thresholds; questions that seem easy have high factor
scores.

Two-choice answers with ratings follow the meta-d' model of Maniscalco and Lau (2012). The answer
to a question of class s in {0, 1} is 1 if evidence :math:`N((s - 1/2) d', 1)` exceeds the
criterion c. The rating is based on other evidence, :math:`N((s - 1/2) M d', 1)`, truncated to the
side of the criterion k that agrees with the answer. The rating is one plus the number of distances
:math:`\delta_1 < \delta_2 < \dots` from k that the truncated evidence exceeds. M is the ratio
meta-d'/d', and :math:`k = M c` ("scaled") or :math:`k = c` ("fixed").

References
----------
Maniscalco, B., & Lau, H. (2012). A signal detection theoretic approach for estimating
metacognitive sensitivity from confidence ratings. Consciousness and Cognition, 21, 422-430.
https://doi.org/10.1016/j.concog.2011.09.021
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from scipy.special import log_ndtr, ndtri_exp

from psychollm._base.checks import (
    DRAWS,
    check_choice,
    check_count,
    check_generator,
    float_array,
    plain_array,
)
from psychollm._base.errors import OptionError, ShapeError
from psychollm._base.result import Result
from psychollm._base.types import BoolArray, FloatArray, IntArray, RandomState
from psychollm.data.responses import Responses

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Simulated(Result):
    """Simulated answers with their true parameters."""

    responses: Responses
    scores: FloatArray  # (questions, factors) standard normal
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
    """Simulate yes/no answers of models with one or more common factors.

    Parameters
    ----------
    loadings : array (models,) or (models, factors)
        Loadings of the models.
    thresholds : array (models,)
        Threshold of each model in SDs; a threshold of 0 gives a yes rate of one half.
    n_questions : int
        Number of questions.
    factor_correlation : array (factors, factors), optional
        Correlations of the factors, by default zero.
    missing : float or bool array (models, questions)
        Probability that an answer is missing completely at random, or a mask of missing answers.
    rng : Generator, int or None
        Random generator or seed.

    Raises
    ------
    ShapeError
        If the shapes of loadings, thresholds, factor correlations or mask do not match.
    OptionError
        If a model's communality exceeds one, or if the factor correlations are invalid.

    References
    ----------
    Christoffersson, A. (1975). Factor analysis of dichotomized variables. Psychometrika, 40, 5-32.

    Examples
    --------
    >>> made = simulate_factor(loadings=[0.9, 0.7], thresholds=[0, 1], n_questions=500, rng=1)
    >>> made.responses.yes_rates.round(2), made.correlation[0, 1].round(2)
    (array([0.46, 0.15]), np.float64(0.63))
    """
    L, tau = _parameters(loadings, thresholds)
    phi = _factor_correlation(factor_correlation, L.shape[1])
    unique = _unique(L, phi)
    n = check_count("n_questions", n_questions, high=DRAWS)
    generator = check_generator(rng)
    scores = generator.standard_normal((n, L.shape[1])) @ np.linalg.cholesky(phi).T
    latent = generator.standard_normal((len(tau), n))
    latent *= unique[:, None]
    latent += L @ scores.T
    mask = _mask(missing, (len(tau), n), generator)
    responses = Responses.from_codes(
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
    """Return the SD of each model's unique component."""
    communality = np.einsum("im,mn,in->i", L, phi, L)
    over = np.flatnonzero(communality > 1.0 + 1e-12)
    if over.size:
        msg = (
            f"the loadings of model {over[0]} explain {communality[over[0]]:.3g} of its unit "
            "variance: reduce them"
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
    if given.dtype.kind not in "biuf" or not 0.0 <= given < 1.0:
        msg = f"missing={missing!r} must be a fraction of at least 0 and below 1"
        raise OptionError(msg)
    if given == 0.0:
        return np.zeros(shape, dtype=np.bool_)
    return np.asarray(generator.random(shape) < given)


MetaCriterion: TypeAlias = Literal["scaled", "fixed"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SimulatedRatings(Result):
    """Simulated answers and ratings with their true parameters."""

    stimulus: IntArray  # (questions,) correct answer, 0 or 1
    response: IntArray  # (models, questions) answer, 0 or 1
    rating: IntArray  # (models, questions) 1 = least confident
    d_prime: FloatArray  # (models,)
    criterion: FloatArray  # (models,)
    m_ratio: FloatArray  # (models,)

    @property
    def correct(self) -> IntArray:
        """Correctness of the answers: 1 = correct, 0 = wrong (models, questions)."""
        return np.asarray(self.response == self.stimulus, dtype=np.int64)


def simulate_meta_d(
    *,
    d_prime: "ArrayLike",
    m_ratio: "ArrayLike" = 1.0,
    criterion: "ArrayLike" = 0.0,
    distances: "ArrayLike" = (0.5, 1.0, 1.5),
    n_questions: int,
    meta_c: MetaCriterion = "scaled",
    rng: RandomState = None,
) -> SimulatedRatings:
    """Simulate two-choice answers and ratings of models with given meta-d'.

    Parameters
    ----------
    d_prime : array (models,)
        Sensitivity d' of each model.
    m_ratio, criterion : float or array (models,)
        M-ratio (meta-d'/d'), and criterion c of the answers; positive criteria favour answer 0.
    distances : array (ratings - 1,)
        Distances of the confidence criteria from the criterion, positive and increasing.
    n_questions : int
        Number of questions, half of each class, in random order.
    meta_c : {"scaled", "fixed"}
        Criterion in the confidence model: M c ("scaled") or c ("fixed").
    rng : Generator, int or None
        Random generator or seed.

    Raises
    ------
    OptionError
        If distances are not positive and increasing.
    ShapeError
        If the parameters of the models differ in length.

    Examples
    --------
    >>> made = simulate_meta_d(d_prime=[1.5, 1.0], m_ratio=0.8, n_questions=400, rng=0)
    >>> made.rating.shape, made.correct.mean(axis=1).round(2)
    ((2, 400), array([0.75, 0.71]))
    """
    check_choice("meta_c", meta_c, MetaCriterion)
    steps = _distances(distances)
    d, ratio, c = _meta_d_parameters(d_prime, m_ratio, criterion)
    n = check_count("n_questions", n_questions, low=2, high=DRAWS)
    generator = check_generator(rng)
    stimulus = generator.permutation(np.arange(n) % 2)
    side = stimulus - 0.5
    response = generator.standard_normal((d.size, n)) + side * d[:, None] > c[:, None]
    edge = (ratio if meta_c == "scaled" else np.ones(d.size)) * c
    strength = _strength(side * (ratio * d)[:, None], edge[:, None], response, generator)
    return SimulatedRatings(
        stimulus=stimulus.astype(np.int64),
        response=response.astype(np.int64),
        rating=1 + np.searchsorted(steps, strength, side="left").astype(np.int64),
        d_prime=d,
        criterion=c,
        m_ratio=ratio,
    )


def _strength(
    mean: FloatArray, edge: FloatArray, response: BoolArray, generator: np.random.Generator
) -> FloatArray:
    """Draw distances of the evidence from `edge` towards the response side (models, questions)."""
    sign = np.where(response, 1.0, -1.0)
    # The upper-tail probability of truncated evidence is uniformly distributed between zero and
    # the upper-tail probability of the edge.
    near = sign * (edge - mean)
    tail = log_ndtr(-near) + np.log1p(-generator.random(mean.shape))
    return np.asarray(np.maximum(-ndtri_exp(tail) - near, 0.0), dtype=np.float64)


def _meta_d_parameters(*given: "ArrayLike") -> tuple[FloatArray, ...]:
    names = ("d_prime", "m_ratio", "criterion")
    arrays = [
        np.atleast_1d(float_array(values, name)) for name, values in zip(names, given, strict=True)
    ]
    for name, array in zip(names, arrays, strict=True):
        if not np.isfinite(array).all():
            msg = f"{name}={array.tolist()!r:.80} must be finite"
            raise OptionError(msg)
    sizes = {array.size for array in arrays} - {1}
    if len(sizes) > 1 or 0 in sizes or any(array.ndim != 1 for array in arrays):
        shapes = ", ".join(str(array.shape) for array in arrays)
        msg = f"d_prime, m_ratio and criterion have shapes {shapes}: give one value per model"
        raise ShapeError(msg)
    n = max(array.size for array in arrays)
    return tuple(np.array(np.broadcast_to(array, n)) for array in arrays)


def _distances(distances: "ArrayLike") -> FloatArray:
    steps = np.atleast_1d(float_array(distances, "distances"))
    increasing = steps.ndim == 1 and steps.size and np.isfinite(steps).all()
    if not increasing or not (np.diff(steps, prepend=0.0) > 0).all():
        msg = (
            f"distances={steps.tolist()} must be positive and increasing: the distances of the "
            "confidence criteria from the criterion"
        )
        raise OptionError(msg)
    return steps
