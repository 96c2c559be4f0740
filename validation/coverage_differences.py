"""Coverage of differences, of families of them, and of the parts of a mean score's variance.

Model m answers a question of easiness z correctly with probability Phi(m + z). Scores are then
correlated over questions, and a model's true mean is Phi(m / sqrt 2). A family covers if all its
intervals cover, or if it declares no false difference; the table reports the proportion of such
data sets as its coverage.
"""

from functools import partial

import numpy as np
from scipy.special import ndtr

from psychollm.calibration.discrimination.ranking import auroc
from psychollm.calibration.scores.proper_scores import brier
from psychollm.estimates.comparisons import compare_all
from psychollm.estimates.resampling import Bootstrap
from psychollm.reliability.contrasts.pairwise_conditions import pairwise_conditions
from psychollm.reliability.means.answer_variance import answer_variance
from psychollm.reliability.means.clustered import mean_score
from psychollm.reliability.means.score_differences import score_differences
from psychollm.reliability.means.set_difference import set_difference
from psychollm.reliability.raters.response_shares import response_shares
from psychollm.reliability.raters.retest import retest
from psychollm.studies.comparison.study import Comparison, compare
from validation.coverage_agreement import SCENARIOS as ANSWERS
from validation.coverage_calibration import SCENARIOS as FORECASTERS
from validation.coverage_cases import Case, Intervals, collected

RESAMPLES = 400
ABILITIES = np.array([0.8, 0.4, 0.0, 0.2, 0.6])
YES, NO = np.ones(2), np.zeros(2)  # an interval that covers 1, and one that does not


def held(*, all_hold: bool) -> np.ndarray:
    """Return whether a family covers, coded as an interval around the true value 1."""
    return YES if all_hold else NO


def right_or_wrong(
    ability: np.ndarray, n: int, rng: np.random.Generator, *, size: int = 1
) -> np.ndarray:
    """Return scores (models, n); questions of a cluster share their easiness."""
    easiness = rng.standard_normal(-(-n // size)).repeat(size)[:n]
    return (rng.standard_normal((ability.size, n)) < ability[:, None] + easiness) * 1.0


def pairs(n: int, count: int, rng: np.random.Generator, jobs: int) -> Intervals:
    """Differences of mean scores of five models, with questions alone and in clusters of five."""
    means = ndtr(ABILITIES / np.sqrt(2.0))
    gap, codes, half = float(means[0] - means[1]), np.arange(n) // 5, np.arange(n) < n // 2
    wanted = np.array([means[i] - means[j] for i in range(5) for j in range(i + 1, 5)])
    truth = dict.fromkeys(("score_differences", "score_differences, clusters"), gap)
    truth |= {
        "mean_score difference": gap,
        "mean score of right and wrong": float(means[0]),
        "max-T: all ten differences": 1.0,
        "max-T: all ten, clusters": 1.0,
        "set_difference": 0.0,
        "set_difference, clusters over both sets": 0.0,
    }

    def one() -> dict[str, np.ndarray]:
        alone = right_or_wrong(ABILITIES, n, rng)
        together = right_or_wrong(ABILITIES, n, rng, size=5)
        options = {"bootstrap": Bootstrap(RESAMPLES, n_jobs=jobs), "rng": rng}
        mean, clustered = (
            mean_score(alone, **options),
            mean_score(together, clusters=codes, **options),
        )
        families = [compare_all(each, adjustment="max_t").interval for each in (mean, clustered)]
        both = [
            held(all_hold=bool(((low <= wanted) & (wanted <= high)).all()))
            for low, high in (family.T for family in families)
        ]
        odd = np.arange(n) % 2 == 1  # clusters span both sets
        return {
            "score_differences": score_differences(alone, pairs=[(0, 1)]).interval[0],
            "score_differences, clusters": score_differences(
                together, pairs=[(0, 1)], clusters=codes
            ).interval[0],
            "mean_score difference": mean.difference(0, 1).interval,
            "mean score of right and wrong": mean.interval[0],
            "max-T: all ten differences": both[0],
            "max-T: all ten, clusters": both[1],
            "set_difference": set_difference(alone[0], half, ~half).interval[0],
            "set_difference, clusters over both sets": set_difference(
                together[0], odd, ~odd, clusters=codes
            ).interval[0],
        }

    return collected(one, count, truth)


def compared(n: int, count: int, rng: np.random.Generator, jobs: int) -> Intervals:
    """Scores, differences and ranks of eight models, of which two and two are equally able."""
    abilities = np.array([0.8, 0.4, 0.0, 0.2, 0.6, 0.4, 0.0, -0.4])
    means, codes = ndtr(abilities / np.sqrt(2.0)), np.arange(n) // 5
    above = (means[:, None] > means).sum(axis=0)
    below = (means[:, None] < means).sum(axis=0)

    def held_by(found: Comparison) -> list[np.ndarray]:
        pairs, order = found.differences, list(found.labels)
        wanted = means[list(pairs.first)] - means[list(pairs.second)]
        low, high = pairs.interval.T
        # Equally able models share all ranks from their best to their worst.
        best, worst = 1 + above[order], 8 - below[order]
        first, last = found.rank_interval.T
        return [
            held(all_hold=bool(((low <= wanted) & (wanted <= high)).all())),
            held(all_hold=bool(((first <= best) & (worst <= last)).all())),
        ]

    def one() -> dict[str, np.ndarray]:
        alone = compare(right_or_wrong(abilities, n, rng), n_draws=2000, rng=rng)
        together = compare(
            right_or_wrong(abilities, n, rng, size=5), clusters=codes, n_draws=2000, rng=rng
        )
        place = alone.labels.index(0), together.labels.index(0)
        return dict(
            zip(
                _COMPARED,
                [
                    alone.score.interval[place[0]],
                    together.score.interval[place[1]],
                    *held_by(alone),
                    *held_by(together),
                ],
                strict=True,
            )
        )

    return collected(one, count, dict(zip(_COMPARED, [means[0]] * 2 + [1.0] * 4, strict=True)))


_COMPARED = (
    "score",
    "score, clusters",
    "all 28 differences",
    "all eight ranks",
    "all 28 differences, clusters",
    "all eight ranks, clusters",
)


def alike(n: int, count: int, rng: np.random.Generator, jobs: int) -> Intervals:
    """Five equally able models and five equal conditions: families without a false positive."""
    adjustments = ("holm", "bonferroni", "bh", "by", "max_t")
    names = [f"compare_all, {name}" for name in adjustments]
    names += ["score_differences, holm", "score_differences, max_t", "pairwise_conditions, holm"]
    model, condition = np.repeat(np.arange(n), 5), np.tile(np.arange(5), n)

    def one() -> dict[str, np.ndarray]:
        scores = right_or_wrong(np.full(5, 0.3), n, rng)
        mean = mean_score(scores, bootstrap=Bootstrap(RESAMPLES, n_jobs=jobs), rng=rng)
        p_values = [compare_all(mean, adjustment=name).adjusted for name in adjustments]
        p_values.append(score_differences(scores).adjusted)
        at_once = score_differences(scores, adjustment="max_t", n_draws=2000, rng=rng)
        p_values.append(at_once.adjusted)
        ranks = pairwise_conditions(rng.standard_normal(5 * n), condition, models=model)
        p_values.append(ranks.adjusted)
        return {
            name: held(all_hold=bool(np.nanmin(found) > 0.05))
            for name, found in zip(names, p_values, strict=True)
        }

    return collected(one, count, dict.fromkeys(names, 1.0))


def forecasters(n: int, count: int, rng: np.random.Generator, jobs: int) -> Intervals:
    """Two forecasters that state the same confidences; the second is calibrated."""
    first = FORECASTERS["eleven levels, overconfident"]
    second = FORECASTERS["eleven levels, calibrated"]
    exact = [each.truth() for each in (first, second)]
    truth = {f"{name} difference": exact[0][name] - exact[1][name] for name in ("brier", "auroc")}

    place = rng.choice(first.values.size, size=(count, n), p=first.shares)
    luck = rng.uniform(size=place.shape)
    correct = np.concatenate([(luck < each.right[place]) * 1.0 for each in (first, second)])
    stated = np.tile(first.values[place], (2, 1))
    found: Intervals = {}
    for name, metric in (("brier", brier), ("auroc", auroc)):
        both = metric(stated, correct, bootstrap=Bootstrap(RESAMPLES, n_jobs=jobs), rng=rng)
        bounds = [both.difference(i, count + i).interval for i in range(count)]
        found[f"{name} difference"] = (np.array(bounds), truth[f"{name} difference"])
    return found


def parts(
    n: int, count: int, rng: np.random.Generator, jobs: int, *, answers: int, normal: bool
) -> Intervals:
    """Variance between questions and between answers to one question."""
    shape = (count, n, answers)
    if normal:
        between, within, mean = 0.5, 1.0, 0.0
        scores = np.sqrt(between) * rng.standard_normal((count, n, 1)) + rng.standard_normal(shape)
    else:
        a, b = 2.0, 1.0
        mean = a / (a + b)
        between = a * b / ((a + b) ** 2 * (a + b + 1.0))
        within = mean * (1.0 - mean) - between
        scores = (rng.uniform(size=shape) < rng.beta(a, b, size=(count, n, 1))) * 1.0
    found = answer_variance(scores, bootstrap=Bootstrap(1000, n_jobs=jobs), rng=rng)
    return {
        "mean": (found.mean.interval, mean),
        "between questions": (found.between.interval, between),
        "within questions": (found.within.interval, within),
    }


def shares(name: str, n: int, count: int, rng: np.random.Generator, jobs: int) -> Intervals:
    """All shares of answers together, and the rate of one run."""
    del jobs
    law = ANSWERS[name]
    ratings = law.draw(n, count, rng)
    found = response_shares(ratings)
    wanted = np.array(law.shares)
    hold = ((found.interval[..., 0] <= wanted) & (wanted <= found.interval[..., 1])).all(axis=1)
    passed = rng.uniform(size=(2, count, n)) < rng.beta(3.0, 1.0, size=(count, n))
    run = retest(passed, bootstrap=2, rng=0).intervals[:, 0]
    return {
        "response_shares: all together": (np.stack([hold, hold], axis=1) * 1.0, 1.0),
        "retest: rate of one run": (run, 0.75),
    }


CASES = [
    Case("differences", "five models, right or wrong", pairs),
    Case("differences", "two forecasters", forecasters),
    Case("comparison", "eight models, right or wrong", compared),
    Case("false alarms", "five models of one ability", alike),
    Case("answer variance", "normal, four answers", partial(parts, answers=4, normal=True)),
    Case(
        "answer variance", "right or wrong, ten answers", partial(parts, answers=10, normal=False)
    ),
    Case("response shares", "four answers, two runs", partial(shares, "four answers, two runs")),
    Case(
        "response shares",
        "two answers 49:1, three runs",
        partial(shares, "two answers 49:1, three runs"),
    ),
]
