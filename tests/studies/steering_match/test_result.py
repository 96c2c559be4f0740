"""Tables, words and intervals of a match."""

import json

import numpy as np
import pytest

from psychollm.studies import SteeringMatch
from psychollm.studies.steering_match.result import _MANY


def test_frames_hold_every_target(study: SteeringMatch) -> None:
    frame = study.to_frame()
    assert frame["target"].tolist() == list(study.targets.models)
    assert (frame["lower"] <= frame["upper"]).all()
    assert (frame["plateau_lower"] <= frame["strength"]).all()
    assert np.isfinite(frame.select_dtypes("number").to_numpy()).all()
    table = study.controls_frame()
    assert table["name"].tolist() == [
        "direction",
        "threshold on unsteered log odds",
        "random 1",
        "questions exchanged",
    ]
    curve = study.curve("m2")
    assert curve["agreement"].max() == pytest.approx(study.best.agreement[2])
    json.dumps(study.to_dict())


def test_words(study: SteeringMatch) -> None:
    text = study.summary()
    for part in ("R2", "Kappa", "constant answer", "Controls:", "11 of 11 strengths usable"):
        assert part in text
    assert ("are at the edge" in text) == (study.best.at_edge.mean() >= _MANY)
    assert study.best.at_edge.mean() != _MANY
    assert "SteeringMatch of 7 targets" in repr(study)
    assert "log odds at 11 strengths" in repr(study.steered)


def test_intervals_hold_the_values(study: SteeringMatch) -> None:
    best = study.best
    low, high = best.r_squared_interval
    assert low < best.line.r_squared < high
    assert 0 <= best.r_squared_questions[0] <= best.r_squared_questions[1] <= 1
    for part in (study.held_out, study.from_threshold, study.constant):
        bounds = part.agreement.interval
        assert (bounds[:, 0] <= part.agreement.value).all()
        assert (bounds[:, 1] >= part.agreement.value).all()
