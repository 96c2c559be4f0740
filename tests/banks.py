"""Small banks for those who ask what a bank draws."""

from functools import cache
from typing import Any

import numpy as np

from psychollm.bank import ItemBank, item_bank
from psychollm.data.responses import Responses


@cache
def small_bank(n: int) -> ItemBank:
    """Return a bank of questions q0, q1, ...: every third one is hard."""
    rng = np.random.default_rng(n)
    logits = rng.normal(size=(24, 1)) + np.where(np.arange(n) % 3, 1.5, -1.5)
    right = rng.random((24, n)) < 1 / (1 + np.exp(-logits))
    labels = [f"q{k}" for k in range(n)]
    return item_bank(Responses(right.astype(int), questions=labels), rng=1)


def hard_ones_wrong(question: str) -> float:
    """Answer as a model that gets every third question wrong and nearly all others right."""
    k = int(question[1:])
    return float(k % 3 != 0) if k % 8 else float(k % 3 == 0)


def told(found: Any) -> list[float]:
    """Return the score and interval of an estimate."""
    return [float(found.value[0]), *map(float, found.interval[0])]
