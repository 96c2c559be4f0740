r"""Bins of stated confidence: equal width, equal mass, or one bin for each distinct value.

*Width*: Bin b of B contains :math:`((b-1)/B, b/B]` if bins are closed on the right (the default),
and 0 belongs to the first bin. Bin b contains :math:`[(b-1)/B, b/B)` if bins are closed on the
left, and 1 belongs to the last bin.

*Mass*: Answers are sorted by confidence. An answer that is preceded by a proportion p of all
answers belongs to bin :math:`\lfloor B p \rfloor + 1`. Ties are never split: all tied answers
belong to the bin of the first tied answer (closed right) or of the last tied answer (closed left).
An edge between two bins is halfway between the neighbouring confidences.

*Discrete*: Each distinct confidence has its own bin.

Floating-point numbers are inexact: 0.1 + 0.2 differs from 0.3, and 0.3 in single precision differs
from 0.3 in double precision. Confidences that differ by less than :math:`10^{-7}` therefore count
as equal. A confidence within :math:`10^{-7}` of a bin edge counts as equal to the edge.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import check_choice, hold_counts
from psychollm._base.result import Result
from psychollm._base.types import FloatArray, IntArray
from psychollm.calibration.stated import StatedAnswers
from psychollm.calibration.tally import Tally
from psychollm.estimates.intervals import wilson

BinKind: TypeAlias = Literal["auto", "width", "mass", "discrete", "sweep"]
Closed: TypeAlias = Literal["right", "left"]

SAME = 1e-7
DISCRETE_LIMIT = 20  # largest number of distinct confidences that "auto" uses as bins
SWEEP_LIMIT = 100  # largest number of bins of "sweep"
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Binning:
    """Options of binning."""

    kind: BinKind = "auto"
    n_bins: int = 15
    closed: Closed = "right"

    def __post_init__(self) -> None:
        check_choice("bins", self.kind, BinKind)
        check_choice("closed", self.closed, Closed)
        hold_counts(self, "n_bins")

    @property
    def left(self) -> bool:
        """Whether bins are closed on the left."""
        return self.closed == "left"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Bins:
    """The non-empty bins of one model."""

    index: IntArray  # (groups,) bin of each distinct confidence
    edges: FloatArray  # (bins, 2)
    kind: str  # kind of the bins: width, mass or discrete

    @property
    def size(self) -> int:
        """Number of bins."""
        return len(self.edges)

    @property
    def stop(self) -> IntArray:
        """Index of the first group after each bin (bins,)."""
        return np.bincount(self.index, minlength=self.size).cumsum().astype(np.int64)


def bins_of(values: FloatArray, counts: FloatArray, binning: Binning) -> Bins:
    """Assign the distinct confidences of one model to bins; empty bins are omitted."""
    # Shapes: values (groups,); counts (groups,).
    level = levels(values)
    kind = binning.kind
    if kind == "auto":
        kind = "discrete" if level.size == 0 or level[-1] < DISCRETE_LIMIT else "width"
    if kind == "discrete":
        return Bins(index=level, edges=_spans(values, level), kind=kind)
    if kind == "width":
        bin_of = _by_width(values, binning)
        edges = np.stack([bin_of, bin_of + 1], axis=1) / binning.n_bins
    else:
        bin_of = mass_index(level, counts, binning.n_bins, left=binning.left)
        edges = _halfway(values, bin_of)
    _, first, index = np.unique(bin_of, return_index=True, return_inverse=True)
    return Bins(index=index.astype(np.int64), edges=edges[first], kind=kind)


def levels(values: FloatArray) -> IntArray:
    """Return ranks (from zero) of sorted confidences; values equal up to rounding are tied."""
    return (
        np.concatenate([np.zeros(min(1, values.size)), np.diff(values) > SAME])
        .cumsum()
        .astype(np.int64)
    )


def mass_index(level: IntArray, counts: FloatArray, n_bins: int, *, left: bool) -> IntArray:
    """Return the equal-mass bin of each group (groups,); equal confidences share a bin."""
    through = np.cumsum(np.bincount(level, counts))
    before = np.concatenate([[0.0], through[:-1]])
    # Sums of whole counts are exact, but sums of weights have rounding errors. The tolerance
    # prevents these errors from moving an edge.
    position = n_bins * (through if left else before) / through[-1:]
    index = np.ceil(position - _ROUNDING) - 1 if left else np.floor(position + _ROUNDING)
    index = np.clip(index, 0, n_bins - 1)
    return np.asarray(index[level], dtype=np.int64)


def _by_width(values: FloatArray, binning: Binning) -> IntArray:
    """Return the bin of equal width of each confidence, from zero."""
    position = values * binning.n_bins
    nearest = np.rint(position)
    on_edge = np.abs(position - nearest) <= SAME * binning.n_bins
    inside = np.floor(position)
    index = np.where(on_edge, nearest if binning.left else nearest - 1, inside)
    return np.clip(index, 0, binning.n_bins - 1).astype(np.int64)


def _spans(values: FloatArray, level: IntArray) -> FloatArray:
    """Return the lowest and the highest confidence of each level (levels, 2)."""
    starts = np.flatnonzero(np.diff(level, prepend=-1))
    ends = np.flatnonzero(np.diff(level, append=level[-1] + 1 if level.size else 0))
    return np.stack([values[starts], values[ends]], axis=1)


def _halfway(values: FloatArray, index: IntArray) -> FloatArray:
    """Return edges (groups, 2) halfway between the confidences of neighbouring bins."""
    cuts = np.flatnonzero(np.diff(index))
    middle = 0.5 * (values[cuts] + values[cuts + 1])
    lower, upper = np.concatenate([[0.0], middle]), np.concatenate([middle, [1.0]])
    cut = np.searchsorted(cuts, np.arange(index.size), side="left")
    return np.stack([lower[cut], upper[cut]], axis=1)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReliabilityBins(Result):
    """Non-empty bins of all models, one row per model and bin.

    Examples
    --------
    >>> from psychollm.calibration.errors.binned import calibration_error
    >>> table = calibration_error([[0.9, 0.9, 0.2]], [[1, 0, 0]], rng=0).bins
    >>> table.confidence, table.accuracy, table.n
    (array([0.2, 0.9]), array([0. , 0.5]), array([1., 2.]))
    """

    model: IntArray  # (rows,) index in `labels`
    lower: FloatArray  # (rows,) lower edge; equal to `upper` for a single confidence
    upper: FloatArray  # (rows,)
    confidence: FloatArray  # (rows,) mean confidence
    accuracy: FloatArray  # (rows,) proportion of correct answers
    n: FloatArray  # (rows,) weighted number of answers
    interval: FloatArray  # (rows, 2) Wilson interval of accuracy
    level: float
    labels: tuple[Any, ...]  # (models,)

    _AXES = Axes(
        {},
        ("model", lambda bins: [bins.labels[row] for row in bins.model]),
        "lower",
        "upper",
        "confidence",
        "accuracy",
        "n",
        "accuracy_{bound}=interval",
    )


def reliability_bins(
    answers: StatedAnswers,
    tables: Sequence[Tally],
    binned: Callable[[Tally], Bins],
    *,
    level: float,
) -> ReliabilityBins:
    """Return the bins of every model."""
    # The Wilson intervals use the effective number of independent answers, which is smaller with
    # unequal weights or clusters.
    rows = [_rows(tally, binned(tally), level) for tally in tables]
    names = ("lower", "upper", "confidence", "accuracy", "n", "interval")
    columns = {name: np.concatenate([part[i] for part in rows]) for i, name in enumerate(names)}
    model = np.repeat(np.arange(len(tables)), [len(part[0]) for part in rows])
    return ReliabilityBins(model=model, **columns, level=level, labels=answers.models)


def _rows(tally: Tally, bins: Bins, level: float) -> tuple[FloatArray, ...]:
    """Return the columns of one model's bins."""
    counts = tally.correct + tally.wrong

    def sums(of_groups: FloatArray) -> FloatArray:
        total = np.bincount(bins.index, of_groups, minlength=bins.size)
        return np.asarray(total, dtype=np.float64)

    n = sums(counts)
    accuracy = sums(tally.correct) / n
    confidence = sums(tally.values * counts) / n
    free = _independent(tally, bins, accuracy)
    interval = wilson(accuracy * free, free, level=level)
    return bins.edges[:, 0], bins.edges[:, 1], confidence, accuracy, n, interval


def _independent(tally: Tally, bins: Bins, accuracy: FloatArray) -> FloatArray:
    """Return the effective number of independent answers in each bin (bins,)."""
    # With weights, this is Kish's effective size. With clusters, it is the size implied by the
    # variance between clusters, limited to the range from one to the number of answers. If this
    # variance is zero, the effective number is the number of clusters.
    own_bin = bins.index[tally.group]
    weight = np.bincount(own_bin, tally.weight, minlength=bins.size)
    worth = weight**2 / np.bincount(own_bin, tally.weight**2, minlength=bins.size)
    if tally.cluster is None:
        return worth
    pair, inside = np.unique(np.stack([own_bin, tally.cluster]), axis=1, return_inverse=True)
    residual = np.bincount(inside.ravel(), tally.weight * (tally.right - accuracy[own_bin]))
    variance = np.bincount(pair[0], residual**2, minlength=bins.size) / weight**2
    clusters = np.bincount(pair[0], minlength=bins.size).astype(np.float64)
    spread = accuracy * (1.0 - accuracy)
    with np.errstate(invalid="ignore", divide="ignore"):
        alike = np.where(variance > 1e-12, spread / variance, clusters)
    return np.clip(alike, 1.0, worth)
