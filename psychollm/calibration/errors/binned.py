r"""Binned calibration errors: gaps between accuracy and confidence within bins.

Let :math:`d_b` be the gap of bin b (accuracy minus mean confidence), and :math:`s_b` the bin's
proportion of the n answers. Equation (1) defines the four calibration errors over the B bins with
answers.

.. math:: \text{ECE} = \sum_b s_b |d_b|, \quad
          \text{RMSCE} = \Big(\sum_b s_b d_b^2\Big)^{1/2}, \quad
          \text{MCE} = \max_b |d_b|, \quad
          \text{ACE} = \frac1B \sum_b |d_b|.                                              \quad (1)

Each error is biased upwards, often severely, because noise increases absolute gaps. Every error is
therefore reported with its expectation under calibration (:math:`E_0`), a p-value, and two
corrected estimates.

The estimate `debiased` is the ECE, MCE or ACE minus :math:`E_0`. For the RMSCE, the variance of
each bin's accuracy is subtracted from the squared error, as in equation (2).

.. math:: \text{RMSCE}^2_d = \max\Big(0, \sum_{b: n_b \ge 2} s_b
          \Big(d_b^2 - \frac{a_b (1 - a_b)}{n_b - 1}\Big)\Big).                           \quad (2)

Bins with a single answer are omitted (Kumar, Liang & Ma). :math:`E_0` is the bias for a calibrated
model. For a miscalibrated model, noise increases some absolute gaps and decreases others, so that
the bias is smaller and ECE minus :math:`E_0` is too small.

The estimate `corrected` is the population error for which the error of the sample is the median
(`psychollm.calibration.errors.calibration_error`). The correction applies to well and to poorly
calibrated models. The interval of the corrected error covers the population error for the same
bins.

Coverage of the 95 % interval was simulated for calibrated models and for models with an ECE of
0.06 and 0.30. Confidence was continuous or had eleven or two distinct values. Coverage of the
interval for the ECE is 92 to 98 % with 200 and 1,000 questions and 90 to 97 % with 50 questions.
Coverage is lowest for strong miscalibration; for a calibrated model only the lower bound can be
wrong. Coverage is 96 to 100 % for the MCE, and for the RMSCE with 50 questions. The ECE of a
calibrated model is zero, but percentile bootstrap intervals never include zero. The population
values of ACE and MCE include rare bins, but the interval refers only to bins with answers in the
sample.

References
----------
Guo, C., Pleiss, G., Sun, Y., & Weinberger, K. Q. (2017). On calibration of modern neural networks.
International Conference on Machine Learning, PMLR 70, 1321-1330.

Kumar, A., Liang, P., & Ma, T. (2019). Verified uncertainty calibration. Advances in Neural
Information Processing Systems, 32.

Roelofs, R., Cain, N., Shlens, J., & Mozer, M. C. (2022). Mitigating bias in calibration error
estimation. PMLR 151, 4036-4054.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from psychollm._base.checks import check_choice
from psychollm._base.types import FloatArray, IntArray, RandomState
from psychollm.calibration.errors.bins import (
    SWEEP_LIMIT,
    BinKind,
    Binning,
    Bins,
    Closed,
    ReliabilityBins,
    bins_of,
    levels,
    reliability_bins,
)
from psychollm.calibration.errors.calibration_error import (
    METHOD,
    N_SCALES,
    CalibrationError,
    assembled,
    family_bounds,
    scales,
    short,
)
from psychollm.calibration.metric import NOISY, Metric, Output
from psychollm.calibration.stated import stated_answers
from psychollm.calibration.tally import Tally
from psychollm.data.responses import ResponsesLike
from psychollm.estimates.reasons import Reason
from psychollm.estimates.resampling import Bootstrap, Resampling
from psychollm.kernels import binned as kernels

Norm: TypeAlias = Literal["l1", "l2", "max", "average"]

_NAMES: dict[Norm, str] = {"l1": "ECE", "l2": "RMSCE", "max": "MCE", "average": "ACE"}
_KINDS: dict[Norm, int] = {
    "l1": kernels.MEAN,
    "l2": kernels.ROOT,
    "max": kernels.WORST,
    "average": kernels.LEVEL,
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BinnedCalibrationError(CalibrationError):
    """Binned calibration error of every model, with its expectation under calibration.

    Examples
    --------
    >>> found = calibration_error([0.9] * 8 + [0.4] * 4, [1] * 6 + [0] * 5 + [1], rng=0)
    >>> found.value.value.round(3), found.bins.to_frame().n.tolist()
    (array([0.15]), [4.0, 8.0])
    """

    bins: ReliabilityBins


def calibration_error(
    confidence: ResponsesLike,
    correctness: ResponsesLike,
    *,
    norm: Norm = "l1",
    bins: BinKind = "auto",
    n_bins: int = 15,
    closed: Closed = "right",
    n_null: int = 1000,
    clusters: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    bootstrap: Bootstrap | int = 2000,
    level: float = 0.95,
    rng: RandomState = None,
) -> BinnedCalibrationError:
    """Compute each model's binned calibration error, with its expectation under calibration.

    Parameters
    ----------
    confidence, correctness : array_like (models, questions)
        Stated probability of being correct, and correctness (1, 0 or a value between 0 and 1).
    norm : {"l1", "l2", "max", "average"}
        Norm of the gaps in equation (1): "l1" gives the ECE, "l2" the RMSCE, "max" the MCE and
        "average" the ACE.
    bins : {"auto", "width", "mass", "discrete", "sweep"}
        "auto" makes each distinct confidence a bin if a model states at most 20 values, and uses
        bins of equal width otherwise. "mass" makes bins with equal numbers of answers; ties are
        not split. "sweep" uses the largest number of mass bins, up to 100, for which accuracy
        increases with confidence (Roelofs et al.).
    n_bins : int
        Number of bins of equal width or mass.
    closed : {"right", "left"}
        Side on which bins are closed.
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
    BinnedCalibrationError
        The flag `ONE_BIN` marks a model with all answers in one bin. `SPARSE_BINS` marks a
        debiased RMSCE that omits bins with a single answer.

    Raises
    ------
    OptionError
        If an option is invalid.
    CodeError
        If a confidence or a correctness is outside [0, 1].
    ShapeError, LabelError
        If the tables or the clusters do not match in shape or labels.

    References
    ----------
    Roelofs, R., Cain, N., Shlens, J., & Mozer, M. C. (2022). Mitigating bias in calibration error
    estimation. Proceedings of the 25th International Conference on Artificial Intelligence and
    Statistics, PMLR 151, 4036-4054.

    Kumar, A., Liang, P., & Ma, T. (2019). Verified uncertainty calibration. Advances in Neural
    Information Processing Systems, 32.

    Examples
    --------
    >>> confidence, correct = [0.9] * 8 + [0.4] * 4, [1] * 6 + [0] * 5 + [1]
    >>> found = calibration_error(confidence, correct, n_null=200, bootstrap=200, rng=0)
    >>> found.expected.value.round(1), found.debiased.value.round(1)
    (array([0.1]), array([0.]))
    """
    answers = stated_answers(confidence, correctness, clusters=clusters, weights=weights)
    binning = Binning(kind=bins, n_bins=n_bins, closed=closed)
    metric = binned_metric(norm, bins=bins, n_bins=n_bins, closed=closed)
    options = Resampling.of(bootstrap, level, rng)
    drawn, parts = assembled(metric, answers, options, n_null=n_null)
    if norm == "l2":
        parts["debiased"] = replace(drawn.estimates(metric)[1], name=metric.names[1])
    table = reliability_bins(answers, drawn.tables, partial(_bins, binning=binning), level=level)
    return BinnedCalibrationError(**parts, bins=table)


def binned_metric(
    norm: Norm = "l1",
    *,
    bins: BinKind = "auto",
    n_bins: int = 15,
    closed: Closed = "right",
) -> Metric:
    """Return the metric of a binned calibration error, as used by `calibration_panel`."""
    check_choice("norm", norm, Norm)
    binning = Binning(kind=bins, n_bins=n_bins, closed=closed)
    name = "ECE sweep" if (norm, bins) == ("l1", "sweep") else _NAMES[norm]
    names = (name, f"debiased {name}") if norm == "l2" else (name,)
    return Metric(
        names=names,
        prepare=partial(_shared, binning=binning, norm=norm),
        compute=_computed,
        flags=partial(_flags, binning=binning, outputs=len(names)),
        carried=N_SCALES,
        bounds=partial(family_bounds, len(names)),
        method=METHOD,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Shared:
    """Quantities shared by the resamples of one model."""

    values: FloatArray  # (groups,)
    level: IntArray  # (groups,) ranks of the distinct confidences
    bins: Bins
    binning: Binning
    norm: Norm
    gap: FloatArray  # (bins,) sum of residuals in each bin, divided by n
    share: FloatArray  # (bins,)
    shape: FloatArray  # (bins,) gaps, scaled so that the error is one
    scale: FloatArray  # (scales,)
    short: float  # factor that corrects the noise of resamples


def _bins(tally: Tally, binning: Binning) -> Bins:
    """Return the bins of a tally; "sweep" returns the bins that it selects."""
    counts = tally.correct + tally.wrong
    if binning.kind != "sweep":
        return bins_of(tally.values, counts, binning)
    *_, used = _swept(tally.values, tally.correct[None], tally.wrong[None], binning)
    mass = Binning(kind="mass", n_bins=max(1, int(used[0])), closed=binning.closed)
    return bins_of(tally.values, counts, mass)


def _shared(tally: Tally, binning: Binning, norm: Norm) -> _Shared:
    bins = _bins(tally, binning)
    gap, size, _ = _sums(tally.values, bins, tally.correct[None], tally.wrong[None])
    n = float(size.sum()) or 1.0
    share = size[0] / n
    distance, square = gap[0] / size[0], _square_residuals(tally, bins) / size[0] ** 2
    value, strays = _norm(distance, share, norm), _strays(square, share, norm)
    # If all gaps are zero, their direction is undefined, so the direction of the noise is used.
    around = np.sqrt(square)
    noise = _norm(around, share, norm)
    shape = distance / value if value > 0.0 else around / noise if noise > 0.0 else around
    return _Shared(
        values=tally.values,
        level=levels(tally.values),
        bins=bins,
        binning=binning,
        norm=norm,
        gap=gap[0] / n,
        share=share,
        shape=shape,
        scale=scales(value, strays),
        short=short(tally),
    )


def _computed(shared: _Shared, correct: FloatArray, wrong: FloatArray) -> FloatArray:
    """Return the errors of resamples, debiased errors, and the norms for intervals.

    Debiased errors are returned only for the norm "l2".
    """
    gap, size, hits = _sums(shared.values, shared.bins, correct, wrong)
    outputs = 2 if shared.norm == "l2" else 1
    out = np.empty((len(correct), outputs + shared.scale.size))
    n = size.sum(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        noise = shared.short * (gap / n - shared.gap) / shared.share
    along = np.empty((len(correct), shared.scale.size))
    kind = _KINDS[shared.norm]
    kernels.norms_along(shared.shape, shared.share, noise, shared.scale, kind, along)
    if shared.binning.kind == "sweep":
        gap, size, hits, _ = _swept(shared.values, correct, wrong, shared.binning)
    kernels.norms(gap, size, kind, out[:, 0])
    if outputs == 2:
        kernels.debiased_squares(gap, size, hits, out[:, 1])
        out[:, 1] = np.sqrt(np.maximum(out[:, 1], 0.0))
    out[:, outputs:] = along
    return out


def _sums(
    values: FloatArray, bins: Bins, correct: FloatArray, wrong: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return sums of gaps, numbers of answers and of correct answers by bin (resamples, bins)."""
    gap, size, hits = (np.empty((len(correct), bins.size)) for _ in range(3))
    kernels.bin_gaps(values, bins.stop, correct, wrong, gap, size, hits)
    return gap, size, hits


def _swept(
    values: FloatArray, correct: FloatArray, wrong: FloatArray, binning: Binning
) -> tuple[FloatArray, FloatArray, FloatArray, IntArray]:
    """Return the sums of `_sums` for the bins selected by "sweep", and the number of bins."""
    sums = np.empty((3, len(correct), SWEEP_LIMIT))
    used = np.empty(len(correct), dtype=np.int64)
    kernels.swept_gaps(values, levels(values), correct, wrong, binning.left, sums, used)
    return sums[0], sums[1], sums[2], used


def _square_residuals(tally: Tally, bins: Bins) -> FloatArray:
    """Return the sum of squared residuals in each bin (bins,)."""
    squares = tally.correct * (1.0 - tally.values) ** 2 + tally.wrong * tally.values**2
    return np.asarray(np.bincount(bins.index, squares, minlength=bins.size), dtype=np.float64)


def _norm(distance: FloatArray, share: FloatArray, norm: Norm) -> float:
    """Return one of the norms in equation (1), from the gaps of the bins (bins,)."""
    if not distance.size:
        return 0.0
    off = np.abs(distance)
    if norm == "l1":
        return float(share @ off)
    if norm == "l2":
        return float(np.sqrt(share @ off**2))
    return float(off.max() if norm == "max" else off.mean())


def _strays(square: FloatArray, share: FloatArray, norm: Norm) -> float:
    """Return the increase in error caused by noise, from mean squared gaps (bins,)."""
    if not square.size:
        return 0.0
    if norm == "max":
        return float(np.sqrt(square.max()))
    return float(np.sqrt(share @ square if norm == "l2" else share**2 @ square))


def _flags(tally: Tally, binning: Binning, outputs: int) -> tuple[Reason, ...]:
    bins = _bins(tally, binning)
    one = Reason.ONE_BIN if bins.size == 1 else Reason.NONE
    size = np.bincount(bins.index, tally.correct + tally.wrong, minlength=bins.size)
    sparse = Reason.SPARSE_BINS if (size < 2.0).any() else one
    return (one, sparse)[:outputs]


ECE = binned_metric().in_panel(
    "scores",
    6,
    Output(
        "ece",
        "ECE",
        f"mean absolute difference between confidence and accuracy over bins; {NOISY}",
        better="lower",
        digits=3,
        listed=False,
    ),
)
MCE = binned_metric("max")
RMSCE = binned_metric("l2").in_panel(
    "scores",
    7,
    Output(
        "rmsce",
        "RMSCE",
        f"root mean square difference between confidence and accuracy over bins; {NOISY}",
        better="lower",
        listed=False,
    ),
    Output("rmsce_debiased", "debiased RMSCE", "RMSCE with its noise subtracted", better="lower"),
)
ACE = binned_metric("average")
ECE_SWEEP = binned_metric(bins="sweep")
