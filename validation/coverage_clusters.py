"""Coverage with few clusters of questions: calibration, means, differences and their p-values.

Stated confidence and accuracy of models vary between clusters. The largest cluster has sixteen
times the questions of the smallest, or all have twenty. Data sets are passed as models, so that
each call computes many.
"""

from functools import partial

import numpy as np
from scipy.special import expit

from psychollm.calibration import calibration_error, calibration_panel, spiegelhalter
from psychollm.calibration.scores.cox import cox_test_of
from psychollm.calibration.stated import stated_answers
from psychollm.estimates.resampling import Bootstrap
from psychollm.reliability import cohen_kappa, mean_score, score_differences
from validation.coverage_calibration import Forecaster
from validation.coverage_cases import Case, Intervals, flagged

RESAMPLES = 1_000
CLUSTERS = (3, 5, 8, 15, 30)
METRICS = (
    "accuracy", "precision", "f1", "kappa", "brier", "brier_skill", "log_score", "overconfidence",
    "overconfident_part", "underconfident_part", "ece", "rmsce", "smooth_ece", "corp_mcb",
    "corp_dsc", "corp_unc", "corp_log_mcb", "corp_log_dsc", "murphy_reliability",
    "murphy_resolution", "cox_slope", "calibration_in_the_large", "auroc", "gamma",
    "average_precision", "point_biserial", "meta_information", "aurc", "e_aurc",
)  # fmt: skip
LEVELS = np.linspace(0.0, 1.0, 11)


def sizes(n: int, *, equal: bool) -> np.ndarray:
    """Return the number of questions in each of n clusters."""
    return np.full(n, 20) if equal else np.round(4 * 16 ** np.linspace(0.0, 1.0, n)).astype(int)


def forecasts(
    codes: np.ndarray, count: int, rng: np.random.Generator, *, calibrated: bool, ease: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return stated confidence and the probability of being right (data sets, questions)."""
    groups = (count, codes.max() + 1)
    latent = rng.standard_normal((count, codes.size))
    latent += 0.5 * rng.standard_normal(groups)[:, codes]
    stated = LEVELS[np.round(10.0 * expit(1.0 + 1.2 * latent)).astype(int)]
    spread = rng.standard_normal(groups)[:, codes]
    if calibrated:
        # Answers are correlated within clusters, and calibrated over all clusters.
        return stated, np.where(
            np.abs(spread) < 0.6745, stated > rng.random(groups)[:, codes], stated
        )
    return stated, expit(ease + 0.8 * latent + spread)


def population(*, ease: float) -> Forecaster:
    """Return the forecaster over all clusters, by simulation."""
    codes = np.repeat(np.arange(100_000), 10)
    stated, chance = forecasts(codes, 1, np.random.default_rng(1), calibrated=False, ease=ease)
    level = np.round(10.0 * stated[0]).astype(int)
    answers = np.bincount(level, minlength=11)
    right = np.bincount(level, chance[0], minlength=11) / answers
    return Forecaster(LEVELS, answers / answers.sum(), right)


def panel(
    n: int, count: int, rng: np.random.Generator, jobs: int, *, equal: bool, ease: float
) -> Intervals:
    """Return intervals of the panel."""
    codes = np.repeat(np.arange(n), sizes(n, equal=equal))
    stated, chance = forecasts(codes, count, rng, calibrated=False, ease=ease)
    correct = (rng.random(chance.shape) < chance) * 1.0
    found = calibration_panel(
        stated,
        correct,
        metrics=METRICS,
        clusters=codes,
        bootstrap=Bootstrap(RESAMPLES, n_jobs=jobs),
        rng=rng,
    )
    truth = population(ease=ease).truth()
    intervals: Intervals = {
        key: (found[key].interval, truth[key], flagged(found[key].flags)) for key in found
    }
    other = (rng.random(chance.shape) < chance) * 1.0
    mean = mean_score(
        correct, clusters=codes, bootstrap=Bootstrap(RESAMPLES, n_jobs=jobs), rng=rng
    )
    pairs = [(row, row + 1) for row in range(0, count, 2)]
    apart = score_differences(correct, pairs=pairs, clusters=codes)
    intervals["mean_score"] = (mean.interval, truth["accuracy"], flagged(mean.flags))
    intervals["score_differences"] = (apart.interval, 0.0, flagged(apart.flags))
    for name, estimate in (("mean_score", mean), ("brier", found["brier"])):
        differences = [estimate.difference(*pair) for pair in pairs]
        intervals[f"{name} difference"] = (
            np.array([one.interval for one in differences]),
            0.0,
            flagged(tuple(one.flag for one in differences)),
        )
    runs = cohen_kappa(
        correct, other, clusters=codes, bootstrap=Bootstrap(2, n_jobs=jobs), rng=rng
    )
    intervals["cohen_kappa of two runs"] = (runs.interval, _kappa(ease), flagged(runs.flags))
    return intervals


def _kappa(ease: float) -> float:
    """Return the agreement beyond chance of two runs in the population."""
    codes = np.repeat(np.arange(100_000), 10)
    chance = forecasts(codes, 1, np.random.default_rng(1), calibrated=False, ease=ease)[1]
    return float(chance.var() / (chance.mean() * (1.0 - chance.mean())))


def tests(n: int, count: int, rng: np.random.Generator, jobs: int, *, equal: bool) -> Intervals:
    """Return 1 - p of calibrated models as bounds: a p-value covers where it is above 0.05."""
    codes = np.repeat(np.arange(n), sizes(n, equal=equal))
    stated, chance = forecasts(codes, count, rng, calibrated=True, ease=0.0)
    correct = (rng.random(chance.shape) < chance) * 1.0
    options = {
        "clusters": codes,
        "bootstrap": Bootstrap(200, n_jobs=jobs),
        "rng": rng,
    }
    error = calibration_error(stated, correct, n_null=400, **options)
    answers = stated_answers(stated, correct, clusters=codes)
    found = {
        "p of the ECE": error.p_value.value,
        "p of Spiegelhalter": spiegelhalter(stated, correct, clusters=codes).p_value,
        "p of Cox": cox_test_of(answers).p_value,
        "p of the ECE, clusters ignored": calibration_error(
            stated, correct, n_null=400, **{**options, "clusters": None}
        ).p_value.value,
    }
    intervals: Intervals = {
        name: (np.stack([np.where(np.isnan(p), np.nan, 0.0), (p > 0.05) * 2.0], axis=1), 1.0)
        for name, p in found.items()
    }
    whole = (error.value.interval, 0.0, flagged(error.value.flags))
    return intervals | {"ECE of a calibrated model": whole}


CASES = [
    *(
        Case("few clusters", name, partial(panel, equal=equal, ease=ease), CLUSTERS)
        for name, equal, ease in (
            ("n clusters, sixteen to one", False, 0.8),
            ("n clusters of twenty", True, 0.8),
            ("n clusters, sixteen to one, one answer in eleven wrong", False, 3.0),
        )
    ),
    *(
        Case("few clusters", name, partial(tests, equal=equal), CLUSTERS)
        for name, equal in (
            ("calibrated, n clusters, sixteen to one", False),
            ("calibrated, n clusters of twenty", True),
        )
    ),
]
