"""Coverage of comparisons between models: individuation, disagreements, votes and lines.

True values without a closed form are computed from one sample of 400,000 questions, whose error is
a twentieth of the standard error at n = 1,000.
"""

from collections.abc import Callable
from functools import cache

import numpy as np
from scipy.special import expit

from psychollm.calibration.consensus.between_models import between_models
from psychollm.calibration.consensus.ensemble import ensemble_gain
from psychollm.calibration.consensus.individuation import individuation
from psychollm.calibration.consensus.pairwise import pairwise_calibration
from psychollm.estimates.resampling import Bootstrap
from validation.coverage_cases import Case, Intervals, collected

POPULATION = 400_000
RESAMPLES = 300
AREAS = (
    "shared",
    "own",
    "shared_cut",
    "both",
    "own_minus_shared",
    "own_minus_cut",
    "both_minus_shared",
)
LOG_ODDS = 0.8
Table = tuple[np.ndarray, np.ndarray, np.ndarray]


def answers(models: int, n: int, rng: np.random.Generator) -> Table:
    """Return shared scores, yes and correct (models, n); yes adds to the score's odds."""
    score = rng.standard_normal((models, n))
    yes = (rng.uniform(size=score.shape) < expit(0.3 + score)) * 1.0
    chance = expit(-0.2 + 0.7 * score + LOG_ODDS * yes)
    return score, yes, (rng.uniform(size=score.shape) < chance) * 1.0


@cache
def areas_of_all() -> dict[str, float]:
    score, yes, correct = answers(2, POPULATION, np.random.default_rng(1))
    found = individuation(yes, correct, score, bootstrap=2, rng=0)
    return {name: float(getattr(found, name).value.mean()) for name in AREAS}


def own_answer(n: int, count: int, rng: np.random.Generator, jobs: int) -> Intervals:
    score, yes, correct = answers(count, n, rng)
    found = individuation(
        yes, correct, score, bootstrap=Bootstrap(RESAMPLES, n_jobs=jobs), rng=rng
    )
    truth = {"odds_ratio": float(np.exp(LOG_ODDS))} | areas_of_all()
    return {name: (getattr(found, name).interval, truth[name]) for name in truth}


def study(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return yes and correct of five models; the first has the most insight."""
    easiness = rng.standard_normal(n)
    insight = np.array([1.5, 0.5, 0.4, 0.3, 0.2])[:, None]
    yes = (insight * easiness + rng.standard_normal((5, n)) > 0.0) * 1.0
    ability = np.array([0.5, 0.2, 0.0, -0.2, 0.3])[:, None]
    correct = (ability + easiness + rng.standard_normal((5, n)) > 0.0) * 1.0
    return yes, correct


def disagreement_bounds(yes: np.ndarray, correct: np.ndarray) -> dict[str, tuple]:
    found = pairwise_calibration(yes, correct)
    return {
        "difference of a pair": (found.difference[0, 1], found.interval[0, 1]),
        "pooled difference": (found.pooled_difference, found.pooled_difference_interval),
        "pooled excess": (found.pooled_excess, found.pooled_excess_interval),
    }


def vote_bounds(
    yes: np.ndarray, correct: np.ndarray, rng: np.random.Generator, resamples: int
) -> dict[str, tuple]:
    found = ensemble_gain(yes, correct, bootstrap=Bootstrap(resamples, n_jobs=1), rng=rng)
    bounds = {
        f"{name} (second model)": (getattr(found, name).value[1], getattr(found, name).interval[1])
        for name in ("vote", "single", "vote_cut", "gain", "gain_at_equal_rate")
    }
    bounds["mean gain"] = (found.mean_gain, found.mean_gain_interval)
    return bounds | {
        "mean gain at equal rate": (
            found.mean_gain_at_equal_rate,
            found.mean_gain_at_equal_rate_interval,
        )
    }


@cache
def values_of_all(kind: str) -> dict[str, float]:
    rng = np.random.default_rng(3)
    yes, correct = study(POPULATION, rng)
    found = (
        disagreement_bounds(yes, correct) if kind == "pairs" else vote_bounds(yes, correct, rng, 2)
    )
    return {name: float(value) for name, (value, _) in found.items()}


def disagreements(n: int, count: int, rng: np.random.Generator, jobs: int) -> Intervals:
    del jobs
    return intervals_of(lambda: disagreement_bounds(*study(n, rng)), count, values_of_all("pairs"))


def votes(n: int, count: int, rng: np.random.Generator, jobs: int) -> Intervals:
    """Gain of the vote over the best single answer, which is that of the first model."""
    del jobs
    return intervals_of(
        lambda: vote_bounds(*study(n, rng), rng, RESAMPLES), count, values_of_all("votes")
    )


def intervals_of(
    one: Callable[[], dict[str, tuple]], count: int, truth: dict[str, float]
) -> Intervals:
    return collected(
        lambda: {name: np.asarray(bounds) for name, (_, bounds) in one().items()}, count, truth
    )


def lines(n: int, count: int, rng: np.random.Generator, jobs: int) -> Intervals:
    """Mean confidence and accuracy of n models on fifty questions each."""
    del jobs
    asked, a, b = 50, 4.0, 3.0
    mean = a / (a + b)
    spread = a * b / ((a + b) ** 2 * (a + b + 1.0))
    noise = (mean * (1.0 - mean) - spread) / asked  # of an accuracy about its model's own
    said = 0.2 + 0.6 * mean
    said_noise = (said * (1.0 - said) - 0.36 * spread) / asked
    slope = 0.6 * spread / (spread + noise)
    truth = {
        "slope": slope,
        "intercept": said - slope * mean,
        "Pearson": 0.6 * spread / np.sqrt((spread + noise) * (0.36 * spread + said_noise)),
    }
    truth["Spearman"] = spearman_of_all(asked, a, b)

    def one() -> dict[str, np.ndarray]:
        accuracy = rng.beta(a, b, size=(n, 1))
        correct = (rng.uniform(size=(n, asked)) < accuracy) * 1.0
        yes = (rng.uniform(size=(n, asked)) < 0.2 + 0.6 * accuracy) * 1.0
        found = between_models(yes, correct, n_null=1, rng=rng)
        line = found.confidence_on_accuracy
        return {
            "slope": line.slope_interval,
            "intercept": line.intercept_interval,
            "Pearson": found.pearson_interval,
            "Spearman": found.spearman_interval,
        }

    return collected(one, count, truth)


@cache
def spearman_of_all(asked: int, a: float, b: float) -> float:
    from scipy.stats import spearmanr

    rng = np.random.default_rng(4)
    accuracy = rng.beta(a, b, size=1_000_000)
    right, yes = rng.binomial(asked, accuracy), rng.binomial(asked, 0.2 + 0.6 * accuracy)
    return float(spearmanr(right, yes).statistic)


CASES = [
    Case("individuation", "own answer beside a known shared score", own_answer),
    Case("pairwise calibration", "five models", disagreements),
    Case("ensemble gain", "five models, one much the best", votes),
    Case("between models", "n models, fifty questions each", lines),
]
