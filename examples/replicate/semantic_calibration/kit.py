"""Semantic calibration (Nakkiran et al., 2025): a truth to find again."""

import json
import zlib

import numpy as np

STUDY = "semantic_calibration"
SMALL = {"n_questions": 40, "n_samples": 6}

POWERS = (1.0, 3.0, 1.8)  # how much surer each arm is than it should be, in log odds


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


def truth(folder):
    """Yield what is true, and what was found."""
    found = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    chances = np.random.default_rng(0).uniform(0.5, 1.0, 100_000)
    for row, power in zip(found["arms"], POWERS, strict=True):
        yield f"calibrated (p > .05), {row['arm']}", power == 1.0, row["p_value"] > 0.05
        yield (
            f"overconfidence, {row['arm']}",
            float(np.mean(sharpened(chances, power) - chances)),
            row["excess_overconfidence"],
            row["excess_overconfidence_lower"],
            row["excess_overconfidence_upper"],
        )
