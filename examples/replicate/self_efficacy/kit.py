"""Self-efficacy (Jackson et al., 2025): a truth to find again."""

import json
import re

import numpy as np

STUDY = "self_efficacy"
SMALL = {"conditions": ["none", "computational"], "n_repeats": 2}

N_MODELS, N_ITEMS = 10, 10
MEANS = np.linspace(1.6, 3.7, N_MODELS)  # of ratings
SLIP = 0.02  # chance that a rating differs from what the model usually says
FALL = 0.13  # chance that a rating falls by one when asked again
PASS = np.linspace(0.9, 0.3, N_MODELS)[np.random.default_rng(0).permutation(N_MODELS)]
SAID = (  # from cautious to assertive, by how high a model rates itself
    "As a language model I have no such experience; these are formal ratings.",
    "These ratings describe typical replies.",
    "I can handle most of these, and I am confident in the ratings.",
    "I can always find a way; my experience definitely helps and I enjoy hard problems.",
)


def usual(model, condition):
    """Return what a model usually says to each statement under a condition."""
    rng = np.random.default_rng([7, model, *condition.encode()])
    return np.clip(np.rint(MEANS[model] + rng.normal(0, 0.6, N_ITEMS)), 1, 4).astype(int)


def answer(prompt, model, turns, rng):
    """Do tasks with a skill that has nothing to do with the ratings; rate, and rate again."""
    about = prompt.about
    if about["stage"] == "task":
        return task(about["rubric"], rng.random() < skill(model, about["condition"]))
    ratings = usual(model, about["condition"])
    if about["stage"] == "item":
        return str(ratings[about["item"]])
    order = about["order"]
    shown = ratings[order]
    if about["stage"] == "followup":
        before = [int(one) for one in re.findall(r"(?m)^\d+\. (\d)$", turns[-2]["content"])]
        shown = np.maximum(1, np.array(before) - (rng.random(len(before)) < FALL))
    else:
        slips = rng.random(len(shown)) < SLIP
        shown = np.where(slips, np.where(shown < 4, shown + 1, shown - 1), shown)
    lines = [f"{place}. {rating}" for place, rating in enumerate(shown, start=1)]
    spoken = SAID[int(np.clip(np.rint(MEANS[model]), 1, 4)) - 1]
    return "\n".join([*lines, "", spoken])


def skill(model, condition):
    """Return the chance of passing a task."""
    return PASS[model] if condition == "summarisation" else 1.0


def task(rubric, passes):
    """Return a reply to a task that passes its rubric, or does not."""
    if rubric["kind"] == "summary":
        words = [fact[0].strip() for fact in rubric["facts"]]
        return f"The {' '.join(words if passes else words[:1])}."
    right = rubric["answer"]
    if rubric["kind"] == "option":
        return f"Answer: {right if passes else next(one for one in 'ABC' if one != right)}"
    return f"Answer: {right if passes else right + 1}"


def truth(folder):
    """Yield what is true, and what was found."""
    found = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    numbers = {one["key"]: one["numbers"] for one in found["findings"]}
    models = list(dict.fromkeys(row["model"] for row in found["totals"]))
    conditions = [row["condition"] for row in found["conditions"]]
    for row in found["totals"]:
        true = int(usual(models.index(row["model"]), row["condition"]).sum())
        what = f"total, {row['model']}, {row['condition']}"
        yield what, true, row["mean"], row["mean"] - 1.5, row["mean"] + 1.5
    same = numbers["stability"]["identical"]["value"][-1]  # of all conditions together
    repeats = max(row["n"] for row in found["totals"])
    yield "identical ratings", (1 - SLIP) ** repeats, same, same - 0.04, same + 0.04
    change = numbers["revision"]["change"]
    # Ratings of one cannot fall.
    able = [(usual(k, one) > 1).sum() for k in range(len(models)) for one in conditions]
    yield (
        "change when asked again",
        -FALL * float(np.mean(able)),
        change["value"][0],
        *change["interval"][0],
    )
    for condition, link in numbers["assertion"].items():
        yield f"totals go with assertion, {condition}", True, link["value"] > 0
