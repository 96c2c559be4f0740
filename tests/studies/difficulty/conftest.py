"""Questions whose difficulty is in their text."""

import numpy as np
import pytest

TOWNS = ("Rome", "Bern", "Oslo", "Riga", "Lima", "Baku", "Nuku'alofa")


def asked(n: int = 160, seed: int = 0) -> tuple[list[str], np.ndarray]:
    """Simulate questions of two kinds, and how easy they are."""
    rng = np.random.default_rng(seed)
    texts, easy = [], []
    for _ in range(n):
        if rng.random() < 0.5:
            digits = int(rng.integers(1, 8))
            texts.append(f"What is {'7' * digits} + {rng.integers(10**digits)}?")
            easy.append(1.5 - 0.5 * digits)
        else:
            town = TOWNS[int(rng.integers(len(TOWNS)))]
            texts.append(f"Which country has {town} as its capital?")
            easy.append(0.8 if town < "N" else -0.8)
    return texts, np.array(easy)


@pytest.fixture(scope="package")
def texts() -> list[str]:
    return asked()[0]


@pytest.fixture(scope="package")
def easy() -> np.ndarray:
    return asked()[1]


@pytest.fixture(scope="package")
def right(easy: np.ndarray) -> np.ndarray:
    chance = 1.0 / (1.0 + np.exp(-2.0 * easy))
    return (np.random.default_rng(1).random(easy.size) < chance).astype(float)
