"""Probes: what is planted is found, what is not is not, and groups stay together."""

from typing import Any

import numpy as np
import pytest

from psychollm._base.errors import InputError, LabelError, OptionError, ShapeError
from psychollm.estimates.verdict import Outcome
from psychollm.studies import class_shares, early_exit, probe_transfer, state_probe
from psychollm.studies.probes.folds import folds_of, groups_of

pytest.importorskip("sklearn")

N = 160
FEW: dict[str, Any] = {"bootstrap": 60}


def planted(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return states of three layers, the second of which knows the outcome."""
    rng = np.random.default_rng(seed)
    states = rng.normal(size=(N, 3, 12))
    correct = (states[:, 1, :3].sum(axis=1) + 0.5 * rng.normal(size=N) > 0).astype(float)
    return states, correct


def test_the_layer_that_knows_is_found() -> None:
    states, correct = planted()
    length = np.random.default_rng(1).normal(size=N)
    found = state_probe(states, correct, controls={"length": length}, **FEW)
    assert found.labels == ("layer 0", "layer 1", "layer 2", "length")
    assert found.best_layer == "layer 1"
    assert found.auroc.value[1] > 0.9
    # Chance is 0.5; 0.16 is four standard errors of an AUROC of 160 questions.
    assert (np.abs(found.auroc.value[[0, 2, 3]] - 0.5) < 0.16).all()
    assert found.auroc.interval[1, 0] > 0.8
    assert found.ece.value[1] < 0.2
    assert found.auroc.axis == "predictor"
    frame = found.to_frame()
    assert frame["predictor"].tolist() == list(found.labels)
    assert "Layer 1, the best of" in found.summary()
    assert "predicts the outcome better than length" in found.summary()
    assert found.findings()["verdict"].outcome is Outcome.ABOVE


def test_what_is_not_known_takes_no_part() -> None:
    states, correct = planted()
    correct[::5] = np.nan
    found = state_probe(states, correct, layers=[1], **FEW)
    assert found.auroc.n[0] == np.isfinite(correct).sum()
    assert np.isfinite(found.probabilities).all()


def test_a_probe_that_only_knows_the_group_finds_nothing() -> None:
    rng = np.random.default_rng(2)
    groups = np.arange(N) // 8
    names = rng.normal(size=(N // 8, 12))
    luck = rng.integers(2, size=N // 8).astype(float)
    states = names[groups][:, None] + 0.1 * rng.normal(size=(N, 1, 12))
    blind = state_probe(states, luck[groups], **FEW)
    fair = state_probe(states, luck[groups], groups=groups, **FEW)
    assert blind.auroc.value[0] > 0.95
    assert fair.auroc.value[0] < 0.8
    assert fair.n_groups == N // 8
    for group in range(N // 8):
        assert np.unique(fair.folds[groups == group]).size == 1


def test_folds_are_even_and_whole() -> None:
    groups = groups_of(np.repeat(list("abcdefgh"), [1, 2, 3, 4, 5, 6, 7, 8]), 36)
    fold = folds_of(groups, 4, 0)
    assert np.bincount(fold).tolist() == [9, 9, 9, 9]
    np.testing.assert_array_equal(fold, folds_of(groups, 4, 0))
    with pytest.raises(OptionError, match="n_folds=9"):
        folds_of(groups, 9, 0)


def test_states_of_the_steering_room() -> None:
    from psychollm.steering import HiddenStates

    states, correct = planted()
    known = HiddenStates(states=states.astype(np.float32), layers=(10, 15, 20))
    found = state_probe(known, correct, layers=[15], **FEW)
    assert found.best_layer == "layer 15"


def test_transfer() -> None:
    rng = np.random.default_rng(3)
    topics = np.repeat(["art", "law", "sea"], 60)
    states = rng.normal(size=(180, 6))
    knows = np.where(topics == "sea", states[:, 1], states[:, 0])
    found = probe_transfer(states, (knows > 0).astype(float), topics, rng=0)
    assert found.topics == ("art", "law", "sea")
    assert found.auroc[0, 1] > 0.9
    assert found.auroc[0, 2] < 0.75
    assert found.within > 0.9 > found.across
    assert (found.lower <= found.auroc).all()
    assert (found.auroc <= found.upper).all()
    assert len(found.to_frame()) == 9


def test_topics_with_one_outcome_have_no_value() -> None:
    states, correct = planted()
    topics = np.repeat([0, 1], N // 2)
    correct[topics == 1] = 1.0
    found = probe_transfer(states, correct, topics, layer=1)
    assert np.isnan(found.auroc[:, 1]).all()
    assert found.auroc[0, 0] > 0.8


def steps() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return six steps of forty questions; from a step of its own on, each is right and sure."""
    rng = np.random.default_rng(4)
    when = rng.integers(0, 6, size=40)
    correct = (np.arange(6) >= when[:, None]).astype(float)
    sure = np.where(correct == 1, 0.9, 0.1)
    tokens = np.tile(np.arange(10, 70, 10.0), (40, 1))
    return sure, correct, tokens


def test_a_perfect_probe_saves_all_that_can_be_saved() -> None:
    sure, correct, tokens = steps()
    found = early_exit(sure, correct, tokens, **FEW)
    needed = (correct.argmax(axis=1) + 1) * 10.0
    assert found.saved == pytest.approx(1 - needed.sum() / (40 * 60))
    assert found.full_accuracy == 1.0
    assert found.saved_interval[0] < found.saved < found.saved_interval[1]
    assert found.saved_threshold == pytest.approx(0.5)
    assert "saves" in found.summary()
    assert len(found.to_frame()) == 50


def test_a_probe_that_is_always_sure_costs_accuracy() -> None:
    sure, correct, tokens = steps()
    found = early_exit(np.ones_like(sure), correct, tokens, thresholds=[0.5], **FEW)
    assert found.accuracy[0] == pytest.approx(correct[:, 0].mean())
    assert found.tokens[0] == pytest.approx(1 / 6)
    assert found.saved == 0.0
    assert np.isnan(found.saved_threshold)


def test_questions_of_different_length() -> None:
    found = early_exit(
        [[0.1, 0.2, np.nan], [0.9, 0.1, 0.1]],
        [[0, 1, np.nan], [1, 0, 0]],
        [[5, 10, np.nan], [5, 10, 20]],
        thresholds=[0.8],
        **FEW,
    )
    assert found.full_accuracy == 0.5
    assert found.accuracy.tolist() == [1.0]
    assert found.saved == pytest.approx(0.5)


def test_shares_of_classes() -> None:
    rng = np.random.default_rng(5)
    states = rng.normal(size=(N, 2, 5))
    logits = np.stack([2 * states[:, 0, 0], 2 * states[:, 0, 1], np.zeros(N)], axis=1)
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    found = class_shares(states, shares, **FEW)
    assert found.skill.labels == ("layer 0", "layer 1")
    assert found.skill.value[0] > 0.7
    assert found.skill.value[1] < 0.1
    np.testing.assert_allclose(found.predicted.sum(axis=2), 1.0)
    assert found.to_frame()["layer"].tolist() == ["layer 0", "layer 1"]
    same = class_shares(states, np.tile([0.2, 0.3, 0.5], (N, 1)), **FEW)
    assert np.isnan(same.skill.value).all()


def test_what_cannot_be_probed() -> None:
    states, correct = planted()
    with pytest.raises(ShapeError, match="one value per question"):
        state_probe(states, correct[:-1])
    with pytest.raises(InputError, match="nothing to predict"):
        state_probe(states, np.ones(N))
    with pytest.raises(InputError, match="1 \\(correct"):
        state_probe(states, correct + 0.5)
    with pytest.raises(ShapeError, match="questions, layers, hidden"):
        state_probe(states[0, 0], correct)
    with pytest.raises(LabelError, match="layer 7"):
        state_probe(states, correct, layers=[7])
    with pytest.raises(LabelError, match="name of a layer"):
        state_probe(states, correct, controls={"layer 0": correct})
    with pytest.raises(ShapeError, match="length: 160 questions"):
        state_probe(states, correct, controls={"length": correct[:3]})
    with pytest.raises(ShapeError, match="groups"):
        state_probe(states, correct, groups=[1, 2])
    with pytest.raises(OptionError, match="penalty"):
        state_probe(states, correct, penalty=0.0)
    broken = states.copy()
    broken[3, 2, 1] = np.nan
    with pytest.raises(InputError, match="layer 2: question 3"):
        state_probe(broken, correct)
    with pytest.raises(LabelError, match="one of 3 layers"):
        probe_transfer(states, correct, np.zeros(N))
    with pytest.raises(LabelError, match="needs two"):
        probe_transfer(states, correct, np.zeros(N), layer=1)
    with pytest.raises(ShapeError, match="topics"):
        probe_transfer(states, correct, [1, 2], layer=1)
    with pytest.raises(ShapeError, match="two classes"):
        class_shares(states, correct[:, None])
    with pytest.raises(InputError, match="sum to 1"):
        class_shares(states, np.ones((N, 2)))


def test_steps_that_cannot_be() -> None:
    sure, correct, tokens = steps()
    with pytest.raises(ShapeError, match="questions, steps"):
        early_exit(sure, correct[:, :2], tokens)
    with pytest.raises(InputError, match="question 0: tokens must be counted"):
        early_exit(sure, correct, tokens[:, ::-1])
    gap = sure.copy()
    gap[2, 1] = np.nan
    with pytest.raises(InputError, match="question 2: its steps"):
        early_exit(gap, correct, tokens)
    with pytest.raises(InputError, match="known at every step"):
        early_exit(sure, np.where(correct == 1, np.nan, 0.0), tokens)
