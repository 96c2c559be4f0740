"""The log score of a Beta prior, against answers predicted one after the other."""

import math

import numpy as np
import pytest

from psychollm._base.errors import OptionError
from psychollm.calibration import calibration_panel
from psychollm.calibration.scores.beta_log_score import beta_log_score_metric
from psychollm.calibration.scores.proper_scores import LOG_SCORE
from psychollm.calibration.stated import stated_answers
from psychollm.calibration.tally import tallies


def one_by_one(confidence, correct, prior_answers, order):
    """Return the mean surprise of answers, each predicted from those before it."""
    seen: dict[float, list[float]] = {}
    surprise = 0.0
    for i in order:
        f = float(confidence[i])
        hits, misses = seen.setdefault(f, [prior_answers * f + 0.5, prior_answers * (1 - f) + 0.5])
        surprise -= math.log((hits if correct[i] else misses) / (hits + misses))
        seen[f][0 if correct[i] else 1] += 1
    return surprise / len(correct)


def simulated(seed=0, n=200, levels=10):
    rng = np.random.default_rng(seed)
    confidence = np.round(rng.beta(4, 2, size=n) * levels) / levels
    return confidence, (rng.uniform(size=n) < confidence**1.5) * 1.0


def score(confidence, correct, prior_answers):
    metric = beta_log_score_metric(prior_answers)
    (tally,) = tallies(stated_answers(confidence, correct))
    return metric.compute(metric.shared(tally), tally.correct[None], tally.wrong[None])[0, 0]


@pytest.mark.parametrize("prior_answers", [0.0, 1.0, 10.0, 250.0])
def test_it_is_the_surprise_of_one_answer_after_the_other_in_any_order(prior_answers) -> None:
    confidence, correct = simulated()
    found = score(confidence, correct, prior_answers)
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(correct.size)
        expected = one_by_one(confidence, correct, prior_answers, order)
        assert found == pytest.approx(expected, rel=1e-12)


def test_what_counts_as_very_many_answers_is_the_log_score() -> None:
    confidence, correct = simulated()
    inside = np.clip(confidence, 0.05, 0.95)
    (tally,) = tallies(stated_answers(inside, correct))
    plain = LOG_SCORE.compute(tally.values, tally.correct[None], tally.wrong[None])[0, 0]
    assert score(inside, correct, 1e9) == pytest.approx(plain, rel=1e-6)


def test_it_is_proper() -> None:
    """Whoever draws answers from their prior loses least, on average, by stating its mean."""
    rng = np.random.default_rng(1)
    losses = {f: [] for f in (0.3, 0.6, 0.9)}
    for _ in range(4000):
        theta = rng.beta(10 * 0.6 + 0.5, 10 * 0.4 + 0.5)
        correct = (rng.random(5) < theta) * 1.0
        for f in losses:
            losses[f].append(one_by_one(np.full(5, f), correct, 10.0, range(5)))
    gaps = [np.array(losses[f]) - np.array(losses[0.6]) for f in (0.3, 0.9)]
    assert all(gap.mean() > 5 * gap.std() / np.sqrt(gap.size) for gap in gaps)


def test_its_standard_error_is_that_of_repeated_samples() -> None:
    values, se = [], []
    for seed in range(200):
        panel = calibration_panel(*simulated(seed, 400), metrics="beta_log_score", bootstrap=0)
        values.append(panel["beta_log_score"].value[0])
        se.append(panel["beta_log_score"].se[0])
    assert np.mean(se) == pytest.approx(np.std(values), rel=0.15)


def test_resamples_vary_as_the_standard_error_says() -> None:
    rng = np.random.default_rng(3)
    confidence = rng.beta(4, 2, size=300)  # no two alike: copies must not predict each other
    correct = (rng.uniform(size=300) < confidence) * 1.0
    panel = calibration_panel(confidence, correct, metrics="beta_log_score", rng=0)
    found = panel["beta_log_score"]
    assert found.draws.std() == pytest.approx(found.se[0], rel=0.1)
    assert found.draws.mean() == pytest.approx(found.value[0], abs=0.1 * found.se[0])


def test_a_negative_number_of_answers_is_an_error() -> None:
    with pytest.raises(OptionError, match="prior_answers=-1"):
        beta_log_score_metric(-1)
