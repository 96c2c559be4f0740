"""Simulation of self-efficacy (Jackson et al., 2025): stable ratings that drop on repetition."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from psychollm._base.types import IntArray
from psychollm.instruments.prompt import Prompt
from psychollm.kits.respondents import Respondents, Truth, Turns, shown

N_ITEMS = 10
MEANS = (1.6, 3.7)  # mean ratings of the first and last model
SLIP = 0.02  # probability that a rating differs from the model's usual rating
FALL = 0.13  # probability that a repeated rating is lower by one
# range over models of the probability of solving a task; models are in random order
PASS = (0.9, 0.3)
SAID = (  # comments from cautious to assertive, by mean rating
    "As a language model I have no such experience; these are formal ratings.",
    "These ratings describe typical replies.",
    "I can handle most of these, and I am confident in the ratings.",
    "I can always find a way; my experience definitely helps and I enjoy hard problems.",
)


class Simulated(Respondents):
    """Models with stable ratings that are unrelated to their skill."""

    INSTRUMENTS = frozenset({"self_efficacy"})

    def mean(self, model: int) -> float:
        """Return the mean of a model's ratings."""
        return float(np.linspace(*MEANS, len(self.models))[model])

    def usual(self, model: int, condition: str) -> IntArray:
        """Return a model's usual rating of each statement under a condition."""
        rng = self.rng("usual", model, condition)
        drawn = np.rint(self.mean(model) + rng.normal(0, 0.6, N_ITEMS))
        return np.clip(drawn, 1, 4).astype(np.int64)

    def answer(self, prompt: Prompt, model: int, turns: Turns, rng: np.random.Generator) -> str:
        """Return a simulated reply to a task, or ratings that are unrelated to skill."""
        about = prompt.about
        if about["stage"] == "task":
            return _task(about["rubric"], rng.random() < self.skill(model, about["condition"]))
        ratings = self.usual(model, about["condition"])
        if about["stage"] == "item":
            return str(ratings[about["item"]])
        shown = ratings[list(about["order"])]
        if about["stage"] == "followup":
            before = [int(one) for one in re.findall(r"(?m)^\d+\. (\d)$", turns[-2]["content"])]
            shown = np.maximum(1, np.array(before) - (rng.random(len(before)) < FALL))
        else:
            slips = rng.random(len(shown)) < SLIP
            shown = shown + slips * _way(shown)
        lines = [f"{place}. {rating}" for place, rating in enumerate(shown, start=1)]
        spoken = SAID[int(np.clip(np.rint(self.mean(model)), 1, 4)) - 1]
        return "\n".join([*lines, "", spoken])

    def skill(self, model: int, condition: str) -> float:
        """Return the probability of solving a task."""
        order = self.rng("skill").permutation(len(self.models))
        passes = float(np.linspace(*PASS, len(self.models))[order][model])
        return passes if condition == "summarisation" else 1.0

    def truths(self, found: Mapping[str, Mapping[str, Any]]) -> Iterator[Truth]:
        """Yield true totals, stability and change of ratings, and signs of correlations."""
        study = found["self_efficacy"]
        numbers = {one["key"]: one["numbers"] for one in study["findings"]}
        for row in study["totals"]:
            usual = self.usual(self.models.index(row["model"]), row["condition"])
            true = float((usual + SLIP * _way(usual)).sum())
            # The study's interval often has zero width, because there are three administrations
            # and few ratings change. The tolerance is increased by half a step, because totals are
            # integers.
            reach = 1.96 * np.sqrt(N_ITEMS * SLIP * (1 - SLIP) / row["n"]) + 0.5 / row["n"]
            what = f"total, {row['model']}, {row['condition']}"
            yield Truth(what, true, row["mean"], row["mean"] - reach, row["mean"] + reach)
        same = numbers["stability"]["identical"]
        repeats = max(row["n"] for row in study["totals"])
        true = (1 - SLIP) ** repeats + SLIP**repeats
        yield Truth("identical ratings", true, same["value"][-1], *same["interval"][-1])
        change = numbers["revision"]["change"]
        # Ratings of 1, the lowest, cannot fall.
        conditions = [row["condition"] for row in study["conditions"]]
        able = [(self.usual(k, c) > 1).sum() for k in range(len(self.models)) for c in conditions]
        fall = -FALL * float(np.mean(able))
        yield Truth("change when asked again", fall, change["value"][0], *change["interval"][0])
        for condition, link in numbers["assertion"].items():
            yield shown(f"totals correlate with assertion, {condition}", link["value"] > 0)


def _way(ratings: IntArray) -> IntArray:
    """Return the size of a random error of each rating: +1, or -1 for the highest rating."""
    return np.where(ratings < 4, 1, -1)


def _task(rubric: Mapping[str, Any], passes: bool) -> str:  # noqa: FBT001 -- the outcome of a draw
    """Return a simulated reply that passes or fails the rubric of a task."""
    if rubric["kind"] == "summary":
        words = [fact[0].strip() for fact in rubric["facts"]]
        return f"The {' '.join(words if passes else words[:1])}."
    right = rubric["answer"]
    if rubric["kind"] == "option":
        return f"Answer: {right if passes else next(one for one in 'ABC' if one != right)}"
    return f"Answer: {right if passes else right + 1}"
