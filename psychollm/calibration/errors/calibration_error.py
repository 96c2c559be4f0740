"""What binned and smooth calibration errors share: the error, its noise, and the two apart."""

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import check_count, check_generator
from psychollm._base.numbers import p_equals
from psychollm._base.result import Result
from psychollm._base.types import FloatArray
from psychollm.calibration.discrimination.ranking import midranks
from psychollm.calibration.errors.error_interval import N_SCALES, confidence_points
from psychollm.calibration.errors.under_calibration import under_calibration
from psychollm.calibration.metric import Drawn, Metric, draw
from psychollm.calibration.stated import StatedAnswers
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.reasons import Reason
from psychollm.estimates.resampling import Resampling


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CalibrationError(Result):
    """A calibration error of every model, beside what noise alone would give."""

    # The intervals of `value`, `debiased` and `corrected` are the same: they are about the error
    # in the population, and may lie below `value`, which is biased upward; that is flagged
    # `OUTSIDE`. To compare models use `corrected.difference`: the noise in two errors cancels only
    # where they are equal.

    value: Estimate  # the error of the sample
    expected: Estimate  # its mean if the model were calibrated, and the range of its values
    p_value: Estimate  # of calibration: share of calibrated data sets with a larger error
    debiased: Estimate  # error less that mean; of the RMSCE, Kumar's estimate
    corrected: Estimate  # the error under which this sample is the median one

    def _axes(self) -> Axes:
        return Axes(
            {self.value.axis: "value.labels"},
            "value=value.value",
            "expected=expected.value",
            "p_value=p_value.value",
            "debiased=debiased.value",
            "corrected=corrected.value",
            "{bound}=corrected.interval",
            "n=value.n",
            "flag=value.flags",
        )

    def summary(self) -> str:
        """Return one sentence per model."""
        names = [field.name for field in fields(CalibrationError)]
        rows = zip(*(getattr(self, name).value for name in names), strict=True)
        return "\n".join(self._sentence(row, *values) for row, values in enumerate(rows))

    def _sentence(
        self,
        row: int,
        value: float,
        expected: float,
        p_value: float,
        _: float,
        corrected: float,
    ) -> str:
        label, name = self.value.labels[row], self.value.name
        if not np.isfinite(value):
            return f"{label}: {name} undefined, {self.value.flags[row]}."
        lower, upper = self.corrected.interval[row]
        share = f"{100 * self.value.level:g} % interval"
        return (
            f"{label}: {name} {value:.3f}; a calibrated model would show {expected:.3f} "
            f"({p_equals(p_value)}). Without noise {corrected:.3f}, {share} {lower:.3f} to "
            f"{upper:.3f}."
        )


def assembled(
    metric: Metric, answers: StatedAnswers, options: Resampling, *, n_null: int
) -> tuple[Drawn, dict[str, Any]]:
    """Return resamples of a calibration error, and the fields above by name."""
    # Resamples of `debiased` are those of the error moved to its value, since their bias is
    # another one than that of the sample; those of `corrected` are points of its confidence
    # distribution.
    # The metric's first output is the error; its bounds are those of `family_bounds`.
    check_count("n_null", n_null, low=2)
    options = replace(options, rng=check_generator(options.rng))
    drawn = draw([metric], answers, options)
    expected, p_value = under_calibration([metric], answers, replace(options, n=n_null))[0]
    value = drawn.estimates(metric)[0]
    parts = {
        "value": value,
        "expected": expected,
        "p_value": p_value,
        "debiased": _moved(value, f"debiased {value.name}", value.value - expected.value),
        "corrected": _corrected(metric, drawn, value),
    }
    return drawn, parts


def _corrected(metric: Metric, drawn: Drawn, value: Estimate) -> Estimate:
    """Return the corrected error of each model, with draws from its confidence distribution."""
    start = drawn.columns(metric).start + len(metric.names)
    columns = slice(start, start + N_SCALES)
    error_of, draws = np.full(value.value.size, np.nan), np.full(value.draws.shape, np.nan)
    for row in np.flatnonzero(value.defined):
        scale, family = drawn.value[row, columns], drawn.draws[:, row, columns]
        known = np.isfinite(value.draws[:, row])
        shares = (midranks(value.draws[known, row]) - 0.5) / max(known.sum(), 1)
        error = float(value.value[row])
        points = confidence_points(error, scale, family, np.append(shares, 0.5))
        error_of[row], draws[known, row] = points[-1], points[:-1]
    several = np.isfinite(value.se)
    se = np.full(error_of.size, np.nan)
    se[several] = np.nanstd(draws[:, several], axis=0, ddof=1)
    corrected = replace(value, name=f"corrected {value.name}", value=error_of, se=se, _draws=draws)
    return _again_qualified(corrected)


def _again_qualified(estimate: Estimate) -> Estimate:
    """Say where another value lies outside the interval that it took over."""
    flags = tuple(Reason.NONE if flag is Reason.OUTSIDE else flag for flag in estimate.flags)
    return replace(estimate, flags=flags).qualified()


def _moved(estimate: Estimate, name: str, value: FloatArray) -> Estimate:
    """Return an estimate with another value, and resamples centred there."""
    draws = estimate.draws
    known = np.isfinite(draws)
    n = np.maximum(known.sum(axis=0), 1)
    centre = np.where(known, draws, 0.0).sum(axis=0) / n
    moved = replace(estimate, name=name, value=value, _draws=draws - centre + value)
    return _again_qualified(moved)
