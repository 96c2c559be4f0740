"""Tables for benchmarks: one factor, loadings from .5 to .95, thresholds from -1.5 to 1.5."""

import csv
import os
from pathlib import Path

import numpy as np

LARGE = os.environ.get("PSYCHOLLM_BENCH") == "large"
GOLDEN = Path(__file__).resolve().parents[1] / "tests" / "golden" / "psychometrics"


def one_factor(models: int, questions: int, *, seed: int = 1) -> np.ndarray:
    """Return answers (models, questions) of 0 and 1."""
    rng = np.random.default_rng(seed)
    loadings = rng.uniform(0.5, 0.95, models)
    thresholds = np.linspace(-1.5, 1.5, models)
    easiness = rng.standard_normal(questions)
    noise = rng.standard_normal((models, questions))
    noise *= np.sqrt(1 - loadings[:, None] ** 2)
    noise += loadings[:, None] * easiness
    return (noise > thresholds[:, None]).astype(np.int16)


def golden_columns(name: str, columns: list[str]) -> np.ndarray:
    """Return columns of a file of reference values; NaN where a value is absent."""
    with (GOLDEN / name).open(newline="") as file:
        rows = [
            [float(row[column] or "nan") for column in columns] for row in csv.DictReader(file)
        ]
    return np.array(rows)
