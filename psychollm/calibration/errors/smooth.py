r"""Smooth calibration error: gaps between accuracy and confidence without bins.

Residuals are correctness (1 or 0) minus confidence. The residuals are smoothed over confidence by
a Gaussian kernel of standard deviation sigma, reflected at 0 and 1. The error, equation (1), is
the mean absolute value of the smoothed residuals, at the bandwidth that equals the error (Blasiok
& Nakkiran).

.. math:: s(\sigma) = \int_0^1 \Big| \frac1n \sum_i (y_i - f_i) K_\sigma(t, f_i) \Big|\, dt,
          \qquad \text{smECE} = s(\sigma^*) = \sigma^*.                                   \quad (1)

Unlike a binned error, the smooth error is a continuous function of the stated confidences and
requires no choice of bins. The smooth error has the same upward bias as a binned error. The smooth
error is therefore reported with its expectation under calibration, a p-value, and the corrected
error with its interval. The interval uses the bandwidth of the sample. In the simulations
described in `psychollm.calibration.errors.binned` the interval has a coverage of 92 to 99 %.

References
----------
Blasiok, J., & Nakkiran, P. (2024). Smooth ECE: Principled reliability diagrams via kernel
smoothing. International Conference on Learning Representations.
"""

from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from psychollm._base.axes import Axes
from psychollm._base.checks import check_fraction
from psychollm._base.result import Result
from psychollm._base.types import FloatArray, IntArray, RandomState
from psychollm.calibration.errors.calibration_error import (
    METHOD,
    N_SCALES,
    CalibrationError,
    assembled,
    family_bounds,
    scales,
    short,
)
from psychollm.calibration.metric import NOISY, Drawn, Metric, Output
from psychollm.calibration.stated import stated_answers
from psychollm.calibration.tally import Tally
from psychollm.data.responses import ResponsesLike
from psychollm.estimates.intervals import percentile_interval
from psychollm.estimates.reasons import Reason
from psychollm.estimates.resampling import Bootstrap, Resampling
from psychollm.kernels import kernel_smooth as kernels
from psychollm.kernels.kernel_smooth import sizes_along


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReliabilityCurve(Result):
    r"""Accuracy as a smooth function of stated confidence, for every model.

    Let :math:`r_\sigma` be the smoothed residuals and :math:`k_\sigma(t) = \frac1n \sum_i
    K_\sigma(t, f_i)` the density of confidences. Then

    .. math:: a(t) = t + \frac{r_\sigma(t)}{k_\sigma(t)}, \qquad
              \int_0^1 |a(t) - t|\, k_\sigma(t)\, dt = s(\sigma).

    The area between curve and diagonal, weighted by the density, is the smooth calibration error.
    The curve is undefined where the effective number of answers, :math:`2 \sqrt{\pi}\, \sigma\,
    n\, k_\sigma(t)` for a kernel of standard deviation sigma, is below one.

    Examples
    --------
    >>> from psychollm.calibration.errors.smooth import smooth_calibration_error
    >>> curve = smooth_calibration_error([0.6] * 10, [1] * 8 + [0] * 2, rng=0).curve
    >>> curve.confidence[60], curve.accuracy[0, 60].round(2)
    (np.float64(0.6), np.float64(0.8))
    """

    confidence: FloatArray  # (points,) from 0 to 1
    accuracy: FloatArray  # (models, points) NaN for fewer than one effective answer
    interval: FloatArray  # (models, points, 2) pointwise bootstrap percentiles
    density: FloatArray  # (models, points) density of stated confidence
    level: float
    labels: tuple[Any, ...]  # (models,)

    _AXES = Axes(
        {"model": "labels", "confidence": "confidence"},
        "accuracy",
        "accuracy_{bound}=interval",
        "density",
        arrays={"model confidence": "accuracy density", "model confidence bound": "interval"},
    )


def reliability_curve(
    value: FloatArray,
    draws: FloatArray,
    *,
    near: FloatArray,
    level: float,
    labels: tuple[Any, ...],
) -> ReliabilityCurve:
    """Return the curve from smoothed residuals and densities at equidistant points."""
    # Shapes: value (models, 2 x points); draws (resamples, models, 2 x points); near (models,).
    n_points = value.shape[1] // 2
    points = np.linspace(0.0, 1.0, n_points)

    def accuracy(columns: FloatArray) -> FloatArray:
        residual, density = columns[..., :n_points], columns[..., n_points:]
        with np.errstate(invalid="ignore", divide="ignore"):
            curve = np.where(density * near[:, None] >= 1.0, points + residual / density, np.nan)
        return np.clip(curve, 0.0, 1.0)

    own = accuracy(value)
    bounds = percentile_interval(accuracy(draws), level)
    return ReliabilityCurve(
        confidence=points,
        accuracy=own,
        interval=np.where(np.isfinite(own)[..., None], bounds, np.nan),
        density=value[:, n_points:].copy(),
        level=level,
        labels=labels,
    )


Cosines: TypeAlias = tuple[FloatArray, FloatArray]  # cosines of even and of odd terms

POINTS = 101  # points of a reliability curve, which are nodes of every grid
RESOLUTION = 2.5  # number of nodes per standard deviation of the kernel
MOST_NODES = 4000
_COMPLETE = 2.2  # fewest nodes per SD for which the series is complete


@dataclass(frozen=True, slots=True, eq=False)
class SmoothingGrid:
    """Grid of nodes, with the positions of one model's confidences on it."""

    values: FloatArray  # (groups,)
    beyond: FloatArray  # (groups,) position within the cell between two nodes, from 0 to 1
    node: IntArray  # (cells,) node before each cell that holds confidences
    stop: IntArray  # (cells,) index of the first group after each cell
    last: int  # index of the last node
    by_node: Cosines
    by_term: Cosines

    @property
    def finest(self) -> float:
        """The smallest bandwidth for which the cosine series is accurate."""
        return _COMPLETE / self.last

    def sums(self, correct: FloatArray, wrong: FloatArray) -> FloatArray:
        """Return mean residuals at the nodes (resamples, nodes)."""
        nodes = np.empty((len(correct), self.last + 1))
        self._fill(self.values, correct, wrong, nodes)
        return nodes

    def counts(self, n: FloatArray) -> FloatArray:
        """Return proportions of the answers at the nodes (resamples, nodes)."""
        nodes = np.empty((len(n), self.last + 1))
        # Here correct answers count as 1 and their confidence as 0, so that residuals become
        # counts.
        zero, none = np.zeros_like(self.values), np.zeros_like(n)
        self._fill(zero, n, none, nodes)
        return nodes

    def _fill(
        self, values: FloatArray, correct: FloatArray, wrong: FloatArray, nodes: FloatArray
    ) -> None:
        kernels.node_sums(values, self.beyond, self.node, self.stop, correct, wrong, nodes)

    def errors(self, nodes: FloatArray, sigma: float | None, start: float) -> FloatArray:
        """Return the error at a bandwidth, by default at the bandwidth that equals the error."""
        out = np.empty(len(nodes))
        kernels.smooth_errors(
            nodes, sigma or 0.0, start, self.finest, self.by_node, self.by_term, out
        )
        return np.minimum(out, 1.0)  # rounding on the grid may give values above 1

    def curves(self, nodes: FloatArray, sigma: float) -> FloatArray:
        """Return smoothed sums of each resample at the nodes (resamples, nodes)."""
        curves = np.empty_like(nodes)
        kernels.smooth_curves(nodes, sigma, self.by_node, self.by_term, curves)
        return curves


def smoothing_grid(values: FloatArray, sigma: float) -> SmoothingGrid:
    """Return nodes fine enough for a bandwidth."""
    # Shapes: values (groups,).
    hundreds = int(np.ceil(RESOLUTION / (sigma * (POINTS - 1))))
    last = min(hundreds * (POINTS - 1), MOST_NODES)
    position = values * last
    cell = np.minimum(position.astype(np.int64), last - 1)
    node, first = np.unique(cell, return_index=True)
    stop = np.append(first[1:], values.size)[: node.size].astype(np.int64)
    by_node, by_term = _cosines(last)
    return SmoothingGrid(values, position - cell, node, stop, last, by_node, by_term)


@lru_cache(maxsize=8)
def _cosines(last: int) -> tuple[Cosines, Cosines]:
    """Return cosines at the first half of the nodes, as (nodes, terms) and as (terms, nodes)."""
    angle = np.pi / last * np.outer(np.arange(last // 2 + 1), np.arange(last // 2))
    even, odd = (np.ascontiguousarray(np.cos(angle[:, start::2])) for start in (0, 1))
    return (even, odd), (np.ascontiguousarray(even.T), np.ascontiguousarray(odd.T))


_SMALLEST = 5e-4  # bandwidth


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SmoothCalibrationError(CalibrationError):
    """Smooth calibration error of every model, with its expectation under calibration.

    Examples
    --------
    >>> found = smooth_calibration_error([0.9] * 8 + [0.4] * 4, [1] * 6 + [0] * 5 + [1], rng=0)
    >>> found.value.value.round(3), found.curve.accuracy.shape
    (array([0.15]), (1, 101))
    """

    bandwidth: FloatArray  # (models,) bandwidth sigma; equal to the error by default
    curve: ReliabilityCurve


def smooth_calibration_error(
    confidence: ResponsesLike,
    correctness: ResponsesLike,
    *,
    sigma: float | None = None,
    n_null: int = 1000,
    clusters: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    bootstrap: Bootstrap | int = 2000,
    level: float = 0.95,
    rng: RandomState = None,
) -> SmoothCalibrationError:
    """Compute each model's smooth calibration error (smECE) and its expectation under calibration.

    Parameters
    ----------
    confidence, correctness : array_like (models, questions)
        Stated probability of being correct, and correctness (1, 0 or a value between 0 and 1).
    sigma : float, optional
        Bandwidth of the kernel on the scale of confidence. By default the bandwidth equals the
        error.
    n_null : int
        Number of data sets simulated for calibrated models.
    clusters : array_like (questions,), optional
        Cluster of each question, such as its passage; whole clusters are resampled.
    weights : array_like (questions,), optional
        Weight of each question.
    bootstrap : int or Bootstrap
        Number of resamples of questions. All models share the same resamples, so that differences
        between models are paired.
    level : float
        Coverage of the intervals, between 0 and 1.
    rng : Generator, int or None
        Random generator or seed.

    Returns
    -------
    SmoothCalibrationError
        For a model without answers, values are NaN, with a reason.

    Raises
    ------
    OptionError
        If an option is invalid or `sigma` is not inside (0.0005, 1).
    CodeError
        If a confidence or a correctness is outside [0, 1].
    ShapeError, LabelError
        If the tables or the clusters do not match in shape or labels.

    Examples
    --------
    >>> found = smooth_calibration_error([[0.6] * 10], [[1] * 8 + [0] * 2], n_null=200, rng=0)
    >>> found.value.value.round(3), found.bandwidth.round(3)
    (array([0.2]), array([0.2]))
    """
    answers = stated_answers(confidence, correctness, clusters=clusters, weights=weights)
    options = Resampling.of(bootstrap, level, rng)
    metric = _metric(sigma, curve=True)
    drawn, parts = assembled(metric, answers, options, n_null=n_null)
    errors = parts["value"].value
    return SmoothCalibrationError(
        **parts,
        bandwidth=errors.copy() if sigma is None else np.full(errors.size, sigma),
        curve=_curve(metric, drawn),
    )


def smooth_metric(sigma: float | None = None) -> Metric:
    """Return the metric of the smooth calibration error, as used by `calibration_panel`."""
    return _metric(sigma, curve=False)


def _metric(sigma: float | None, *, curve: bool) -> Metric:
    if sigma is not None:
        check_fraction("sigma", sigma, low=_SMALLEST)
    return Metric(
        names=("smECE" if sigma is None else f"smECE (sigma {sigma:g})",),
        prepare=partial(_shared, sigma=sigma, curve=curve),
        compute=_computed,
        flags=_flags,
        carried=N_SCALES + (2 * POINTS if curve else 0),
        bounds=_bounds,
        method=METHOD,
    )


def _bounds(value: FloatArray, draws: FloatArray, level: float) -> FloatArray:
    """Return the bounds (1, 2) of the error; columns of the curve are ignored."""
    last = 1 + N_SCALES
    return family_bounds(1, value[:last], draws[:, :last], level)


def _flags(tally: Tally) -> tuple[Reason, ...]:
    return (Reason.CONSTANT if tally.values.size == 1 else Reason.NONE,)


@dataclass(frozen=True, slots=True, eq=False)
class _Shared:
    """Quantities shared by the resamples of one model."""

    grid: SmoothingGrid
    sigma: float | None  # bandwidth that the caller requested
    start: float  # start of the search for the fixed point
    bandwidth: float  # bandwidth of the draws (1) and of the curve
    own: FloatArray  # (nodes,) smoothed residual of the sample
    shape: FloatArray  # (nodes,) smoothed residual, scaled so that the error is one
    scale: FloatArray  # (scales,)
    short: float  # factor that corrects the noise of resamples
    curve: bool


def _shared(tally: Tally, sigma: float | None, *, curve: bool) -> _Shared:
    correct, wrong = tally.correct[None], tally.wrong[None]
    n = float((correct + wrong).sum()) or 1.0
    expected = _expected_bandwidth(tally, n)
    squares = tally.correct * (1.0 - tally.values) ** 2 + tally.wrong * tally.values**2
    noise = float(np.sqrt(squares.sum())) / n
    if sigma is None and noise == 0.0:
        expected = 1.0  # all gaps are zero, also in resamples
    grid = smoothing_grid(tally.values, expected if sigma is None else sigma)
    value = float(grid.errors(grid.sums(correct, wrong), sigma, expected)[0])
    # The expected error is zero if all confidences are 0 or 1, so the observed error limits the
    # bandwidth. The grid need not be finer than the smallest error of a resample.
    needed = value if value < expected else max(expected, value / 64.0)
    if sigma is None and value > 0.0 and needed != expected:
        grid = smoothing_grid(tally.values, needed)
        value = float(grid.errors(grid.sums(correct, wrong), None, value)[0])
    value = value if np.isfinite(value) else 0.0
    bandwidth = sigma or max(value, grid.finest)
    own = grid.curves(grid.sums(correct, wrong), bandwidth)[0]
    return _Shared(
        grid=grid,
        sigma=sigma,
        start=max(value, grid.finest),
        bandwidth=bandwidth,
        own=own,
        # If all gaps are zero, their direction is undefined, so a constant gap is used.
        shape=own / value if value > 0.0 else np.ones_like(own),
        scale=scales(value, noise),
        short=short(tally),
        curve=curve,
    )


def _expected_bandwidth(tally: Tally, n: float) -> float:
    """Return the approximate smooth calibration error of a calibrated model."""
    # If confidences are uniformly distributed and an answer has variance v, s of (1) is about
    # (v / (pi^(3/2) sigma n))^(1/2). With few distinct confidences, s is at most the mean absolute
    # gap.
    counts = tally.correct + tally.wrong
    variance = counts * tally.values * (1.0 - tally.values)
    even = np.cbrt(variance.sum() / (np.pi**1.5 * n**2))
    apart = np.sqrt(2.0 / np.pi * variance).sum() / n
    return float(np.clip(min(even, apart), RESOLUTION / MOST_NODES, 1.0))


def _computed(shared: _Shared, correct: FloatArray, wrong: FloatArray) -> FloatArray:
    """Return each resample's error, the norms used for intervals, and the curve."""
    grid = shared.grid
    nodes = grid.sums(correct, wrong)
    curves = grid.curves(nodes, shared.bandwidth)
    along = np.empty((len(correct), shared.scale.size))
    sizes_along(shared.shape, shared.short * (curves - shared.own), shared.scale, along)
    errors = grid.errors(nodes, shared.sigma, shared.start)
    columns = [errors[:, None], along]
    if shared.curve:
        step = grid.last // (POINTS - 1)
        density = grid.curves(grid.counts(correct + wrong), shared.bandwidth)
        columns += [curves[:, ::step], density[:, ::step]]
    return np.concatenate(columns, axis=1)


def _curve(metric: Metric, drawn: Drawn) -> ReliabilityCurve:
    """Return the reliability curves, which are in the last columns of the metric."""
    columns = drawn.columns(metric)
    curves = slice(columns.stop - 2 * POINTS, columns.stop)
    bandwidth = np.array([metric.shared(tally).bandwidth for tally in drawn.tables])
    return reliability_curve(
        drawn.value[:, curves],
        drawn.draws[:, :, curves],
        near=2.0 * np.sqrt(np.pi) * bandwidth * drawn.answers.n,
        level=drawn.replicates.options.level,
        labels=drawn.answers.models,
    )


SMOOTH_ECE = smooth_metric().in_panel(
    "scores",
    8,
    Output(
        "smooth_ece",
        "smooth ECE",
        f"difference of confidence and accuracy, smoothed by a kernel as wide as the error; "
        f"{NOISY}",
        better="lower",
    ),
)
