"""Probes carried from topic to topic."""

import numpy as np

from psychollm.studies import probe_transfer
from tests.studies.probes.test_probe import N, planted


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
