r"""Shared inference for binned and smooth calibration errors.

A calibration error is a norm of gaps between accuracy and confidence. Noise increases every norm.
On average, the error of a sample therefore exceeds the error of the population. Likewise, the
error of a resample exceeds the error of the sample, because resampling adds further noise.
Percentiles of resamples therefore do not cover the population value. The lack of coverage is most
evident for well-calibrated models, because the percentiles never reach zero.

Resamples do, however, estimate the noise. Assume that the gaps of the population are proportional
to the gaps of the sample, :math:`\theta c` with :math:`\|c\| = 1`. Let :math:`e^*` be the
differences between a resample's gaps and the sample's gaps. The norm, equation (1), then has the
distribution of the error of a sample from a population with error :math:`\theta`.

.. math:: T^*(\theta) = \|\theta c + e^*\|.                                               \quad (1)

A calibrated model has :math:`\theta = 0`. If :math:`\theta` is equal to the error of the sample,
equation (1) is the ordinary bootstrap. The interval contains every :math:`\theta` for which the
error T of the sample is between the quantiles :math:`\alpha/2` and :math:`1 - \alpha/2` of
equation (1). The lower bound is zero if T does not exceed the noise. The :math:`\theta` for which
T is the median of equation (1) is the *corrected* error, which is median-unbiased.

If a sample has smaller gaps than expected under calibration, the interval could be empty or
contain only zero. The upper bound is therefore never below the upper bound of a hypothetical
sample whose error equals the mean under calibration. The power-constrained limits of Cowan et al.
follow a similar rule.

Comparisons require draws of the corrected error. The draws are points of the confidence
distribution of the corrected error. Let u be the relative rank of a resample's error. The draw for
this resample is the error :math:`\theta` for which a proportion u of samples has a larger error
than the observed sample. The percentiles of the draws form the interval, and the draws preserve
the correlation between models.

Coverage is approximate because the direction c is estimated.

References
----------
Cowan, G., Cranmer, K., Gross, E., & Vitells, O. (2011). Power-constrained limits. arXiv:1105.3166.
"""

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import DRAWS, check_count, check_generator
from psychollm._base.numbers import p_equals
from psychollm._base.ranks import midranks
from psychollm._base.result import Result
from psychollm._base.types import FloatArray
from psychollm.calibration.errors.under_calibration import under_calibration
from psychollm.calibration.influence import cluster_shares
from psychollm.calibration.metric import Drawn, Metric, draw
from psychollm.calibration.stated import StatedAnswers
from psychollm.calibration.tally import Tally
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.reasons import Reason
from psychollm.estimates.resampling import Resampling

METHOD = "inverted bootstrap"

N_SCALES = 16


def scales(value: float, noise: float) -> FloatArray:
    """Return a grid of population errors, denser near zero, where the norm is most curved."""
    # The grid extends four noise SDs beyond the value.
    top = value + 4.0 * noise
    return np.asarray(np.linspace(0.0, 1.0, N_SCALES) ** 1.5 * top)


def short(tally: Tally) -> float:
    r"""Return the correction factor for the noise in resamples, :math:`\sqrt{n / (n - 3)}`."""
    # Resamples of n answers have the variance of the sample, which is (n - 1) / n times that of
    # the population. The t distribution with n - 1 degrees of freedom has variance (n - 1) / (n -
    # 3). For clusters, only the first factor is used, because the percentile levels already allow
    # for the tails (`estimates.clustered`).
    if tally.cluster is None:
        return float(np.sqrt(1.0 + 3.0 / max(tally.n - 3.0, 1.0)))
    varied = 1.0 - float((cluster_shares(tally) ** 2).sum())
    return float(1.0 / np.sqrt(varied)) if varied > 0.0 else 1.0


def inverted(value: float, scale: FloatArray, draws: FloatArray, level: float) -> FloatArray:
    """Return lower bound, corrected error and upper bound of a calibration error."""
    # The draws (resamples, scales) are the errors (1), with one column per value of theta. Rows of
    # NaN are ignored.
    tail = 0.5 * (1.0 - level)
    return confidence_points(value, scale, draws, np.array([tail, 0.5, 1.0 - tail]))


def confidence_points(
    value: float, scale: FloatArray, draws: FloatArray, shares: FloatArray
) -> FloatArray:
    """Return population errors at which given proportions of samples have errors above `value`."""
    # The result is a non-decreasing function of the proportions; it is NaN if there are no values
    # or no draws. Shapes: shares (n,); returns (n,).
    ordered = np.sort(draws[np.isfinite(draws).all(axis=1)], axis=0)
    if not np.isfinite(value) or len(ordered) < 2:
        return np.full(shares.size, np.nan)
    if not scale[-1] > 0.0:  # all gaps are zero in all resamples
        return np.zeros(shares.size)
    position = (1.0 - shares) * (len(ordered) - 1)
    before = np.minimum(position.astype(np.int64), len(ordered) - 2)
    beyond = (position - before)[:, None]
    curves = (1.0 - beyond) * ordered[before] + beyond * ordered[before + 1]
    at_least = max(value, float(ordered[:, 0].mean()))
    points = _last_below(scale, curves, np.where(shares > 0.5, at_least, value))
    return np.minimum(points, 1.0)  # no gap can exceed 1


def family_bounds(outputs: int, value: FloatArray, draws: FloatArray, level: float) -> FloatArray:
    """Return the bounds of a metric's outputs (outputs, 2) from its auxiliary columns."""
    # All outputs estimate the error in the first column. In the sample, the carried columns hold
    # the grid of theta.
    lower, _, upper = inverted(float(value[0]), value[outputs:], draws[:, outputs:], level)
    return np.tile([lower, upper], (outputs, 1))


def _last_below(x: FloatArray, curves: FloatArray, level: FloatArray) -> FloatArray:
    """Return the largest x at which each curve (n, points) does not exceed a level."""
    # Beyond the last point, the curves are extended with slope one.
    below = curves <= level[:, None]
    last = x.size - 1
    here = last - np.argmax(below[:, ::-1], axis=1)
    after = np.minimum(here + 1, last)
    row = np.arange(len(curves))
    rest = level - curves[row, here]
    rise = np.where(here < last, curves[row, after] - curves[row, here], 1.0)
    step = np.where(here < last, x[after] - x[here], 1.0)
    return np.where(below.any(axis=1), x[here] + step * rest / rise, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CalibrationError(Result):
    """Calibration error of each model, with its expectation under calibration."""

    # `value`, `debiased` and `corrected` share one interval, which covers the error in the
    # population. Because `value` is biased upwards, it may be above the interval; the flag
    # `OUTSIDE` marks such values. Models should be compared by `corrected.difference`, because the
    # bias cancels in differences of `value` only if the two errors are equal.

    value: Estimate  # the error of the sample
    expected: Estimate  # mean error under calibration, with range of simulated values
    p_value: Estimate  # p-value for the null hypothesis of calibration, by simulation
    debiased: Estimate  # error minus `expected`; for the RMSCE, Kumar's estimate
    corrected: Estimate  # median-unbiased error

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
        """Return a summary with one sentence per model."""
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
            f"{label}: {name} {value:.3f}; expected under calibration {expected:.3f} "
            f"({p_equals(p_value)}). Corrected {corrected:.3f}, {share} {lower:.3f} to "
            f"{upper:.3f}."
        )


def assembled(
    metric: Metric, answers: StatedAnswers, options: Resampling, *, n_null: int
) -> tuple[Drawn, dict[str, Any]]:
    """Return resamples of a calibration error, and the fields of the result by name."""
    # Resamples have a different bias from the sample. The resamples of `debiased` are therefore
    # those of the error, shifted to the debiased value. The resamples of `corrected` are points of
    # its confidence distribution. The metric's first output is the error, with bounds from
    # `family_bounds`.
    n_null = check_count("n_null", n_null, low=2, high=DRAWS)
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
    """Update the flag that marks estimates outside their interval."""
    flags = tuple(Reason.NONE if flag is Reason.OUTSIDE else flag for flag in estimate.flags)
    return replace(estimate, flags=flags).qualified()


def _moved(estimate: Estimate, name: str, value: FloatArray) -> Estimate:
    """Return an estimate with another value and the resamples centred on this value."""
    draws = estimate.draws
    known = np.isfinite(draws)
    n = np.maximum(known.sum(axis=0), 1)
    centre = np.where(known, draws, 0.0).sum(axis=0) / n
    moved = replace(estimate, name=name, value=value, _draws=draws - centre + value)
    return _again_qualified(moved)
