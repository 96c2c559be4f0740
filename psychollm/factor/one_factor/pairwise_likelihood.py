r"""Factor models of pair counts, fitted by pairwise maximum likelihood.

No correlation matrix is needed, and therefore no continuity correction or smoothing.
`psychollm.kernels.pairwise_likelihood` derives the equations.

Standard errors are based on the variance of score vectors over questions. To first order, the
residual joint count of a pair is a sum over questions of

.. math:: e_{ij,q} = y_{iq} y_{jq} - P_{ij} - a_{ij} (y_{iq} - p_i) - a_{ji} (y_{jq} - p_j),
          \qquad a_{ij} = \partial P_{ij} / \partial p_i = P(x_j > \tau_j \mid x_i = \tau_i).
                                                                                     \quad (1)

The last two terms of equation (1) account for the estimation of the thresholds. With weights
:math:`W_{ij} = \phi_2 H_{ij} \lambda_j` the score of a question is :math:`u_{iq} = \sum_j W_{ij}
e_{ij,q}`, and the covariance of the loadings is the sandwich :math:`A^{-1} (\sum_q u_q u_q^\top)
A^{-1}`, where A is the expected information of all pairs.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from psychollm._base.axes import Axes
from psychollm._base.checks import check_count
from psychollm._base.convergence import Convergence
from psychollm._base.errors import ShapeError
from psychollm._base.replicate import one_blas_thread
from psychollm._base.result import Result
from psychollm._base.types import BoolArray, FloatArray
from psychollm.data.expected import Expects
from psychollm.data.pair_counts import CountedAnswers, PairCounts, writable_counts
from psychollm.data.responses import Responses, ResponsesLike
from psychollm.kernels.pairwise_factors import add_factor, fit_pairwise_factors
from psychollm.kernels.pairwise_likelihood import (
    BOUND,
    CONVERGED,
    STALLED,
    fit_pairwise,
    pair_margins,
    pair_weights,
    residuals,
    start_loadings,
)

TOLERANCE = 1e-8
GAIN = 1e-6
MAX_STEPS = 500
AT_BOUND = BOUND - 1e-6
_ENDINGS = {CONVERGED: "converged", STALLED: "no step increases the likelihood"}
BLOCK = 65_536


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class PairwiseLikelihood(Expects, Result):
    """Loadings on one common factor, estimated from pair counts.

    Attributes
    ----------
    loadings : ndarray of shape (k,)
        Correlation of each model's latent answer with the factor; NaN with an entry in `reasons`.
        The signs are chosen such that most loadings are positive.
    se : ndarray of shape (k,)
        Standard errors from the variation of score vectors over questions, with estimated
        thresholds. Standard errors are NaN at the bound, or if only pair counts were given.
    thresholds : ndarray of shape (k,)
        Latent value above which a model answers yes. The threshold is high for cautious models.
    at_bound : ndarray of shape (k,)
        Whether the loading is at its bound of 1 (a Heywood case).
    log_likelihood : float
        Pairwise log-likelihood, which is comparable only between solutions for the same counts.
    residuals : ndarray of shape (k, k)
        Observed minus expected joint yes counts, divided by standard errors. Half a count is added
        to the squared standard error, which is conditional on the margins. Residuals are zero on
        the diagonal and for pairs without information.
    share : float
        Mean squared loading: proportion of latent variance that the factor explains.
    reasons : tuple
        Reason why a loading is undefined, or "".
    labels : tuple
        Names of the models.
    convergence : Convergence
        Convergence status.
    """

    loadings: FloatArray  # (k,)
    se: FloatArray  # (k,)
    thresholds: FloatArray  # (k,)
    at_bound: BoolArray  # (k,)
    log_likelihood: float
    residuals: FloatArray  # (k, k)
    share: float
    reasons: tuple[str, ...]  # k
    labels: tuple[Hashable, ...]  # k
    convergence: Convergence

    _EXPECTED = ("factor.expected", "expected_answers")

    _AXES = Axes(
        {"model": "labels"},
        "loading=loadings",
        "se",
        "threshold=thresholds",
        "at_bound",
        "reason=reasons",
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ExploratoryPairwiseLikelihood(Expects, Result):
    """Loadings on several orthogonal factors, estimated from pair counts, in principal axes.

    Attributes
    ----------
    loadings : ndarray of shape (k, m)
        Loadings, with columns in descending order of variance and with positive column sums; NaN
        for models without information.
    shares : ndarray of shape (m,)
        Mean squared loading of each factor.
    thresholds : ndarray of shape (k,)
        Latent value above which a model answers yes. The threshold is high for cautious models.
    log_likelihood : float
        Pairwise log-likelihood.
    labels : tuple
        Names of the models.
    convergence : Convergence
        Convergence status.
    """

    loadings: FloatArray  # (k, m)
    shares: FloatArray  # (m,)
    thresholds: FloatArray  # (k,)
    log_likelihood: float
    labels: tuple[Hashable, ...]  # k
    convergence: Convergence

    _EXPECTED = ("factor.expected", "expected_answers")

    _AXES = Axes({"model": "labels", "factor": None}, "loading=loadings")


def pairwise_likelihood(
    responses: ResponsesLike | PairCounts,
) -> PairwiseLikelihood:
    """Fit one factor to pair counts by pairwise maximum likelihood (PML), in two steps.

    Parameters
    ----------
    responses : Responses, PairCounts, or table of shape (models, questions)
        Binary answers, or their pair counts, which give no standard errors.

    Returns
    -------
    PairwiseLikelihood
        Loadings with standard errors, thresholds and residuals.

    Raises
    ------
    ShapeError
        If fewer than three models have varying answers, because loadings are then not identified.

    References
    ----------
    Katsikatsou, M., Moustaki, I., Yang-Wallentin, F., & Jöreskog, K. G. (2012). Pairwise
    likelihood estimation for factor analysis models with ordinal data. Computational Statistics &
    Data Analysis, 56(12), 4243-4258. https://doi.org/10.1016/j.csda.2012.04.010

    Examples
    --------
    >>> import psychollm as psy
    >>> from psychollm.factor.one_factor.pairwise_likelihood import pairwise_likelihood
    >>> data = psy.simulate_factor(
    ...     loadings=[0.9, 0.7, 0.8, 0.6], thresholds=[0, 1, -1, 0], n_questions=9000, rng=1
    ... )
    >>> pairwise_likelihood(data.responses).loadings.round(1)
    array([0.9, 0.7, 0.8, 0.6])
    """
    table, pairs = counted(responses)
    counts, tau, rate = kernel_counts(pairs)
    reasons = _reasons(pairs, tau)
    if sum(not reason for reason in reasons) < 3:
        msg = "one factor needs at least three models whose answers vary together: " + "; ".join(
            f"{m!r} {why}" for m, why in zip(pairs.labels, reasons, strict=True) if why
        )
        raise ShapeError(msg)
    loadings = np.empty(len(pairs.labels))
    start_loadings(counts, tau, loadings)
    value, steps, status = fit_pairwise(counts, tau, rate, loadings, TOLERANCE, MAX_STEPS)
    convergence = _ending(status, steps, value)
    convergence.warn("the pairwise factor solution")
    silent = np.array([bool(reason) for reason in reasons])
    loadings[silent] = 0.0
    loadings *= -1.0 if loadings.sum() < 0.0 else 1.0
    z = np.empty_like(tau)
    residuals(counts, tau, rate, loadings[:, None], z)
    at_bound = np.abs(loadings) >= AT_BOUND
    if table is None:
        se = np.full(loadings.size, np.nan)
    else:
        with one_blas_thread():
            se = pairwise_errors(table, tau, rate, pairs.n, loadings, free=~(silent | at_bound))
    return PairwiseLikelihood(
        loadings=np.where(silent, np.nan, loadings),
        se=se,
        thresholds=np.diagonal(tau).copy(),
        at_bound=at_bound,
        log_likelihood=value,
        residuals=z,
        share=float(np.mean(loadings[~silent] ** 2)),
        reasons=reasons,
        labels=pairs.labels,
        convergence=convergence,
    )


def exploratory_pairwise_likelihood(
    responses: ResponsesLike | PairCounts, *, n_factors: int = 2
) -> ExploratoryPairwiseLikelihood:
    """Fit several orthogonal factors to pair counts by pairwise maximum likelihood (PML).

    Factors are added one at a time from the residuals of the last solution, and then all loadings
    are fitted jointly. No continuity correction is needed. In one-factor data, the variance of the
    second factor is small but never zero, because of sampling error.

    Parameters
    ----------
    responses : Responses, PairCounts, or table of shape (models, questions)
        Binary answers, or their pair counts.
    n_factors : int
        Number of factors m.

    Returns
    -------
    ExploratoryPairwiseLikelihood
        Loadings in principal axes, and the mean squared loading of each factor.

    Raises
    ------
    ShapeError
        If fewer than ``2 m + 1`` models have varying answers.

    Examples
    --------
    >>> import psychollm as psy
    >>> from psychollm.factor.one_factor.pairwise_likelihood import exploratory_pairwise_likelihood
    >>> data = psy.simulate_factor(
    ...     loadings=[0.7] * 6, thresholds=[0, 1, -1] * 2, n_questions=9000, rng=1
    ... )
    >>> exploratory_pairwise_likelihood(data.responses).shares.round(1)
    array([0.5, 0. ])
    """
    n_factors = check_count("n_factors", n_factors)
    _, pairs = counted(responses)
    counts, tau, rate = kernel_counts(pairs)
    silent = np.array([bool(reason) for reason in _reasons(pairs, tau)])
    if np.sum(~silent) < 2 * n_factors + 1:
        msg = (
            f"n_factors={n_factors} needs at least {2 * n_factors + 1} models whose answers vary, "
            f"got {np.sum(~silent)}"
        )
        raise ShapeError(msg)
    first = np.empty(silent.size)
    start_loadings(counts, tau, first)
    value, steps, status = fit_pairwise(counts, tau, rate, first, TOLERANCE, MAX_STEPS)
    loadings = first[:, None]
    for _ in range(n_factors - 1):
        narrow, z = loadings, np.empty_like(tau)
        loadings = np.empty((silent.size, narrow.shape[1] + 1))
        residuals(counts, tau, rate, narrow, z)
        add_factor(z, narrow, loadings)
        value, steps, status = fit_pairwise_factors(counts, tau, rate, loadings, GAIN, MAX_STEPS)
    convergence = _ending(status, steps, value)
    convergence.warn("the pairwise factor solution")
    loadings = principal_axes(np.where(silent[:, None], 0.0, loadings))
    return ExploratoryPairwiseLikelihood(
        loadings=np.where(silent[:, None], np.nan, loadings),
        shares=np.sum(loadings**2, axis=0) / np.sum(~silent),
        thresholds=np.diagonal(tau).copy(),
        log_likelihood=value,
        labels=pairs.labels,
        convergence=convergence,
    )


def principal_axes(loadings: FloatArray) -> FloatArray:
    """Rotate loadings (k, m) to principal axes in order of variance, with positive sums."""
    left, singular, _ = np.linalg.svd(loadings, full_matrices=False)
    rotated = left * singular
    signs = np.where(rotated.sum(axis=0) < 0.0, -1.0, 1.0)
    return np.asarray(rotated * signs, dtype=np.float64)


def kernel_counts(
    pairs: PairCounts,
) -> tuple[tuple[FloatArray, FloatArray, FloatArray], FloatArray, FloatArray]:
    """Return counts (joint, yes, n), thresholds (k, k) and yes rates (k, k) for the kernels."""
    counts = writable_counts(pairs)
    tau, rate = np.empty_like(counts[0]), np.empty_like(counts[0])
    pair_margins(counts[1], counts[2], tau, rate)
    return counts, tau, rate


def counted(responses: ResponsesLike) -> tuple[Responses | None, PairCounts]:
    """Return the table (None for pair counts) and the counts of its pairs."""
    if isinstance(responses, PairCounts):
        return None, responses
    answers = CountedAnswers.of(responses)
    return answers.table, answers.counts


def _reasons(pairs: PairCounts, tau: FloatArray) -> tuple[str, ...]:
    """Return for each model the reason why it has no loading, or ""."""
    reasons = []
    for i in range(len(pairs.labels)):
        others = np.delete(tau[i], i)
        if pairs.n[i, i] == 0:
            reasons.append("answered nothing")
        elif not np.isfinite(tau[i, i]):
            reasons.append("always gave the same answer")
        elif np.all(np.isnan(others)):
            reasons.append("shares no varying answers with another model")
        else:
            reasons.append("")
    return tuple(reasons)


def _ending(status: int, steps: int, value: float) -> Convergence:
    reason = _ENDINGS.get(status, "the limit of steps was reached")
    return Convergence(
        converged=status in _ENDINGS, iterations=steps, reason=reason, objective=value
    )


def pairwise_errors(
    table: Responses,
    tau: FloatArray,
    rate: FloatArray,
    n: FloatArray,
    loadings: FloatArray,
    *,
    free: BoolArray,
) -> FloatArray:
    """Return standard errors of the loadings, shape (k,); NaN for loadings that are not `free`."""
    weight, density, joint = np.empty_like(tau), np.empty_like(tau), np.empty_like(tau)
    pair_weights(tau, rate, loadings, weight, density, joint)
    information = n * weight * density
    outer = information * np.outer(loadings, loadings)
    A = outer + np.diag(information @ loadings**2)
    scores = _score_products(table, tau, rate, loadings, weight, joint)
    inverse = np.linalg.pinv(A[np.ix_(free, free)], hermitian=True)
    covariance = inverse @ scores[np.ix_(free, free)] @ inverse
    se = np.full(loadings.size, np.nan)
    se[free] = np.sqrt(np.diagonal(covariance))
    return se


def _score_products(
    table: Responses,
    tau: FloatArray,
    rate: FloatArray,
    loadings: FloatArray,
    weight: FloatArray,
    joint: FloatArray,
) -> FloatArray:
    """Return the sum of outer products of the question scores in equation (1), shape (k, k)."""
    informative = weight > 0.0
    r = np.outer(loadings, loadings)
    with np.errstate(invalid="ignore"):
        given = ndtr((r * tau - tau.T) / np.sqrt(1.0 - r**2))  # a[i, j] of (1)
    given = np.where(informative, given, 0.0)
    W = weight * loadings
    margin = np.where(informative, rate, 0.0)
    constant = W * (joint - given * margin - given.T * margin.T)
    total = np.zeros_like(tau)
    for codes, missing in table.blocks(BLOCK):
        y, m = (codes == 1).astype(np.float64), (~missing).astype(np.float64)
        y *= m
        u = y * (W @ y - (W * given) @ m) - m * (constant @ m + (W * given.T) @ y)
        total += u @ u.T
    return total
