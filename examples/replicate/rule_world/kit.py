"""Inference boundary (Wong, 2026): a truth to find again."""

import json

import numpy as np

STUDY = "inference_boundary"
SMALL = {"n": [6, 6, 6, 3], "n_repeats": 2}

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
AGAIN = 0.9  # chance that a run repeats what the first would say


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


def truth(folder):
    """Yield what is true, and what was found: every rate, and the inversion."""
    found = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    for row in found["profiles"]:
        true = RATES[row["model"]]["ABCM".index(row["type"])]
        yield f"{row['type']}, {row['model']}", true, row["rate"], row["lower"], row["upper"]
    for row in found["certainty_inversion"]:
        rates = RATES[row["model"]]
        what = f"inversion, {row['model']}"
        yield what, rates[2] - rates[0], row["value"], row["lower"], row["upper"]
