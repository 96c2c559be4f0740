"""Shared confidence (Moran and Whiting, 2026): prompts, simulated truth, analysis."""

import zlib
from pathlib import Path

import numpy as np
from scipy.special import ndtr, ndtri

import psychollm as psy
from psychollm.collect import Store, readings
from psychollm.instruments import SelfPrediction, confidence_and_correctness, read_questions

HERE = Path(__file__).parent
SOURCE = """\
from psychollm.collect import Store, readings
from psychollm.instruments import confidence_and_correctness

with Store("run.sqlite") as store:
    said = readings(store, instrument="self_prediction")
confidence, correctness = confidence_and_correctness(said.pooled_scores())"""
MISSES = 0.2  # of the truths; intervals of 95 % miss one in twenty

LOADING, N_MODELS = 0.85, 19
RATES = np.linspace(0.15, 0.9, N_MODELS)  # of yes
ACCURACY = 0.55


def prompts(settings):
    """Return the prompts: a prediction and an answer for every question."""
    options = dict(settings)
    questions = read_questions(HERE / options.pop("questions"))
    n = options.pop("n_questions", len(questions))
    chosen = [questions[i] for i in np.linspace(0, len(questions) - 1, n).astype(int)]
    options["examples"] = [tuple(one) for one in options.get("examples", [])]
    return SelfPrediction(questions=chosen, **options).prompts()


def ease(item):
    """Return how easy a question is for all models, standard normal."""
    return float(ndtri((zlib.crc32(item.encode()) % 99_991 + 0.5) / 99_991))


def answer(prompt, model, turns, rng):
    """Say yes by one factor that all models share; be right by the same factor, and more noise."""
    shared = ease(prompt.item)
    if prompt.about["part"] == "predict":
        latent = LOADING * shared + np.sqrt(1 - LOADING**2) * rng.normal()
        return "Answer: Yes" if latent > ndtri(1 - RATES[model]) else "Answer: No"
    latent = 0.6 * shared + 0.8 * rng.normal()
    right = prompt.about["reference"][0]
    return right if latent > ndtri(1 - ACCURACY) else wrong(right)


def wrong(right):
    """Return an answer that is not right."""
    return str(int(right) + 7) if right.isdigit() else "Zanzibar"


def analyse(folder, settings):
    """Study the store."""
    n = settings.get("bootstrap", 800)
    with Store(folder / "run.sqlite", create=False) as store:
        said = readings(store, instrument="self_prediction")
    tables = confidence_and_correctness(said.pooled_scores())
    return {"report": psy.shared_confidence(*tables, n_null=n // 4, bootstrap=n, rng=1)}


def truth(studies):
    """Return what is true beside what was found."""
    study = studies["report"]
    test = study.dimensionality.one_factor_test
    rows = [("one factor (p of more)", "> .05", f"{test.p_value:.3f}", bool(test.p_value > 0.05))]
    loadings = float(np.mean(study.loadings))
    rows.append(("mean loading", LOADING, f"{loadings:.3f}", abs(loadings - LOADING) < 0.06))
    known = dict(zip(study.labels, study.confusion.yes_rate.value, strict=True))
    shared = np.array([ease(item) for item in study.scores.to_frame()["question"]])
    for (label, found), rate in zip(known.items(), RATES, strict=True):
        noise = np.sqrt(1 - LOADING**2)
        chance = ndtr((LOADING * shared - ndtri(1 - rate)) / noise)  # of yes, question by question
        true, spread = chance.mean(), np.sqrt((chance * (1 - chance)).sum()) / chance.size
        holds = abs(found - true) < 1.96 * spread
        rows.append((f"yes rate, {label}", f"{true:.3f}", f"{found:.3f}", holds))
    return [(what, true, found, bool(holds)) for what, true, found, holds in rows]
