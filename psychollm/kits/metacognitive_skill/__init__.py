"""Simulation of metacognitive skill (Kargupta et al., 2025): abstention, revision and traces."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from psychollm._base.errors import InputError
from psychollm.instruments.coding import FIVE, code_by_rules
from psychollm.instruments.prompt import Prompt
from psychollm.kits.respondents import Respondents, Truth, Turns, turn, wrong

# Each tuple has one probability per model.
DUE = (0.95, 0.85, 0.6, 0.5, 0.35, 0.2)  # probability of abstaining when it is appropriate
UNDUE = (0.05, 0.1, 0.05, 0.1, 0.2, 0.05)  # probability of abstaining when it is inappropriate
RIGHT = (0.85, 0.8, 0.75, 0.7, 0.6, 0.5)  # probability of a correct first answer
CATCH = (0.7, 0.6, 0.6, 0.4, 0.3, 0.2)  # probability of rejecting a wrong answer in review
ALARM = (0.05, 0.1, 0.2, 0.1, 0.2, 0.3)  # probability of rejecting a correct answer in review
# probability of abandoning a correct answer under pressure
YIELD = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7)
CHECKS = (0.8, 0.7, 0.6, 0.4, 0.3, 0.1)  # probability that a trace contains a check
SAME = 0.9  # probability that judge and rules give the same code


class Simulated(Respondents):
    """Models that abstain, review and yield to pressure with known probabilities, and a judge."""

    INSTRUMENTS = frozenset({"abstention", "revision"})
    JUDGES = frozenset({"coding"})

    @cached_property
    def coded(self) -> Counter[str]:
        """Number of codings of each trace so far; several traces may be identical."""
        return Counter()

    def answer(self, prompt: Prompt, model: int, turns: Turns, rng: np.random.Generator) -> str:
        """Abstain, answer, review, or yield to pressure, with the model's probabilities."""
        about = prompt.about
        right = str(about["reference"][0]) if about.get("reference") else "12"

        def happens(chances: tuple[float, ...]) -> bool:
            return bool(rng.random() < turn(chances, model))

        if about["instrument"] == "abstention":
            thought = "Let me check that against what is given. " if happens(CHECKS) else ""
            due = about["should_abstain"]
            if happens(DUE if due else UNDUE):
                return f"{thought}Answer: This cannot be answered from what is given."
            return f"{thought}Answer: {right if not due and happens(RIGHT) else '12'}"
        stage = about["stage"]
        if stage == "first":
            return f"Answer: {right if happens(RIGHT) else wrong(right)}"
        first = next(one["content"] for one in turns if one["role"] == "assistant")
        was_right = first == f"Answer: {right}"
        if stage == "critique":
            return f"Verdict: {'yes' if happens(ALARM if was_right else CATCH) else 'no'}"
        if stage == "revised" and "yes" in turns[-2]["content"]:
            return f"Answer: {wrong(right) if was_right else right}"
        if stage == "insist_wrong" and was_right and happens(YIELD):
            return f"Answer: {about['suggested']}"
        return first

    def judge(self, turns: Turns) -> str:
        """Return a simulated judge's codes of a trace; most codes agree with the rules."""
        text = turns[-1]["content"]
        trace = re.search(r"<<<\n(.*)\n>>>", text, re.DOTALL)
        if trace is None:
            msg = "the simulated judge codes traces, but this prompt has none"
            raise InputError(msg)
        self.coded[text] += 1
        rng = self.rng("judge", text, self.held, self.coded[text])
        found = code_by_rules(trace[1])
        told = {}
        for name in FIVE.names:
            code = found.codes[name] or 0
            if rng.random() > SAME:
                code = (code + 1) % 3
            quotes = [one.words for one in found.spans if one.category == name]
            told[name] = {"code": code, "quotes": quotes}
        return json.dumps(told)

    def truths(self, found: Mapping[str, Mapping[str, Any]]) -> Iterator[Truth]:
        """Yield the models' true rates, and the true agreement of the judge with the rules."""
        rows = [row for row in found["abstention"]["abstention"] if row["scenario"] == "all"]
        for name, true in {"recall": DUE, "over_abstention": UNDUE}.items():
            yield from self.by_model(name, self._each(true), rows, name)
        for name, true in {
            "error_catch": CATCH,
            "false_alarm": ALARM,
            "sycophantic_flip": YIELD,
        }.items():
            rows = [row for row in found["revision"]["revision"] if row["measure"] == name]
            yield from self.by_model(name, self._each(true), rows, "value")
        coding = found["coding"]
        rows = [row for row in coding["behaviours"] if row["category"] == "evaluation"]
        # In 10 % of codings, the judge codes 1 instead of 0, and 0 instead of 2.
        coded = tuple(checks * SAME + (1 - checks) * (1 - SAME) for checks in CHECKS)
        yield from self.by_model("evaluation", self._each(coded), rows, "prevalence")
        agreed = [row for row in coding["agreement"] if row["category"] == "evaluation"]
        same = agreed[0]["same_code"]
        n = len({row["item"] for row in coding["codes"]})
        reach = 1.96 * float(np.sqrt(SAME * (1 - SAME) / n))
        yield Truth("judge and rules agree", SAME, same, same - reach, same + reach)

    def _each(self, chances: tuple[float, ...]) -> list[float]:
        return [turn(chances, k) for k in range(len(self.models))]
