"""Metacognitive skill: abstention, revision, and coded traces; prompts, truth, analysis."""

import json
import re
import zlib
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd

from psychollm.collect import Store, readings
from psychollm.collect.export import replies
from psychollm.instruments import Abstention, Coding, Revision, read_questions
from psychollm.instruments.coding import FIVE, code_by_rules
from psychollm.instruments.coding.scoring import code_again
from psychollm.studies import abstention_skill, metacognitive_skill, revision_skill

HERE = Path(__file__).parent
SOURCE = """\
# as metacognitive_skill/kit.py reads run.sqlite and second.sqlite"""
MISSES = 0.2
JUDGE = 0  # the model that codes in the second stage, by its place in the plan

DUE = (0.95, 0.85, 0.6, 0.5, 0.35, 0.2)  # abstains where it should
UNDUE = (0.05, 0.1, 0.05, 0.1, 0.2, 0.05)  # where it should not
RIGHT = (0.85, 0.8, 0.75, 0.7, 0.6, 0.5)  # first answers
CATCH = (0.7, 0.6, 0.6, 0.4, 0.3, 0.2)  # reviews fault wrong answers
ALARM = (0.05, 0.1, 0.2, 0.1, 0.2, 0.3)  # reviews fault right answers
YIELD = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7)  # gives up right answers under pressure
CHECKS = (0.8, 0.7, 0.6, 0.4, 0.3, 0.1)  # traces that check something
SAME = 0.9  # chance that the judge gives the code that the rules give


def prompts(settings):
    """Return the prompts of the first stage."""
    questions = read_questions(HERE / settings["questions"])
    chosen = np.linspace(0, len(questions) - 1, settings["n_questions"]).astype(int)
    asked = Abstention(
        n_pairs=settings["n_pairs"], reasoned=settings["reasoned"], seed=settings["seed"]
    )
    revised = Revision(questions=[questions[i] for i in chosen], seed=settings["seed"])
    return (*asked.prompts(), *revised.prompts())


def second_stage(store, settings):
    """Return the prompts for a judge, about what models wrote in the first stage."""
    scores = readings(store, instrument="abstention").pooled_scores()
    right = {
        (model, row["item"]): row["correct"]
        for model, one in scores.items()
        for _, row in one.to_frame(model).iterrows()
    }
    traces, counts = [], {}
    for prompt, row in replies(store):
        model, text = row["model"], "\n\n".join(filter(None, (row["reasoning"], row["text"])))
        if prompt.about["instrument"] != "abstention" or not text.strip():
            continue
        counts[model] = counts.get(model, 0) + 1
        if counts[model] > settings["n_traces"]:
            continue
        known = right.get((model, prompt.item))
        traces.append(
            {
                "key": f"{model}/{prompt.key}",
                "text": text,
                "model": model,
                "item": prompt.item,
                "correct": None if pd.isna(known) else float(known),
            }
        )
    return Coding(transcripts=traces).prompts()


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


def analyse(folder, settings):
    """Study both stores."""
    n = settings.get("bootstrap", 2000)
    with Store(folder / "run.sqlite", create=False) as store:
        abstained = readings(store, instrument="abstention").pooled_scores()
        revised = readings(store, instrument="revision").pooled_scores()
    with Store(folder / "second.sqlite", create=False) as store:
        coded = readings(store, instrument="coding")
    answers = pd.concat([one.to_frame(model) for model, one in abstained.items()])
    (who, scores), *_ = coded.pooled_scores().items()
    rules = code_again(coded.prompts[who])
    codes = pd.concat([scores.to_frame(), rules.to_frame()], ignore_index=True)
    return {
        "abstention": abstention_skill(answers, bootstrap=n, rng=1),
        "revision": revision_skill(revised),
        "coding": metacognitive_skill(codes, coder="judge", bootstrap=n, rng=1),
    }


def truth(studies):
    """Return what is true beside what was found."""
    overall, rates = studies["abstention"].overall, studies["revision"].rates
    coding = studies["coding"]
    rows = []
    for what, estimate, true in (
        ("abstains where due", overall.recall, DUE),
        ("abstains where not due", overall.over_abstention, UNDUE),
        ("reviews fault wrong answers", rates["error_catch"], CATCH),
        ("reviews fault right answers", rates["false_alarm"], ALARM),
        ("gives up right answers", rates["sycophantic_flip"], YIELD),
    ):
        for row, label in enumerate(estimate.labels):
            low, high = estimate.interval[row]
            holds = np.isnan(low) or low <= true[row] <= high
            rows.append((f"{what}, {label}", true[row], estimate.text(row), bool(holds)))
    found = coding.prevalence["evaluation"]
    for row, label in enumerate(found.labels):
        # The judge codes 1 where rules give 0, and 0 where they give 2, once in ten times.
        true = CHECKS[row] * SAME + (1 - CHECKS[row]) * (1 - SAME)
        low, high = found.interval[row]
        holds = bool(low <= true <= high)
        rows.append((f"checks, {label}", f"{true:.2f}", found.text(row), holds))
    same = coding.agreement.codes["evaluation"].pairwise.value[0]
    rows.append(("judge and rules agree", SAME, f"{same:.2f}", bool(abs(same - SAME) < 0.08)))
    return rows
