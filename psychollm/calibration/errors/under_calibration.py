r"""Distribution of metrics under calibration, simulated from a model's own confidences.

Under calibration, an answer with confidence f is correct with probability f.

.. math:: y^*_i \sim \text{Bernoulli}(f_i), \qquad E_0 = E[T(f, y^*)], \qquad
          p = \frac{1 + \#\{T^* \ge T\}}{1 + R}.                                          \quad (1)

:math:`E_0` is the error expected from noise alone, and p is the p-value of the hypothesis of
calibration. For each question, all models and metrics use the same random numbers.

Answers in one cluster are dependent, so independent draws would understate the noise. Instead,
the residuals :math:`y_i - f_i` of each cluster are multiplied by one random factor, given by
equation (2).

.. math:: y^*_i - f_i = v_{g(i)} (y_i - f_i), \qquad
          v_g = \begin{cases} (1 - \sqrt 5) / 2 & \text{with probability } (5 + \sqrt 5) / 10 \\
                              (1 + \sqrt 5) / 2 & \text{otherwise.} \end{cases}       \quad (2)

One common factor per cluster preserves any dependence within clusters (the wild bootstrap under
the null hypothesis; Cameron, Gelbach and Miller). Mammen's two points have mean zero, variance one
and third moment one; the third moment preserves the skewness of cluster totals. At a nominal level
of 5 %, the test rejects 1 to 7 % of calibrated models; the percentage is lowest with few clusters.
With random signs instead of Mammen's two points, the test rejects 6 to 9 % of calibrated models.
No p-value is returned if the clusters are equivalent to fewer than five clusters of equal size.

References
----------
Cameron, A. C., Gelbach, J. B., & Miller, D. L. (2008). Bootstrap-based improvements for inference
with clustered errors. Review of Economics and Statistics, 90, 414-427.

Mammen, E. (1993). Bootstrap and wild bootstrap for high dimensional linear models. Annals of
Statistics, 21, 255-285.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from psychollm._base.replicate import generators
from psychollm._base.types import FloatArray, IntArray, WordArray
from psychollm.calibration.metric import Metric
from psychollm.calibration.stated import StatedAnswers
from psychollm.calibration.tally import Tally, tallies
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.intervals import percentile_interval, wilson
from psychollm.estimates.null import monte_carlo_p_value
from psychollm.estimates.reasons import Reason
from psychollm.estimates.resampling import Resampling
from psychollm.kernels.binned import calibrated_tallies

_BLOCK_BYTES = 4_000_000
_ROUNDING = 1e-12
_ROOT = 5.0**0.5


def under_calibration(
    metrics: Sequence[Metric], answers: StatedAnswers, options: Resampling
) -> list[tuple[Estimate, Estimate]]:
    """Return the mean under calibration and the p-value of each output of the metrics."""
    # The mean under (1) is returned with its Monte Carlo error and the range of simulated values.
    tables = tallies(answers)
    shared = [[metric.shared(tally) for metric in metrics] for tally in tables]
    own = np.stack(
        [
            _outputs(metrics, first, tally.correct[None], tally.wrong[None])[0]
            for first, tally in zip(shared, tables, strict=True)
        ]
    )
    draws = _simulated(metrics, tables, shared, answers, options)
    names = [name for metric in metrics for name in metric.names]
    return [
        _summary(name, own[:, i], draws[:, :, i], answers, options.level)
        for i, name in enumerate(names)
    ]


def _outputs(
    metrics: Sequence[Metric], shared: Sequence[Any], correct: FloatArray, wrong: FloatArray
) -> FloatArray:
    """Return the outputs of all metrics (replicates, outputs) for one model."""
    columns = [
        metric.compute(first, correct, wrong)[:, : len(metric.names)]
        for metric, first in zip(metrics, shared, strict=True)
    ]
    return np.concatenate(columns, axis=1)


def _simulated(
    metrics: Sequence[Metric],
    tables: Sequence[Tally],
    shared: Sequence[Sequence[Any]],
    answers: StatedAnswers,
    options: Resampling,
) -> FloatArray:
    """Return the outputs of all metrics (replicates, models, outputs) under calibration."""
    clusters = answers.clusters
    n_units = len(answers.questions) if clusters is None else int(clusters.max()) + 1
    made = _calibrated if clusters is None else partial(_wild, clusters=clusters)
    rows = max(1, _BLOCK_BYTES // (8 * n_units))

    def block(seeds: WordArray) -> FloatArray:
        numbers = _uniforms(seeds, n_units)
        columns = [
            _outputs(metrics, first, *made(tally, numbers))
            for first, tally in zip(shared, tables, strict=True)
        ]
        return np.stack(columns, axis=1)

    def task(seeds: WordArray) -> FloatArray:
        starts = range(0, len(seeds), rows)
        return np.concatenate([block(seeds[start : start + rows]) for start in starts])

    draws: FloatArray = options.replicate(task, "calibrated data sets")
    return draws


def _uniforms(seeds: WordArray, n_units: int) -> FloatArray:
    return np.stack([generator.random(n_units) for generator in generators(seeds)])


def _calibrated(tally: Tally, uniforms: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return numbers of correct and wrong answers (replicates, groups) of a calibrated model."""
    correct = np.empty((len(uniforms), tally.values.size))
    wrong = np.empty_like(correct)
    calibrated_tallies(
        uniforms, tally.question, tally.group, tally.values, tally.weight, correct, wrong
    )
    return correct, wrong


def _wild(tally: Tally, uniforms: FloatArray, clusters: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return correct and wrong answers (replicates, groups), with a random weight per cluster."""
    factors = np.where(uniforms < (5.0 + _ROOT) / 10.0, 0.5 * (1.0 - _ROOT), 0.5 * (1.0 + _ROOT))
    if (tally.weight == 1.0).all():
        correct, wrong = tally.resampled(factors, clusters)
    else:
        weights = np.zeros(clusters.size)
        weights[tally.question] = tally.weight
        correct, wrong = tally.resampled(factors[:, clusters] * weights)
    residual = correct * (1.0 - tally.values) - wrong * tally.values
    counts = tally.correct + tally.wrong
    correct = counts * tally.values + residual
    return correct, counts - correct


def _summary(
    name: str, value: FloatArray, draws: FloatArray, answers: StatedAnswers, level: float
) -> tuple[Estimate, Estimate]:
    """Return the mean and the p-value of one output from its draws (replicates, models)."""
    n = len(draws)
    draws = np.where(np.isfinite(value), draws, np.nan)
    p_value = monte_carlo_p_value(value, draws, tie=_ROUNDING * (1.0 + np.abs(value)))
    above = p_value * (n + 1.0) - 1.0
    flags = tuple(Reason.NONE if count else Reason.NO_ANSWERS for count in answers.n)
    of_test = flags
    if answers.units is not None:
        p_value, of_test = answers.units.tested(p_value, flags)
        flags = answers.units.flagged(flags, value)
    expected = Estimate(
        name=f"{name} if calibrated",
        value=draws.mean(axis=0),
        se=draws.std(axis=0, ddof=1) / np.sqrt(n),
        interval=percentile_interval(draws, level),
        n=answers.n,
        flags=flags,
        method="range of simulated values",
        level=level,
        labels=answers.models,
    )
    tested = Estimate(
        name=f"p-value of calibration by {name}",
        value=p_value,
        se=np.sqrt(p_value * (1.0 - p_value) / n),
        interval=np.where(
            np.isfinite(p_value)[:, None], wilson(np.nan_to_num(above), n, level=level), np.nan
        ),
        n=answers.n,
        flags=of_test,
        method=f"Wilson, {n} simulated data sets",
        level=level,
        labels=answers.models,
    )
    return expected, tested
