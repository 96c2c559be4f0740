"""Probes: what is planted is found, what is not is not, and groups stay together."""

from typing import Any

import numpy as np
import pytest

from psychollm._base.errors import InputError, LabelError, OptionError, ShapeError
from psychollm.estimates.verdict import Outcome
from psychollm.studies import class_shares, probe_transfer, state_probe
from psychollm.studies.probes.folds import folds_of, groups_of

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
    assert "The best layer, layer 1, predicts" in found.summary()
    assert "predicts the outcome better than the best control, length" in found.summary()
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


def test_what_cannot_be_probed() -> None:
    states, correct = planted()
    with pytest.raises(ShapeError, match="one value per question"):
        state_probe(states, correct[:-1])
    with pytest.raises(InputError, match="needs both values"):
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
    with pytest.raises(LabelError, match="3 layers"):
        probe_transfer(states, correct, np.zeros(N))
    with pytest.raises(LabelError, match="at least two"):
        probe_transfer(states, correct, np.zeros(N), layer=1)
    with pytest.raises(ShapeError, match="topics"):
        probe_transfer(states, correct, [1, 2], layer=1)
    with pytest.raises(ShapeError, match="two classes"):
        class_shares(states, correct[:, None])
    with pytest.raises(InputError, match="sum to 1"):
        class_shares(states, np.ones((N, 2)))
