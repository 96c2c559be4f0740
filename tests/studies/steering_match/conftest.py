"""A sweep with a planted match."""

from typing import Any

import numpy as np
import pytest

import psychollm as psy
from psychollm.studies import SteeredAnswers, SteeringMatch, steering_match

FEW: dict[str, Any] = {"n_null": 39, "bootstrap": 60, "rng": 0, "steps": 2}
STRENGTHS = np.linspace(-1.0, 1.0, 11)


def simulated(
    known: float, *, gained: float = 0.0, questions: int = 150, targets: int = 7, seed: int = 0
) -> tuple[SteeredAnswers, psy.Responses]:
    """Simulate a sweep that knows the shared score in part, and targets with one factor."""
    rng = np.random.default_rng(seed)
    score = rng.normal(size=questions)
    tau = np.linspace(-1.2, 1.2, targets)
    noise = rng.normal(size=(targets, questions))
    answers = (0.8 * score + 0.6 * noise > tau[:, None]).astype(int)
    base = known * score + np.sqrt(1 - known**2) * rng.normal(size=questions)
    gain = 4.0 + rng.normal(size=questions)
    odds = 2.0 * base + STRENGTHS[:, None] * gain + gained * np.abs(STRENGTHS)[:, None] * score
    labels = [f"q{i}" for i in range(questions)]
    steered = SteeredAnswers.from_array(
        odds, strengths=STRENGTHS, scale="log_odds", questions=labels
    )
    models = [f"m{i}" for i in range(targets)]
    return steered, psy.Responses(answers, models=models, questions=labels)


@pytest.fixture(scope="package")
def study() -> SteeringMatch:
    steered, targets = simulated(0.8)
    control, _ = simulated(0.0, seed=9)
    return steering_match(steered, targets, controls={"random 1": control}, **FEW)
