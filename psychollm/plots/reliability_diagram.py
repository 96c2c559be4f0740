"""What a reliability diagram shows of one model, taken from any result that holds one."""

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from psychollm._base.errors import OptionError
from psychollm._base.numbers import number, p_equals
from psychollm._base.types import FloatArray
from psychollm.calibration.errors.binned import BinnedCalibrationError
from psychollm.calibration.errors.calibration_error import CalibrationError
from psychollm.calibration.errors.smooth import SmoothCalibrationError
from psychollm.calibration.scores.corp import Corp

Reliability: TypeAlias = Corp | BinnedCalibrationError | SmoothCalibrationError
Band: TypeAlias = Literal["consistency", "confidence", "both", "none"]

# More points than a curve of this size can show only make files large.
_MOST_POINTS = 200
_MOST_SPIKES = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagram:
    """One model's curve, bands, points and stated confidences."""

    label: Any
    curve: FloatArray  # (points, 2) stated confidence and share correct
    observed: FloatArray  # (groups, 3) confidence, share correct, answers; may be empty
    bars: FloatArray  # (groups, 2) bounds of `observed`; may be empty
    consistency: FloatArray  # (points, 3) confidence and bounds around the diagonal
    confidence: FloatArray  # (points, 3) confidence and bounds around the curve
    counts: FloatArray  # (bars, 3) left and right edge and height of the histogram
    lines: tuple[str, ...]  # what is said below the name
    n: float
    reason: str  # why there is nothing to draw


def diagram_of(result: Reliability, label: Any, error: CalibrationError | None) -> Diagram:
    """Return what to draw of one model."""
    if isinstance(result, Corp):
        return _of_corp(result, label, error)
    if isinstance(result, BinnedCalibrationError):
        return _of_bins(result, label)
    if isinstance(result, SmoothCalibrationError):
        return _of_smooth(result, label)
    msg = (
        f"a {type(result).__name__} holds no reliability diagram: pass what corp, "
        "calibration_error or smooth_calibration_error returns"
    )
    raise OptionError(msg)


def _of_corp(result: Corp, label: Any, error: CalibrationError | None) -> Diagram:
    place = result.miscalibration.place(label)
    curve = result.curves[place]
    kept = _thinned(curve.confidence.size)
    x = curve.confidence[kept, None]
    few = curve.confidence.size <= _MOST_SPIKES
    observed = np.column_stack([curve.confidence, curve.observed, curve.n])
    lines = [_parts_line(result, place)]
    if error is not None:
        lines.append(_error_line(error, error.value.place(label)))
    return Diagram(
        label=label,
        curve=np.column_stack([x, curve.recalibrated[kept]]),
        observed=observed if few else np.empty((0, 3)),
        bars=np.empty((0, 2)),
        consistency=np.column_stack([x, curve.consistency_band[kept]]),
        confidence=np.column_stack([x, curve.confidence_band[kept]]),
        counts=_histogram(curve.confidence, curve.n),
        lines=tuple(lines),
        n=float(curve.n.sum()),
        reason="" if curve.confidence.size else str(result.mean_score.flags[place]),
    )


def _of_bins(result: BinnedCalibrationError, label: Any) -> Diagram:
    place = result.value.place(label)
    bins = result.bins
    here = bins.model == place
    n, nothing = bins.n[here], np.empty((0, 3))
    x, accuracy = bins.confidence[here], bins.accuracy[here]
    return Diagram(
        label=label,
        curve=np.column_stack([x, accuracy]),
        observed=np.column_stack([x, accuracy, n]),
        bars=bins.interval[here],
        consistency=nothing,
        confidence=nothing,
        counts=_wide(bins.lower[here], bins.upper[here], n),
        lines=(_error_line(result, place),),
        n=float(n.sum()),
        reason="" if here.any() else str(result.value.flags[place]),
    )


def _of_smooth(result: SmoothCalibrationError, label: Any) -> Diagram:
    place = result.value.place(label)
    curve, nothing = result.curve, np.empty((0, 3))
    x, accuracy = curve.confidence, curve.accuracy[place]
    known = bool(np.isfinite(accuracy).any())
    step = 0.5 * float(x[1] - x[0])
    return Diagram(
        label=label,
        curve=np.column_stack([x, accuracy]),
        observed=nothing,
        bars=np.empty((0, 2)),
        consistency=nothing,
        confidence=np.column_stack([x, curve.interval[place]]),
        counts=np.column_stack([x - step, x + step, curve.density[place]]),
        lines=(_error_line(result, place),),
        n=float(result.value.n[place]),
        reason="" if known else str(result.value.flags[place]),
    )


def _thinned(size: int) -> Any:
    """Return places of at most so many points, the first and the last among them."""
    return np.unique(np.linspace(0, max(size - 1, 0), min(size, _MOST_POINTS)).round().astype(int))


def _histogram(values: FloatArray, n: FloatArray) -> FloatArray:
    """Return a spike per stated confidence where there are few, counts in bins otherwise."""
    if values.size <= _MOST_SPIKES:
        return _wide(values, values, n)
    height, edges = np.histogram(values, bins=_MOST_SPIKES, range=(0.0, 1.0), weights=n)
    return np.column_stack([edges[:-1], edges[1:], height])


def _wide(lower: FloatArray, upper: FloatArray, n: FloatArray) -> FloatArray:
    """Give bars without width one that can be seen."""
    half = np.where(upper > lower, 0.0, 0.008)
    return np.column_stack([lower - half, upper + half, n])


def _parts_line(result: Corp, place: int) -> str:
    if not result.miscalibration.defined[place]:
        return "MCB and DSC undefined"
    return (
        f"MCB {number(result.miscalibration.value[place], 3)} "
        f"({p_equals(result.p_value.value[place])}) · "
        f"DSC {number(result.discrimination.value[place], 3)}"
    )


def _error_line(error: CalibrationError, place: int) -> str:
    if not error.value.defined[place]:
        return f"{error.value.name} undefined"
    return (
        f"{error.value.name} {number(error.value.value[place], 3)}, "
        f"{number(error.expected.value[place], 3)} if calibrated "
        f"({p_equals(error.p_value.value[place])})"
    )
