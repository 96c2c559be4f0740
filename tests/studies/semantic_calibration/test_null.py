"""The exchanged right answer: its slow twin, its false alarms."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psychollm.calibration.errors.binned import ECE, binned_metric
from psychollm.calibration.errors.smooth import SMOOTH_ECE
from psychollm.calibration.sampled.semantic_confidence import semantic_confidence
from psychollm.data.sampled import SampledAnswers
from psychollm.studies.semantic_calibration.null import exchanged, sample_null
from psychollm.studies.semantic_calibration.study import semantic_calibration
from tests.effort import examples
from tests.oracles import semantic_exchange_slow as slow
from tests.studies.semantic_calibration.test_study import FEW, arms


@given(
    st.lists(st.sampled_from([*"abc", None]), min_size=1, max_size=7).filter(any),
    st.sampled_from(["a", "b", "d"]),
)
@examples(200)
def test_outcomes_equal_those_of_the_slow_twin(classes: list[str | None], gold: str) -> None:
    worth = [np.nan if one is None else float(one == gold) for one in classes]
    named = ["abstains" if one is None else one for one in classes]
    samples = SampledAnswers.from_array([[named]], correct=[[worth]])
    found = exchanged(samples.codes[0], samples.right[0])
    right_class = gold if gold in classes else None
    assert found.chance.sum() == pytest.approx(1.0)
    assert found.overconfidence[0] == pytest.approx(slow.overconfidence(classes, right_class))
    pairs = slow.exchanged(classes, right_class)
    for confidence, correct in set(pairs):
        here = np.isclose(found.confidence[0], confidence) & (found.correct[0] == correct)
        share = pairs.count((confidence, correct)) / len(pairs)
        assert (found.chance[0] * here).sum() == pytest.approx(share)


def test_the_sample_is_one_of_what_may_be_drawn() -> None:
    samples = arms(1.0, 3.0, questions=60)
    study = semantic_calibration(samples, **FEW)
    for row in range(2):
        found = exchanged(samples.codes[row], samples.right[row])
        f, a = study.confidence.confidence[row], study.confidence.correct[row]
        same = np.isclose(found.confidence, f[:, None]) & np.isclose(found.correct, a[:, None])
        assert ((same * found.chance).sum(axis=1) > 0).all()


def test_draws_have_the_expected_overconfidence() -> None:
    samples = arms(1.0, questions=100, samples=5)
    codes, right = samples.codes[0], samples.right[0]
    expected = exchanged(codes, right).overconfidence.mean()
    assert 0.05 < expected < 0.2
    # One bin: the error is the size of the overall gap, which is hardly ever below zero here.
    one_bin = binned_metric(bins="width", n_bins=1)
    found = sample_null(
        one_bin, codes, right, *confidence_of(samples), n_null=2000, rng=np.random.default_rng(0)
    )
    assert found.mean == pytest.approx(expected, abs=0.005)


def confidence_of(samples: SampledAnswers) -> tuple[np.ndarray, np.ndarray]:
    found = semantic_confidence(samples)
    return found.confidence[0], found.correct[0]


@pytest.mark.parametrize("metric", [SMOOTH_ECE, ECE])
def test_calibrated_models_are_rejected_as_often_as_the_level_says(metric: Any) -> None:
    # 120 data sets at the 5 % level: 6 expected, more than 14 have a chance of 0.001.
    rng = np.random.default_rng(5)
    rejected = 0
    for seed in range(120):
        samples = arms(1.0, questions=80, samples=5, seed=seed)
        codes, right = samples.codes[0], samples.right[0]
        found = sample_null(metric, codes, right, *confidence_of(samples), n_null=99, rng=rng)
        rejected += found.p_value <= 0.05
    assert rejected <= 14


def test_confidences_as_stated_reject_calibrated_models_with_few_samples() -> None:
    # Why the other yardstick is there: the largest share exceeds the chance of its class.
    study = semantic_calibration(arms(1.0, questions=300, samples=5, seed=1), **FEW)
    assert study.smooth.p_value.value[0] == 0.01
    assert study.p_value.value[0] > 0.05
    assert study.split_smooth is not None
    assert study.split_smooth.value.value[0] < study.smooth.value.value[0]
