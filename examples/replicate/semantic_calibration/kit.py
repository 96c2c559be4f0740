"""Semantic calibration (Nakkiran et al., 2025): prompts, simulated truth, analysis."""

import zlib
from pathlib import Path

import numpy as np

import psychollm as psy
from psychollm.collect import Store, readings
from psychollm.instruments import SemanticSampling, read_questions

HERE = Path(__file__).parent
SOURCE = """\
from psychollm.collect import Store, readings

with Store("run.sqlite") as store:
    scores = readings(store, instrument="semantic_sampling").pooled_scores()"""
MISSES = 0.2

POWERS = (1.0, 3.0, 1.8)  # how much surer each arm is than it should be, in log odds


def prompts(settings):
    """Return every sample of every question."""
    options = dict(settings)
    questions = read_questions(HERE / options.pop("questions"))
    n = options.pop("n_questions", len(questions))
    chosen = [questions[i] for i in np.linspace(0, len(questions) - 1, n).astype(int)]
    return SemanticSampling(chosen, **options).prompts()


def of(item):
    """Return the chance of the likelier answer to a question, and whether it is right."""
    rng = np.random.default_rng(zlib.crc32(item.encode()))
    chance = rng.uniform(0.5, 1.0)
    return chance, bool(rng.random() < chance)


def sharpened(chance, power):
    """Return a chance with its log odds multiplied."""
    return chance**power / (chance**power + (1 - chance) ** power)


def answer(prompt, model, turns, rng):
    """Draw one of two answers; the first arm is right as often as it is sure."""
    chance, top_is_right = of(prompt.item)
    top = rng.random() < sharpened(chance, POWERS[model])
    right = prompt.about["reference"][0]
    if top == top_is_right:
        return right
    return str(int(right) + 7) if right.isdigit() else "Zanzibar"


def analyse(folder, settings):
    """Study the store."""
    n = settings.get("bootstrap", 2000)
    with Store(folder / "run.sqlite", create=False) as store:
        scores = readings(store, instrument="semantic_sampling").pooled_scores()
    return {"report": psy.semantic_calibration(scores, n_null=n // 4, bootstrap=n, rng=1)}


def truth(studies):
    """Return what is true beside what was found."""
    study, rows = studies["report"], []
    chances = np.random.default_rng(0).uniform(0.5, 1.0, 100_000)
    for row, label in enumerate(study.labels):
        p, calibrated = float(study.p_value.value[row]), POWERS[row] == 1.0
        says = "p > .05" if calibrated else "p <= .05"
        rows.append((f"calibrated, {label}", says, f"p = {p:.3f}", (p > 0.05) == calibrated))
        true = float(np.mean(sharpened(chances, POWERS[row]) - chances))
        found = study.excess_overconfidence
        low, high = found.interval[row]
        what = f"overconfidence, {label}"
        rows.append((what, f"{true:+.3f}", found.text(row, 3, signed=True), low <= true <= high))
    return [(what, true, found, bool(holds)) for what, true, found, holds in rows]
