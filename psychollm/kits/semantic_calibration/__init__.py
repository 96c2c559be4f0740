"""Simulation of semantic calibration (Nakkiran et al., 2025): one of three arms is calibrated."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from psychollm.instruments.arms import arm_of
from psychollm.instruments.prompt import Prompt
from psychollm.kits.respondents import Respondents, Truth, Turns, shown, turn, wrong

# Overconfidence of each arm, as a factor of the log odds. Without arms, models cycle through these
# factors.
POWERS = {"base": 1.0, "instruct": 3.0, "reasoning": 1.8}


class Simulated(Respondents):
    """Models that draw one of two answers; in two arms, the likelier answer is too frequent."""

    INSTRUMENTS = frozenset({"semantic_sampling"})

    def answer(self, prompt: Prompt, model: int, turns: Turns, rng: np.random.Generator) -> str:
        """Draw one of two answers; a power of 1 gives calibrated frequencies."""
        drawn = self.rng("question", prompt.item)
        chance = drawn.uniform(0.5, 1.0)
        likelier_is_right = drawn.random() < chance
        likelier = rng.random() < _sharpened(chance, self._power(arm_of(prompt), model))
        right = str(prompt.about["reference"][0])
        return right if likelier == likelier_is_right else wrong(right)

    def truths(self, found: Mapping[str, Mapping[str, Any]]) -> Iterator[Truth]:
        """Yield, for each arm, whether it is calibrated and how overconfident it is."""
        study = found["semantic_sampling"]
        if "contrasts" in study:
            yield from _of_arms(study)
            return
        rows = study["arms"]
        powers = [self._power("", self.models.index(row["arm"])) for row in rows]
        for row, power in zip(rows, powers, strict=True):
            what = "calibrated (p > .05)" if power == 1.0 else "not calibrated (p < .05)"
            yield shown(f"{what}, {row['arm']}", (row["p_value"] > 0.05) == (power == 1.0))
            yield Truth(
                f"overconfidence, {row['arm']}",
                _overconfidence(power),
                row["excess_overconfidence"],
                row["excess_overconfidence_lower"],
                row["excess_overconfidence_upper"],
            )

    def _power(self, arm: str, model: int) -> float:
        return POWERS[arm] if arm in POWERS else turn(tuple(POWERS.values()), model)


def _of_arms(study: Mapping[str, Any]) -> Iterator[Truth]:
    """Yield each model's overconfidence in each arm, and the differences between arms."""
    measure = "overconfidence beyond a calibrated model"
    for row in study["arms"]:
        if row["measure"] == measure:
            what = f"overconfidence, {row['model']}, {row['arm']}"
            yield Truth(what, _overconfidence(POWERS[row["arm"]]), *_found(row))
    for row in study["contrasts"]:
        arms = f"{row['first']} - {row['second']}"
        if row["measure"] == measure and np.isfinite(row["lower"] or np.nan):
            true = _overconfidence(POWERS[row["first"]]) - _overconfidence(POWERS[row["second"]])
            yield Truth(f"difference of arms in overconfidence, {arms}, {row['model']}", true,
                        *_found(row))  # fmt: skip
        if row["measure"] == study["contrasts"][0]["measure"] and row["model"] == "these models":
            yield shown(f"an arm is calibrated worse than base, {arms}", row["lower"] > 0.0)


def _found(row: Mapping[str, Any]) -> tuple[float, float, float]:
    return row["value"], row["lower"], row["upper"]


def _overconfidence(power: float) -> float:
    """Return the mean difference between reported and true probability."""
    chances = (np.arange(100_000) + 0.5) / 200_000 + 0.5
    return float(np.mean(_sharpened(chances, power) - chances))


def _sharpened(chance: Any, power: float) -> Any:
    """Return a probability whose log odds are multiplied by `power`."""
    return chance**power / (chance**power + (1 - chance) ** power)
