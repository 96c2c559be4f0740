"""The mechanism test: divergences by the letter, and the link over arms."""

from typing import Any

import numpy as np
import pytest

from psychollm._base.errors import CodeError, InputError, OptionError, ShapeError
from psychollm.data.sampled import SampledAnswers
from psychollm.instruments.semantic_sampling import SemanticSampling
from psychollm.studies.semantic_calibration.mechanism import (
    predicted_chances,
    semantic_mechanism,
)
from psychollm.studies.semantic_calibration.study import SemanticCalibration, semantic_calibration

POWERS = (1.0, 1.3, 1.7, 2.2, 3.0, 4.0)


@pytest.fixture(scope="module")
def world() -> tuple[SemanticCalibration, SampledAnswers, np.ndarray]:
    """Arms that are the sharper the less they know of it: the prediction is never sharpened."""
    rng = np.random.default_rng(3)
    chances = rng.dirichlet(np.full(5, 0.5), 150)
    gold = (chances.cumsum(axis=1)[:, :-1] < rng.random((150, 1))).sum(axis=1)
    classes = []
    for power in POWERS:
        sharp = chances**power
        sharp /= sharp.sum(axis=1, keepdims=True)
        draws = rng.random((150, 10, 1))
        classes.append((sharp.cumsum(axis=1)[:, None, :-1] < draws).sum(axis=2))
    table = np.stack(classes)
    samples = SampledAnswers.from_array(table, gold=gold.tolist(), models=POWERS)
    study = semantic_calibration(samples, n_null=99, bootstrap=100, rng=0)
    predicted = chances[np.arange(150)[None, :, None], table]
    return study, samples, predicted


def test_arms_that_predict_themselves_worse_are_calibrated_worse(world: Any) -> None:
    found = semantic_mechanism(*world, floor=1e-6, bootstrap=100, rng=0)
    assert found.link.value > 0.8
    assert found.link.interval[0] > 0.0
    assert abs(found.divergence.value[0]) < 0.1
    assert found.divergence.value[-1] > found.divergence.value[0]
    assert found.summary().startswith("Arms that predict their answers less well")
    assert found.to_frame()["arm"].tolist() == list(POWERS)


def test_cross_entropy_grows_with_diversity_too(world: Any) -> None:
    found = semantic_mechanism(*world, predictability="cross_entropy", bootstrap=50, rng=0)
    assert found.link.value < 0.5
    assert found.predictability == "cross_entropy"
    assert "cross-entropy" in found.summary()


def test_divergence_by_the_letter() -> None:
    classes = [[["a", "a", "b", None], ["c", "c", "c", "d"]]]
    samples = SampledAnswers.from_array(classes, gold=["a", "c"])
    study = semantic_calibration(samples, n_null=19, bootstrap=20, rng=0)
    predicted = [[[0.5, 0.5, 0.25, np.nan], [0.9, 0.9, 0.9, 0.0]]]
    found = semantic_mechanism(study, samples, predicted, floor=0.01, bootstrap=20, rng=0)
    first = -(2 * np.log(0.5) + np.log(0.25)) / 3
    second = -(3 * np.log(0.9) + np.log(0.01)) / 4
    assert found.cross_entropy.value[0] == pytest.approx((first + second) / 2)
    own = -(2 / 3 * np.log(2 / 3) + 1 / 3 * np.log(1 / 3)) + 1 / 6
    other = -(0.75 * np.log(0.75) + 0.25 * np.log(0.25)) + 1 / 8
    assert found.divergence.value[0] == pytest.approx((first - own + second - other) / 2)
    assert found.clipped.tolist() == pytest.approx([1 / 7])
    assert "the rank correlation over" in " ".join(found.summary().split())


def test_an_arm_without_predictions_is_left_out(world: Any) -> None:
    study, samples, predicted = world
    some = predicted.copy()
    some[2] = np.nan
    found = semantic_mechanism(study, samples, some, bootstrap=50, rng=0)
    assert np.isnan(found.divergence.value[2])
    assert found.link.labels == (1.0, 1.3, 2.2, 3.0, 4.0)


def test_bad_predictions(world: Any) -> None:
    study, samples, predicted = world
    with pytest.raises(ShapeError):
        semantic_mechanism(study, samples, predicted[:, :, :3])
    with pytest.raises(CodeError, match="must be in"):
        semantic_mechanism(study, samples, predicted + 1.0)
    uneven = predicted.copy()
    uneven[0, 0] = np.linspace(0.1, 0.9, 10)
    with pytest.raises(CodeError, match="one class"):
        semantic_mechanism(study, samples, uneven)
    other = SampledAnswers.from_array([[["a", "b"]]], gold=["a"])
    with pytest.raises(InputError):
        semantic_mechanism(study, other, [[[0.5, 0.5]]])
    with pytest.raises(OptionError):
        semantic_mechanism(study, samples, predicted, floor=0.0)
    with pytest.raises(OptionError):
        semantic_mechanism(study, samples, predicted, predictability="hope")  # type: ignore[arg-type]


def test_distributions_over_answers_are_put_beside_samples() -> None:
    asked = SemanticSampling([{"question": "Where?", "answer": "Rome"}], n_samples=4)
    replies = ["Rome", "rome.", "I don't know", "Oslo"]
    said = [asked.read(one, reply) for one, reply in zip(asked.prompts(), replies, strict=True)]
    found = asked.score(said, abstentions="missing")
    chances = predicted_chances(found, [{"ROME": 0.5, "rome": 0.25, "Bern": 0.25}])
    assert chances[0].tolist() == pytest.approx([0.75, 0.75, np.nan, 0.0], nan_ok=True)
    with pytest.raises(ShapeError):
        predicted_chances(found, [])
