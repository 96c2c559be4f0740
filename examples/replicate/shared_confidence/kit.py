"""Shared confidence (Moran and Whiting, 2026): a truth to find again."""

import json
import zlib

import numpy as np
from scipy.special import ndtr, ndtri

STUDY = "shared_confidence"
SMALL = {"n_questions": 60, "form": "direct"}
# Of the first draw 4 of 19 intervals missed, of 148 others 4.8 % (validation/kit_draws.py).
DRAW = "1/"

LOADING, N_MODELS = 0.85, 19
RATES = np.linspace(0.15, 0.9, N_MODELS)  # of yes
ACCURACY = 0.55


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


def truth(folder):
    """Yield what is true, and what was found."""
    found = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    p = found["dimensionality"]["one_factor_p"]
    yield "one factor suffices (p > .05)", True, p > 0.05
    loading = float(np.mean([row["loading"] for row in found["models"]]))
    yield "mean loading", LOADING, loading, loading - 0.06, loading + 0.06
    asked = (folder / "1-questions.jsonl").read_text(encoding="utf-8").splitlines()
    items = sorted({json.loads(line)["item"] for line in asked})
    shared, noise = np.array([ease(item) for item in items]), np.sqrt(1 - LOADING**2)
    for row, rate in zip(found["models"], RATES, strict=True):
        # Of these questions, whose ease all models share: what is left to chance is their noise.
        chance = ndtr((LOADING * shared - ndtri(1 - rate)) / noise)
        reach = 1.96 * float(np.sqrt((chance * (1 - chance)).sum())) / chance.size
        said = row["yes_rate"]
        yield f"yes rate, {row['model']}", float(chance.mean()), said, said - reach, said + reach
