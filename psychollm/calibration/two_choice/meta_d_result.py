"""Meta-d' of every model as estimates with standard errors, intervals and flags."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.convergence import Convergence
from psychollm._base.result import Result
from psychollm._base.types import FloatArray
from psychollm.calibration.two_choice.meta_d_fit import OUTPUTS, TYPE_1, Fits
from psychollm.data.labels import Labels
from psychollm.estimates.clustered import Units
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.proportions import normal_multiplier
from psychollm.estimates.reasons import Reason
from psychollm.estimates.resampling import bootstrap_estimate
from psychollm.kernels import meta_d as kernel

if TYPE_CHECKING:
    import pandas as pd

_FIELDS = ("d_prime", "criterion", "meta_d", "m_ratio", "m_diff", "log_m_ratio", "meta_c")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MetaD(Result):
    """Meta-d' of every model and what it was computed from.

    Arrays over responses hold response 0 first. Criteria lie on the axis of evidence and increase;
    rates run over "rated above 1", "above 2", and so on.

    Examples
    --------
    >>> from psychollm.calibration.two_choice.meta_d import meta_d_from_counts
    >>> found = meta_d_from_counts([50, 30, 20, 10], [10, 15, 30, 60], bootstrap=0)
    >>> found.m_ratio.value.round(3), found.meta_d.se.round(3)
    (array([0.885]), array([0.316]))
    """

    d_prime: Estimate  # sensitivity of the answers, z(hit rate) - z(false-alarm rate)
    criterion: Estimate  # c = -(z(hit rate) + z(false-alarm rate)) / 2
    meta_d: Estimate  # sensitivity that the ratings imply
    m_ratio: Estimate  # meta-d' / d'
    m_diff: Estimate  # meta-d' - d'
    log_m_ratio: Estimate  # natural logarithm of the M-ratio, undefined where it is not positive
    meta_c: Estimate  # criterion of the answers as the ratings see it
    criteria: FloatArray  # (models, 2 responses, ratings - 1) of the ratings
    hit_rates: FloatArray  # (models, 2, ratings - 1) P(rated above | response, right)
    false_alarm_rates: FloatArray  # (models, 2, ratings - 1) P(rated above | response, wrong)
    fitted_hit_rates: FloatArray  # (models, 2, ratings - 1)
    fitted_false_alarm_rates: FloatArray  # (models, 2, ratings - 1)
    log_likelihood: FloatArray  # (models,) of the ratings given stimulus class and response
    conditional_se: FloatArray  # (models,) of meta-d' if d' and c were known
    counts: FloatArray  # (models, 2 classes, 2 responses, ratings) before padding
    padding: float  # added to each count
    convergence: tuple[Convergence, ...]  # (models,)
    labels: Labels  # (models,)

    _AXES = Axes(
        {"model": "labels"},
        "n=m_ratio.n",
        *_FIELDS,
        "flag=m_ratio.flags",
        arrays={
            "model stimulus response rating": "counts",
            "model response criterion_of_rating": (
                "criteria hit_rates false_alarm_rates fitted_hit_rates fitted_false_alarm_rates"
            ),
        },
    )

    def roc_frame(self) -> "pd.DataFrame":
        """Return the type-2 ROC: one row per model, response and rating, observed and fitted."""
        import pandas as pd

        models, responses, cuts = self.hit_rates.shape
        place = np.indices((models, responses, cuts)).reshape(3, -1)
        table: dict[str, Any] = {
            "model": [self.labels[i] for i in place[0]],
            "response": place[1],
            "rated_above": place[2] + 1,
        }
        rates = ("hit_rates", "false_alarm_rates", "fitted_hit_rates", "fitted_false_alarm_rates")
        table |= {name.removesuffix("s"): getattr(self, name).ravel() for name in rates}
        return pd.DataFrame(table)

    def summary(self) -> str:
        """Return one sentence per model."""
        return "\n".join(self._sentence(i) for i in range(len(self.labels)))

    def _sentence(self, i: int) -> str:
        ratio, flag = self.m_ratio, self.m_ratio.flags[i]
        if not np.isfinite(ratio.value[i]):
            return f"{self.labels[i]}: no M-ratio ({flag}); d' = {self.d_prime.value[i]:.2f}."
        note = f" ({flag})" if flag else ""
        return (
            f"{self.labels[i]}: M-ratio {ratio.text(i)}{note}; "
            f"meta-d' = {self.meta_d.value[i]:.2f}, d' = {self.d_prime.value[i]:.2f}, "
            f"{ratio.n[i]:.0f} trials."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """Where the uncertainty of fits comes from."""

    draws: FloatArray | None  # (resamples, models, outputs)
    n: FloatArray  # (models,) trials
    level: float
    labels: Labels
    equal: bool = True  # independent trials of equal weight: closed forms hold
    units: Units | None = None  # the clusters, None where trials are independent


def assemble(fits: Fits, sampling: Sampling) -> MetaD:
    """Return fits, one table per model, as a result; warn where one did not converge."""
    convergence = fits.convergences()
    for label, row, ended in zip(sampling.labels, fits.raw, convergence, strict=True):
        if row[kernel.STATUS] == kernel.NOT_CONVERGED:
            ended.warn(f"meta-d' of model {label!r}")
    hits, alarms = fits.observed_rates()
    fitted_hits, fitted_alarms = fits.fitted_rates()
    return MetaD(
        **dict(zip(_FIELDS, _estimates(fits, sampling), strict=True)),
        criteria=fits.criteria,
        hit_rates=hits,
        false_alarm_rates=alarms,
        fitted_hit_rates=fitted_hits,
        fitted_false_alarm_rates=fitted_alarms,
        log_likelihood=fits.raw[:, kernel.LOG_LIKELIHOOD].copy(),
        conditional_se=fits.conditional_se,
        counts=fits.tables,
        padding=fits.padding,
        convergence=convergence,
        labels=sampling.labels,
    )


def _estimates(fits: Fits, sampling: Sampling) -> list[Estimate]:
    outputs, errors, reasons = fits.outputs, fits.standard_errors, fits.reasons()
    found = []
    for i in range(len(OUTPUTS)):
        value = np.ascontiguousarray(outputs[:, i])
        draws = None if sampling.draws is None else np.ascontiguousarray(sampling.draws[:, :, i])
        if sampling.equal or draws is None:
            method = "Gourevitch-Galanter" if i < TYPE_1 else "observed information, delta method"
            one = _analytic(OUTPUTS[i], value, errors[:, i], reasons[i], method, sampling)
            draws = None if draws is None else np.where(np.isfinite(value), draws, np.nan)
            found.append(replace(one, _draws=draws))
        else:
            found.append(_bootstrapped(OUTPUTS[i], value, draws, reasons[i], sampling))
    return found


def _analytic(
    name: str,
    value: FloatArray,
    errors: FloatArray,
    flags: tuple[Reason, ...],
    method: str,
    sampling: Sampling,
) -> Estimate:
    se = np.where(np.isfinite(value), errors, np.nan)
    reach = normal_multiplier(sampling.level) * np.array([-1.0, 1.0])
    return Estimate(
        name=name,
        value=value,
        se=se,
        interval=value[:, None] + se[:, None] * reach,
        n=sampling.n,
        flags=flags,
        method=method,
        level=sampling.level,
        labels=sampling.labels,
    )


def _bootstrapped(
    name: str,
    value: FloatArray,
    draws: FloatArray,
    flags: tuple[Reason, ...],
    sampling: Sampling,
) -> Estimate:
    return bootstrap_estimate(
        name,
        value,
        draws,
        n=sampling.n,
        flags=flags,
        level=sampling.level,
        labels=sampling.labels,
        interval="percentile",
        units=sampling.units,
    )
