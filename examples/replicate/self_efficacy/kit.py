"""Self-efficacy (Jackson et al., 2025): prompts, simulated truth, analysis."""

import re
from pathlib import Path

import numpy as np

import psychollm as psy
from psychollm.collect import Store, readings
from psychollm.collect.export import replies
from psychollm.instruments import Coding, SelfEfficacy, read_scale

HERE = Path(__file__).parent
SOURCE = """\
from psychollm.collect import Store, readings

with Store("run.sqlite") as store:
    scores = readings(store, instrument="self_efficacy").pooled_scores()"""
MISSES = 0.2

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


def prompts(settings):
    """Return tasks, ratings and follow-ups."""
    options = dict(settings)
    if "scale" in options:
        options["scale"] = read_scale(HERE / options["scale"])
    several = ("conditions", "modes", "followups")
    options |= {name: tuple(options[name]) for name in several if name in options}
    return SelfEfficacy(**options).prompts()


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


def analyse(folder, settings):
    """Study the store, with how firmly and how like persons models speak of themselves."""
    n = settings.get("bootstrap", 2000)
    with Store(folder / "run.sqlite", create=False) as store:
        scores = readings(store, instrument="self_efficacy").pooled_scores()
        said = [
            {"key": f"{row['model']}/{one.key}", "model": row["model"], "text": row["text"]}
            for one, row in replies(store)
            if one.about["stage"] != "task" and (row["text"] or "").strip()
        ]
    codes = Coding(transcripts=said, scheme="stance").by_rules().by_model()
    measures = {name: by for name, by in codes.items() if len(set(by.values())) > 1}
    return {"report": psy.self_efficacy(scores, measures=measures, bootstrap=n, rng=1)}


def truth(studies):
    """Return what is true beside what was found."""
    study, rows = studies["report"], []
    order = {label: place for place, label in enumerate(study.models)}
    for _, one in study.totals.iterrows():
        true = float(usual(order[one["model"]], one["condition"]).sum())
        holds = abs(one["mean"] - true) < 1.5
        what = f"total, {one['model']}, {one['condition']}"
        rows.append((what, true, f"{one['mean']:.1f}", bool(holds)))
    last = len(study.identical.labels) - 1
    found = float(study.identical.value[last])
    repeats = 3 if len(study.conditions) > 2 else 2
    same = (1 - SLIP) ** repeats
    rows.append(("identical ratings", f"{same:.3f}", f"{found:.3f}", abs(found - same) < 0.04))
    change = study.revision.change
    # Ratings of one cannot fall.
    usuals = [usual(m, c) for m in range(len(order)) for c in study.conditions]
    fall = -FALL * float(np.mean([(one > 1).sum() for one in usuals]))
    low, high = change.interval[0]
    rows.append(("change when asked again", f"{fall:.2f}", change.text(0), low <= fall <= high))
    if study.links:
        for condition, one in study.links["assertion"].items():
            what = f"assertion and totals, {condition}"
            rows.append((what, "> 0", f"{one.value:.2f}", one.value > 0))
    return [(what, true, found, bool(holds)) for what, true, found, holds in rows]
