"""Semantic calibration (Nakkiran et al., 2025): one arm as sure as it is right, two surer."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from psychollm.instruments.prompt import Prompt
from psychollm.kits.respondents import Respondents, Truth, Turns, shown, turn, wrong

POWERS = (1.0, 3.0, 1.8)  # how much surer each arm is than it should be, in log odds


class Simulated(Respondents):
    """Models that give one of two answers, the likelier more often than it is right."""

    INSTRUMENTS = frozenset({"semantic_sampling"})

    def answer(self, prompt: Prompt, model: int, turns: Turns, rng: np.random.Generator) -> str:
        """Draw one of two answers; with a power of one it is right as often as it is likely."""
        drawn = self.rng("question", prompt.item)
        chance = drawn.uniform(0.5, 1.0)
        likelier_is_right = drawn.random() < chance
        likelier = rng.random() < _sharpened(chance, turn(POWERS, model))
        right = str(prompt.about["reference"][0])
        return right if likelier == likelier_is_right else wrong(right)

    def truths(self, found: Mapping[str, Mapping[str, Any]]) -> Iterator[Truth]:
        """Yield which arms are calibrated, and by how much the others are overconfident."""
        rows = found["semantic_sampling"]["arms"]
        powers = [turn(POWERS, self.models.index(row["arm"])) for row in rows]
        chances = (np.arange(100_000) + 0.5) / 200_000 + 0.5
        for row, power in zip(rows, powers, strict=True):
            what = "calibrated (p > .05)" if power == 1.0 else "not calibrated (p < .05)"
            yield shown(f"{what}, {row['arm']}", (row["p_value"] > 0.05) == (power == 1.0))
            yield Truth(
                f"overconfidence, {row['arm']}",
                float(np.mean(_sharpened(chances, power) - chances)),
                row["excess_overconfidence"],
                row["excess_overconfidence_lower"],
                row["excess_overconfidence_upper"],
            )


def _sharpened(chance: Any, power: float) -> Any:
    """Return a chance with its log odds multiplied."""
    return chance**power / (chance**power + (1 - chance) ** power)
