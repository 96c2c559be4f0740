"""Coverage of the intervals of decisions (answering, abstaining, saying yes) and their curves.

Forecasters are those of `coverage_calibration`; the true value of a curve at a point is computed
from the tally of the population. Bands are pointwise, so that each point is a row of the table.
"""

from collections.abc import Sequence
from functools import partial

import numpy as np

from psychollm.calibration.decisions.f_beta import f_beta
from psychollm.calibration.discrimination.type2_roc import type2_roc
from psychollm.calibration.errors.binned import binned_metric, calibration_error
from psychollm.calibration.metric import Metric
from psychollm.calibration.scores.corp import corp
from psychollm.calibration.scores.cox import cox
from psychollm.calibration.selection.abstention import STATISTICS, abstention
from psychollm.calibration.selection.risk_coverage import risk_coverage
from psychollm.calibration.selection.selective import (
    coverage_at_risk,
    coverage_at_risk_metric,
    risk_at_coverage,
    risk_at_coverage_metric,
)
from psychollm.estimates.resampling import Bootstrap
from validation.coverage_calibration import SCENARIOS, Forecaster
from validation.coverage_cases import Case, Intervals

RESAMPLES, FEWER = 1_000, 400
TIES = ("random", "whole")
COVERAGES = (0.5, 0.8)
RISKS = (0.1, 0.2)
AT = np.array([0.05, 0.2, 0.5, 0.8, 1.0])
ALARMS = np.array([0.02, 0.1, 0.3, 0.6, 0.9])
BETAS = np.array([0.2, 1.0, 5.0])


def population(forecaster: Forecaster, metric: Metric) -> np.ndarray:
    """Return the values of a metric in the population."""
    tally = forecaster.tally()
    return metric.compute(metric.shared(tally), tally.correct[None], tally.wrong[None])[0]


def selective(
    forecaster: Forecaster, n: int, count: int, rng: np.random.Generator, jobs: int
) -> Intervals:
    """Risk at coverage, coverage at risk, and the band of the risk-coverage curve."""
    scores, correct = forecaster.draw(n, count, rng)
    options = {"bootstrap": Bootstrap(FEWER, n_jobs=jobs), "rng": rng}
    found: Intervals = {}
    for ties in TIES:
        truth = population(forecaster, risk_at_coverage_metric(COVERAGES, ties=ties))
        for coverage, value in zip(COVERAGES, truth, strict=False):
            estimate = risk_at_coverage(scores, correct, coverage=coverage, ties=ties, **options)
            found[f"risk at coverage {coverage:g}, ties {ties}"] = (estimate.interval, value)
        truth = population(forecaster, coverage_at_risk_metric(RISKS, ties=ties))
        for risk, value in zip(RISKS, truth, strict=False):
            estimate = coverage_at_risk(scores, correct, risk=risk, ties=ties, **options)
            found[f"coverage at risk {risk:g}, ties {ties}"] = (estimate.interval, value)
    curve = risk_coverage(scores, correct, coverages=AT, **options)
    # A coverage of 1 is lowered slightly, because sums of millions of answers are rounded.
    truth = population(forecaster, risk_at_coverage_metric(np.minimum(AT, 1.0 - 1e-9).tolist()))
    return found | points("risk-coverage band at", AT, curve.interval, truth)


def points(
    name: str, at: Sequence[float] | np.ndarray, bounds: np.ndarray, truth: np.ndarray
) -> Intervals:
    """Return a band (data sets, points, 2) point by point."""
    return {f"{name} {point:g}": (bounds[:, i], float(truth[i])) for i, point in enumerate(at)}


def type_2_curve(
    forecaster: Forecaster, n: int, count: int, rng: np.random.Generator, jobs: int
) -> Intervals:
    scores, correct = forecaster.draw(n, count, rng)
    options = {"bootstrap": Bootstrap(RESAMPLES, n_jobs=jobs), "rng": rng}
    roc = type2_roc(scores, correct, false_alarms=ALARMS, **options)
    tally = forecaster.tally()
    order = slice(None, None, -1)
    x = np.concatenate([[0.0], np.cumsum(tally.wrong[order])]) / tally.wrong.sum()
    y = np.concatenate([[0.0], np.cumsum(tally.correct[order])]) / tally.correct.sum()
    return points("type-2 ROC band at", ALARMS, roc.interval, np.interp(ALARMS, x, y))


def yes_no_sweep(
    forecaster: Forecaster, n: int, count: int, rng: np.random.Generator, jobs: int
) -> Intervals:
    said, correct = forecaster.draw(n, count, rng)
    sweep = f_beta(
        said, correct, betas=BETAS, bootstrap=Bootstrap(RESAMPLES, n_jobs=jobs), rng=rng
    )
    tally = forecaster.tally()
    yes = tally.values == 1.0
    hits = tally.correct[yes].sum()
    square = BETAS**2
    weighed = square * tally.correct.sum() + (tally.correct + tally.wrong)[yes].sum()
    return points("F-beta band at", BETAS, sweep.interval, (1.0 + square) * hits / weighed)


def calibration(
    forecaster: Forecaster, n: int, count: int, rng: np.random.Generator, jobs: int
) -> Intervals:
    """What the panel leaves out: other norms of the ECE, profile intervals, bins and bands."""
    confidence, correct = forecaster.draw(n, count, rng)
    options = {"bootstrap": Bootstrap(FEWER, n_jobs=jobs), "rng": rng}
    found: Intervals = {}
    for norm in ("max", "average"):
        value = population(forecaster, binned_metric(norm))[0]
        estimate = calibration_error(confidence, correct, norm=norm, n_null=2, **options).value
        found[f"calibration error, norm {norm}"] = (estimate.interval, float(value))
    line = cox(confidence, correct, clip=0.02, interval="profile", bootstrap=0)
    truth = cox_of(forecaster)
    for name, value in truth.items():
        found[f"Cox {name}, profile"] = (getattr(line, name).interval, value)
    curves = corp(confidence, correct, n_bands=300, rng=rng, bootstrap=2).curves
    for level in (0.5, 0.8):
        at = int(np.abs(forecaster.values - level).argmin())
        value, share = forecaster.values[at], float(forecaster.right[at])
        bands = np.array([band_at(curve, value) for curve in curves])
        found[f"recalibration curve at {level:g}, confidence band"] = (bands, share)
    return found


def band_at(curve, value: float) -> np.ndarray:
    """Return the confidence band at the stated confidence next to a value."""
    return curve.confidence_band[int(np.abs(curve.confidence - value).argmin())]


def cox_of(forecaster: Forecaster) -> dict[str, float]:
    """Return the line of the population, fitted to its tally."""
    values = np.repeat(forecaster.values, 2)
    correct = np.tile([1.0, 0.0], forecaster.values.size)
    weights = (
        np.stack([forecaster.right, 1.0 - forecaster.right], axis=1) * forecaster.shares[:, None]
    )
    known = weights.ravel() > 0
    line = cox(
        values[known],
        correct[known],
        clip=0.02,
        weights=weights.ravel()[known],
        interval="profile",
        bootstrap=0,
    )
    return {
        name: float(getattr(line, name).value[0])
        for name in ("slope", "intercept", "in_the_large")
    }


def abstaining(
    n: int,
    count: int,
    rng: np.random.Generator,
    jobs: int,
    *,
    due: float,
    made: float,
    too_often: float,
) -> Intervals:
    """Abstention is right at rate `due`; abstained then at rate `made`, else at `too_often`."""
    right = 0.7
    should = (rng.uniform(size=(count, n)) < due) * 1.0
    chance = np.where(should == 1.0, made, too_often)
    said = (rng.uniform(size=should.shape) < chance) * 1.0
    correct = np.where(said == 1.0, np.nan, rng.uniform(size=said.shape) < right)
    found = abstention(said, should, correct, bootstrap=Bootstrap(0, n_jobs=jobs), rng=rng)
    tp, fp = due * made, (1.0 - due) * too_often
    fn, tn = due - tp, 1.0 - due - fp
    margins = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    truth = {
        "precision": tp / (tp + fp),
        "recall": made,
        "f1": 2.0 * tp / (2.0 * tp + fp + fn),
        "over_abstention": too_often,
        "coverage": fn + tn,
        "appropriate": tp + tn,
        "phi": (tp * tn - fp * fn) / np.sqrt(margins),
        "selective_accuracy": right,
        "accuracy": right * (1.0 - too_often),
    }
    return {name: (getattr(found, name).interval, truth[name]) for name in STATISTICS}


STATED = ("eleven levels, overconfident", "continuous, overconfident")
CASES = [
    *(Case("selection", name, partial(selective, SCENARIOS[name])) for name in STATED),
    *(Case("type-2 ROC", name, partial(type_2_curve, SCENARIOS[name])) for name in STATED),
    Case("F-beta", "yes/no", partial(yes_no_sweep, SCENARIOS["yes/no"])),
    *(Case("calibration curves", name, partial(calibration, SCENARIOS[name])) for name in STATED),
    Case("abstention", "half due", partial(abstaining, due=0.5, made=0.6, too_often=0.2)),
    Case(
        "abstention", "few due, few made", partial(abstaining, due=0.2, made=0.3, too_often=0.02)
    ),
]
