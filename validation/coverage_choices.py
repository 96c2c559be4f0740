"""Coverage of intervals of two-choice trials: meta-information and the hierarchical M-ratio.

Answers and ratings follow the meta-d' model, so that the probability of every combination of
stimulus, response and rating is known; the true meta-information is computed from these
probabilities.
"""

from functools import partial

import numpy as np
from scipy.special import ndtr

from psychollm.calibration.two_choice.hierarchical_meta_d import hierarchical_meta_d
from psychollm.calibration.two_choice.meta_information_trials import (
    MetaI,
    MetaInformation,
    meta_information,
)
from psychollm.data.simulate import simulate_meta_d
from psychollm.estimates.resampling import Bootstrap
from validation.coverage_cases import Case, Intervals, collected

STEPS = np.array([0.5, 1.0, 1.5])
FIELDS = ("meta_i", "meta_i1", "meta_i1_accuracy", "meta_i2", "rmi")
MODELS = 8
MEAN_LOG, SPREAD = np.log(0.8), 0.3


def chances(d: float, ratio: float) -> np.ndarray:
    """Return the probability of each stimulus, response and rating (2, 2, ratings); no bias."""
    found = np.empty((2, 2, STEPS.size + 1))
    edges = np.concatenate([[0.0], STEPS, [np.inf]])
    for stimulus in (0, 1):
        for response in (0, 1):
            # On the axis of the response, evidence has a mean of plus or minus d / 2.
            sign = 0.5 if stimulus == response else -0.5
            above = ndtr(sign * ratio * d - edges)
            found[stimulus, response] = 0.5 * ndtr(sign * d) * -np.diff(above) / above[0]
    return found


def in_population(d: float, ratio: float, definition: MetaI) -> MetaInformation:
    """Return population measures: each combination once, weighted with its probability."""
    table = chances(d, ratio)
    stimulus, response, rating = np.indices(table.shape).reshape(3, -1)
    return meta_information(
        stimulus,
        response[None],
        rating[None] + 1,
        definition=definition,
        corrected=False,
        weights=table.ravel(),
        bootstrap=2,
        rng=0,
    )


def information(
    n: int, count: int, rng: np.random.Generator, jobs: int, *, d: float, ratio: float
) -> Intervals:
    drawn = simulate_meta_d(
        d_prime=np.full(count, d), m_ratio=ratio, distances=STEPS, n_questions=n, rng=rng
    )
    found: Intervals = {}
    for definition in ("confidence", "added", "report"):
        truth = in_population(d, ratio, definition)
        told = meta_information(
            drawn.stimulus,
            drawn.response,
            drawn.rating,
            definition=definition,
            bootstrap=Bootstrap(500, n_jobs=jobs),
            rng=rng,
        )
        for field in FIELDS:
            value = float(getattr(truth, field).value[0])
            found[f"{field}, {definition}"] = (getattr(told, field).interval, value)
    return found


def group(n: int, count: int, rng: np.random.Generator, jobs: int) -> Intervals:
    """Eight models of n trials each; log M-ratios are normal, d' about 1.5."""
    del jobs
    truth = {"group M-ratio": float(np.exp(MEAN_LOG)), "log M-ratio": float(MEAN_LOG)}
    truth |= {"spread": SPREAD, "M-ratio of a model": 0.0, "d' of a model": 0.0}

    def one() -> dict[str, np.ndarray]:
        ratio = np.exp(MEAN_LOG + SPREAD * rng.standard_normal(MODELS))
        d = 1.5 + 0.3 * rng.standard_normal(MODELS)
        drawn = simulate_meta_d(d_prime=d, m_ratio=ratio, n_questions=n, rng=rng)
        found = hierarchical_meta_d(
            drawn.stimulus, drawn.response, drawn.rating, n_draws=1000, rng=rng
        )
        return {
            "group M-ratio": found.group_m_ratio.interval[0],
            "log M-ratio": found.log_m_ratio.interval[0],
            "spread": found.spread.interval[0],
            "M-ratio of a model": found.m_ratio.interval[0] - ratio[0],
            "d' of a model": found.d_prime.interval[0] - d[0],
        }

    return collected(one, count, truth)


CASES = [
    Case("meta-information", "d' = 1.2, M-ratio 0.8", partial(information, d=1.2, ratio=0.8)),
    Case("meta-information", "d' = 2, M-ratio 0.5", partial(information, d=2.0, ratio=0.5)),
    Case("hierarchical meta-d'", "eight models, n trials each", group),
]
