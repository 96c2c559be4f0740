r"""Full-information maximum likelihood of the one-factor normal-ogive model.

The probability that a model answers yes to a question with factor score f is

.. math:: P_i(f) = \Phi\Big(\frac{\lambda_i f - \tau_i}{\sqrt{1 - \lambda_i^2}}\Big),
          \qquad f \sim N(0, 1).                                                      \quad (1)

Integrals over f are sums over a uniform grid. Sums over a uniform grid converge exponentially if
the spacing is below the posterior SD of a score. Posteriors are narrow if there are many models or
large loadings. The spacing is therefore the SD of the narrowest posterior, computed from the test
information :math:`\sum_i P_i'^2 / (P_i (1 - P_i))`.

The likelihood of a question includes all its answers; missing answers are assumed missing at
random. The argument of the ogive has the following derivatives with respect to :math:`z =
\mathrm{artanh}\,\lambda` and :math:`\tau`:

.. math:: \frac{\partial u}{\partial z} = \frac{f - \lambda\tau}{\sqrt{1 - \lambda^2}}, \qquad
          \frac{\partial u}{\partial \tau} = \frac{-1}{\sqrt{1 - \lambda^2}}.        \quad (2)

Score vectors of questions follow from their posteriors over f (Fisher's identity). A bounded
quasi-Newton iteration (Byrd, Lu, Nocedal & Zhu, 1995) starts at the pairwise solution. The sum of
outer products of the score vectors scales the steps of the iteration and gives standard errors.
Newton steps with this sum in place of the Hessian are not used, because they would converge slowly
if one factor does not fit.

References
----------
Bock, R. D., & Lieberman, M. (1970). Fitting a response model for n dichotomously scored items.
Psychometrika, 35(2), 179-197. https://doi.org/10.1007/BF02291262

Byrd, R. H., Lu, P., Nocedal, J., & Zhu, C. (1995). A limited memory algorithm for bound
constrained optimization. SIAM Journal on Scientific Computing, 16(5), 1190-1208.
https://doi.org/10.1137/0916069
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr, ndtr

from psychollm._base.axes import Axes
from psychollm._base.convergence import Convergence
from psychollm._base.replicate import one_blas_thread, progress_bar
from psychollm._base.result import Result
from psychollm._base.types import AnyArray, BoolArray, FloatArray, IntArray
from psychollm.data.expected import Expects
from psychollm.data.pair_counts import CountedAnswers
from psychollm.data.responses import Responses, ResponsesLike
from psychollm.factor.one_factor.pairwise_likelihood import (
    AT_BOUND,
    PairwiseLikelihood,
    pairwise_likelihood,
)
from psychollm.kernels.pairwise_likelihood import Z_BOUND

RANGE = 6.0  # limit of the grid; the probability of factor values beyond it is 2e-9
MIN_NODES, MAX_NODES = 61, 801
LOG_FLOOR = -230.0  # lower limit of probabilities, 1e-100, to keep quotients finite
BLOCK = 4096


@dataclass(frozen=True, slots=True)
class Grid:
    """Nodes of the factor (Q,) and the logarithm of their prior weights (Q,)."""

    nodes: FloatArray
    log_weights: FloatArray


@dataclass(frozen=True, slots=True)
class Patterns:
    """Distinct answer patterns, their frequencies, and the pattern of each question."""

    yes: FloatArray  # (p, k) 1 for yes
    no: FloatArray  # (p, k)
    frequency: FloatArray  # (p,)
    of_question: IntArray  # (n,)

    def blocks(self) -> Iterator[slice]:
        """Yield slices of patterns that are small enough for the cache."""
        for lo in range(0, self.frequency.size, BLOCK):
            yield slice(lo, lo + BLOCK)


def answer_patterns(yes: BoolArray, answered: BoolArray, keep: BoolArray) -> Patterns:
    """Collect the distinct answer patterns of the models to `keep` (models,)."""
    no = ~yes[keep] & answered[keep]
    yes = yes[keep] & answered[keep]
    _, first, inverse, frequency = np.unique(
        _keys(np.concatenate([yes, no])),
        return_index=True,
        return_inverse=True,
        return_counts=True,
    )
    return Patterns(
        yes=np.ascontiguousarray(yes[:, first].T, dtype=np.float64),
        no=np.ascontiguousarray(no[:, first].T, dtype=np.float64),
        frequency=frequency.astype(np.float64),
        of_question=inverse.ravel().astype(np.int64),
    )


def _keys(flags: BoolArray) -> AnyArray:
    """Return one sortable key per column of flags (r, n), as an integer if 64 bits suffice."""
    packed = np.packbits(flags, axis=0).T
    width = packed.shape[1]
    if width > 8:
        return np.ascontiguousarray(packed).view(np.dtype((np.void, width))).ravel()
    words = np.zeros((packed.shape[0], 8), dtype=np.uint8)
    words[:, :width] = packed
    return words.view(np.uint64).ravel()


def ogive(loadings: FloatArray, thresholds: FloatArray, nodes: FloatArray) -> FloatArray:
    """Return the argument of the normal ogive of equation (1), shape (k, Q)."""
    rest = np.sqrt(1.0 - loadings**2)
    return np.asarray(
        (loadings[:, None] * nodes - thresholds[:, None]) / rest[:, None], dtype=np.float64
    )


def log_answer_probabilities(argument: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return log P and log(1 - P), limited from below, with the shape of the argument."""
    return np.maximum(log_ndtr(argument), LOG_FLOOR), np.maximum(log_ndtr(-argument), LOG_FLOOR)


def log_answers(curves: FloatArray, nodes: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return log P and log(1 - P) (k, Q) of curves with parameters (2 or 4, k)."""
    # The rows are loadings, thresholds, and the asymptotes of models that lapse.
    log_yes, log_no = log_answer_probabilities(ogive(curves[0], curves[1], nodes))
    if len(curves) == 2:
        return log_yes, log_no
    lower, above = curves[2][:, None], 1.0 - curves[3][:, None]
    inside = 1.0 - lower - above
    return np.log(lower + inside * np.exp(log_yes)), np.log(above + inside * np.exp(log_no))


def factor_grid(loadings: FloatArray, thresholds: FloatArray) -> Grid:
    """Return a grid that is fine enough for the narrowest posterior of a score."""
    nodes = np.linspace(-RANGE, RANGE, MAX_NODES)
    argument = ogive(loadings, thresholds, nodes)
    density = np.exp(-0.5 * argument**2) / np.sqrt(2.0 * np.pi)
    slope = loadings / np.sqrt(1.0 - loadings**2)
    variance = np.maximum(ndtr(argument) * ndtr(-argument), 1e-300)
    information = 1.0 + (slope**2) @ (density**2 / variance)
    wanted = 2.0 * RANGE * np.sqrt(information.max())
    n_nodes = int(np.clip(np.ceil(wanted), MIN_NODES, MAX_NODES))
    nodes = np.linspace(-RANGE, RANGE, n_nodes)
    weights = np.exp(-0.5 * nodes**2)
    return Grid(nodes=nodes, log_weights=np.log(weights / weights.sum()))


def posterior(
    patterns: Patterns, block: slice, log_yes: FloatArray, log_no: FloatArray, grid: Grid
) -> tuple[FloatArray, FloatArray]:
    """Return posterior weights over nodes (p, Q) and the marginal log-likelihood (p,)."""
    joint = patterns.yes[block] @ log_yes
    joint += patterns.no[block] @ log_no
    joint += grid.log_weights
    top = joint.max(axis=1, keepdims=True)
    joint -= top
    np.exp(joint, out=joint)
    total = joint.sum(axis=1, keepdims=True)
    joint /= total
    return joint, (np.log(total) + top)[:, 0]


LOG_SQRT_2PI = 0.9189385332046727
MAX_STEPS = 500
MEMORY = 30
TOLERANCE, LOST = 1e-5, 1e-3  # gradient in SEs: target, and largest that counts as converged
NEAR = 1.0 - 1e-9  # loadings above this proportion of the bound count as at the bound
UNFINISHED = {1: "the limit of steps was reached", 2: "no step increases the likelihood"}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class FullInformation(Expects, Result):
    """One-factor normal-ogive model fitted by full-information maximum likelihood.

    Attributes
    ----------
    loadings, thresholds : ndarray of shape (k,)
        Estimated loadings and thresholds; NaN for omitted models, with an entry in `reasons`.
    se_loadings, se_thresholds : ndarray of shape (k,)
        Standard errors from cross products of the score vectors; NaN at the bound.
    at_bound : ndarray of shape (k,)
        Whether the loading is at its bound of 1 (a Heywood case).
    log_likelihood : float
        Marginal log-likelihood of all answers of the included models.
    independence : float
        Log-likelihood without a common factor, with each model's own yes rate.
    n_parameters, n_patterns, n_nodes : int
        Numbers of parameters, of distinct answer patterns and of quadrature nodes.
    reasons : tuple
        Reason why a model was omitted, or "".
    labels : tuple
        Names of the models.
    convergence : Convergence
        Convergence status.
    """

    loadings: FloatArray  # (k,)
    thresholds: FloatArray  # (k,)
    se_loadings: FloatArray  # (k,)
    se_thresholds: FloatArray  # (k,)
    at_bound: BoolArray  # (k,)
    log_likelihood: float
    independence: float
    n_parameters: int
    n_patterns: int
    n_nodes: int
    reasons: tuple[str, ...]  # k
    labels: tuple[Hashable, ...]  # k
    convergence: Convergence

    @property
    def curves(self) -> FloatArray:
        """Loadings and thresholds, shape (2, k)."""
        return np.stack([self.loadings, self.thresholds])

    _EXPECTED = ("factor.expected", "expected_answers")

    _AXES = Axes(
        {"model": "labels"},
        "loading=loadings",
        "se_loading=se_loadings",
        "threshold=thresholds",
        "se_threshold=se_thresholds",
        "at_bound",
        "reason=reasons",
    )


def full_information(
    responses: ResponsesLike,
    *,
    start: PairwiseLikelihood | None = None,
    progress: bool = False,
) -> FullInformation:
    """Fit the one-factor normal-ogive model by marginal maximum likelihood.

    Parameters
    ----------
    responses : Responses or table of shape (models, questions)
        Binary answers. Zero-variance models are omitted, and `reasons` gives the reason.
    start : PairwiseLikelihood, optional
        Result of `pairwise_likelihood` for the same table, as starting values.
    progress : bool
        Whether to show a progress bar (needs tqdm).

    Returns
    -------
    FullInformation
        Loadings and thresholds with standard errors, and the log-likelihood.

    Raises
    ------
    ShapeError
        If fewer than three models have varying answers.
    SparseError
        If the answers are not a dense table.

    Warns
    -----
    ConvergenceWarning
        If the iteration stopped before convergence.

    Examples
    --------
    >>> import psychollm as psy
    >>> from psychollm.factor.one_factor.full_information import full_information
    >>> data = psy.simulate_factor(
    ...     loadings=[0.9, 0.7, 0.8, 0.6], thresholds=[0, 1, -1, 0], n_questions=9000, rng=1
    ... )
    >>> full_information(data.responses).loadings.round(1)
    array([0.9, 0.7, 0.8, 0.6])
    """
    answers = CountedAnswers.of(responses, needs="dense")
    table = answers.table
    start = pairwise_likelihood(answers) if start is None else start
    keep = np.array([not reason for reason in start.reasons])
    patterns = answer_patterns(table.codes == 1, ~table.missing, keep)
    z = np.clip(np.arctanh(start.loadings[keep]), -Z_BOUND, Z_BOUND)
    grid = factor_grid(np.tanh(z), start.thresholds[keep])
    first = np.concatenate([z, start.thresholds[keep]])
    with one_blas_thread():  # two threads take longer than one on products of this size
        point, ending = _climb(patterns, grid, first, progress=progress)
    ending.warn("the full-information fit")
    return _result(table, keep, start.reasons, patterns, grid, point, ending)


def _evaluate(
    patterns: Patterns, grid: Grid, parameters: FloatArray
) -> tuple[float, FloatArray, FloatArray]:
    """Return log-likelihood, gradient (2k,) and cross products (2k, 2k) at (z, tau)."""
    k = parameters.size // 2
    loadings, thresholds = np.tanh(parameters[:k]), parameters[k:]
    argument = ogive(loadings, thresholds, grid.nodes)
    log_yes, log_no = log_answer_probabilities(argument)
    rest = np.sqrt(1.0 - loadings**2)[:, None]
    slopes = ((grid.nodes - (loadings * thresholds)[:, None]) / rest, -1.0 / rest)
    log_density = -0.5 * argument**2 - LOG_SQRT_2PI
    mills_yes = np.where(log_yes > LOG_FLOOR, np.exp(log_density - log_yes), 0.0)
    mills_no = np.where(log_no > LOG_FLOOR, np.exp(log_density - log_no), 0.0)
    value, gradient, products = 0.0, np.zeros(2 * k), np.zeros((2 * k, 2 * k))
    for block in patterns.blocks():
        weights, log_likelihood = posterior(patterns, block, log_yes, log_no, grid)
        yes, no, frequency = patterns.yes[block], patterns.no[block], patterns.frequency[block]
        scores = np.concatenate(
            [
                yes * (weights @ (mills_yes * slope).T) - no * (weights @ (mills_no * slope).T)
                for slope in slopes
            ],
            axis=1,
        )
        value += float(frequency @ log_likelihood)
        gradient += frequency @ scores
        products += (scores * frequency[:, None]).T @ scores
    return value, gradient, products


def _frozen(parameters: FloatArray, gradient: FloatArray) -> BoolArray:
    """Return a mask of loadings at a bound whose gradient points beyond the bound."""
    k = parameters.size // 2
    frozen = np.zeros(2 * k, dtype=np.bool_)
    frozen[:k] = (np.abs(parameters[:k]) >= NEAR * Z_BOUND) & (gradient[:k] * parameters[:k] > 0.0)
    return frozen


def _climb(
    patterns: Patterns, grid: Grid, start: FloatArray, *, progress: bool
) -> tuple[FloatArray, Convergence]:
    """Maximise the likelihood from (z, tau), with parameters scaled by initial standard errors."""
    from scipy.optimize import Bounds, minimize

    _, _, products = _evaluate(patterns, grid, start)
    scale = 1.0 / np.sqrt(np.maximum(np.diagonal(products), 1e-9))

    def fall(point: FloatArray) -> tuple[float, FloatArray]:
        value, gradient, _ = _evaluate(patterns, grid, point * scale)
        return -value, -gradient * scale

    k = start.size // 2
    reach = np.concatenate([Z_BOUND / scale[:k], np.full(k, np.inf)])
    bar = progress_bar(show=progress, total=MAX_STEPS, label="full information")

    def count(xk: FloatArray) -> None:
        bar.update(1)

    try:
        top = minimize(
            fall,
            start / scale,
            jac=True,
            method="L-BFGS-B",
            bounds=Bounds(-reach, reach),
            callback=count,
            options={"maxiter": MAX_STEPS, "maxcor": MEMORY, "ftol": 0.0, "gtol": TOLERANCE},
        )
    finally:
        bar.close()
    point = np.asarray(top.x * scale, dtype=np.float64)
    free = ~_frozen(point, -top.jac)
    # Rounding errors of the value may stop the optimiser before the gradient is small.
    converged = bool(top.status == 0 or np.max(np.abs(top.jac[free])) < LOST)
    ending = Convergence.of_steps(
        converged=converged,
        steps=int(top.nit),
        objective=-float(top.fun),
        otherwise=UNFINISHED.get(top.status, ""),
    )
    return point, ending


def _result(
    table: Responses,
    keep: BoolArray,
    reasons: tuple[str, ...],
    patterns: Patterns,
    grid: Grid,
    point: FloatArray,
    ending: Convergence,
) -> FullInformation:
    """Return the result for all models, with NaN for omitted models."""
    k = point.size // 2
    _, gradient, products = _evaluate(patterns, grid, point)
    free = ~_frozen(point, gradient)
    variance = np.full(2 * k, np.nan)
    variance[free] = np.diagonal(np.linalg.pinv(products[np.ix_(free, free)], hermitian=True))
    loadings = np.tanh(point[:k])
    sign = -1.0 if loadings.sum() < 0.0 else 1.0

    def spread(values: FloatArray) -> FloatArray:
        full = np.full(keep.size, np.nan)
        full[keep] = values
        return full

    # Independence: the yes rate of each model is a parameter.
    yes, no = patterns.frequency @ patterns.yes, patterns.frequency @ patterns.no
    n = yes + no
    at_bound = np.zeros(keep.size, dtype=np.bool_)
    at_bound[keep] = np.abs(loadings) >= AT_BOUND
    return FullInformation(
        loadings=spread(sign * loadings),
        thresholds=spread(point[k:]),
        se_loadings=spread((1.0 - loadings**2) * np.sqrt(variance[:k])),
        se_thresholds=spread(np.sqrt(variance[k:])),
        at_bound=at_bound,
        log_likelihood=ending.objective,
        independence=float(np.sum(yes * np.log(yes / n) + no * np.log(no / n))),
        n_parameters=2 * k,
        n_patterns=patterns.frequency.size,
        n_nodes=grid.nodes.size,
        reasons=reasons,
        labels=table.models,
        convergence=ending,
    )
