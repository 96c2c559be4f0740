"""Metacognitive skill: abstention, revision, and coded traces; a truth to find again."""

import json
import re
import zlib
from collections import Counter

import numpy as np

from psychollm.instruments.coding import FIVE, code_by_rules

STUDY = "metacognitive_skill"
SMALL = {"n_pairs": 3, "n_questions": 12, "n_items": 8}

DUE = (0.95, 0.85, 0.6, 0.5, 0.35, 0.2)  # abstains where it should
UNDUE = (0.05, 0.1, 0.05, 0.1, 0.2, 0.05)  # where it should not
RIGHT = (0.85, 0.8, 0.75, 0.7, 0.6, 0.5)  # first answers
CATCH = (0.7, 0.6, 0.6, 0.4, 0.3, 0.2)  # reviews fault wrong answers
ALARM = (0.05, 0.1, 0.2, 0.1, 0.2, 0.3)  # reviews fault right answers
YIELD = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7)  # gives up right answers under pressure
CHECKS = (0.8, 0.7, 0.6, 0.4, 0.3, 0.1)  # traces that check something
SAME = 0.9  # chance that the judge gives the code that the rules give


def answer(prompt, model, turns, rng):
    """Abstain, answer, review and yield with the chances of the model."""
    about = prompt.about
    right = about["reference"][0] if about.get("reference") else "12"
    if about["instrument"] == "abstention":
        checks = rng.random() < CHECKS[model]
        thought = "Let me check that against what is given. " if checks else ""
        due = about["should_abstain"]
        if rng.random() < (DUE if due else UNDUE)[model]:
            return f"{thought}Answer: This cannot be answered from what is given."
        return f"{thought}Answer: {right if not due and rng.random() < RIGHT[model] else '12'}"
    stage = about["stage"]
    if stage == "first":
        return f"Answer: {right if rng.random() < RIGHT[model] else wrong(right)}"
    first = next(turn["content"] for turn in turns if turn["role"] == "assistant")
    was_right = first == f"Answer: {right}"
    if stage == "critique":
        faults = rng.random() < (ALARM if was_right else CATCH)[model]
        return f"Verdict: {'yes' if faults else 'no'}"
    if stage == "revised" and "yes" in turns[-2]["content"]:
        return f"Answer: {wrong(right) if was_right else right}"
    if stage == "insist_wrong" and was_right and rng.random() < YIELD[model]:
        return f"Answer: {about['suggested']}"
    return first


def wrong(right):
    """Return an answer that is not right."""
    return str(int(right) + 7) if right.isdigit() else "Zanzibar"


seen = Counter()


def judge(turns):
    """Code a trace as the rules do, mostly."""
    trace = re.search(r"<<<\n(.*)\n>>>", turns[-1]["content"], re.DOTALL)[1]
    text = turns[-1]["content"]
    seen[text] += 1  # traces may be alike
    rng = np.random.default_rng([seen[text], zlib.crc32(text.encode())])
    found = code_by_rules(trace)
    told = {}
    for name in FIVE.names:
        code = found.codes[name]
        if rng.random() > SAME:
            code = (code + 1) % 3
        told[name] = {"code": code, "quotes": [s.words for s in found.spans if s.category == name]}
    return json.dumps(told)


def truth(folder):
    """Yield what is true, and what was found."""
    found = {
        name: json.loads((folder / name / "results.json").read_text(encoding="utf-8"))
        for name in ("abstention", "revision", "coding")
    }
    overall = [row for row in found["abstention"]["abstention"] if row["scenario"] == "all"]
    for name, true in {"recall": DUE, "over_abstention": UNDUE}.items():
        yield from among(name, true, overall, name)
    for name, true in {
        "error_catch": CATCH,
        "false_alarm": ALARM,
        "sycophantic_flip": YIELD,
    }.items():
        rows = [row for row in found["revision"]["revision"] if row["measure"] == name]
        yield from among(name, true, rows, "value", "")
    rows = [row for row in found["coding"]["behaviours"] if row["category"] == "evaluation"]
    # The judge codes 1 where rules give 0, and 0 where they give 2, once in ten times.
    true = [checks * SAME + (1 - checks) * (1 - SAME) for checks in CHECKS]
    yield from among("evaluation", true, rows, "prevalence")
    same = next(
        row["same_code"] for row in found["coding"]["agreement"] if row["category"] == "evaluation"
    )
    yield "judge and rules agree", SAME, same, same - 0.08, same + 0.08


def among(what, true, rows, name, prefix=None):
    """Yield one truth for each model."""
    ends = f"{name}_" if prefix is None else prefix
    for chance, row in zip(true, rows, strict=True):
        interval = (row[f"{ends}lower"], row[f"{ends}upper"])
        yield f"{what}, {row['model']}", chance, row[name], *interval
