"""What a direction orders, and what was in order before."""

import numpy as np

from psychollm.studies import SteeringMatch, steering_match
from psychollm.studies.steering_match.evidence import _null
from psychollm.studies.steering_match.result import finding
from tests.studies.steering_match.conftest import FEW, simulated


def test_an_order_that_was_there_before_is_told(study: SteeringMatch) -> None:
    assert finding(study) == "order"
    assert "unsteered model" in study.verdict
    assert study.p_values["held_out_kappa"] == 1 / 40
    assert study.controls[1].ahead.value > 0
    assert study.held_out_for_kappa.kappa.value.mean() > 0.2


def test_a_direction_that_reorders_is_told() -> None:
    steered, targets = simulated(0.3, gained=8.0, questions=400)
    control, _ = simulated(0.3, questions=400, seed=4)
    found = steering_match(steered, targets, controls={"random": control}, **FEW)
    assert finding(found) == "direction"
    assert "better than" in found.verdict
    two = steering_match(steered, targets, controls={"random": control, "other": control}, **FEW)
    assert "both control directions" in two.verdict
    alone = steering_match(steered, targets, **FEW)
    assert "no random direction was given" in alone.verdict
    rival = steering_match(steered, targets, controls={"itself": steered}, **FEW)
    assert finding(rival) == "control"
    assert "'itself'" in rival.verdict


def test_a_permutation_without_a_kappa_is_no_evidence() -> None:
    null = _null(np.array([0.3]), np.array([[0.1], [np.nan], [0.5]]), "kappa")
    assert null.draws.ravel().tolist() == [0.1, 0.0, 0.5]
