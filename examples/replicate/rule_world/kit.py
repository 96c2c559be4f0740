"""Inference boundary (Wong, 2026): prompts, simulated truth, analysis."""

import numpy as np
import pandas as pd

import psychollm as psy
from psychollm.collect import Store, readings
from psychollm.instruments import RuleWorld

SOURCE = """\
import pandas as pd
from psychollm.collect import Store, readings

with Store("run.sqlite") as store:
    scores = readings(store, instrument="rule_world").pooled_scores()
answers = pd.concat([one.to_frame(model) for model, one in scores.items()])"""
MISSES = 0.2

# The rates of the essay where it gives them (A, C; B of Gemma), and others near them.
RATES = {
    "DeepSeek V3.2": (0.60, 0.80, 0.878, 1.0),
    "DeepSeek R1": (0.90, 0.75, 0.544, 1.0),
    "Gemma 3": (0.97, 0.489, 0.733, 1.0),
    "Qwen3 235B": (0.90, 0.80, 0.678, 1.0),
    "Qwen3 next 80B thinking": (0.93, 0.85, 0.444, 1.0),
    "GPT-5": (0.97, 0.95, 0.85, 1.0),
    "Claude Sonnet": (0.93, 0.97, 0.80, 1.0),
    "Gemini Pro": (0.95, 0.90, 0.70, 1.0),
    "Llama 4 Maverick": (0.85, 0.65, 0.40, 0.85),
}
THINKING = [("Qwen3 next 80B thinking", "Qwen3 235B"), ("DeepSeek R1", "DeepSeek V3.2")]
AGAIN = 0.9  # chance that a run repeats what the first would say


def prompts(settings):
    """Return the prompts of the mix."""
    options = dict(settings)
    return RuleWorld(**{**options, "n": tuple(options["n"])}).prompts()


def answer(prompt, model, turns, rng):
    """Pass with the chance of the model and the type, mostly alike in all runs."""
    about, name = prompt.about, list(RATES)[model]
    rate = RATES[name]["ABCM".index(about["type"])]
    first = np.random.default_rng([model, *prompt.item.encode()])
    passes = (first if rng.random() < AGAIN else rng).random() < rate
    if "claims" in about:
        letters = [one for one, claim in about["claims"].items() if (claim == "gap") == passes]
        return f"Answer: {letters[0] if passes else letters[int(rng.integers(len(letters)))]}"
    if about["type"] == "B":
        return f"Answer: {about['undefined']}" if passes else "Answer: 17"
    if passes:
        return f"Answer: {about['correct']}"
    return "Answer: the rules do not say" if name == "DeepSeek V3.2" else "Answer: 99999"


def analyse(folder, settings):
    """Study the store."""
    n = settings.get("bootstrap", 2000)
    with Store(folder / "run.sqlite", create=False) as store:
        scores = readings(store, instrument="rule_world").pooled_scores()
    answers = pd.concat([one.to_frame(model) for model, one in scores.items()], ignore_index=True)
    pairs = [pair for pair in THINKING if set(pair) <= set(scores)]
    return {"report": psy.inference_boundary(answers, thinking=pairs, bootstrap=n, rng=1)}


def truth(studies):
    """Return what is true beside what was found: every rate, and the inversion."""
    study, rows = studies["report"], []
    for kind, profile in study.profiles.items():
        rate = profile.retest.rate
        for row, label in enumerate(rate.labels):
            true = RATES[label]["ABCM".index(kind)]
            low, high = rate.interval[row]
            rows.append((f"{kind}, {label}", true, rate.text(row), bool(low <= true <= high)))
    gap = study.certainty_inversion
    for row, label in enumerate(gap.labels):
        true = RATES[label][2] - RATES[label][0]
        low, high = gap.interval[row]
        what = f"inversion, {label}"
        rows.append((what, f"{true:+.3f}", gap.text(row, signed=True), bool(low <= true <= high)))
    return rows
