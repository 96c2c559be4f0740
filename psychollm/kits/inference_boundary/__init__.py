"""Simulated models for the study of inference boundaries (Wong, 2026)."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from psychollm.instruments.prompt import Prompt
from psychollm.kits.respondents import Respondents, Truth, Turns, turn

# Pass rates for types A, B, C and M. The rates for A and C, and Gemma's rate for B, are from the
# essay. All other rates are invented, but have similar values.
RATES = (
    (0.60, 0.80, 0.878, 1.0),
    (0.90, 0.75, 0.544, 1.0),
    (0.97, 0.489, 0.733, 1.0),
    (0.90, 0.80, 0.678, 1.0),
    (0.93, 0.85, 0.444, 1.0),
    (0.97, 0.95, 0.85, 1.0),
    (0.93, 0.97, 0.80, 1.0),
    (0.95, 0.90, 0.70, 1.0),
    (0.85, 0.65, 0.40, 0.85),
)
AGAIN = 0.9  # probability that a run repeats the first run
HEDGES = 0.5  # probability of a hedge with a number for an undefined word
REFUSES = 0  # index of the model that refuses if it does not pass


class Simulated(Respondents):
    """Models with a pass rate for each type of question."""

    INSTRUMENTS = frozenset({"rule_world"})

    def answer(self, prompt: Prompt, model: int, turns: Turns, rng: np.random.Generator) -> str:
        """Pass or fail at the model's rate for the question type; most reruns agree."""
        about = prompt.about
        first = self.rng("first", model, prompt.item)
        passes = (first if rng.random() < AGAIN else rng).random() < self.rate(
            model, about["type"]
        )
        if "claims" in about:
            letters = [one for one, claim in about["claims"].items() if (claim == "gap") == passes]
            return f"Answer: {letters[0] if passes else letters[int(rng.integers(len(letters)))]}"
        if about["type"] == "B":
            if passes:
                return f"The rules do not define it.\nAnswer: {about['undefined']}"
            # Hedges are drawn separately, with the same consistency between runs as passes.
            hedges = (first if rng.random() < AGAIN else rng).random() < HEDGES
            return f"{'It is unclear, but I take a guess.' if hedges else ''}\nAnswer: 17"
        if passes:
            return f"Answer: {about['correct']}"
        return "Answer: the rules do not say" if model == REFUSES else "Answer: 99999"

    def rate(self, model: int, kind: str) -> float:
        """Return the probability that a model passes a type of question."""
        return turn(RATES, model)["ABCM".index(kind)]

    def truths(self, found: Mapping[str, Mapping[str, Any]]) -> Iterator[Truth]:
        """Yield true and estimated pass rates, hedged answers, and certainty inversions."""
        study = found["rule_world"]
        for kind in dict.fromkeys(row["type"] for row in study["profiles"]):
            rows = [row for row in study["profiles"] if row["type"] == kind]
            rates = [self.rate(model, kind) for model in range(len(self.models))]
            yield from self.by_model(str(kind), rates, rows, "rate")
        hedged = [(1.0 - self.rate(k, "B")) * HEDGES for k in range(len(self.models))]
        rows = study.get("keyword_minus_strict", [])
        yield from self.by_model("keyword minus strict", hedged, rows, "value")
        inversion = [self.rate(k, "C") - self.rate(k, "A") for k in range(len(self.models))]
        yield from self.by_model("inversion", inversion, study["certainty_inversion"], "value")
