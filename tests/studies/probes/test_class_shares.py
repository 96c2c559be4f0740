"""Shares of classes predicted from states."""

import numpy as np

from psychollm.studies import class_shares
from tests.studies.probes.test_probe import FEW, N


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
