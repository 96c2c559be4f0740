"""A small bank that the tests of this folder share, and models that it has not seen."""

import numpy as np
import pytest

import psychollm as psy
from psychollm.bank import ItemBank


def simulated(n: int, j: int, seed: int, *, second: float = 0.5) -> np.ndarray:
    """Answers by a 2PL with a second ability that some questions need."""
    rng = np.random.default_rng(seed)
    ability = rng.normal(size=(n, 2)) * [1.2, second]
    slopes = np.stack([np.exp(0.4 * rng.normal(size=j)), rng.normal(size=j)])
    chance = 1.0 / (1.0 + np.exp(-(ability @ slopes + rng.normal(0.3, 1.5, size=j))))
    return (rng.random((n, j)) < chance).astype(float)


@pytest.fixture(scope="session")
def answers() -> np.ndarray:
    return simulated(60, 600, 1)


@pytest.fixture(scope="session")
def bank(answers: np.ndarray) -> ItemBank:
    domains = ["arithmetic"] * 200 + ["history"] * 400
    return psy.item_bank(answers[:40], domains=domains, rng=1)
